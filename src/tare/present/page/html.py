"""The page: what the template shows, in words and scaled numbers.

Names, reasons and versions come from study files, tools and guests; the template escapes all of it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from markupsafe import Markup

from tare.core.model import NO_FACTS, Status, Trial
from tare.present.charts.catalogue import drawn
from tare.present.page.templating import environment
from tare.present.page.trials_page import FOLDER, DrillDown, cell_pages, drill_down, raw_link
from tare.present.view import numbers
from tare.present.view.at_once import at_once_tables
from tare.present.view.density import density_tables, fittings, is_density
from tare.present.view.disturbances import disturbances
from tare.present.view.explanations import CAUTION, explained, has_counters, slower
from tare.present.view.facts import facts, limit_rows, mismatch_rows, selftest, version
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.host_use import OVERHEAD_PHASES
from tare.present.view.isolation_tables import isolation_tables
from tare.present.view.ladders import COLUMNS, READING, taken_apart
from tare.present.view.names import platform_text
from tare.present.view.neighbours import is_isolation
from tare.present.view.numbers import NONE
from tare.present.view.reasons import reason_text
from tare.present.view.regained import part as regained_part
from tare.present.view.scaling import scaled_works, scaling_tables
from tare.present.view.scaling_finding import is_scaling
from tare.present.view.starts import start_sentences
from tare.present.view.study import CellRows, StudyView
from tare.present.view.theme import dark_rules, page_colours, variables
from tare.present.view.threats import threats
from tare.present.view.tiers import tier_tables
from tare.present.view.value_tables import disk_lines, metric_tables, other_test_lines
from tare.present.view.verdict_rows import Note, VerdictRow
from tare.results.questions.attribution import Attribution
from tare.results.store.raw_output import raw_name

if TYPE_CHECKING:
    from tare.present.page.render import Drawing

MAX_TROUBLES = 100
"""The most failed and suspect trials that are listed; all are among the trials."""

_CHARTS_OF_A_WORKLOAD = {
    "distribution": "How its trials are distributed",
    "matrix": "Every platform compared with every other",
    "lifecycle": "From start to end",
    "cpu": "CPU time over a trial",
    "memory": "Memory over a trial",
    "course": "What its tool reported over a trial",
}
"""Charts that are opened on demand, by the beginning of their names, and what that says."""


class Pages:
    """The pages of a study: that of the report, and of a large study those of each cell's trials.

    ``into`` is the folder that they are written to, if it is not that of the results: links lead
    from there to the raw output.
    """

    def __init__(self, found: StudyView, into: Path | None = None) -> None:
        self._found = found
        self._drill = drill_down(found, into)

    def of_trials(self) -> Iterator[tuple[str, str]]:
        """Make those next to the report, each with its path below the folder."""
        if self._drill.embedded is not None:
            return
        template, frame = environment().get_template("trials.html"), _frame()
        for cell, data in cell_pages(self._found, self._drill.results):
            about = {
                "study": self._found.plan.study,
                "platform": platform_text(cell),
                "workload": self._found.group_names[cell.id],
                "results": f"../{self._drill.results}",
                "data": Markup(data),  # noqa: S704 - escaped by its maker
            }
            yield f"{FOLDER}/{cell.id}.html", template.render(frame, **about)

    def report(self, drawings: Mapping[str, Drawing]) -> str:
        """Make that of the report; it loads nothing."""
        return _report(self._found, drawings, self._drill)


def _frame() -> dict[str, object]:
    """Return what every page has: its style, its colours, and the one script that it may run."""
    script = environment().get_template("script.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {
        "style": Markup(environment().get_template("style.css").render()),  # noqa: S704 - our own
        "colours": Markup(page_colours()),  # noqa: S704 - our own
        "dark_rules": Markup(dark_rules()),  # noqa: S704 - our own
        "script": Markup(script),  # noqa: S704 - our own
        "script_digest": Markup(digest),  # noqa: S704 - our own
        "missing": NONE,
    }


def _report(found: StudyView, drawings: Mapping[str, Drawing], drill: DrillDown) -> str:
    plan = found.plan
    template = environment().get_template("report.html")
    sentences = found.headlines
    return template.render(
        _frame(),
        plan=plan,
        found=found,
        question=_question(found.results.study),
        state=found.state,
        stopped=bool(found.results.run.stop),
        sentences=[_unbroken(one) for one in (sentences[:-1] if found.untrusted else sentences)],
        rests_on=[_unbroken(one) for one in found.summary[:-1]],
        control=_unbroken(found.control),
        trials=found.trial_counts,
        verdicts=[(group, list(_noted(cells))) for group, cells in found.verdicts],
        platform_colours=variables(found.platforms),
        choices=_choices(found),
        margin=numbers.share_text(plan.repetition.margin),
        chart=lambda name: _chart(drawings.get(name)),
        details=_details(found),
        charts_of_a_workload=_CHARTS_OF_A_WORKLOAD,
        other_charts=_other_charts(drawings, drawn(found), len(scaled_works(found))),
        attributions=[
            _attribution(one, found)
            for one in found.comparisons.attributions
            if one.stack.primary and one.reason
        ],
        ladders=taken_apart(found),
        neighbours={
            "workloads": range(1, len(drawn(found)) + 1),
            "tables": list(isolation_tables(found)),
            "stressed": _titles(drawings, "stressed-"),
            "starved": _titles(drawings, "starved-"),
        }
        if is_isolation(found.headline)
        else None,
        scaling={
            "workloads": range(1, len(scaled_works(found)) + 1),
            "tables": [
                *scaling_tables(found),
                *at_once_tables(found),
                *density_tables(found),
            ],
            "is_density": is_density(found),
        }
        if scaled_works(found) or fittings(found)
        else None,
        starts=list(start_sentences(found)),
        held=regained_part(found),
        ladder_columns=COLUMNS,
        ladder_reading=READING,
        why={
            "caution": CAUTION,
            "unbroken": _unbroken,
            "against": "alone"
            if is_isolation(found.headline)
            else "in one instance"
            if is_scaling(found.headline)
            else f"on {plan.reference}",
            "cells": explained(found),
            "slower": len(slower(found)),
            "has_counters": has_counters(found),
            "tables": list(tier_tables(found)),
        },
        drill=drill,
        data=drill.embedded and Markup(drill.embedded),  # noqa: S704 - escaped by its maker
        threats=[_unbroken(one) for one in threats(found)],
        facts=facts(found),
        has_facts=found.results.facts != NO_FACTS,
        noise=found.results.facts.noise,
        disturbances=disturbances(found),
        selftest=selftest(found),
        version=version(found),
        limit_rows=list(limit_rows(found)),
        mismatches=mismatch_rows(found),
        troubles=list(_troubles(found, drill)),
        hidden_troubles=max(0, len(_troubled(found)) - MAX_TROUBLES),
        unavailable=_unavailable(found),
        overhead=_overhead(found),
        phases=OVERHEAD_PHASES,
        coverage=bool(found.usage),
    )


def _noted(cells: Sequence[CellRows]) -> Iterator[tuple[VerdictRow, Sequence[Note]]]:
    """Yield the rows of cells; what is to be read with a cell's number follows its last row."""
    for rows in cells:
        *before, last = rows
        yield from ((row, ()) for row in before)
        yield last, rows[0].notes


