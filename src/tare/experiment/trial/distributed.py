"""Run a command whose roles are in several instances, and monitor each of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from tare.core.model import HostCost, Status
from tare.experiment.trial.measure import GOOD, CommandRun, Outcome, suspected
from tare.experiment.trial.placed_part import PlacedPart
from tare.experiment.trial.rendezvous import each_once
from tare.experiment.trial.role_placement import PlacedCommand
from tare.experiment.trial.watch import Watch
from tare.work.workload import Workload


def measure_distributed(
    placed_parts: Sequence[PlacedPart],
    workload: Workload,
    command: PlacedCommand,
    deadline_s: float,
) -> Outcome:
    """Run a command once; the first instance is measured, the others run its roles.

    CPU time that one takes on CPUs which it shares with others is the trial's own. What the trial
    cost is what all of them cost; what was read over its time is kept with each part.
    """
    first, *others = placed_parts
    run = CommandRun(first, workload, command, deadline_s)
    watches = [Watch(one.stack, workload, None, one.how) for one in others]
    with ExitStack() as watching:
        for watch in watches:
            watching.enter_context(watch)
        run.go(lambda: command.machine.run(command.argv, timeout_s=deadline_s))
    spent = [(first.how.cpus, run.cpu_s)]
    spent += [(one.how.cpus, watch.cpu_s) for one, watch in zip(others, watches, strict=True)]

    def others_s(number: int) -> float:
        mine = set(placed_parts[number].how.cpus)
        rest = [one for n, one in enumerate(spent) if n != number]
        return sum(cpu_s for cpus, cpu_s in rest if mine & set(cpus))

    outcome = run.outcome(others_s(0))
    parts = [outcome]
    for number, (placed, watch) in enumerate(zip(others, watches, strict=True), start=1):
        is_bad = outcome.status not in GOOD
        part = replace(
            outcome,
            name=placed.part,
            instance=placed.instance,
            platform=placed.platform,
            cpuset=placed.cpuset,
            status=outcome.status if is_bad else Status.OK,
            reason=outcome.reason if is_bad else "",
            warnings=(),
            timeline=watch.timeline,
            courses=(),
        )
        # The command's samples say how long its tool ran, and are no part's but the first one's.
        parts.append(replace(suspected(watch.fill(part, others_s(number))), samples={}))
    status, reason = outcome.status, outcome.reason
    doubted = [part for part in parts[1:] if part.status is Status.SUSPECT]
    if doubted and status in GOOD:
        status = Status.SUSPECT
        said = [f"{part.name}: {part.reason}" for part in doubted]
        reason = "; ".join([*([reason] if reason else []), *said])
    return replace(
        outcome,
        name="",
        status=status,
        reason=reason,
        host=sum_of([part.host for part in parts]),
        warnings=each_once([one for part in parts for one in part.warnings]),
        timeline=None,
        courses=(),
        parts=tuple(parts),
    )


def sum_of(costs: Sequence[HostCost | None]) -> HostCost | None:
    """Add up what all parts cost; None where it is not known of one.

    The wall time attributable to other work is that of the part where it is largest.
    """
    known = [one for one in costs if one is not None]
    if len(known) < len(costs):
        return None
    delays = [one.foreign_delay_s for one in known]
    return HostCost(
        cpu_s=sum(one.cpu_s for one in known),
        run_delay_s=sum(one.run_delay_s for one in known),
        all_cpu_s=sum(one.all_cpu_s for one in known),
        coverage=min(one.coverage for one in known),
        threads=sum(one.threads for one in known),
        workers=sum(one.workers for one in known),
        lasting=all(one.lasting for one in known),
        throttled_s=sum(one.throttled_s for one in known),
        foreign_cpu_s=sum(one.foreign_cpu_s for one in known),
        foreign_delay_s=None if None in delays else max(one for one in delays if one is not None),
    )


def mean_of(costs: Sequence[HostCost | None]) -> HostCost | None:
    """Return what each of several parts that do the same cost on average; None if one is unknown.

    The wall time attributable to other work is that of the part where it is largest, as is the
    number of threads.
    """
    known = [one for one in costs if one is not None]
    total = sum_of(costs) if known else None
    if total is None:
        return None
    return replace(
        total,
        cpu_s=total.cpu_s / len(known),
        run_delay_s=total.run_delay_s / len(known),
        all_cpu_s=total.all_cpu_s / len(known),
        threads=max(one.threads for one in known),
        workers=max(one.workers for one in known),
        throttled_s=total.throttled_s / len(known),
        foreign_cpu_s=total.foreign_cpu_s / len(known),
    )
