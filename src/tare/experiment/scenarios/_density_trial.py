"""One trial of density: add instances until the objective breaks, then find where, by bisection."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from statistics import median
from typing import Any

import numpy as np

from tare.core.completed import Completed
from tare.core.errors import LayerError, TareError, Unavailable
from tare.core.model import Better, Status
from tare.experiment.host.facts import available_bytes
from tare.experiment.probes.inner_machine import reader_of
from tare.experiment.scenario import TrialContext
from tare.experiment.scenarios import solo
from tare.experiment.scenarios._dense import FIT, MEMORY_EACH, READY_P50, READY_P99, SLOWEST, Dense
from tare.experiment.trial.guard import Guard
from tare.experiment.trial.measure import GOOD, Outcome, status_of
from tare.experiment.trial.placed_part import PlacedPart
from tare.experiment.trial.rendezvous import combined
from tare.machines.cgroup.cgroup import cpus_of
from tare.machines.instance import Threads
from tare.machines.layer import Layer, Site
from tare.machines.stack import Stack, open_stack

AT_ONCE = 2
"""Instances that are opened at the same time, for each CPU."""
BASE_RUNS = 3
"""Runs of one instance alone, of which the median is what all others are compared with."""
SLACK_S = 10.0
"""A command may take so much longer than the objective allows before it is ended."""
LEAST_LEVELS = 3
"""Of fewer levels no line through their memory is made: any two points have one."""
MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A number of instances that was tried; ``broke`` says how the objective broke, if it did.

    ``slowest`` is how many times as long as one alone the slowest took, 0 where one did not answer.
    ``used_bytes`` is by how much less memory was available than before the first instance.
    """

    count: int
    broke: str
    slowest: float = 0.0
    used_bytes: int = 0
    outcome: Outcome | None = None


