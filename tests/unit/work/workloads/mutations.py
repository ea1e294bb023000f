"""Outputs that no tool printed: recorded ones with some edits, the same for the same seed."""

import re
from dataclasses import dataclass
from functools import cached_property

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
JSON_VALUE = re.compile(
    r'"(?P<key>[^"\n]*)"\s*:\s*(?P<value>-?\d[\d.eE+-]*|"[^"\n]*"|true|false|null|\{|\[)'
)
NUMBERS = (
    *("0", "0.0", "0.000", "-1", "-0.5", "1.2.3", "..", ".", "1e999", "1e-999", "1e308", "1e-300"),
    *("nan", "NaN", "inf", "Infinity", "-Infinity", "1_000", "1,5", "0x10", "1e", "--", ""),
    *("9" * 18, "9" * 25, "9" * 400, "9" * 4400, "0." + "0" * 400 + "1", "18446744073709551615"),
    *("\u0663", "\u00b2", "\uff11\uff12", "1\u00a0000", "\ufffd", "\x00", "true", "None"),
)
VALUES = (
    *("null", "true", "false", '""', '"12"', '"1.2.3"', '"\\ud800"', '"a"', "[]", "{}", "[1, 2]"),
    *('{"mean": 1}', "[[]]", "-1", "0", "-0.0", "1e999", "-1e999", "NaN", "Infinity", "1e-320"),
    *("9" * 30, "9" * 400, "9" * 5000, "1e308", "1.5", "[" * 2000, '{"a":' * 2000),
    "[" * 90_000 + "]" * 90_000,
)


@dataclass(frozen=True)
class Printed:
    """A text, with the places at which it may be edited: an edit is (begin, end, replacement)."""

    text: str

    @cached_property
    def lines(self):
        return [found.span() for found in re.finditer(r"[^\n]*\n|[^\n]+", self.text)]

    @cached_property
    def numbers(self):
        """Numbers by what stands before them: the few that are alone are as likely as a column."""
        found = {}
        for number in NUMBER.finditer(self.text):
            label = re.sub(r"\d", "", self.text[max(0, number.start() - 12) : number.start()])
            found.setdefault(label, []).append(number.span())
        return list(found.values())

    @cached_property
    def values(self):
        found = {}
        for value in JSON_VALUE.finditer(self.text):
            found.setdefault(value["key"], []).append(value.span("value"))
        return list(found.values())

    def mutated(self, rng, other):
        """Return the text after one edit or some; ``other`` is an output to splice from."""
        edits = [
            edit
            for _ in range(rng.choice((1, 1, 1, 1, 2, 3, 8)))
            for edit in rng.choice(EDITS)(self, rng, other)
        ]
        text = self.text
        for begin, end, replacement in sorted(edits, reverse=True):
            text = text[:begin] + replacement + text[end:]
        return text


def delete_line(printed, rng, _other):
    begin, end = rng.choice(printed.lines)
    return [(begin, end, "")]


def duplicate_line(printed, rng, _other):
    begin, end = rng.choice(printed.lines)
    return [(end, end, printed.text[begin:end])]


def swap_lines(printed, rng, _other):
    one, two = rng.choice(printed.lines), rng.choice(printed.lines)
    return [(*one, printed.text[slice(*two)]), (*two, printed.text[slice(*one)])]


def repeat_block(printed, rng, _other):
    begin, end = sorted((rng.choice(printed.lines)[0], rng.choice(printed.lines)[1]))
    return [(end, end, printed.text[begin:end])]


def truncate(printed, rng, _other):
    return [(rng.randrange(len(printed.text)), len(printed.text), "")]


def change_digit(printed, rng, other):
    if not printed.numbers:
        return delete_line(printed, rng, other)
    begin, end = rng.choice(rng.choice(printed.numbers))
    place = rng.randrange(begin, end)
    return [(place, place + 1, rng.choice("0123456789.-e"))]


def strange_number(printed, rng, other):
    if not printed.numbers:
        return delete_line(printed, rng, other)
    return [(*rng.choice(rng.choice(printed.numbers)), rng.choice(NUMBERS))]


def other_magnitude(printed, rng, other):
    """One number of another unit, such as milliseconds for seconds."""
    if not printed.numbers:
        return delete_line(printed, rng, other)
    begin, end = rng.choice(rng.choice(printed.numbers))
    shifted = float(printed.text[begin:end]) * 10.0 ** rng.choice((-9, -6, -3, -1, 1, 3, 6, 9))
    return [(begin, end, rng.choice((f"{shifted:.6f}", f"{shifted:.0f}", f"{shifted:g}")))]


def other_value(printed, rng, other):
    if not printed.values:
        return strange_number(printed, rng, other)
    return [(*rng.choice(rng.choice(printed.values)), rng.choice(VALUES))]


def splice(printed, rng, other):
    begin, end = sorted(rng.choices(range(len(printed.text) + 1), k=2))
    first, last = sorted(rng.choices(range(len(other) + 1), k=2))
    return [(begin, rng.choice((begin, end)), other[first:last])]


EDITS = (
    *(delete_line, duplicate_line, swap_lines, repeat_block, truncate, splice),
    *(change_digit, other_magnitude, *[strange_number] * 3, *[other_value] * 3),
)
