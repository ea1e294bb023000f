"""What samples say of trials over their time: a few numbers of each, and all readings of some.

A hundred thousand trials have millions of rows, so they are read by columns and in one pass: of
every trial a short text is kept. The readings of the one trial a cell that is drawn are read when
they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from tare.core.errors import ResultsError
from tare.core.model import Kind, Status, Trial
from tare.present.view.sampled_rows import Extract, Identity, Name, Readings, Rows, identity
from tare.present.view.timeline_texts import write

if TYPE_CHECKING:
    from tare.present.view.findings import Findings

_READINGS = 100_000
"""The number that are made texts at once: those of thousands of short trials, in megabytes."""
Whose = Sequence[tuple[Path, Sequence[Identity]]]
"""Files, each with some of the trials in it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A trial with all that was read during it, by figure.

    ``parts`` has that of each of its parts, by the part's name, as far as it was stored with it.
    """

    trial: Trial
    readings: Mapping[Name, Readings]
    parts: Mapping[str, Mapping[Name, Readings]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Texts:
    """A text for each trial of the files, in their order; the others as in ``Timelines``."""

    files: Whose = ()
    texts: Sequence[str] = ()
    courses: Whose = ()
    damage: str = ""


@dataclass(frozen=True, slots=True)
class Timelines:
    """What the samples of a study say.

    ``typical`` has the trial that stands for each cell, by the cell's id. ``texts`` has a text
    for each trial: its length in ms; the times of readings in thousandths of that; between them
    the CPUs that the layer and the host kept busy, in hundredths; the most memory of the layer in
    KiB; and at each of the times its memory in thousandths of that. What is not known is empty.
    ``courses`` says of which trials the workload's tool reported anything, and in which files.
    ``damage`` says why there is less than there should be.
    """

    typical: Mapping[str, Seen] = field(default_factory=dict)
    texts: Mapping[Identity, str] = field(default_factory=dict)
    courses: Whose = ()
    damage: str = ""


class _Typical(Mapping[str, Seen]):
    """The trials that stand for cells, each in its file, which is read when one is asked for.

    A study of a thousand cells has them in as many files as there are, and draws few of them.
    """

    def __init__(self, trials: Mapping[str, tuple[Path, Trial]]) -> None:
        self._trials = trials
        self._seen: dict[str, Seen] = {}

    def __getitem__(self, cell: str) -> Seen:
        path, _ = self._trials[cell]
        if cell not in self._seen:
            rows = rows_of(path)
            for other, (where, trial) in self._trials.items():
                if where == path:  # all of it, for the file is not read again
                    readings = rows.readings(rows.trials.index(identity(trial)))
                    self._seen[other] = Seen(trial, readings, _of_parts(rows, trial))
        return self._seen[cell]

    def __contains__(self, cell: object) -> bool:
        return cell in self._trials

    def __iter__(self) -> Iterator[str]:
        return iter(self._trials)

    def __len__(self) -> int:
        return len(self._trials)


def _of_parts(rows: Rows, trial: Trial) -> Mapping[str, Mapping[Name, Readings]]:
    """Return what was read during a trial of each of its parts that the file has."""
    found = {}
    for part in trial.parts:
        own = identity(replace(trial, instance=part.instance))
        if own in rows.trials:
            found[part.name] = rows.readings(rows.trials.index(own))
    return found


def rows_of(path: Path) -> Rows:
    """Read a file of samples; raise ResultsError where it is damaged."""
    from tare.results.store import (
        samples,  # only here: it takes long to load, and many studies have none
    )

    return Rows(samples.table(path))


def tell(folder: Path, begin: Path | None = None) -> Texts:
    """Write the texts of all trials of a results directory, or of those in a file and after it.

    A directory without samples has none.
    """
    if not (folder / "samples").is_dir():
        return Texts()
    from tare.results.store import samples

    try:
        files = samples.files(folder)
    except ResultsError as error:
        return Texts(damage=str(error))
    whose, courses, damages = [], [], []
    texts: list[str] = []
    waiting: list[Extract] = []
    for path in files if begin is None else [one for one in files if one >= begin]:
        try:
            watched, written, extract = _extract(path)
        except ResultsError as error:
            damages.append(str(error))
            continue
        whose.append((path, watched))
        if written:
            courses.append((path, written))
        waiting.append(extract)
        if sum(len(one.values) for one in waiting) >= _READINGS:
            texts += write(waiting)
            waiting = []
    if waiting:
        texts += write(waiting)
    more = f" ({len(damages)} of {len(files)} files are)" if len(damages) > 1 else ""
    return Texts(whose, texts, courses, damages[0] + more if damages else "")


def _extract(path: Path) -> tuple[Sequence[Identity], Sequence[Identity], Extract]:
    """Return whose texts a file makes, whose tools reported anything, and what the texts need.

    All else of the file is gone before the next is read.
    """
    rows = rows_of(path)
    watched = rows.watched()
    whose = [rows.trials[at] for at in watched.tolist()]
    written = [rows.trials[at] for at in rows.with_courses().tolist()]
    return whose, written, rows.extract(watched)


def gather(found: Findings) -> Timelines:
    """Add to the texts of all trials the one that stands for each cell."""
    if found.read_texts:
        written = found.read_texts()
        if not found.results.run.stop:
            written = _up_to_date(written, found.results.folder)
    else:
        written = tell(found.results.folder)
    everyone = chain.from_iterable(whose for _, whose in written.files)
    texts = dict(zip(everyone, written.texts, strict=True))
    chosen = (_first(trials, texts) for trials in _ranked(found))
    wanted = {identity(trial): trial for trial in chosen if trial is not None}
    typical = {
        who[0]: (path, wanted[who])
        for path, whose in written.files
        for who in whose
        if who in wanted
    }
    return Timelines(_Typical(typical), texts, written.courses, written.damage)


def _up_to_date(written: Texts, folder: Path) -> Texts:
    """Read the last file anew, and those after it.

    Where a study runs, trials came after its samples were read and before its trials were.
    """
    if not written.files:
        return written if written.damage else tell(folder)
    last, whose = written.files[-1]
    later = tell(folder, last)
    return Texts(
        [*written.files[:-1], *later.files],
        [*written.texts[: len(written.texts) - len(whose)], *later.texts],
        [*(one for one in written.courses if one[0] != last), *later.courses],
        written.damage or later.damage,
    )


def _ranked(found: Findings) -> Iterator[Sequence[Trial]]:
    """Rank the trials of each cell: the nearest to their median duration is the first.

    Where no trial has numbers those that were ended at their deadline or failed stand for the cell.
    """
    lost = (Status.DNR, Status.FAILED)
    for cell, measured in found.measured.items():
        some = measured or [
            one for one in found.trials[cell] if one.kind is Kind.MEASURED and one.status in lost
        ]
        if some:
            middle = median(one.duration_s for one in some)
            yield sorted(some, key=lambda one: abs(one.duration_s - middle))


def _first(trials: Iterable[Trial], texts: Mapping[Identity, str]) -> Trial | None:
    """Find the first of some trials that has samples."""
    return next((trial for trial in trials if identity(trial) in texts), None)
