"""What a timeline costs, at 1 and at 10 readings a second, compared with sar and pmlogger in one
run.

Each is a share of one core: CPU time over wall time, of a window of the same readings for all. Of
the timeline it is that of its thread (CLOCK_THREAD_CPUTIME_ID) and of this whole process; of the
others that of their process. sadc, which does sar's reading, takes whole seconds only. pmlogger
reads without its daemon (``-o``), the cheapest way that it has. Below stands what every trial costs
besides, however long it is. Bars: 0.2 % of a core at 1 Hz, 1 % at 10 Hz.

Run: taskset -c 0 python benchmarks/monitor.py (as root: it makes a control group). The packages
sysstat and pcp may be missing. Where no service of pcp was ever started, its names are not built:
``cd /var/lib/pcp/pmns && ./Rebuild -s``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tare.core.model import Kind, Status, Trial
from tare.experiment.probes.perf import Counters
from tare.experiment.probes.timeline import Timeline
from tare.machines.cgroup import cgroup
from tare.machines.instance import Threads
from tare.machines.ledger import Ledger, Scope
from tare.machines.machine import Host
from tare.results.store.samples import Samples

BARS = {1: 0.002, 10: 0.01}
TRIALS = 640
COUNTED = 20
SETTLE_S = 2.0
"""After so long every tool has started and does nothing but read."""
SADC = Path("/usr/lib/sysstat/sadc")
PMNS = Path("/var/lib/pcp/pmns/root")
LOGGED = """
log mandatory on every {milliseconds} milliseconds {{
    kernel.all.cpu kernel.all.load kernel.all.runnable kernel.all.blocked kernel.all.pswitch
    kernel.all.pressure mem.util.available mem.util.cached mem.util.bufmem mem.vmstat.pgfault
    mem.vmstat.pgmajfault disk.dev.read disk.dev.write disk.dev.read_bytes disk.dev.write_bytes
    disk.dev.avactive network.interface.in.bytes network.interface.out.bytes
}}
"""
"""The same figures of the host; the layer's are the timeline's alone."""


@contextmanager
def group() -> Iterator[str]:
    """Make a control group with one process in it, as a layer has."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as undo:
        ledger = Ledger(Path(folder) / "ledger.jsonl")
        undo.callback(ledger.close)
        scope = Scope(ledger)
        undo.callback(scope.close)
        made = cgroup.make(Host(), f"tare/bench-monitor-{os.getpid()}", scope)
        process = subprocess.Popen(made.enter_argv(["sleep", "infinity"]))
        undo.callback(process.wait)
        undo.callback(process.kill)
        yield made.path


def others(hertz: int, folder: Path) -> dict[str, list[str] | str]:
    """Return the command of each tool, or why it is not measured."""
    found: dict[str, list[str] | str] = {}
    if not SADC.exists():
        found["sadc (sar)"] = "not installed (package sysstat)"
    elif hertz > 1:
        found["sadc (sar)"] = "reads once a second at most"
    else:
        found["sadc (sar)"] = [str(SADC), "-S", "DISK", "1", str(folder / "sar")]
    if not shutil.which("pmlogger"):
        found["pmlogger"] = "not installed (package pcp)"
    elif not PMNS.exists():
        found["pmlogger"] = f"has no {PMNS}: cd {PMNS.parent} && ./Rebuild -s"
    else:
        config = folder / "pmlogger.conf"
        config.write_text(LOGGED.format(milliseconds=1000 // hertz))
        archive = str(folder / f"archive-{hertz}")
        found["pmlogger"] = ["pmlogger", "-o", "-c", str(config), "-l", f"{archive}.log", archive]
    return found


def cpu_s(process: subprocess.Popen[bytes]) -> float:
    """Read the CPU time of a process of one thread, or raise where it has ended."""
    if process.poll() is not None:
        raise SystemExit(f"{process.args} ended with {process.returncode}")
    return int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]) / 1e9


def window(hertz: int, lasts_s: float, path: str, folder: Path) -> dict[str, float | str]:
    """Let all read at once, and give for each which share of a core it took."""
    shares: dict[str, float | str] = {}
    with ExitStack() as undo:
        running = {}
        for name, argv in others(hertz, folder).items():
            if isinstance(argv, str):
                shares[name] = argv
                continue
            process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            undo.callback(process.wait)
            undo.callback(process.terminate)
            running[name] = process
        time.sleep(SETTLE_S)
        begin_s, before = time.monotonic(), {name: cpu_s(one) for name, one in running.items()}
        own_s = time.process_time()
        with Timeline(Threads(cgroup=path), [0], float(hertz)) as timeline:
            time.sleep(lasts_s)
        own_s = time.process_time() - own_s
        took_s = time.monotonic() - begin_s
        for name, one in running.items():
            shares[name] = (cpu_s(one) - before[name]) / took_s
    readings = len(timeline.series[0].values)
    if readings < 0.9 * hertz * lasts_s:
        raise SystemExit(f"only {readings} readings in {lasts_s:.0f} s at {hertz} Hz")
    return {"timeline": timeline.cost_s / took_s, "timeline's process": own_s / took_s, **shares}


def per_trial(path: str, folder: Path) -> None:
    """Print what begin and end of a trial, and storing it, cost on average."""
    began_s = time.process_time()
    timelines = []
    for _ in range(TRIALS):
        with Timeline(Threads(cgroup=path), [0]) as timeline:
            pass
        timelines.append(timeline)
    measured_s = time.process_time()
    now_s = iter(range(10**6))
    # Trials of a tenth of a second: ten share a write.
    session = Samples(folder, lambda: next(now_s) / 10)
    for number, timeline in enumerate(timelines):
        trial = Trial(
            cell="0123456789", block=number, slot=0, kind=Kind.MEASURED, instance="0",
            status=Status.OK,
        )  # fmt: skip
        session.add(trial, timeline.series)
    session.close()
    stored_s = time.process_time()
    size = sum(file.stat().st_size for file in (folder / "samples").iterdir())
    print(
        f"\na trial's begin and end   {1000 * (measured_s - began_s) / TRIALS:6.2f} ms of CPU time"
    )
    print(f"a warm-up's counters      {counting(path)}")
    print(
        f"storing two readings      {1000 * (stored_s - measured_s) / TRIALS:6.2f} ms of CPU time, "
        f"{size / TRIALS:.0f} bytes"
    )


def counting(path: str) -> str:
    """Count in a group for no time at all, as in a warm-up trial, and say what it cost."""
    began_s = time.process_time()
    for _ in range(COUNTED):
        with Counters(path) as counters:
            pass
    took_s = (time.process_time() - began_s) / COUNTED
    seen = [one for one in counters.series(0.0) if one.values]
    if not seen:
        return next(counters.series(0.0)).reason
    return f"{1000 * took_s:6.2f} ms of CPU time besides, {', '.join(one.name for one in seen)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each window is")
    lasts_s = parser.parse_args(arguments).seconds
    missed = False
    with group() as path, tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        print(f"{'share of one core':20} {'rate':>6} {'':>10}   bar")
        for hertz, bar in BARS.items():
            for name, share in window(hertz, lasts_s, path, folder).items():
                if isinstance(share, str):
                    print(f"{name:20} {hertz:3} Hz {'-':>10}   {share}")
                    continue
                is_ours = name.startswith("timeline")
                verdict = f"{100 * bar:.1f} %: {'met' if share <= bar else 'MISSED'}"
                print(f"{name:20} {hertz:3} Hz {100 * share:8.3f} %   {verdict if is_ours else ''}")
                missed |= is_ours and share > bar
        per_trial(path, folder)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
