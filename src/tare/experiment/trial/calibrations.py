"""Keep the calibrations of a session: for its results, and for the next session on this host."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import replace
from pathlib import Path

from tare.core.errors import ResultsError
from tare.core.home import home
from tare.core.model import Calibration, Cell
from tare.core.model.reservation import is_reservation_key
from tare.results.store.calibrations import NAME, read_calibrations, write_calibrations

log = logging.getLogger(__name__)


class Calibrations:
    """What is known of the neighbours' intensities, by cell.

    Those of this results directory count; then those that an earlier session found on the same
    host for the same cell of another study, which have to be checked. Cells that differ in their
    reservation alone share one: what is reserved is compared with what is not at one intensity.
    """

    def __init__(self, folder: Path) -> None:
        self._own = folder / NAME
        self._shared: Path | None = home() / NAME
        self._host = [*os.uname(), os.cpu_count()]
        self._found = read_calibrations(self._own)
        self._by_key: dict[str, Calibration] = {}
        self._cells: dict[str, set[str]] = {}
        self._known: dict[str, Calibration] = {}
        try:
            self._known = read_calibrations(home() / NAME)
        except ResultsError as error:
            log.warning("%s; it is left alone and not used; remove it to begin a new one", error)
            self._shared = None

    def of(self, cell: Cell) -> Calibration | None:
        """Return what was found for a cell by this study, or by another on this host."""
        key = self._key(cell)
        self._cells.setdefault(key, set()).add(cell.id)
        if cell.id in self._found:
            self._by_key.setdefault(key, self._found[cell.id])
        if (own := self._by_key.get(key)) is not None:
            return own
        known = self._known.get(key)
        return replace(known, is_known=True) if known is not None else None

    def keep(self, cell: Cell, calibration: Calibration) -> None:
        """Store what was found for a cell, or raise ResultsError."""
        key = self._key(cell)
        self._by_key[key] = self._known[key] = calibration
        for one in {cell.id, *self._cells.get(key, ())}:
            self._found[one] = calibration
        write_calibrations(self._own, self._found)
        if self._shared is not None:
            write_calibrations(self._shared, self._known)

    def _key(self, cell: Cell) -> str:
        """Return what cells of several studies share whose neighbours are dialled alike."""
        params = [one for one in cell.params if not is_reservation_key(one[0])]
        about = [cell.stack, cell.settings, str(cell.limits), cell.workload, params]
        return json.dumps([*self._host, *about])
