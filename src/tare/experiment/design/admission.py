"""Check whether all instances that a plan keeps open at once fit the host's memory.

CPUs need no sum: instances are paused unless they are measured, and what one trial has at once is
refused where its CPUs are chosen (``Session.cpus``, ``cores.numbers``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from tare.core.errors import Unavailable
from tare.core.model import Design, Limits, Plan
from tare.experiment import scenario
from tare.experiment.study.declaration import Study
from tare.machines import layer
from tare.work.workload import Measured

RESERVE_BYTES = 2**29
"""Left to the host and to Tare itself, whatever a plan takes."""
IDLE_BYTES = 2**24
"""What a container takes in which no load runs: an engine's helper, a first process, an agent.

Of 128 at once Docker's took 5 MiB each (docs/performance.md); this leaves room for other engines'.
"""
FIX = "fewer `instances`, a smaller `memory` in the limits, or fewer platforms"
FIX_TRIAL = "a smaller `memory` in the limits, fewer platforms, or a smaller `count`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What the instances of one platform under one set of limits take of the host's memory.

    A machine with memory of its own keeps ``kept_bytes`` from its start to its end, however idle;
    the outermost one of a stack holds those inside it. All that have the name ``shared`` are in one
    machine, which is counted once. ``overhead_bytes`` is what a machine's own process takes in
    addition, once it was measured.

    A container's limit is a cap. What runs in it may use all of it, but only while it runs: the
    trial's programs end with the trial, and what the kernel caches of files it gives back. So it
    is ``passing_bytes``, of which a host needs as much as trials run at once, not as much as
    containers are open. A role that stays up between trials keeps what it has, so its container
    counts as a machine. Of a trial with a role at the peer ``passing_bytes`` hold the peer's too.

    A lifecycle trial makes ``makes`` instances of ``made_bytes`` each, all in ``passing_bytes``:
    machines with their memory, or containers, which run no load, with IDLE_BYTES.

    A peer ``stays`` open until the session ends, whichever platforms are open.
    """

    platform: str
    limits: Limits
    instances: int
    kept_bytes: int = 0
    passing_bytes: int = 0
    shared: str = ""
    parts: int = 1
    overhead_bytes: int = 0
    makes: int = 0
    made_bytes: int = 0
    stays: bool = False

    @property
    def each_bytes(self) -> int:
        """What each instance keeps."""
        return self.kept_bytes + (0 if self.makes else self.overhead_bytes)

    @property
    def each_made_bytes(self) -> int:
        """What each instance takes that a trial makes."""
        return self.made_bytes + self.overhead_bytes

    @property
    def trial_bytes(self) -> int:
        """The most that one trial takes."""
        return self.passing_bytes + self.makes * self.overhead_bytes

    def is_of(self, platform: str, limits: Limits) -> bool:
        """Return whether it is what a platform takes under some limits.

        Limits that give a peer the same CPUs and memory have the same one.
        """
        mine, theirs = _of_peer(self.limits), _of_peer(limits)
        is_alike = mine == theirs if self.stays else self.limits == limits
        return is_alike and self.platform == platform


@dataclass(frozen=True, slots=True)
class Sum:
    """The memory of all open instances, and what the trials that run at once take in addition."""

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
        return self.at_once * max((one.trial_bytes for one in self.needs), default=0)

    @property
    def total_bytes(self) -> int:
        """All of it, and what is left to the host."""
        return self.kept_bytes + self.passing_bytes + RESERVE_BYTES

    def says(self) -> str:
        """Return the sum in words: machines with memory of their own, containers, trials, host."""
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
        is_all = self.instances is None or need.stays
        return need.instances if is_all else (self.instances or 0) * need.parts


