"""What `tare serve` costs while a study of 19 platforms runs, and how late its page is.

The study has 1,400 trials with samples when the server begins, a process of its own; more are then
appended with the store's own writers. The viewer is one connection that reads the events which the
page's script reads. A trial is shown when both its number and the timeline with it have come. A
share is CPU time of the server, in the user's and the kernel's account, over wall time. What it
takes to open the page, once, stands apart. Bars: 1 % of a core with nobody looking, 3 % with one
viewer; 2 s from a trial's storing, for its CPU and memory too, which are stored up to a second
later than that.

Run: python benchmarks/live.py
"""

from __future__ import annotations

import argparse
import fcntl
import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPConnection
from math import ceil, inf
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from tare.core.model import HostCost, Kind, Plan, Status, Trial
from tare.experiment.design import make_plan
from tare.experiment.study import read_study
from tare.results.store import Writer, formats
from tare.results.store.samples import Samples

PLATFORMS = 19
STORED = 1400
RATES = (1, 5)
NOBODY, ONE, LATE_S = 0.01, 0.03, 2.0
"""The bars: shares of a core with nobody looking and with one viewer, and seconds."""
SETTLE_S = 3.0
"""After so long the page is open, and all that was stored is on it."""
FIGURES = 50
"""The number of figures in the samples of each trial; five of them are drawn."""
LASTED_S = 0.18
NAME = "live"

Moments = Sequence[tuple[float, int]]
"""Seconds by the monotonic clock, and how many trials there were by then."""


@dataclass(frozen=True)
class Series:
    """One figure of a trial, as the monitors leave it."""

    source: str
    name: str
    values: tuple[float, ...]
    times_s: tuple[float, ...] = (0.0004, LASTED_S / 2, LASTED_S)
    device: str = ""
    is_counter: bool = True
    reason: str = ""


class Study:
    """A study that goes on: it stores the trials of its plan one by one."""

    def __init__(self, folder: Path, more: int) -> None:
        self.stored = 0
        self._rng = np.random.default_rng(1)
        source, self._plan = declared(more)
        self._writer = Writer(folder)
        self._writer.start(source, self._plan)
        self._writer.facts({})
        # What is there at first is written without the waits for the disk of a session.
        before, begin_s = Samples(folder, lambda: 0.0), time.time() - STORED
        with (folder / "trials.jsonl").open("a") as file:
            for number in range(STORED):
                trial = self._next(begin_s + number)
                file.write(json.dumps({"format": formats.TRIALS, **asdict(trial)}) + "\n")
                before.add(trial, self._series())
        before.close()
        self._samples = Samples(folder)

    def store(self) -> float:
        """Store a trial and its samples as a session does; gives when the trial was stored."""
        trial = self._next(time.time() - LASTED_S)
        self._writer.trial(trial, None)
        stored_s = time.monotonic()
        self._samples.add(trial, self._series())
        self._samples.settle()  # the next trial begins
        return stored_s

    def close(self) -> None:
        self._samples.close()
        self._writer.close()

    def _next(self, at: float) -> Trial:
        slot = self._plan.slots[self.stored]
        self.stored += 1
        cell = self._plan.cells_by_id[slot.cell]
        slower = 0 if cell.replica else 0.03 * int(cell.platform.rpartition(" ")[2])
        is_suspect = self._rng.random() < 0.01
        return Trial(
            cell=slot.cell,
            block=slot.block,
            slot=slot.slot,
            kind=Kind.MEASURED,
            instance=f"live-{slot.instance}",
            status=Status.SUSPECT if is_suspect else Status.OK,
            reason="the host was loaded" if is_suspect else "",
            started_at=datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds"),
            duration_s=LASTED_S,
            samples={"events": 1000 / (1 + slower) * float(np.exp(self._rng.normal(0, 0.04)))},
            host=HostCost(cpu_s=0.16, run_delay_s=0.01, all_cpu_s=0.17, coverage=1.0, threads=3),
            phases_s={"resume": 0.01, "setup": 0.0, "command": LASTED_S, "store": 0.002},
            noise={"steal": 0.01, "foreign": 0.02, "psi_cpu_some": 0.1, "load": 1.2},
        )

    def _series(self) -> Iterator[Series]:
        own = [("layer", "cpu_s"), ("layer", "memory_bytes")]
        own += [("host", f"cpu_{what}_s") for what in ("user", "system", "guest")]
        own += [("host", f"figure_{number}") for number in range(FIGURES - len(own))]
        grown = np.cumsum(self._rng.uniform(0, LASTED_S, (FIGURES, 3)), axis=1)
        grown[1] *= 2.0**28
        for (source, name), values in zip(own, grown.tolist(), strict=True):
            yield Series(source, name, tuple(values))


