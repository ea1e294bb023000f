"""Plan which host settings would be changed, and why others would not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tare.experiment.host.tuning.knobs import KNOBS, Knob


@dataclass(frozen=True, slots=True)
class Change:
    """A file that is to hold another value; ``path`` is absolute."""

    what: str
    path: Path
    old: str
    wanted: str
    why: str


@dataclass(frozen=True, slots=True)
class Left:
    """A setting that stays as it is, and why."""

    what: str
    why: str


def plan(root: Path = Path("/"), knobs: Sequence[Knob] = KNOBS) -> list[Change | Left]:
    """Return what would be done with every knob, in order."""
    return [one for knob in knobs for one in _plan(knob, root)]


def value(text: str) -> str:
    """Read a setting's value: the one in brackets where the kernel lists all that there are."""
    chosen = text.partition("[")[2].partition("]")[0]
    return chosen or text.strip()


def _plan(knob: Knob, root: Path) -> Iterator[Change | Left]:
    paths = sorted(root.glob(knob.files))
    if not paths:
        yield Left(knob.what, f"not here: {knob.absent}")
    alike: dict[str, list[Path]] = {}  # many CPUs have the same value
    for path in paths:
        outcome = _one(knob, path)
        if isinstance(outcome, Change):
            yield outcome
        else:
            alike.setdefault(outcome, []).append(path)
    for why, same in alike.items():
        more = f" and {len(same) - 1} more like it" if len(same) > 1 else ""
        yield Left(knob.what, f"{why} ({same[0]}{more})")


def _one(knob: Knob, path: Path) -> Change | str:
    """Return the change to one file, or why there is none."""
    try:
        text = path.read_text()
        listed = path.with_name(knob.choices).read_text() if knob.choices else ""
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    old = value(text)
    if old == knob.wanted:
        return f"is {old} already"
    if knob.instead_of and old not in knob.instead_of:
        return f"is {old}, which is as good"
    choices = text.replace("[", " ").replace("]", " ") if "[" in text else listed
    if choices and knob.wanted not in choices.split():
        return f"cannot be {knob.wanted}; there are only: {' '.join(choices.split())}"
    if not os.access(path, os.W_OK):
        return "cannot be written: run as root, on the host itself where this is a container"
    return Change(knob.what, path, old, knob.wanted, knob.why)
