"""Find CPUs by what they have in common with others, as the kernel describes them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from tare.core.errors import Unavailable
from tare.core.model import NeighbourCpus
from tare.machines.cgroup.cgroup import cpus_of

SYS = Path("/sys/devices/system/cpu")


def related(
    own: Sequence[int], to: NeighbourCpus, allowed: Collection[int], sys: Path = SYS
) -> list[int]:
    """Return as many CPUs as ``own`` has that stand ``to`` these so; of more the last ones.

    Only such as are ``allowed``. Raises Unavailable where there are too few.
    """
    siblings = {one for cpu in own for one in (cpu, *_siblings(cpu, sys))}
    if to is NeighbourCpus.SIBLING:
        found = siblings - {*own}
    elif to is NeighbourCpus.CACHE:
        found = {one for cpu in own for one in _cache(cpu, sys)} - siblings
    elif to is NeighbourCpus.SOCKET:
        sockets = {_socket(cpu, sys) for cpu in own}
        found = {cpu for cpu in allowed if (_socket(cpu, sys) or None) not in (None, *sockets)}
    else:
        raise ValueError(f"{to} is found without the kernel's description")
    chosen = sorted(found & {*allowed})[-len(own) :]
    if len(chosen) < len(own):
        cpus = ",".join(map(str, own))
        have = f"{len(chosen)} of {len(own)}" if chosen else "none"
        raise Unavailable(
            f"cpus: {to}: this host has {have} of the CPUs that a neighbour of CPU {cpus} would "
            f"run on: {_WHAT[to]}",
            f"leave `cpus: {to}` out, or run the study on a host that has them",
        )
    return chosen


_WHAT = {
    NeighbourCpus.SIBLING: "other hardware threads of the same cores",
    NeighbourCpus.CACHE: "those of other cores with the same last-level cache",
    NeighbourCpus.SOCKET: "those of another socket",
}


def _siblings(cpu: int, sys: Path) -> list[int]:
    return _listed(sys / f"cpu{cpu}/topology/thread_siblings_list")


def _socket(cpu: int, sys: Path) -> str:
    return _line(sys / f"cpu{cpu}/topology/physical_package_id")


def _cache(cpu: int, sys: Path) -> list[int]:
    """List the CPUs that share the last-level cache of one; without any that is known, none."""
    levels = {}
    for folder in (sys / f"cpu{cpu}/cache").glob("index[0-9]*"):
        with suppress(ValueError):
            levels[int(_line(folder / "level"))] = folder
    return _listed(levels[max(levels)] / "shared_cpu_list") if levels else []


def _listed(path: Path) -> list[int]:
    text = _line(path)
    return cpus_of(text) if text else []


def _line(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
