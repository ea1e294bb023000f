"""Print what benchmark tools would print at a known speed.

The formats are those of sysbench 1.0.20, fio 3.33 and mbw 1.2.2. Totals agree with rates, latencies
are inversely proportional to the speed, and each second of a run is like all others. Nothing of the
workloads is used: a parser that misreads its tool must not be able to make the simulation agree
with it.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from pathlib import PurePath

Answer = tuple[bytes, float]
"""What a tool wrote to stdout, and how many seconds it took."""

CPU_EVENTS_PER_S = 10_000.0
MEMORY_MIB_PER_S = 16_384.0
FILE_REQUESTS_PER_S = 50_000.0
FIO_REQUESTS_PER_S = 100_000.0
COPY_MIB_PER_S = 8_192.0
XORSHIFT_ROUNDS_PER_S = 5_000.0
LAYING_BYTES_PER_S = 2.0**30
"""Rates at speed 1: large, so that tools that print two decimals lose nothing that matters."""

MIB = 2**20


def answer(argv: Sequence[str], speed: float) -> Answer | None:
    """Return what the program in argv would print at a speed, and in how many seconds.

    ``speed`` multiplies the nominal rates. None means that the program is not simulated. Wrappers
    (``env``, ``timeout``) are looked through; they take no time, and no deadline is kept here.
    """
    program, *arguments = _unwrapped(argv) or [""]
    tool = TOOLS.get(PurePath(program).name)
    return None if tool is None else tool(arguments, speed)


def _unwrapped(argv: Sequence[str]) -> list[str]:
    """Return a command without a leading ``env ...`` and ``timeout ...``."""
    words = list(argv)
    while words and (wrapper := PurePath(words[0]).name) in ("env", "timeout"):
        del words[0]
        while words and words[0].startswith("-"):
            takes_a_word = words.pop(0) in ("-C", "-u", "-s", "-k")
            del words[: int(takes_a_word)]
        if wrapper == "timeout":
            del words[:1]
        while wrapper == "env" and words and "=" in words[0]:
            del words[0]
    return words


def _options(arguments: Sequence[str]) -> dict[str, str]:
    """Read ``--name=value`` and ``--flag`` into a mapping without the dashes."""
    split = (word[2:].partition("=") for word in arguments if word.startswith("--"))
    return {name: value for name, _, value in split}


def _silent(_arguments: Sequence[str], _speed: float) -> Answer:
    return b"", 0.0


def _uname(_arguments: Sequence[str], _speed: float) -> Answer:
    """Print the architecture of the host, on which a simulated machine is."""
    return f"{platform.machine()}\n".encode(), 0.0


def _sleep(arguments: Sequence[str], speed: float) -> Answer:
    return b"", float(arguments[0]) / speed


def _sysbench(arguments: Sequence[str], speed: float) -> Answer | None:
    tests: Mapping[tuple[str, ...], Callable[[Mapping[str, str], float], Answer]] = {
        ("cpu", "run"): _sysbench_cpu,
        ("memory", "run"): _sysbench_memory,
        ("fileio", "prepare"): _sysbench_files,
        ("fileio", "run"): _sysbench_fileio,
    }
    test = tests.get(tuple(word for word in arguments if not word.startswith("-")))
    return None if test is None else test(_options(arguments), speed)


def _sysbench_cpu(options: Mapping[str, str], speed: float) -> Answer:
    rate = CPU_EVENTS_PER_S * speed
    before = f"Prime numbers limit: {options['cpu-max-prime']}\n"
    second = (
        f"thds: {options['threads']} eps: {rate:.2f} lat (ms,95%): {_p95_ms(options, rate):.2f}"
    )
    after = f"CPU speed:\n    events per second: {rate:8.2f}"
    return _sysbench_run(options, (before, second, after), rate, int(options["events"]))


def _sysbench_memory(options: Mapping[str, str], speed: float) -> Answer:
    block_bytes, total = int(options["memory-block-size"]), options["memory-total-size"]
    mib_per_s = MEMORY_MIB_PER_S * speed
    rate = mib_per_s * MIB / block_bytes
    events = int(total) // block_bytes if total.isdigit() else 0
    time_s = _bounded(options, rate, events)
    before = (
        "Running memory speed test with the following options:\n"
        f"  block size: {block_bytes // 1024}KiB\n  total size: 1099511627776MiB\n"
        f"  operation: {options['memory-oper']}\n  scope: {options['memory-scope']}\n"
    )
    after = (
        f"Total operations: {rate * time_s:.0f} ({rate:8.2f} per second)\n\n"
        f"{mib_per_s * time_s:.2f} MiB transferred ({mib_per_s:.2f} MiB/sec)\n"
    )
    second = f"{mib_per_s:.2f} MiB/sec"
    return _sysbench_run(options, (before, second, after), rate, events)


def _sysbench_files(options: Mapping[str, str], speed: float) -> Answer:
    total_bytes = int(options["file-total-size"])
    rate = LAYING_BYTES_PER_S * speed
    line = f"{total_bytes} bytes written in {total_bytes / rate:.2f} seconds"
    return f"{SYSBENCH}{line} ({rate / MIB:.2f} MiB/sec).\n".encode(), total_bytes / rate


def _sysbench_fileio(options: Mapping[str, str], speed: float) -> Answer:
    requests = FILE_REQUESTS_PER_S * speed
    mib_per_s = requests * int(options["file-block-size"]) / MIB
    files, every = int(options["file-num"]), int(options["file-fsync-freq"])
    is_read = options["file-test-mode"].endswith("rd")
    fsyncs = 0.0 if is_read or not every else requests * files / every
    read, written = (1, 0) if is_read else (0, 1)
    before = f"{files} files\nUsing synchronous I/O mode\nDoing {options['file-test-mode']} test"
    after = (
        "\nFile operations:\n"
        f"    reads/s:                      {read * requests:.2f}\n"
        f"    writes/s:                     {written * requests:.2f}\n"
        f"    fsyncs/s:                     {fsyncs:.2f}\n\n"
        "Throughput:\n"
        f"    read, MiB/s:                  {read * mib_per_s:.2f}\n"
        f"    written, MiB/s:               {written * mib_per_s:.2f}"
    )
    second = (
        f"reads: {read * mib_per_s:.2f} MiB/s writes: {written * mib_per_s:.2f} MiB/s "
        f"fsyncs: {fsyncs:.2f}/s latency (ms,95%): {_p95_ms(options, requests + fsyncs):.3f}"
    )
    events = int(options["events"])
    return _sysbench_run(options, (before, second, after), requests + fsyncs, events)


def _bounded(options: Mapping[str, str], events_per_s: float, events: int) -> float:
    """Return how long a run takes that ends at its time or at a number of events (0 for none)."""
    ends_s = [float(options["time"]), events / events_per_s]
    return min(end_s for end_s in ends_s if end_s)


SYSBENCH = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\n"


def _mean_ms(options: Mapping[str, str], events_per_s: float) -> float:
    return 1000 * int(options["threads"]) / events_per_s


def _p95_ms(options: Mapping[str, str], events_per_s: float) -> float:
    return 1.5 * _mean_ms(options, events_per_s)


def _sysbench_run(
    options: Mapping[str, str], test: tuple[str, str, str], events_per_s: float, events: int = 0
) -> Answer:
    """Return the whole output of a test: its head, a line for each second if asked for, its end."""
    before, second, after = test
    threads, time_s = int(options["threads"]), _bounded(options, events_per_s, events)
    mean_ms, every_s = _mean_ms(options, events_per_s), int(options.get("report-interval", 0))
    asked, lines = "", ""
    if every_s:
        asked = f"Report intermediate results every {every_s} second(s)\n"
        # Where the last second ends, so does the run.
        ends = range(every_s, ceil(time_s), every_s)
        lines = "".join(f"[ {end}s ] {second}\n" for end in ends)
    text = (
        f"{SYSBENCH}Running the test with following options:\nNumber of threads: {threads}\n"
        f"{asked}Initializing random number generator from current time\n\n\n"
        f"{before}\nInitializing worker threads...\n\nThreads started!\n\n{lines}{after}\n\n"
        "General statistics:\n"
        f"    total time:                          {time_s:.4f}s\n"
        f"    total number of events:              {events_per_s * time_s:.0f}\n\n"
        "Latency (ms):\n"
        f"         min:                            {0.9 * mean_ms:8.2f}\n"
        f"         avg:                            {mean_ms:8.2f}\n"
        f"         max:                            {5 * mean_ms:8.2f}\n"
        f"         95th percentile:                {_p95_ms(options, events_per_s):8.2f}\n"
        f"         sum:                            {1000 * threads * time_s:8.2f}\n\n"
        "Threads fairness:\n"
        f"    events (avg/stddev):           {events_per_s * time_s / threads:.4f}/0.00\n"
        f"    execution time (avg/stddev):   {time_s:.4f}/0.00\n\n"
    )
    return text.encode(), time_s


def _fio(arguments: Sequence[str], speed: float) -> Answer:
    options = _options(arguments)
    size_bytes, jobs = int(options["size"]), int(options["numjobs"])
    if "create_only" in options:
        return b"", size_bytes * jobs / (LAYING_BYTES_PER_S * speed)
    pattern, rate = options["rw"], FIO_REQUESTS_PER_S * speed
    whole_s = size_bytes * jobs / int(options["bs"]) / rate
    time_s = _seconds(options["runtime"]) if "time_based" in options else whole_s
    shares = {"read": 0.0, "write": 0.0}
    if pattern.endswith("rw"):
        shares = {"read": 0.5, "write": 0.5}
    else:
        shares[pattern.removeprefix("rand")] = 1.0
    rates = {side: rate * share for side, share in shares.items()}
    mean_ns = 1e9 * jobs * int(options["iodepth"]) / rate
    every_s = _seconds(options["status-interval"]) if "status-interval" in options else time_s
    # A report counts from the run's begin; the last one is of all of it.
    ends_s = [number * every_s for number in range(1, ceil(time_s / every_s))]
    reports = (
        _fio_report(rates, int(options["bs"]), end_s, mean_ns, jobs) for end_s in (*ends_s, time_s)
    )
    return "".join(reports).encode(), time_s


def _seconds(text: str) -> float:
    return float(text.removesuffix("ms")) / 1000


def _fio_report(
    rates: Mapping[str, float], block_bytes: int, time_s: float, mean_ns: float, jobs: int
) -> str:
    sides = ",\n".join(
        _fio_side(side, rate, block_bytes, time_s, mean_ns) for side, rate in rates.items()
    )
    return (
        '{\n  "fio version" : "fio-3.33",\n  "jobs" : [\n    {\n'
        '      "jobname" : "tare",\n      "groupid" : 0,\n      "error" : 0,\n'
        f'{sides},\n      "job_runtime" : {1000 * time_s * jobs:.0f}\n    }}\n  ]\n}}\n'
    )


def _fio_side(side: str, rate: float, block_bytes: int, time_s: float, mean_ns: float) -> str:
    bytes_per_s = rate * block_bytes
    percentile = (
        f',\n          "percentile" : {{\n            "99.000000" : {3 * mean_ns:.0f}\n          }}'
    )
    latency = (mean_ns, percentile) if rate else (0.0, "")
    return (
        f'      "{side}" : {{\n'
        f'        "io_bytes" : {bytes_per_s * time_s:.0f},\n'
        f'        "bw_bytes" : {bytes_per_s:.0f},\n'
        f'        "iops" : {rate:.6f},\n'
        f'        "runtime" : {1000 * time_s if rate else 0:.0f},\n'
        f'        "total_ios" : {rate * time_s:.0f},\n'
        '        "lat_ns" : {\n'
        f'          "min" : {0.9 * latency[0]:.0f},\n'
        f'          "max" : {5 * latency[0]:.0f},\n'
        f'          "mean" : {latency[0]:.6f},\n'
        f'          "N" : {rate * time_s:.0f}{latency[1]}\n        }}\n      }}'
    )


def _mbw(arguments: Sequence[str], speed: float) -> Answer:
    runs, mib = int(arguments[arguments.index("-n") + 1]), int(arguments[-1])
    (method,) = (name for flag, name in METHODS.items() if flag in arguments)
    rate = COPY_MIB_PER_S * speed
    line = f"Method: {method}\tElapsed: {mib / rate:.5f}\tMiB: {mib:.5f}\tCopy: {rate:.3f} MiB/s\n"
    text = "".join(f"{label}\t{line}" for label in (*range(runs), "AVG"))
    # Two arrays are filled before the first copy.
    return text.encode(), (runs + 1) * mib / rate


def _xorshift(arguments: Sequence[str], speed: float) -> Answer:
    rounds = int(arguments[0])
    time_s = rounds / (XORSHIFT_ROUNDS_PER_S * speed)
    line = f'{{"rounds": {rounds}, "state": "6f0b3e8a2c11d94e", "seconds": {time_s:.9f}}}\n'
    return line.encode(), time_s


METHODS = {"-t0": "MEMCPY", "-t1": "DUMB", "-t2": "MCBLOCK"}

TOOLS: Mapping[str, Callable[[Sequence[str], float], Answer | None]] = {
    "fio": _fio,
    "mbw": _mbw,
    "mkdir": _silent,
    "sh": _silent,
    "sleep": _sleep,
    "sysbench": _sysbench,
    "true": _silent,
    "uname": _uname,
    "xorshift": _xorshift,
}
