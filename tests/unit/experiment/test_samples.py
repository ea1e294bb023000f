"""Samples in Parquet: what was written is read back, or one sentence says why it cannot be."""

import signal
import subprocess
import sys
from dataclasses import asdict, replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tare.core.errors import ResultsError
from tare.core.model import Kind
from tare.experiment.probes.series import Series
from tare.results.store import samples
from tare.results.store.samples import TRIALS_A_FILE, Samples
from unit.makers import make_trial, store_samples

TRIAL = make_trial("0123456789", 3, slot=2, instance="abc123-0")


CPU = Series("layer", "cpu_s", (0.0, 0.5, 1.25), (10.0, 10.25, 5e-324))
DISK = Series("host", "disk_reads", (0.0,), (2.0**52,), device="vda")
LACK = Series("host", "energy_j", reason='not available here: "<script>"\nü', is_counter=True)
HELD = Series("layer", "memory_bytes", (0.0,), (4096.0,), is_counter=False)


class Clock:
    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s


def write(folder, *trials, series=(CPU,)):
    store_samples(folder, *((trial, series) for trial in trials))


def names(folder):
    return sorted(path.name for path in (folder / "samples").iterdir())


def test_samples_are_read_back_as_they_were_written(tmp_path):
    write(tmp_path, TRIAL, series=(CPU, DISK, LACK, HELD))

    kept = samples.read(tmp_path)

    assert len(kept) == 4
    for one, series in zip(kept, (CPU, DISK, LACK, HELD), strict=True):
        assert {name: getattr(one, name) for name in samples.FIGURE} == asdict(series)
        assert one.is_of(TRIAL)
        assert one.kind is Kind.MEASURED


def test_values_that_are_no_numbers_stay_what_they_are(tmp_path):
    odd = replace(CPU, values=(float("inf"), float("-inf"), float("nan")))

    write(tmp_path, TRIAL, series=[odd])

    assert [str(value) for value in samples.read(tmp_path)[0].values] == ["inf", "-inf", "nan"]


def test_a_cell_or_a_block_is_read_alone(tmp_path):
    trials = [replace(TRIAL, cell=cell, block=block) for block in (0, 1) for cell in ("a", "b")]
    write(tmp_path, *trials)

    def seen(**wanted):
        return [(one.cell, one.block) for one in samples.read(tmp_path, **wanted)]

    assert seen() == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert seen(cell="a") == [("a", 0), ("a", 1)]
    assert seen(block=0) == [("a", 0), ("b", 0)]
    assert seen(cell="b", block=1) == [("b", 1)]
    assert seen(cell="<script>") == []
    assert seen(block=7) == []


@pytest.mark.parametrize(
    "other",
    [
        {"kind": Kind.WARMUP},
        {"repeat": 1},
        {"instance": "abc123-1"},
        {"slot": 3},
        {"block": 4},
        {"cell": "<script>"},
    ],
)
def test_trials_of_one_slot_are_told_apart(tmp_path, other):
    trial = replace(TRIAL, **other)
    write(tmp_path, TRIAL, trial)

    assert [one.is_of(trial) for one in samples.read(tmp_path)] == [False, True]


def test_a_later_session_leaves_what_is_there(tmp_path):
    write(tmp_path, TRIAL)
    before = (tmp_path / "samples/000000.parquet").read_bytes()

    write(tmp_path, replace(TRIAL, block=4))

    assert (tmp_path / "samples/000000.parquet").read_bytes() == before
    assert [one.block for one in samples.read(tmp_path)] == [3, 4]


def test_short_trials_share_a_write(tmp_path):
    clock = Clock()
    session = Samples(tmp_path, clock)

    clock.now_s = 0.5
    session.add(TRIAL, [CPU])
    assert names(tmp_path) == []

    clock.now_s = 1.0
    session.add(replace(TRIAL, block=4), [CPU])
    assert len(samples.read(tmp_path)) == 2

    clock.now_s = 1.5
    session.add(replace(TRIAL, block=5), [CPU])
    assert len(samples.read(tmp_path)) == 2

    session.close()
    assert len(samples.read(tmp_path)) == 3
    assert names(tmp_path) == ["000000.parquet"]


def test_of_trials_of_a_second_each_is_written_as_it_ends(tmp_path):
    clock = Clock()
    session = Samples(tmp_path, clock)

    for block, now_s in enumerate((1.002, 2.001, 3.0), 1):  # a whole second has not passed
        clock.now_s = now_s
        session.add(replace(TRIAL, block=block), [CPU])
        assert len(samples.read(tmp_path)) == block


def test_a_file_is_full_after_so_many_trials(tmp_path):
    session = Samples(tmp_path, Clock())  # which stands still

    for block in range(TRIALS_A_FILE + 1):
        session.add(replace(TRIAL, block=block), [CPU])

    assert names(tmp_path) == ["000000.parquet"]
    session.close()
    assert names(tmp_path) == ["000000.parquet", "000001.parquet"]
    assert [one.block for one in samples.read(tmp_path)] == list(range(TRIALS_A_FILE + 1))


