"""A cell on its own, before it is compared with anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tare.core.model import Cell, Metric, Status
from tare.results.compare.pairing import History
from tare.results.stats.description import Description, describe


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One metric of one cell on its own.

    ``values`` describes the trials that gave a number, in the metric's unit. ``counts`` has one
    trial a block (in a duet the baseline's has one with each of the others); ``repeated`` is how
    many others were measured in the same blocks and set aside.
    """

    cell: Cell
    metric: Metric
    values: Description | None
    counts: Mapping[Status, int]
    repeated: int


def summarize(cell: Cell, metrics: Sequence[Metric], history: History) -> Iterator[Summary]:
    """Describe the trials of a cell that count, by each of its metrics."""
    counts = Counter([trial.status for trial in history.counted])
    for metric in metrics:
        yield Summary(
            cell=cell,
            metric=metric,
            values=describe(history.numbers(metric.name)),
            counts=counts,
            repeated=history.repeated,
        )
