"""Samples of trials over time, in Parquet: a row is one figure of one trial, with all its readings.

``samples/`` in a results directory holds files numbered from 0. The last one is written anew as
trials come, under another name that then takes its place: a kill leaves the file of before.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tare.core import durable
from tare.core.errors import ResultsError
from tare.core.model import Kind, Trial
from tare.results.store import formats

FOLDER = "samples"
TRIALS_A_FILE = 256
VALUES_A_FILE = 500_000
"""A file is full with either: it is written again with every trial, and held in memory."""
WRITE_EVERY_S = 0.9
"""Short trials share a write, and with it the wait for the disk.

Less than a second: of trials that take a second each, every one is written as it ends, where a
whole second would just miss every other one, and a live page would show it two seconds late.
"""

READINGS = pa.list_(pa.field("element", pa.float64()))  # as Parquet calls what is in a list
SCHEMA = pa.schema(
    [
        pa.field("cell", pa.string(), nullable=False),
        pa.field("block", pa.int32(), nullable=False),
        pa.field("slot", pa.int32(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("instance", pa.string(), nullable=False),
        pa.field("repeat", pa.int32(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("device", pa.string(), nullable=False),
        pa.field("is_counter", pa.bool_(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("time_s", READINGS, nullable=False),
        pa.field("value", READINGS, nullable=False),
    ],
    metadata={"tare_format": str(formats.SAMPLES)},
)
"""``time_s`` is since the trial's begin, or the tool's for ``work``.

The first six columns are the trial's identity.
"""


IDENTITY = ("cell", "block", "slot", "kind", "instance", "repeat")
TEXTS = [field.name for field in SCHEMA if field.type == pa.string()]
CODED = pa.schema(
    [
        field.with_type(pa.dictionary(pa.int32(), pa.string())) if field.name in TEXTS else field
        for field in SCHEMA
    ],
    metadata=SCHEMA.metadata,
)
"""``SCHEMA`` where texts are coded as dictionaries."""
BROKEN = (OSError, ValueError, pa.ArrowException)
"""What reading a damaged file raises."""
FIGURE = ("source", "name", "device", "is_counter", "reason", "times_s", "values")
"""The attributes that the columns are made of, in their order."""


class Series(Protocol):
    """What is stored: the readings of one figure, or why there are none."""

    @property
    def source(self) -> str:
        """Whose figure it is: ``host``, ``layer``, ``machine`` or ``work``."""

    @property
    def name(self) -> str:
        """What was read, with its unit at the end."""

    @property
    def device(self) -> str:
        """Of which disk, network device or CPU; empty: of all."""

    @property
    def is_counter(self) -> bool:
        """Whether values only grow, so that only differences mean something."""

    @property
    def reason(self) -> str:
        """Why there is nothing, or nothing more; empty: nothing is missing."""

    @property
    def times_s(self) -> Sequence[float]:
        """When each value was read, since the trial's begin; of ``work``, since the tool's."""

    @property
    def values(self) -> Sequence[float]:
        """What was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One figure of one trial as it was stored; the first six fields say which trial's."""

    cell: str
    block: int
    slot: int
    kind: Kind
    instance: str
    repeat: int
    source: str
    name: str
    device: str
    is_counter: bool
    reason: str
    times_s: tuple[float, ...]
    values: tuple[float, ...]

    def is_of(self, trial: Trial) -> bool:
        """Return whether it was read during this trial, in any of its parts."""
        of_parts = [part.instance for part in trial.parts]
        return self.instance in (trial.instance, *of_parts) and all(
            getattr(self, name) == getattr(trial, name) for name in IDENTITY if name != "instance"
        )


