"""Results on disk: written once, whole or not at all, and read back as they were."""

import json
import math
import shlex
import shutil
import subprocess
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest

from tare.core.completed import Completed
from tare.core.errors import ResultsError
from tare.core.model import (
    NO_FACTS,
    NO_RUN,
    Complaint,
    ComplaintKind,
    HostCost,
    Kind,
    Part,
    Status,
    Trial,
)
from tare.results.store import Writer, formats, load, raw_output
from tare.results.store.raw_output import INDEX, raw_name, raw_of, read_raw
from tare.results.store.reader import read_trials

TRIAL = Trial(
    cell="0123456789",
    block=3,
    slot=2,
    kind=Kind.MEASURED,
    instance="abc123-0",
    status=Status.OK,
    started_at="2026-01-02T03:04:05.678+00:00",
    duration_s=1.25,
    samples={"events": 1234.5, "latency_mean": 1e-9},
    host=HostCost(cpu_s=1.0, run_delay_s=0.1, all_cpu_s=1.1, coverage=0.9, threads=2),
    phases_s={"command": 1.25},
    warnings=("it took long to settle", Complaint(ComplaintKind.SWAPPED, {"pages": 3.0})),
    session="abc123",
)
DONE = Completed(("env", "sysbench", "größe"), 0, b"\x00\xff out\n", b"err", 1.25)


@pytest.fixture
def writer(tmp_path):
    made = Writer(tmp_path / "results")
    yield made
    made.close()


def stored(writer):
    return read_trials(writer.folder / "trials.jsonl")


@pytest.mark.parametrize(
    "trial",
    [
        TRIAL,
        replace(TRIAL, host=None, samples={}, status=Status.DNR, reason='"quoted"\nü\u2028\x00'),
        replace(TRIAL, kind=Kind.WARMUP, status=Status.SUSPECT),
        replace(TRIAL, status=Status.FAILED, samples={"events": math.inf}),
        replace(TRIAL, samples={"events": 5e-324, "other": 1.7976931348623157e308}),
    ],
)
def test_a_trial_is_read_back_as_it_was_written(writer, trial):
    writer.trial(trial, None)

    assert stored(writer) == (trial,)


def test_a_number_that_is_none_is_read_back(writer):
    writer.trial(replace(TRIAL, status=Status.FAILED, samples={"events": math.nan}), None)

    (trial,) = stored(writer)
    assert math.isnan(trial.samples["events"])


def test_a_line_has_every_field_of_a_trial_and_of_its_parts_in_the_order_it_always_had(writer):
    host = HostCost(cpu_s=1.0, run_delay_s=0.1, all_cpu_s=1.1, coverage=0.9, threads=2)
    part = Part(name="client", instance="abc123-0", status=Status.OK, host=host, late_s=0.5)
    writer.trial(replace(TRIAL, parts=(part,)), None)

    (line,) = (writer.folder / "trials.jsonl").read_text().splitlines()
    content = json.loads(line)
    assert list(content) == [
        "format", "cell", "block", "slot", "kind", "instance", "status", "reason", "started_at",
        "duration_s", "samples", "host", "phases_s", "warnings", "noise", "resources", "repeat",
        "cpuset", "entry", "session", "parts",
    ]  # fmt: skip
    # A partner is what a trial of one of several cells is given when it is read.
    assert content.keys() - {"format"} == {one.name for one in fields(Trial)} - {"partner"}
    (in_line,) = content["parts"]
    assert list(in_line) == [
        "name", "instance", "status", "reason", "duration_s", "samples", "host", "noise",
        "resources", "cpuset", "late_s", "cell", "warnings", "platform",
    ]  # fmt: skip
    assert in_line.keys() == {one.name for one in fields(Part)}
    assert in_line["host"] == asdict(host)
    assert stored(writer)[-1].parts == (part,)


