"""Parse numbers and JSON from the output of benchmark tools; errors are OutputNotUnderstood.

A parser reads an output that may be cut, mixed with another or wrong in any other way. Here is the
one place that makes numbers of text: what it returns can be added, compared, multiplied and divided
(by what is above 0) without an error of arithmetic.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from tare.core.errors import OutputNotUnderstood

LARGEST, SMALLEST = 2.0**64, 1e-30
"""Between these, or 0, is every number of a tool: a counter, a time in nanoseconds, an error of
rounding. Products and quotients of several are still finite."""
CLOCKS_S = 0.1
"""How far two readings of clocks may be apart that are meant to be of one moment.

A thread of a loaded host waits so long for its CPU now and then; what is relative alone would call
short runs contradictory.
"""

NUMERAL = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
"""A number as tools print it: without a sign, for nothing that they count is below 0."""


def numeral(found: str | None, wanted: str, text: str) -> float:
    """Return what a pattern found as a number of 0 or more, or raise OutputNotUnderstood."""
    if found is None or not NUMERAL.fullmatch(found):
        raise OutputNotUnderstood(f"{wanted} ({found and found[:50]!r} is no number)", text)
    value = float(found)
    if not _is_plausible(value):
        raise OutputNotUnderstood(f"{wanted} ({found[:50]!r} is no number of a tool)", text)
    return value


def _is_plausible(value: float) -> bool:
    # An integer of any size is compared with a float exactly, and nan is in no order.
    return value == 0 or SMALLEST <= value <= LARGEST


def count(found: str | None, wanted: str, text: str) -> int:
    """Return what a pattern found as a whole number, or raise OutputNotUnderstood."""
    value = numeral(found, wanted, text)
    if not value.is_integer():
        raise OutputNotUnderstood(f"{wanted} ({found!r} is no whole number)", text)
    return int(value)


def number(pattern: str, text: str) -> float:
    """Find the one number that a pattern's first group captures, or raise OutputNotUnderstood."""
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise OutputNotUnderstood(pattern, text)
    return numeral(found[1], pattern, text)


def rows(pattern: str, text: str) -> list[tuple[float, ...]]:
    """Read a number of each group of a pattern, each time that it is found."""
    found = re.finditer(pattern, text, re.MULTILINE)
    return [tuple(numeral(part, pattern, text) for part in row.groups()) for row in found]


def agree(
    total: float, rate: float, duration_s: float, *, relative: float = 0.01, apart_s: float = 0.0
) -> bool:
    """Return whether a total is more than 0 and a rate times a duration.

    ``relative`` is of the total; ``apart_s`` is how far the duration is from the one that the
    rate rests on: the rounding of what is printed, or CLOCKS_S where a tool reads its clock twice.
    """
    return total > 0 and abs(total - rate * duration_s) <= relative * total + rate * apart_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """The latency statistics that a tool printed of one set of requests.

    ``quantiles_s`` are by their per cent. ``relative`` and ``absolute_s`` are for how the tool
    rounds: its classes of latencies, its decimals.
    """

    requests: float
    mean_s: float
    quantiles_s: Mapping[float, float]
    least_s: float | None = None
    most_s: float | None = None
    relative: float = 0.01
    absolute_s: float = 0.0

    def check(self, text: str) -> None:
        """Raise OutputNotUnderstood where they contradict each other.

        Neither mean nor quantile is 0, for whatever was answered took some time; the least may be,
        where another CPU's clock was behind for one request. Quantiles grow with their per cent.
        Whatever the distribution is, the mean is not below what the requests from a quantile on
        make of it alone (Markov's inequality): a hundredth of P99, half of the median; and not
        above what it is if each request took as long as the next quantile, or the longest.
        """
        quantiles_s = [value_s for _, value_s in sorted(self.quantiles_s.items())]
        known_s = [self.mean_s, *quantiles_s]
        least_s = min(known_s) if self.least_s is None else self.least_s
        most_s = max(known_s) if self.most_s is None else self.most_s
        in_order = [
            *((least_s, value_s) for value_s in known_s),
            *((value_s, most_s) for value_s in known_s),
            *(((1 - q / 100) * value_s, self.mean_s) for q, value_s in self.quantiles_s.items()),
            *([(self.mean_s, self._most_mean_s())] if self.requests >= 1 else [(1.0, 0.0)]),
        ]
        is_right = all(self._within(low_s, high_s) for low_s, high_s in in_order)
        if min(known_s) <= 0 or quantiles_s != sorted(quantiles_s) or not is_right:
            raise OutputNotUnderstood("latencies above 0 that agree with each other", text)

    def _most_mean_s(self) -> float:
        if self.most_s is None:
            return inf
        sum_s, begin = 0.0, 0.0
        for q, value_s in [*sorted(self.quantiles_s.items()), (100.0, self.most_s)]:
            sum_s, begin = sum_s + (q / 100 - begin) * value_s, q / 100
        # The place of a quantile is rounded: one request more may be above it.
        return sum_s + self.most_s / self.requests

    def _within(self, low_s: float, high_s: float) -> bool:
        return low_s <= high_s * (1 + self.relative) + self.absolute_s


