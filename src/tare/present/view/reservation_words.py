"""Reservations in words: what neighbours are held to, and what that was derived from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tare.core.model import Reservation, Unit, Use
from tare.core.model.reservation import CPUS, DISK_RATES, DerivedLimit
from tare.core.parameter import key_of, unit_of
from tare.present.view.numbers import bytes_text, plain, scale_for

USES = {Use.PEAK: "peak", Use.MEAN: "mean"}


def reservation_text(reservation: Reservation) -> str:
    """Return what a neighbour is held to: its limits, or what the workload leaves of the host."""
    if reservation.derived is None:
        return ", ".join(limit_texts(reservation.limits))
    kept = f"{USES[reservation.derived]} + {100 * reservation.headroom:g} %"
    return f"what is left ({kept})"


def limit_texts(limits: Iterable[tuple[str, float]]) -> list[str]:
    """Return each of some limits of a reservation with its unit."""
    return [_limit_text(name, value) for name, value in limits]


def _limit_text(name: str, value: float) -> str:
    if name == CPUS:
        return f"{value:.3g} CPU" + ("" if value == 1 else "s")
    word = _word(name)
    unit = unit_of(name)
    if unit in (Unit.BYTE, Unit.BYTE_PER_SECOND):
        return f"{word} {bytes_text(int(value))}" + ("/s" if unit is not Unit.BYTE else "")
    return f"{word} {plain(value)}"


def derived_text(reservation: Reservation, limits: Sequence[DerivedLimit]) -> str:
    """Return what limits were derived from, as a sentence; empty where none were."""
    if not limits or reservation.derived is None:
        return ""
    what = "95th percentile" if reservation.derived is Use.PEAK else "mean"
    clauses = [
        _clause(one, what, f"{one.each:.3g}") for one in limits if one.resource not in DISK_RATES
    ]
    of_disk = [one for one in limits if one.resource in DISK_RATES]
    if of_disk:  # what is kept is kept of both directions together
        each = " and ".join(f"{_word(one.resource)} {_rate(one.each)}" for one in of_disk)
        clauses.append(_clause(of_disk[0], what, each))
    return f"{'; '.join(clauses)}."


def _clause(one: DerivedLimit, what: str, each: str) -> str:
    """Return what one limit was derived from; ``each`` is what each of the neighbours has."""
    if one.resource in DISK_RATES:
        used, whole, kept = f"{_rate(one.used)} of the disk", _rate(one.capacity), _rate(one.kept)
    else:
        used, whole, kept = f"{one.used:.3g} {_unit(one)}", f"{one.capacity:g}", f"{one.kept:.3g}"
    return (
        f"alone the workload takes {used} ({what} of {one.readings} "
        f"second{'s' if one.readings != 1 else ''}); of {whole}, {kept} are kept "
        f"for it, and {'each of the neighbours' if one.neighbours > 1 else 'the neighbour'} has "
        f"{each}"
    )


def _word(name: str) -> str:
    return key_of(name).replace("_", " ").replace("cpu", "CPU")


def _rate(bytes_per_s: float) -> str:
    return scale_for(Unit.BYTE_PER_SECOND, [bytes_per_s]).full(bytes_per_s)


def _unit(one: DerivedLimit) -> str:
    return "CPUs" if one.resource == CPUS else one.resource