def _choices(found: StudyView) -> Mapping[str, Sequence[tuple[str, str]]]:
    """List what the table of verdicts can be filtered by: values and what they are called."""
    rows = [rows[0] for _, cells in found.verdicts for rows in cells]
    platforms = dict.fromkeys(row.name for row in rows)
    return {
        "verdict": list({row.word: row.verdict for row in rows}.items()),
        "workload": [(group.name, group.name) for group in found.groups],
        "platform": [(name, name) for name in platforms],
    }


def _details(found: StudyView) -> list[tuple[object, ...]]:
    """Gather what is shown of each workload that is drawn, with its number in figures' names."""
    return [
        (
            number,
            group,
            metric_tables(found, group),
            disk_lines(found, group),
            other_test_lines(found, group),
        )
        for number, group in enumerate(drawn(found), 1)
    ]


def _titles(drawings: Mapping[str, Drawing], kind: str) -> list[tuple[str, str]]:
    """List the charts whose names begin so, each with its title."""
    return [(name, one.figure.title) for name, one in drawings.items() if name.startswith(kind)]


def _other_charts(
    drawings: Mapping[str, Drawing], groups: Sequence[CellGroup], works: int
) -> list[str]:
    """Name the charts that have no place of their own in the template."""
    kinds = ("doses", "stressed", "points", "drift", *_CHARTS_OF_A_WORKLOAD)
    numbers_of = range(1, len(groups) + 1)
    placed = {
        *("forest", "heat", "isolation", "attribution", "ladder"),
        *(f"{kind}-{number:02d}" for kind in kinds for number in numbers_of),
        *(
            f"{kind}-{number:02d}"
            for kind in ("instances", "efficiency")
            for number in range(1, works + 1)
        ),
    }
    return [name for name in drawings if name not in placed and not name.startswith("starved-")]


