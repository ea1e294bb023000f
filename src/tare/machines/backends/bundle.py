"""Write the OCI ``config.json`` of a container, for runtimes that Tare calls itself."""

from __future__ import annotations

from collections.abc import Sequence

from tare.machines.backends.tree import ENVIRONMENT

# What may be done in a container of Docker.
CAPABILITIES = [
    f"CAP_{name}"
    for name in (
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
        "NET_BIND_SERVICE", "NET_RAW", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    )
]  # fmt: skip


def config(folder: str, group: str, argv: Sequence[str], netns: str = "") -> dict[str, object]:
    """Describe a container of a folder's ``root``, with its ``data`` as a volume.

    ``group`` is a cgroup that is there already. Its network is that of a namespace, or the
    runtime's own.
    """
    own = [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")]
    kinds = ("bounding", "effective", "permitted")
    return {
        "ociVersion": "1.0.2",
        "hostname": "tare",
        "root": {"path": "root"},
        "process": {
            "user": {"uid": 0, "gid": 0},
            "cwd": "/",
            "env": list(ENVIRONMENT),
            "args": list(argv),
            "capabilities": dict.fromkeys(kinds, CAPABILITIES),
        },
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
            {"destination": "/data", "type": "bind", "source": f"{folder}/data", "options": ["rw"]},
        ],
        "linux": {
            "cgroupsPath": f"/{group}",
            "namespaces": [*own, *([{"type": "network", "path": netns}] if netns else [])],
        },
    }
