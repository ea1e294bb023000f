"""The set-up of a published study, as ``tare published`` prints it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tare.core.parameter import word_of
from tare.present.view.values import as_read
from tare.results.published.setup import Condition, Experiment, Parameter, Setup, SetupPreset

HEADINGS = ("what", "value", "section")
SILENT = "silent"
LEGEND = (
    "silent: the study does not say. No section: it does say, in a place that the data do not name."
)
NO_WORKLOAD = "no workload of Tare repeats it"

Line = tuple[str, str, str]
"""What, its value, and the section that says so."""


def show_setup(console: Console, setup: Setup) -> None:
    """Print the conditions of a study by topic, then each experiment with its parameters."""
    console.print(Text(LEGEND, "italic"))
    for topic, conditions in setup.conditions.items():
        _print(console, f"Set-up: {topic}", map(_condition, conditions))
    for preset in setup.presets:
        _print(console, f"Preset: {preset.name}", _preset(preset))
    for one in setup.experiments:
        section = f" ({one.section})" if one.section else ""
        _print(console, f"Experiment: {one.name}{section}", _experiment(one))


def setup_as_json(setup: Setup) -> dict[str, Any]:
    """Return a set-up as plain data; the value of what a study is silent about is null."""
    return {
        "conditions": {
            topic: [_condition_as_json(one) for one in conditions]
            for topic, conditions in setup.conditions.items()
        },
        "presets": [
            {
                "name": one.name,
                "platforms": [
                    {
                        "name": platform.name,
                        "stack": platform.stack,
                        "settings": [_parameter_as_json(each) for each in platform.settings],
                    }
                    for platform in one.platforms
                ],
                "repetition": [_parameter_as_json(each) for each in one.repetition],
                "deviations": [
                    {"what": each.what, "reason": each.reason} for each in one.deviations
                ],
            }
            for one in setup.presets
        ],
        "experiments": [
            {
                "name": one.name,
                "section": one.section,
                "platforms": list(one.platforms),
                "workload": one.workload,
                "preset": one.preset,
                "roles": dict(one.roles),
                "notes": [_condition_as_json(note) for note in one.notes],
                "limits": [_parameter_as_json(each) for each in one.limits],
                "parameters": [_parameter_as_json(each) for each in one.parameters],
            }
            for one in setup.experiments
        ],
    }


def _print(console: Console, title: str, lines: Iterable[Line]) -> None:
    console.print()
    console.print(Text(title, "bold"))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name, ratio in zip(HEADINGS, (3, 7, 2), strict=True):
        table.add_column(name, overflow="fold", ratio=ratio)
    for line in lines:
        table.add_row(*map(Text, line))
    table.expand = True
    console.print(table)


def _preset(one: SetupPreset) -> Iterator[Line]:
    for platform in one.platforms:
        yield platform.name, platform.stack, ""
        for setting in platform.settings:
            yield from _parameter(setting)
    for rule in one.repetition:
        yield from _parameter(rule)
    for each in one.deviations:
        yield each.what, f"not as in the study: {each.reason}", ""


def _experiment(one: Experiment) -> Iterator[Line]:
    yield "platforms", ", ".join(one.platforms), ""
    run_by = f" (tare run {one.preset})" if one.preset else ""
    yield "workload", f"{one.workload}{run_by}" if one.workload else NO_WORKLOAD, ""
    for role, program in one.roles.items():
        yield role, program, ""
    yield from map(_condition, one.notes)
    for each in (*one.limits, *one.parameters):
        yield from _parameter(each)


def _condition(one: Condition) -> Line:
    return one.what, SILENT if one.value is None else one.value, _where(one)


def _parameter(one: Parameter) -> Iterator[Line]:
    def text(values: Iterable[object]) -> str:
        return ", ".join(as_read(one.name, value) for value in values)

    word = word_of(one.name)
    yield word, SILENT if one.values is None else text(one.values), _where(one)
    if one.deviation is not None:
        yield "", f"the preset has {text(one.deviation.values)}: {one.deviation.reason}", ""


def _where(one: Condition | Parameter) -> str:
    return (one.section or "") + (", derived" if one.derived else "")


def _condition_as_json(one: Condition) -> dict[str, Any]:
    return {
        "what": one.what,
        "value": one.value,
        "section": one.section,
        "derived": one.derived,
    }


def _parameter_as_json(one: Parameter) -> dict[str, Any]:
    deviation = one.deviation
    return {
        "name": one.name,
        "values": None if one.values is None else list(one.values),
        "section": one.section,
        "derived": one.derived,
        "preset_values": None if one.in_preset is None else list(one.in_preset),
        "reason": None if deviation is None else deviation.reason,
    }
