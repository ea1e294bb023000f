"""Reads parts of stored JSON that decide nothing: what is of another type is not known."""

from __future__ import annotations

from collections.abc import Mapping

from tare.core.model import Scalar, Scalars


def scalars(stored: object) -> Scalars:
    """Return the values of a mapping that are numbers, texts or truths."""
    return {name: one for name, one in mapping(stored).items() if isinstance(one, Scalar)}


def mapping(stored: object) -> Mapping[str, object]:
    """Return a mapping, or an empty one."""
    return stored if isinstance(stored, Mapping) else {}


def listed(stored: object) -> list[object]:
    """Return a list, or an empty one."""
    return stored if isinstance(stored, list) else []


def texts(stored: object) -> tuple[str, ...]:
    """Return the texts of a list."""
    return tuple(one for one in listed(stored) if isinstance(one, str))


def text(stored: object) -> str:
    """Return a text, or an empty one."""
    return stored if isinstance(stored, str) else ""


def number(stored: object) -> float | None:
    """Return a number, None where it is none or larger than any."""
    if not isinstance(stored, int | float) or isinstance(stored, bool):
        return None
    try:
        return float(stored)
    except OverflowError:
        return None


def whole(stored: object) -> int | None:
    """Return a whole number, None where it is none."""
    return stored if isinstance(stored, int) and not isinstance(stored, bool) else None
