"""One command whose roles have several instances: it is run once, and every instance is watched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from tare.complaints import texts
from tare.machine import Completed
from tare.model import HostCost, Status
from tare.trial.cast import Command
from tare.trial.measure import Outcome, PartOutcome, Run
from tare.trial.seat import Seat
from tare.trial.together import each_once
from tare.trial.watch import Watch
from tare.workload import Workload


def measure_among(
    seats: Sequence[Seat],
    workload: Workload,
    command: Command,
    deadline_s: float,
    at_start: Callable[[], None],
) -> Outcome:
    """Run a command once; the first instance is the one under test, the others have its roles.

    CPU time that one takes on CPUs which it shares with others is the trial's own. What the trial
    cost is what all of them cost; what was read over its time is kept with each part.
    """
    first, *others = seats
    run = Run(first.stack, workload, command, deadline_s, first.how)
    watches = [Watch(one.stack, workload, None, one.how) for one in others]

    def execute() -> Completed:
        at_start()
        return command.machine.run(command.argv, timeout_s=deadline_s)

    with ExitStack() as watching:
        for watch in watches:
            watching.enter_context(watch)
        run.go(execute)
    spent = [(first.how.cpus, run.cpu_s)]
    spent += [(one.how.cpus, watch.cpu_s) for one, watch in zip(others, watches, strict=True)]

    def others_s(number: int) -> float:
        mine = set(seats[number].how.cpus)
        rest = [one for n, one in enumerate(spent) if n != number]
        return sum(cpu_s for cpus, cpu_s in rest if mine & set(cpus))

    outcome = run.outcome(others_s(0))
    parts = [PartOutcome(first.part, first.instance, first.cpuset, outcome, None)]
    for number, (one, watch) in enumerate(zip(others, watches, strict=True), start=1):
        seen = watch.seen(outcome.completed, outcome.samples, others_s(number))
        status, reason = outcome.status, outcome.reason
        if status in (Status.OK, Status.SUSPECT):
            status = Status.SUSPECT if seen.complaints else Status.OK
            reason = "; ".join(texts(seen.complaints))
        came = replace(
            outcome,
            status=status,
            reason=reason,
            samples={},
            host=seen.cost,
            warnings=tuple(seen.complaints),
            noise=seen.noise,
            timeline=watch.timeline,
            courses=(),
        )
        parts.append(PartOutcome(one.part, one.instance, one.cpuset, came, None))
    status, reason = outcome.status, outcome.reason
    doubted = [one for one in parts[1:] if one.outcome.status is Status.SUSPECT]
    if doubted and status in (Status.OK, Status.SUSPECT):
        status = Status.SUSPECT
        said = [f"{one.name}: {one.outcome.reason}" for one in doubted]
        reason = "; ".join([*([reason] if reason else []), *said])
    return replace(
        outcome,
        status=status,
        reason=reason,
        host=_sum([one.outcome.host for one in parts]),
        warnings=each_once([told for one in parts for told in one.outcome.warnings]),
        timeline=None,
        courses=(),
        parts=tuple(parts),
    )


def _sum(costs: Sequence[HostCost | None]) -> HostCost | None:
    """Add up what all parts cost; None where it is not known of one.

    What of the wall time may be laid to other work is that of the one it may be most.
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
