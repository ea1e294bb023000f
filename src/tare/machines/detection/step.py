"""A detected layer, and the names of all layers that can be detected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

UNKNOWN, HARDWARE, CHROOT = "unknown", "hardware", "chroot"

MACHINES = {
    "kvm": "KVM",
    "qemu-tcg": "QEMU without KVM (TCG)",
    "qemu": "QEMU",
    "xen": "Xen",
    "hyperv": "Hyper-V",
    "vmware": "VMware",
    "virtualbox": "VirtualBox",
    "bhyve": "bhyve",
    "parallels": "Parallels",
    "uml": "user-mode Linux",
    "vm": "an unnamed hypervisor",
}
"""What gives a kernel of its own, and so hides what lies outside of it."""

CONTAINERS = {
    "docker": "Docker",
    "podman": "Podman",
    "kubernetes": "Kubernetes",
    "lxc": "LXC",
    "nspawn": "systemd-nspawn",
    "bubblewrap": "bubblewrap",
    "gvisor": "gVisor",
    "wsl": "WSL",
    "openvz": "OpenVZ",
    "container": "an unnamed engine",
    "namespaces": "namespaces of its own",
}

NAMES = {UNKNOWN: "unknown", HARDWARE: "hardware", **MACHINES, **CONTAINERS, CHROOT: "chroot"}


@dataclass(frozen=True, slots=True)
class Detected:
    """One step: a key of NAMES, which product of that kind it is, and what that rests on."""

    layer: str
    product: str
    evidence: tuple[str, ...]

    @property
    def title(self) -> str:
        """What people read."""
        return f"{NAMES[self.layer]} ({self.product})" if self.product else NAMES[self.layer]


def summary(stack: Sequence[Detected]) -> str:
    """Write a stack in one line, from the outside in."""
    return " > ".join(step.title for step in stack)


def hypervisor(stack: Sequence[Detected]) -> str | None:
    """Return the name of the innermost hypervisor; None where none shows."""
    return next((step.title for step in reversed(stack) if step.layer in MACHINES), None)


def container(stack: Sequence[Detected]) -> str | None:
    """Return the name of the innermost container; None where none shows."""
    return next((step.title for step in reversed(stack) if step.layer in CONTAINERS), None)
