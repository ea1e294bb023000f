"""How the primary comparisons came to what they are: the interval after each look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tare.core.model import Kind, Plan, Trial
from tare.results.compare.comparison import Comparison
from tare.results.stats.schedule import all_looks
from tare.results.study import decisive


@dataclass(frozen=True, slots=True)
class Look:
    """Cost and interval after a number of pairs; ratios, an end may be 0 or infinite."""

    pairs: int
    cost: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class LookHistory:
    """What is known by now, and what was known at each look.

    ``rows`` are those of ``tare.results.compare.compare`` that are primary, without what only the
    report looks for: causes, drift, warm-up. ``looks`` are by the cell's id.
    """

    rows: tuple[Comparison, ...]
    looks: Mapping[str, Sequence[Look]] = field(default_factory=dict)


class LookTaker:
    """Compares a study that grows; what a look has shown stays, so it is computed once."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._schedule = all_looks(plan.repetition.max_blocks)
        self._at_look: dict[int, tuple[Comparison, ...]] = {}

    def course(self, trials: Sequence[Trial]) -> LookHistory:
        """Compare all trials; of looks, those that are new."""
        self.look(trials)
        rows = decided_rows(self._plan, trials)
        return LookHistory(rows=rows, looks=self._looks(rows))

    def look(self, trials: Sequence[Trial]) -> None:
        """Take the looks that are due."""
        whole = max((one.block for one in trials if one.kind is Kind.MEASURED), default=0)
        for blocks in self._due(whole):
            before = [one for one in trials if one.block < blocks]
            self._at_look[blocks] = decided_rows(self._plan, before)

    def is_due(self, whole: int) -> bool:
        """Whether a look is due after a number of whole blocks."""
        return bool(self._due(whole))

    def _due(self, whole: int) -> Sequence[int]:
        return [n for n in self._schedule if n <= whole and n not in self._at_look]

    def _looks(self, rows: Sequence[Comparison]) -> Mapping[str, Sequence[Look]]:
        """List each cell's looks: one for each number of pairs, the last that is known."""
        found: dict[str, dict[int, Look]] = {}
        for some in [*(self._at_look[n] for n in sorted(self._at_look)), rows]:
            for row in some:
                if row.look is not None:
                    one = Look(row.look, row.cost, row.low, row.high)
                    found.setdefault(row.cell.id, {})[row.look] = one
        return {cell: list(some.values()) for cell, some in found.items()}


def decided_rows(plan: Plan, trials: Sequence[Trial]) -> tuple[Comparison, ...]:
    """Compare each cell with its reference by what the plan decides by, and by nothing else."""
    return tuple(decisive(plan, trials))
