"""One number in the output of any program, found by a pattern or by a path; half a one is none."""

from __future__ import annotations

import json
import re
from typing import Any

from tare.errors import OutputNotUnderstood

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_BEGUN = re.compile(r"\d[.,]?\Z")
_GOES_ON = re.compile(r"[.,eE]?[+-]?(?:\d|\Z)")
"""What stands before or behind half a number; behind it, so does the end of the output."""


def matched(pattern: str, text: str) -> object:
    """Find the one number of a pattern; half a number, or the digits after a comma, is none."""
    found = list(re.finditer(pattern, text, re.MULTILINE))
    if len(found) != 1:
        raise OutputNotUnderstood(f"single match of {pattern!r} ({len(found)} were found)", text)
    (match,) = found
    begun = match.start(1) == match.start() and _BEGUN.search(text[: match.start(1)])
    goes_on = match.end(1) == match.end() and _GOES_ON.match(text[match.end(1) :])
    if begun or goes_on:
        raise OutputNotUnderstood(f"whole number at {pattern!r} ({match[1]!r})", text)
    return match[1]


def led_to(path: str, text: str) -> object:
    """Find what a path leads to in a JSON document; lines of another kind may stand before it."""
    try:
        begin = re.search(r"^[ \t]*[{\[]", text, re.MULTILINE)
        return _at(json.loads(text[begin.start() :] if begin else text), path)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise OutputNotUnderstood(f"value at {path} of one JSON document", text) from error


def _at(part: Any, path: str) -> object:  # noqa: ANN401  (JSON has no type)
    if not path:
        return part
    if isinstance(part, list):
        index, _, rest = path.partition(".")
        return _at(part[int(index)], rest)
    # A key may hold a dot itself: "99.000000".
    key = max((key for key in part if f"{path}.".startswith(f"{key}.")), key=len)
    return _at(part[key], path[len(key) + 1 :])
