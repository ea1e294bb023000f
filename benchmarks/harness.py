"""What Tare adds to one trial, against the same argv run by hand, as ratios to the bare command.

For each platform, interleaved so that drift falls on all alike:

bare     the command by hand, nothing of Tare but the way in: a chroot, or ``docker exec``
trial    the same command as a trial: sampling, parsing, storing with fsync
switch   letting an instance run before a trial and pausing it after

Memory and the controller's CPU are those of a simulated and of a real run.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tare import layer
from tare.model import Kind, Limits, Sample, Status, Trial
from tare.runner.outside import Command, in_directory
from tare.runner.session import Session
from tare.runner.trial import measure
from tare.runner.watch import Watching
from tare.stack import Stack, open_stack
from tare.store import Writer
from tare.workload import Output, Workload, load

REPEAT = 60
LIMITS = Limits(cpus=1, memory_bytes=2**30)
PACKAGES = ("fio", "mbw", "sysbench")


@dataclass(frozen=True)
class Nothing(Workload):
    """``true``: what is left is the harness."""

    argv: tuple[str, ...] = ("true",)
    metrics = ()
    packages = ()

    def command(self) -> tuple[str, ...]:
        return self.argv

    def parse(self, output: Output) -> Iterator[Sample]:
        return iter(())


def trial_of(stack: Stack, workload: Workload, writer: Writer, number: int) -> float:
    """Run and store one trial; give the seconds it took as a whole."""
    begin = time.perf_counter()
    command = Command(stack.machine, in_directory(stack.workdir, workload.command()))
    outcome = measure(stack, workload, command, 60, Watching(cpus=[0]))
    trial = Trial(
        cell="bench", block=number, slot=0, kind=Kind.MEASURED, instance="0",
        status=outcome.status, duration_s=outcome.completed.duration_s,
        host=outcome.host, phases_s=outcome.phases_s,
    )  # fmt: skip
    writer.trial(trial, outcome.completed)
    if outcome.status is Status.FAILED:
        raise SystemExit(outcome.reason)
    return time.perf_counter() - begin


def bare(argv: list[str]) -> float:
    """Run a command by hand, with the means of the host alone; give the seconds it took."""
    begin = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, os.environ)
    _, status = os.waitpid(pid, 0)
    if status:
        raise SystemExit(f"{argv} failed")
    return time.perf_counter() - begin


def switch(stack: Stack) -> float:
    begin = time.perf_counter()
    stack.pause()
    stack.resume()
    return time.perf_counter() - begin


def milliseconds(values: list[float]) -> float:
    return 1000 * statistics.median(values)


def per_trial(session: Session, writer: Writer) -> None:
    titles = ("bare ms", "trial ms", "added ms", "ratio", "switch ms")
    print(f"{'platform':<12}" + "".join(f"{title:>11}" for title in titles))
    for name in ("host", "docker"):
        site = session.site(f"bench-{name}", LIMITS, 120)
        stack = open_stack(session.host, [layer.load(name)], site)
        try:
            by_hand = stack.machine.host_argv(["true"])
            alone, whole, switched = [], [], []
            for number in range(REPEAT):
                alone.append(bare(by_hand))
                whole.append(trial_of(stack, Nothing(), writer, number))
                switched.append(switch(stack))
        finally:
            stack.close()
        added = milliseconds([w - a for w, a in zip(whole, alone, strict=True)])
        print(
            f"{name:<12}{milliseconds(alone):>11.1f}{milliseconds(whole):>11.1f}{added:>11.1f}"
            f"{milliseconds(whole) / milliseconds(alone):>11.2f}{milliseconds(switched):>11.1f}"
        )


def controller_cpu(session: Session, writer: Writer) -> None:
    """Measure the CPU time of this process while a busy trial runs elsewhere."""
    stack = open_stack(session.host, [layer.load("host")], session.site("cpu", LIMITS, 120))
    busy = load("sysbench_cpu", time_s=5, threads=1)
    try:
        before, begin = time.process_time(), time.perf_counter()
        trial_of(stack, busy, writer, 0)
        share = (time.process_time() - before) / (time.perf_counter() - begin)
    finally:
        stack.close()
    print(f"\ncontroller's CPU during a trial of 5 s: {100 * share:.2f} % of one core")


def memory() -> None:
    """Run 10,000 simulated trials and print how much this process grew."""
    from tare import runner
    from tare.study import make_plan, read_study

    study = read_study(
        "name: memory\nbaseline: host/sim\nplatforms: [host/sim, {stack: host/sim, name: b}]\n"
        "limits: {cpus: 1, memory: 1GiB}\nworkloads: [sysbench_cpu: {time: 1}]\n"
        "repetition: {min_blocks: 3340, max_blocks: 3340, instances: 2}\n",
        "memory",
    )
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        into = Path(folder) / "results"
        writer = Writer(into)
        plan = make_plan(study, 1)
        writer.start(study.source, plan)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begin = time.perf_counter()
        runner.run(study, plan, into, runner.Silent())
        took_s = time.perf_counter() - begin
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        count = sum(1 for _ in (into / "trials.jsonl").open())
    print(f"{count} simulated trials in {took_s:.1f} s, {grown:.0f} MB grown "
          f"({grown * 10_000 / count:.1f} MB for 10,000)")  # fmt: skip


def main() -> int:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        writer = Writer(Path(folder))
        with Session(Path(folder), "bookworm", PACKAGES) as session:
            session.step_aside(1)
            per_trial(session, writer)
            controller_cpu(session, writer)
    memory()
    return 0


if __name__ == "__main__":
    sys.exit(main())
