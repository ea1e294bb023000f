"""``tare list``: the layers, workloads, scenarios and studies there are, and what can be set."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from enum import Enum
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from tare.cli import DONE
from tare.core.model import Scalar

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

NAME = "list"
HELP = "list the layers, workloads, scenarios or studies there are, and what can be set in each"

PIPED_WIDTH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """What can be set; a number's default is in ``unit``, ``choices`` are empty if all goes."""

    name: str
    default: Scalar | None
    unit: str = ""
    choices: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A layer, workload, scenario or study; a ladder takes a layer apart into ``switches``."""

    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    switches: tuple[str, ...] = ()


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "what", choices=["layers", "workloads", "scenarios", "studies"], help="what to list"
    )
    parser.add_argument("--json", action="store_true", help="print facts for programs")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.what == "studies":
        listed = studies()
    elif options.what == "scenarios":
        listed = scenarios()
    else:
        from tare.machines import layer
        from tare.work import workload

        catalogue = layer if options.what == "layers" else workload
        listed = [describe(name, catalogue.kind) for name in catalogue.names()]
    if options.json:
        print(json.dumps([asdict(one) for one in listed]))
    else:
        show(*page(listed))
    return DONE


def studies() -> list[Listed]:
    """List the studies that come with Tare."""
    from tare.experiment.study import load_study, preset_names

    return [Listed(name=name, description=load_study(name).question) for name in preset_names()]


def scenarios() -> list[Listed]:
    """List the scenarios; what is set in one stands below a key of its own in a study file."""
    from tare.experiment import scenario

    listed = []
    for name in scenario.names():
        try:
            made = scenario.load(name)
        except Exception as error:  # noqa: BLE001 - as in describe
            listed.append(Listed(name=name, description=_broken(error)))
            continue
        found = tuple(parameters(made.measures)) if made.measures else ()
        text = _first_line(type(made))
        listed.append(Listed(name=name, description=text, parameters=found))
    return listed


def describe(name: str, find: Callable[[str], type[Any]]) -> Listed:
    """Describe a layer or workload by its module; one that cannot be imported says so."""
    try:
        kind = find(name)
    except Exception as error:  # noqa: BLE001 - one broken module must not hide the others
        return Listed(name=name, description=_broken(error))
    text = _first_line(kind)
    switches = tuple(switch.name for switch in getattr(kind, "switches", ()))
    return Listed(
        name=name, description=text, parameters=tuple(parameters(kind)), switches=switches
    )


def _broken(error: Exception) -> str:
    return f"broken: {type(error).__name__}: {error}"


def _first_line(kind: type[Any]) -> str:
    """Give the first line of what a class's module says of itself."""
    return (sys.modules[kind.__module__].__doc__ or "").partition("\n")[0].replace("``", "'")


def parameters(kind: type[Any]) -> Iterator[Parameter]:
    """List the fields that leave a choice."""
    from tare.experiment.study.quantity import SIZE, TIME
    from tare.experiment.study.variant import dimension_of

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
            dimension = dimension_of(field.name)
            unit = "B" if dimension is SIZE else "s" if dimension is TIME else ""
            yield Parameter(name=field.name, default=default, unit=unit, choices=choices)


def _literals(hint: object) -> tuple[Scalar, ...]:
    """List the words that a type allows, also where it may be left out."""
    if get_origin(hint) in (Union, UnionType):
        return tuple(word for part in get_args(hint) for word in _literals(part))
    return get_args(hint)


def page(listed: Sequence[Listed]) -> Iterator[RenderableType]:
    """Lay out what people read: keys and values as they are written in a study file."""
    from rich.text import Text

    from tare.experiment.study.variant import key_of

    table = grid()
    for one in listed:
        table.add_row(Text(one.name, style="bold"), Text(one.description))
        for parameter in one.parameters:
            others = [written(c) for c in parameter.choices if c != parameter.default]
            choice = f"   or {', '.join(others)}" if others else ""
            # A job file has lines of its own, which would break those of the table.
            default = " ".join(written(parameter.default, parameter.unit).split())
            table.add_row(
                "", Text.assemble(f"  {key_of(parameter.name)}: {default}", (choice, "dim"))
            )
        if one.switches:
            table.add_row("", Text(f"  a ladder turns {', '.join(one.switches)}", style="dim"))
    yield table


def written(value: Scalar | None, unit: str = "") -> str:
    """Write a value as in a study file."""
    if isinstance(value, bool):
        return str(value).lower()
    if unit == "B" and isinstance(value, int):
        for factor, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
            if value and value % factor == 0:
                return f"{value // factor}{name}"
    return f"{value}{f' {unit}' if unit else ''}" if value not in ("", None) else "(not set)"


def grid() -> Table:
    """Make a table without borders, indented."""
    from rich.table import Table

    return Table.grid(padding=(0, 0, 0, 2), pad_edge=True)


def show(*parts: RenderableType) -> None:
    """Print to a terminal as wide as it is; elsewhere without wrapping, colour or padding."""
    from rich.console import Console

    wide = None if sys.stdout.isatty() else PIPED_WIDTH
    console = Console(width=wide, highlight=False, emoji=False)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))
