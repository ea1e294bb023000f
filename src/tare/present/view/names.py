"""What cells, their parameters and their groups are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tare.core.model import (
    IDLE,
    INJECTED,
    Cell,
    InstanceCpus,
    Instances,
    Limits,
    Neighbour,
    NeighbourCpus,
    Params,
    Plan,
    Unit,
    instances_of,
    neighbour_of,
)
from tare.core.parameter import key_of, unit_of
from tare.present.view.numbers import bytes_text, plain, rate_text
from tare.present.view.reservation_words import reservation_text

CPUS_TEXT = {
    NeighbourCpus.SAME: "",
    NeighbourCpus.APART: " on other CPUs",
    NeighbourCpus.SIBLING: " on the sibling threads",
    NeighbourCpus.CACHE: " on other cores of the same cache",
    NeighbourCpus.SOCKET: " on another socket",
}
"""Where a neighbour runs, as words behind its name."""


def platform_text(cell: Cell) -> str:
    """Name a cell's platform so that the control differs from the baseline."""
    added = dict(cell.params).get(INJECTED)
    if isinstance(added, float):
        return f"{cell.platform} ({100 * added:+g} % work)"
    if cell.replica:
        return f"{cell.platform} (A/A control)"
    if (neighbour := neighbour_of(cell.params)) is not None:
        return f"{cell.platform} ({neighbour_text(neighbour)})"
    if (instances := instances_of(cell.params)) is not None and instances.count > 1:
        return f"{cell.platform} ({instances_text(instances)})"
    return cell.platform


def instances_text(instances: Instances) -> str:
    """Name instances that work at once: how many, and on which CPUs."""
    text = "1 instance" if instances.count == 1 else f"{instances.count} instances"
    is_own = instances.cpus is InstanceCpus.OWN and instances.count > 1
    return f"{text}, each on its own CPUs" if is_own else text


def neighbour_text(neighbour: Neighbour, *, with_reservation: bool = True) -> str:
    """Name a neighbour: what it does, how much of it, in how many instances, and how it is held."""
    text = f"{neighbour.stressor} neighbour"
    if neighbour.count > 1:
        text = f"{neighbour.count} {text}s"
    if neighbour.stressor != IDLE and neighbour.intensity < 1:
        text += f" at {100 * neighbour.intensity:g} %"
    if neighbour.target is not None:
        text += f", together at {100 * neighbour.target:g} %"
    if neighbour.platform is not None:
        text += f" in {neighbour.platform}"
    text += CPUS_TEXT[neighbour.cpus]
    if neighbour.reservation is None or not with_reservation:
        return text
    return f"{text}, held to {reservation_text(neighbour.reservation)}"


_NOUNS = {
    "docker": "a Docker container",
    "podman": "a Podman container",
    "lxc": "an LXC container",
    "nspawn": "a systemd-nspawn container",
    "gvisor": "a gVisor sandbox",
    "bubblewrap": "a bubblewrap sandbox",
    "kvm": "a KVM virtual machine",
    "qemu-tcg": "an emulated virtual machine",
    "vsphere": "a vSphere virtual machine",
    "xen": "a Xen virtual machine",
    "uml": "a User Mode Linux machine",
}


def plain_names(plan: Plan) -> Mapping[str, str]:
    """Name a plan's platforms by what they are: a Docker container in a KVM virtual machine.

    A platform that shares its description with another, or has a layer that is not in the list,
    keeps its own name.
    """
    paths = {cell.platform: cell.path for cell in plan.cells}
    counts = Counter(paths.values())
    return {
        platform: (_noun(path) if counts[path] == 1 else None) or platform
        for platform, path in paths.items()
    }


def _noun(path: Sequence[str]) -> str | None:
    _, *layers = path
    if not layers:
        return "the host itself"
    nouns = [_NOUNS.get(layer) for layer in reversed(layers)]
    return " in ".join(filter(None, nouns)) if all(nouns) else None


def params_text(params: Params) -> str:
    """Write parameters as people read them."""
    return ", ".join(f"{key_of(name)} {_value(name, value)}" for name, value in params)


def limits_text(limits: Limits) -> str:
    """Write limits as people read them."""
    cpus = "1 CPU" if limits.cpus == 1 else f"{limits.cpus} CPUs"
    usual = f"{cpus}, {bytes_text(limits.memory_bytes)}, disk cache {limits.disk_cache.value}"
    return ", ".join(filter(None, [usual, params_text(limits.unusual)]))


def _value(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit_of(name) is Unit.BYTE and isinstance(value, int):
        return bytes_text(value)
    if unit_of(name) is Unit.BYTE_PER_SECOND and isinstance(value, int):
        return rate_text(value)
    if isinstance(value, int | float):
        written = plain(value) if isinstance(value, int) else f"{value:g}"
        return written + (" s" if unit_of(name) is Unit.SECOND else "")
    return str(value)


def named_apart(keys: Sequence[tuple[str, Params, Limits]]) -> list[str]:
    """Name each group by its workload and by what differs among the groups of that workload."""
    many_limits = len({limits for _, _, limits in keys}) > 1
    values: dict[tuple[str, str], set[object]] = {}
    for workload, params, _ in keys:
        for name, value in params:
            values.setdefault((workload, name), set()).add(value)
    names = []
    for workload, params, limits in keys:
        differing = tuple((k, v) for k, v in params if len(values[workload, k]) > 1)
        parts = [params_text(differing)] if differing else []
        parts += [limits_text(limits)] if many_limits else []
        names.append(" · ".join([workload, *parts]))
    return names
