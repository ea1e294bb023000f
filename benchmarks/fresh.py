"""Compare this host with itself, again and again, with trials that nobody has looked at before.

A comparison is 30 pairs of the same command, in an order drawn by the kernel for each pair; each
has ended and differs from the other only by its name. What is drawn from a recording again
and again shows that the arithmetic is right; only fresh trials show that real ones are what it
assumes (METHOD.md 3.8, T1 b). The trials are kept, so that anybody can judge them again, and
``make prove`` does: this only records. It appends, and so may be run in many short spans.

Three kinds of work of one thread each, of about 0.1 s: products modulo a number (factor), memory
that is written (dd to a tmpfs), 4 KiB that go to the device at once (dd with O_DIRECT).
Run: python benchmarks/fresh.py --minutes 45
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import itertools
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tare.core import durable

FILE = Path(__file__).parent / "traces" / "fresh" / "comparisons.csv.gz"
PAIRS = 30
FIELDS = ("began", "kind", "pair", "arm", "place", "wall_s", "cpu_s", "delay_s")


def commands(folder: str, memory: str) -> dict[str, list[str]]:
    """Build the three."""
    zeros = ["dd", "if=/dev/zero", "conv=notrunc", "status=none"]
    return {
        "cpu": ["factor", *["2454703853274077507"] * 115],
        "memory": [*zeros, f"of={memory}", "bs=64K", "count=4000"],
        "disk": [*zeros, f"of={folder}/blocks", "bs=4K", "count=700", "oflag=direct"],
    }


def trial(argv: Sequence[str]) -> tuple[float, float, float]:
    """Run it; gives wall time, its CPU time, and how long it waited for the CPU.

    Both are of its one thread, and read when it has ended and before it is forgotten.
    """
    begun = time.perf_counter()
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        wall_s = time.perf_counter() - begun
        on_cpu, delay, _ = Path(f"/proc/{process.pid}/schedstat").read_text().split()
    if process.returncode != 0:
        raise SystemExit(f"{argv[0]} ended with status {process.returncode}")
    return wall_s, int(on_cpu) / 1e9, int(delay) / 1e9


def comparison(argv: Sequence[str]) -> Iterator[tuple[int, str, int, list[str]]]:
    """Measure 30 pairs; gives pair, arm, place in the pair, and the three times."""
    for pair in range(PAIRS):
        arms = "ab" if secrets.randbits(1) else "ba"
        for place, arm in enumerate(arms):
            yield pair, arm, place, [f"{seconds:.6f}" for seconds in trial(argv)]


def main() -> None:
    """Record until the time is over; what a comparison has not finished is left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=45.0)
    parser.add_argument("--cpu", type=int, default=0, help="which CPU to run on")
    parser.add_argument("--file", type=Path, default=FILE)
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.cpu})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that its files go with it
    end = time.monotonic() + 60 * options.minutes
    options.file.parent.mkdir(parents=True, exist_ok=True)
    is_new = not options.file.exists()
    with (
        tempfile.TemporaryDirectory(dir="/var/tmp") as folder,
        tempfile.NamedTemporaryFile(dir="/dev/shm") as memory,
    ):
        for kind, argv in itertools.cycle(commands(folder, memory.name).items()):
            if time.monotonic() > end:
                break
            began = f"{time.time():.0f}"
            rows = [
                (began, kind, pair, arm, place, *times)
                for pair, arm, place, times in comparison(argv)
            ]
            text = io.StringIO()
            csv.writer(text).writerows([FIELDS, *rows] if is_new else rows)
            with options.file.open("ab", buffering=0) as file:
                durable.append(file, gzip.compress(text.getvalue().encode()))
            is_new = False


if __name__ == "__main__":
    main()