def test_a_file_is_full_after_so_many_values(tmp_path):
    session = Samples(tmp_path, Clock())
    long = Series(
        "host", "cpu_idle_s", (0.0,) * samples.VALUES_A_FILE, (1.0,) * samples.VALUES_A_FILE
    )

    session.add(TRIAL, [long])
    session.add(TRIAL, [CPU])
    session.close()

    assert names(tmp_path) == ["000000.parquet", "000001.parquet"]


def test_a_trial_without_series_and_a_session_without_trials_are_nothing(tmp_path):
    write(tmp_path)
    assert samples.read(tmp_path) == ()

    write(tmp_path, TRIAL, series=())
    assert samples.read(tmp_path) == ()


def test_a_kill_damages_nothing_that_was_written(tmp_path):
    script = f"""
import sys
from pathlib import Path
from tare.core.model import Kind, Status, Trial
from tare.results.store.samples import Samples
from types import SimpleNamespace

one = SimpleNamespace(source="host", name="cpu_idle_s", device="", is_counter=True, reason="",
                      times_s=(0.0,), values=(1.0,))
now_s = iter(range(10**9))
session = Samples(Path({str(tmp_path)!r}), lambda: next(now_s))
block = 0
while True:
    session.add(Trial(cell="a", block=block, slot=0, kind=Kind.MEASURED, instance="0",
                      status=Status.OK), [one])
    block += 1
    print(block, flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as process:
        told = [process.stdout.readline() for _ in range(5)]
        process.send_signal(signal.SIGKILL)
        process.wait()

    blocks = [one.block for one in samples.read(tmp_path)]
    assert told[-1] == "5\n"
    assert blocks == list(range(len(blocks)))
    assert len(blocks) >= 5


def test_what_a_kill_left_half_written_is_taken_away(tmp_path):
    write(tmp_path, TRIAL)
    (tmp_path / "samples/000001.parquet.new").write_bytes(b"PAR1 torn")

    assert len(samples.read(tmp_path)) == 1
    write(tmp_path, TRIAL)

    assert names(tmp_path) == ["000000.parquet", "000001.parquet"]


def test_a_results_directory_without_samples_says_so(tmp_path):
    with pytest.raises(ResultsError, match="has no samples"):
        samples.read(tmp_path)


def truncated(content):
    return content[: len(content) // 2]


def flipped(content):
    """Change a bit of a value, where only a checksum tells."""
    at = len(content) // 10
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.mark.parametrize("damage", [truncated, flipped, lambda _: b"", lambda _: b"PAR1<script>"])
def test_a_damaged_file_is_one_clear_error(tmp_path, damage):
    write(tmp_path, *(replace(TRIAL, block=block) for block in range(20)), series=(CPU, LACK))
    path = tmp_path / "samples/000000.parquet"
    path.write_bytes(damage(path.read_bytes()))

    with pytest.raises(ResultsError, match=f"{path} is damaged or cannot be read"):
        samples.read(tmp_path)


def test_a_file_that_is_missing_in_the_row_is_an_error(tmp_path):
    for block in range(3):
        write(tmp_path, replace(TRIAL, block=block))
    (tmp_path / "samples/000001.parquet").unlink()

    with pytest.raises(ResultsError, match=r"000001\.parquet is missing"):
        samples.read(tmp_path)
    with pytest.raises(ResultsError, match=r"000001\.parquet is missing"):
        Samples(tmp_path)


def test_a_file_of_another_format_is_refused(tmp_path):
    write(tmp_path, TRIAL)
    path = tmp_path / "samples/000000.parquet"
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({"tare_format": "2"}), path)

    with pytest.raises(ResultsError, match="was written by a newer Tare"):
        samples.read(tmp_path)
    pq.write_table(table.drop_columns(["reason"]), path)
    with pytest.raises(ResultsError, match="not understood"):
        samples.read(tmp_path)
    with pytest.raises(ResultsError, match=str(path)):
        samples.read(tmp_path, cell="a")


def test_times_without_values_are_damage(tmp_path):
    (tmp_path / "samples").mkdir()
    row = {"cell": "a", "block": 0, "slot": 0, "kind": "measured", "instance": "0", "repeat": 0,
           "source": "host", "name": "x", "device": "", "is_counter": True, "reason": "",
           "time_s": [0.0, 1.0], "value": [1.0]}  # fmt: skip
    path = tmp_path / "samples/000000.parquet"
    pq.write_table(pa.Table.from_pylist([row], samples.SCHEMA), path)

    with pytest.raises(ResultsError, match="2 times and 1 values of 'x'"):
        samples.read(tmp_path)

    pq.write_table(pa.Table.from_pylist([row | {"kind": "<script>"}], samples.SCHEMA), path)
    with pytest.raises(ResultsError, match="damaged"):
        samples.read(tmp_path)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "samples").write_text("a file")

    with pytest.raises(ResultsError, match="cannot write samples to"):
        Samples(tmp_path)


def test_a_write_that_fails_says_what_is_kept(tmp_path):
    session = Samples(tmp_path, Clock())
    session.add(TRIAL, [CPU])
    (tmp_path / "samples").rmdir()

    with pytest.raises(ResultsError, match="all samples before are kept"):
        session.close()
