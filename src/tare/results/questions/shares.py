"""Who took what a workload and its neighbour contend for: amounts a second, of all trials.

A neighbour contends for one resource, that of its stressor. What each side took of it is counted by
the control groups of its instances during the trial. Nothing counts the bytes of a network by
group: of neighbours that send or receive, and of those that contend for caches and locks of the
kernel, the CPU time is shown, which all of these take as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from tare.core.model import (
    IDLE,
    Cell,
    Neighbour,
    Plan,
    Resource,
    Result,
    Source,
    Trial,
    neighbour_of,
)
from tare.core.model.group import group


class Contended(StrEnum):
    """What both sides want, as far as it is counted for each of them."""

    CPU = "CPU time"
    DISK = "disk traffic"


COUNTED: Mapping[Contended, tuple[Resource, ...]] = {
    Contended.CPU: (Resource(Source.LAYER, "cpu_s"),),
    Contended.DISK: (
        Resource(Source.LAYER, "disk_read_bytes"),
        Resource(Source.LAYER, "disk_written_bytes"),
    ),
}
"""The counters whose sum is that of a side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What one cell's two sides took in a second, medians of ``trials``; None: nothing counted it.

    ``alone`` is what the workload took on the same platform without the neighbour.
    """

    cell: Cell
    neighbour: Neighbour
    contended: Contended
    trials: int
    workload: float | None
    neighbours: float | None
    alone: float | None


def contended_with(neighbour: Neighbour) -> Contended | None:
    """Return what a neighbour contends for, as far as it is counted; None: it is idle."""
    if neighbour.stressor == IDLE:
        return None
    return Contended.DISK if neighbour.stressor == "disk" else Contended.CPU


def sides(neighbour: Neighbour | None, trial: Trial) -> tuple[list[Result], list[Result]]:
    """Separate the parts of a trial: those of the workload, and those of its neighbour."""
    if not trial.parts:
        return [trial], []
    names = neighbour.parts if neighbour else ()
    own = [part for part in trial.parts if part.name not in names]
    return list(own), [part for part in trial.parts if part.name in names]


def shares(plan: Plan, trials: Mapping[str, Sequence[Trial]]) -> tuple[Shares, ...]:
    """Return what both sides took in each cell that has a neighbour, in the order of the plan.

    ``trials`` are those that count, by the id of their cell.
    """
    alone = {
        (cell.platform, group(cell)): cell
        for cell in plan.platform_cells
        if neighbour_of(cell.params) is None
    }
    found = []
    for cell in plan.cells:
        neighbour = neighbour_of(cell.params)
        contended = contended_with(neighbour) if neighbour else None
        some = trials.get(cell.id, ())
        if neighbour is None or contended is None or not some:
            continue
        reference = alone.get((cell.platform, group(cell)))
        parts = [sides(neighbour, trial) for trial in some]
        before = trials.get(reference.id, ()) if reference else ()
        found.append(
            Shares(
                cell=cell,
                neighbour=neighbour,
                contended=contended,
                trials=len(some),
                workload=_typical(contended, (own for own, _ in parts)),
                neighbours=_typical(contended, (theirs for _, theirs in parts)),
                alone=_typical(contended, (sides(None, trial)[0] for trial in before)),
            )
        )
    return tuple(found)


def _typical(contended: Contended, every: Iterable[Sequence[Result]]) -> float | None:
    known = [rate for some in every if (rate := _rate(contended, some)) is not None]
    return median(known) if known else None


def _rate(contended: Contended, results: Sequence[Result]) -> float | None:
    """Return what some parts took together in a second; None where one of them was not counted."""
    total = 0.0
    for result in results:
        amounts = [result.resources.get(one.name) for one in COUNTED[contended]]
        known = [one for one in amounts if one is not None]
        if len(known) < len(amounts) or result.duration_s <= 0:
            return None
        total += sum(known) / result.duration_s
    return total if results else None
