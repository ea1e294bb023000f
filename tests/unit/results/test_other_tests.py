"""The tests of older studies stand beside a verdict and decide nothing."""

import math

import numpy as np
import pytest
from scipy import stats

from tare.core.model import NO_FACTS, NO_RUN, Placement, Slot, Status
from tare.present.export.facts import as_json
from tare.present.page.html import Pages
from tare.present.view.study import StudyView
from tare.results.compare.estimates import Estimates
from tare.results.questions.other_tests import other_tests
from tare.results.store import Results
from tare.results.study import compare
from unit.makers import make_cell, make_plan, make_trial

HOST, DOCKER = make_cell("host"), make_cell("host/docker")
PLAN = make_plan(
    HOST,
    DOCKER,
    study="s",
    min_blocks=8,
    max_blocks=20,
    slots=tuple(
        Slot(block=b, slot=s, cell=c.id, placements=(Placement(instance=0),))
        for b in range(20)
        for s, c in enumerate((HOST, DOCKER))
    ),
)


def trials(values, failed=()):
    for of, own in zip((HOST, DOCKER), values, strict=True):
        for block, value in enumerate(own):
            status = Status.FAILED if (of, block) in failed else Status.OK
            samples = {"time": value} if status is Status.OK else {}
            yield make_trial(
                of, block, instance="a-0", status=status, duration_s=value, samples=samples
            )


@pytest.fixture
def drifting():
    """Give 20 pairs in which 5 % stand beside a drift of many times that."""
    rng = np.random.default_rng(3)
    base = np.linspace(1, 3, 20) * np.exp(rng.normal(0, 0.002, 20))
    return base, 1.05 * base * np.exp(rng.normal(0, 0.002, 20))


def test_they_are_those_of_scipy_on_the_trials(drifting):
    (found,) = other_tests(Estimates(PLAN, trials(drifting)))
    base, own = drifting

    assert found.cell == DOCKER
    assert found.student == pytest.approx(stats.ttest_ind(own, base).pvalue)
    assert found.welch == pytest.approx(stats.ttest_ind(own, base, equal_var=False).pvalue)
    exact = stats.mannwhitneyu(own, base, method="exact")
    assert found.mann_whitney == pytest.approx(exact.pvalue)
    assert found.paired_t == pytest.approx(stats.ttest_1samp(np.log(own / base), 0).pvalue)


def test_drift_hides_from_them_what_pairs_show(drifting):
    (found,) = other_tests(Estimates(PLAN, trials(drifting)))
    (row,) = compare(PLAN, trials(drifting)).comparisons

    assert row.verdict == "slower"
    assert min(found.student, found.welch, found.mann_whitney) > 0.5
    assert found.paired_t < 1e-6


@pytest.mark.parametrize(
    "values", [([], []), ([1.0], [1.0]), ([1.0] * 20, [1.0] * 20), ([math.inf] * 3, [1.0] * 3)]
)
def test_without_spread_or_values_there_is_no_answer_and_no_crash(values):
    (found,) = other_tests(Estimates(PLAN, trials(values)))

    assert found.student is found.welch is found.paired_t is None
    assert found.mann_whitney in (None, 1.0)


def test_failed_trials_are_in_none_of_them(drifting):
    whole = other_tests(Estimates(PLAN, trials(drifting)))[0]
    some = other_tests(Estimates(PLAN, trials(drifting, failed={(DOCKER, 3), (HOST, 5)})))[0]

    assert some.student is not None
    assert some.student != whole.student


def test_the_report_and_its_json_have_them(drifting, tmp_path):
    results = Results(tmp_path, "name: s", PLAN, NO_FACTS, NO_RUN, tuple(trials(drifting)))
    found = StudyView(results, compare(PLAN, results.trials))

    (row,) = (one for one in as_json(found)["rows"] if one["platform"] == "host/docker")
    assert row["p_student"] > 0.5
    assert row["p_paired_t"] < 1e-6
    assert "What the tests of older studies say" in Pages(found).report({})
