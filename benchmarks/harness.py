"""What Tare adds to one trial, against the same argv run by hand, as ratios to the bare command.

For each platform, interleaved so that drift falls on all alike:

bare     the command by hand, nothing of Tare but the way in: a chroot, ``docker exec``, ssh
agent    the bare way there and back of the agent: the command without a trial
trial    the same command as a trial of Tare: started by the agent, with everything that is read on
         the host and inside, parsed, and stored with fsync
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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tare.core.model import Kind, Limits, Sample, Status, Trial
from tare.experiment.probes.inner_machine import AnyReader, reader_of
from tare.experiment.run.session import Session
from tare.experiment.trial.measure import Outcome, measure
from tare.experiment.trial.placed_part import PlacedPart
from tare.experiment.trial.role_placement import PlacedCommand, in_directory
from tare.experiment.trial.watch import WatchSettings
from tare.machines import layer
from tare.machines.stack import Stack, open_stack
from tare.results.store import Writer
from tare.results.store.samples import Samples
from tare.work.workload import Output, Workload, load

REPEAT = 60
STACKS = ("host", "host/docker", "host/qemu-tcg", "host/qemu-tcg/docker")
BARE_REPEAT = {"host/qemu-tcg": 20, "host/qemu-tcg/docker": 3}
"""How often a bare command is run where it takes long: 0.3 s and 3 s."""
LAST_CPU = max(os.sched_getaffinity(0))
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


@dataclass
class Recorder:
    """Stores trials as a study does, readings too."""

    writer: Writer
    samples: Samples

    def store(self, trial: Trial, outcome: Outcome) -> None:
        read, series = outcome.read()
        trial = replace(trial, resources=read.resources)
        self.writer.trial(trial, outcome.completed)
        self.samples.add(trial, series[outcome.cell, outcome.instance])


def trial_of(
    stack: Stack, workload: Workload, into: Recorder, number: int, reader: AnyReader | None = None
) -> float:
    """Run and store one trial; give the seconds it took as a whole."""
    begin = time.perf_counter()
    command = PlacedCommand(stack.machine, in_directory(stack.workdir, workload.command()))
    how = WatchSettings(cpus=[LAST_CPU], reader=reader)
    outcome = measure(
        PlacedPart(part="", instance="0", stack=stack, how=how), workload, command, 60
    )
    trial = Trial(
        cell="bench", block=number, slot=0, kind=Kind.MEASURED, instance="0",
        status=outcome.status, duration_s=outcome.completed.duration_s,
        host=outcome.host, phases_s=outcome.phases_s,
    )  # fmt: skip
    into.store(trial, outcome)
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


def per_trial(session: Session, into: Recorder, stacks: Sequence[str]) -> None:
    titles = ("bare ms", "agent ms", "trial ms", "added ms", "/ bare", "/ agent", "switch ms")
    print(f"{'platform':<22}" + "".join(f"{title:>11}" for title in titles))
    for path in stacks:
        layers = [layer.load(name) for name in path.split("/")[1:] or ["host"]]
        for each in layers:
            each.prepare(session.host, session.userland)
        stack = open_stack(session.host, layers, session.site("bench", LIMITS, 300))
        reader = reader_of(layers, stack.instances)
        by_hand = stack.machine.host_argv(["true"])
        alone, agent, whole, switched = [], [], [], []
        try:
            trial_of(stack, Nothing(), into, 0, reader)  # it starts what stays for all others
            for number in range(REPEAT):
                if number < BARE_REPEAT.get(path, REPEAT):
                    alone.append(bare(by_hand))
                agent.append(stack.machine.run(["true"]).duration_s)
                whole.append(trial_of(stack, Nothing(), into, number, reader))
                switched.append(switch(stack))
        finally:
            if reader is not None:
                reader.close()
            stack.close()
        hand, sent, all_of_it = map(milliseconds, (alone, agent, whole))
        print(
            f"{path:<22}{hand:>11.1f}{sent:>11.2f}{all_of_it:>11.2f}{all_of_it - hand:>11.2f}"
            f"{all_of_it / hand:>11.2f}{all_of_it / sent:>11.2f}{milliseconds(switched):>11.2f}",
            flush=True,
        )


def controller_cpu(session: Session, folder: Path) -> None:
    """Measure the CPU time of this process while a busy trial runs elsewhere, and storing it."""
    folder.mkdir()
    into = Recorder(Writer(folder), Samples(folder))  # as a study of such trials begins
    stack = open_stack(session.host, [layer.load("host")], session.site("cpu", LIMITS, 120))
    busy = load("sysbench_cpu", time_s=5, threads=1)
    shares = []
    try:
        for number in range(4):
            before, begin = time.process_time(), time.perf_counter()
            trial_of(stack, busy, into, number)
            shares.append((time.process_time() - before) / (time.perf_counter() - begin))
    finally:
        stack.close()
    into.samples.close()
    # The first one begins what stays for the others; storing the samples of all is in each.
    share = statistics.median(shares[1:])
    print(f"\ncontroller's CPU in a trial of 5 s: {100 * share:.2f} % of one core")


def memory() -> None:
    """Run 10,000 simulated trials and print how much this process grew."""
    from tare.experiment import run as runner
    from tare.experiment.design import make_plan
    from tare.experiment.study import read_study

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
    chosen = sys.argv[1:] or STACKS
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        into = Recorder(Writer(Path(folder)), Samples(Path(folder)))
        with Session(Path(folder), "bookworm", PACKAGES, nested=("docker.io",)) as session:
            session.step_aside(1)
            per_trial(session, into, chosen)
            controller_cpu(session, Path(folder) / "long")
        into.samples.close()
    memory()
    return 0


if __name__ == "__main__":
    sys.exit(main())