def needs(study: Study, plan: Plan) -> list[Need]:
    """List what each set of instances of a plan takes; a duet has two, one on each set of CPUs."""
    made = {(one.name, one.params): one.made for one in study.workloads}
    platforms = {platform.name: platform for platform in study.platforms}
    work: dict[tuple[str, int, Limits], list[Measured]] = {}
    parts: dict[tuple[str, int, Limits], int] = {}
    for cell in plan.cells:
        which = cell.platform, cell.replica, cell.limits
        work.setdefault(which, []).append(made[cell.workload, cell.params])
        parts[which] = len(plan.cpu_sets_of(cell))
    chosen = scenario.load(study.scenario)
    whole = chosen.opens_whole
    found = []
    for which, run in work.items():
        name, _, limits = which
        layers = platforms[name].made
        opened = layers if whole else layers[:-1]  # else a trial makes the rest itself
        held, shared = _held(opened, limits)
        if held is None and any(one.outlasts_trials(at_peer=False) for one in run):
            held = limits.memory_bytes
        makes = max(one.makes() for one in run) if held is None else 0
        own = layers[-1].commits(limits)
        made_bytes = IDLE_BYTES if own is None else own
        at_peer = 0 if _held(study.peer.made, limits)[0] is not None else limits.memory_bytes
        if any(one.overcommits() for one in run):
            held = None if held is None else min(held, IDLE_BYTES)
        # Neighbours may be in containers where the workload is in a machine with its own memory.
        others = {other for one in run for other in chosen.platforms(one) if other}
        is_kept = held is not None and all(
            _held(platforms[other].made, limits)[0] is not None for other in others
        )
        most = max((len(chosen.parts(one)) for one in run if not one.overcommits()), default=0)
        of_parts = 0 if is_kept or makes else most * limits.memory_bytes
        found.append(
            Need(
                platform=name,
                limits=limits,
                instances=plan.repetition.instances_of(name) * parts[which],
                parts=parts[which],
                kept_bytes=held if held is not None else IDLE_BYTES * bool(opened),
                passing_bytes=makes * made_bytes
                + of_parts
                + at_peer * any(one.uses_peer() for one in run),
                shared=shared,
                makes=makes,
                made_bytes=made_bytes if makes else 0,
            )
        )
    return [*found * at_once_of(plan), *_peers(study)]


def peer_name(study: Study) -> str:
    """Return what the peer is called in a sum."""
    return f"the peer {study.peer.stack}"


def _peers(study: Study) -> Iterator[Need]:
    """List the peers: one for each number of CPUs that trials leave to it, and for each memory.

    Each is there from the first trial that needs it until the session ends. What a trial takes at
    one that is a container is counted with the trial.
    """
    users = [one.made for one in study.workloads if one.made.uses_peer()]
    chosen = scenario.load(study.scenario)
    parts = {len(chosen.parts(made)) for made in users}
    keeps = any(made.outlasts_trials(at_peer=True) for made in users)
    alike = {_of_peer(limits): limits for limits in reversed(study.limits)}
    for limits in alike.values() if users else ():
        held, shared = _held(study.peer.made, limits)
        kept = limits.memory_bytes if keeps else IDLE_BYTES
        yield Need(
            platform=peer_name(study),
            limits=limits,
            instances=len(parts),
            kept_bytes=kept if held is None else held,
            shared=shared,
            stays=True,
        )


def _of_peer(limits: Limits) -> tuple[int, int, bool]:
    """Return the limits that a peer is made by: where nothing is pinned it has other CPUs."""
    return limits.cpus, limits.memory_bytes, limits.is_pinned


def admit(found: Collection[Need], at_once: int, available_bytes: int) -> bool:
    """Return whether all fits at once; if not, one instance of each platform under one limit does.

    Raises Unavailable with the sum where that does not fit either.
    """
    if Sum(tuple(found), at_once).total_bytes <= available_bytes:
        return True
    for one in by_blocks(found, at_once):
        refuse(one, available_bytes, FIX_TRIAL)
    return False


def by_blocks(found: Collection[Need], at_once: int) -> Iterator[Sum]:
    """List the least that is open at once: an instance of each platform compared, and the peers."""
    for limits in dict.fromkeys(one.limits for one in found):
        yield Sum(tuple(one for one in found if one.stays or one.limits == limits), at_once, 1)


def at_once_of(plan: Plan) -> int:
    """Return how many trials run at the same moment."""
    return 2 if plan.repetition.design is Design.DUET else 1


def refuse(sum_of: Sum, available_bytes: int, fix: str = FIX) -> None:
    """Raise Unavailable with the sum where it does not fit the memory that is available."""
    if sum_of.total_bytes > available_bytes:
        raise Unavailable(
            f"what is open at once needs {text(sum_of.total_bytes)} of memory, "
            f"{text(available_bytes)} are available on this host: {sum_of.says()}",
            fix,
        )


def text(count: float) -> str:
    """Return a size in readable units."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


def _held(layers: Sequence[layer.Layer], limits: Limits) -> tuple[int | None, str]:
    """Find what the outermost machine with memory of its own keeps, None where there is none."""
    for made in layers:
        if (kept := made.commits(limits)) is not None:
            return kept, made.name if made.shared else ""
    return None, ""
