"""The interface for reporting progress of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tare.core.model import Cell, Plan, Trial
from tare.results.questions.allocation import Standing


class Progress(Protocol):
    """Receives every event as it happens; must not fail and must be quick."""

    def begins(self, plan: Plan, trials_done: int) -> None:
        """The session begins with a plan, of which ``stored`` trials are there already."""

    def says(self, text: str) -> None:
        """A message about work between blocks: building, starting, stopping."""

    def removes(self) -> None:
        """Measuring has ended; instances are removed, which no interrupt may stop."""

    def block(self, number: int, decided: int, of: int) -> None:
        """A block begins (counted from 0); ``decided`` of ``of`` comparisons are decided.

        What cannot be measured on this host is in neither number.
        """

    def known(self, cell: Cell, standing: Standing) -> None:
        """More is known of a comparison than before: it is decided, or has its first interval."""

    def trial(self, cells: Sequence[Cell], following: Sequence[Cell]) -> None:
        """A slot begins: its cells, and those of the next slot in the block, if it has one."""

    def ended(self, cell: Cell, trial: Trial) -> None:
        """A trial ended and is stored."""


class Silent:
    """Watches nothing."""

    def begins(self, plan: Plan, trials_done: int) -> None:
        """See Progress.begins."""

    def says(self, text: str) -> None:
        """See Progress.says."""

    def removes(self) -> None:
        """See Progress.removes."""

    def block(self, number: int, decided: int, of: int) -> None:
        """See Progress.block."""

    def known(self, cell: Cell, standing: Standing) -> None:
        """See Progress.known."""

    def trial(self, cells: Sequence[Cell], following: Sequence[Cell]) -> None:
        """See Progress.trial."""

    def ended(self, cell: Cell, trial: Trial) -> None:
        """See Progress.ended."""


def differs(before: Standing | None, now: Standing) -> bool:
    """Return whether a look has shown what the one before had not."""

    def shown(one: Standing | None) -> tuple[object, ...]:
        if one is None or one.half_width is None:
            return (False,)
        return one.decided, one.verdict, True

    return shown(before) != shown(now)
