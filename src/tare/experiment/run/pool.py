"""Start and keep the instances of all platforms, paused unless they are measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType

from tare.core.errors import TareError, Unavailable
from tare.core.model import Cell, CpuSet, Entry, Params, Repetition, Status, neighbour_of
from tare.experiment.probes.inner_machine import reader_of
from tare.experiment.run import conditions, instance_checks
from tare.experiment.run import cpu_sets as cores
from tare.experiment.run.headroom import Headroom
from tare.experiment.run.instance_set import (
    InstanceSet,
    Key,
    Member,
    keys,
    label_of,
    running,
    runs_userland,
    takes_userland,
)
from tare.experiment.run.progress import Progress
from tare.experiment.run.session import Session
from tare.experiment.study import Platform
from tare.experiment.trial.measure import status_of
from tare.machines import detection
from tare.machines.stack import open_stack
from tare.work.workload import Measured

AT_ONCE = 2
"""Instances that are opened at the same time, for each CPU: half of an opening is waiting."""


class Pool:
    """All instance sets of a session.

    Unless ``whole`` an instance is only what is around a platform's innermost layer: its lifecycle
    is what will be measured. ``tools`` are the programs whose versions have to agree.
    """

    measured: Mapping[tuple[str, Params], Measured] = MappingProxyType({})
    """What cells run, by their workload and parameters."""
    headroom: Headroom | None = None
    """What watches the host's memory; None: nothing does."""

    def __init__(
        self,
        session: Session,
        deadline_s: float,
        progress: Progress,
        *,
        whole: bool = True,
        tools: Sequence[str] = (),
    ) -> None:
        self.session, self.deadline_s, self.progress = session, deadline_s, progress
        self.whole, self.tools = whole, tools
        self.instance_sets: dict[Key, InstanceSet] = {}
        self._last: dict[tuple[str, int], int] = {}

    def of(self, cell: Cell) -> list[InstanceSet]:
        """Return the instance sets that a cell runs on: one, or a duet's two, and its neighbour's.

        To a cell whose workload needs what the userland lacks, or whose neighbour needs CPUs that
        this host does not have, they are as closed ones.
        """
        instance_sets = [
            instances
            for which, instances in self.instance_sets.items()
            if (*which[:3], None) in keys(cell)
        ]
        made = self.measured.get((cell.workload, cell.params))
        needed = set[str]() if made is None else made.all_packages() | made.all_programs()
        lacks = "; ".join(
            f"the userland lacks {name}: {why}"
            for name, why in self.session.userland.missing.items()
            if name in needed
        )
        reason = f"{lacks}; these results continue without it; start a new study to try again"
        found = []
        for instances in instance_sets:
            neighbour = neighbour_of(cell.params)
            why = instances.missing.get(neighbour.cpus.value, "") if neighbour else ""
            if lacks and runs_userland(instances.platform):
                why = reason
            is_closed = bool(why) and instances.status is Status.OK
            found.append(_without(instances, why) if is_closed else instances)
        return found

    def open_all(
        self,
        wanted: Mapping[Key, Platform],
        repetition: Repetition,
        cpu_sets: Mapping[Key, Sequence[CpuSet]] = MappingProxyType({}),
    ) -> None:
        """Open every instance of every platform, some at a time; a failure closes its instance set.

        A trial has at most as many instances of a set at once as its ``cpu_sets`` are, which say
        which set of CPUs each has; where none are given, one.
        """
        for number, (which, platform) in enumerate(wanted.items()):
            self.instance_sets[which] = InstanceSet(
                platform, which[2], f"p{number}", cores=which[3]
            )
            own = tuple(cpu_sets.get(which, (0,)))
            self.instance_sets[which].cpu_sets = own
            self.instance_sets[which].missing = cores.missing(self.session, which[2], own)
            self.instance_sets[which].places = repetition.instances_of(platform.name)
            self._probe(self.instance_sets[which])
        self._build()
        if not self._is_by_blocks:
            self._open_whole()
        if self._is_by_blocks:  # from the start, or since a guest takes more than its memory
            self._open_blocks()

    @property
    def _is_by_blocks(self) -> bool:
        return self.headroom is not None and self.headroom.is_by_blocks

    def _open_blocks(self) -> None:
        """Open the first instances of each platform, those under one set of limits at a time."""
        self.progress.says("not all instances fit the memory at once: opening them by blocks")
        for limits in dict.fromkeys(instances.limits for instances in self.instance_sets.values()):
            instance_sets = [
                instances for instances in self.instance_sets.values() if instances.limits == limits
            ]
            self._close_instances()
            self._open_some(
                [
                    (instances, number)
                    for instances in instance_sets
                    for number in range(instances.parts)
                ],
                lambda instances, index: (
                    self._open_again(instances, index)
                    if (instances.name, index) in self._last
                    else self._open_one(instances, index)
                ),
            )
            self._enter_alike()

    def _open_whole(self) -> None:
        """Open all instances, until a guest shows that not all of them fit."""
        most = max(
            (instances.parts * instances.places for instances in self.instance_sets.values()),
            default=0,
        )
        jobs = [
            (instances, index)
            for index in range(most)
            for instances in self.instance_sets.values()
            if instances.status is Status.OK and index < instances.parts * instances.places
        ]
        self._open_some(
            jobs,
            lambda instances, index: (
                None if self._is_by_blocks else self._open_one(instances, index)
            ),
        )
        for instances in self.instance_sets.values():
            instances.members.sort(key=lambda member: member.index)
        self._enter_alike()

    def _open_some(
        self, jobs: Iterable[tuple[InstanceSet, int]], open_one: Callable[[InstanceSet, int], None]
    ) -> None:
        """Open instances by their numbers, some at a time."""
        # The slowest first, so that none of them is waited for alone at the end.
        jobs = sorted(jobs, key=lambda job: _slowness(job[0].platform), reverse=True)
        at_once = AT_ONCE * len(self.session.everything)
        with ThreadPoolExecutor(max_workers=at_once) as workers:
            try:
                list(workers.map(lambda job: open_one(*job), jobs))
            except BaseException:
                workers.shutdown(wait=False, cancel_futures=True)
                self.session.host.cancel()
                raise

    def open_only(self, instance_sets: Iterable[InstanceSet], number: int) -> None:
        """Close all instances and open fresh ones, those of one place, of some instance sets."""
        self._close_instances()
        instance_sets = tuple(instance_sets)
        self._open_some(
            [
                (instances, number % instances.places * instances.parts + part)
                for instances in instance_sets
                for part in range(instances.parts)
            ],
            self._open_again,
        )
        for instances in instance_sets:
            instances.members.sort(key=lambda member: member.index)

    def _close_instances(self) -> None:
        """Close what is open of all platforms; their names are not given again."""
        for instances in self.instance_sets.values():
            for member in instances.members:
                self._last[instances.name, member.index] = member.reopened
                instances.remove(member)
            instances.members.clear()

    def _open_again(self, instances: InstanceSet, index: int) -> None:
        if instances.status is not Status.OK:
            return
        reopened = self._last.get((instances.name, index), 0) + 1
        self._renew(instances, 0, index, reopened, "no instance could be opened for a block")

    @property
    def entry(self) -> Entry:
        """How commands get into the machines of this session, all of them alike."""
        return Entry.ANEW if self.session.agents is None else Entry.AGENT

    def _enter_alike(self) -> None:
        """Use no agents at all if any machine cannot have one.

        Everything is compared with the baseline, and the two ways are never mixed in a comparison:
        what an engine's client costs would be part of one side of it only.
        """
        members = [
            (instances, one)
            for instances in self.instance_sets.values()
            for one in instances.members
        ]
        without = [(instances, one) for instances, one in members if one.stack.no_agent]
        for instances, one in without:
            if one.is_first and one.stack.instances[-1].takes_agent:
                why = f"commands enter every machine anew, without an agent: {one.stack.no_agent}"
                self.progress.says(f"{instances.platform.name}: {why}")
                instances.warnings.append(why)
        if without:
            self.session.agents = None
        for instances, one in members:
            if without:
                one.stack.enter_anew()
            one.reader = reader_of(instances.platform.made, one.stack.instances)

    def reopen(self, instances: InstanceSet, member: Member) -> None:
        """Replace an instance that no longer answers; on failure the instance set is closed."""
        place = instances.members.index(member)
        instances.remove(instances.members.pop(place))
        failed = "an instance was lost and not replaced"
        self._renew(instances, place, member.index, member.reopened + 1, failed)

    def _renew(
        self, instances: InstanceSet, place: int, number: int, reopened: int, failed: str
    ) -> None:
        """Open the next instance of a number; it enters its machine as all others do.

        ``failed`` begins the reason for which the instance set is closed where that fails.
        """
        try:
            fresh = self._open(instances, number, reopened)
        except TareError as error:
            instances.close(status_of(error), f"{failed}: {error}")
            return
        if fresh.stack.no_agent and self.session.agents is not None:
            instances.remove(fresh)
            why = f"an instance was replaced by one without an agent: {fresh.stack.no_agent}"
            instances.close(Status.FAILED, why)
            return
        instances.members.insert(place, fresh)

    def _probe(self, instances: InstanceSet) -> None:
        """Probe the outermost layer; the layers inside can be probed only once that is open."""
        try:
            layers = instances.platform.made
            if instances.cores is not None:
                instances.number = cores.numbers(self.session, instances.limits.cpus)[
                    instances.cores
                ]
            if instead := layers[-1].own_system():
                instances.warnings.append(f"it runs {instead}, not the shared userland")
            instances.warnings += [caveat for one in layers if (caveat := one.caveat())]
            for one in layers:
                if why := one.lacks(one.held_to(instances.limits)):
                    raise Unavailable(why, "change that limit below `limits:`, or leave it out")
            around = next((one for one in layers if not one.shared), layers[-1])
            if why := around.cannot_hold(instances.limits):
                raise Unavailable(why, "change that limit below `limits:`, or leave it out")
            made = layers[0]
            if made.boots_guest:  # KVM is tried by a guest, which may have to be built first
                self.progress.says(f"checking {instances.platform.name}")
            userland = self.session.userland if made.boots_guest else None
            instances.probe = made.probe(self.session.host, userland)
        except TareError as error:
            instances.status, instances.reason = status_of(error), str(error)

    def _build(self) -> None:
        """Build missing images in the main thread, which is the only one that an interrupt ends.

        Without a userland nothing can be measured, so that is raised; without a guest the platforms
        that need one are closed. What the userland had to be built without is reported.
        """
        instance_sets = [
            instances for instances in self.instance_sets.values() if instances.status is Status.OK
        ]
        if any(takes_userland(instances.platform) for instances in instance_sets):
            self.progress.says("preparing the userland")
            _ = self.session.userland.folder
            for name, why in self.session.userland.missing.items():
                self.progress.says(f"continuing without {name}: {why}")
        for instances in instance_sets:
            self.progress.says(f"preparing {instances.platform.name}")
            try:
                for made in instances.platform.made:
                    made.prepare(self.session.host, self.session.userland)
            except TareError as error:
                instances.close(status_of(error), str(error))

    def _open_one(self, instances: InstanceSet, index: int) -> None:
        if instances.status is not Status.OK:
            return
        self.progress.says(f"starting {instances.platform.name}, instance {index + 1}")
        try:
            member = self._open(instances, index)
        except TareError as error:
            instances.close(status_of(error), str(error))
        else:
            instances.admit(member)

    def _open(self, instances: InstanceSet, index: int, reopened: int = 0) -> Member:
        """Start an instance, read its limits back and pause it; on failure nothing stays."""
        if self.headroom is not None:
            self.headroom.before(instances.platform.name, instances.limits)
        start = time.monotonic()
        layers = instances.platform.made
        number = instances.opened[index % instances.parts]
        if isinstance(number, int):
            number += instances.number
        name = f"{instances.name}-{label_of(index, reopened)}"
        site = self.session.site(name, instances.limits, self.deadline_s, number)
        if not self.whole:  # the lifecycle that is measured is that of the layers' own clients
            layers, site = layers[:-1], replace(site, agents=None)
        stack = open_stack(self.session.host, layers, site)
        took_s = time.monotonic() - start
        reader = reader_of(layers, stack.instances) if self.whole else None
        member = Member(
            index, stack, reopened=reopened, start_s=took_s, number=number, reader=reader
        )
        try:
            if self.headroom is not None:
                self.headroom.opened(instances.platform.name, instances.limits, stack.threads())
            if self.whole:
                instance_checks.check(instances, member, lambda: self.detected_here)
                instance_checks.read_conditions(instances, member, self.tools)
            stack.pause()
        except BaseException:
            instances.remove(member)
            raise
        return member

    def watch_clocks(self) -> None:
        """Compare the clocks of the instances that were read at the opening with the host's.

        Not that of one that was replaced meanwhile, nor that of the control.
        """
        asked = [
            (instances.conditions, member)
            for (_, replica, *_), instances in self.instance_sets.items()
            for member in (() if replica else instances.members)
            if instances.conditions is not None and instances.conditions.label == member.label
        ]

        def watch(one: tuple[conditions.Conditions, Member]) -> None:
            known, member = one
            with suppress(TareError), running(member) as stack:
                conditions.watch_clock(known, stack)

        with ThreadPoolExecutor(max_workers=len(self.session.everything)) as workers:
            list(workers.map(watch, asked))  # each mostly waits for seconds to pass

    @cached_property
    def detected_here(self) -> Sequence[detection.Detected]:
        """The stack that the host itself runs in."""
        return detection.detect(self.session.host)


def _without(instances: InstanceSet, reason: str) -> InstanceSet:
    """Return an instance set as it is for a cell that cannot use it."""
    of = instances.platform, instances.limits, instances.name
    return InstanceSet(*of, [], Status.UNAVAILABLE, reason)


def _slowness(platform: Platform) -> tuple[bool, int]:
    layers = platform.made
    return any(made.boots_guest for made in layers), len(layers)
