"""How far apart armed containers start, and what their agents cost to open.

A stamp is a program of three system calls that prints the clock at its first instruction. It is
started in n containers at once in two ways, in turn, in one run:

exec     one ``docker exec`` each, all started before the first is awaited
armed    the agents hold it at its first instruction and are released in one loop

The spread is the last stamp less the first, median of the rounds. The containers share all CPUs.
Opening them with agents is compared with ``docker run`` of the same image by hand.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from tare.core.model import Limits
from tare.experiment.run.session import Session
from tare.machines import layer
from tare.machines.agent import AgentMachine, release
from tare.machines.backends.docker import serving
from tare.machines.machine import check, put
from tare.machines.stack import Stack, open_stack

SOURCE = Path(__file__).with_name("stamp.c")
LIMITS = Limits(cpus=1, memory_bytes=2**26)
BARS_MS = {8: 3.0, 32: 10.0, 128: 40.0}
STAMP = "/tmp/stamp"  # noqa: S108 - in a container
AT_ONCE = 2


def stamp_program(folder: Path) -> bytes:
    made = folder / "stamp"
    flags = ["-static", "-nostdlib", "-nostartfiles", "-Os", "-s"]
    subprocess.run(["gcc", *flags, "-o", made, SOURCE], check=True)  # noqa: S607
    return made.read_bytes()


@contextmanager
def opened(session: Session, count: int) -> Iterator[list[Stack]]:
    """Open containers, a few at a time as a study does."""
    everything = ",".join(map(str, session.everything))

    def open_one(number: int) -> Stack:
        site = replace(session.site(f"r{number}", LIMITS, 300), cpuset=everything)
        return open_stack(session.host, [layer.load("docker")], site)

    with ExitStack() as leaving, ThreadPoolExecutor(AT_ONCE) as pool:
        stacks = []
        for stack in pool.map(open_one, range(count)):
            leaving.callback(stack.close)
            stacks.append(stack)
        yield stacks


def spread_ms(stamps: Sequence[int]) -> float:
    return (max(stamps) - min(stamps)) / 1e6


def by_exec(stacks: Sequence[Stack]) -> float:
    argvs = [stack.machine.host_argv([STAMP]) for stack in stacks]
    started = [subprocess.Popen(argv, stdout=subprocess.PIPE) for argv in argvs]
    return spread_ms([int(process.communicate()[0]) for process in started])


def by_agents(stacks: Sequence[Stack]) -> float:
    armed = []
    for stack in stacks:
        assert isinstance(stack.machine, AgentMachine)  # noqa: S101 - it was opened with agents
        armed.append(stack.machine.arm([STAMP], after_exec=True))
    for command in armed:
        command.await_armed()
    release(armed)
    return spread_ms([int(command.wait().stdout) for command in armed])


def releases(session: Session, counts: Sequence[int], rounds: int, program: bytes) -> None:
    print("| containers | docker exec at once, ms | armed, ms | worst armed, ms | bar, ms |")
    print("|---|---|---|---|---|")
    with opened(session, max(counts)) as stacks:
        for stack in stacks:
            put(stack.machine, program, STAMP)
            check(stack.machine, ["chmod", "755", STAMP])
        for count in counts:
            some, ways = stacks[:count], {by_exec: [], by_agents: []}  # type: ignore[var-annotated]
            for number in range(rounds):
                for way in (by_exec, by_agents)[:: 1 if number % 2 else -1]:
                    if way is by_agents or number < max(2, rounds // (1 + count // 16)):
                        ways[way].append(way(some))
            anew, armed = statistics.median(ways[by_exec]), ways[by_agents]
            print(f"| {count} | {anew:.1f} | {statistics.median(armed):.2f} | {max(armed):.2f} "
                  f"| {BARS_MS.get(count, 0):.0f} |", flush=True)  # fmt: skip


def timed(what: Callable[[], object]) -> float:
    begin = time.perf_counter()
    what()
    return time.perf_counter() - begin


def openings(session: Session, count: int) -> None:
    """Open ``count`` instances with agents, and run the same number by hand, twice each in turn."""
    site = session.site("hand", LIMITS, 300)
    daemon = serving(session.host, site)
    image = daemon.image(session.userland)
    names = [f"{site.name}-{number}" for number in range(count)]
    group = f"--cgroup-parent=/tare/{site.name}"

    def run(name: str) -> None:
        # In the group and with the runtime that Tare's daemon has for its own.
        site.scope.about_to_make("container", name, session.host, daemon.remove_argv(name))
        argv = [*daemon.client, "run", "--detach", "--init", "--network=host", "--memory=64m",
                f"--name={name}", f"--runtime={daemon.runtime('runc', 'host', privileged=False)}",
                *([group] if daemon.own else []), image, "sleep", "infinity"]  # fmt: skip
        check(session.host, argv, timeout_s=300)

    def by_hand() -> None:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(run, names))

    agents, hands = [], []
    for _ in range(2):
        with ExitStack() as leaving:
            agents.append(timed(lambda: leaving.enter_context(opened(session, count))))
        hands.append(timed(by_hand))
        site.scope.close()
    ratio = min(agents) / min(hands)
    print(f"\nopening {count} containers: docker run by hand {min(hands):.1f} s, with agents "
          f"{min(agents):.1f} s: {ratio:.2f} times (bar 1.25)")  # fmt: skip


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--counts", default="8,32,128")
    asked.add_argument("--rounds", type=int, default=12)
    given = asked.parse_args()
    counts = [int(count) for count in given.counts.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        program = stamp_program(Path(folder))
        with Session(Path(folder), "bookworm", ()) as session:
            releases(session, counts, given.rounds, program)
            openings(session, max(counts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
