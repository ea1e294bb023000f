"""The pages: what each shows, as parts that a browser replaces one by one.

A view looks and gives something that is equal to what it gave before if nothing has changed;
``parts`` makes of that the HTML below each id, ``page`` the whole. A view keeps the readers that it
looked with, so that they need not begin anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tare.compare import Comparison
from tare.live.catalogue import Catalogue
from tare.live.glancing import Glance, State
from tare.live.markup import macro, problem, whole
from tare.live.telling import Told
from tare.live.watching import Seen, Watching
from tare.model import Plan

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
        locks = self.catalogue.locks()
        found = [one.glance(locks) for one in self.catalogue.glancing()]
        return sorted(found, key=lambda one: (one.state is not State.RUNNING, -one.active_at))

    def parts(self, seen: Sequence[Glance]) -> Parts:
        """See View.parts."""
        return {"studies": str(macro("studies.html", "table")(seen))}

    def page(self, seen: Sequence[Glance]) -> str:
        """See View.page."""
        body = macro("studies.html", "body")(self.parts(seen), str(self.catalogue.root))
        return whole("Studies", body)


class OneStudy:
    """One study: what runs, how far it is, its intervals, its trials in time, its failures."""

    def __init__(self, catalogue: Catalogue, name: str) -> None:
        self.catalogue, self.name = catalogue, name
        self._watching: Watching | None = None
        self._made_of: tuple[Plan, Sequence[Comparison]] | None = None
        self._lines: Parts = {}

    def look(self) -> Seen | None:
        """See View.look; None if there is no such study."""
        self._watching = self.catalogue.watching(self.name)
        return self._watching.seen() if self._watching else None

    def parts(self, seen: Seen | None) -> Parts:
        """See View.parts; of a study that is gone, what was seen last stays in the browser."""
        if seen is None:
            return {}
        told = Told(seen)
        parts = {"state": str(macro("study.html", "state")(told))}
        if told.glance.plan is None:
            return parts
        for part in ("progress", "words", "resources", "timeline", "failures"):
            parts[part] = str(macro("study.html", part)(told))
        return {**parts, **self._comparisons(told)}

    def _comparisons(self, told: Told) -> Parts:
        """Make the lines of the comparisons, if these are others than before: it takes longest."""
        plan, rows = told.plan, told.course.rows
        if self._made_of and self._made_of[0] is plan and self._made_of[1] is rows:
            return self._lines
        made = {}
        for number, (_, lines) in enumerate(told.groups):
            for line in lines:
                made[line.id] = str(macro("study.html", "line")(line))
            made[f"looks-{number}"] = str(macro("study.html", "looks")(lines))
        self._made_of, self._lines = (plan, rows), made
        return made

    def page(self, seen: Seen | None) -> str:
        """See View.page."""
        if seen is None:
            return problem("No such study", f"There is no study {self.name} here.")
        body = macro("study.html", "body")(self.parts(seen), Told(seen))
        return whole(self.name, body)
