"""One module per workload; the module's name is the workload's name, its class is ``Workload``.

Here are only the checks that their parameters share. Each raises ValueError with a sentence that
names the key, what was given and what is expected.
"""

from __future__ import annotations

import re
from typing import Any, get_args


def at_least(params: object, **least: int) -> None:
    """Check that each of the named parameters is a number not below its least value."""
    for key, low in least.items():
        if (given := getattr(params, key)) < low:
            raise ValueError(f"{key}: {given} was given; expected {low} or more")


def at_most(params: object, **most: int) -> None:
    """Check that each of the named parameters is a number not above its greatest value."""
    for key, high in most.items():
        if (given := getattr(params, key)) > high:
            raise ValueError(f"{key}: {given} was given; expected {high} at most")


def one_of(params: object, **literals: Any) -> None:  # noqa: ANN401  (typing has no Literal type)
    """Check that each of the named parameters is one of the words of its Literal type."""
    for key, literal in literals.items():
        if (given := getattr(params, key)) not in get_args(literal):
            expected = ", ".join(get_args(literal))
            raise ValueError(f"{key}: {given!r} was given; expected one of {expected}")


def of_form(params: object, key: str, pattern: str, expected: str) -> None:
    """Check that all of the named parameter is of a pattern; ``expected`` says which in words."""
    if not re.fullmatch(pattern, given := getattr(params, key), re.ASCII):
        raise ValueError(f"{key}: {given!r} was given; expected {expected}")
