"""The page: what the template shows, in words and scaled numbers.

Names, reasons and versions come from study files, tools and guests; the template escapes all of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tare.compare import Attribution, Comparison
from tare.model import Cell, Metric, Status, Trial
from tare.report import numbers, words
from tare.report.disturbances import disturbances
from tare.report.facts import facts, limit_rows, mismatch_rows, noise, selftest, version
from tare.report.figures import drawn
from tare.report.findings import OVERHEAD_PHASES, Findings, Group, platform_text
from tare.report.numbers import NONE
from tare.report.theme import dark_rules, page_colours, variables
from tare.stats.sequential import Verdict
from tare.store.writer import raw_name

if TYPE_CHECKING:
    from tare.report.render import Drawing

MAX_TROUBLES = 100
"""So many failed and suspect trials are listed; all are in trials.jsonl."""

_MARKS = {
    Verdict.SLOWER: "▲",
    Verdict.FASTER: "▼",
    Verdict.SAME: "=",
    Verdict.UNDECIDED: "?",
    Verdict.NOT_MEASURED: "∅",
}


def page(found: Findings, drawings: Mapping[str, Drawing]) -> str:
    """Make the whole page; it loads nothing."""
    environment = Environment(
        loader=PackageLoader("tare.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    plan = found.plan
    shown = drawn(found)
    return environment.get_template(
        "report.html"
    ).render(
        style=Markup(environment.get_template("style.css").render()),  # noqa: S704 - our own
        colours=Markup(page_colours()),  # noqa: S704 - our own
        dark_rules=Markup(dark_rules()),  # noqa: S704 - our own
        plan=plan,
        found=found,
        question=_question(found.results.study),
        state=words.state(found),
        stopped=bool(found.results.run.get("stop")),
        sentences=[_unbroken(sentence) for sentence in words.summary(found)[:-1]],
        control=_unbroken(words.control_text(found)),
        trials=words.trials_text(found),
        verdicts=[(group, list(_verdict_rows(found, group))) for group in found.groups],
        margin=numbers.share_text(plan.repetition.margin),
        chart=lambda name: _chart(drawings.get(name)),
        attributions=[
            _attribution(one, found)
            for one in found.comparisons.attributions
            if one.stack.primary and one.reason
        ],
        details=[
            (
                number,
                group,
                _metrics(found, group),
                _disks(found, group),
                _other_tests(found, group),
            )
            for number, group in enumerate(shown, 1)
        ],
        facts=facts(found),
        noise=noise(found),
        disturbances=disturbances(found),
        selftest=selftest(found),
        version=version(found),
        limit_rows=list(limit_rows(found)),
        mismatches=mismatch_rows(found),
        troubles=list(_troubles(found)),
        hidden_troubles=max(0, len(_troubled(found)) - MAX_TROUBLES),
        unavailable=_unavailable(found),
        overhead=_overhead(found),
        phases=OVERHEAD_PHASES,
        coverage=_coverage(found),
        missing=NONE,
    )


def _unbroken(sentence: str) -> str:
    """Keep each number on one line with its unit, and each interval."""
    parts = r"\[[^\[\]]{1,40}\](?: %)?|\d (?:%|s\b)"
    return re.sub(parts, lambda part: part[0].replace(" ", "\N{NO-BREAK SPACE}"), sentence)


def _question(study: str) -> str:
    """Find the question in the study as it was run; a study that is broken by now has none."""
    try:
        declared = yaml.safe_load(study)
    except yaml.YAMLError:
        return ""
    question = declared.get("question") if isinstance(declared, dict) else None
    return question if isinstance(question, str) else ""


def _chart(drawing: Drawing | None) -> dict[str, Any] | None:
    """Give a chart to the template; its SVG was made by Vega, which escapes text."""
    if drawing is None:
        return None
    figure = drawing.figure
    return {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "wide": Markup(drawing.wide),  # noqa: S704 - made by Vega, which escapes text
        "phone": Markup(drawing.phone),  # noqa: S704 - made by Vega, which escapes text
    }


@dataclass(frozen=True)
class VerdictRow:
    """A line of the table of verdicts, with what must be said beside it."""

    platform: str
    colour: str
    kind: str
    cost: str
    degradation: str
    interval: str
    verdict: str
    mark: str
    word: str
    pairs: str
    p: str
    floor: str
    cpu: str
    waiting: str
    notes: Sequence[str]


def _verdict_rows(found: Findings, group: Group) -> Iterator[VerdictRow]:
    for cell in group.cells:
        row = found.rows.get((cell.id, group.metrics[0].name))
        usage = found.usage.get(cell.id)
        head = VerdictRow(
            platform=platform_text(cell),
            colour=variables(found.platforms)[cell.platform],
            kind="control" if cell.control else "" if row else "baseline",
            cpu=f"{numbers.plain(usage.cpu_s, 3)} s" if usage else NONE,
            waiting=numbers.share_text(usage.run_delay_share) if usage else NONE,
            **_verdict(found, row),
            notes=(),
        )
        others = found.beside.get((cell.id, group.metrics[0].name), ())
        rows = [head, *(_variant(found, one) for one in others if one.cost is not None)]
        yield from rows[:-1]
        yield replace(rows[-1], notes=_notes(found, cell, row))


def _variant(found: Findings, row: Comparison) -> VerdictRow:
    """Make the line of another variant, which stands below the one that decides."""
    return VerdictRow(
        platform=words.variant_text(row),
        colour="transparent",
        kind="variant",
        cpu="",
        waiting="",
        **_verdict(found, row) | {"p": ""},
        notes=(),
    )


def _verdict(found: Findings, row: Comparison | None) -> dict[str, str]:
    if row is None:
        blank = dict.fromkeys(("degradation", "interval", "pairs", "p", "floor"), "")
        return {"cost": "1", "verdict": "baseline", "mark": "", "word": "baseline", **blank}
    pairs = words.pairs_text(row)
    return {
        "cost": numbers.cost_text(row.cost),
        "degradation": numbers.percent_text(row.cost),
        "interval": numbers.percents_text(row.low, row.high) if row.low is not None else "",
        "verdict": words.verdict_text(row, found.plan.repetition.margin),
        "mark": _MARKS[row.verdict],
        "word": row.verdict.value.replace(" ", "-"),
        "pairs": pairs if row.look in (None, row.pairs) else f"{row.look} of {pairs}",
        "p": NONE if row.cell.control else numbers.p_text(row.holm_p),
        "floor": numbers.share_text(row.noise_floor),
    }


def _notes(found: Findings, cell: Cell, row: Comparison | None) -> list[str]:
    """Gather what concerns one number: its flags, its trials' warnings, why it is not there."""
    lost = words.lost_text(found, cell)
    notes = [f"{lost[:1].upper()}{lost[1:]}, on average over its trials."] if lost else []
    notes += row.flags if row else []
    notes += found.notes[cell.id]
    usage = found.usage.get(cell.id)
    if usage and usage.coverage < 0.9:
        seen = numbers.share_text(usage.coverage)
        notes.append(f"Waiting is known of {seen} of the CPU time only: threads ended unseen.")
    if row and row.verdict in (Verdict.UNDECIDED, Verdict.NOT_MEASURED):
        why = words.stop_text(row)
        notes.append(f"{why[:1].upper()}{why[1:]}.")
        bound = [abs(end - 1) for end in (row.low, row.high) if end is not None]
        if row.verdict is Verdict.UNDECIDED and bound and math.isfinite(max(bound)):
            notes.append(f"Any difference is smaller than {numbers.share_text(max(bound))}.")
    return notes


