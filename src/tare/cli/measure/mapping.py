"""A line of ``tare measure`` as the mapping that a study file has."""

from __future__ import annotations

import re
import shlex
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from tare.cli.measure.commands import Command
from tare.cli.measure.options import INSTANCES, MAX_BLOCKS
from tare.cli.measure.stacks import StackOption, read_stack, set_image, written
from tare.core.errors import ConfigError
from tare.core.visible import visible

BUDGET_S = 22.5
"""For each command in each stack: two stacks and one command have 45 s."""
FIRST_DECISION = 3
"""Blocks before the first decision; what is less clear waits for later looks in any case."""
LADDER_STACKS = 12
"""About as many stacks a ladder has, each with one switch turned."""
START = "5min"
LIMITS = {"cpus": ["1"], "memory": ["1GiB"]}
MAX_QUESTION = 200
_LINE_ENDS = re.compile(r"[\n\r\u2028\u2029]")


@dataclass
class Declared:
    """A study, and by the path of each of its keys the option that it was made of."""

    study: dict[str, Any] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def text(self, argv: Sequence[str]) -> str:
        """Return the text of the study file."""

        # A comment ends where YAML sees the end of a line, and what follows would be keys.
        line = _LINE_ENDS.sub(" ", visible(shlex.join(["tare", *argv])))
        document = yaml.safe_dump(self.study, sort_keys=False, allow_unicode=True, width=100)
        return f"# {line}\n{document}"


def declare(options: Namespace, commands: Sequence[Command], packages: Sequence[str]) -> Declared:
    """Return the study of the options, or raise ConfigError; values are left to the loader."""
    made = Declared()
    baseline = read_stack("--baseline", options.baseline)
    given = [read_stack("--in", stack) for stack in options.stacks]
    others = [one for one in given if (one.path, one.settings) != (baseline.path, {})]
    for stack in others:
        if [one.given for one in others].count(stack.given) > 1:
            raise ConfigError(f"--in {stack.given} was given twice; expected each stack once")
    if not others and not options.ladder and len(commands) == 1:
        raise ConfigError(
            f"--in: no stack was given besides {baseline.path}; expected one to compare with it, "
            "such as --in docker (tare doctor says which this host can run), or several commands"
        )
    if options.image is not None:
        _set_images(made, options.image, [baseline, *others])
    platforms = [baseline, *others]
    elements = [stack.element() for stack in platforms]
    for number, stack in enumerate(platforms):
        option = "--baseline" if stack is baseline else "--in"
        made.options[f"platforms[{number}]"] = f"{option} {stack.given}"
    made.options["baseline"] = f"--baseline {options.baseline}"
    stacks_in_all = len(platforms) + (LADDER_STACKS if options.ladder else 0)
    first = elements[0]
    name = commands[0].name if len(commands) == 1 else f"{len(commands)}-commands"
    made.study = {
        "name": f"measure-{name}",
        "question": _question(commands, others),
        "platforms": elements,
        "baseline": first if isinstance(first, str) else first.get("name", baseline.path),
        **_ladder(made, options.ladder),
        "limits": _limits(made, options.limits),
        "workloads": [
            {"command": _workload(made, number, command, options, packages)}
            for number, command in enumerate(commands)
        ],
        "repetition": _repetition(made, options, stacks_in_all * len(commands)),
        "deadlines": {"start": START, "trial": options.timeout},
    }
    made.options["deadlines.trial"] = "--timeout"
    return made


def _ladder(made: Declared, given: str | None) -> Mapping[str, object]:
    """Return the key that takes a stack apart."""
    if given is None:
        return {}
    made.options["ladder"] = f"--ladder {given}"
    return {"ladder": read_stack("--ladder", given).element()}


