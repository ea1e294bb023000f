"""Reads a results directory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tare.errors import ResultsError
from tare.model import Plan, Trial


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
        plan = TypeAdapter(Plan).validate_json((folder / "plan.json").read_bytes())
    except ValidationError as error:
        raise ResultsError(f"{folder}/plan.json is not understood: {error}") from error
    return Results(
        folder,
        (folder / "study.yaml").read_text(),
        plan,
        _json(folder / "facts.json"),
        _json(folder / "run.json"),
        read_trials(folder / "trials.jsonl"),
    )


def read_trials(path: Path) -> tuple[Trial, ...]:
    """Read the trials, in the order in which they ended."""
    read = TypeAdapter(Trial).validate_json
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


def _json(path: Path) -> Mapping[str, object]:
    if not path.exists():
        return {}
    content = json.loads(path.read_text())
    if not isinstance(content, dict):
        raise ResultsError(f"{path} is not understood: expected an object")
    return content
