"""A reservation as a person would type it for Docker, systemd, libvirt and Kubernetes.

Each takes the limits of a reservation by their names (``tare.core.model.reservation``), and returns
lines. What a system has no means for is a comment that says so: nothing is left out in silence.
NEIGHBOUR stands for the name of the container, unit or domain, and DEVICE for its disk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tare.core.model.reservation import CPUS

Limits = Mapping[str, float]

PERIOD_US = 100_000
"""The kernel's own period of a quota of CPU time."""
SHARES = 10.24
"""The CPU shares of cgroup v1, which Docker and libvirt take, for each unit of weight."""
DISK_BYTES = ("disk_read_bytes_per_s", "disk_write_bytes_per_s")
DISK_OPERATIONS = ("disk_reads_per_s", "disk_writes_per_s")
DISK = (*DISK_BYTES, *DISK_OPERATIONS)
NETWORK = ("network_out_bytes_per_s", "network_in_bytes_per_s")
KNOWN = (CPUS, "cpu_weight", "processes", *DISK, *NETWORK)

_DOCKER_DISK = dict(
    zip(
        DISK,
        ("--device-read-bps", "--device-write-bps", "--device-read-iops", "--device-write-iops"),
        strict=True,
    )
)
_SYSTEMD_DISK = dict(
    zip(
        DISK,
        ("IOReadBandwidthMax", "IOWriteBandwidthMax", "IOReadIOPSMax", "IOWriteIOPSMax"),
        strict=True,
    )
)
_LIBVIRT_DISK = dict(
    zip(
        DISK,
        ("read_bytes_sec", "write_bytes_sec", "read_iops_sec", "write_iops_sec"),
        strict=True,
    )
)


def commands(limits: Limits) -> dict[str, list[str]]:
    """Return the lines for each system, by its name."""
    return {name: make(limits) for name, make in SYSTEMS.items()}


def docker(limits: Limits) -> list[str]:
    """Return the options of a running container, then those that a container has from its start."""
    options = []
    if CPUS in limits:
        options.append(f"--cpus {_cpus(limits[CPUS])}")
    if "cpu_weight" in limits:
        options.append(f"--cpu-shares {max(2, round(limits['cpu_weight'] * SHARES))}")
    if "processes" in limits:
        options.append(f"--pids-limit {limits['processes']:.0f}")
    devices = [
        f"{option} DEVICE:{limits[name]:.0f}"
        for name, option in _DOCKER_DISK.items()
        if name in limits
    ]
    return [
        *([f"docker update {' '.join(options)} NEIGHBOUR"] if options else []),
        *([f"docker run {' '.join(devices)} IMAGE"] if devices else []),
        *_shaped(limits),
        *_left(limits, KNOWN, "Docker"),
    ]


def systemd(limits: Limits) -> list[str]:
    """Return the command that sets the properties of a unit, for as long as the host runs."""
    properties = []
    if CPUS in limits:
        properties.append(f"CPUQuota={_percent(limits[CPUS])}")
    if "cpu_weight" in limits:
        properties.append(f"CPUWeight={limits['cpu_weight']:.0f}")
    if "processes" in limits:
        properties.append(f"TasksMax={limits['processes']:.0f}")
    properties += [
        f'{name_there}="DEVICE {limits[name]:.0f}"'
        for name, name_there in _SYSTEMD_DISK.items()
        if name in limits
    ]
    own = f"systemctl set-property --runtime NEIGHBOUR.service {' '.join(properties)}"
    return [
        *([own] if properties else []),
        *_shaped(limits),
        *_left(limits, KNOWN, "systemd"),
    ]


def libvirt(limits: Limits) -> list[str]:
    """Return the parts of a domain's XML."""
    lines = []
    tuned = []
    if "cpu_weight" in limits:
        tuned.append(f"  <shares>{max(2, round(limits['cpu_weight'] * SHARES))}</shares>")
    if CPUS in limits:
        tuned.append(f"  <global_period>{PERIOD_US}</global_period>")
        tuned.append(f"  <global_quota>{round(limits[CPUS] * PERIOD_US)}</global_quota>")
    if tuned:
        lines += ["<cputune>", *tuned, "</cputune>"]
    disk = [
        f"  <{tag}>{limits[name]:.0f}</{tag}>"
        for name, tag in _LIBVIRT_DISK.items()
        if name in limits
    ]
    if disk:
        lines += ["<blkiotune>", "  <device>", "    <path>DEVICE</path>"]
        lines += [f"  {line}" for line in disk]
        lines += ["  </device>", "</blkiotune>"]
    # Seen from the domain, inbound is what it receives; an average is in KiB a second.
    ways = [
        f"  <{tag} average='{max(1, round(limits[name] / 1024))}'/>"
        for name, tag in zip(NETWORK, ("outbound", "inbound"), strict=True)
        if name in limits
    ]
    if ways:
        lines += ["<bandwidth>", *ways, "</bandwidth>"]
    known = tuple(name for name in KNOWN if name != "processes")
    return [*lines, *_left(limits, known, "libvirt")]


def kubernetes(limits: Limits) -> list[str]:
    """Return the part of a container's or a pod's description that holds it."""
    lines, resources = [], []
    # A kubelet makes 1024 shares, which is the weight of 100, of each CPU that is requested.
    if "cpu_weight" in limits:
        request = limits["cpu_weight"] / 100
        if CPUS in limits:
            request = min(request, limits[CPUS])
        resources += ["  requests:", f"    cpu: {_milli(request)}"]
    if CPUS in limits:
        resources += ["  limits:", f"    cpu: {_milli(limits[CPUS])}"]
    if resources:
        lines += ["resources:", *resources]
    ways = [
        f"  kubernetes.io/{way}-bandwidth: {8 * limits[name]:.0f}"
        for name, way in zip(NETWORK, ("egress", "ingress"), strict=True)
        if name in limits
    ]
    if ways:
        lines += ["annotations:", *ways]
    if "processes" in limits:
        lines.append(f"# of the kubelet, for each pod: podPidsLimit: {limits['processes']:.0f}")
    known = (CPUS, "cpu_weight", "processes", *NETWORK)
    return [*lines, *_left(limits, known, "Kubernetes")]


SYSTEMS: Mapping[str, Callable[[Limits], list[str]]] = {
    "Docker": docker,
    "systemd": systemd,
    "libvirt": libvirt,
    "Kubernetes": kubernetes,
}


def _shaped(limits: Limits) -> list[str]:
    """Return the commands for the network, which these systems leave to the kernel's shaper.

    LINK is the host's end of the neighbour's link, where what it receives is sent.
    """
    lines = []
    if rate := limits.get(NETWORK[1]):
        shaper = "burst 32k latency 50ms"
        lines.append(f"tc qdisc replace dev LINK root tbf rate {8 * rate:.0f}bit {shaper}")
    if rate := limits.get(NETWORK[0]):
        lines.append("tc qdisc replace dev LINK ingress")
        lines.append(
            "tc filter replace dev LINK parent ffff: matchall action police rate "
            f"{8 * rate:.0f}bit burst 256k drop"
        )
    return lines


def _left(limits: Limits, known: Sequence[str], system: str) -> list[str]:
    """Return a comment for each limit that a system has no means for."""
    return [f"# {system} has nothing that holds {name}" for name in limits if name not in known]


def _cpus(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _percent(cpus: float) -> str:
    return f"{max(1.0, 100 * cpus):.4g}%"


def _milli(cpus: float) -> str:
    return f"{max(1, round(1000 * cpus))}m"
