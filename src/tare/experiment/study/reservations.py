"""Read the reservations of a study: limits that its neighbours are held to, or ``derived``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, make_dataclass
from typing import get_type_hints

from tare.core.model import Limits, Reservation, Use
from tare.core.model.cell import OPTIONAL
from tare.core.model.reservation import CPUS, given
from tare.experiment.study.combinations import variants
from tare.experiment.study.item import Item

KEY = "reservation"
"""The key of a study file below which they stand."""
NONE, DERIVED = "none", "derived"

# Its fields are the keys that may be written, so that a new optional limit is one of them at once.
_Given = make_dataclass(
    "_Given",
    [
        (CPUS, float | None, field(default=None)),
        *((name, get_type_hints(Limits)[name], field(default=None)) for name in OPTIONAL),
    ],
    frozen=True,
)


@dataclass(frozen=True)
class _Derived:
    """How a reservation is derived."""

    derived: Use
    headroom: float = 0.1


def read_reservations(item: Item, check: Callable[[Limits], None]) -> list[Reservation | None]:
    """Read one reservation or a list of them; None is ``none``. What is wrong is noted.

    ``check`` raises ValueError on limits that cannot be.
    """
    found: list[Reservation | None] = []
    for element in item.elements() if item.is_list else [item]:
        made = _read(element, check)
        if any(one in found for one in made):
            element.wrong("the same stands above; expected each once; remove one")
        found += made
    return found or [None]


def _read(item: Item, check: Callable[[Limits], None]) -> list[Reservation | None]:
    if not item.is_mapping:
        word = item.text()
        if word not in (NONE, DERIVED, None):
            item.wrong(
                f"found {word!r}; expected {NONE}, {DERIVED}, or a mapping of limits, such as "
                f"{{{CPUS}: 0.5}}"
            )
        return [Reservation(derived=Use.PEAK) if word == DERIVED else None]
    if DERIVED in item.entries():

        def check_headroom(one: _Derived) -> None:
            Reservation(derived=one.derived, headroom=one.headroom)

        return [
            Reservation(derived=one.made.derived, headroom=one.made.headroom)
            for one in variants(_Derived, item, check=check_headroom)
        ]

    def check_given(one: object) -> None:
        check(_reservation(one).over(Limits(cpus=1, memory_bytes=1)))

    return [_reservation(one.made) for one in variants(_Given, item, check=check_given)]


def _reservation(made: object) -> Reservation:
    values = {name: value for name, value in asdict(made).items() if value is not None}  # type: ignore[call-overload]
    return given(values)
