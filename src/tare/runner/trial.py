"""One trial: run the command, watch the host meanwhile, understand what came out."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

from tare.errors import OutputNotUnderstood
from tare.machine import NOT_FOUND, Completed
from tare.model import HostCost, Status
from tare.monitors import noise
from tare.monitors.threads import Sampler
from tare.stack import Stack
from tare.workload import Output, Workload

NOT_IN_USERLAND = (NOT_FOUND, 126)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of a command came to."""

    status: Status
    reason: str
    completed: Completed
    started_at: str
    samples: dict[str, float]
    host: HostCost | None
    warnings: tuple[str, ...]
    phases_s: dict[str, float]


def in_directory(directory: str, argv: Sequence[str]) -> list[str]:
    """Build the command that runs argv in a directory, in the language that parsers know."""
    return ["env", "-C", directory, "LC_ALL=C", *argv]


def measure(
    stack: Stack, workload: Workload, directory: str, cpus: Sequence[int], deadline_s: float
) -> Outcome:
    """Run a workload once in a started stack; what goes wrong there is an outcome, not an error."""
    begin = time.perf_counter()
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    threads = stack.threads()
    sampler = Sampler(threads) if threads is not None else None
    before = noise.read(cpus)
    start = time.perf_counter()
    with sampler or nullcontext():
        argv = in_directory(directory, workload.command())
        done = stack.machine.run(argv, timeout_s=deadline_s)
    end = time.perf_counter()
    cost = sampler.cost if sampler is not None else None
    complaints = noise.complaints(before, noise.read(cpus), done.duration_s, len(cpus), cost)
    status, reason, samples = _understand(done, workload, deadline_s)
    if status is Status.OK and complaints:
        status, reason = Status.SUSPECT, "; ".join(complaints)
    phases = {
        "setup": start - begin,
        "command": done.duration_s,
        "parse": time.perf_counter() - end,
    }
    return Outcome(status, reason, done, started_at, samples, cost, tuple(complaints), phases)


def _understand(
    done: Completed, workload: Workload, deadline_s: float
) -> tuple[Status, str, dict[str, float]]:
    if done.timed_out:
        return Status.DNR, f"did not end within {deadline_s:.0f} s and was ended", {}
    if done.returncode in NOT_IN_USERLAND:
        return Status.UNAVAILABLE, f"{_tail(done)}; the machine inside lacks the tool", {}
    if done.returncode != 0:
        return Status.FAILED, f"exit status {done.returncode}: {_tail(done)}", {}
    output = Output(
        done.stdout.decode(errors="replace"),
        done.stderr.decode(errors="replace"),
        done.duration_s,
    )
    try:
        samples = {sample.metric.name: sample.value for sample in workload.parse(output)}
    except OutputNotUnderstood as error:
        return Status.FAILED, str(error), {}
    impossible = [name for name, value in samples.items() if not math.isfinite(value) or value < 0]
    if impossible:
        return Status.FAILED, f"impossible values of {', '.join(impossible)}", samples
    return Status.OK, "", samples


def _tail(done: Completed) -> str:
    text = (done.stderr or done.stdout).decode(errors="replace").strip()
    return text[-300:] or "nothing was printed"
