"""Reads a results directory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from tare.errors import ResultsError
from tare.model import Plan, Trial

T = TypeVar("T")


@dataclass(frozen=True)
class Results:
    """Everything a results directory says."""

    folder: Path
    study: str
    plan: Plan
    facts: Mapping[str, object]
    run: Mapping[str, object]
    trials: tuple[Trial, ...]


def load(folder: Path) -> Results:
    """Read a results directory, finished, running or killed, or raise ResultsError.

    A last line that was cut short by a kill is not a trial; anything else that is not understood
    is an error that names the file and line.
    """
    if not (folder / "plan.json").exists():
        raise ResultsError(f"{folder} is no results directory: it has no plan.json")
    try:
        plan = _reader(Plan).validate_json((folder / "plan.json").read_bytes())
        return Results(
            folder,
            (folder / "study.yaml").read_text(encoding="utf-8"),
            plan,
            _json(folder / "facts.json"),
            _json(folder / "run.json"),
            read_trials(folder / "trials.jsonl"),
        )
    except ValidationError as error:
        raise ResultsError(f"{folder}/plan.json is not understood: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ResultsError(f"{folder} cannot be read: {error}") from error


def read_trials(path: Path) -> tuple[Trial, ...]:
    """Read the trials, in the order in which they ended."""
    read = _reader(Trial).validate_json
    trials = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                trials.append(read(line))
            except ValidationError as error:
                raise ResultsError(f"{path}:{number}: not a trial: {error}") from error
    return tuple(trials)


@cache
def _reader(kind: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(kind)


def _json(path: Path) -> Mapping[str, object]:
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ResultsError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    if not isinstance(content, dict):
        raise ResultsError(f"{path} is not understood: expected an object")
    return content
