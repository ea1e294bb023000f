"""The tables of Huang 2019: degradation of benchmarks, and of applications with neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tare.results.published.analysis import Column, Form, Table, Value, as_printed
from tare.results.published.costs import of_rate_degradation, of_time_degradation
from tare.results.published.counterparts import Measure, Stress
from tare.results.published.finding import Finding, Sort
from tare.results.published.printed import POINTS, Printed, without_cost
from tare.results.published.repetition import runs_text
from tare.results.published.rows import Row
from tare.results.published.setup import setup_of

_COLUMNS = (
    *(Column("what"), Column("platform"), Column("against")),
    *(Column("degradation, %", Form.NUMBER), Column("cost if a rate", Form.COST)),
    *(Column("cost if a time", Form.COST), Column("note", weight=1)),
)
_TIMES = ("latency", "runtime")
_ELAPSED = {"TPC-DS": "section 5.1.2", "TeraSort": "section 5.1.3"}
"""The applications whose result is an elapsed time, and where the study says so.

What SPECweb's is stays open: section 5.1 names a run time, section 5.1.1 connections.
"""
DEGRADATION = "% degradation"

_FIO = {
    "random read": "randread",
    "random write": "randwrite",
    "random mix": "randrw",
    "sequential read": "read",
    "sequential write": "write",
}
_MEASURES = {
    ("LINPACK", "numerical linear algebra"): (Measure("linpack", "flops"), Measure("hpl", "flops")),
    **{("STREAM", one): (Measure("stream", one),) for one in ("copy", "scale", "add", "triad")},
    **{
        ("netperf", f"{protocol.upper()} RR latency"): (
            Measure("netperf_rr", "latency_p90", {"protocol": protocol}),
        )
        for protocol in ("tcp", "udp")
    },
    **{
        ("netperf", f"{protocol.upper()} {way} throughput"): (
            Measure("netperf_stream", "throughput", {"protocol": protocol, "direction": way}),
        )
        for protocol in ("tcp", "udp")
        for way in ("send", "receive")
    },
    **{
        ("fio", metric): (Measure("fio", "throughput", {"pattern": pattern}),)
        for metric, pattern in _FIO.items()
    },
}

_STAND_INS = {
    "SPECweb": Measure("web_ab", "requests"),
    "TPC-DS": Measure("sysbench_fileio", "tool_duration", {"mode": "seqrd", "time_s": "none"}),
    "TeraSort": Measure("multiuser", "jobs"),
}
"""The workload that stands for each victim, for Tare has none of them."""
_STRESSORS = {
    "cpu": "cpu",
    "disk": "disk",
    "network transmit": "net_send",
    "network receive": "net_receive",
    "memory": "memory",
    "fork": "fork",
}
_SCENARIOS: dict[str, tuple[float, bool]] = {
    "90%U": (0.9, False),
    "FU": (1.0, False),
    "90%URR": (0.9, True),
    "FURR": (1.0, True),
}
"""The level of each scenario, and whether its stressors were held by a reservation."""


def analysis(rows: Sequence[Row]) -> tuple[list[Table], list[Finding]]:
    """Return all degradations as costs, and the other tables as printed."""
    degradations = [row for row in rows if row.unit == DEGRADATION]
    times = _times(degradations)
    grouped: dict[str, list[Row]] = {}
    for row in degradations:
        grouped.setdefault(row.table, []).append(row)
    tables = [
        Table(f"{title}: {part[0].experiment}", _COLUMNS, tuple(_row(one, times) for one in part))
        for title, part in grouped.items()
    ]
    others = as_printed([row for row in rows if row.unit != DEGRADATION])
    return [*tables, *others], list(_findings(degradations, times))


def printed(rows: Sequence[Row]) -> Iterator[Printed]:
    """Return the degradations as costs; those next to neighbours too, whose baseline has none."""
    times = _times([row for row in rows if row.unit == DEGRADATION])
    for row in rows:
        rate = is_rate(row, times) if row.unit == DEGRADATION else None
        is_isolated = stress_of(row) is not None
        if row.unit == POINTS:
            continue
        if row.value is None or row.unit != DEGRADATION:
            yield without_cost(row)
        elif rate is None and is_isolated:
            note = (
                f"whether {row.workload}'s result is a rate or a time is open: taken as time that "
                "is added; of a rate costs would be larger, see tare published huang2019"
            )
            of_time = of_time_degradation(row.value)
            yield Printed(row=row, baseline=row.baseline, cost=of_time, of_rate=False, note=note)
        elif rate is None:
            why = "the study does not say whether a rate or a time degrades"
            yield Printed(row=row, baseline=row.baseline, reason=why)
        else:
            cost = (of_rate_degradation if rate else of_time_degradation)(row.value)
            yield Printed(row=row, baseline=row.baseline, cost=cost, of_rate=rate)


def measures(row: Row) -> tuple[Measure, ...]:
    """Return what of our results measures a row."""
    stress = stress_of(row)
    if stress is not None and row.workload in _STAND_INS:
        return (_stand_in(row.workload, stress),)
    return _MEASURES.get((row.workload, row.metric), ())


def stress_of(row: Row) -> Stress | None:
    """Return what a row had next to its victim; None if it is of none of the tables of these."""
    kind, _, rest = row.experiment.removeprefix("isolation: ").rpartition(" ")
    if not row.experiment.startswith("isolation: ") or rest != "stress":
        return None
    stressor = _STRESSORS.get(kind)
    if stressor is None:
        return None
    if row.scenario in _SCENARIOS:
        level, held = _SCENARIOS[row.scenario]
        return Stress(stressor=stressor, level=level, held=held)
    count = row.level.partition(" ")[0]  # of "4 threads", "4 instances"
    return Stress(stressor=stressor, count=int(count)) if count.isdigit() else None


def _stand_in(victim: str, stress: Stress) -> Measure:
    one = _STAND_INS[victim]
    note = f"another victim: {one.workload} in place of {victim}"
    if stress.stressor == "memory" and (stress.count or 0) > 1:
        note += ", and each thread of the memory bomb in an instance of its own"
    return replace(one, stress=stress, note=note, experiment=f"isolation: {victim}")


def is_rate(row: Row, times: set[str]) -> bool | None:
    """Return whether a degradation is that of a rate; None if the study leaves it open.

    A rate cannot lose 100 % and still be measured, so a workload with such a value has times.
    """
    is_time = row.workload in times or row.workload in _ELAPSED
    if is_time or any(word in row.metric for word in _TIMES):
        return False
    return None if row.metric == "degradation" else True


def _times(degradations: Sequence[Row]) -> set[str]:
    return {row.workload for row in degradations if (row.value or 0.0) >= 100}


def _row(row: Row, times: set[str]) -> tuple[Value, ...]:
    rate = is_rate(row, times)
    lost = row.value
    return (
        *(row.title, row.platform, row.baseline, lost),
        None if lost is None or rate is False else of_rate_degradation(lost),
        None if lost is None or rate is True else of_time_degradation(lost),
        row.note,
    )


def _findings(rows: Sequence[Row], times: set[str]) -> Iterator[Finding]:
    for name in sorted(times):
        largest = max(row.value or 0.0 for row in rows if row.workload == name)
        yield Finding(
            Sort.CAVEAT,
            name,
            f"A degradation of {largest:g} % cannot be that of a rate: its values are times.",
        )
    for name, section in _ELAPSED.items():
        yield Finding(
            Sort.CAVEAT, name, f"Its result is an elapsed time ({section}): time that is added."
        )
    unknown = {row.workload for row in rows if is_rate(row, times) is None}
    for name in sorted(unknown):
        yield Finding(
            Sort.NOT_JUDGED,
            name,
            "The study does not say whether a rate or a time degrades (a run time by section 5.1, "
            "connections within quality limits by section 5.1.1): both costs are given.",
        )
    for row in rows:
        if row.value is None:
            yield Finding(
                Sort.CAVEAT, f"{row.experiment}, {row.title}: {row.platform}", "It did not respond."
            )
        elif row.value < 0:
            yield Finding(
                Sort.NOT_JUDGED,
                f"{row.experiment}, {row.title}: {row.platform}",
                f"better than its baseline by {-row.value:g} %, but the rows show no spread.",
            )
    repetition = runs_text(setup_of("huang2019"))
    yield Finding(
        Sort.CAVEAT,
        "all tables",
        f"No spread is printed, so there is no interval. Repetition: {repetition}.",
    )