def test_a_trial_of_two_cells_is_one_line_and_is_read_as_one_of_each(writer):
    first = Part(
        name="reference", cell="b", instance="abc123-0", status=Status.OK, duration_s=2.0,
        samples={"events": 5.0}, cpuset="1", late_s=0.0,
    )  # fmt: skip
    stolen = Complaint(ComplaintKind.STOLEN, {"share": 0.2})
    second = replace(
        first, name="subject", cell="a", status=Status.SUSPECT, reason="stolen", duration_s=3.0,
        samples={"events": 4.0}, cpuset="0", late_s=0.002, warnings=(stolen, "\x1b[31mred"),
    )  # fmt: skip
    whole = replace(
        TRIAL, cell="a", slot=4, started_at="2026-01-01T00:00:00.000+00:00",
        phases_s={"setup": 0.1, "command": 3.002}, parts=(first, second),
    )  # fmt: skip
    printed = [Completed((name,), 0, name.encode(), b"", 1.0) for name in ("b", "a")]
    writer.trial(whole, *printed)

    assert len((writer.folder / "trials.jsonl").read_text().splitlines()) == 1
    reference, subject = stored(writer)
    assert (reference.cell, reference.partner, reference.slot) == ("b", "a", 4)
    assert (subject.cell, subject.partner, subject.slot) == ("a", "b", 5)
    assert (subject.status, subject.samples, subject.cpuset) == (
        Status.SUSPECT, {"events": 4.0}, "0",
    )  # fmt: skip
    assert subject.warnings == (stolen, "\\x1b[31mred")
    assert subject.started_at == "2026-01-01T00:00:00.002+00:00"
    assert subject.phases_s == {"setup": 0.1, "command": 3.0}
    assert (writer.folder / "raw" / raw_name(subject) / "stdout").read_bytes() == b"a"
    assert (writer.folder / "raw" / raw_name(reference) / "stdout").read_bytes() == b"b"


def test_trials_are_one_line_each_in_the_order_in_which_they_ended(writer):
    trials = [replace(TRIAL, block=block) for block in (2, 0, 1)]
    for trial in trials:
        writer.trial(trial, None)

    assert stored(writer) == tuple(trials)
    lines = (writer.folder / "trials.jsonl").read_text().splitlines()
    assert [json.loads(line)["format"] for line in lines] == [formats.TRIALS] * 3


def test_the_raw_output_is_kept_byte_for_byte(writer):
    writer.trial(TRIAL, DONE)

    raw = writer.folder / "raw" / "0003-0002-measured-abc123-0"
    assert (raw / "stdout").read_bytes() == DONE.stdout
    assert (raw / "stderr").read_bytes() == DONE.stderr
    command = json.loads((raw / "command.json").read_text())
    assert command == {
        "format": 1, "argv": list(DONE.argv), "status": 0, "timed_out": False, "duration_s": 1.25,
    }  # fmt: skip


@pytest.fixture
def many(monkeypatch):
    """Results of so many trials that the index of their raw output is believed."""
    monkeypatch.setattr(raw_output, "LOOKED_INTO", 0)


@pytest.mark.usefixtures("many")
def test_the_index_of_raw_output_says_what_every_folder_holds(writer):
    other, spaced = replace(TRIAL, block=4), replace(DONE, argv=("fio", "a b"), stderr=b"")
    writer.trial(TRIAL, DONE)
    writer.trial(other, spaced)

    for name in (INDEX, "nothing"):  # by the index, and by looking, as where there is none
        found = read_raw(writer.folder)
        assert found == {
            raw_name(TRIAL): (("command.json", "stderr", "stdout"), shlex.join(DONE.argv)),
            raw_name(other): (("command.json", "stdout"), "fio 'a b'"),
        }
        assert found == {each: raw_of(writer.folder, each) for each in found}
        (writer.folder / "raw" / name).unlink(missing_ok=True)


@pytest.mark.usefixtures("many")
def test_the_index_of_raw_output_spares_looking_into_many_folders(writer, monkeypatch):
    writer.trial(TRIAL, DONE)
    monkeypatch.setattr(raw_output, "raw_of", None)

    assert list(read_raw(writer.folder)) == [raw_name(TRIAL)]


def test_few_folders_of_raw_output_are_looked_into_whatever_the_index_says(writer):
    writer.trial(TRIAL, DONE)
    (writer.folder / "raw" / raw_name(TRIAL) / "stdout").unlink()

    ((files, _),) = read_raw(writer.folder).values()
    assert files == ("command.json", "stderr")


