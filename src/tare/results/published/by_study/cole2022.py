"""Cole 2022: mean, range and standard deviation of sysbench in QEMU and Docker, without a host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tare.results.published.analysis import Column, Form, Table, Value, as_printed
from tare.results.published.counterparts import Measure
from tare.results.published.finding import Finding, Sort
from tare.results.published.moments import Moments, by_platform, least_n, least_n_of_spread
from tare.results.published.plausibility import (
    Subject,
    Suspicion,
    against_baselines,
    against_fewer_cpus,
    implausible,
)
from tare.results.published.printed import Printed, from_means
from tare.results.published.quantities import Wanted, cpus_busy
from tare.results.published.repetition import runs_of, runs_text
from tare.results.published.rows import Row, Statistic
from tare.results.published.setup import setup_of

_MEASURES = {
    **{
        (f"sysbench fileio {mode} 64 files 2G 4 threads 30 s", metric): (
            Measure("sysbench_fileio", ours, {"mode": mode}),
        )
        for mode in ("seqwr", "rndwr")
        for metric, ours in (("throughput", "throughput"), ("latency", "latency_mean"))
    },
    **{
        (f"sysbench cpu --cpu-max-prime={prime} 4 threads 30 s", "events per second"): (
            Measure("sysbench_cpu", "events", {"max_prime": prime}),
        )
        for prime in (100, 100_000)
    },
}
_MODES = {"user time": "user", "kernel time": "system"}
_IOTOP = "I/O utilization (iotop)"
_IOTOP_IS_ANOTHER = (
    "not compared: iotop tells for what part of its time a process waited for I/O, Tare how busy "
    "the host's disk was (disk_busy_share) and for how long tasks waited (psi_io_some)"
)
_COLUMNS = (
    *(Column("platform"), Column("mean", Form.NUMBER), Column("sd", Form.NUMBER, weight=2)),
    *(
        Column("min", Form.NUMBER, weight=1),
        Column("max", Form.NUMBER, weight=1),
        Column("against"),
    ),
    *(
        Column("cost", Form.COST),
        Column("95 % interval", Form.INTERVAL),
        Column("p", Form.P, weight=2),
    ),
)


def analysis(rows: Sequence[Row]) -> tuple[list[Table], list[Finding]]:
    """Compare each platform with the container on the same resources."""
    single = [row for row in rows if row.statistic is Statistic.RUN]
    judged = [row for row in rows if row.better is not None and row not in single]
    n, why = _runs(judged)
    subjects = [
        Subject(
            name=f"{first.workload}, {first.metric}",
            unit=first.unit,
            better=first.better,
            platforms=platforms,
            work_per_cpu=first.experiment == "cpu",
        )
        for subject, platforms in by_platform(judged, n).items()
        for first in [next(row for row in judged if row.subject == subject)]
        if first.better is not None
    ]
    pairs = against_baselines(subjects)
    tables = [_table(subject, pairs, why) for subject in subjects]
    found = [
        *implausible([*pairs, *against_fewer_cpus(subjects)]),
        Finding(Sort.CAVEAT, "all tables", f"Repetition: {why}"),
        Finding(
            Sort.CAVEAT,
            "all tables",
            "The data have no run on the host itself: the container stands for the baseline.",
        ),
    ]
    return [*tables, *as_printed(single)], found


def printed(rows: Sequence[Row]) -> Iterator[Printed]:
    """Return the costs against the container on the same resources, with their intervals."""
    n, _ = _runs([row for row in rows if row.better is not None])
    for one in from_means(rows, n):
        yield replace(one, reason=_IOTOP_IS_ANOTHER) if one.row.metric == _IOTOP else one


def measures(row: Row) -> tuple[Measure, ...]:
    """Return what of our results measures a row."""
    return _MEASURES.get((row.workload, row.metric), ())


def number_of(row: Row) -> Wanted | None:
    """Return how ours of a row is made that has what ``time`` printed of a run."""
    mode, measures = _MODES.get(row.metric), _MEASURES.get((row.workload, "events per second"))
    if mode is None or not measures:
        return None
    (run_s,) = setup_of("cole2022").experiment("sysbench cpu").values["time_s"]
    return cpus_busy(row, measures[0], mode=mode, seconds=float(run_s))


def _runs(rows: Sequence[Row]) -> tuple[int, str]:
    """Return the number of runs that the study gives, or the fewest its digits allow; and why."""
    platforms: dict[tuple[tuple[str, ...], str], dict[Statistic, Row]] = {}
    for row in rows:
        platforms.setdefault((row.subject, row.platform), {})[row.statistic] = row
    whole = [one for one in platforms.values() if Statistic.STDEV in one]
    means = [one[Statistic.MEAN].text for one in whole]
    ends = [one[end].text for one in whole for end in (Statistic.MIN, Statistic.MAX)]
    by_mean = least_n(means, max((len(end.partition(".")[2]) for end in ends), default=0))
    by_spread = max((_by_spread(one) for one in whole), default=2)
    least = max(by_mean, by_spread)
    setup = setup_of("cole2022")
    n = runs_of(setup, "cole2022")
    by_digits = (
        f"the decimals of the means allow none below {by_mean} (GRIM), ranges and standard "
        f"deviations none below {by_spread}"
    )
    if n is None:
        return least, f"{by_digits}; {least} is used, more would narrow the intervals."
    allowed = "do" if n >= least else "do not"
    return n, f"{runs_text(setup)}. The digits {allowed} allow that: {by_digits}."


def _by_spread(one: dict[Statistic, Row]) -> int:
    low, high, sd = (one[s].value or 0.0 for s in (Statistic.MIN, Statistic.MAX, Statistic.STDEV))
    return least_n_of_spread(high - low, sd + one[Statistic.STDEV].resolution / 2)


def _table(subject: Subject, pairs: Sequence[Suspicion], why: str) -> Table:
    against = {pair.platform: pair for pair in pairs if pair.subject is subject}
    printed = tuple(
        (*_printed(platform, moments), *_compared(against.get(platform)))
        for platform, moments in subject.platforms.items()
    )
    with_spread = any(moments.sd is not None for moments in subject.platforms.values())
    notes = (f"The number of runs is no column: {why}",) if with_spread else ()
    return Table(subject.name, _COLUMNS, printed, notes or ("No spread is printed.",))


def _printed(platform: str, moments: Moments) -> tuple[Value, ...]:
    return platform, moments.mean, moments.sd, moments.minimum, moments.maximum


def _compared(pair: Suspicion | None) -> tuple[Value, ...]:
    if pair is None:
        return "", None, None, None
    return pair.baseline, pair.compared.cost, pair.compared.interval, pair.compared.p