@dataclass(frozen=True, slots=True)
class JsonPart:
    """A part of a JSON document in an output; its methods read what stands below it, by keys.

    They raise OutputNotUnderstood where there is nothing, or something of another type. ``wanted``
    is what the whole document should be, for the message.
    """

    value: object
    wanted: str
    text: str
    path: tuple[str, ...] = ()

    def at(self, *keys: str) -> JsonPart:
        """Return the part that keys of objects lead to."""
        return JsonPart(self._value(keys), self.wanted, self.text, self.path + keys)

    def number(self, *keys: str, may_be_infinite: bool = False) -> float:
        """Return a number of 0 or more; true and "1" are none."""
        value = self._value(keys)
        if value is True or value is False or not isinstance(value, int | float):
            raise self.unlike("number", *keys)
        if not _is_plausible(value) and not (may_be_infinite and value == inf):
            raise self.unlike("number of a tool", *keys)
        return float(value)

    def count(self, *keys: str) -> int:
        """Return a whole number of 0 or more."""
        value = self.number(*keys)
        if not value.is_integer():
            raise self.unlike("whole number", *keys)
        return int(value)

    def word(self, *keys: str) -> str:
        """Return a string; one that could not be stored as UTF-8 is made to be."""
        value = self._value(keys)
        if not isinstance(value, str):
            raise self.unlike("string", *keys)
        return value.encode(errors="replace").decode()

    def truth(self, *keys: str) -> bool:
        """Return true or false."""
        value = self._value(keys)
        if not isinstance(value, bool):
            raise self.unlike("true or false", *keys)
        return value

    def parts(self, *keys: str) -> list[JsonPart]:
        """Return the elements of a list."""
        value = self._value(keys)
        if not isinstance(value, list):
            raise self.unlike("list", *keys)
        return [
            JsonPart(each, self.wanted, self.text, (*self.path, *keys, str(place)))
            for place, each in enumerate(value)
        ]

    def members(self, *keys: str) -> dict[str, JsonPart]:
        """Return the members of an object by their names."""
        value = self._value(keys)
        if not isinstance(value, dict):
            raise self.unlike("object", *keys)
        return {key: self.at(*keys, key) for key in value}

    def unlike(self, kind: str, *keys: str) -> OutputNotUnderstood:
        """Return the error that says what was expected here."""
        path = ".".join(self.path + keys) or "its top"
        path = path.encode(errors="replace").decode()  # a key may be half of a character
        return OutputNotUnderstood(f"{self.wanted} ({kind} at {path})", self.text)

    def _value(self, keys: tuple[str, ...]) -> object:
        value: Any = self.value
        for place, key in enumerate(keys, 1):
            try:
                value = value[key]
            except (LookupError, TypeError) as error:  # it is no object, or without this member
                raise self.unlike("value", *keys[:place]) from error
        return value


def document(printed: str, wanted: str, text: str | None = None) -> JsonPart:
    """Read a JSON document that is all of ``printed``; ``text`` is the whole output."""
    text = printed if text is None else text
    part, end = document_at(printed, _first(printed, 0), wanted, text)
    if _first(printed, end) != len(printed):
        raise part.unlike("end")
    return part


def document_at(
    printed: str, start: int, wanted: str, text: str | None = None
) -> tuple[JsonPart, int]:
    """Read the JSON document that begins at a place, and return where it ends too."""
    text = printed if text is None else text
    try:
        value, end = _DECODER.raw_decode(printed, start)
    except (ValueError, RecursionError) as error:  # an integer too long for int is a ValueError
        raise OutputNotUnderstood(wanted, text) from error
    return JsonPart(value, wanted, text), end


_DECODER = json.JSONDecoder()


def _first(printed: str, start: int) -> int:
    """Return the place of the first character from a place on that is no space of JSON's."""
    space = _SPACE.match(printed, start)
    return space.end() if space else start


_SPACE = re.compile(r"[ \t\n\r]*")
