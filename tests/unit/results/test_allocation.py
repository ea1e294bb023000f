import math

import numpy as np
import pytest

from tare.core.model import Evidence, Status
from tare.results.questions.allocation import needed_pairs, standings
from tare.results.stats.sequential import Verdict
from tare.results.study import compare
from unit.makers import make_cell, make_trial
from unit.makers import make_plan as plan

HOST, CONTROL = make_cell("host"), make_cell("host", replica=1)
DOCKER, QEMU = make_cell("host/docker"), make_cell("host/qemu")
STUDY = plan(HOST, CONTROL, DOCKER, QEMU)
MARGIN = math.log(1.02)


def series(of, factor=1.0, blocks=8, noise=0.01):
    rng = np.random.default_rng(int(of.id, 16))
    values = factor * np.exp(rng.normal(0, noise, blocks))
    return [make_trial(of, block, samples={"time": float(v)}) for block, v in enumerate(values)]


def measured(blocks=8, **noises):
    given = [*series(HOST, blocks=blocks), *series(CONTROL, blocks=blocks)]
    given += series(DOCKER, 2, blocks, noises.get("docker", 0.01))
    return given + series(QEMU, 1, blocks, noises.get("qemu", 0.3))


def test_compared_cells_have_a_standing_and_baseline_and_control_have_none():
    assert list(standings(STUDY, measured())) == [DOCKER.id, QEMU.id]


def test_a_control_that_is_the_only_comparison_has_a_standing():
    assert list(standings(plan(HOST, CONTROL), series(HOST) + series(CONTROL))) == [CONTROL.id]


def test_what_is_decided_rests_at_eight_pairs_and_what_is_open_goes_on():
    found = standings(STUDY, measured())
    docker, qemu = found[DOCKER.id], found[QEMU.id]
    assert (docker.pairs, docker.decided, docker.rests) == (8, True, True)
    assert docker.verdict is Verdict.SLOWER
    assert docker.cost == pytest.approx(2, rel=0.02)
    assert (qemu.pairs, qemu.decided, qemu.rests) == (8, False, False)
    assert qemu.verdict is Verdict.UNDECIDED


def test_the_half_width_is_that_of_the_interval_that_is_printed():
    trials = measured()
    row = next(one for one in compare(STUDY, trials).comparisons if one.cell == DOCKER)
    found = standings(STUDY, trials)[DOCKER.id].half_width
    assert found == pytest.approx(math.log(row.high / row.low) / 2)


def test_without_an_interval_there_is_no_half_width():
    assert standings(STUDY, measured(2))[DOCKER.id].half_width is None


def test_what_the_host_cannot_do_rests_and_is_not_decided():
    gone = make_trial(QEMU, status=Status.UNAVAILABLE, reason="no KVM")
    found = standings(STUDY, [*series(HOST), *series(DOCKER, 2), gone])[QEMU.id]
    assert (found.pairs, found.decided, found.rests) == (0, False, True)
    assert (found.verdict, found.cost) == (Verdict.NOT_MEASURED, None)


def test_where_established_verdicts_are_asked_a_likely_one_is_open():
    study = plan(HOST, CONTROL, DOCKER, QEMU, evidence=Evidence.ESTABLISHED)
    found = standings(study, measured())[DOCKER.id]
    assert (found.verdict, found.decided, found.rests) == (Verdict.SLOWER, False, False)


def test_the_maximum_rests_undecided():
    study = plan(HOST, CONTROL, DOCKER, QEMU, max_blocks=8)
    found = standings(study, measured())[QEMU.id]
    assert (found.decided, found.rests) == (False, True)


def test_nothing_measured_is_open():
    found = standings(STUDY, [])[DOCKER.id]
    assert (found.pairs, found.decided, found.rests, found.needed) == (0, False, False, 8)


def test_pairs_needed_follow_the_worked_examples():
    # Median 0.10 and deviations 0, 1, 1, 2, 2 %: the MAD is 0.01, the SD 0.0158.
    values = np.array([0.08, 0.09, 0.10, 0.11, 0.12])
    assert needed_pairs(values, MARGIN) == 8
    # The same about 0.01: the farther of 0 and the margin is 0.01; 12 (0.014826 / 0.01)**2.
    assert needed_pairs(values - 0.09, MARGIN) == pytest.approx(26.4, abs=0.1)
    # About 0 the margin of 0.0198 is to be excluded: 12 (0.014826 / 0.0198)**2 is below 8.
    assert needed_pairs(values - 0.10, MARGIN) == 8
    # Ten times as noisy: 12 (0.14826 / 0.0198)**2.
    assert needed_pairs(10 * (values - 0.10), MARGIN) == pytest.approx(672.7, abs=0.5)


def test_one_failure_does_not_hide_what_a_decision_needs():
    values = np.array([0.48, 0.49, 0.5, 0.51, math.inf])
    assert needed_pairs(values, MARGIN) == 8
    assert needed_pairs(np.full(4, math.inf), MARGIN) == 8
    assert math.isfinite(needed_pairs(np.array([math.inf, -math.inf, 0.1]), MARGIN))