def _unbroken(sentence: str) -> str:
    """Keep each number on one line with its unit, and each interval."""
    parts = r"\[[^\[\]]{1,40}\](?: %)?|\d (?:%|s\b)"
    return re.sub(parts, lambda part: part[0].replace(" ", "\N{NO-BREAK SPACE}"), sentence)


def _question(study: str) -> str:
    """Find the question in the study as it was run; a study that is broken by now has none.

    A date that is none is a ValueError, and what is nested too deep a RecursionError.
    """
    try:
        declared = yaml.safe_load(study)
    except (yaml.YAMLError, ValueError, RecursionError):
        return ""
    question = declared.get("question") if isinstance(declared, dict) else None
    return question if isinstance(question, str) else ""


def _chart(drawing: Drawing | None) -> dict[str, Any] | None:
    """Return a chart to the template; its SVG was made by Vega, which escapes text."""
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


def _attribution(one: Attribution, found: Findings) -> str:
    where = f"{found.group_names[one.stack.cell.id]} on {one.stack.cell.platform}"
    return f"{where}: not drawn, because {reason_text(one.reason)}."


def _troubled(found: Findings) -> list[Trial]:
    bad = (Status.FAILED, Status.DNR, Status.SUSPECT)
    # Those without numbers first: a list that is cut short should lose the milder ones.
    return sorted(
        (one for one in found.results.trials if one.status in bad),
        key=lambda one: one.status is Status.SUSPECT,
    )


def _troubles(found: Findings, drill: DrillDown) -> Iterator[dict[str, Any]]:
    for trial in _troubled(found)[:MAX_TROUBLES]:
        cell = found.plan.cells_by_id.get(trial.cell)
        yield {
            "trial": trial,
            "platform": platform_text(cell) if cell else "a cell that is not in the plan",
            "workload": found.group_names.get(trial.cell, NONE),
            "raw": f"raw/{raw_name(trial)}/",
            "link": raw_link(found, trial, drill.results),
        }


def _unavailable(found: Findings) -> list[tuple[str, str]]:
    """List the platforms that this host cannot run, and why, from the facts and the trials."""
    reasons: dict[tuple[str, str], None] = {}
    for name, platform in found.results.facts.platforms.items():
        if platform.unavailable:
            reasons[name, platform.unavailable] = None
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
            *_sampling(found.sampling.get(name)),
        )
        for name, phases in found.overhead_s.items()
    ]


def _sampling(took: tuple[float, float] | None) -> tuple[str, str]:
    if took is None:
        return NONE, NONE
    cpu_s, share = took
    return numbers.plain(1000 * cpu_s, 3), numbers.share_text(share)
