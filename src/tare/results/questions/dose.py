"""What a workload loses at each intensity of a neighbour, and where it falls to 95 % of itself.

A cost ``c`` leaves ``1 / c`` of the workload: that is the response, and 1 where it is alone. The
intensity at which 95 % are left is that of ``stats.dose``. A workload that never answered next to a
neighbour kept nothing of itself there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tare.core.model import Cell, ContrastKind, Neighbour, Status, neighbour_of
from tare.results.compare.comparison import Comparison
from tare.results.compare.estimates import Estimates
from tare.results.stats.dose import Fall, Response, fall

KEPT = 0.95
"""The share of itself to which a workload falls at the intensity that is asked for."""
LEAST = 3
"""The fewest intensities of a curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DosePoint:
    """A workload next to a neighbour at a dose; ``kept`` is None where it has no number."""

    dose: float
    row: Comparison
    kept: Response | None

    @property
    def is_down(self) -> bool:
        """Whether the workload never answered."""
        return self.kept is not None and self.kept.kept == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DoseCurve:
    """A workload alone on a platform, and next to a neighbour at rising doses.

    ``neighbour`` is the one at full; ``fall`` is where ``KEPT`` of the workload are left, None
    where too few points have a number.
    """

    alone: Cell
    neighbour: Neighbour
    points: tuple[DosePoint, ...]
    fall: Fall | None

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest dose that has a number; of all where none has."""
        doses = [one.dose for one in self.points if one.kept] or [one.dose for one in self.points]
        return doses[0], doses[-1]


def dose_of(neighbour: Neighbour) -> tuple[float, Neighbour]:
    """Return what of a neighbour is the dose, and the neighbour without it: at full."""
    return neighbour.intensity, replace(neighbour, intensity=1.0)


def dose_curves(estimates: Estimates, comparisons: Sequence[Comparison]) -> tuple[DoseCurve, ...]:
    """List the curves of a study, of its primary metrics, in the order of the plan."""
    found: dict[tuple[str, Neighbour], dict[float, Comparison]] = {}
    for row in comparisons:
        neighbour = neighbour_of(row.cell.params)
        is_asked = row.primary and row.kind is ContrastKind.ISOLATION
        if is_asked and neighbour is not None and row.baseline is not None:
            dose, whole = dose_of(neighbour)
            found.setdefault((row.baseline.id, whole), {})[dose] = row
    return tuple(
        _curve(estimates, estimates.plan.cells_by_id[alone], neighbour, rows)
        for (alone, neighbour), rows in found.items()
        if len(rows) >= LEAST
    )


def _curve(
    estimates: Estimates, alone: Cell, neighbour: Neighbour, rows: dict[float, Comparison]
) -> DoseCurve:
    points = tuple(_points(estimates, rows))
    kept = [one.kept for one in points if one.kept is not None]
    crossing = fall(kept, KEPT) if len(kept) >= LEAST else None
    return DoseCurve(alone=alone, neighbour=neighbour, points=points, fall=crossing)


def _points(estimates: Estimates, rows: dict[float, Comparison]) -> Iterator[DosePoint]:
    for dose, row in sorted(rows.items()):
        yield DosePoint(dose=dose, row=row, kept=_kept(estimates, dose, row))


def _kept(estimates: Estimates, dose: float, row: Comparison) -> Response | None:
    if row.cost is not None and 0 < row.cost < math.inf:
        low, high = (None if end is None else 1 / end if end else math.inf
                     for end in (row.high, row.low))  # fmt: skip
        return Response(dose=dose, kept=1 / row.cost, low=low, high=high)
    ended = {one.status for one in estimates.histories[row.cell.id].trials.values()}
    return Response(dose=dose, kept=0.0, low=0.0, high=0.0) if ended == {Status.DNR} else None
