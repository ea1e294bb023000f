"""Expand a row of a study file into its combinations: a key with a list of values is a factor.

The names and types of the fields are the schema, so a new layer or workload needs none of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from itertools import product
from types import NoneType
from typing import Any, Generic, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from tare.core import parameter
from tare.core.model import NO_KEY, Params, Unit
from tare.experiment.study.item import Item, one_of, refuse_unknown
from tare.experiment.study.quantity import PURE, RATE, SIZE, TIME, Dimension, parse

T = TypeVar("T")

MAX_VARIANTS = 10_000
"""More combinations than this in one place are a mistake, and would fill the memory."""


@dataclass(frozen=True, slots=True)
class Combination(Generic[T]):
    """One combination of levels: the object, and the levels of what varies as they were written."""

    made: T
    varying: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Level:
    text: str
    value: object


def variants(
    kind: type[T],
    item: Item,
    entries: Mapping[str, Item] | None = None,
    *,
    factors: bool = True,
    check: Callable[[T], None] = lambda made: None,
) -> list[Combination[T]]:
    """Make a dataclass once for each combination of the levels given; problems are noted.

    ``entries`` are the item's own unless given. With ``factors`` false a list is wrong. ``check``
    raises ValueError on a combination that cannot be, as the dataclass itself may.
    """
    if entries is None:
        if not (item.is_empty or item.is_mapping):
            item.wrong(f"found {item.found()}; expected a mapping of keys to values")
            return []
        entries = {} if item.is_empty else item.entries()
    given = _given(kind, entries)
    missing = [key_of(name) for name in _required(kind) if name not in given]
    if missing:
        item.wrong(f"missing {' and '.join(missing)}; expected here; add what is missing")
        return []
    hints = get_type_hints(kind)
    levels = {name: _levels(entry, hints[name], name, factors) for name, entry in given.items()}
    count = math.prod(map(len, levels.values()))
    if count > MAX_VARIANTS:
        item.wrong(f"the lists make {count} combinations; expected at most {MAX_VARIANTS}")
        return []
    made = []
    for combination in product(*levels.values()):
        chosen = dict(zip(levels, combination, strict=True))
        try:
            one = kind(**{name: level.value for name, level in chosen.items()})
            check(one)
        except ValueError as error:
            _refuse(str(error), given, item)
        else:
            varying = {key_of(name): chosen[name].text for name in levels if len(levels[name]) > 1}
            made.append(Combination(one, varying))
    return made


def params_of(made: object) -> Params:
    """List all fields of a dataclass, defaults too, as plain scalars; None is left out."""
    values = ((field.name, getattr(made, field.name)) for field in fields(cast(Any, made)))
    return tuple(
        (name, value.value if isinstance(value, Enum) else value)
        for name, value in values
        if value is not None
    )


def key_of(name: str) -> str:
    """Return the key by which a field is known: its name without the unit that values have."""
    return parameter.key_of(name)


_DIMENSIONS: Mapping[Unit | None, Dimension] = {
    Unit.BYTE: SIZE,
    Unit.SECOND: TIME,
    Unit.BYTE_PER_SECOND: RATE,
}


def dimension_of(name: str) -> Dimension:
    """Return what a field's numbers are, by its name: sizes, times, rates or bare numbers."""
    return _DIMENSIONS.get(parameter.unit_of(name), PURE)


def _keys(kind: type) -> dict[str, str]:
    """Map each key that may be written to its field; a field's own name wins over a short one."""
    given = (field for field in fields(kind) if field.init and NO_KEY not in field.metadata)
    names = [field.name for field in given]
    return {key_of(name): name for name in names} | {name: name for name in names}


def _given(kind: type, entries: Mapping[str, Item]) -> dict[str, Item]:
    """Sort the entries by the fields they mean; note those that mean none, or one twice."""
    by_key = _keys(kind)
    unknown = {key: entry for key, entry in entries.items() if key not in by_key}
    refuse_unknown(unknown, dict.fromkeys(map(key_of, by_key)))
    given: dict[str, Item] = {}
    for key in (key for key in entries if key in by_key):
        name, entry = by_key[key], entries[key]
        if name in given:
            entry.wrong(f"means the same as {given[name].path}; expected once; remove one")
        else:
            given[name] = entry
    return given


def _required(kind: type) -> list[str]:
    return [
        field.name
        for field in fields(kind)
        if field.init and field.default is MISSING and field.default_factory is MISSING
    ]


def _levels(item: Item, annotation: object, name: str, factors: bool) -> list[_Level]:
    if item.is_list and not factors:
        item.wrong("found a list; expected a single value; this is not a factor")
        return []
    levels: list[_Level] = []
    elements = item.elements() if item.is_list else [item]
    for element in elements:
        text = element.text()
        if text is None:
            continue
        try:
            value = _value(text, annotation, name)
        except ValueError as error:
            element.wrong(str(error))
            continue
        if any(value == level.value for level in levels):
            element.wrong(f"{text!r} stands in the list twice; expected different values")
        levels.append(_Level(text.replace(" ", ""), value))
    return levels if len(levels) == len(elements) else []


def _value(text: str, annotation: object, name: str) -> object:
    """Read a value of a field's type; ValueError says what was found and what is expected."""
    of_union = [part for part in get_args(annotation) if part is not NoneType]
    words = next((part for part in of_union if get_origin(part) is Literal), None)
    if len(of_union) == 2 and words is not None:  # a number, or a word instead
        if text in get_args(words):
            return text
        (number,) = (part for part in of_union if part is not words)
        try:
            return _value(text, number, name)
        except ValueError as error:
            raise ValueError(f"{error}, or {' or '.join(get_args(words))}") from None
    if len(of_union) == 1 and NoneType in get_args(annotation):
        annotation = of_union[0]
    if annotation in (int, float):
        number = parse(text, dimension_of(name))
        if annotation is float:
            return float(number)
        if number != int(number):
            raise ValueError(f"{text!r} is not whole; expected a whole number")
        return int(number)
    if annotation is str:
        return text
    options = _options(annotation)
    if text not in options:
        raise ValueError(f"found {text!r}; expected {one_of(options, text)}")
    return options[text]


def _options(annotation: object) -> dict[str, object]:
    if annotation is bool:
        return {"true": True, "false": False}
    if get_origin(annotation) is Literal:
        return {str(value): value for value in get_args(annotation)}
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return {str(member.value): member for member in annotation}
    raise TypeError(f"a parameter of type {annotation} cannot be written in a study file")


def _refuse(message: str, given: Mapping[str, Item], item: Item) -> None:
    """Note a refusal at the key it speaks of: of those given, the one it mentions first."""
    blamed = (len(message), item, "")
    for name, entry in given.items():
        for word in (name, key_of(name)):
            found = re.search(rf"\b{re.escape(word)}\b", message)
            if found and found.start() < blamed[0]:
                blamed = (found.start(), entry, f"{word}: ")
    _, entry, prefix = blamed
    entry.wrong(f"{message.removeprefix(prefix)}; change the value")
