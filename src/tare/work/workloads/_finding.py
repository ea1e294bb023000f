"""Find one number in a program's output by a regular expression or a JSON path."""

from __future__ import annotations

import re
from typing import Any

from tare.core.errors import OutputNotUnderstood
from tare.work.parsing import document

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_BEGUN = re.compile(r"(?:\d(?:[.,_]|[eE][+-]?)?|(?<!\S)-)\Z")
_GOES_ON = re.compile(r"[.,_eE]?[+-]?(?:\d|\Z)|[eE][+-]?(?![A-Za-z])")
"""Characters that show that a number is cut; at its end, so does the end of the output."""
_GROUPED = re.compile(
    r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u2009\u202f'\u2019](?:\d{3}(?!\d)|\d{0,2}\Z))+", re.ASCII
)
"""A number with its thousands set apart: ``12 345``, ``12'345``; the last may be cut."""


def matched(pattern: str, text: str) -> object:
    """Find the one number of a pattern; half a number, or the digits after a comma, is none.

    Where the pattern goes on before or behind the group, it says itself where the number ends.
    """
    found = list(re.finditer(pattern, text, re.MULTILINE))
    if len(found) != 1:
        raise OutputNotUnderstood(f"single match of {pattern!r} ({len(found)} were found)", text)
    (match,) = found
    start, end = match.span(1)
    ends = {start, end} & set(match.span())
    begun = start in ends and _BEGUN.search(text[:start])
    goes_on = end in ends and _GOES_ON.match(text[end:])
    grouped = (number.span() for number in _GROUPED.finditer(text))
    if begun or goes_on or any(first < one < last for first, last in grouped for one in ends):
        raise OutputNotUnderstood(f"whole number at {pattern!r} ({match[1]!r})", text)
    return match[1]


def led_to(path: str, text: str) -> object:
    """Find what a path leads to in a JSON document; lines of another kind may stand before it."""
    wanted = f"value at {path} of one JSON document"
    begin = re.search(r"^[ \t]*[{\[]", text, re.MULTILINE)
    whole = document(text[begin.start() :] if begin else text, wanted, text)
    try:
        return _at(whole.value, path)
    except (ValueError, LookupError, TypeError) as error:  # a user's path that leads nowhere
        raise OutputNotUnderstood(wanted, text) from error


def _at(part: Any, path: str) -> object:  # noqa: ANN401  (JSON has no type)
    if not path:
        return part
    if isinstance(part, list):
        index, _, rest = path.partition(".")
        return _at(part[int(index)], rest)
    # A key may hold a dot itself: "99.000000".
    key = max((key for key in part if f"{path}.".startswith(f"{key}.")), key=len)
    return _at(part[key], path[len(key) + 1 :])
