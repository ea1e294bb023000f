"""The pages: what each shows, as parts that a browser replaces one by one.

A view looks and gives something that is equal to what it gave before if nothing has changed;
``parts`` makes of that the HTML below each id, ``page`` the whole. A view keeps the readers that it
looked with, so that they need not begin anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tare.present.live.catalogue import ResultsCatalogue
from tare.present.live.markup import macro, problem, whole
from tare.present.live.overview import Overview, State
from tare.present.live.study_reader import Snapshot, StudyReader
from tare.present.live.study_view import LiveView

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

    catalogue: ResultsCatalogue

    def look(self) -> list[Overview]:
        """See View.look."""
        found = [one.read() for one in self.catalogue.overviews()]
        return sorted(found, key=lambda one: (one.state is not State.RUNNING, -one.active_at))

    def parts(self, seen: Sequence[Overview]) -> Parts:
        """See View.parts."""
        return {"studies": str(macro("studies.html", "table")(seen))}

    def page(self, seen: Sequence[Overview]) -> str:
        """See View.page."""
        body = macro("studies.html", "body")(self.parts(seen), str(self.catalogue.root))
        return whole("Studies", body)


class OneStudy:
    """One study: what runs, how far it is, its intervals, its trials in time, its failures.

    A part is made again when what it is made of is another object than before.
    """

    def __init__(self, catalogue: ResultsCatalogue, name: str) -> None:
        self.catalogue, self.name = catalogue, name
        self._readers: StudyReader | None = None
        self._made: dict[str, tuple[tuple[object, ...], Parts]] = {}

    def look(self) -> Snapshot | None:
        """See View.look; None if there is no such study."""
        self._readers = self.catalogue.reader(self.name)
        return self._readers.snapshot() if self._readers else None

    def parts(self, seen: Snapshot | None) -> Parts:
        """See View.parts; of a study that is gone, what was seen last stays in the browser."""
        if seen is None:
            return {}
        view = LiveView(seen)
        parts = dict(_part("state", view))
        if view.overview.plan is None:
            return parts
        plan, rows, state = view.plan, view.course.rows, view.overview.state
        made_of: Mapping[str, tuple[object, ...]] = {
            "progress": (seen,),
            "words": (plan, rows),
            "resources": (plan, seen.trials, seen.usage, state),
            "timeline": (plan, seen.trials),
            "failures": (plan, seen.failures),
            "comparisons": (plan, rows),
        }
        for name, objects in made_of.items():
            known, made = self._made.get(name, ((), {}))
            if [*map(id, known)] != [*map(id, objects)]:
                made = _comparisons(view) if name == "comparisons" else _part(name, view)
                self._made[name] = (objects, made)  # kept, so that no other gets their ids
            parts |= made
        return parts

    def page(self, seen: Snapshot | None) -> str:
        """See View.page."""
        if seen is None:
            return problem("No such study", f"There is no study {self.name} here.")
        body = macro("study.html", "body")(self.parts(seen), LiveView(seen))
        return whole(self.name, body)


def _part(name: str, view: LiveView) -> Parts:
    return {name: str(macro("study.html", name)(view))}


def _comparisons(view: LiveView) -> Parts:
    made = {}
    for number, (_, lines) in enumerate(view.groups):
        for line in lines:
            made[line.id] = str(macro("study.html", "line")(line))
        made[f"looks-{number}"] = str(macro("study.html", "looks")(lines))
    return made
