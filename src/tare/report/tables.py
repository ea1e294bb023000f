"""Tables: results.csv, what `tare show` prints, and the same for programs."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.compare import Comparison, Summary
from tare.model import Cell, Status
from tare.report.explanations import brief_lines, explanation_rows
from tare.report.facts import platform_warnings, selftest
from tare.report.findings import Findings, platform_text
from tare.report.numbers import (
    cost_text,
    p_text,
    percent_text,
    percents_text,
    share_text,
)
from tare.report.words import (
    lost_text,
    pairs_text,
    state,
    stop_text,
    summary,
    trials_text,
    variant_text,
    verdict_text,
)

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

WIDE, MEDIUM = 110, 84
"""Columns of a terminal from which on a table shows more."""
MAX_NOTES = 12
"""So many kinds of warnings are printed below a table; the report has all."""


def as_json(found: Findings) -> dict[str, Any]:
    """Put everything found into plain data, in base units; infinite ends are the text "inf"."""
    plan, run = found.plan, found.results.run
    return {
        "study": plan.study,
        "folder": str(found.results.folder),
        "seed": plan.seed,
        "baseline": plan.baseline,
        "margin": plan.repetition.margin,
        "stop": run.get("stop"),
        "blocks": found.blocks,
        "trials": {status.value: found.statuses[status] for status in Status},
        "trusted": not found.untrusted,
        "summary": summary(found),
        "rows": [{name: _plain(value) for name, value in row.items()} for row in rows(found)],
        "attributions": [
            {
                "platform": one.stack.cell.platform,
                "workload": found.group_names[one.stack.cell.id],
                "metric": one.stack.metric.name,
                "layers": {layer.cell.stack: _plain(layer.cost) for layer in one.layers},
                "cost": _plain(one.stack.cost),
                "product": _plain(one.product),
                "product_interval": _plain(one.product_interval),
                "interaction": _plain(one.interaction),
                "interaction_interval": _plain(one.interaction_interval),
                "reason": one.reason,
            }
            for one in found.comparisons.attributions
        ],
        "explanations": [
            {name: _plain(value) for name, value in row.items()} for row in explanation_rows(found)
        ],
    }


def write_csv(found: Findings, path: Path) -> None:
    """Write a row for each cell and metric: factors, summary, cost and verdict, in base units."""
    table = [
        {**_factors(row.pop("cell")), **row, "flags": " ".join(row.get("flags", ()))}
        for row in _rows(found)
    ]
    names = dict.fromkeys(name for row in table for name in row)
    factors = [name for name in names if name.startswith(("setting.", "param."))]
    columns = [*(name for name in names if name not in factors), *factors]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


def rows(found: Findings) -> Iterator[dict[str, Any]]:
    """List all that is known of each cell and metric."""
    for row in _rows(found):
        cell = row.pop("cell")
        factors = {name: value for name, value in _factors(cell).items() if "." not in name}
        named = {"settings": dict(cell.settings), "params": dict(cell.params)}
        yield {**factors, **named, **row}


def _rows(found: Findings) -> Iterator[dict[str, Any]]:
    for one in found.comparisons.summaries:
        row = found.rows.get((one.cell.id, one.metric.name))
        usage = found.usage.get(one.cell.id)
        yield {
            "cell": one.cell,
            **_summary(one),
            "host_cpu_s": usage.cpu_s if usage else None,
            "run_delay_share": usage.run_delay_share if usage else None,
            "disk_busy_share": found.disk_use[one.cell.id].busy_share,
            "psi_io_some": found.disk_use[one.cell.id].pressure,
            **_comparison(row),
            **_other_tests(found, row),
        }
        for beside in found.beside.get((one.cell.id, one.metric.name), ()):
            named = {"metric": one.metric.name, "unit": one.metric.unit.value}
            yield {"cell": one.cell, **named, **_comparison(beside)}


def _factors(cell: Cell) -> dict[str, Any]:
    return {
        "workload": cell.workload,
        "platform": cell.platform,
        "stack": cell.stack,
        "control": cell.control,
        "cpus": cell.limits.cpus,
        "memory_bytes": cell.limits.memory_bytes,
        "disk_cache": cell.limits.disk_cache.value,
        **{f"setting.{name}": value for name, value in cell.settings},
        **{f"param.{name}": value for name, value in cell.params},
    }


def _summary(one: Summary) -> dict[str, Any]:
    values = one.values
    return {
        "metric": one.metric.name,
        "unit": one.metric.unit.value,
        "better": one.metric.better.value,
        "n": values.n if values else 0,
        "median": values.median if values else None,
        "mean": values.mean if values else None,
        "sd": values.sd if values else None,
        "spread": values.spread if values else None,
        "min": values.minimum if values else None,
        "max": values.maximum if values else None,
        **{status.value: one.counts.get(status, 0) for status in Status},
    }


def _comparison(row: Comparison | None) -> dict[str, Any]:
    if row is None:
        return {}
    return {
        "baseline": row.baseline.platform if row.baseline else None,
        "variant": row.variant.value,
        "primary": row.primary,
        "pairs": row.pairs,
        "pairs_failed": row.failed,
        "pairs_baseline_failed": row.baseline_failed,
        "pairs_zero": row.zeros,
        "pairs_baseline_zero": row.baseline_zeros,
        "pairs_both_failed": row.both_failed,
        "pairs_left_out": row.left_out,
        "look": row.look,
        "decided_at": row.decided_at,
        "evidence": row.evidence.value if row.evidence else None,
        "cost": row.cost,
        "low": row.low,
        "high": row.high,
        "level": row.level,
        "fixed_low": row.fixed_low,
        "fixed_high": row.fixed_high,
        "degradation_percent": row.degradation_percent,
        "p": row.p,
        "holm_p": row.holm_p,
        "verdict": row.verdict.value,
        "stop": row.stop.value,
        "reason": row.reason,
        "mde": row.mde,
        "noise_floor": row.noise_floor,
        "instances": row.instances,
        "replicates": row.replicates,
        "icc": row.icc,
        "flags": row.flags,
    }


def _other_tests(found: Findings, row: Comparison | None) -> dict[str, Any]:
    """Give the p values of the tests that older studies used, beside the row that decides."""
    tests = found.other_tests.get(row.cell.id) if row and row.primary else None
    if tests is None:
        return {}
    return {
        "p_student": tests.student,
        "p_welch": tests.welch,
        "p_mann_whitney": tests.mann_whitney,
        "p_paired_t": tests.paired_t,
    }


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a row holds
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value


@dataclass(frozen=True)
class Shown:
    """What `tare show` prints: for a terminal of any width, or a pipe."""

    found: Findings

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Print the state, a table of verdicts that fits, the warnings, and a summary."""
        from rich.padding import Padding
        from rich.text import Text

        found = self.found
        yield Text.assemble((found.plan.study, "bold"), f"  {state(found)}")
        yield Text(trials_text(found))
        yield Text("")
        for index, sentence in enumerate(summary(found)):
            last = index == len(summary(found)) - 1
            yield Text(sentence, style="bold red" if last and found.untrusted else "")
        yield Text("")
        yield self._table(options.max_width)
        yield Text("")
        lines = list(brief_lines(found))
        if lines:
            yield Text("What grew with the degradation, for the same work; it need not be why:")
        for line in lines[:MAX_NOTES]:
            yield Padding(Text(line), (0, 0, 0, 2), expand=False)
        if len(lines) > MAX_NOTES:
            yield Text(f"  {len(lines) - MAX_NOTES} more: see the report")
        if lines:
            yield Text("")
        for sentence in selftest(found):
            yield Text(sentence, style="dim")
        for note in self._notes():
            yield Text(note)

    def _table(self, width: int) -> Any:  # noqa: ANN401 - rich's is imported only here
        from rich.table import Table
        from rich.text import Text

        wide, medium = width >= WIDE, width >= MEDIUM
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        table.add_column("workload and platform", overflow="fold")
        for name in ("cost", "degradation", "interval") if medium else ("cost",):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("verdict", no_wrap=medium)
        for name in ("pairs", "p (Holm)", "floor") if wide else ("pairs",):
            table.add_column(name, justify="right", no_wrap=True)
        before = ""
        for row in self.found.headline:
            workload = self.found.group_names[row.cell.id]
            if workload != before:
                table.add_row(Text(workload, style="bold"))
                before = workload
            numbers = [cost_text(row.cost)]
            if medium:
                numbers += [percent_text(row.cost), percents_text(row.low, row.high)]
            last = [pairs_text(row)]
            if wide:
                last += [p_text(row.holm_p), share_text(row.noise_floor)]
            mark = " *" if row.flags or self.found.notes[row.cell.id] else ""
            verdict = verdict_text(row, self.found.plan.repetition.margin) + mark
            # Text, because in a bare string rich would take [square brackets] for a style.
            table.add_row(
                *(Text(one) for one in (f"  {self._platform(row)}", *numbers)),
                Text(verdict, style=_STYLES.get(row.verdict.value, "")),
                *(Text(one) for one in last),
                style="dim" if row.cell.control else "",
            )
            for beside in self.found.beside.get((row.cell.id, row.metric.name), ()):
                if beside.cost is not None:
                    table.add_row(*map(Text, self._variant(beside, width)), style="dim")
        return table

    def _platform(self, row: Comparison) -> str:
        """Name a platform, with what it lost or failed if any of its group did."""
        name, lost = platform_text(row.cell), lost_text(self.found, row.cell)
        base = row.baseline
        if base is not None and any(self.found.lost.get(base.id, {}).values()):
            lost += f" (baseline {lost_text(self.found, base)})"
        return f"{name}: {lost}" if lost else name

    def _variant(self, row: Comparison, width: int) -> list[str]:
        """Write the line of a variant; it stands below the one that decides."""
        numbers = [cost_text(row.cost)]
        if width >= MEDIUM:
            numbers += [percent_text(row.cost), percents_text(row.low, row.high)]
        verdict = verdict_text(row, self.found.plan.repetition.margin)
        last = ["", share_text(row.noise_floor)] if width >= WIDE else []
        return [f"    {variant_text(row)}", *numbers, verdict, pairs_text(row), *last]

    def _notes(self) -> Iterator[str]:
        """List each warning once, with the rows that it concerns."""
        concerned: dict[str, list[str]] = {}
        for platform, warnings in platform_warnings(self.found).items():
            for warning in warnings:
                concerned.setdefault(warning, []).append(platform)
        for row in self.found.headline:
            where = f"{self.found.group_names[row.cell.id]} on {platform_text(row.cell)}"
            unmeasured = [stop_text(row)] if row.cost is None else []
            for note in (*row.flags, *self.found.notes[row.cell.id], *unmeasured):
                concerned.setdefault(note, []).append(where)
        if concerned:
            yield ""
        for note, places in list(concerned.items())[:MAX_NOTES]:
            more = f" and {len(places) - 2} more" if len(places) > 2 else ""
            yield f"* {', '.join(places[:2])}{more}: {note}"
        if len(concerned) > MAX_NOTES:
            yield f"* {len(concerned) - MAX_NOTES} more kinds of warnings: see the report"


_STYLES = {"slower": "red", "faster": "green", "same": "cyan", "undecided": "yellow"}


def show(found: Findings) -> Shown:
    """Make what `tare show` prints; print it with a rich Console."""
    return Shown(found)
