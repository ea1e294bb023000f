"""``calibrations.json``: how the neighbours of a study were dialled to their levels, by cell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tare.core import durable
from tare.core.errors import ResultsError
from tare.core.model import Calibration
from tare.results.store import formats

NAME = "calibrations.json"

_READER = TypeAdapter(dict[str, Calibration])


def write_calibrations(path: Path, found: Mapping[str, Calibration]) -> None:
    """Write calibrations by the keys of what was calibrated, or raise ResultsError."""
    plain = {key: asdict(one) for key, one in found.items()}
    try:
        durable.replace(
            path, json.dumps({"format": formats.CALIBRATIONS, "found": plain}, indent=1)
        )
    except OSError as error:
        raise ResultsError(f"cannot write {path}: {error.strerror}") from error


def read_calibrations(path: Path) -> dict[str, Calibration]:
    """Read what such a file holds; nothing where there is none.

    Raises ResultsError if it is damaged or of a newer format.
    """
    try:
        known = json.loads(path.read_bytes())
        formats.refuse_newer(known, formats.CALIBRATIONS, path)
        return _READER.validate_python(known["found"])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, ValidationError) as error:
        raise ResultsError(f"{path} cannot be read as calibrations: {error}") from error