def search(trial: Callable[[int], Level], most: int, levels: list[Level]) -> None:
    """Try twice as many until a level breaks or ``most`` is reached, then halve what lies between.

    The levels are added in the order in which they are tried, so that those before an error are
    known; the first is one instance.
    """
    levels.append(trial(1))
    good, bad = 1, 0
    while not levels[-1].broke and good < most:
        levels.append(trial(min(2 * good, most)))
        if not levels[-1].broke:
            good = levels[-1].count
    if levels[-1].broke:
        bad = levels[-1].count
    while bad - good > 1:
        levels.append(trial((good + bad) // 2))
        good, bad = (good, levels[-1].count) if levels[-1].broke else (levels[-1].count, bad)


def measure(context: TrialContext[Any]) -> Outcome:
    """Run one trial; what goes wrong is an outcome, and whatever was made is removed."""
    made = context.made
    assert isinstance(made, Dense)  # noqa: S101 - all that its scenario measures is
    (placed,) = context.placed_parts
    begin, started_at = time.monotonic(), datetime.now(UTC).isoformat(timespec="milliseconds")
    status, reason, levels = Status.OK, "", list[Level]()
    trial = _Trial(context, placed, made)
    try:
        search(trial.at, made.objective.most, levels)
    except TareError as error:
        status, reason = status_of(error), str(error)
    except BaseException:  # an interrupt: the session removes what is in its ledger
        context.host.cancel()
        trial.let_go()
        raise
    left = trial.close_to(0)
    took_s = time.monotonic() - begin
    good = max((one for one in levels if not one.broke), key=lambda one: one.count, default=None)
    if status is Status.OK and left:
        status, reason = Status.FAILED, left
    elif status is Status.OK and good is None:
        status, reason = Status.FAILED, f"one instance: {levels[0].broke}"
    said = [replace(one, outcome=None) for one in levels]
    raw = json.dumps({"levels": [*map(_plain, said)], "ready_s": trial.ready_s}, indent=1)
    whole = Outcome(
        instance=placed.instance,
        status=status,
        reason=reason or _end(levels, made.objective.most),
        started_at=started_at,
        duration_s=took_s,
        phases_s={"command": took_s},
        cpuset=placed.cpuset,
        completed=Completed(("density",), 0, raw.encode(), b"", took_s),
    )
    if status is not Status.OK or good is None or good.outcome is None:
        return whole
    samples = {
        FIT.name: float(good.count),
        READY_P50.name: float(np.quantile(trial.ready_s, 0.5)),
        READY_P99.name: float(np.quantile(trial.ready_s, 0.99)),
        SLOWEST.name: good.slowest,
    }
    if (each_bytes := memory_each(levels)) is not None:
        samples[MEMORY_EACH.name] = each_bytes
    return replace(whole, samples=samples, parts=good.outcome.parts)


def memory_each(levels: Sequence[Level]) -> float | None:
    """Return by how much less memory was available with each instance more: the slope of a line.

    None where fewer than three levels were measured, or others freed more than instances took.
    """
    known = {one.count: one.used_bytes for one in levels if one.outcome is not None}
    if len(known) < LEAST_LEVELS:
        return None
    slope = float(np.polyfit(list(known), list(known.values()), 1)[0])
    return slope if slope > 0 else None


def _plain(level: Level) -> dict[str, object]:
    return {
        "instances": level.count,
        "broke": level.broke,
        "slowest": level.slowest,
        "used_bytes": level.used_bytes,
    }


def _end(levels: Sequence[Level], most: int) -> str:
    """Return why no more fit: how the lowest level broke that did."""
    broken = [one for one in levels if one.broke]
    if not broken:
        return f"all {most} fit, and no more were tried"
    lowest = min(broken, key=lambda one: one.count)
    return f"{lowest.count} instances: {lowest.broke}"


@dataclass
class _Trial:
    """The instances of a trial, as many as are open now."""

    context: TrialContext[Any]
    around: PlacedPart
    made: Dense
    opened: list[PlacedPart] = field(default_factory=list)
    ready_s: list[float] = field(default_factory=list)
    alone: float | None = None
    alone_s: float = 0.0
    free_bytes: int = field(default_factory=available_bytes)

    def at(self, count: int) -> Level:
        """Open or close instances until there are ``count``, run all at once, and judge them.

        Raises TareError where one instance alone cannot be had, or an instance cannot be removed.
        """
        if left := self.close_to(count):
            raise LayerError(left)
        if why := self._open_to(count):
            return Level(count=count, broke=why)
        groups = [group for one in self.opened if (group := one.stack.own_group()) is not None]
        is_first = self.alone is None
        with Guard(groups) as guard:
            outcome = self._run()
            if is_first:
                self._note_alone([outcome, *(self._run() for _ in range(BASE_RUNS - 1))])
        used = self.free_bytes - guard.least_bytes
        # The first run of all finds everything cold; what is compared with is the median.
        slowest = 1.0 if is_first and self.alone else self._slowest(outcome)
        why = self._judged(outcome, slowest, guard)
        if not slowest and (left := self.close_to(0)):  # what did not answer is not used again
            raise LayerError(left)
        return Level(count=count, broke=why, slowest=slowest, used_bytes=used, outcome=outcome)

    def let_go(self) -> None:
        """End what reads in the instances, and leave their removal to others."""
        while self.opened:
            if (reader := self.opened.pop().how.reader) is not None:
                reader.close()

    def close_to(self, count: int) -> str:
        """Close the last ones until there are ``count``; return what could not be removed."""
        failed = []
        while len(self.opened) > count:
            placed = self.opened.pop()
            if placed.how.reader is not None:
                placed.how.reader.close()
            try:
                placed.stack.close()
            except LayerError as error:
                failed.append(str(error))
        return "; ".join(failed)

    def _open_to(self, count: int) -> str:
        """Open more, some at a time, while there is memory; return why that ended early."""
        sites: list[tuple[Layer, Site]] = []
        try:
            for number in range(len(self.opened), count):
                sites += self.context.fresh(1, number)
        except Unavailable as error:
            if not self.opened:
                raise
            return str(error)
        with ThreadPoolExecutor(max_workers=AT_ONCE * len(os.sched_getaffinity(0))) as workers:
            asked = [workers.submit(self._open_one, *one) for one in sites]
            try:
                failures = [found for one in asked if (found := one.exception()) is not None]
            except BaseException:  # an interrupt of the waiting thread: no more are opened
                workers.shutdown(wait=False, cancel_futures=True)
                self.context.host.cancel()
                raise
        for failure in failures:  # what an engine cannot do is no answer to how many fit
            if not isinstance(failure, Unavailable) or not self.opened:
                raise failure
        return str(failures[0]) if failures else self._short_of_memory()

    def _open_one(self, layer: Layer, site: Site) -> None:
        """Open an instance and prepare it; on failure nothing of it stays."""
        if why := self._short_of_memory():
            raise Unavailable(why)
        begin = time.monotonic()
        outer = self.around.stack
        stack = open_stack(outer.machine, [layer], site)
        if outer.instances:  # its threads are those of a machine that is not this host
            stack = _Inside(**{one: getattr(stack, one) for one in KEPT})
        took_s = time.monotonic() - begin
        placed = replace(
            self.around,
            instance=f"{self.around.instance}-{site.name.split('-')[-2]}",
            stack=stack,
            how=replace(
                self.around.how,
                cpus=self.around.how.cpus if outer.instances else sorted(cpus_of(site.cpuset)),
                reader=reader_of([layer], stack.instances),
            ),
            first=[self.context.cell.id],
            is_cold=True,
            kept={},
        )
        try:
            solo.prepare(self._copy(placed), [placed])
        except BaseException:
            stack.close()
            raise
        self.ready_s.append(took_s)
        self.opened.append(placed)

    def _short_of_memory(self, left: int | None = None) -> str:
        """Return how memory is short: what is ``left`` now, or was at a time; empty: it is not."""
        left = available_bytes() if left is None else left
        wanted = self.made.objective.memory_left_bytes
        if left >= wanted:
            return ""
        return f"{left / MIB:.0f} MiB of the host's memory were left, fewer than {wanted / MIB:.0f}"

    def _run(self) -> Outcome:
        """Run the workload in all that are open, released at one moment."""
        deadline_s = self.context.deadline_s
        if self.alone is not None:
            deadline_s = SLACK_S + 2 * self.made.objective.slowdown * self.alone_s
        copies = [
            replace(self._copy(replace(one, part=str(number))), deadline_s=deadline_s)
            for number, one in enumerate(self.opened, start=1)
        ]
        if self.made.workload.before_trial() is not None:
            for one in copies:
                solo.before(one, one.placed_parts)
        return combined(solo.Scenario().measure_together(copies, 0.0), {})

    def _copy(self, placed: PlacedPart) -> TrialContext[Any]:
        return replace(self.context, made=self.made.workload, placed_parts=[placed])

    def _slowest(self, outcome: Outcome) -> float:
        """Return how many times as long as one alone the slowest took; 0 where one did not."""
        worst = self._worst(outcome)
        if not worst or not self.alone:
            return 0.0
        is_lower = self.made.workload.metrics[0].better is Better.LOWER
        return worst / self.alone if is_lower else self.alone / worst

    def _worst(self, outcome: Outcome) -> float:
        """Return the worst value of all instances; 0 where one has none."""
        metric = self.made.workload.metrics[0]
        values = [one.samples.get(metric.name) for one in outcome.parts]
        known = [one for one in values if one]
        if len(known) < len(values) or any(one.status not in GOOD for one in outcome.parts):
            return 0.0
        return max(known) if metric.better is Better.LOWER else min(known)

    def _note_alone(self, outcomes: Sequence[Outcome]) -> None:
        """Note what one instance alone does: the median of some runs."""
        known = [worst for one in outcomes if (worst := self._worst(one))]
        if known:
            self.alone = median(known)
            self.alone_s = max(one.duration_s for one in outcomes)

    def _judged(self, outcome: Outcome, slowest: float, guard: Guard) -> str:
        """Return how the objective broke; empty where it held."""
        if guard.danger:
            return f"they were ended, for the host was in danger: {guard.danger}"
        answered = sum(one.status in GOOD for one in outcome.parts)
        if answered < len(outcome.parts):
            return f"{answered} of {len(outcome.parts)} answered; {outcome.reason}"
        if not slowest:
            return f"{self.made.workload.metrics[0].name} was not measured in each"
        allowed = self.made.objective.slowdown
        if slowest > allowed:
            if self.made.workload.metrics[0].better is Better.LOWER:
                return f"the slowest took {slowest:.2f} times as long as one alone, of {allowed:g}"
            return f"the slowest reached 1/{slowest:.2f} of what one alone does, of 1/{allowed:g}"
        return self._short_of_memory(guard.least_bytes)


KEPT = ("machine", "workdir", "instances", "scopes", "cpuset", "no_agent")


class _Inside(Stack):
    """An instance made in a machine that is not this host, whose threads are not to be seen."""

    def threads(self) -> Threads | None:
        """See Stack.threads."""
        return None
