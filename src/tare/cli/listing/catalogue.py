"""What ``tare list`` says of each layer, workload, stressor, scenario and study there is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from enum import Enum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from tare.core.model import Scalar
from tare.core.parameter import unit_of, word_of

BROKEN = "broken: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """What can be set; a number's default is in ``unit``, ``choices`` are empty if all goes."""

    name: str
    default: Scalar | None
    unit: str = ""
    choices: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What can be listed, such as a layer; a ladder takes a layer apart into ``switches``."""

    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    switches: tuple[str, ...] = ()


def listed(what: str) -> dict[str, Any]:
    """Describe all of a kind: as facts, as rows to be printed, and whether one is broken."""
    found = _all(what)
    broken = any(one.description.startswith(BROKEN) for one in found)
    return {"facts": [asdict(one) for one in found], "rows": list(rows(found)), "broken": broken}


def _all(what: str) -> list[Described]:
    # Each imports what it lists alone: layers are listed without the reader of study files.
    match what:
        case "layers":
            from tare.machines import layer

            return [describe(name, layer.kind) for name in layer.names()]
        case "workloads":
            from tare.work import workload

            return [describe(name, workload.kind) for name in workload.names()]
        case "stressors":
            from tare.work import stressor

            return [describe(name, stressor.kind) for name in stressor.names()]
        case "scenarios":
            return scenarios()
        case _:
            from tare.experiment.study import load_study, preset_names

            return [
                Described(name=name, description=load_study(name).question)
                for name in preset_names()
            ]


def scenarios() -> list[Described]:
    """List the scenarios; what is set in one stands below a key of its own in a study file."""
    from tare.experiment import scenario

    described = []
    for name in scenario.names():
        try:
            made = scenario.load(name)
        except Exception as error:  # noqa: BLE001 - as in describe
            described.append(Described(name=name, description=_broken(error)))
            continue
        found = tuple(parameters(made.measures)) if made.measures else ()
        text = _first_line(type(made))
        described.append(Described(name=name, description=text, parameters=found))
    return described


def describe(name: str, find: Callable[[str], type[Any]]) -> Described:
    """Describe a layer, workload or stressor by its module; one that cannot be imported says so."""
    try:
        kind = find(name)
    except Exception as error:  # noqa: BLE001 - one broken module must not hide the others
        return Described(name=name, description=_broken(error))
    text = _first_line(kind)
    switches = tuple(switch.name for switch in getattr(kind, "switches", ()))
    return Described(
        name=name, description=text, parameters=tuple(parameters(kind)), switches=switches
    )


def _broken(error: Exception) -> str:
    return f"{BROKEN}{type(error).__name__}: {error}"


def _first_line(kind: type[Any]) -> str:
    """Return the first line of what a class's module says of itself."""
    return (sys.modules[kind.__module__].__doc__ or "").partition("\n")[0].replace("``", "'")


def parameters(kind: type[Any]) -> Iterator[Parameter]:
    """List the fields that leave a choice."""
    hints = get_type_hints(kind)
    for field in fields(kind):
        hint = hints[field.name]
        values = tuple(hint) if isinstance(hint, type) and issubclass(hint, Enum) else ()
        choices = tuple(value.value for value in values) or _literals(hint)
        is_union = get_origin(hint) in (Union, UnionType)
        if bool in (hint, *get_args(hint)):
            choices = (True, False)
        # One word is a choice too where a number, or nothing, may stand instead.
        if len(choices) != 1 or is_union:
            default = None if field.default is MISSING else field.default
            unit = unit_of(field.name)
            yield Parameter(
                name=field.name, default=default, unit=unit.value if unit else "", choices=choices
            )


def _literals(hint: object) -> tuple[Scalar, ...]:
    """List the words that a type allows, also where it may be left out."""
    if get_origin(hint) in (Union, UnionType):
        return tuple(word for part in get_args(hint) for word in _literals(part))
    return get_args(hint)


def rows(described: Sequence[Described]) -> Iterator[tuple[str, str, str]]:
    """Yield what people read: keys and values as they are written in a study file."""
    for one in described:
        yield one.name, one.description, ""
        for parameter in one.parameters:
            others = [written(c) for c in parameter.choices if c != parameter.default]
            # A job file has lines of its own, which would break those of the table.
            default = " ".join(written(parameter.default, parameter.unit).split())
            choice = f"   or {', '.join(others)}" if others else ""
            yield "", f"  {word_of(parameter.name)}: {default}", choice
        if one.switches:
            yield "", "", f"  a ladder turns {', '.join(one.switches)}"


def written(value: Scalar | None, unit: str = "") -> str:
    """Write a value as in a study file."""
    if isinstance(value, bool):
        return str(value).lower()
    if unit == "B" and isinstance(value, int):
        for factor, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
            if value and value % factor == 0:
                return f"{value // factor}{name}"
    return f"{value}{f' {unit}' if unit else ''}" if value not in ("", None) else "(not set)"
