"""The table of what disturbed a study's trials, and sentences that differ in numbers only."""

from dataclasses import replace

from tare.model import (
    Better,
    Cell,
    Kind,
    Limits,
    Metric,
    Plan,
    Repetition,
    Status,
    Trial,
    Unit,
)
from tare.report.disturbances import disturbances, merged
from tare.report.findings import describe
from tare.store import Results

TIME = Metric("time", Unit.SECOND, Better.LOWER)
OF = Cell(
    platform="host", stack="host", settings=(), workload="work", params=(),
    limits=Limits(cpus=1, memory_bytes=2**30),
)  # fmt: skip
GONE = replace(OF, platform="gone", stack="host/gone")


def found(tmp_path, *trials):
    plan = Plan(
        study="x", seed=1, baseline="host", cells=(OF, GONE), metrics={"work": (TIME,)},
        repetition=Repetition(), slots=(),
    )  # fmt: skip
    return describe(Results(tmp_path, "", plan, {}, {}, trials))


def trial(block, noise, **more):
    given = {"kind": Kind.MEASURED, "status": Status.OK, **more}
    return Trial(cell=OF.id, block=block, slot=0, instance="1", noise=noise, **given)


def test_a_platform_has_the_median_and_the_most_of_what_its_trials_saw(tmp_path):
    said = disturbances(
        found(
            tmp_path,
            trial(0, {}, kind=Kind.WARMUP),
            trial(1, {"steal": 0.0, "foreign": 0.02, "frequency_ratio": 1.1, "load": 3.0}),
            trial(2, {"steal": 0.25, "foreign": 0.04, "frequency_ratio": 0.8, "load": 3.0},
                  status=Status.SUSPECT, reason="other work took 11 %; heat"),
            trial(2, {"steal": 0.01, "foreign": 0.5, "frequency_ratio": 1.0, "load": 3.0},
                  status=Status.SUSPECT, reason="other work took 54 %", repeat=1),
        )
    )  # fmt: skip

    assert said.columns == ["stolen", "other work", "clock rate"]
    assert said.untold == ["CPU pressure", "memory pressure", "I/O pressure"]
    (row,) = said.rows  # the platform without a trial has none
    assert row[:4] == ("host", "3", "67 %", "1")
    assert row[4:] == ("1 | 25 %", "4 | 50 %", "100 | 80 %")
    assert said.reasons == ["other work took 11 to 54 % (2 of 3 trials)", "heat (1 of 3 trials)"]


def test_there_is_no_table_if_nothing_was_read(tmp_path):
    assert disturbances(found(tmp_path)) is None
    assert disturbances(found(tmp_path, trial(0, {}))) is None


def test_old_results_without_noise_still_tell_why_trials_were_suspect(tmp_path):
    said = disturbances(found(tmp_path, trial(0, {}, status=Status.SUSPECT, reason="swap")))

    assert (said.columns, said.reasons) == ([], ["swap (1 of 1 trials)"])


def test_sentences_that_differ_in_numbers_are_one_with_ranges():
    assert merged([]) == {}
    assert merged(["a 1 b", "c", "a 1 b"]) == {"a 1 b": 2, "c": 1}
    assert merged(["a 2.5 b 7", "a 10 b 7", "a 9 b 7"]) == {"a 2.5 to 10 b 7": 3}


def test_the_notes_of_a_cell_name_each_kind_of_warning_once(tmp_path):
    told = found(
        tmp_path,
        trial(0, {}, warnings=("other work took 11 %",)),
        trial(1, {}, warnings=("other work took 54 %",)),
        trial(2, {}),
    )

    assert told.notes[OF.id] == ("other work took 11 to 54 % (2 of 3 trials)",)
