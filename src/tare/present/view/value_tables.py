"""The tables of one workload: its metrics on all platforms, the disks, tests of older studies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tare.core.model import Metric
from tare.present.view import numbers
from tare.present.view.findings import CellGroup
from tare.present.view.names import platform_text
from tare.present.view.study import StudyView


@dataclass(frozen=True)
class ValueTable:
    """One metric of a group on all platforms."""

    metric: Metric
    unit: str
    rows: Sequence[Sequence[str]]


def metric_tables(found: StudyView, group: CellGroup) -> list[ValueTable]:
    """Describe each metric of a group that any platform has a number of."""
    tables = []
    for metric in group.metrics:
        summaries = [found.summaries[cell.id, metric.name] for cell in group.cells]
        described = [one.values for one in summaries if one.values]
        if not described:
            continue
        scale = numbers.scale_for(metric.unit, (one.median for one in described))
        table = [
            (
                row.name,
                f"{one.values.n if one.values else 0:,}",
                *(scale.text(value) for value in _described(one.values)),
                row.cost,
                row.interval,
                row.verdict,
            )
            for one in summaries
            for row in found.rows_of(one.cell, metric)[:1]
        ]
        tables.append(ValueTable(metric, scale.unit, table))
    return tables


def disk_lines(found: StudyView, group: CellGroup) -> list[Sequence[str]]:
    """Write how busy the host's disks were, a line a platform, of work on files."""
    used = {platform_text(cell): found.disk_use[cell.id] for cell in group.cells}
    if all(one.busy_share is None for one in used.values()):
        return []
    return [
        (name, numbers.share_text(one.busy_share), numbers.share_text(one.pressure))
        for name, one in used.items()
    ]


def other_test_lines(found: StudyView, group: CellGroup) -> list[Sequence[str]]:
    """Write what the tests of older studies say of a group's first metric, a line a platform."""
    lines: list[Sequence[str]] = []
    for cell in group.cells:
        tests, row = found.other_tests.get(cell.id), found.rows_of(cell, group.metrics[0])[0]
        if tests is None or row.comparison is None or row.comparison.cost is None:
            continue
        ps = (tests.student, tests.welch, tests.mann_whitney, tests.paired_t)
        lines.append((row.name, *map(numbers.p_text, ps), row.verdict))
    return lines


def _described(values: Any) -> tuple[float | None, ...]:  # noqa: ANN401
    if values is None:
        return (None,) * 5
    return values.median, values.mean, values.sd, values.minimum, values.maximum
