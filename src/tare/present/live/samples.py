"""What host and layer were seen to do during the last trials: from the newest files of samples.

Only those files that have changed are read, and of them the few figures that are drawn. A session
writes one once a second at most, and takes a new one before it gets large.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tare.core.errors import ResultsError
from tare.core.model import Trial
from tare.present.live.overview import Stamp, is_inside, stamp
from tare.present.live.resource_usage import ResourceUsage, Track, resource_usage
from tare.results.store.reader import opened

MAX_TRIALS = 60
"""The most trials with samples on the page: those that ended last."""

_NAMES = {"layer": ("cpu_s", "memory_bytes"), "host": ("cpu_user_s", "cpu_system_s", "cpu_guest_s")}
_FIGURES = sum(map(len, _NAMES.values()))
_IDENTITY = ("cell", "block", "slot", "kind", "instance", "repeat")
_TEXTS = ["cell", "kind", "instance", "source", "name", "reason"]
_COLUMNS = [*_IDENTITY, "source", "name", "reason", "time_s", "value"]

Identity = tuple[object, ...]


@dataclass(frozen=True, eq=False)
class SampledUsage:
    """What the last trials took that have been written.

    ``problem`` says why a file cannot be read, if so.
    """

    by_trial: Mapping[Identity, ResourceUsage] = field(default_factory=dict)
    problem: str = ""

    def of(self, trial: Trial) -> ResourceUsage | None:
        """Return what a trial took; None if nothing was read, or it is not written yet."""
        return self.by_trial.get(_identity(trial))


class SampledUsageReader:
    """The readings of the last trials of one study."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder, self._root = folder / "samples", root
        self._stamps: Mapping[Path, Stamp] = {}
        self._files: dict[Path, _File] = {}
        self._usage = SampledUsage()

    def look(self) -> SampledUsage:
        """Look again; what is given is the same object as before if nothing has changed."""
        stamps = self._newest()
        if stamps != self._stamps:
            self._usage = self._read(stamps)
            self._stamps = stamps
        return self._usage

    def _newest(self) -> Mapping[Path, Stamp]:
        """Find the last two files: trials of the one before stand on the page too."""
        try:
            with os.scandir(self._folder) as entries:
                names = sorted(one.name for one in entries if one.name.endswith(".parquet"))
        except OSError:
            return {}
        if not is_inside(self._folder, self._root):
            return {}
        paths = [self._folder / name for name in names[-2:]]
        found = {path: stamp(path, self._root) for path in paths}
        return {path: version for path, version in found.items() if version}

    def _read(self, stamps: Mapping[Path, Stamp]) -> SampledUsage:
        self._files = {path: self._files.get(path) or _File(path) for path in stamps}
        found: dict[Identity, ResourceUsage] = {}
        problem = ""
        for path, version in stamps.items():
            try:
                if self._stamps.get(path) != version:
                    self._files[path].read()
            except ResultsError as error:
                self._files[path] = _File(path)
                problem = str(error)
            found |= self._files[path].by_trial
        return SampledUsage(found, problem)


class _File:
    """The last trials of a file, which is written anew with all that it had and more."""

    def __init__(self, path: Path) -> None:
        self._path, self._rows = path, 0
        self.by_trial: dict[Identity, ResourceUsage] = {}

    def read(self) -> None:
        """Take in what is new, or raise ResultsError if the file is damaged."""
        import pyarrow as pa  # here, for it takes memory and time that not every page needs

        try:
            table = _table(self._path)
            drawn = _drawn(table.slice(self._rows if self._rows <= len(table) else 0))
            last = drawn.slice(max(0, len(drawn) - MAX_TRIALS * _FIGURES))
            self.by_trial |= _by_trial(last.to_pylist())
        except FileNotFoundError:  # removed at this moment, with all its study
            return
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            raise ResultsError(f"{self._path} is damaged or cannot be read: {error}") from error
        self._rows = len(table)
        for identity in list(self.by_trial)[:-MAX_TRIALS]:
            del self.by_trial[identity]


def _table(path: Path) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Read all rows of a file, with each text as it is stored: once."""
    import pyarrow.parquet as pq

    with (
        opened(path) as raw,
        pq.ParquetFile(raw, read_dictionary=_TEXTS, page_checksum_verification=True) as file,
    ):
        return file.read(columns=_COLUMNS, use_threads=False)


def _drawn(table: Any) -> Any:  # noqa: ANN401
    """Choose the rows that are drawn."""
    import pyarrow as pa
    import pyarrow.compute as pc

    source, name = (table[column].cast(pa.string()) for column in ("source", "name"))
    wanted = [
        pc.and_(pc.equal(source, one), pc.is_in(name, pa.array(names, pa.string())))
        for one, names in _NAMES.items()
    ]
    return table.filter(pc.or_(*wanted))


def _by_trial(rows: Iterable[Mapping[str, Any]]) -> Mapping[Identity, ResourceUsage]:
    found: dict[Identity, dict[str, Track]] = {}
    for row in rows:
        known = zip(row["time_s"], row["value"], strict=True)
        finite = [one for one in known if math.isfinite(one[0]) and math.isfinite(one[1])]
        track = Track([at for at, _ in finite], [value for _, value in finite], row["reason"])
        identity = tuple(row[column] for column in _IDENTITY)
        found.setdefault(identity, {})[f"{row['source']} {row['name']}"] = track
    return {identity: resource_usage(tracks) for identity, tracks in found.items()}


def _identity(trial: Trial) -> Identity:
    return tuple(getattr(trial, name) for name in _IDENTITY)