@pytest.mark.usefixtures("many")
def test_raw_output_that_was_removed_is_not_stored_whatever_the_index_says(writer):
    other = replace(TRIAL, block=4)
    writer.trial(TRIAL, DONE)
    writer.trial(other, DONE)
    shutil.rmtree(writer.folder / "raw" / raw_name(TRIAL))

    assert list(read_raw(writer.folder)) == [raw_name(other)]


@pytest.mark.usefixtures("many")
def test_of_raw_output_that_was_written_anew_the_index_says_the_last(writer):
    writer.trial(TRIAL, DONE)
    shutil.rmtree(writer.folder / "raw" / raw_name(TRIAL))
    writer.trial(TRIAL, replace(DONE, argv=("again",), stderr=b""))

    assert read_raw(writer.folder) == {raw_name(TRIAL): (("command.json", "stdout"), "again")}


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"[]\n",
        b'"\xff',
        b"null\n",
        b'{"name": 3}\n',
        b'{"name": [], "files": []}\n',
        *(
            f'{{"name": "{raw_name(TRIAL)}", "files": {files}}}\n'.encode()
            for files in ("3", "[]", "[3]", '"stdout"', '["../../x"]', '[".."]', '["a\\u001b"]')
        ),
    ],
)
def test_a_damaged_index_of_raw_output_costs_only_time(tmp_path, damage):
    first = Writer(tmp_path)
    first.trial(TRIAL, DONE)
    first.close()
    index = tmp_path / "raw" / INDEX
    index.write_bytes(damage + index.read_bytes()[:-9])
    second = Writer(tmp_path)
    second.trial(replace(TRIAL, block=4), DONE)
    second.close()

    found = read_raw(tmp_path)
    assert len(found) == 2
    assert found == {name: raw_of(tmp_path, name) for name in found}


def test_what_is_written_is_on_the_disk_before_writing_returns(tmp_path):
    """As strace would show it: the line is written, then fsync is called on the same file."""
    writer = Writer(tmp_path / "results")
    writer.trial(TRIAL, None)
    # Nothing is kept back in a buffer of ours: another reader sees the whole line at once.
    seen = subprocess.run(
        ["cat", tmp_path / "results" / "trials.jsonl"],  # noqa: S607
        capture_output=True,
        check=True,
    ).stdout
    writer.close()

    assert seen.endswith(b"\n")
    assert seen == (tmp_path / "results" / "trials.jsonl").read_bytes()


@pytest.mark.parametrize("cut", [1, 20, 100])
def test_a_line_cut_short_is_no_trial_and_is_dropped_by_the_next_writer(tmp_path, cut):
    folder = tmp_path / "results"
    first = Writer(folder)
    first.trial(TRIAL, None)
    first.trial(replace(TRIAL, block=4), None)
    first.close()
    path = folder / "trials.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_trials(path) == (TRIAL,)

    second = Writer(folder)
    second.trial(replace(TRIAL, block=5), None)
    second.close()

    assert [trial.block for trial in read_trials(path)] == [3, 5]


def test_a_line_that_is_damaged_is_an_error_that_names_it(writer):
    writer.trial(TRIAL, None)
    path = writer.folder / "trials.jsonl"
    path.write_bytes(b'{"cell": 1}\n' + path.read_bytes())

    with pytest.raises(ResultsError, match=r"trials.jsonl:1: not a trial"):
        read_trials(path)


OF_FORMAT_1 = {
    "the hypervisor below stole 28 % of the CPU time": Complaint(
        ComplaintKind.STOLEN, {"share": 0.28}
    ),
    "other work took 157 % of the trial's CPU time": Complaint(
        ComplaintKind.FOREIGN, {"share": 1.57}
    ),
    "the host was short of memory in 12 % of the time": Complaint(
        ComplaintKind.MEMORY, {"share": 0.12}
    ),
    "the host swapped 8 pages": Complaint(ComplaintKind.SWAPPED, {"pages": 8}),
    "heat throttled its CPUs 1 times": Complaint(ComplaintKind.HEAT, {"times": 1}),
    "its CPUs ran at 89 % of their base frequency": Complaint(
        ComplaintKind.SLOW_CLOCK, {"ratio": 0.89}
    ),
    "the machine outside was busy for 95 % of the time: it may be the bottleneck, and not what is "
    "measured": Complaint(ComplaintKind.PEER_BUSY, {"share": 0.95}),
    "the machine outside shares the trial's CPUs, for this host has no others": Complaint(
        ComplaintKind.PEER_SHARED
    ),
}


