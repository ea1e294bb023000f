"""Parameters of commands: lists and scans of values that take the place of ``{NAME}``."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import product

from tare.core.errors import ConfigError

MAX_COMMANDS = 200
"""More commands than this are a mistake in a scan."""

PLACEHOLDER = re.compile(r"(?<!\$)\{([A-Za-z_][A-Za-z0-9_-]*)\}")

Filling = Mapping[str, str]


def fillings(options: Namespace) -> list[Filling]:
    """Return every combination of the parameters' values, or raise ConfigError."""
    lists = [(f"--parameter-list {name}", name, text.split(",")) for name, text in options.lists]
    scans = [
        (f"--parameter-scan {name}", name, _scan(name, low, high, options.step))
        for name, low, high in options.scans
    ]
    levels: dict[str, Sequence[str]] = {}
    for option, name, values in (*lists, *scans):
        if not PLACEHOLDER.fullmatch(f"{{{name}}}"):
            raise ConfigError(f"{option}: expected a name of letters, digits, _ and -")
        if name in levels:
            raise ConfigError(f"{option}: the parameter {name} was given twice; expected once")
        if len(set(values)) < len(values):
            raise ConfigError(
                f"{option}: a value stands twice in {','.join(values)}; expected each once"
            )
        levels[name] = values
    if options.step is not None and not scans:
        raise ConfigError("--parameter-step-size: there is no --parameter-scan; leave it out")
    return [dict(zip(levels, chosen, strict=True)) for chosen in product(*levels.values())]


def filled(text: str, filling: Filling) -> str:
    """Return a text with values in the places of its parameters; other braces stay."""
    return PLACEHOLDER.sub(lambda match: filling.get(match[1], match[0]), text)


def refuse_unused(names: Iterable[str], texts: Sequence[str]) -> None:
    """Raise ConfigError if no text has a place for a parameter."""
    for name in names:
        if not any(f"{{{name}}}" in text for text in texts):
            raise ConfigError(
                f"the parameter {name}: no command has {{{name}}} in it; expected it where the "
                "values go"
            )


def _scan(name: str, low: str, high: str, step: str | None) -> list[str]:
    option, numbers = f"--parameter-scan {name}", []
    for text in (low, high, step or "1"):
        try:
            numbers.append(Decimal(text))
        except InvalidOperation:
            raise ConfigError(f"{option}: {text!r} was given; expected a number") from None
    first, last, by = numbers
    if not all(number.is_finite() for number in numbers) or by <= 0 or first > last:
        raise ConfigError(
            f"{option}: from {low} to {high} by {step or 1} was given; expected numbers that grow "
            "from the first to the last, by more than 0"
        )
    if (last - first) / by >= MAX_COMMANDS:
        raise ConfigError(f"{option}: expected at most {MAX_COMMANDS} values; choose larger steps")
    return [f"{first + number * by:f}" for number in range(int((last - first) / by) + 1)]
