"""``progress.json``: what the session of a results directory is doing, with a heartbeat.

The file is written anew when something changes, and its time of modification is renewed every
``HEARTBEAT_S`` as long as the session lives. It is not synced to the disk: it says nothing that
outlives the session, and must not disturb what is measured.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tare.core.model import SessionProgress
from tare.results.store import formats

NAME = "progress.json"
HEARTBEAT_S = 2.0
SILENT_S = 5 * HEARTBEAT_S
"""A session without a heartbeat for so long is dead: no trial keeps its thread from beating."""

_READER = TypeAdapter(SessionProgress)


class ProgressFile:
    """The file in a results directory that one session writes.

    What cannot be written is left out: nothing depends on it, and where the disk is full the next
    trial says so.
    """

    def __init__(self, folder: Path) -> None:
        self._path, self._new = folder / NAME, folder / f"{NAME}.new"

    def write(self, progress: SessionProgress) -> None:
        """Replace what it says."""
        content = json.dumps({"format": formats.PROGRESS, **asdict(progress)})
        with contextlib.suppress(OSError):
            self._new.write_text(content)
            self._new.replace(self._path)

    def beat(self) -> None:
        """Renew its time of modification."""
        with contextlib.suppress(OSError):
            os.utime(self._path)


def progress_of(content: bytes, where: object) -> SessionProgress | None:
    """Read what such a file holds; None where it is not understood.

    Raises ResultsError if it is of a newer format.
    """
    try:
        known = json.loads(content)
        if isinstance(known, dict):
            formats.refuse_newer(known, formats.PROGRESS, where)
        return _READER.validate_python(known)
    except (ValueError, ValidationError):
        return None
