"""Hewlett Packard Enterprise 2016: differences between containers and guests in per cent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.core.model import Scalar
from tare.results.published.analysis import Column, Form, Table, Value, as_printed
from tare.results.published.costs import of_difference
from tare.results.published.counterparts import Measure
from tare.results.published.finding import Finding, Sort
from tare.results.published.platforms import depth
from tare.results.published.printed import Printed, without_cost
from tare.results.published.quantities import Wanted, range_over_runs
from tare.results.published.repetition import runs_text
from tare.results.published.rows import Row, Statistic
from tare.results.published.setup import setup_of
from tare.results.published.sums import BOOT_DELETE, REBOOT_STOP_START

_COLUMNS = (
    *(Column("what"), Column("platform"), Column("against")),
    *(Column("difference, %", Form.NUMBER), Column("cost", Form.COST)),
)
SAVED = "time saved"
"""A metric of this name is how much less time it takes, and better when higher."""
SAVED_IS_OURS = (
    "The study has Docker faster by a percentage and does not say of what. That it is the part "
    "of KVM's time that is saved is our reading."
)

_RALLY = (
    "timed there by OpenStack Rally, with OpenStack's own work; that its per cent are time saved "
    "is our reading"
)
_TOTALS = {"boot+delete total": BOOT_DELETE, "soft reboot+start+stop total": REBOOT_STOP_START}
_NETPERF_RANGES = {
    "netperf TCP_STREAM, bridge": Measure(
        "netperf_stream",
        "throughput",
        {"protocol": "tcp"},
        note="the study is silent on what its percentage is of",
    ),
    "netperf TCP_RR, bridge": Measure(
        "netperf_rr",
        "requests",
        {"protocol": "tcp"},
        note="the study is silent on what its percentage is of",
    ),
}
_ALONE, _MANY = "1 container", "30 containers"
_NO_DENSITY = (
    "no study of Tare runs that many instances of a platform at once: how much slower they are "
    "than one alone is not measured"
)
_BRIDGE: dict[str, Scalar] = {"docker.network": "bridge"}
_OLTP = "sysbench OLTP read-write on MySQL"
_OLTP_AT_25 = Measure(
    "oltp",
    "transactions",
    {"test": "read_write", "database": "mariadb", "threads": 25},
    note="the study ran MySQL, of a version that it does not give",
)
_MEASURES = {
    **{
        f"LINPACK size {size}k": tuple(
            Measure(name, "flops", {}, {"size": 1000 * size}) for name in ("linpack", "hpl")
        )
        for size in (39, 79)
    },
    "sysbench cpu": (Measure("sysbench_cpu", "tool_duration"),),
    "fio write": (Measure("fio", "throughput", {"pattern": "write"}),),
    "netperf TCP_STREAM": (Measure("netperf_stream", "throughput", {"protocol": "tcp"}),),
    "netperf TCP_RR": (Measure("netperf_rr", "requests", {"protocol": "tcp"}),),
    **{
        verb: (Measure("lifecycle", verb.replace(" ", "_"), {"count": 1}, note=_RALLY),)
        for verb in ("boot", "delete", "soft reboot", "start", "stop")
    },
    **{
        total: (Measure("lifecycle", metric, {"count": 1}, note=_RALLY),)
        for total, metric in _TOTALS.items()
    },
}


def analysis(rows: Sequence[Row]) -> tuple[list[Table], list[Finding]]:
    """Return all differences as costs, and the other values as printed."""
    differences = [row for row in rows if row.statistic is Statistic.DIFFERENCE]
    grouped: dict[str, list[Row]] = {}
    for row in differences:
        grouped.setdefault(row.table, []).append(row)
    tables = [
        Table(title, _COLUMNS, tuple(_row(one) for one in part)) for title, part in grouped.items()
    ]
    others = as_printed([row for row in rows if row.statistic is not Statistic.DIFFERENCE])
    return [*tables, *others], list(_findings(rows, differences))


def printed(rows: Sequence[Row]) -> Iterator[Printed]:
    """Return the differences as costs."""
    for row in rows:
        found = cost(row) if row.statistic is Statistic.DIFFERENCE else None
        slowdown = _slowdown(row, rows)
        if slowdown is not None:
            yield Printed(row=row, baseline=row.platform, cost=slowdown, reason=_NO_DENSITY)
        elif found is None:
            yield without_cost(row)
        else:
            saved = row.metric == SAVED
            yield Printed(row=row, baseline=row.baseline, cost=found, time_saved=saved)


def measures(row: Row) -> tuple[Measure, ...]:
    """Return what of our results measures a row.

    Of transactions those at the level of threads that is printed: that of the smallest difference
    is not.
    """
    if row.workload == _OLTP:
        return (_OLTP_AT_25,) if row.level == "25 threads" else ()
    return _MEASURES.get(row.workload, ())


def _slowdown(row: Row, rows: Sequence[Row]) -> float | None:
    """Return the cost of many containers at once over one alone; None of other rows."""
    if row.level != _MANY or row.value is None:
        return None
    alone = (one.value for one in rows if (one.table, one.level) == (row.table, _ALONE))
    return next((row.value / value for value in alone if value), None)


def number_of(row: Row) -> Wanted | None:
    """Return how ours of a row that is a spread is made."""
    measure = _NETPERF_RANGES.get(row.workload)
    return range_over_runs(row, measure, _BRIDGE) if measure is not None else None


def cost(row: Row) -> float | None:
    """Turn a difference from the baseline into a cost."""
    if row.value is None or row.better is None:
        return None
    return 1 - row.value / 100 if row.metric == SAVED else of_difference(row.value, row.better)


def _row(row: Row) -> tuple[Value, ...]:
    return row.title, row.platform, row.baseline, row.value, cost(row)


def _findings(rows: Sequence[Row], differences: Sequence[Row]) -> Iterator[Finding]:
    """Hold each difference against the spread of repeated runs, where one is printed."""
    for spread in rows:
        if spread.statistic is not Statistic.RANGE or not spread.value:
            continue
        for row in differences:
            if spread.workload.startswith(row.workload) and abs(row.value or 0.0) < spread.value:
                ahead = ", so that the deeper of the two is ahead shows nothing"
                yield Finding(
                    Sort.NOT_JUDGED,
                    f"{row.title}: {row.platform} against {row.baseline}",
                    f"{row.value:+g} % is less than the {spread.value:g} % between the best and "
                    f"worst run of {spread.workload} on {spread.platform}"
                    f"{ahead if _beats(row) else ''}.",
                )
    for row in rows:
        slowdown = _slowdown(row, rows)
        if slowdown is not None:
            yield Finding(
                Sort.VERDICT,
                f"{row.table}: {row.workload}",
                f"of {row.level} at once each takes {slowdown:.3f} times as long as one alone.",
            )
    saved = [row.value for row in differences if row.metric == SAVED and row.value is not None]
    if saved:
        most = max(saved)
        rest = (
            f" Its {most:g} % leave {100 - most:.3g} % of the time; as a gain in speed they would "
            f"leave {100 / (1 + most / 100):.3g} %."
        )
        yield Finding(Sort.CAVEAT, "OpenStack/Rally", SAVED_IS_OURS + rest)
    yield Finding(
        Sort.CAVEAT,
        "all tables",
        "Neither single runs nor standard deviations are printed, so there is no interval. "
        f"Repetition: {runs_text(setup_of('hpe2016'))}.",
    )


def _beats(row: Row) -> bool:
    """Whether the deeper of the two platforms is the better one."""
    own, base, its_cost = depth(row.platform), depth(row.baseline), cost(row)
    if own is None or base is None or its_cost is None or own == base:
        return False
    return its_cost < 1 if own > base else its_cost > 1
