"""Sentences of a report tell cells apart that differ by a parameter alone, as a self-test's do."""

from dataclasses import replace

import pytest

from tare.core.model import NO_FACTS, Run
from tare.experiment.selftest import ARMS
from tare.present.export.markdown import markdown
from tare.present.page.html import Pages
from tare.present.report import describe
from tare.present.view.explanations import slower
from tare.present.view.summary import three_sentences
from tare.present.view.verdict_texts import summary
from tare.results.store import Results
from unit.experiment.test_selftest import planned, trials
from unit.invented import Study, noisy


@pytest.fixture(scope="module")
def selftest(tmp_path_factory):
    plan = planned()
    made = tuple(trials(plan, load=0.0))
    folder = tmp_path_factory.mktemp("selftest")
    return describe(Results(folder, "name: selftest\n", plan, NO_FACTS, Run(stop="done"), made))


def test_each_arm_of_a_self_test_has_a_sentence_of_its_own(selftest):
    said = summary(selftest)
    begins = [one.partition(" is ")[0] for one in said[: len(ARMS)]]

    assert begins == ["host (+0 % work)", "host (+1 % work)", "host (+3 % work)",
                      "host (+10 % work)"]  # fmt: skip
    assert said[0].startswith("host (+0 % work) is same within 2 % on injected_work (")
    assert said[3].startswith("host (+10 % work) is slower on injected_work (+")
    assert len({*said}) == len(said)


def test_the_arm_with_no_more_work_stands_for_the_control(selftest):
    last = summary(selftest)[-1]
    assert last.startswith("host (+0 % work) stands for the A/A control: it is the work of host ")
    assert "measured twice, and is same within 2 % (" in last
    assert "nobody knows" not in markdown(selftest)


def test_what_costs_more_because_it_does_more_is_not_called_the_same_work(selftest):
    first, *_ = three_sentences(selftest)
    assert first.startswith("With more work put into some, host (+0 % work) costs least beyond ")
    assert "; host (+10 % work) most: +" in first


def test_of_work_that_was_put_in_nobody_asks_why(selftest):
    assert [one.row.known for one in selftest.explanations if one.is_slower] == [
        0.01,
        0.03,
        0.1,
    ]
    assert slower(selftest) == []


def test_rows_of_one_workload_are_told_apart_by_their_parameters():
    study = Study(["host", "host/docker"])
    for size in (4096, 65536):
        given = (("block_bytes", size), ("depth", 1))
        study.add("fio", noisy({"host/docker": 1.0 + size / 65536}), params=given)
    said = summary(study.found())

    assert "fio · block 64 KiB (" in said[0]
    assert "fio · block 4 KiB (" in said[0]
    assert "depth" not in said[0]


def test_a_workload_without_parameters_is_told_by_its_limits_alone():
    (group,) = Study(["host"]).add("cpu", noisy({})).found().groups
    assert group.details == "1 CPU, 1 GiB, disk cache none"


def test_what_sampling_took_of_a_trial_is_told_for_each_platform():
    found = Study(["host", "host/docker"]).add("cpu", noisy({})).found()
    watched = [
        replace(one, duration_s=2.0, resources={"monitor_cpu_s": 0.001 * (place % 3)})
        for place, one in enumerate(found.results.trials)
        if found.plan.cells_by_id[one.cell].platform == "host"
    ]
    others = [
        replace(one, phases_s={"settle": 0.1})
        for one in found.results.trials
        if found.plan.cells_by_id[one.cell].platform != "host"
    ]
    trials = tuple(replace(one, phases_s={"settle": 0.1}) for one in watched) + tuple(others)
    found = describe(replace(found.results, trials=trials))

    assert found.sampling == {"host": (0.001, 0.0005)}
    page = Pages(found).report({})
    assert '<td class="n">1</td><td class="n">0.05 %</td></tr>' in page
    assert page.count('<td class="n">\N{EN DASH}</td><td class="n">\N{EN DASH}</td></tr>') == 1
