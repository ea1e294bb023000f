"""The pages: what each shows, as parts that a browser replaces one by one.

A view looks and gives something that is equal to what it gave before if nothing has changed;
``parts`` makes of that the HTML below each id, ``page`` the whole. The templates escape all text:
names, reasons and settings come from study files, tools and guests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from importlib import resources
from typing import Any, Protocol
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from tare.compare import Comparison, Comparisons
from tare.live.catalogue import Catalogue
from tare.live.drawings import colour, narrowed, strip, timeline
from tare.live.narrowing import Course, Look
from tare.live.watching import Glance, Seen, State
from tare.model import Cell, Plan, Status, Trial
from tare.report import numbers
from tare.report.findings import Findings, platform_text
from tare.report.numbers import cost_text, costs_text, percents_text
from tare.report.theme import page_colours
from tare.report.words import control_text, pairs_text, stop_text, summary, verdict_text
from tare.stats.schedule import looks
from tare.stats.sequential import Stop
from tare.store import Results
from tare.store.writer import raw_name

MAX_FAILURES = 30
"""So many trials that are not ok are listed: those that ended last."""
MAX_BESIDE = 7
"""So many studies stand beside each other: as many as there are colours."""

Parts = Mapping[str, str]


class View(Protocol):
    """One page."""

    def look(self) -> object:
        """Read what is new; gives what equals what was given before if nothing has changed."""

    def parts(self, seen: Any) -> Parts:  # noqa: ANN401 - what this view's own look gave
        """Make the HTML of what changes, by the ids of the elements that it stands in."""

    def page(self, seen: Any) -> str:  # noqa: ANN401
        """Make the whole page."""


@dataclass(frozen=True)
class Studies:
    """The list of all studies; those that a session wrote to last come first."""

    catalogue: Catalogue

    def look(self) -> list[Glance]:
        """See View.look."""
        found = [one.glance() for one in self.catalogue.glancing()]
        return sorted(found, key=lambda one: (one.state is not State.RUNNING, -one.active_at))

    def parts(self, seen: Sequence[Glance]) -> Parts:
        """See View.parts."""
        return {"studies": str(_macro("studies.html", "table")(seen))}

    def page(self, seen: Sequence[Glance]) -> str:
        """See View.page."""
        body = _macro("studies.html", "body")(self.parts(seen), str(self.catalogue.root))
        return whole("Studies", body)


@dataclass(frozen=True)
class Line:
    """A comparison in the table of intervals."""

    id: str
    platform: str
    colour: int
    row: Comparison
    pairs: str
    cost: str
    interval: str
    verdict: str
    word: str
    said: str
    looks: Sequence[Look]
    drawing: object


@dataclass(frozen=True)
class OneStudy:
    """One study: what runs, how far it is, its intervals, its trials in time, its failures."""

    catalogue: Catalogue
    name: str

    def look(self) -> Seen | None:
        """See View.look; None if there is no such study."""
        found = self.catalogue.watching(self.name)
        return found.seen() if found else None

    def parts(self, seen: Seen | None) -> Parts:
        """See View.parts; of a study that is gone, what was seen last stays in the browser."""
        if seen is None:
            return {}
        told = Told(seen)
        parts = {"state": str(_macro("study.html", "state")(told))}
        if told.glance.plan is None:
            return parts
        for part in ("progress", "words", "timeline", "failures"):
            parts[part] = str(_macro("study.html", part)(told))
        for number, (_, lines) in enumerate(told.groups):
            for line in lines:
                parts[line.id] = str(_macro("study.html", "line")(line))
            parts[f"looks-{number}"] = str(_macro("study.html", "looks")(lines))
        return parts

    def page(self, seen: Seen | None) -> str:
        """See View.page."""
        if seen is None:
            return problem("No such study", f"There is no study {self.name} here.")
        body = _macro("study.html", "body")(self.parts(seen), Told(seen))
        return whole(self.name, body)


@dataclass(frozen=True)
class Told:
    """What a page tells of one study."""

    seen: Seen

    @property
    def glance(self) -> Glance:
        """The state and the numbers of trials."""
        return self.seen.glance

    @cached_property
    def plan(self) -> Plan:
        """The plan, which is known wherever more than the state is told."""
        assert self.glance.plan is not None  # noqa: S101 - OneStudy.parts looks first
        return self.glance.plan

    @cached_property
    def course(self) -> Course:
        """The comparisons, as far as they were made."""
        return self.seen.course or Course(rows=())

    @cached_property
    def found(self) -> Findings:
        """The primary comparisons in the shape in which reports put them into words."""
        results = Results(self.seen.folder, "", self.plan, {}, {}, tuple(self.seen.trials))
        return Findings(results, Comparisons(summaries=(), comparisons=self.course.rows,
                                             attributions=()))  # fmt: skip

    @cached_property
    def statuses(self) -> Mapping[Status, int]:
        """How trials ended, warm-ups too."""
        counts = Counter(one.status for one in self.seen.trials)
        return {status: counts[status] for status in Status if counts[status]}

    @property
    def now(self) -> str:
        """Say what runs now, by the plan, or what was run last."""
        if self.glance.state is State.RUNNING and not self.seen.trials:
            return "Opening the platforms; no trial has ended yet."
        slot = self.course.next
        if self.glance.state is State.RUNNING and slot is not None:
            beside = f", beside {self._named(slot.partner)}" if slot.partner else ""
            return f"Now, by the plan: {self._named(slot.cell)}{beside}, block {slot.block}."
        if not self.seen.trials:
            return ""
        last = self.seen.trials[-1]
        return f"The last trial: {self._named(last.cell)}, block {last.block}, {last.status.value}."

    @property
    def sentences(self) -> Sequence[str]:
        """Say what was decided; the last sentence is about the control."""
        return [_unbroken(sentence) for sentence in summary(self.found)]

    @property
    def control(self) -> str:
        """Say what the A/A control says, if it says that nothing is to be trusted."""
        return _unbroken(control_text(self.found)) if self.found.untrusted else ""

    @cached_property
    def groups(self) -> Sequence[tuple[str, Sequence[Line]]]:
        """The comparisons of each workload."""
        rows = {row.cell.id: row for row in self.course.rows}
        return [
            (one.name, [self._line(rows[cell.id]) for cell in one.cells if cell.id in rows])
            for one in self.found.groups
        ]

    @cached_property
    def timeline(self) -> object:
        """The trials by time."""
        cells = sorted(self.plan.cells, key=lambda cell: self.found.platforms.index(cell.platform))
        platforms = {cell.id: cell.platform for cell in cells}
        return timeline(self.seen.trials, platforms, self.found.group_names)

    @cached_property
    def failures(self) -> Sequence[Mapping[str, object]]:
        """The last trials that are not ok, the latest first."""
        bad = [one for one in self.seen.trials if one.status is not Status.OK]
        return [self._failure(one) for one in bad[: -MAX_FAILURES - 1 : -1]]

    def _failure(self, trial: Trial) -> Mapping[str, object]:
        raw = raw_name(trial)
        kept = [
            (name, file_url(self.glance.name, f"raw/{raw}/{name}"))
            for name in ("stdout", "stderr")
            if (self.seen.folder / "raw" / raw / name).is_file()
        ]
        return {"trial": trial, "what": self._named(trial.cell), "kept": kept}

    def _named(self, cell: str) -> str:
        known = self.plan.cells_by_id.get(cell)
        if known is None:
            return "a cell that is not in the plan"
        return f"{self.found.group_names[cell]} on {platform_text(known)}"

    def _line(self, row: Comparison) -> Line:
        rule, course = self.plan.repetition, self.course.looks.get(row.cell.id, ())
        schedule = looks(rule.max_blocks, rule.min_blocks)
        following = next((look for look in schedule if look > row.pairs), None)
        waits = row.stop is Stop.NOT_YET and not row.reason
        said = "" if waits else stop_text(row)
        if waits and following is not None:
            said = f"next look at {following} pairs"
        return Line(
            id=f"c-{row.cell.id}",
            platform=platform_text(row.cell),
            colour=colour(self.found.platforms.index(row.cell.platform)),
            row=row,
            pairs=pairs_text(row),
            cost=cost_text(row.cost),
            interval=percents_text(row.low, row.high),
            verdict=verdict_text(row, rule.margin),
            word=row.verdict.value.replace(" ", "-"),
            said=said,
            looks=course,
            drawing=narrowed(course, rule.margin),
        )


@dataclass(frozen=True)
class Beside:
    """Several studies: cost and interval of the cells that they share."""

    catalogue: Catalogue
    names: tuple[str, ...]

    def look(self) -> list[Seen | None]:
        """See View.look; None where there is no such study."""
        found = [self.catalogue.watching(name) for name in self.names]
        return [one.seen() if one else None for one in found]

    def parts(self, seen: Sequence[Seen | None]) -> Parts:
        """See View.parts."""
        return {"beside": str(_macro("beside.html", "table")(*self._shared(seen)))}

    def page(self, seen: Sequence[Seen | None]) -> str:
        """See View.page."""
        if len(self.names) > MAX_BESIDE:
            return problem("Too many studies", f"At most {MAX_BESIDE} stand beside each other.")
        body = _macro("beside.html", "body")(self.parts(seen), self.names)
        return whole("Beside each other", body)

    def _shared(
        self, seen: Sequence[Seen | None]
    ) -> tuple[Sequence[tuple[str, int]], Sequence[Mapping[str, object]], Sequence[str]]:
        """Give the studies with their colours, the rows that two or more share, and what lacks."""
        told = {
            name: Told(one)
            for name, one in zip(self.names, seen, strict=True)
            if one is not None and one.glance.plan is not None
        }
        columns = [(name, index + 1) for index, name in enumerate(told)]
        rows: dict[tuple[str, str, str, str], dict[str, Comparison]] = {}
        names: dict[tuple[str, str, str, str], str] = {}
        for name, one in told.items():
            for row in one.course.rows:
                key = _same(row)
                rows.setdefault(key, {})[name] = row
                names[key] = f"{one.found.group_names[row.cell.id]} on {platform_text(row.cell)}"
        shared = [
            _shared_row(names[key], some, columns, told)
            for key, some in rows.items()
            if len(some) > 1
        ]
        missing = [name for name in self.names if name not in told]
        return columns, shared, missing


def _same(row: Comparison) -> tuple[str, str, str, str]:
    """Tell comparisons apart: the same cell, against the same, by the same variant of a metric."""
    baseline: Cell | None = row.baseline
    return (row.cell.id, baseline.id if baseline else "", row.metric.name, row.variant.value)


def _shared_row(
    name: str,
    some: Mapping[str, Comparison],
    columns: Sequence[tuple[str, int]],
    told: Mapping[str, Told],
) -> Mapping[str, object]:
    values: list[tuple[str, str, str] | None] = []
    bars = []
    for study, number in columns:
        row = some.get(study)
        if row is None:
            values.append(None)
            continue
        verdict = verdict_text(row, told[study].plan.repetition.margin)
        values.append((cost_text(row.cost), costs_text(row.low, row.high), verdict))
        bars.append((Look(row.pairs, row.cost, row.low, row.high), number, study))
    return {"name": name, "values": values, "drawing": strip(bars)}


def problem(title: str, text: str) -> str:
    """Make a page that says what is not there."""
    return whole(title, _macro("page.html", "sentence")(text))


def whole(title: str, body: str) -> str:
    """Put the body of a page into what is the same for all."""
    return _environment().get_template("page.html").render(title=title, body=body)


def style() -> str:
    """Write the style sheet."""
    return f"{page_colours()}\n{_own('style.css')}"


def script() -> str:
    """Write the script that replaces the parts that change."""
    return _own("script.js")


def study_url(name: str) -> str:
    """Give where the page of a study is."""
    return f"/study/{quote(name, safe='')}"


def file_url(name: str, inner: str) -> str:
    """Give where a file of a study is."""
    return f"/files/{quote(name, safe='')}/{quote(inner)}"


def _unbroken(sentence: str) -> str:
    """Keep numbers on one line with their sign of per cent."""
    return sentence.replace(" %", "\N{NO-BREAK SPACE}%")


def _own(name: str) -> str:
    return resources.files("tare.live").joinpath("templates", name).read_text(encoding="utf-8")


def _moment(at: datetime | float) -> str:
    """Write a time of this host's clock; without the date if it is today's."""
    at = datetime.fromtimestamp(at).astimezone() if isinstance(at, float) else at
    today = datetime.now().astimezone().date()
    return f"{at:%H:%M:%S}" if at.date() == today else f"{at:%Y-%m-%d %H:%M:%S}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tare.live"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "numbers": numbers,
        "study_url": study_url,
        "file_url": file_url,
        "moment": _moment,
    }
    return environment


def _macro(template: str, name: str) -> Any:  # noqa: ANN401 - what a template defines
    return getattr(_module(template), name)


@cache
def _module(template: str) -> Any:  # noqa: ANN401
    return _environment().get_template(template).module
