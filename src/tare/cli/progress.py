"""What a person sees while a study runs: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tare.core.model import Cell, ContrastKind, Kind, Plan, Status, Trial
from tare.core.model.group import group
from tare.present.view.names import named_apart, platform_text
from tare.present.view.speed import standing_text
from tare.results.questions.allocation import Standing

QUIET_S = 10.0
"""Without a terminal a line about the current block appears no more often than this."""


@contextmanager
def watching(folder: Path) -> Iterator[Tally]:
    """Show progress on standard error for as long as the block runs."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines(folder)
        return
    view = View(folder)
    with Live(view, console=console, refresh_per_second=4, transient=True):
        yield view


class Tally:
    """What any way of showing progress keeps count of."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.phase = "beginning"
        self.number = self.decided = self.compared = 0
        self.lines: dict[str, str] = {}
        """What is known of each comparison, by its cell's id."""
        self.names: dict[str, str] = {}
        self.margin = 0.0
        self.decides = True
        self.blocks = self.planned = self.trials = self.before = self.measured = self.timed = 0
        self.bad: list[str] = []
        self.began_s = time.monotonic()
        self.budget_s: float | None = None
        self.measuring_s: float | None = None
        self.is_removing = False

    def begins(self, plan: Plan, trials_done: int) -> None:
        """See Progress.begins."""
        self.blocks = plan.repetition.max_blocks
        # As they are counted when they end: a slot of several cells has a trial of each.
        self.planned = sum(len(slot.cells) for slot in plan.slots)
        # A self-test estimates what is known; nothing in it is to be decided.
        kinds = {contrast.kind for contrast in plan.contrasts}
        self.decides = ContrastKind.INJECTED not in kinds
        self.trials, self.budget_s = trials_done, plan.repetition.budget_s
        self.before = trials_done
        self.margin = plan.repetition.margin
        groups = list(dict.fromkeys(map(group, plan.cells)))
        names = dict(zip(groups, named_apart(groups), strict=True))
        self.names = {cell.id: names[group(cell)] for cell in plan.cells}

    def says(self, text: str) -> None:
        """See Progress.says."""
        self.phase = text

    def removes(self) -> None:
        """See Progress.removes."""
        self.is_removing = True
        self.says("removing what was started")

    def block(self, number: int, decided: int, of: int) -> None:
        """See Progress.block."""
        self.number, self.decided, self.compared = number, decided, of
        if self.measuring_s is None:
            self.measuring_s = time.monotonic()

    def known(self, cell: Cell, standing: Standing) -> None:
        """See Progress.known."""
        if self.decides and standing.half_width is not None:
            standing_words = standing_text(standing, self.margin)
            name = platform_text(cell)
            self.lines[cell.id] = f"{name}  {self.names[cell.id]}  {standing_words}"

    def trial(self, cells: Sequence[Cell], following: Sequence[Cell]) -> None:
        """See Progress.trial."""
        del following
        names = [platform_text(cell) for cell in cells]
        self.phase = f"{' and '.join(names)}: {cells[0].workload}"

    def ended(self, cell: Cell, trial: Trial) -> None:
        """See Progress.ended."""
        self.trials += 1
        self.measured += trial.kind is Kind.MEASURED
        self.timed += trial.kind is Kind.MEASURED and trial.status is not Status.UNAVAILABLE
        if trial.status not in (Status.OK, Status.SUSPECT):
            what = f"{platform_text(cell)}, {cell.workload}"
            self.bad.append(f"{trial.status}: {what}: {trial.reason}")

    def left(self) -> str:
        """Return how long it can still take at the most, as far as that is known."""
        if self.measuring_s is None:
            return ""
        spent = time.monotonic() - self.measuring_s
        bounds = []
        if self.timed:  # what is unavailable took no time, and says nothing of the others
            bounds.append(spent / self.timed * max(0, self.planned - self.measured - self.before))
        if self.budget_s is not None:
            bounds.append(max(0.0, self.budget_s - spent))
        return f"at most {min(bounds):.0f} s left" if bounds else ""

    def where(self) -> str:
        """Return where the study is, in one line."""
        some = self.decides and self.compared
        decided = f"{self.decided} of {self.compared} comparisons decided" if some else ""
        parts = [f"block {self.number + 1} of at most {self.blocks}", f"{self.trials} trials"]
        return ", ".join(part for part in (*parts, decided, self.left()) if part)


class Lines(Tally):
    """Plain lines, for logs and pipes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._said_s = float("-inf")
        self._print(f"results go to {folder}")

    def says(self, text: str) -> None:
        """See Progress.says."""
        super().says(text)
        self._print(text)

    def block(self, number: int, decided: int, of: int) -> None:
        """See Progress.block."""
        super().block(number, decided, of)
        if time.monotonic() - self._said_s >= QUIET_S:
            self._said_s = time.monotonic()
            self._print(self.where())

    def known(self, cell: Cell, standing: Standing) -> None:
        """See Progress.known."""
        super().known(cell, standing)
        if cell.id in self.lines:
            self._print(self.lines[cell.id])

    def ended(self, cell: Cell, trial: Trial) -> None:
        """See Progress.ended."""
        known = len(self.bad)
        super().ended(cell, trial)
        for line in self.bad[known:]:
            self._print(line)

    def _print(self, text: str) -> None:
        with suppress(OSError):  # a reader who has gone must not end the study
            print(f"[{time.monotonic() - self.began_s:6.1f} s] {text}", file=sys.stderr, flush=True)


class View(Tally):
    """A few lines that are drawn over again."""

    def __rich__(self) -> Table:
        """Draw what is known now."""
        table = Table.grid(padding=(0, 2))
        table.add_row(Text("results", style="dim"), Text(str(self.folder)))
        table.add_row(Text("now", style="dim"), Text(self.phase, style="bold"))
        if self.measuring_s is not None:
            table.add_row(Text("progress", style="dim"), Text(self.where()))
        for line in self.lines.values():
            table.add_row(Text("known", style="dim"), Text(line))
        for line in self.bad[-3:]:
            table.add_row(Text("not ok", style="red"), Text(line[:200]))
        return table