def _attribution(one: Attribution, found: Findings) -> str:
    where = f"{found.group_names[one.stack.cell.id]} on {one.stack.cell.platform}"
    return f"{where}: not drawn, because {one.reason}."


@dataclass(frozen=True)
class ValueTable:
    """One metric of a group on all platforms."""

    metric: Metric
    unit: str
    rows: Sequence[Sequence[str]]


def _metrics(found: Findings, group: Group) -> list[ValueTable]:
    tables = []
    for metric in group.metrics:
        summaries = [found.summaries[cell.id, metric.name] for cell in group.cells]
        described = [one.values for one in summaries if one.values]
        if not described:
            continue
        scale = numbers.scale_for(metric.unit, (one.median for one in described))
        table = [
            (
                platform_text(one.cell),
                f"{one.values.n if one.values else 0:,}",
                *(scale.text(value) for value in _described(one.values)),
                *_compared(found, found.rows.get((one.cell.id, metric.name))),
            )
            for one in summaries
        ]
        tables.append(ValueTable(metric, scale.unit, table))
    return tables


def _disks(found: Findings, group: Group) -> list[Sequence[str]]:
    """Write how busy the host's disks were, a line a platform, of work on files."""
    used = {platform_text(cell): found.disk_use[cell.id] for cell in group.cells}
    if all(one.busy_share is None for one in used.values()):
        return []
    return [
        (name, numbers.share_text(one.busy_share), numbers.share_text(one.pressure))
        for name, one in used.items()
    ]


