"""What is said of how steady a comparison was: each thing where it is, and only there."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tare.core.model import HostCost
from tare.present.view.flags import flag_texts
from tare.results.checks.course import LEVEL, Series, course, modes
from tare.results.checks.outliers import tagged
from tare.results.study import compare
from unit.makers import make_cell, make_plan, make_trial

BLOCKS = 40
MARGIN = math.log(1.02)


def cell(name, *, replica=0):
    return make_cell(name, stack=f"host/{name}", workload="work", replica=replica)


BASE, DEAR = cell("base"), cell("dear")


def plan(*, margin=0.02):
    return make_plan(BASE, DEAR, max_blocks=BLOCKS, margin=margin)


def trials(base, dear, *, first=None, **fields):
    """Trials of two cells from the logs of their values; ``first`` says who comes first."""
    first = np.zeros(len(base)) if first is None else first
    return [
        make_trial(
            of,
            block,
            slot=2 * block + int(place != first[block]),
            started_at=f"2026-11-21T10:{block:02d}:{30 * int(place != first[block]):02d}+00:00",
            duration_s=1.0,
            samples={"time": math.exp(log)},
            **fields,
        )
        for block in range(len(base))
        for place, (of, log) in enumerate([(BASE, base[block]), (DEAR, dear[block])])
    ]


def flags(base, dear, *, margin=0.02, **more):
    row = compare(plan(margin=margin), trials(base, dear, **more)).comparisons[0]
    return tuple(flag for flag in flag_texts(row.flags) if not flag.startswith("Decided at"))


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def quiet(rng, sd=0.01, n=BLOCKS):
    return rng.normal(0, sd, n)


STEP = np.repeat([0.0, 0.12], BLOCKS // 2)
RAMP = np.linspace(0, 0.15, BLOCKS)


def test_steady_series_have_hardly_ever_a_flag():
    found = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        coin = rng.integers(0, 2, BLOCKS)
        found += bool(flags(quiet(rng, 0.04), quiet(rng, 0.04), first=coin))
    # Four series and six tests at 1 %, most of which are screened out by size; tags at 5 MADsd.
    assert found <= 10


def test_a_drift_of_the_baseline_is_named_and_the_cost_is_not_in_doubt(rng):
    (flag,) = flags(RAMP + quiet(rng), RAMP + quiet(rng))

    assert flag.startswith("Drift: the baseline became 1")
    assert "% worse from the first third of the session to the last (tau 0." in flag
    assert "p < 0.001" in flag
    assert "the cost does not follow it" in flag


def test_a_drift_of_the_cost_is_another_thing(rng):
    said = flags(quiet(rng), RAMP + quiet(rng))

    assert any(flag.startswith("Drift: the cost itself rose by 1") for flag in said)
    assert not any("the baseline became" in flag for flag in said)


def test_a_baseline_that_gets_better_is_said_to(rng):
    (flag,) = flags(quiet(rng) - RAMP, quiet(rng) - RAMP)

    assert "% better from the first third" in flag


def test_a_drift_within_the_margin_is_not_named(rng):
    slight = RAMP / 10
    assert flags(slight + quiet(rng, 1e-4), slight + quiet(rng, 1e-4)) == ()
    assert flags(slight + quiet(rng, 1e-4), slight + quiet(rng, 1e-4), margin=0.005)


def test_a_step_of_the_host_makes_two_regimes_and_no_drift(rng):
    (flag,) = flags(STEP + quiet(rng), STEP + quiet(rng))

    assert flag.startswith("Measured across 2 regimes of the host")
    assert "+13 % from block 20" in flag or "+12 % from block 20" in flag


def test_a_cost_that_steps_differs_by_regime(rng):
    said = flags(quiet(rng, 0.004), STEP + quiet(rng, 0.004))

    (flag,) = (one for one in said if "differs by regime" in one)
    assert "from block 0, +1" in flag
    assert "% from block 20" in flag


def test_neighbouring_pairs_that_hang_together_are_named(rng):
    waves = np.zeros(BLOCKS)
    for at in range(1, BLOCKS):
        waves[at] = -0.7 * waves[at - 1] + rng.normal(0, 0.02)

    said = flags(quiet(rng, 0.001), waves)

    assert any(
        "Neighbouring pairs are not independent (lag-1 autocorrelation -0." in one for one in said
    )


def test_two_levels_of_the_cost_are_two_modes(rng):
    levels = np.where(rng.random(BLOCKS) < 0.5, 0.0, 0.1)

    (flag,) = flags(quiet(rng, 0.005), levels + quiet(rng, 0.005))

    low = int((levels == 0).sum())
    assert flag.startswith("Two modes: the pairs lie around two levels, 1")
    assert f"{low} at the lower and {BLOCKS - low} at the upper" in flag


def test_the_place_in_the_block_matters_if_the_first_is_slower(rng):
    first = rng.integers(0, 2, BLOCKS)
    base = quiet(rng) + 0.06 * (first == 0)
    dear = quiet(rng) + 0.06 * (first == 1)

    said = flags(base, dear, first=first)

    (flag,) = (one for one in said if one.startswith("Order matters"))
    assert "place 1 of its block costs 6" in flag
    assert "more than in place 2" in flag


def test_short_series_and_such_without_times_are_dealt_with(rng):
    assert flags(RAMP[:9], RAMP[:9]) == ()
    bare = [replace(one, started_at="") for one in trials(RAMP + quiet(rng), RAMP + quiet(rng))]
    row = compare(plan(), bare).comparisons[0]
    assert flag_texts(row.flags)[0].startswith("Drift: the baseline became 1")


@pytest.mark.parametrize("n", [1, 2, 9, 10, 40])
def test_constant_values_are_steady(n):
    assert flags(np.zeros(n), np.zeros(n)) == ()
    assert flags(np.zeros(n), np.full(n, 0.3)) == ()


def test_a_line_is_a_drift_and_a_stair_is_regimes():
    noise = np.random.default_rng(3).normal(0, 0.01, BLOCKS)
    blocks = range(BLOCKS)

    def of(values):
        return course(Series(np.arange(BLOCKS) * 2.0, values, blocks, blocks), MARGIN)

    drift, levels = of(RAMP + noise)
    assert (levels, drift.p < LEVEL) == ([], True)
    assert drift.change == pytest.approx(0.1, abs=0.02)
    drift, levels = of(STEP + noise)
    assert (drift, [at for at, _ in levels]) == (None, [0, 20])


def test_flat_values_have_one_mode():
    assert all(modes(np.random.default_rng(seed).random(40), 0.0) is None for seed in range(30))


class TestOutliers:
    def test_a_far_pair_is_tagged_and_infinite_ones_are_not(self, rng):
        ratios = quiet(rng)
        ratios[[7, 9]] = 0.4, math.inf

        assert tagged(ratios).tolist() == [7]
        assert tagged(np.zeros(12)).tolist() == []
        assert tagged(np.array([0.1])).tolist() == []
        assert tagged(np.array([])).tolist() == []
        assert tagged(np.full(4, math.inf)).tolist() == []

    def wild(self, rng, **fields):
        dear = quiet(rng)
        dear[7] = 0.5
        told = trials(quiet(rng), dear, **fields)
        return told, next(one for one in told if one.block == 7 and one.cell == DEAR.id)

    def said(self, told):
        return flag_texts(compare(plan(), told).comparisons[0].flags)

    def test_it_is_listed_with_what_the_host_saw_and_kept(self, rng):
        told, one = self.wild(rng, noise={"foreign": 0.02, "steal": 0.0, "major_faults": 3.0})
        told[told.index(one)] = replace(
            one, noise={"foreign": 0.61, "steal": 0.01, "major_faults": 900.0}
        )

        (flag,) = self.said(told)

        assert flag.startswith(
            "1 of 40 pairs are outliers, more than 5 deviations from the cost, and are kept: "
            "block 7, +6"
        )
        assert "(other work on its CPUs 61 %, 900 major faults)" in flag

    def test_the_baseline_may_be_what_was_disturbed(self, rng):
        told, _ = self.wild(rng, noise={"steal": 0.0})
        base = next(other for other in told if other.block == 7 and other.cell == BASE.id)
        told[told.index(base)] = replace(base, noise={"steal": 0.3})

        (flag,) = self.said(told)

        assert "(baseline: stolen CPU time 30 %)" in flag

    def test_waiting_for_a_cpu_and_throttling_come_from_the_hosts_account(self, rng):
        cost = HostCost(cpu_s=1, run_delay_s=0.01, all_cpu_s=1, coverage=1, threads=1)
        told, one = self.wild(rng, host=cost)
        worse = replace(cost, run_delay_s=0.4, throttled_s=0.2)
        told[told.index(one)] = replace(one, host=worse)

        (flag,) = self.said(told)

        assert "(waiting for a CPU 40 %, throttled by its quota 20 %)" in flag

    def test_nothing_unusual_is_said_to_be_so_and_so_is_nothing_read(self, rng):
        told, _ = self.wild(rng, noise={"steal": 0.2})
        assert "(the host shows no cause)" in self.said(told)[0]
        told, _ = self.wild(rng)
        assert "(nothing was read on the host)" in self.said(told)[0]

    def test_what_hangs_on_the_outliers_is_said(self, rng):
        dear = quiet(rng)
        dear[::10] = 0.3

        said = flags(quiet(rng), dear)

        assert said[0].startswith("4 of 40 pairs are outliers")
        assert said[1].startswith(
            ("Without them the cost is 1.00", "Without them the cost is 0.99")
        )
        assert " instead of 1.0" in said[1]

    def test_many_are_counted_and_the_farthest_listed(self, rng):
        dear = quiet(rng)
        dear[[1, 2, 3, 4]] = 0.3, -0.6, 0.5, 0.4

        flag = next(one for one in flags(quiet(rng), dear) if "outliers" in one)

        assert flag.startswith("4 of 40 pairs are outliers")
        assert "kept: block 2, \N{MINUS SIGN}4" in flag
        assert flag.endswith("; and 1 more.")