def _set_images(made: Declared, image: str, platforms: Sequence[StackOption]) -> None:
    without = [stack.path for stack in set_image(platforms, image)]
    if len(without) == len(platforms):
        raise ConfigError(
            f"--image {image}: none of {', '.join(without)} can take a container image; expected a "
            "stack that ends in docker, or no --image"
        )
    made.notes.append(
        f"{' and '.join(without)} cannot take the image {image} and will run Tare's own userland "
        "(Debian 12): what differs is then the stack and the image"
    )


def _question(commands: Sequence[Command], stacks: Sequence[StackOption]) -> str:
    what = " and ".join(f"'{one.text}'" for one in commands)
    where = f" in {', '.join(stack.given for stack in stacks)}" if stacks else ""
    text = f"What does {what} cost{where}?"
    return text if len(text) <= MAX_QUESTION else f"{text[: MAX_QUESTION - 4]} ..."


def _limits(made: Declared, given: Sequence[str]) -> Mapping[str, object]:
    limits: dict[str, list[str]] = {}
    for option in given:
        for part in option.split(","):
            key, separator, value = part.partition("=")
            if not separator:
                raise ConfigError(f"--limit {option}: expected KEY=VALUE, such as cpus=1")
            limits.setdefault(key, []).append(value)
            made.options[f"limits.{key}"] = f"--limit {key}={value}"
    made.options["limits"] = "--limit"
    return {key: written(values) for key, values in (LIMITS | limits).items()}


def _workload(
    made: Declared, number: int, command: Command, options: Namespace, packages: Sequence[str]
) -> Mapping[str, object]:
    """Return the parameters of the workload ``command``, without those that have their default."""
    path = f"workloads[{number}].command"
    found = options.number is not None or options.json is not None
    for option, value in (("--metric", options.metric), ("--stream", options.stream),
                          ("--unit", options.unit), ("--better", options.better)):  # fmt: skip
        if value is not None and not found:
            raise ConfigError(
                f"{option} {value}: without --number or --json the command's wall time is measured;"
                " expected one of them, or leave it out"
            )
    if found and options.better is None and options.unit in (None, "1"):
        raise ConfigError(
            f"{'--number' if options.number is not None else '--json'}: which of these numbers are "
            "better is not known; expected --better lower or --better higher, or --unit s, B, 1/s "
            "or B/s"
        )
    unit = (options.unit or "1") if found else None
    metric = (options.metric or "number") if found else None
    params = {
        "run": (shlex.join(command.words), f"the command {command.text}"),
        "called": (command.name, "--command-name"),
        "metric": (metric, "--metric"),
        "unit": (unit, "--unit"),
        "better": (options.better, "--better"),
        "pattern": (options.number, "--number"),
        "json_path": (options.json, "--json"),
        "stream": (options.stream, "--stream"),
        "install": (" ".join(packages), "--package"),
        "setup": (shlex.join(command.setup), "--setup"),
        "each_setup": (shlex.join(command.prepare), "--prepare"),
    }
    made.options[path] = f"the command {command.text}"
    made.options |= {f"{path}.{key}": option for key, (_, option) in params.items()}
    return {key: value for key, (value, _) in params.items() if value}


def _repetition(made: Declared, options: Namespace, cells: int) -> Mapping[str, object]:
    least, most = options.min_blocks, options.max_blocks
    if options.runs is not None:
        if least is not None or most is not None:
            raise ConfigError("--runs: --min-blocks or --max-blocks was given too; leave one out")
        least = most = options.runs
    most = most or max(MAX_BLOCKS, least or 0)
    budget = options.budget or ("none" if options.runs else f"{BUDGET_S * cells:g} s")
    values = {
        "instances": (options.instances or INSTANCES, "--instances"),
        "warmup": (options.warmup, "--warmup"),
        "min_blocks": (least or min(FIRST_DECISION, most), "--min-blocks"),
        "max_blocks": (most, "--max-blocks"),
        "margin": (options.margin, "--margin"),
        "budget": (None if budget == "none" else budget, "--budget"),
    }
    made.options |= {f"repetition.{key}": option for key, (_, option) in values.items()}
    return {key: value for key, (value, _) in values.items() if value is not None}
