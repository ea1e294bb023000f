"""What huang2019 says twice and differently: in its abstract, text, tables and commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

from tare.results.published.contradictions import claimed, two_values
from tare.results.published.finding import Finding, Sort
from tare.results.published.rows import Row, Statistic
from tare.results.published.setup import setup_of

DEGRADATION = "% degradation"
HELD = {"90%U": "90%URR", "FU": "FURR"}
"""The scenario with reservations of each without."""
TWO_VALUES = (
    *("size of TPC-DS", "database of TPC-DS", "TeraSort"),
    "what is left to the victim",
)
"""The conditions for which it gives two values, by their names in the set-up."""
MIB = 2**20
LINK_GBITS = 10
FORKS_BY_METHOD = 32
"""Up to this number of instances with a fork bomb, as its method has it."""

Place = tuple[str, str, str, str]


def findings(rows: Sequence[Row]) -> Iterator[Finding]:
    """Find numbers and statements that exclude each other."""
    table = {_place(row): row for row in rows if row.unit == DEGRADATION}
    yield from _claims(rows, table)
    yield from _worse_when_held(table)
    yield from _reservations(rows)
    yield from _forks(table)
    yield from two_values(setup_of("huang2019"), TWO_VALUES)


def _place(row: Row) -> Place:
    return row.experiment, row.workload, row.metric + row.scenario + row.level, row.platform


def _claims(rows: Sequence[Row], table: Mapping[Place, Row]) -> Iterator[Finding]:
    """Compare what the text claims with the same computed from the tables."""
    for row in rows:
        for beginning, check in _CHECKS.items():
            if row.unit == "points" and row.metric.startswith(beginning):
                yield from check(row, list(table.values()))
                break
        if (row.unit, row.metric) == ("points", "random write"):
            yield from _at_another_place(row, rows)


def _largest_difference(row: Row, table: Sequence[Row]) -> Iterator[Finding]:
    part = [one for one in table if one.experiment.startswith(row.experiment)]
    better, worse = row.platform, row.baseline
    yield from claimed(
        row, max(_behind(part, better, worse)), f"the tables ({worse} less {better})"
    )


def _largest_regained(row: Row, table: Sequence[Row]) -> Iterator[Finding]:
    yield from claimed(row, max(_all_regained(table)), "Tables 5.6 to 5.9")


def _mean_regained(row: Row, table: Sequence[Row]) -> Iterator[Finding]:
    """Compare an average, of which the study does not say over what it is."""
    for one in claimed(row, fmean(_all_regained(table)), "all pairs of Tables 5.6 to 5.9"):
        says = f"{one.says} Over what the study averages is not known."
        yield Finding(Sort.NOT_JUDGED, one.where, says)


def _one_regained(row: Row, table: Sequence[Row]) -> Iterator[Finding]:
    for one in table:
        if _is_of(one, row):
            yield from claimed(row, _regained(one, table), "its pair in the table")


def _largest(row: Row, table: Sequence[Row]) -> Iterator[Finding]:
    of = [one.value or 0.0 for one in table if _is_of(one, row, any_workload=True)]
    yield from claimed(row, max(of), "the table")


def _random_difference(row: Row, table: Sequence[Row]) -> Iterator[Finding]:
    behind = _behind([one for one in table if one.metric.startswith("random")], "xen", "kvm")
    end = max(behind) if "largest" in row.metric else min(behind)
    yield from claimed(row, end, "Table 4.1")


def _behind(rows: Sequence[Row], better: str, worse: str) -> list[float]:
    """List by how many points a platform is behind another, in each thing that was measured."""
    found = {(row.experiment, row.workload, row.metric + row.scenario + row.level, row.platform):
             row.value for row in rows}  # fmt: skip
    differences = []
    for (*what, platform), value in found.items():
        other = found.get((what[0], what[1], what[2], better))
        if platform == worse and value is not None and other is not None:
            differences.append(value - other)
    return differences


def _all_regained(rows: Sequence[Row]) -> list[float]:
    return [regained for row in rows if (regained := _regained(row, rows)) is not None]


def _regained(row: Row, rows: Sequence[Row]) -> float | None:
    """Return by how many points a reservation lowers a degradation; None of other rows."""
    for without, held in HELD.items():
        if row.scenario == held and row.value is not None:
            for other in rows:
                same = (other.experiment, other.workload, other.platform) == (
                    row.experiment,
                    row.workload,
                    row.platform,
                )
                if same and other.scenario == without and other.value is not None:
                    return other.value - row.value
    return None


def _is_of(row: Row, claim: Row, *, any_workload: bool = False) -> bool:
    same = (row.experiment, row.platform) == (claim.experiment, claim.platform)
    scenario = not claim.scenario or row.scenario == claim.scenario
    return same and scenario and (any_workload or row.workload == claim.workload)


def _one_difference(row: Row, table: Sequence[Row]) -> Iterator[Finding]:
    """Compare a claimed difference from Docker with that of its platform, and find whose it is."""
    others = {
        one.platform: one.value
        for one in table
        if (one.experiment, one.workload, one.scenario)
        == (row.experiment, row.workload, row.scenario)
    }
    docker = others.pop("docker", None)
    differences = {
        platform: docker - value
        for platform, value in others.items()
        if docker is not None and value is not None
    }
    for finding in claimed(row, differences[row.platform], "the table"):
        owners = [
            platform
            for platform, value in differences.items()
            if row.value is not None and abs(value - row.value) < row.resolution
        ]
        rest = f" {row.text} is that of {owners[0]}." if owners else ""
        yield Finding(finding.sort, finding.where, finding.says + rest)


def _at_another_place(row: Row, rows: Sequence[Row]) -> Iterator[Finding]:
    """Find a number of the text that the table has at another metric."""
    tables = [
        one
        for one in rows
        if one.statistic is Statistic.DIFFERENCE and one is not row
        if (one.experiment, one.workload) == (row.experiment, row.workload)
    ]
    if not any(one.metric == row.metric and one.value == row.value for one in tables):
        for one in tables:
            if one.value == row.value:
                yield Finding(
                    Sort.CONTRADICTION,
                    f"{row.experiment}, {row.title}: {one.platform}",
                    f"{row.text} points by {row.table}; {one.table} has them at {one.metric}.",
                )


def _worse_when_held(table: Mapping[Place, Row]) -> Iterator[Finding]:
    rows = list(table.values())
    for row in rows:
        regained = _regained(row, rows)
        if regained is not None and regained < 0:
            without = (row.value or 0.0) + regained
            yield Finding(
                Sort.NOT_JUDGED,
                f"{row.experiment}, {row.title}: {row.platform}",
                f"the reservation makes it worse: {row.text} % with it, {without:g} % without, but "
                "the rows show no spread.",
            )


def _reservations(rows: Sequence[Row]) -> Iterator[Finding]:
    """Compare the limits of Table 5.2 with those that the commands set."""
    limits = [row for row in rows if row.statistic is Statistic.SETTING and row.value is not None]
    for row in limits:
        if row.unit == "B/s":
            for one in limits:
                if (one.workload, one.metric, one.unit) == (row.workload, row.metric, "MB/s"):
                    commands = f"its commands ({row.text} B/s over 2^20)"
                    yield from claimed(one, (row.value or 0.0) / MIB, commands)
        if row.metric == "network limit both ways":
            as_bytes = 8 * (row.value or 0.0) / 1000
            if as_bytes > LINK_GBITS:
                yield Finding(
                    Sort.CONTRADICTION,
                    row.title,
                    f"{row.text}mbps is {as_bytes:g} Gbit/s to tc, which reads mbps as megabytes a "
                    f"second: more than the link's {LINK_GBITS} Gbit/s. Meant is {row.text}mbit.",
                )


def _forks(table: Mapping[Place, Row]) -> Iterator[Finding]:
    levels = [
        int(row.level.split()[0])
        for row in table.values()
        if row.experiment == "isolation: fork stress"
    ]
    if levels and max(levels) > FORKS_BY_METHOD:
        yield Finding(
            Sort.CONTRADICTION,
            "isolation: fork stress",
            f"up to {FORKS_BY_METHOD} instances by its method, {max(levels)} in Table 5.11.",
        )


_CHECKS: Mapping[str, Callable[[Row, Sequence[Row]], Iterator[Finding]]] = {
    "less degradation than kvm, largest": _largest_difference,
    "less degradation than xen, largest": _largest_difference,
    "less degradation than docker, largest": _largest_difference,
    "less degradation than docker": _one_difference,
    "regained by reservations, largest": _largest_regained,
    "regained by reservations, average": _mean_regained,
    "regained by reservations": _one_regained,
    "degradation, largest": _largest,
    "more degradation than xen": _random_difference,
}
"""What checks a claim, by the beginning of its metric; the first that fits."""
