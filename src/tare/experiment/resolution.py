"""Store and load a host's last self-test: the smallest overhead that it can detect."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tare.core import durable
from tare.core.errors import ResultsError
from tare.core.home import home

FILE = "selftest.json"
SAME_HOST = ("kernel", "cpu_model", "cpus")
"""The facts that identify the host of a self-test."""


def remember(host: Mapping[str, object], date: str, said: list[str], table: object) -> None:
    """Store a self-test over the last one, or raise ResultsError.

    ``said`` are the sentences that reports print, ``table`` the numbers as plain data.
    """
    about = {name: host.get(name) for name in SAME_HOST}
    path = home() / FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        result = {"host": about, "date": date, "said": said, "table": table}
        durable.replace(path, json.dumps(result, indent=1))
    except OSError as error:
        raise ResultsError(f"cannot write {path}: {error.strerror}") from error


def last(host: Mapping[str, object]) -> Mapping[str, object]:
    """Return the last self-test of a host, by its facts; empty where there is none to be read here.

    Another host's result is none, and neither is one that has been damaged.
    """
    try:
        result = json.loads((home() / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    about = result.get("host") if isinstance(result, dict) else None
    if not isinstance(about, dict) or any(about.get(key) != host.get(key) for key in SAME_HOST):
        return {}
    known: Mapping[str, object] = result
    return known
