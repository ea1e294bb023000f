"""Reads the facts stored with results into types.

Facts explain numbers and decide nothing, and what tools and hosts tell varies: a part that is
missing or of another type than is written is not known, and stops neither a report nor a
comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tare.core.errors import ResultsError
from tare.core.model import (
    ClockSkew,
    DetectedStack,
    DetectedStep,
    Facts,
    FactSection,
    NamedValue,
    PlatformFacts,
    Preconditions,
    Scalar,
    Scalars,
    StoredMismatch,
    UserlandFacts,
)
from tare.core.model.reservation import DerivedLimit
from tare.results.store.loosely import listed, mapping, number, scalars, text, texts

RESERVATIONS = "reservations"
"""The part that has what was derived of reservations, by the id of the cell."""
_DERIVED = TypeAdapter(dict[str, tuple[DerivedLimit, ...]])
_OWN_PLACE = ("platforms", "noise", "selftest", RESERVATIONS)
"""Parts that are shown in a place of their own, and not in the list of all that was stored."""


MITIGATION, FILE = "mitigation.", "sha256."
"""What names begin with that are of a weakness, or of a file, among other readings."""
CPU_FLAGS = "cpu_flags"


def facts_of(stored: Mapping[str, object]) -> Facts:
    """Return the facts of what ``facts.json`` holds, in this format or an earlier one."""
    platforms = mapping(stored.get("platforms"))
    userland = mapping(stored.get("userland"))
    host, mitigations = _apart(scalars(stored.get("host")), MITIGATION)
    return Facts(
        host=host,
        mitigations=mitigations,
        platforms={name: _platform(mapping(one)) for name, one in platforms.items()},
        userland=UserlandFacts(
            id=text(userland.get("id")),
            versions=scalars(userland.get("versions")),
            kernel=text(userland.get("kernel")),
        ),
        tare=scalars(stored.get("tare")),
        peer=scalars(stored.get("peer")),
        cpuset=text(mapping(stored.get("session")).get("cpuset")),
        noise=texts(stored.get("noise")),
        selftest=texts(mapping(stored.get("selftest")).get("said")),
        reservations=stored_reservations(stored),
        sections=tuple(
            FactSection(name, tuple(_named_values(part)))
            for name, part in stored.items()
            if part and name not in _OWN_PLACE
        ),
    )


def stored_reservations(
    stored: Mapping[str, object],
) -> Mapping[str, tuple[DerivedLimit, ...]]:
    """Return the limits that were derived of the reservation of each cell, by its id."""
    return {
        cell: tuple(filter(None, map(_derived, map(mapping, listed(limits)))))
        for cell, limits in mapping(stored.get(RESERVATIONS)).items()
    }


def checked_reservations(
    stored: Mapping[str, object], path: Path
) -> Mapping[str, tuple[DerivedLimit, ...]]:
    """Return the same for a session that goes on, whose neighbours are held by these limits.

    Raises ResultsError, which names the file ``path`` and the key, where one is damaged.
    """
    try:
        return _DERIVED.validate_python(stored.get(RESERVATIONS, {}))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, (RESERVATIONS, *first["loc"])))
        raise ResultsError(
            f"{path}: {key}: {first['msg']}; restore it from a copy of the results"
        ) from error


def _derived(stored: Mapping[str, object]) -> DerivedLimit | None:
    numbers = {
        one.name: value
        for one in fields(DerivedLimit)
        if one.name != "resource" and (value := number(stored.get(one.name))) is not None
    }
    if len(numbers) + 1 < len(fields(DerivedLimit)):
        return None
    return DerivedLimit(
        resource=text(stored.get("resource")),
        used=numbers["used"],
        readings=int(numbers["readings"]),
        kept=numbers["kept"],
        capacity=numbers["capacity"],
        neighbours=int(numbers["neighbours"]),
        each=numbers["each"],
    )


def _platform(stored: Mapping[str, object]) -> PlatformFacts:
    inside, clock = mapping(stored.get("inside")), mapping(stored.get("clock"))
    confinement = mapping(inside.get("confinement"))
    return PlatformFacts(
        settings=scalars(stored.get("settings")),
        probe=scalars(stored.get("probe")),
        inside=tuple(_named_values(inside)),
        confinement={name: str(value) for name, value in confinement.items()},
        detected=DetectedStack(tuple(_steps(stored.get("detected")))),
        preconditions=_preconditions(scalars(stored.get("preconditions"))),
        clock=ClockSkew(number(clock.get("low")), number(clock.get("high"))),
        mismatches=tuple(
            StoredMismatch(text(one.get("said")), texts(one.get("workloads")))
            for one in map(mapping, listed(stored.get("mismatches")))
            if one
        ),
        start_s=tuple(
            seconds
            for seconds in map(number, listed(stored.get("start_s")))
            if seconds is not None and math.isfinite(seconds)
        ),
        warnings=texts(stored.get("warnings")),
        unavailable=text(stored.get("unavailable")),
    )


def stored_preconditions(one: Preconditions) -> dict[str, Scalar]:
    """Return preconditions as they are stored: all readings by name, in one mapping."""
    flags = " ".join(sorted(one.cpu_flags))
    return {
        **one.values,
        **({CPU_FLAGS: flags} if flags else {}),
        **{f"{MITIGATION}{name}": text for name, text in one.mitigations.items()},
        **{f"{FILE}{name}": digest for name, digest in one.files.items()},
    }


def _preconditions(stored: Scalars) -> Preconditions:
    rest, files = _apart(stored, FILE)
    values, mitigations = _apart(rest, MITIGATION)
    return Preconditions(
        values={name: value for name, value in values.items() if name != CPU_FLAGS},
        files=files,
        mitigations=mitigations,
        cpu_flags=frozenset(str(values.get(CPU_FLAGS, "")).split()),
    )


def _apart(stored: Scalars, prefix: str) -> tuple[Scalars, Mapping[str, str]]:
    """Keep readings whose names begin with a prefix apart from the others, by the rest of them."""
    rest = {name: value for name, value in stored.items() if not name.startswith(prefix)}
    begun = {name: value for name, value in stored.items() if name not in rest}
    return rest, {name.removeprefix(prefix): str(value) for name, value in begun.items()}


def _named_values(stored: object, names: tuple[str, ...] = ()) -> Iterator[NamedValue]:
    """List the values of nested mappings, each with the names that lead to it."""
    if isinstance(stored, Mapping):
        for name, part in stored.items():
            yield from _named_values(part, (*names, name))
    elif steps := tuple(_steps(stored)):
        yield NamedValue(names, DetectedStack(steps))
    elif isinstance(stored, list):
        yield NamedValue(names, tuple(map(_plain, stored)))
    else:
        yield NamedValue(names, _plain(stored))


def _steps(stored: object) -> Iterator[DetectedStep]:
    for one in map(mapping, listed(stored)):
        if isinstance(title := one.get("title"), str):
            yield DetectedStep(title, texts(one.get("evidence")))


def _plain(stored: object) -> Scalar | None:
    return stored if stored is None or isinstance(stored, Scalar) else str(stored)
