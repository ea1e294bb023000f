"""Commands compared with each other on each platform: in Markdown, and as facts for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from tare.core.model import Cell, Limits
from tare.present.export.markdown import in_markdown
from tare.present.view.findings import Findings
from tare.present.view.names import limits_text
from tare.present.view.numbers import NONE, scale_for
from tare.present.view.reasons import reason_text
from tare.present.view.verdict_rows import VerdictRow
from tare.results.compare.comparison import Comparison
from tare.results.questions.across import across

WORKLOAD = "command"
COLUMNS = ("platform and command", "median", "cost", "95 % interval", "verdict", "pairs")
NUMBERS = (1, 2, 3, 5)
"""Which of the columns hold numbers."""


def compared(found: Findings) -> tuple[Comparison, ...]:
    """Compare the commands of a study; nothing where it has only one."""
    return across(found.comparisons.estimates, WORKLOAD)


def reading(rows: Sequence[Comparison]) -> str:
    """Return how the table is read."""
    reference = rows[0].baseline
    assert reference is not None  # noqa: S101 - each row has one
    return (
        f"The commands compared with each other on each platform; cost is a multiple of that of "
        f"{command_text(reference)}, above 1 is worse."
    )


def command_text(cell: Cell) -> str:
    """Return the name of a cell's command."""
    return cell.workload_variant or cell.workload


def markdown(found: Findings, rows: Sequence[Comparison]) -> str:
    """Return a section of GitHub's Markdown."""
    rules = ["---:" if place in NUMBERS else "---" for place in range(len(COLUMNS))]
    lines = [list(COLUMNS), rules]
    for title, some in tables(found, rows):
        lines.append([f"**{in_markdown(title)}**", *[""] * (len(COLUMNS) - 1)])
        lines += [[in_markdown(text) for text in line] for line in some]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"## Commands\n\n{in_markdown(reading(rows))}\n\n{body}\n"


def as_json(found: Findings, rows: Sequence[Comparison]) -> list[dict[str, object]]:
    """Return the facts of each row."""
    return [
        {
            "platform": row.cell.platform,
            "command": command_text(row.cell),
            "reference": command_text(row.baseline) if row.baseline else None,
            "metric": row.metric.name,
            "median": _median(found, row.cell),
            "cost": row.cost,
            "low": row.low,
            "high": row.high,
            "pairs": row.pairs,
            "verdict": row.verdict.value,
            "reason": reason_text(row.reason),
        }
        for row in rows
    ]


def tables(
    found: Findings, rows: Sequence[Comparison]
) -> Iterator[tuple[str, list[Sequence[str]]]]:
    """Yield the lines of each platform: its reference, then what is compared with it."""
    many_limits = len({cell.limits for cell in found.plan.cells}) > 1

    def place(row: Comparison) -> tuple[str, Limits]:
        return row.cell.platform, row.cell.limits

    for (platform, limits), some in groupby(rows, place):
        these = list(some)
        reference = these[0].baseline
        assert reference is not None  # noqa: S101 - each row has one
        medians = [_median(found, cell) for cell in (reference, *(row.cell for row in these))]
        scale = scale_for(these[0].metric.unit, medians)
        first = (command_text(reference), scale.full(medians[0]), NONE, "", "reference", "")
        title = f"{platform}: {limits_text(limits)}" if many_limits else platform
        others = [
            _line(found, row, scale.full(median))
            for row, median in zip(these, medians[1:], strict=True)
        ]
        yield title, [first, *others]


def _line(found: Findings, comparison: Comparison, median: str) -> Sequence[str]:
    row = VerdictRow(
        cell=comparison.cell,
        metric=comparison.metric,
        comparison=comparison,
        margin=found.plan.repetition.margin,
    )
    return command_text(row.cell), median, row.cost, row.interval, row.verdict, row.pairs


def _median(found: Findings, cell: Cell) -> float | None:
    metric = found.plan.metrics[cell.workload][0]
    values = found.summaries[cell.id, metric.name].values
    return values.median if values else None
