"""Suspect trials are run again at once, both are kept, and no more than a tenth of all."""

from dataclasses import replace
from importlib import import_module

import pytest

from tare.core.model import Complaint, ComplaintKind, Kind, Repeats, Status
from tare.experiment.run.repeats import REPEATED_SHARE
from tare.results.store import load
from tare.results.store.raw_output import raw_name
from tare.results.study import compare

FOREIGN = Complaint(ComplaintKind.FOREIGN, {"share": 0.6})


@pytest.fixture
def disturbed(monkeypatch):
    """Let trials be suspect; gives a list whose entries say it of one measurement each."""
    command = import_module("tare.experiment.trial.measure")
    really, told = command.measure, []

    def measure(*args, **more):
        outcome = really(*args, **more)
        if told and told.pop(0):
            return replace(outcome, status=Status.SUSPECT, reason="words", warnings=(FOREIGN,))
        return outcome

    monkeypatch.setattr(command, "measure", measure)
    return told


def measured(results):
    return [trial for trial in results.trials if trial.kind is Kind.MEASURED]


def test_no_more_than_a_tenth_is_run_again_however_many_are_suspect(lab, disturbed):
    disturbed += [True] * 1000
    results = lab.run(lab.text({"base": {"sim": {}}, "dear": {"sim": {"cost": 1.2}}}))

    trials = measured(results)
    again = [trial for trial in trials if trial.repeat]
    assert len(again) == int(REPEATED_SHARE * len(trials)) > 0
    assert results.run.sessions[-1].repeats == Repeats(
        suspect=len(trials), run_again=len(again), largest_share=REPEATED_SHARE
    )


def test_both_are_kept_and_the_good_one_counts(lab, disturbed):
    # Of one instance: a warm-up for each of two cells, then twenty trials, the last one suspect.
    disturbed += [False] * 21 + [True]
    text = lab.text(
        {"base": {"sim": {}}}, repetition={"min_blocks": 15, "max_blocks": 15, "instances": 1}
    )
    results = load(lab.run(text).folder)

    first, second = (t for t in measured(results) if t.block == next(
        one.block for one in measured(results) if one.repeat) and t.cell == next(
        one.cell for one in measured(results) if one.repeat))  # fmt: skip
    assert (first.status, second.status) == (Status.SUSPECT, Status.OK)
    assert (first.complaints, second.complaints) == ((FOREIGN,), ())
    assert (first.repeat, second.repeat) == (0, 1)
    assert (first.slot, first.instance) == (second.slot, second.instance)
    for trial in (first, second):
        assert (results.folder / "raw" / raw_name(trial) / "stdout").exists()
    (row,) = compare(results.plan, results.trials).comparisons[:1]
    assert row.suspect == 0
    assert len(measured(results)) == len(results.plan.slots) + 1


def test_a_good_trial_is_not_run_again(lab, disturbed):
    results = lab.run(lab.text({"base": {"sim": {}}, "dear": {"sim": {"cost": 1.2}}}))

    assert len(measured(results)) == len(results.plan.slots)
    assert all(trial.repeat == 0 for trial in results.trials)


def test_what_no_thread_of_this_host_does_is_neither_settled_for_nor_paused(lab):
    results = lab.run(lab.text({"base": {"sim": {}}}))

    assert all(not {"settle", "jitter"} & trial.phases_s.keys() for trial in results.trials)
    assert all(not trial.noise for trial in results.trials)
