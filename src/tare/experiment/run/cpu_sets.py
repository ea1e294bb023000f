"""Choose CPU sets: two equal ones for the two halves of a duet, or one for each part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tare.core.errors import Unavailable
from tare.core.model import CpuSet, Design, Limits, Plan
from tare.experiment.run.cpu_topology import SYS
from tare.experiment.run.session import Session

INSTEAD = "use the design interleaved"


@dataclass(frozen=True, slots=True)
class Cpu:
    """What must be equal, as the kernel says it; empty where it does not."""

    siblings: str
    node: str
    max_khz: str
    capacity: str


def numbers(session: Session, count: int, sys: Path = SYS) -> tuple[int, int]:
    """Find two sets of ``count`` CPUs that are equal and share no core, or raise Unavailable.

    They are given by the numbers by which ``Session.cpus`` knows them; the first is always 0, the
    set of the other design.
    """
    sets = len(session.everything) // count
    if sets < 2:
        raise Unavailable(
            f"a duet of {count} CPUs for each half needs {2 * count}, "
            f"this host gives {len(session.everything)}",
            INSTEAD,
        )
    first = session.cpus(count, 0)
    found = [difference(first, session.cpus(count, number), sys) for number in range(1, sets)]
    if "" not in found:
        raise Unavailable(f"this host has no two equal sets of CPUs: {found[0]}", INSTEAD)
    return 0, 1 + found.index("")


def measured(session: Session, plan: Plan, limits: Limits) -> list[list[int]]:
    """List the set of CPUs that each part of a trial has, or a duet's two, or raise Unavailable."""
    if plan.repetition.design is not Design.DUET:
        absent = missing(session, limits, plan.sets_of_parts)
        there = (number for number in plan.sets_of_parts if number not in absent)
        return [session.cpus_under(limits, number) for number in there]
    return [session.cpus(limits.cpus, number) for number in numbers(session, limits.cpus)]


def missing(session: Session, limits: Limits, cpu_sets: Iterable[CpuSet]) -> Mapping[CpuSet, str]:
    """Return why a host does not have some sets of CPUs that are named by what they share.

    Of those with a number each can be had, or none can.
    """
    found: dict[CpuSet, str] = {}
    for cpus in cpu_sets:
        if isinstance(cpus, str):
            try:
                session.cpus_under(limits, cpus)
            except Unavailable as error:
                found[cpus] = str(error)
    return found


def named(session: Session, plan: Plan, limits: Collection[Limits]) -> str:
    """Return the name of the CPUs of the trials with the most of them that this host can give."""
    found = list(_available(session, plan, limits))
    sets = max(found, key=lambda sets: len(sets[0]), default=[session.everything])
    return " and ".join(map(_name, sets))


def kept_free(session: Session, plan: Plan, limits: Collection[Limits]) -> int:
    """Count the CPUs, from the last one down, that Tare itself should leave to the trials."""
    found = _available(session, plan, limits)
    lowest = [session.everything.index(min(cpus)) for sets in found for cpus in sets]
    return len(session.everything) - min(lowest, default=0)


def caveats(session: Session, plan: Plan, limits: Collection[Limits]) -> list[str]:
    """Return warnings about a duet, or about trials that are not pinned."""
    if any(not one.is_pinned for one in limits):
        return [
            "limits that pin nothing leave no CPU to the host and Tare: what they do themselves "
            "takes CPU time from the trials"
        ]
    if plan.repetition.design is not Design.DUET:
        return []
    if kept_free(session, plan, limits) < len(session.everything):
        return []
    if not list(_available(session, plan, limits)):
        return []
    return [
        "the two halves of the duet take all CPUs: what the host and Tare itself do takes CPU time "
        "from the trials"
    ]


def difference(first: Sequence[int], second: Sequence[int], sys: Path = SYS) -> str:
    """Return what makes two sets of CPUs unequal; empty if nothing is known that does."""
    ones, others = ([_read(cpu, sys) for cpu in cpus] for cpus in (first, second))
    names = _name(first), _name(second)
    shared = {cpu.siblings for cpu in ones} & {cpu.siblings for cpu in others}
    if shared:
        return f"CPUs {names[0]} and {names[1]} are threads of one core ({min(shared)})"
    for what, mine, theirs in (
        ("cores", *([str(len({cpu.siblings for cpu in c}))] for c in (ones, others))),
        ("NUMA nodes", *(sorted({cpu.node for cpu in c}) for c in (ones, others))),
        ("maximum frequencies (kHz)", *(sorted(cpu.max_khz for cpu in c) for c in (ones, others))),
        ("capacities", *(sorted(cpu.capacity for cpu in c) for c in (ones, others))),
    ):
        if mine != theirs:
            each = [f"{_text(c)} of CPUs {n}" for c, n in zip((mine, theirs), names, strict=True)]
            return f"their {what} differ: {' and '.join(each)}"
    return ""


def _available(
    session: Session, plan: Plan, limits: Collection[Limits]
) -> Iterator[list[list[int]]]:
    """List the sets of CPUs under each of the limits that this host can give."""
    for one in limits:
        # Where it cannot, only the cells with these limits are unavailable, and say so.
        with suppress(Unavailable):
            yield measured(session, plan, one)


def _read(cpu: int, sys: Path) -> Cpu:
    folder = sys / f"cpu{cpu}"
    nodes = sorted(path.name.removeprefix("node") for path in folder.glob("node[0-9]*"))
    return Cpu(
        siblings=_line(folder / "topology/thread_siblings_list") or str(cpu),
        node=",".join(nodes),
        max_khz=_line(folder / "cpufreq/cpuinfo_max_freq"),
        capacity=_line(folder / "cpu_capacity"),
    )


def _line(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _name(cpus: Sequence[int]) -> str:
    return ",".join(map(str, cpus))


def _text(found: Sequence[str]) -> str:
    return ", ".join(one or "unknown" for one in found)
