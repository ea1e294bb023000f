"""Reads a results directory: finished, or while a session writes it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, TypeVar

from pydantic import TypeAdapter, ValidationError

from tare.core.errors import ResultsError
from tare.core.model import Calibration, Complaint, Facts, Plan, Run, Trial
from tare.core.visible import visible
from tare.results.store import formats
from tare.results.store.calibrations import NAME as CALIBRATIONS
from tare.results.store.calibrations import read_calibrations
from tare.results.store.facts import facts_of
from tare.results.store.run import run_of

T = TypeVar("T")

_RESTORE = "restore it from a copy of the results"


@dataclass(frozen=True)
class Results:
    """Everything a results directory says."""

    folder: Path
    study: str
    plan: Plan
    facts: Facts
    run: Run
    trials: tuple[Trial, ...]
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)
    """How neighbours were dialled to their levels, by the cells' ids."""


def load(folder: Path) -> Results:
    """Read a results directory, finished, running or killed, or raise ResultsError.

    A last line that was cut short by a kill is not a trial; anything else that is not understood
    is an error that names the file and line, and what to do.

    Of what is shown no text commands the terminal: a plan that tries is refused, because its cells
    are known by their texts; in facts, reasons and warnings, which quote what tools print in
    colour, such characters are made visible.
    """
    try:
        if not (folder / "plan.json").exists():
            raise ResultsError(f"{folder} is no results directory: it has no plan.json")
        return Results(
            folder,
            _text(folder / "study.yaml"),
            read_plan(folder / "plan.json"),
            facts_of(read_facts(folder)),
            read_run(folder),
            read_trials(folder / "trials.jsonl"),
            read_calibrations(folder / CALIBRATIONS),
        )
    except OSError as error:
        fix = "make it readable" if isinstance(error, PermissionError) else _RESTORE
        where = error.filename or folder
        raise ResultsError(f"{where} cannot be read: {error.strerror}; {fix}") from error


def read_trials(path: Path) -> tuple[Trial, ...]:
    """Read the trials, in the order in which they ended; one of several cells as one of each."""
    trials, _ = TrialsFile(path).read()
    return tuple(one for trial in trials for one in trial.by_cell())


class TrialsFile:
    """The trials of a results directory, which a session may append to: all, or what is new."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._inode = self._offset = self._lines = 0

    def read(self) -> tuple[Iterator[Trial], bool]:
        """Return the trials since the last reading, and whether they begin the file (anew).

        A last line without its end is being written, or was cut by a kill; it is left for later.
        Raises OSError, and while the trials are read ResultsError, which names the line; the next
        reading begins anew.
        """
        file = opened(self.path)
        about = os.fstat(file.fileno())
        anew = about.st_ino != self._inode or about.st_size < self._offset
        if anew:
            self._inode, self._offset, self._lines = about.st_ino, 0, 0
        return self._from(file), anew

    def _from(self, file: BinaryIO) -> Iterator[Trial]:
        read = _reader(Trial).validate_json
        with file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                where = f"{self.path}:{self._lines + 1}"
                try:
                    trial = read(formats.todays_trial(line, where))
                except ResultsError:
                    self._inode = 0
                    raise
                except ValidationError as error:
                    self._inode = 0
                    raise ResultsError(
                        f"{where}: not a trial: {first_of(error)}; restore the file from a copy of "
                        "the results, or remove this line"
                    ) from error
                self._offset += len(line)
                self._lines += 1
                # Few have an escaped character: most are spared the copy.
                yield _visibly(trial) if b"\\" in line or not line.isascii() else trial


def opened(path: Path) -> BinaryIO:
    """Open a file to read it, or raise OSError: reading a FIFO, say, might never end."""
    if not S_ISREG(path.stat().st_mode):
        raise OSError(f"{path.name} is no regular file")
    return path.open("rb")


def _visibly(trial: Trial) -> Trial:
    """Make the characters of a trial's texts visible that would command a terminal."""
    return replace(
        trial,
        reason=visible(trial.reason),
        warnings=_visible_warnings(trial.warnings),
        parts=tuple(
            replace(part, reason=visible(part.reason), warnings=_visible_warnings(part.warnings))
            for part in trial.parts
        ),
    )


def _visible_warnings(warnings: Iterable[str | Complaint]) -> tuple[str | Complaint, ...]:
    return tuple(one if isinstance(one, Complaint) else visible(one) for one in warnings)


@cache
def _reader(kind: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(kind)


def plan_of(content: bytes, where: object) -> Plan:
    """Read a plan of any format, or raise ValidationError, or ResultsError if it is a newer one."""
    plan: Plan = _reader(Plan).validate_json(formats.todays_plan(content, where))
    return plan


def read_plan(path: Path) -> Plan:
    """Read a plan, or raise ResultsError."""
    try:
        plan = plan_of(_content(path), path)
    except ValidationError as error:
        raise ResultsError(f"{path} is not understood: {first_of(error)}; {_RESTORE}") from error
    for where, text in _texts(asdict(replace(plan, slots=()))):
        if text != visible(text):
            raise ResultsError(
                f"{path} is not understood: {where} is {text!r}, with characters that command a "
                f"terminal; {_RESTORE}"
            )
    return plan


def first_of(error: ValidationError) -> str:
    """Return in one line what is wrong first, and how much more there is."""
    first, *others = error.errors(include_url=False, include_context=False, include_input=False)
    where = ".".join(map(str, first["loc"]))
    text = f"{where}: {first['msg']}" if where else first["msg"]
    return str(visible(text)) + (f" (and {len(others)} more)" if others else "")


def _texts(content: object, path: str = "") -> Iterator[tuple[str, str]]:
    """List all texts below a part of a file, keys too, with the path to each."""
    if isinstance(content, str):
        yield path, content
    elif isinstance(content, Mapping):
        for key, value in content.items():
            yield from _texts(key, f"a name in {path}")
            yield from _texts(value, f"{path}.{visible(key)}".removeprefix("."))
    elif isinstance(content, list | tuple):
        for place, value in enumerate(content):
            yield from _texts(value, f"{path}.{place}")


def _content(path: Path) -> bytes:
    with opened(path) as file:
        return file.read()


def _text(path: Path) -> str:
    try:
        return _content(path).decode()
    except UnicodeDecodeError as error:
        raise ResultsError(f"{path} is not UTF-8 (byte {error.start}); {_RESTORE}") from error


def read_facts(folder: Path) -> Mapping[str, object]:
    """Read what ran where as it is stored, which a session that goes on adds to and writes again.

    Empty where nothing is stored. Raises ResultsError.
    """
    return _json(folder / "facts.json", formats.FACTS)


def read_run(folder: Path) -> Run:
    """Read when a study ran; ``NO_RUN`` where nothing is stored. Raises ResultsError."""
    return run_of(_json(folder / "run.json", formats.RUN))


def _json(path: Path, format_: int) -> Mapping[str, object]:
    if not path.exists():
        return {}
    try:
        content = visible(json.loads(_text(path)))
    except json.JSONDecodeError as error:
        raise ResultsError(f"{path}:{error.lineno}: not JSON: {error.msg}; {_RESTORE}") from error
    except RecursionError:
        raise ResultsError(f"{path} is not understood: it is nested too deep; {_RESTORE}") from None
    if not isinstance(content, dict):
        raise ResultsError(f"{path} is not understood: expected an object; {_RESTORE}")
    formats.refuse_newer(content, format_, path)
    return {name: value for name, value in content.items() if name != "format"}
