"""Several studies compared: how far each is, and what each says of each platform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tare.present.live.catalogue import ResultsCatalogue
from tare.present.live.drawings import strip
from tare.present.live.looks import Look
from tare.present.live.markup import macro, problem, whole
from tare.present.live.overview import Overview
from tare.present.live.study_reader import Snapshot, StudyReader
from tare.present.live.study_view import LiveView
from tare.present.live.views import Parts
from tare.present.view.names import params_text
from tare.present.view.numbers import bytes_text
from tare.present.view.verdict_rows import VerdictRow
from tare.results.compare.comparison import Comparison

MAX_COMPARED = 7
"""The most studies that are compared: as many as there are colours."""


@dataclass(frozen=True)
class Value:
    """What one study says; ``differs`` is what sets its cell apart from the others of the row."""

    row: VerdictRow
    differs: str = ""


@dataclass(frozen=True)
class Row:
    """One platform under one workload: of each study what it says, or why it says nothing.

    There is a ``drawing`` of cells that are the same only: of others, costs are not to be compared.
    """

    platform: str
    values: Sequence[Sequence[Value]]
    missing: Sequence[str]
    drawing: object = None


@dataclass(frozen=True)
class Table:
    """The rows of one workload."""

    name: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class Compared:
    """The studies with the numbers of their colours, the tables, and the names of what lacks."""

    studies: Sequence[tuple[Overview, int]]
    shared: Sequence[Table]
    other: Sequence[Table]
    missing: Sequence[str]


@dataclass(frozen=True)
class _Result:
    """A comparison of one study."""

    study: str
    group: str
    row: VerdictRow
    comparison: Comparison


@dataclass(frozen=True)
class ComparedStudies:
    """Several studies: cost and interval of each platform under each workload."""

    catalogue: ResultsCatalogue
    names: tuple[str, ...]
    kept: list[StudyReader | None] = field(default_factory=list, compare=False)

    def look(self) -> list[Snapshot | None]:
        """See View.look; None where there is no such study."""
        self.kept[:] = [self.catalogue.reader(name) for name in self.names[:MAX_COMPARED]]
        return [one.snapshot() if one else None for one in self.kept]

    def parts(self, seen: Sequence[Snapshot | None]) -> Parts:
        """See View.parts."""
        if len(self.names) > MAX_COMPARED:
            return {}
        known = compared(self.names, seen)
        return {name: str(macro("compared.html", name)(known)) for name in ("chosen", "compared")}

    def page(self, seen: Sequence[Snapshot | None]) -> str:
        """See View.page."""
        if len(self.names) > MAX_COMPARED:
            return problem("Too many studies", f"At most {MAX_COMPARED} are compared.")
        body = macro("compared.html", "body")(self.parts(seen), self.names)
        return whole("Studies compared", body)


def compared(names: Sequence[str], seen: Sequence[Snapshot | None]) -> Compared:
    """Return the rows of cells that several studies share, then of all others."""
    views = {
        name: LiveView(one)
        for name, one in zip(names, seen, strict=True)
        if one is not None and one.overview.plan is not None
    }
    results = [
        _Result(name, group, line.row, line.row.comparison)
        for name, one in views.items()
        for group, lines in one.groups
        for line in lines
        if line.row.comparison
    ]
    by_cell: dict[tuple[object, ...], list[_Result]] = {}
    for result in results:
        by_cell.setdefault(_same(result.comparison), []).append(result)
    by_name: dict[tuple[str, str], list[_Result]] = {}
    for result in results:
        by_name.setdefault(_name(result), []).append(result)
    shared = [some for some in by_cell.values() if len(some) > 1]
    alone = {_name(some[0]) for some in by_cell.values() if len(some) == 1}
    other = [some for name, some in by_name.items() if name in alone]
    studies = tuple(views)
    return Compared(
        [(one.overview, index + 1) for index, one in enumerate(views.values())],
        _tables([(some[0].group, _shared(some, by_name, studies)) for some in shared]),
        _tables([(some[0].row.cell.workload, _other(some, studies)) for some in other]),
        [name for name in names if name not in views],
    )


def _tables(rows: Sequence[tuple[str, Row]]) -> Sequence[Table]:
    by_workload: dict[str, list[Row]] = {}
    for name, row in rows:
        by_workload.setdefault(name, []).append(row)
    return [Table(name, some) for name, some in by_workload.items()]


def _same(row: Comparison) -> tuple[object, ...]:
    """Return what is equal for one cell, against one baseline, by one variant of a metric."""
    baseline = row.baseline.id if row.baseline else ""
    return (row.cell.id, baseline, row.metric.name, row.variant.value)


def _name(result: _Result) -> tuple[str, str]:
    """Return what people would compare by."""
    return result.row.cell.workload, result.row.name


def _shared(
    some: Sequence[_Result],
    by_name: Mapping[tuple[str, str], Sequence[_Result]],
    studies: Sequence[str],
) -> Row:
    values = [[Value(one.row) for one in some if one.study == study] for study in studies]
    otherwise = {one.study for one in by_name[_name(some[0])]}
    lacks = [
        "measured otherwise: see below" if study in otherwise else "not in this study"
        for study in studies
    ]
    bars = [
        (Look(row.pairs, row.cost, row.low, row.high), studies.index(one.study) + 1, one.study)
        for one in some
        for row in [one.comparison]
    ]
    return Row(some[0].row.name, values, lacks, strip(bars))


def _other(some: Sequence[_Result], studies: Sequence[str]) -> Row:
    """Return the row of cells that are not the same, each with what sets it apart."""
    traits = [dict(_traits(one.comparison)) for one in some]
    names = dict.fromkeys(name for one in traits for name in one)
    apart = [name for name in names if len({one.get(name) for one in traits}) > 1]
    differs = [", ".join(filter(None, (one.get(name) for name in apart))) for one in traits]
    values = [
        [
            Value(one.row, text)
            for one, text in zip(some, differs, strict=True)
            if one.study == study
        ]
        for study in studies
    ]
    return Row(some[0].row.name, values, ["not in this study"] * len(studies))


def _traits(row: Comparison) -> Iterator[tuple[str, str]]:
    """Yield what makes a comparison what it is: the kind of each trait, and its words."""
    cell, baseline = row.cell, row.baseline
    yield "stack", cell.stack
    for name, value in cell.settings:
        yield f"setting {name}", f"{name} {value}"
    for name, value in cell.params:
        yield f"parameter {name}", params_text(((name, value),))
    yield "cpus", f"{cell.limits.cpus} CPU{'s' if cell.limits.cpus > 1 else ''}"
    yield "memory", bytes_text(cell.limits.memory_bytes)
    yield "disk cache", f"disk cache {cell.limits.disk_cache.value}"
    yield "CPU limit", f"CPU limit {cell.limits.cpu_limit.value}"
    yield "swap", f"swap {bytes_text(cell.limits.swap_bytes)}"
    for name, value in cell.limits.optional:
        yield f"limit {name}", params_text(((name, value),))
    yield "metric", f"by {row.metric.name}"
    yield "variant", f"decided by {row.variant.value}"
    if baseline is None:
        yield "baseline", "against nothing"
        return
    yield "baseline", f"against {baseline.platform}"
    of_baseline = {"stack": baseline.stack, **dict(baseline.settings)}
    yield "baseline's settings", f"whose {params_text(tuple(of_baseline.items()))}"
