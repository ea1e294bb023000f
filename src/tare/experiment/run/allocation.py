"""Choose which workloads and cells the next block measures (METHOD.md 2.4b).

First all workloads have their blocks together, so that each comparison has enough pairs for its
first look by ranks. Then one workload at a time has a block: the one whose next decision takes
least. Where nothing is open any more, a budget that is left narrows the widest interval.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tare.core.model import Cell, Design, Plan, Trial
from tare.core.model.group import Group, group
from tare.results.questions.allocation import Standing
from tare.results.stats.schedule import EARLY_LOOKS, FIRST_LOOK, all_looks

SUPPORT = 2
"""Trials of a block in addition to those of the subjects: baseline and control."""


@dataclass(frozen=True, slots=True)
class Round:
    """The next block: the cells to run, from the workloads (and limits) in ``groups``."""

    block: int
    groups: tuple[Group, ...]
    cells: frozenset[str]


class Allocation:
    """Chooses round after round of a plan; each workload counts its blocks by itself.

    Within a workload blocks follow each other, so that pairs stay within blocks. ``trials`` are
    those of earlier sessions, whose last block is completed first.
    """

    def __init__(self, plan: Plan, trials: Sequence[Trial]) -> None:
        self.plan = plan
        self.groups: dict[Group, list[Cell]] = {}
        for cell in plan.cells:
            self.groups.setdefault(group(cell), []).append(cell)
        self._group_of = {cell.id: group(cell) for cell in plan.cells}
        self.next_block = dict.fromkeys(self.groups, 0)
        for trial in trials:
            which = self._group_of[trial.cell]
            self.next_block[which] = max(self.next_block[which], trial.block)
        self.end = 1 + max((slot.block for slot in plan.slots), default=-1)
        self.together = max(FIRST_LOOK, plan.repetition.min_blocks)
        self._schedule = all_looks(plan.repetition.max_blocks)
        self._since: Counter[str] = Counter()
        self._ran: Counter[str] = Counter()
        """In how many rounds a cell was, since it was looked at last and in this session."""

    def choose(
        self, known: Mapping[str, Standing], given_up: Collection[str], *, narrow: bool
    ) -> Round | None:
        """Return the next round, or None if nothing that can be measured is open.

        With ``narrow`` the widest interval counts as open while it is wider than the margin. Cells
        that are ``given_up`` are in no round.
        """
        opened: dict[Group, list[str]] = {}
        for which in self.groups:
            able = self._able(which, known, given_up)
            some = [cell for cell in able if not self._rests(cell, known[cell])]
            if some:
                opened[which] = some
        if opened:
            first = [which for which in opened if self.next_block[which] < self.together]
            if first:
                block = min(self.next_block[which] for which in first)
                chosen = [which for which in first if self.next_block[which] == block]
            else:
                chosen = [min(opened, key=lambda which: self._remaining(opened[which], known))]
            return self._round({which: opened[which] for which in chosen}, known, given_up)
        widest = self._widest(known, given_up) if narrow else None
        if widest is None:
            return None
        return self._round({self._group_of[widest]: [widest]}, known, given_up)

    def ran(self, done: Round, *, trials: bool = True) -> None:
        """Note that a round was run; without ``trials`` all of them were there already."""
        for which in done.groups:
            self.next_block[which] = done.block + 1
        if trials:
            self._since.update(done.cells)
            self._ran.update(done.cells)

    def is_look_due(self, known: Mapping[str, Standing]) -> bool:
        """Return whether any comparison has reached a look since the last one."""
        return any(
            one.pairs + self._since[cell] in self._schedule
            for cell, one in known.items()
            if self._since[cell]
        )

    def looked(self) -> None:
        """Note that all trials so far were looked at."""
        self._since.clear()

    def has_reached_the_end(self, known: Mapping[str, Standing], given_up: Collection[str]) -> bool:
        """Return whether all planned blocks were run: of everything, or of what is undecided."""
        able = [cell for cell in known if cell not in given_up]
        wanted = [cell for cell in able if not known[cell].decided] or able
        had_all = (self.next_block[self._group_of[cell]] >= self.end for cell in wanted)
        return bool(wanted) and all(had_all)

    def _able(
        self, which: Group, known: Mapping[str, Standing], given_up: Collection[str]
    ) -> Iterator[str]:
        """List the compared cells of a group that there is a block for."""
        if self.next_block[which] >= self.end:
            return
        is_duet = self.plan.repetition.design is Design.DUET
        for cell in self.groups[which]:
            if cell.id not in known or cell.id in given_up:
                continue
            if is_duet and self.plan.decided_by[cell.id].reference in given_up:
                continue  # without its other half a cell has no pair
            yield cell.id

    def _round(
        self,
        chosen: Mapping[Group, Sequence[str]],
        known: Mapping[str, Standing],
        given_up: Collection[str],
    ) -> Round:
        """Make a round of chosen cells, with the baseline and the control of each workload."""
        cells = {cell for some in chosen.values() for cell in some}
        for which in chosen:
            cells |= {cell.id for cell in self.groups[which] if cell.id not in known}
        groups = tuple(chosen)
        return Round(self.next_block[groups[0]], groups, frozenset(cells - set(given_up)))

    def _rests(self, cell: str, one: Standing) -> bool:
        """Return whether no more trials are wanted.

        What an earlier session had no pair of is tried.
        """
        least = max(self.plan.repetition.min_blocks, EARLY_LOOKS[0])
        return one.rests and (one.pairs > 0 or self._ran[cell] >= least)

    def _remaining(self, cells: Sequence[str], known: Mapping[str, Standing]) -> float:
        """Predict how many trials the next decision of a workload takes.

        A decision falls at a look only; so a prediction that is always a little too small cannot
        keep the others waiting for long.
        """
        pairs = min(self._to_go(known[cell]) for cell in cells)
        return pairs * (SUPPORT + len(cells))

    def _to_go(self, one: Standing) -> float:
        look = next((look for look in self._schedule if look > one.pairs), one.pairs + 1)
        return max(one.needed, look) - one.pairs

    def _widest(self, known: Mapping[str, Standing], given_up: Collection[str]) -> str | None:
        able = [cell for which in self.groups for cell in self._able(which, known, given_up)]
        widths = {cell: known[cell].half_width or 0.0 for cell in able}
        enough = math.log1p(self.plan.repetition.margin)
        wide = [cell for cell, width in widths.items() if enough < width < math.inf]
        return max(wide, key=widths.__getitem__, default=None)
