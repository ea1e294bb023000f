"""The table of what disturbed a study's trials, and sentences that differ in numbers only."""

from tare.core.model import NO_FACTS, NO_RUN, Complaint, ComplaintKind, Kind, Status
from tare.present.view.disturbances import disturbances, merged
from tare.present.view.study import describe
from tare.results.store import Results
from unit.makers import make_cell, make_plan, make_trial

HOT = Complaint(ComplaintKind.HEAT, {"times": 3.0})
OF, GONE = make_cell("host"), make_cell("gone", stack="host/gone")


def found(tmp_path, *trials):
    return describe(Results(tmp_path, "", make_plan(OF, GONE), NO_FACTS, NO_RUN, trials))


def foreign(share):
    return Complaint(ComplaintKind.FOREIGN, {"share": share})


def trial(block, noise, **more):
    return make_trial(OF, block, noise=noise, **more)


def test_a_platform_has_the_median_and_the_most_of_what_its_trials_saw(tmp_path):
    said = disturbances(
        found(
            tmp_path,
            trial(0, {}, kind=Kind.WARMUP),
            trial(1, {"steal": 0.0, "foreign": 0.02, "frequency_ratio": 1.1, "load": 3.0}),
            trial(2, {"steal": 0.25, "foreign": 0.04, "frequency_ratio": 0.8, "load": 3.0},
                  status=Status.SUSPECT, warnings=(foreign(0.11), HOT)),
            trial(2, {"steal": 0.01, "foreign": 0.5, "frequency_ratio": 1.0, "load": 3.0},
                  status=Status.SUSPECT, warnings=(foreign(0.54),), repeat=1),
        )
    )  # fmt: skip

    assert said.columns == ["stolen", "other work", "clock rate"]
    assert said.untold == ["CPU pressure", "memory pressure", "I/O pressure"]
    (row,) = said.rows  # the platform without a trial has none
    assert row[:4] == ("host", "3", "67 %", "1")
    assert row[4:] == ("1 | 25 %", "4 | 50 %", "100 | 80 %")
    assert said.reasons == [
        "other work took 11 to 54 % of the trial's CPU time (2 of 3 trials)",
        "heat throttled its CPUs 3 times (1 of 3 trials)",
    ]


def test_what_this_host_cannot_run_was_not_disturbed(tmp_path):
    trials = [
        trial(0, {"steal": 0.0}),
        trial(1, {"steal": 0.1}, status=Status.SUSPECT, reason="stolen"),
        make_trial(GONE, 0, status=Status.UNAVAILABLE, noise={"steal": 0.2}),
        trial(2, {}, status=Status.UNAVAILABLE),
    ]
    said = disturbances(found(tmp_path, *trials))

    (row,) = said.rows
    assert row == ("host", "2", "50 %", "0", "5 | 10 %")
    assert said.reasons == ["stolen (1 of 2 trials)"]


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


def test_sentences_may_have_any_character_in_them():
    told = ["a \0 1 b", "a 2 1 b", "\0"]
    assert merged(told) == dict.fromkeys(told, 1)


def test_the_notes_of_a_cell_name_each_kind_of_warning_once(tmp_path):
    told = found(
        tmp_path,
        trial(0, {}, warnings=(foreign(0.11), "asked 3 times")),
        trial(1, {}, warnings=(foreign(0.54), "asked 7 times")),
        trial(2, {}),
    )

    assert told.notes[OF.id] == (
        "other work took 11 to 54 % of the trial's CPU time (2 of 3 trials)",
        "asked 3 to 7 times (2 of 3 trials)",
    )
