"""Laine 2017: means of network throughput, and p values of Student's test for everything."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from tare.results.published import p_values
from tare.results.published.analysis import Column, Form, Table, Value, as_printed
from tare.results.published.counterparts import Measure
from tare.results.published.finding import Finding, Sort
from tare.results.published.moments import by_platform
from tare.results.published.p_values import at_most, possible, resolution
from tare.results.published.platforms import depth
from tare.results.published.plausibility import ALPHA, Subject, against_baselines, implausible
from tare.results.published.printed import Printed, from_means
from tare.results.published.rows import Row, Statistic
from tare.results.stats.holm import holm

_OFFERED = re.compile(r"(\d+) Mbit/s offered")
_MEMORY = re.compile(r"(\d+) GB RAM")
_CPUS = re.compile(r"(\d+) CPU")
_TESTED = {
    "integer loop (time)": Measure("integer_loop", "real"),
    "sysbench fileio read": Measure("sysbench_fileio", "throughput", {"mode": "seqrd"}),
    "sysbench fileio write": Measure("sysbench_fileio", "throughput", {"mode": "seqwr"}),
    **{
        f"dd disk {way}": Measure("dd_disk", "throughput", {"oper": way})
        for way in ("read", "write")
    },
    **{
        f"dd RAM {way}": Measure("dd_memory", "bandwidth", {"direction": way})
        for way in ("read", "write")
    },
    **{
        f"mbw {method}": Measure("mbw", "bandwidth", {"method": method})
        for method in ("memcpy", "dumb", "mcblock")
    },
    **{
        f"network {way} (iperf tcp)": Measure("iperf", "throughput", {"direction": way})
        for way in ("send", "receive")
    },
}
"""Our workloads that measure what Table 4 tests."""

RATE = "Mbit/s"
NEAR = 0.1
"""A rate within so much of the offered one is limited by the offer, so its true value is known."""

_COLUMNS = (
    *(Column("what"), Column("platform"), Column("against"), Column("p as printed", Form.P)),
    *(Column("p after Holm, at most", Form.P), Column("differs")),
)


def analysis(rows: Sequence[Row]) -> tuple[list[Table], list[Finding]]:
    """Judge the means by what their rows show as noise, and the p values as one family."""
    tests = p_values.tests(rows)
    means = [row for row in rows if row.statistic is Statistic.MEAN]
    adjusted = holm([at_most(row) for row in tests])
    noise = _noise(means)
    subjects = [
        Subject(name=first.title, unit=first.unit, better=first.better, platforms=platforms)
        for subject, platforms in by_platform(means, None).items()
        for first in [next(row for row in means if row.subject == subject)]
        if first.better is not None
    ]
    found = [
        *implausible(against_baselines([one for one in subjects if one.unit == RATE]), noise),
        *implausible(against_baselines([one for one in subjects if one.unit != RATE])),
        *_more_than_offered(means),
        *_more_memory(means),
        *_contradictions(tests, means),
        *_directionless(tests, adjusted, means),
        *_family(tests, adjusted),
        *_missing(tests, means, noise),
    ]
    judged = {id(row) for row in (*tests, *means)}
    rest = as_printed([row for row in rows if id(row) not in judged])
    return [*as_printed(means), _table(tests, adjusted), *rest], found


def printed(rows: Sequence[Row]) -> Iterator[Printed]:
    """Return the costs of the means; the data have no number of runs, hence no intervals."""
    return from_means(rows)


def measures(row: Row) -> tuple[Measure, ...]:
    """Return what of our results measures a row: the network alone has sizes."""
    way = {"direction": row.scenario}
    if row.workload == "iperf tcp 20 s":
        return (Measure("iperf", "throughput", way),)
    metric = {"throughput": "throughput", "datagram loss": "loss"}.get(row.metric)
    offered = _OFFERED.match(row.level)
    if row.workload != "iperf udp -b" or metric is None or offered is None:
        return ()
    rate = int(offered[1]) * 1_000_000
    return (Measure("iperf_udp", metric, {**way, "rate_bits_per_s": rate}),)


def tested_by(row: Row) -> tuple[Measure, ...]:
    """Return what of our results measures what a row of Table 4 tests."""
    cpus = _CPUS.fullmatch(row.level)
    found = _TESTED.get(row.workload)
    if row.workload == "sysbench cpu":
        found = Measure("sysbench_cpu", "events")
    if found is None:
        return ()
    return (found if cpus is None else replace(found, cpus=int(cpus[1])),)


def _table(tests: Sequence[Row], adjusted: Sequence[float]) -> Table:
    printed: list[tuple[Value, ...]] = []
    for row, p in zip(tests, adjusted, strict=True):
        differs = "yes" if p < ALPHA else "no longer" if at_most(row) < ALPHA else "no"
        printed.append((_what(row), row.platform, row.baseline, row.value, p, differs))
    return Table(
        "Table 4: Student's test, and Holm over all of its p values",
        _COLUMNS,
        tuple(printed),
        ("A p printed as 0.0 is taken as the largest that is rounded to it.",),
    )


def _noise(means: Sequence[Row]) -> float | None:
    """Find how far rates lie from the offered ones where the offer limits them."""
    errors = [
        abs(math.log(row.value / offered))
        for row in means
        if row.value and (offered := _offered(row)) and abs(row.value / offered - 1) < NEAR
    ]
    return math.expm1(max(errors)) if errors else None


def _offered(row: Row) -> float | None:
    found = _OFFERED.search(row.level)
    return float(found[1]) if found and row.unit == RATE else None


def _more_than_offered(means: Sequence[Row]) -> Iterator[Finding]:
    for row in means:
        offered = _offered(row)
        if offered and row.value and row.value - row.resolution / 2 > offered:
            yield Finding(
                Sort.IMPLAUSIBLE,
                f"{row.title}: {row.platform}",
                f"{row.text} {row.unit} are more than the {offered:g} that were offered.",
            )


def _more_memory(means: Sequence[Row]) -> Iterator[Finding]:
    """Find what gets worse with more memory."""
    sizes: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for row in means:
        found = _MEMORY.search(row.level)
        if found and row.value and row.better is not None:
            sizes.setdefault((row.workload, row.platform, row.better.value), []).append(
                (int(found[1]), row.value)
            )
    for (workload, platform, better), points in sizes.items():
        points.sort()
        for (less, before), (more, after) in pairwise(points):
            if (after < before) == (better == "higher") and after != before:
                yield Finding(
                    Sort.NOT_JUDGED,
                    f"{workload}: {platform}",
                    f"worse with {more} GB of memory ({after:g}) than with {less} GB "
                    f"({before:g}), but the rows show no spread, so it may be chance.",
                )


def _contradictions(tests: Sequence[Row], means: Sequence[Row]) -> Iterator[Finding]:
    """Find p values that the printed means do not allow, whatever the number of runs."""
    for row in tests:
        pair = _means_of(row, means)
        if pair is None or row.value is None:
            continue
        apart = abs(pair[0] - pair[1]) - pair[2]
        least_p = max(0.0, row.value - resolution(row) / 2)
        if apart > 0 and not possible(apart, max(pair[:2]), least_p):
            yield Finding(
                Sort.CONTRADICTION,
                f"{row.workload}: {row.platform} against {row.baseline}",
                f"p = {row.value:g} needs equal means, but {pair[0]:g} and {pair[1]:g} are printed "
                "as means, and no spread of rates, over any number of runs, hides that. "
                + _swapped(row, tests, means),
            )


def _means_of(row: Row, means: Sequence[Row]) -> tuple[float, float, float] | None:
    """Find the two means of a test, and by how much rounding may have moved them together."""
    found = [
        next(
            (
                one
                for one in means
                if one.platform == platform
                and one.scenario
                and one.scenario in row.workload
                and " ".join(one.workload.split()[:2]) in row.workload
            ),
            None,
        )
        for platform in (row.platform, row.baseline)
    ]
    own, base = found
    if own is None or base is None or own.value is None or base.value is None:
        return None
    return own.value, base.value, (own.resolution + base.resolution) / 2


def _swapped(row: Row, tests: Sequence[Row], means: Sequence[Row]) -> str:
    """Name another test of the same two platforms whose printed means are equal."""
    for other in tests:
        pair = _means_of(other, means)
        if other is not row and pair is not None and pair[0] == pair[1]:
            same = (other.platform, other.baseline) == (row.platform, row.baseline)
            if same and (other.value or 0.0) < ALPHA:
                return (
                    f"Those of {other.workload} are equal ({pair[0]:g}) although its p is "
                    f"{other.value:g}: the two rows look exchanged."
                )
    return ""


def _directionless(
    tests: Sequence[Row], adjusted: Sequence[float], means: Sequence[Row]
) -> Iterator[Finding]:
    """Judge what differs from native by p values alone, which do not say who is better."""
    for row, p in zip(tests, adjusted, strict=True):
        own, base = depth(row.platform), depth(row.baseline)
        if p >= ALPHA or own is None or base != 0 or _means_of(row, means) is not None:
            continue
        reason = _odd(row, tests) if own == 1 else ""
        yield Finding(
            Sort.IMPLAUSIBLE if reason else Sort.NOT_JUDGED,
            f"{_what(row)}: {row.platform} against {row.baseline}",
            f"different (p at most {p:.2g} after Holm)"
            + (f", although {reason}" if reason else ", and implausible if it is the faster one")
            + ". Which of them is faster is not in the data, which have only the p value.",
        )


def _odd(row: Row, tests: Sequence[Row]) -> str:
    """Return what is odd if a container, on the host's own kernel and disk, differs from the host.

    Either a platform with more layers does not, or another tool does not that does the same (the
    last word of its name: read or write) at the same size.
    """
    for other in tests:
        p = other.value or 0.0
        if other.baseline != row.baseline or other.level != row.level or p < ALPHA:
            continue
        if other.workload == row.workload:
            return f"{other.platform}, which has more layers, is not (p = {p:g})"
        same = other.workload.split()[-1] == row.workload.split()[-1]
        if same and other.platform == row.platform:
            return f"{other.workload}, on the same disk or memory, finds no difference (p = {p:g})"
    return ""


def _what(row: Row) -> str:
    return f"{row.workload}, {row.level}".strip(", ")


def _family(tests: Sequence[Row], adjusted: Sequence[float]) -> Iterator[Finding]:
    alone = sum(at_most(row) < ALPHA for row in tests)
    together = sum(p < ALPHA for p in adjusted)
    yield Finding(
        Sort.VERDICT,
        "Table 4",
        f"{alone} of {len(tests)} tests have p < {ALPHA}; {together} keep it after Holm. The tests "
        "themselves cannot be computed again: neither runs nor spreads are printed.",
    )


def _missing(tests: Sequence[Row], means: Sequence[Row], noise: float | None) -> Iterator[Finding]:
    without = sorted({row.workload for row in tests if _means_of(row, means) is None})
    yield Finding(
        Sort.CAVEAT, "Table 4", f"No mean is printed for the p values of {', '.join(without)}."
    )
    if noise is not None:
        yield Finding(
            Sort.CAVEAT,
            "means",
            f"No spread is printed. Where the offered rate limits the measured one, they differ by "
            f"up to {100 * noise:.1f} %: that is taken as the noise.",
        )
