"""Where Tare keeps things on a machine: its cache, its ledgers, and what a session makes."""

from __future__ import annotations

import os
from pathlib import Path

ON_OTHER_MACHINES = "/var/lib/tare"
"""The same folder on every machine but the controlling host, where TARE_HOME may change it."""


def home() -> Path:
    """Give the folder on the controlling host; TARE_HOME in the environment names another one."""
    return Path(os.environ.get("TARE_HOME", ON_OTHER_MACHINES))
