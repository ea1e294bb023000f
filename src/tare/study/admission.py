"""Admission: whether what a plan has open at once fits the host's memory; sums, and no readings.

CPUs need no sum: instances stand still unless they are measured, and what one trial has at once is
refused where its CPUs are chosen (``Session.cpus``, ``cores.numbers``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from tare import layer, scenario
from tare.errors import Unavailable
from tare.model import Design, Limits, Plan
from tare.study.declaration import Study
from tare.workload import Measured

RESERVE_BYTES = 2**29
"""Left to the host and to Tare itself, whatever a plan takes."""
IDLE_BYTES = 2**24
"""What a container takes in which no load runs: an engine's helper, a first process, an agent.

Of 128 at once Docker's took 5 MiB each (docs/performance.md); this leaves room for other engines'.
"""
MEND = "fewer `instances`, a smaller `memory` in the limits, or fewer platforms"
MEND_TRIAL = "a smaller `memory` in the limits, fewer platforms, or a smaller `count`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What the instances of one platform under one set of limits take of the host's memory.

    A machine with memory of its own keeps ``kept_bytes`` from its start to its end, however idle;
    the outermost one of a stack holds those inside it. All that have the name ``shared`` are in one
    machine, which is counted once. ``overhead_bytes`` is what a machine's own process takes beside
    that, once it was measured.

    A container's limit is a cap. What runs in it may use all of it, but only while it runs: the
    trial's programs end with the trial, and what the kernel caches of files it gives back. So it
    is ``passing_bytes``, of which a host needs as much as trials run at once, not as much as
    containers are open. A lifecycle trial makes its own machines, each with its limit; its
    containers run no load, so each of them takes IDLE_BYTES.
    """

    platform: str
    limits: Limits
    instances: int
    kept_bytes: int = 0
    passing_bytes: int = 0
    shared: str = ""
    parts: int = 1
    overhead_bytes: int = 0

    @property
    def each_bytes(self) -> int:
        """What each instance keeps."""
        return self.kept_bytes + self.overhead_bytes


@dataclass(frozen=True, slots=True)
class Sum:
    """What is open at once, and what the trials that run at once take beside that."""

    needs: Sequence[Need]
    at_once: int = 1
    instances: int | None = None
    """How many sets of each platform's, with one for each part, are open; None: all."""

    @property
    def kept_bytes(self) -> int:
        """What is kept as long as all of it is open."""
        own = sum(self._count(one) * one.each_bytes for one in self.needs if not one.shared)
        return own + sum({one.shared: one.each_bytes for one in self.needs if one.shared}.values())

    @property
    def passing_bytes(self) -> int:
        """The most that the trials at any one moment take."""
        return self.at_once * max((one.passing_bytes for one in self.needs), default=0)

    @property
    def total_bytes(self) -> int:
        """All of it, and what is left to the host."""
        return self.kept_bytes + self.passing_bytes + RESERVE_BYTES

    def says(self) -> str:
        """Write the sum in words: machines with memory of their own, containers, trials, host."""
        machines: Counter[tuple[str, int]] = Counter()
        for one in self.needs:
            if one.shared:
                machines[one.shared, one.each_bytes] = 1
            elif one.each_bytes > IDLE_BYTES:
                machines[one.platform, one.each_bytes] += self._count(one)
        parts = [f"{count} x {name} of {text(size)}" for (name, size), count in machines.items()]
        idle = self.kept_bytes - sum(size * count for (_, size), count in machines.items())
        parts += [f"idle containers {text(idle)}"] if idle else []
        parts += [f"running trials {text(self.passing_bytes)}"] if self.passing_bytes else []
        return f"{', '.join(parts)}, the host itself {text(RESERVE_BYTES)}".removeprefix(", ")

    def _count(self, need: Need) -> int:
        return need.instances if self.instances is None else self.instances * need.parts


def needs(study: Study, plan: Plan) -> list[Need]:
    """List what each set of instances of a plan takes; a duet has two, one on each set of CPUs."""
    made = {(one.name, one.params): one.made for one in study.workloads}
    platforms = {platform.name: platform for platform in study.platforms}
    work: dict[tuple[str, int, Limits], list[Measured]] = {}
    for cell in plan.cells:
        which = cell.platform, cell.replica, cell.limits
        work.setdefault(which, []).append(made[cell.workload, cell.params])
    whole = scenario.load(study.scenario).opens_whole
    found = []
    for (name, _, limits), run in work.items():
        layers = platforms[name].made
        opened = layers if whole else layers[:-1]  # else a trial makes the rest itself
        held, shared = _held(opened, limits)
        found.append(
            Need(
                platform=name,
                limits=limits,
                instances=plan.repetition.instances_of(name) * plan.most_parts,
                parts=plan.most_parts,
                kept_bytes=held if held is not None else IDLE_BYTES * bool(opened),
                passing_bytes=0
                if held is not None
                else plan.most_parts * max(_passing(one, layers[-1], limits) for one in run),
                shared=shared,
            )
        )
    return [*found * at_once_of(plan), *_peers(study)]


def _peers(study: Study) -> Iterator[Need]:
    """List the peer, where something is run there and it is a machine with memory of its own."""
    if study.has_peer:
        for limits in study.limits:
            held, shared = _held(study.peer.made, limits)
            if held:
                named = shared or f"the peer {study.peer.stack}"
                yield Need(
                    platform=named, limits=limits, instances=1, kept_bytes=held, shared=named
                )


def admit(found: Collection[Need], at_once: int, available_bytes: int) -> bool:
    """Return whether all fits at once; if not, one instance of each platform under one limit does.

    Raises Unavailable with the sum where that does not fit either.
    """
    if Sum(tuple(found), at_once).total_bytes <= available_bytes:
        return True
    for one in by_blocks(found, at_once):
        refuse(one, available_bytes, MEND_TRIAL)
    return False


def by_blocks(found: Collection[Need], at_once: int) -> Iterator[Sum]:
    """List the least that is open at once: one instance of each platform that is compared."""
    for limits in dict.fromkeys(one.limits for one in found):
        yield Sum(tuple(one for one in found if one.limits == limits), at_once, 1)


def at_once_of(plan: Plan) -> int:
    """Return how many trials run at the same moment."""
    return 2 if plan.repetition.design is Design.DUET else 1


def refuse(sum_of: Sum, available_bytes: int, mend: str = MEND) -> None:
    """Raise Unavailable with the sum where it does not fit the memory that is available."""
    if sum_of.total_bytes > available_bytes:
        raise Unavailable(
            f"what is open at once needs {text(sum_of.total_bytes)} of memory, "
            f"{text(available_bytes)} are available on this host: {sum_of.says()}",
            mend,
        )


def text(count: float) -> str:
    """Write a size for people."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


def _held(layers: Sequence[layer.Layer], limits: Limits) -> tuple[int | None, str]:
    """Find what the outermost machine with memory of its own keeps, None where there is none."""
    for made in layers:
        if (kept := made.commits(limits)) is not None:
            return kept, made.name if made.shared else ""
    return None, ""


def _passing(what: Measured, inner: layer.Layer, limits: Limits) -> int:
    """Return what one trial takes on the host itself.

    The other half of a network workload is not counted: it makes load and keeps little.
    """
    if not what.makes():
        return limits.memory_bytes
    own = inner.commits(limits)
    return what.makes() * (IDLE_BYTES if own is None else own)
