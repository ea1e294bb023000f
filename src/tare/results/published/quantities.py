"""Printed numbers that are no costs, and ours of the same: spreads, and uses of the CPU.

A cost compares two platforms. A spread over runs, or for what part of the time CPUs were in the
kernel, is a number of one platform alone; such numbers may be compared across hosts as they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from tare.core.model import NO_FACTS, Cell, Facts, Scalar, Trial
from tare.results.compare.columns import has_numbers
from tare.results.compare.pairing import History
from tare.results.compare.reason import Reason
from tare.results.published.counterparts import (
    Measure,
    has_limits,
    made_of,
    no_platform,
    platforms_for,
    wanted_text,
)
from tare.results.published.platforms import depth
from tare.results.published.rows import Row
from tare.results.published.setup_comparison import NO_DIFFERENCES, SetupComparison, compare_setups

Read = Callable[[Cell, Trial], float | None]
Reduce = Callable[[Sequence[float]], float]

MIN_TRIALS = 2
"""Fewer trials have no spread; of a median one more makes it less of an accident."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How the number of a row is made of trials: ``read`` from each, ``reduce`` over all.

    ``printed`` is the row's value in ``unit``; ``words`` name what is compared. A cell's platform
    must have the ``settings``.
    """

    measure: Measure
    printed: float
    unit: str
    words: str
    read: Read
    reduce: Reduce
    settings: dict[str, Scalar] = field(default_factory=dict)
    scale: float = 1.0
    """The value of the row over ``printed``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A printed number and ours of one cell, both in ``unit``; ``setup`` is what was not alike.

    ``trials`` is how many trials ours is made of.
    """

    row: Row
    printed: float
    ours: float
    unit: str
    words: str
    cell: Cell
    trials: int
    scale: float = 1.0
    setup: SetupComparison = NO_DIFFERENCES

    @property
    def in_its_unit(self) -> float:
        """Ours in the unit of the row."""
        return self.ours * self.scale

    @property
    def differs(self) -> tuple[str, ...]:
        """What was chosen otherwise than in the study, in words."""
        return self.setup.words

    @property
    def difference(self) -> float:
        """Ours less the printed one."""
        return self.ours - self.printed


def quantities_of(
    row: Row,
    wanted: Wanted,
    cells: Sequence[Cell],
    histories: dict[str, History],
    facts: Facts = NO_FACTS,
) -> list[Quantity] | str | Reason:
    """Return ours of each cell that measures a row, or why there is none."""
    measure = wanted.measure
    fitting = [cell for cell in cells if measure.fits(cell)]
    if not fitting:
        return f"{wanted_text([measure], cells)} is not in these results"
    asked = wanted.settings.items()
    fitting = [cell for cell in fitting if asked <= dict(cell.settings).items()]
    if not fitting:
        named = ", ".join(f"{name} {value}" for name, value in wanted.settings.items())
        return f"no platform in these results has {named}"
    platforms = platforms_for(row.platform, fitting)
    own = [cell for cell in fitting if cell.platform in platforms]
    if not own:
        return no_platform(row.platform)
    own = [cell for cell in own if has_limits(row.platform, cell.limits)]
    if not own:
        return f"nothing in these results has the limits of {row.platform}"
    found = list(_quantities(row, wanted, own, histories, facts))
    return found or f"fewer than {MIN_TRIALS} trials have what it is made of"


def _quantities(
    row: Row,
    wanted: Wanted,
    cells: Sequence[Cell],
    histories: dict[str, History],
    facts: Facts,
) -> Iterator[Quantity]:
    for cell in cells:
        trials = [trial for trial in histories[cell.id].counted if has_numbers(trial)]
        read = [wanted.read(cell, trial) for trial in trials]
        values = [value for value in read if value is not None]
        if len(values) >= MIN_TRIALS:
            yield Quantity(
                row=row,
                printed=wanted.printed,
                ours=wanted.reduce(values),
                unit=wanted.unit,
                words=wanted.words,
                cell=cell,
                trials=len(values),
                scale=wanted.scale,
                setup=compare_setups(row, wanted.measure, cell, facts),
            )


def range_over_runs(row: Row, measure: Measure, settings: dict[str, Scalar]) -> Wanted:
    """Return how a range over runs is made: the largest less the smallest, in % of the largest."""
    return Wanted(
        measure=measure,
        printed=row.value or 0.0,
        unit="%",
        words="largest less smallest run, of the largest",
        read=lambda _, trial: trial.samples.get(measure.metric),
        reduce=lambda values: 100 * (1 - min(values) / max(values)) if max(values) else 0.0,
        settings=settings,
    )


def cpus_busy(row: Row, measure: Measure, *, mode: str, seconds: float) -> Wanted:
    """Return how CPU seconds of a ``mode`` (user or system) are made, for each second of the run.

    By the account of the kernel that the work runs on: in a guest that of the guest.
    """

    def read(cell: Cell, trial: Trial) -> float | None:
        source = "layer" if _shares_the_kernel(cell) else "machine"
        used_s = trial.resources.get(f"{source}_cpu_{mode}_s")
        return None if used_s is None or not trial.duration_s else used_s / trial.duration_s

    return Wanted(
        measure=measure,
        printed=(row.value or 0.0) / seconds,
        unit="CPUs",
        words=f"CPUs busy in {'user mode' if mode == 'user' else 'the kernel'}",
        read=read,
        reduce=median,
        scale=seconds,
    )


def _shares_the_kernel(cell: Cell) -> bool:
    """Whether a cell's work runs on the kernel of the host."""
    layers = depth(made_of(cell.path))
    return layers is not None and layers <= 1