def as_format_1(writer, trial):
    writer.trial(replace(trial, warnings=()), None)
    path = writer.folder / "trials.jsonl"
    line = {**json.loads(path.read_text()), "format": 1, "warnings": trial.warnings}
    path.write_text(json.dumps(line, separators=(",", ":")) + "\n")
    (read,) = read_trials(path)
    return read


@pytest.mark.parametrize(("text", "complaint"), OF_FORMAT_1.items())
def test_the_words_of_a_suspect_trial_of_the_first_format_are_read_as_kinds(
    writer, text, complaint
):
    old = replace(
        TRIAL,
        status=Status.SUSPECT,
        reason=f"{text}; the host swapped 3 pages",
        warnings=("it took long", text),
        samples={"events": math.inf},
    )
    read = as_format_1(writer, old)

    swapped = Complaint(ComplaintKind.SWAPPED, {"pages": 3})
    assert read == replace(old, warnings=("it took long", complaint, swapped))


@pytest.mark.parametrize("status", [Status.FAILED, Status.OK])
def test_other_trials_of_the_first_format_keep_their_words(writer, status):
    old = replace(TRIAL, status=status, reason="suspect", warnings=("the host swapped 8 pages",))

    assert as_format_1(writer, old) == old


def test_a_reason_that_nobody_knows_is_left_as_it_was(writer):
    old = replace(TRIAL, status=Status.SUSPECT, reason="odd", warnings=("odd",))

    assert as_format_1(writer, old) == old


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], check=True)  # noqa: S607
    yield folder
    subprocess.run(["umount", folder], check=True)  # noqa: S607


@pytest.mark.needs("root")
@pytest.mark.parametrize("output_bytes", [0, 1000, 20_000, 60_000])
def test_a_full_disk_keeps_every_earlier_trial(small_disk, output_bytes):
    writer = Writer(small_disk / "results")
    done = replace(DONE, stdout=bytes(output_bytes))
    written = []
    with pytest.raises(ResultsError, match="make room, then tare run"):  # noqa: PT012
        for block in range(10_000):
            trial = replace(TRIAL, block=block, reason="x" * 500)
            writer.trial(trial, done if output_bytes else None)
            written.append(trial)
    assert stored(writer) == tuple(written)

    subprocess.run(["mount", "-o", "remount,size=1m", small_disk], check=True)  # noqa: S607
    writer.trial(replace(TRIAL, block=77_777), done)
    writer.close()
    assert stored(writer)[:-1] == tuple(written)
    assert stored(writer)[-1].block == 77_777
    kept = {path.name for path in (small_disk / "results" / "raw").iterdir()} - {INDEX}
    assert set(read_raw(small_disk / "results")) == kept
    assert len(kept) == (len(written) if output_bytes else 0) + 1


@pytest.mark.needs("root")
def test_a_file_that_cannot_be_replaced_stays_as_it_was(small_disk):
    writer = Writer(small_disk / "results")
    writer.facts({"first": 1})
    with pytest.raises(ResultsError, match=r"cannot write .*facts.json: No space left"):
        writer.facts({"second": "x" * 100_000})
    writer.close()

    assert json.loads((small_disk / "results" / "facts.json").read_text()) == {
        "format": 1,
        "first": 1,
    }
    assert not (small_disk / "results" / "facts.new").exists()


def test_results_are_read_as_far_as_they_are_there(lab):
    text = lab.text({"base": {"sim": {}}})
    _, plan, folder = lab.begin(text)

    results = load(folder)

    assert results.plan == plan
    assert results.study == text
    assert (results.facts, results.run, results.trials) == (NO_FACTS, NO_RUN, ())


def test_a_folder_without_a_plan_is_no_results(tmp_path):
    with pytest.raises(ResultsError, match=r"is no results directory: it has no plan.json"):
        load(tmp_path)


def test_a_folder_that_cannot_be_written_is_said():
    with pytest.raises(ResultsError, match="cannot write results to /proc/tare"):
        Writer(Path("/proc/tare"))