def _other_tests(found: Findings, group: Group) -> list[Sequence[str]]:
    """Write what the tests of older studies say of a group's first metric, a line a platform."""
    lines: list[Sequence[str]] = []
    for cell in group.cells:
        tests, row = (
            found.other_tests.get(cell.id),
            found.rows.get((cell.id, group.metrics[0].name)),
        )
        if tests is None or row is None or row.cost is None:
            continue
        ps = (tests.student, tests.welch, tests.mann_whitney, tests.paired_t)
        verdict = words.verdict_text(row, found.plan.repetition.margin)
        lines.append((platform_text(cell), *map(numbers.p_text, ps), verdict))
    return lines


def _described(values: Any) -> tuple[float | None, ...]:  # noqa: ANN401
    if values is None:
        return (None,) * 5
    return values.median, values.mean, values.sd, values.minimum, values.maximum


def _compared(found: Findings, row: Comparison | None) -> tuple[str, str, str]:
    if row is None:
        return "1", "", "baseline"
    interval = numbers.percents_text(row.low, row.high) if row.low is not None else ""
    verdict = words.verdict_text(row, found.plan.repetition.margin)
    return numbers.cost_text(row.cost), interval, verdict


def _troubled(found: Findings) -> list[Trial]:
    bad = (Status.FAILED, Status.DNR, Status.SUSPECT)
    # Those without numbers first: a list that is cut short should lose the milder ones.
    return sorted(
        (one for one in found.results.trials if one.status in bad),
        key=lambda one: one.status is Status.SUSPECT,
    )


def _troubles(found: Findings) -> Iterator[dict[str, Any]]:
    for trial in _troubled(found)[:MAX_TROUBLES]:
        cell = found.plan.cells_by_id.get(trial.cell)
        yield {
            "trial": trial,
            "platform": platform_text(cell) if cell else "a cell that is not in the plan",
            "workload": found.group_names.get(trial.cell, NONE),
            "raw": f"raw/{raw_name(trial)}/",
        }


def _unavailable(found: Findings) -> list[tuple[str, str]]:
    """List the platforms that this host cannot run, and why, from the facts and the trials."""
    reasons: dict[tuple[str, str], None] = {}
    platforms = found.results.facts.get("platforms")
    if isinstance(platforms, Mapping):
        for name, about in platforms.items():
            if isinstance(about, Mapping) and about.get("unavailable"):
                reasons[str(name), str(about["unavailable"])] = None
    for trial in found.results.trials:
        cell = found.plan.cells_by_id.get(trial.cell)
        if trial.status is Status.UNAVAILABLE and cell is not None:
            reasons[cell.platform, trial.reason] = None
    return list(reasons)


def _overhead(found: Findings) -> list[Sequence[str]]:
    return [
        (
            name,
            f"{round(phases['trials']):,}",
            *(
                f"{numbers.plain(1000 * phases[phase], 3)}" if phase in phases else NONE
                for phase in (*OVERHEAD_PHASES, "all")
            ),
        )
        for name, phases in found.overhead_s.items()
    ]


def _coverage(found: Findings) -> bool:
    """Whether anything was read on the host."""
    return bool(found.usage)
