"""All numbers in base units, as plain data for programs: what ``tare show --json`` prints."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from tare.core.model import Cell, Status, Trial
from tare.present.view import regained
from tare.present.view.at_once import at_once_rows
from tare.present.view.density import density_rows
from tare.present.view.doses import dose_rows
from tare.present.view.explanations import explanation_rows
from tare.present.view.flags import flag_texts
from tare.present.view.ladders import ladder_rows
from tare.present.view.mechanisms import mechanism_rows
from tare.present.view.reasons import reason_text
from tare.present.view.rivals import compared_rows
from tare.present.view.scaling import scaling_rows
from tare.present.view.starts import start_rows
from tare.present.view.study import StudyView
from tare.present.view.tiers import tier_rows
from tare.results.compare.comparison import Comparison
from tare.results.compare.summary import Summary


def as_json(found: StudyView) -> dict[str, Any]:
    """Return everything found as plain data, in base units; infinite ends are the text "inf"."""
    plan, run = found.plan, found.results.run
    return {
        "study": plan.study,
        "folder": str(found.results.folder),
        "seed": plan.seed,
        "baseline": plan.reference,
        "margin": plan.repetition.margin,
        "stop": run.stop,
        "blocks": found.blocks,
        "trials": {status.value: found.statuses[status] for status in Status},
        "trusted": not found.untrusted,
        "finding": found.finding,
        "summary": found.summary,
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
                "reason": reason_text(one.reason),
            }
            for one in found.comparisons.attributions
        ],
        "ladders": _plain(ladder_rows(found)),
        **_where_any(
            reservations=regained.as_rows(found),
            dose_curves=dose_rows(found),
            isolation_compared=compared_rows(found),
            mechanisms=mechanism_rows(found),
            scaling=scaling_rows(found),
            platforms_at_once=at_once_rows(found),
            density=density_rows(found),
            roles=tier_rows(found),
        ),
        "starts": start_rows(found),
        "explanations": [
            {name: _plain(value) for name, value in row.items()} for row in explanation_rows(found)
        ],
    }


def rows(found: StudyView) -> Iterator[dict[str, Any]]:
    """List all that is known of each cell and metric."""
    for row in cell_rows(found):
        cell = row.pop("cell")
        named = {"settings": dict(cell.settings), "params": dict(cell.params)}
        yield {**factors(found, cell), **named, **row}


def cell_rows(found: StudyView) -> Iterator[dict[str, Any]]:
    """Yield the cell, summary, cost and verdict of each cell and metric, then of its variants."""
    peaks = {cell: _memory_peak_bytes(trials) for cell, trials in found.measured.items()}
    for one in found.comparisons.summaries:
        row, *variants = found.rows_of(one.cell, one.metric)
        usage = row.usage
        yield {
            "cell": one.cell,
            **_summary(one),
            "host_cpu_s": usage.cpu_s if usage else None,
            "run_delay_share": usage.run_delay_share if usage else None,
            "memory_peak_bytes": peaks[one.cell.id],
            "disk_busy_share": found.disk_use[one.cell.id].busy_share,
            "psi_io_some": found.disk_use[one.cell.id].pressure,
            **_comparison(row.comparison),
            **_other_tests(found, row.comparison),
        }
        for variant in variants:
            named = {"metric": one.metric.name, "unit": one.metric.unit.value}
            yield {"cell": one.cell, **named, **_comparison(variant.comparison)}


def _memory_peak_bytes(trials: Sequence[Trial]) -> float | None:
    """Return the median of what the platform held of the host's memory at its peak."""
    peaks = [one.resources.get("layer_memory_peak_bytes") for one in trials]
    known = [peak for peak in peaks if peak is not None]
    return median(known) if known else None


def factors(found: StudyView, cell: Cell) -> dict[str, Any]:
    """Return what identifies a cell, without its settings and parameters."""
    return {
        "workload": cell.workload,
        "platform": cell.platform,
        "stack": cell.stack,
        "control": cell.id in found.plan.control_ids,
        "cpus": cell.limits.cpus,
        "memory_bytes": cell.limits.memory_bytes,
        "disk_cache": cell.limits.disk_cache.value,
        **dict(cell.limits.unusual),
    }


def levels(cell: Cell) -> dict[str, Any]:
    """Return the settings and parameters of a cell, each with a column of its own."""
    return {
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
        "decided_by": row.decided_by.value if row.decided_by else None,
        "interval_by": row.interval_by.value if row.interval_by else None,
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
        "reason": reason_text(row.reason),
        "mde": row.mde,
        "noise_floor": row.noise_floor,
        "instances": row.instances,
        "replicates": row.replicates,
        "icc": row.icc,
        "flags": flag_texts(row.flags),
    }


def _other_tests(found: StudyView, row: Comparison | None) -> dict[str, Any]:
    """Return the p values of the tests that older studies used, for the row that decides."""
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
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return value


def _where_any(**tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the tables that have rows: most studies have no neighbours."""
    return {name: _plain(rows) for name, rows in tables.items() if rows}