class Samples:
    """The samples of a results directory that is being filled by one session.

    What earlier sessions wrote is never touched. A kill loses the trials of the last second before
    the one under way, and that one.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._clock = folder / FOLDER, clock
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for torn in self._folder.glob("*.new"):
                torn.unlink()
        except OSError as error:
            raise ResultsError(f"cannot write samples to {self._folder}: {error}") from error
        self._number = len(_files(self._folder))
        self._trials: list[pa.RecordBatch] = []
        self._unwritten = self._values = 0
        self._written_s = self._clock()

    def add(self, trial: Trial, series: Iterable[Series]) -> None:
        """Take the samples of a trial in, or raise ResultsError if they cannot be written."""
        of_trial = list(series)
        self._trials.append(_rows(trial, of_trial))
        self._unwritten += 1
        self._values += sum(len(one.values) for one in of_trial)
        is_full = len(self._trials) >= TRIALS_A_FILE or self._values >= VALUES_A_FILE
        if is_full or self._clock() - self._written_s >= WRITE_EVERY_S:
            self.close()
        if is_full:
            self._trials, self._values, self._number = [], 0, self._number + 1

    def settle(self) -> None:
        """Write what has waited for so long: the next trial may take long."""
        if self._clock() - self._written_s >= WRITE_EVERY_S:
            self.close()

    def close(self) -> None:
        """Write what has not been written yet; more can still be added."""
        if not self._unwritten:
            return
        path = self._folder / _file_name(self._number)
        try:
            durable.replace(path, _parquet(self._trials))
        except OSError as error:
            raise ResultsError(
                f"cannot write {path}: {error.strerror}; all samples before are kept: make room, "
                f"then tare run --resume {self._folder.parent}"
            ) from error
        self._unwritten, self._written_s = 0, self._clock()


def read(folder: Path, *, cell: str | None = None, block: int | None = None) -> tuple[Kept, ...]:
    """Read the samples of a results directory, of a cell or a block alone where that is given.

    They stand in the order in which their trials ended. Raises ResultsError where there are none,
    or where a file is damaged or missing.
    """
    return tuple(kept for path in files(folder) for kept in _read(path, cell, block))


def files(folder: Path) -> list[Path]:
    """List the files of a results directory's samples, or raise ResultsError where there are none.

    Their trials stand in the order in which they ended, those of a file before those of the next.
    """
    below = folder / FOLDER
    if not below.is_dir():
        raise ResultsError(
            f"{folder} has no samples: it was measured without a timeline, by an older Tare or "
            "where no thread of the host did the work"
        )
    return _files(below)


def table(path: Path) -> Any:  # noqa: ANN401
    """Read a file as an Arrow table with the columns of ``SCHEMA``, texts coded as dictionaries.

    The rows of a trial stand together; a hundred thousand trials are read so without an object for
    each row. Raises ResultsError where it is damaged.
    """
    try:
        with pq.ParquetFile(
            path, read_dictionary=TEXTS, pre_buffer=False, page_checksum_verification=True
        ) as file:
            _check(path, file.schema_arrow, CODED)
            # No threads: a report reads while processes keep all CPUs busy.
            found = file.read(use_threads=False).unify_dictionaries()
    except KeyError as error:  # a column that is to be coded is not there
        raise _other_format(path) from error
    except BROKEN as error:
        raise _damaged(path, error) from error
    counts = [pc.list_value_length(found[name]) for name in ("time_s", "value")]
    if not counts[0].equals(counts[1]):
        raise _damaged(path, "a figure has more times than values, or fewer")
    return found


def _files(folder: Path) -> list[Path]:
    """List the files in order; one that lacks in the row was lost, for they are never removed."""
    there = {path.name for path in folder.glob("*.parquet")}
    expected = [_file_name(number) for number in range(len(there))]
    for name in expected:
        if name not in there:
            raise ResultsError(
                f"{folder / name} is missing, and others are not in the row: restore the folder "
                "from a copy, or move it away to go on without samples"
            )
    return [folder / name for name in expected]


def _file_name(number: int) -> str:
    return f"{number:06d}.parquet"


def _rows(trial: Trial, series: Sequence[Series]) -> pa.RecordBatch:
    count = len(series)
    columns = [[getattr(trial, name)] * count for name in IDENTITY]
    columns += [[getattr(one, name) for one in series] for name in FIGURE]
    arrays = [pa.array(of, field.type) for of, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _parquet(batches: Sequence[pa.RecordBatch]) -> bytes:
    to = io.BytesIO()
    table = pa.Table.from_batches(batches, SCHEMA)
    pq.write_table(table, to, compression="zstd", write_page_checksum=True)
    return to.getvalue()


def _read(path: Path, cell: str | None, block: int | None) -> list[Kept]:
    wanted = [
        pc.field(name) == of for name, of in (("cell", cell), ("block", block)) if of is not None
    ]
    table = _table(path, reduce(and_, wanted) if wanted else None)
    try:
        return [_kept(row) for row in table.to_pylist()]
    except ValueError as error:
        raise _damaged(path, error) from error


def _table(path: Path, chosen: pc.Expression | None) -> Any:  # noqa: ANN401
    """Read the chosen rows of a file, or raise ResultsError."""
    try:
        found = pq.read_table(
            path, filters=chosen, partitioning=None, page_checksum_verification=True
        )
    except BROKEN as error:
        raise _damaged(path, error) from error
    _check(path, found.schema, SCHEMA)
    return found


def _check(path: Path, schema: pa.Schema, expected: pa.Schema) -> None:
    """Raise ResultsError where the columns are not those that are expected."""
    if schema.equals(expected, check_metadata=True):
        return
    own = (schema.metadata or {}).get(b"tare_format", b"")
    if own.isdigit():
        formats.refuse_newer({"format": int(own)}, formats.SAMPLES, path)
    raise _other_format(path)


def _other_format(path: Path) -> ResultsError:
    return ResultsError(f"{path} is not understood: its columns are of another format")


def _damaged(path: Path, why: object) -> ResultsError:
    return ResultsError(
        f"{path} is damaged or cannot be read: {why}; restore it from a copy, or move the folder "
        "away to go on without samples"
    )


def _kept(row: Mapping[str, Any]) -> Kept:
    """Make a row what it was; raise ValueError where times and values do not match."""
    known = dict(row)
    times_s, values = tuple(known.pop("time_s")), tuple(known.pop("value"))
    if len(times_s) != len(values):
        raise ValueError(f"{len(times_s)} times and {len(values)} values of {known['name']!r}")
    kind = Kind(known.pop("kind"))
    return Kept(kind=kind, times_s=times_s, values=values, **known)