def declared(more: int) -> tuple[str, Plan]:
    """Plan a study with ``more`` trials than are stored at first."""
    blocks = ceil((STORED + more) / (PLATFORMS + 1))  # with the control
    platforms = ", ".join(
        f"{{stack: host/sim, name: platform {number}}}" for number in range(PLATFORMS)
    )
    source = (
        f"name: live\nplatforms: [{platforms}]\nbaseline: platform 0\n"
        "limits: {cpus: 1, memory: 1GiB}\nworkloads: [sysbench_cpu: {threads: 1, time: 1 s}]\n"
        f"repetition: {{min_blocks: 8, max_blocks: {blocks}, instances: 2}}\n"
    )
    return source, make_plan(read_study(source, "live.yaml"), 1)


@dataclass
class Viewer:
    """Reads the events of the study's page; notes when how many trials were on it."""

    address: str
    shown: list[tuple[float, int]] = field(default_factory=list)
    read: list[tuple[float, int]] = field(default_factory=list)
    received_bytes: int = 0
    opened: threading.Event = field(default_factory=threading.Event)
    done: int = 0

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Open the page as a browser does, and follow it."""
        for path in (f"/study/{NAME}", "/live.css", "/live.js"):
            self._ask(path)[0].close()
        connection, events = self._ask(f"/events?page=%2Fstudy%2F{NAME}", whole=False)
        thread = threading.Thread(target=self._listen, args=(events,))
        thread.start()
        try:
            yield
        finally:
            connection.shutdown(socket.SHUT_RDWR)
            thread.join()
            connection.close()

    def _ask(self, path: str, *, whole: bool = True) -> tuple[socket.socket, Iterator[bytes]]:
        connection = HTTPConnection(urlsplit(self.address).netloc)
        connection.connect()
        own: socket.socket = connection.sock
        connection.request("GET", path)
        answer = connection.getresponse()
        if answer.status != HTTPStatus.OK or (whole and not answer.read()):
            raise SystemExit(f"{path} is not there: {answer.status}")
        return own, iter(answer.readline, b"")

    def _listen(self, events: Iterator[bytes]) -> None:
        for line in events:
            if not line.startswith(b"data: "):
                continue
            now_s = time.monotonic()
            self.received_bytes += len(line)
            changed = json.loads(line.removeprefix(b"data: "))
            if "progress" in changed:
                self.done = int(found(r'value="(\d+)"', changed["progress"]))
            if "timeline" in changed:
                self.shown.append((now_s, self.done))
            if "resources" in changed:
                waiting = found(r"Readings of the last (\d+) are not", changed["resources"])
                self.read.append((now_s, self.done - int(waiting or 0)))
            self.opened.set()


def found(pattern: str, text: str) -> str:
    """Return what a pattern found, or nothing."""
    match = re.search(pattern, text)
    return match[1] if match else ""


def longest_s(stored: Moments, seen: Moments) -> float:
    """Return the longest time until a trial was seen; infinite where one never was."""
    return max(
        next((at for at, count in seen if count >= number), inf) - begin_s
        for begin_s, number in stored
    )


def cpu_s(process: subprocess.Popen[str]) -> float:
    """Read the CPU time of a process, with that of its threads that have ended."""
    if process.poll() is not None:
        raise SystemExit(f"the server ended with {process.returncode}")
    return time.clock_gettime((~process.pid << 3) | 2)  # as clock_getcpuclockid(3) makes it


def window(
    study: Study, process: subprocess.Popen[str], rate: int, lasts_s: float
) -> tuple[float, Moments]:
    """Store trials for so long; gives the share of a core, and when each was stored."""
    stored = []
    begin_s, before_s = time.monotonic(), cpu_s(process)
    for number in range(round(rate * lasts_s)):
        time.sleep(max(0.0, begin_s + number / rate - time.monotonic()))
        stored.append((study.store(), study.stored))
    time.sleep(max(0.0, begin_s + lasts_s - time.monotonic()))
    return (cpu_s(process) - before_s) / (time.monotonic() - begin_s), stored


@contextmanager
def served(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Serve a folder; gives the process and its address."""
    argv = [sys.executable, "-m", "tare.cli", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - it was asked for
            yield process, process.stdout.readline().split()[0]
        finally:
            process.terminate()


def reported(what: str, value: str, bar: str, *, met: bool) -> bool:
    """Print a line of the table; gives whether its bar was met."""
    print(f"{what:44} {value:>8}   {bar:>4}: {'met' if met else 'MISSED'}", flush=True)
    return met


def share_reported(what: str, share: float, bar: float) -> bool:
    """Print a share of a core."""
    return reported(what, f"{100 * share:.2f} %", f"{bar:.0%}", met=share <= bar)


def follow(
    study: Study, process: subprocess.Popen[str], viewer: Viewer, rate: int, lasts_s: float
) -> bool:
    """Measure with one viewer, and print it; gives whether the bars are met."""
    events, before_bytes = len(viewer.shown), viewer.received_bytes
    share, stored = window(study, process, rate, lasts_s)
    drawn = (len(viewer.shown) - events) / lasts_s
    kilobytes = (viewer.received_bytes - before_bytes) / 1000 / lasts_s
    time.sleep(SETTLE_S)
    good = share_reported(f"one viewer, {rate} a second", share, ONE)
    # The readings of the last second wait for a trial that does not come.
    for what, longest in (
        ("  until a trial is shown", longest_s(stored, viewer.shown)),
        ("  until its CPU and memory are", longest_s(stored[:-rate], viewer.read)),
    ):
        good &= reported(what, f"{longest:.2f} s", f"{LATE_S:g} s", met=longest <= LATE_S)
    print(f"  {drawn:.2f} times a second drawn anew, {kilobytes:.0f} kB a second sent")
    return good


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each window is")
    lasts_s = parser.parse_args(arguments).seconds
    good = True
    with tempfile.TemporaryDirectory() as name, ExitStack() as undo:
        study = Study(Path(name) / NAME, more=round(2 * sum(RATES) * lasts_s))
        undo.callback(study.close)
        ledger = undo.enter_context((Path(name) / NAME / "ledger.jsonl").open("ab"))
        fcntl.flock(ledger, fcntl.LOCK_EX)  # as a session that lives
        process, address = undo.enter_context(served(Path(name)))
        print(f"{PLATFORMS} platforms, {STORED} trials at first, {lasts_s:g} s each")
        for rate in RATES:
            share, _ = window(study, process, rate, lasts_s)
            good &= share_reported(f"nobody looks, {rate} a second", share, NOBODY)
        viewer = Viewer(address)
        before_s = cpu_s(process)
        with viewer.looking():
            if not viewer.opened.wait(60):
                raise SystemExit("the page did not open within 60 s")
            time.sleep(SETTLE_S)
            opening_s = cpu_s(process) - before_s
            for rate in RATES:
                good &= follow(study, process, viewer, rate, lasts_s)
        print(f"{'to open the page, once':44} {opening_s:6.2f} s   of CPU time")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
