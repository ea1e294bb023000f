"""The directory for Tare's cache, ledgers and temporary files (``TARE_HOME``)."""

from __future__ import annotations

import os
from pathlib import Path

ON_OTHER_MACHINES = "/var/lib/tare"
"""The same folder on every machine but the controlling host, where TARE_HOME may change it."""


def home() -> Path:
    """Return the directory on the controlling host: ``TARE_HOME``, or the default."""
    return Path(os.environ.get("TARE_HOME", ON_OTHER_MACHINES))
