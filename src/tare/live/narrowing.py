"""How the primary comparisons came to what they are: the interval after each look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from tare.compare import Comparison
from tare.compare.allocation import resting
from tare.compare.control import beside_controls, with_holm
from tare.compare.pairing import group, histories
from tare.compare.rows import primaries
from tare.model import Kind, Plan, Slot, Trial
from tare.stats.schedule import FIRST_LOOK, all_looks


@dataclass(frozen=True, slots=True)
class Look:
    """Cost and interval after so many pairs; ratios, an end may be 0 or infinite."""

    pairs: int
    cost: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class Course:
    """What is known by now, and what was known at each look.

    ``rows`` are those of ``tare.compare.compare`` that are primary, without what only the report
    looks for: causes, drift, warm-up. ``looks`` are by the cell's id. ``next`` is the slot that the
    plan has after the last trial, None at its end and where the runner chooses among workloads.
    """

    rows: tuple[Comparison, ...]
    looks: Mapping[str, Sequence[Look]] = field(default_factory=dict)
    next: Slot | None = None


class Narrowing:
    """Compares a study that grows; what a look has shown stays, so it is computed once."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._schedule = all_looks(plan.repetition.max_blocks)
        self._has_many = len(set(map(group, plan.cells))) > 1
        self._places = {
            (slot.block, slot.slot + number): i
            for i, slot in enumerate(plan.slots)
            for number in range(len(slot.cells))
        }
        self._at_look: dict[int, tuple[Comparison, ...]] = {}
        self._closed: dict[int, set[str]] = {}

    def course(self, trials: Sequence[Trial]) -> Course:
        """Compare all trials; of looks, those that are new."""
        self.look(trials)
        rows = decided_rows(self._plan, trials)
        return Course(rows=rows, looks=self._looks(rows), next=self.next(trials))

    def look(self, trials: Sequence[Trial]) -> None:
        """Take the looks that are due."""
        whole = max((one.block for one in trials if one.kind is Kind.MEASURED), default=0)
        for blocks in self._due(whole):
            before = [one for one in trials if one.block < blocks]
            self._at_look[blocks] = decided_rows(self._plan, before)
            self._closed[blocks] = resting(self._plan, before)

    def is_due(self, whole: int) -> bool:
        """Whether after so many whole blocks there is a look that was not taken."""
        return bool(self._due(whole))

    def _due(self, whole: int) -> Sequence[int]:
        return [n for n in self._schedule if n <= whole and n not in self._at_look]

    def next(self, trials: Sequence[Trial]) -> Slot | None:
        """Find what is run now, if a session runs: nobody writes down what has not ended."""
        if not trials:
            return self._plan.slots[0] if self._plan.slots else None
        last = trials[-1]
        place = self._places.get((last.block, last.slot), 0)
        if last.kind is Kind.WARMUP:
            return self._plan.slots[place] if place < len(self._plan.slots) else None
        if self._has_many and last.block >= max(FIRST_LOOK, self._plan.repetition.min_blocks):
            return None  # which workload has a block now is the runner's choice
        left_out = {block: self._left_out(trials, block) for block in (last.block, last.block + 1)}
        following = (
            slot
            for slot in self._plan.slots[place + 1 :]
            if slot.block not in left_out or left_out[slot.block].isdisjoint(slot.cells)
        )
        found = next(following, None)
        return found if found and found.block in left_out else None

    def _looks(self, rows: Sequence[Comparison]) -> Mapping[str, Sequence[Look]]:
        """List each cell's looks: one for each number of pairs, the last that is known."""
        found: dict[str, dict[int, Look]] = {}
        for some in [*(self._at_look[n] for n in sorted(self._at_look)), rows]:
            for row in some:
                if row.look is not None:
                    one = Look(row.look, row.cost, row.low, row.high)
                    found.setdefault(row.cell.id, {})[row.look] = one
        return {cell: list(some.values()) for cell, some in found.items()}

    def _left_out(self, trials: Sequence[Trial], block: int) -> set[str]:
        """List the cells that are not run in a block: decided by the look before, or given up."""
        look = max((n for n in self._schedule if n <= block), default=0)
        recent = takewhile(lambda one: one.block >= block - 1, reversed(trials))
        before = {one.cell for one in recent if one.block == block - 1}
        # The first block has none before it, and one that follows was only begun.
        is_whole = trials[-1].block == block and bool(before)
        gone = {cell.id for cell in self._plan.cells} - before if is_whole else set()
        return self._closed.get(look, set()) | gone


def decided_rows(plan: Plan, trials: Sequence[Trial]) -> tuple[Comparison, ...]:
    """Compare each cell with its reference by what the plan decides by, and by nothing else."""
    return tuple(with_holm(beside_controls(primaries(plan, histories(plan, trials)))))
