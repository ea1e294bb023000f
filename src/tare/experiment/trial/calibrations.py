"""Keep the calibrations of a session: for its results, and for the next session on this host."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import replace
from pathlib import Path

from tare.core.errors import ResultsError
from tare.core.home import home
from tare.core.model import Calibration, Cell
from tare.core.model.reservation import is_reservation_key
from tare.results.store.calibrations import NAME, read_calibrations, write_calibrations


class Calibrations:
    """What is known of the neighbours' intensities, by cell.

    Those of this results directory count; then those that an earlier session found on the same
    host for the same cell of another study, which have to be checked.
    """

    def __init__(self, folder: Path) -> None:
        self._own, self._shared = folder / NAME, home() / NAME
        self._host = [*os.uname(), os.cpu_count()]
        self._found = read_calibrations(self._own)
        self._known: dict[str, Calibration] = {}
        with contextlib.suppress(ResultsError):  # a damaged one is measured again, and replaced
            self._known = read_calibrations(self._shared)

    def of(self, cell: Cell) -> Calibration | None:
        """Return what was found for a cell by this study, or by another on this host."""
        if (own := self._found.get(cell.id)) is not None:
            return own
        known = self._known.get(self._key(cell))
        return replace(known, is_known=True) if known is not None else None

    def keep(self, cell: Cell, calibration: Calibration) -> None:
        """Store what was found for a cell, or raise ResultsError."""
        self._found[cell.id] = calibration
        write_calibrations(self._own, self._found)
        self._known[self._key(cell)] = calibration
        write_calibrations(self._shared, self._known)

    def is_own(self, cell: Cell) -> bool:
        """Return whether it was found or checked by this study."""
        return cell.id in self._found

    def _key(self, cell: Cell) -> str:
        """Return what cells of several studies share whose neighbours are dialled alike.

        What a reservation leaves them is what is asked then: they are dialled without it.
        """
        params = [one for one in cell.params if not is_reservation_key(one[0])]
        about = [cell.stack, cell.settings, str(cell.limits), cell.workload, params]
        return json.dumps([*self._host, *about])
