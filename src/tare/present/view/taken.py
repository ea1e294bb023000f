"""What trials took of their host: what of ``Trial.resources`` is shown of each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, pairwise

import numpy as np

from tare.core.model import Trial, Unit, resource_of
from tare.present.view import numbers
from tare.present.view.counter_words import UNITS, Quantity, counter_text, quantity_of
from tare.results.compare.by_name import by_name
from tare.results.stats.signed_rank import Array

_COUNTED = (
    *("disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes"),
    *("page_faults", "major_faults", "context_switches"),
)
SHOWN = {
    name: counter_text(resource_of(name))
    for name in (
        *("layer_cpu_user_s", "layer_cpu_system_s", "layer_memory_peak_bytes"),
        *(f"layer_{kind}" for kind in _COUNTED),
        *(f"host_{kind}" for kind in _COUNTED),
        *("host_network_bytes", "host_energy_j"),
    )
}
"""Names that are shown, and what they are called; all others are in trials.jsonl."""

_DIGITS = 3
_POWERS = np.array([float(f"1e{place}") for place in range(300)])


class Taken:
    """The columns of a study's trials, each in one unit for all of them.

    ``untold`` is what no trial tells.
    """

    def __init__(self, trials: Sequence[Trial]) -> None:
        places: dict[str, list[int]] = {}
        for place, trial in enumerate(trials):
            places.setdefault(trial.cell, []).append(place)
        cell_by_cell = [*chain.from_iterable(places.values())]
        ends = accumulate(map(len, places.values()), initial=0)
        self._of_cell = dict(zip(places, pairwise(ends), strict=True))
        texts = by_name([one.resources for one in trials])
        self._columns = [
            (text, *_scaled(name, texts[name][cell_by_cell]))
            for name, text in SHOWN.items()
            if name in texts
        ]
        self.untold = [text for name, text in SHOWN.items() if name not in texts]

    def of(self, cell: str) -> Iterator[tuple[str, str, list[float | None]]]:
        """Return what the trials of a cell took, in their order: what, unit, numbers; None: unread.

        The cell has at least one trial.
        """
        begin, end = self._of_cell[cell]
        for text, unit, column in self._columns:
            own = column[begin:end]
            values: list[float | None] = own.tolist()
            for unknown in np.flatnonzero(~np.isfinite(own)):
                values[unknown] = None
            yield text, unit, values


def _scaled(name: str, column: Array) -> tuple[str, Array]:
    """Choose the unit of a column; round its numbers to few digits, whole ones to whole ones."""
    known = column[np.isfinite(column)]
    quantity = quantity_of(resource_of(name))
    scale = numbers.scale_for(
        UNITS.get(quantity, Unit.RATIO), [float(np.median(known))] if len(known) else []
    )
    return "J" if quantity is Quantity.ENERGY else scale.unit, _rounded(column / scale.factor)


def _rounded(column: Array) -> Array:
    if not column.any():
        return column
    with np.errstate(divide="ignore", invalid="ignore"):
        places = _DIGITS - 1 - np.floor(np.log10(np.abs(column)))
    factor: Array = _POWERS[np.clip(np.nan_to_num(places), 0, len(_POWERS) - 1).astype(np.intp)]
    rounded: Array = np.rint(column * factor) / factor
    return rounded
