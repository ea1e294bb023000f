"""Decide which instances are open when: all at once, or those of one block after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tare.core.model import EndedSession, Plan, Slot, Status
from tare.experiment.run.instance_set import InstanceSet
from tare.experiment.run.pool import Pool


class InstanceSchedule:
    """Opens instances for the cells of a block and closes them after it, where memory is short.

    Only where not all instances fit the host's memory at once. Cells under different limits are
    never compared, so those under one set of limits run after those under another, in
    the order in which a block first has them. An instance serves one block.
    """

    def __init__(self, plan: Plan, pool: Pool) -> None:
        self.plan, self.pool = plan, pool
        self.opened = 0
        self._is_first = True

    @property
    def are_needed(self) -> bool:
        """Whether instances are opened by blocks."""
        return self.pool.headroom is not None and self.pool.headroom.is_by_blocks

    def noted(self, session: EndedSession) -> EndedSession:
        """Return a session's record, with the number of instances opened anew if that happened."""
        if not self.are_needed:
            return session
        return replace(session, blocks_per_instance=1, replaced_instances=self.opened)

    def ordered(self, slots: Sequence[Slot]) -> list[Slot]:
        """Return a block's slots in the order in which ``over`` goes over them."""
        if not self.are_needed:
            return list(slots)
        return [slot for own in self._by_limits(slots) for slot in own]

    def over(self, slots: Sequence[Slot], turn: int) -> Iterator[Slot]:
        """Yield a block's slots, each with the instances that it needs open."""
        if not self.are_needed:
            yield from slots
            return
        for own in self._by_limits(slots):
            self._open(self._instance_sets(own), turn)
            yield from own

    def _by_limits(self, slots: Sequence[Slot]) -> list[list[Slot]]:
        cells = self.plan.cells_by_id
        return [
            [slot for slot in slots if cells[slot.cell].limits == limits]
            for limits in dict.fromkeys(cells[slot.cell].limits for slot in slots)
        ]

    def _instance_sets(self, slots: Sequence[Slot]) -> list[InstanceSet]:
        cells = {cell for slot in slots for cell in slot.cells}
        instance_sets = {
            id(instances): instances
            for cell in self.plan.cells
            if cell.id in cells
            for instances in self.pool.of(cell)
        }
        return [instances for instances in instance_sets.values() if instances.status is Status.OK]

    def _open(self, instance_sets: Sequence[InstanceSet], turn: int) -> None:
        """Open what is needed.

        The first block uses the instances that were opened to read facts.
        """
        is_open = turn == 0 and all(instances.members for instances in instance_sets)
        if not (self._is_first and is_open):
            self.pool.progress.says(f"opening {len(instance_sets)} fresh instances for a block")
            self.pool.open_only(instance_sets, turn)
            self.opened += len(instance_sets)
        self._is_first = False
