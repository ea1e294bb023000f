"""Refuse to resume results if this version of Tare would make other cells of their study.

A workload that has gained a parameter, or a layer a setting, makes other cells of the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tare.core.errors import ResultsError
from tare.core.model import Params, Plan
from tare.experiment.study import Study

MOST = 3
"""The number of differences of a kind that are listed; others are counted."""


def refuse_changed_cells(study: Study, plan: Plan, folder: Path) -> None:
    """Raise ResultsError if a plan has cells that its study, as it is read today, has not."""
    differences = _first(list(_differences(study, plan)), "; ")
    if differences:
        raise ResultsError(
            f"{folder} was measured by another version of Tare: {differences}; start a new study "
            "instead"
        )


def _differences(study: Study, plan: Plan) -> Iterator[str]:
    for name in dict.fromkeys(cell.workload for cell in plan.cells):
        then = {cell.params for cell in plan.cells if cell.workload == name}
        mine = [chosen for chosen in study.workloads if chosen.name == name]
        if not then <= (now := {chosen.params for chosen in mine}):
            yield f"its cells of {name} have other parameters ({_changes(then, now)})"
        elif any(chosen.made.metrics != plan.metrics[name] for chosen in mine):
            yield f"its cells of {name} measure other numbers"
    for name in dict.fromkeys(cell.platform for cell in plan.cells):
        then = {cell.settings for cell in plan.cells if cell.platform == name}
        now = {platform.settings for platform in study.platforms if platform.name == name}
        if then != now:
            yield f"its platform {name} has other settings ({_changes(then, now)})"


def _changes(then: set[Params], now: set[Params]) -> str:
    """Return the names of what is new, gone or different."""
    if not now:
        return "there is none of that name"
    before, after = _values(then), _values(now)
    new = [f"{name} is new" for name in after if name not in before]
    gone = [f"{name} is gone" for name in before if name not in after]
    both = [name for name in before if before[name] != after.get(name, before[name])]
    changes = [*new, *gone, *(f"{name} has other values" for name in both)]
    return _first(changes, ", ") or "they are combined otherwise"


def _first(said: Sequence[str], between: str) -> str:
    """Return the first few joined, which are enough to see what has happened."""
    more = [f"and {len(said) - MOST} more"] if len(said) > MOST else []
    return between.join([*said[:MOST], *more])


def _values(every: set[Params]) -> dict[str, set[object]]:
    found: dict[str, set[object]] = {}
    for params in every:
        for name, value in params:
            found.setdefault(name, set()).add(value)
    return found
