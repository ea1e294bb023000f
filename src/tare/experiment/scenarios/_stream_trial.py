"""One trial of a stream: requests come at their times, and each makes, uses and removes an
instance.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from tare.core.completed import Completed, tail_of
from tare.core.errors import LayerError, LayerTimedOut, TareError
from tare.core.model import Status
from tare.experiment.probes import noise
from tare.experiment.scenario import TrialContext
from tare.experiment.scenarios._arriving import (
    ANSWERED,
    DELETE_P50,
    LATENCY_P50,
    LATENCY_P99,
    READY_P50,
    Arriving,
)
from tare.experiment.trial.measure import Outcome, status_of, suspected
from tare.experiment.trial.role_placement import in_directory
from tare.machines.stack import Stack, open_stack
from tare.work.workload import Output, Workload


@dataclass
class Request:
    """A request by the host's clock, in seconds since the first was to come.

    ``due_s`` is when it was to come, ``begun_s`` when its instance was begun, ``ready_s`` when that
    answered, ``answered_s`` when its command had ended, ``deleted_s`` when nothing of it was left.
    """

    due_s: float
    begun_s: float = 0.0
    ready_s: float = 0.0
    answered_s: float = 0.0
    deleted_s: float = 0.0
    error: str = ""
    status: Status = Status.OK


def measure(context: TrialContext[Any]) -> Outcome:
    """Run one trial; what goes wrong is an outcome, and whatever was made is removed."""
    made = context.made
    assert isinstance(made, Arriving)  # noqa: S101 - all that its scenario measures is
    (placed,) = context.placed_parts
    arrivals = made.arrivals
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    requests = [Request(number / arrivals.rate_per_s) for number in range(arrivals.requests)]
    before = noise.read(placed.how.cpus)
    first_s = time.monotonic()
    workers = ThreadPoolExecutor(max_workers=made.makes())
    try:
        asked = []
        for number, one in enumerate(requests):
            time.sleep(max(0.0, first_s + one.due_s - time.monotonic()))
            asked.append(workers.submit(_serve, context, number, one, first_s))
        for future in asked:
            future.result()
    except BaseException:  # an interrupt: the session removes what is in its ledger
        workers.shutdown(wait=False, cancel_futures=True)
        context.host.cancel()
        raise
    workers.shutdown()
    took_s = time.monotonic() - first_s
    seen = noise.between(before, noise.read(placed.how.cpus), took_s, len(placed.how.cpus), None)
    bad = [one for one in requests if one.error]
    answered = f"{len(requests) - len(bad)} of {len(requests)} requests were answered"
    raw = json.dumps([asdict(one) for one in requests], indent=1)
    return suspected(
        Outcome(
            instance=placed.instance,
            status=bad[0].status if bad else Status.OK,
            reason=f"{answered}; {bad[0].error}" if bad else "",
            started_at=started_at,
            duration_s=took_s,
            samples={} if bad else _samples(requests),
            phases_s={"requests": took_s},
            warnings=tuple(noise.disturbances(seen, took_s, len(placed.how.cpus))),
            noise=seen,
            cpuset=placed.cpuset,
            completed=Completed(("stream",), 0, raw.encode(), b"", took_s),
        )
    )


def _serve(context: TrialContext[Any], number: int, one: Request, first_s: float) -> None:
    """Make an instance, run the command in it and remove it; what goes wrong is the request's."""
    stack: Stack | None = None
    try:
        ((layer, site),) = context.fresh(1, number)
        one.begun_s = time.monotonic() - first_s
        stack = open_stack(context.placed_parts[0].stack.machine, [layer], site)
        one.ready_s = time.monotonic() - first_s
        _run(stack, context.made.workload, context.deadline_s)
        one.answered_s = time.monotonic() - first_s
    except TareError as error:
        one.error, one.status = str(error), status_of(error)
    finally:
        if stack is not None:
            _remove(stack, one)
        one.deleted_s = time.monotonic() - first_s


def _run(stack: Stack, workload: Workload, deadline_s: float) -> None:
    """Run the command of a request; raises TareError."""
    done = stack.machine.run(in_directory(stack.workdir, workload.command()), timeout_s=deadline_s)
    if done.timed_out:
        raise LayerTimedOut(f"the command did not end within {deadline_s:.0f} s")
    if done.returncode != 0:
        why = tail_of(done.stderr or done.stdout)
        raise LayerError(f"the command ended with exit status {done.returncode}: {why}")
    output = Output(
        done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"), done.duration_s
    )
    list(workload.parse(output))


def _remove(stack: Stack, one: Request) -> None:
    try:
        stack.close()
    except LayerError as error:  # it stays in the ledger
        one.error = one.error or str(error)
        one.status = Status.FAILED


def _samples(requests: Sequence[Request]) -> dict[str, float]:
    latencies = [one.answered_s - one.due_s for one in requests]
    return {
        LATENCY_P50.name: float(np.quantile(latencies, 0.5)),
        LATENCY_P99.name: float(np.quantile(latencies, 0.99)),
        READY_P50.name: float(np.quantile([one.ready_s - one.begun_s for one in requests], 0.5)),
        DELETE_P50.name: float(
            np.quantile([one.deleted_s - one.answered_s for one in requests], 0.5)
        ),
        ANSWERED.name: len(requests) / max(one.answered_s for one in requests),
    }
