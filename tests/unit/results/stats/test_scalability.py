"""The Universal Scalability Law, its intervals, and what goes with a curve."""

import math

import numpy as np
import pytest

from tare.results.stats.scalability import Fit, Observation, law
from tare.results.stats.shares import efficiency, fairness, marginal

LEVELS = (1, 2, 4, 8, 16, 32, 64, 128)


def observed(sigma, kappa, *, rate=100.0, levels=LEVELS, blocks=8, noise=0.0, drift=0.0, seed=1):
    """Throughputs by the law; each block has a speed of its own, and each value noise."""
    rng = np.random.default_rng(seed)
    found = []
    for block in range(blocks):
        speed = rng.normal(0, drift)
        for n in levels:
            ideal = rate * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))
            found.append(Observation(n, block, ideal * math.exp(speed + rng.normal(0, noise))))
    return found


def holds(estimated, truth):
    return estimated.interval.low <= truth * (1 + 1e-9) <= estimated.interval.high * (1 + 2e-9)


@pytest.mark.parametrize(
    ("sigma", "kappa"),
    [(0.05, 0.0005), (0.3, 0.0), (0.0, 0.01), (0.0, 0.0), (1.0, 0.0), (0.6, 0.4)],
)
def test_a_law_without_noise_is_recovered(sigma, kappa):
    found = law(observed(sigma, kappa))
    assert found.rate.value == pytest.approx(100, rel=1e-6)
    assert found.contention.value == pytest.approx(sigma, abs=1e-8)
    assert found.coherency.value == pytest.approx(kappa, abs=1e-9)
    assert found.fit is Fit.FITS
    assert max(map(abs, found.residuals.values())) < 1e-8
    for n in LEVELS:
        ideal = 100 * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))
        assert found.throughput(n) == pytest.approx(ideal, rel=1e-6)


def test_peak_and_knee_are_where_throughput_and_power_are_largest():
    found = law(observed(0.05, 0.0005))
    n = np.geomspace(1, 1000, 200_001)
    throughput = n / (1 + 0.05 * (n - 1) + 0.0005 * n * (n - 1))
    assert found.peak.value == pytest.approx(n[np.argmax(throughput)], rel=1e-3)
    assert found.knee.value == pytest.approx(n[np.argmax(throughput**2 / n)], rel=1e-3)
    assert found.peak.value == pytest.approx(math.sqrt(0.95 / 0.0005), rel=1e-5)


def test_without_coherency_there_is_no_peak_and_the_knee_is_that_of_amdahl():
    found = law(observed(0.1, 0.0))
    assert found.peak.value == math.inf
    assert found.knee.value == pytest.approx(9.0, rel=1e-5)
    linear = law(observed(0.0, 0.0))
    assert (linear.peak.value, linear.knee.value) == (math.inf, math.inf)


def test_work_that_only_shares_a_cpu_has_its_knee_at_1():
    """n instances on one CPU take n times as long: all of it is contention."""
    found = law(observed(1.0, 0.0, levels=(1, 2, 4, 8, 16), noise=0.01))
    assert found.contention.value == pytest.approx(1.0, abs=0.03)
    assert found.knee.value < 1.1
    assert holds(found.knee, 1.0)


def test_a_law_is_never_below_its_bounds_although_noise_is():
    faster = [Observation(n, block, 100 * n**1.05) for block in range(4) for n in (1, 2, 4, 8)]
    found = law(faster)
    assert (found.contention.value, found.coherency.value) == (0.0, 0.0)
    assert found.contention.interval.low == 0.0
    assert found.peak.value == math.inf
    assert found.fit is Fit.MISFIT


TRUTHS = [
    (0.05, 0.0005, LEVELS, 8, 0.02),
    (0.02, 0.01, (1, 2, 4, 8), 8, 0.02),
    (0.3, 0.02, (1, 2, 3, 4, 6), 8, 0.03),
]
STUDIES = 400


def test_intervals_hold_the_truth_in_95_of_100_studies():
    held = np.zeros((len(TRUTHS), 4))
    misfits = np.zeros(len(TRUTHS))
    for at, (sigma, kappa, levels, blocks, noise) in enumerate(TRUTHS):
        for seed in range(STUDIES):
            shape = {"levels": levels, "blocks": blocks, "noise": noise, "drift": 0.03}
            found = law(observed(sigma, kappa, seed=seed, **shape))
            every = (found.contention, found.coherency, found.rate, found.peak)
            truths = (sigma, kappa, 100.0, math.sqrt((1 - sigma) / kappa))
            held[at] += [holds(one, truth) for one, truth in zip(every, truths, strict=True)]
            misfits[at] += found.p < 0.05
    assert (held >= 0.92 * STUDIES).all(), held
    together = held.mean(axis=0) / STUDIES
    assert (together[:3] >= 0.93).all(), together
    assert (together[:3] <= 0.97).all(), together
    assert (misfits <= 0.08 * STUDIES).all()


def test_at_the_bound_intervals_hold_the_truth_more_often():
    """Where nothing is lost, ends below 0 are cut: those that miss do so upwards alone."""
    held = [0, 0, 0]
    for seed in range(200):
        found = law(observed(0.1, 0.0, levels=LEVELS[:6], noise=0.02, seed=seed))
        held[0] += holds(found.contention, 0.1)
        held[1] += holds(found.coherency, 0.0)
        held[2] += found.peak.interval.high == math.inf
    assert min(held) >= 0.92 * 200


def test_another_curve_is_a_misfit_and_what_is_too_small_to_matter_is_none():
    def steps(height):
        return [
            Observation(n, block, 100 * n * (height if n >= 16 else 1) * (1 + 1e-4 * (block % 3)))
            for block in range(8)
            for n in LEVELS
        ]

    large, small = law(steps(0.6)), law(steps(0.99))
    assert large.fit is Fit.MISFIT
    assert large.p < 1e-6
    assert max(map(abs, large.residuals.values())) > 0.1
    assert small.p < 1e-6
    assert small.fit is Fit.FITS


def test_levels_that_some_blocks_lack_move_nothing():
    """What is slow as a whole and has no level 128 must not look like what scales well."""
    every = observed(0.05, 0.0005, drift=0.3)
    found = law([one for one in every if one.instances < 128 or one.block % 2])
    assert found.contention.value == pytest.approx(0.05, abs=1e-7)
    assert found.coherency.value == pytest.approx(0.0005, abs=1e-8)


def test_too_little_makes_no_law_and_few_blocks_no_interval():
    assert law([]) is None
    assert law(observed(0.1, 0.01, levels=(1,))) is None
    assert law(observed(0.1, 0.01, levels=(1, 2))) is None
    two = law(observed(0.1, 0.01, blocks=2, noise=0.01))
    assert two.contention.interval is None
    assert two.peak.interval is None
    three = law(observed(0.1, 0.01, levels=(1, 2, 4)))
    assert three.fit is Fit.UNTESTED
    assert three.p is None
    assert law(observed(0.1, 0.01, blocks=1)).fit is Fit.UNTESTED


def test_a_level_that_only_one_block_has_leaves_no_interval():
    """Without that block there are two levels, of which no law is known."""
    some = [*observed(0.1, 0.01, levels=(1, 2), blocks=4), Observation(4, 0, 280.0)]
    assert law(some).coherency.interval is None


def test_what_is_no_throughput_is_refused():
    for wrong in (Observation(0, 0, 1.0), Observation(1, 0, 0.0), Observation(1, 0, math.inf)):
        with pytest.raises(ValueError, match="throughput above 0"):
            law([wrong])


def test_efficiency_is_the_share_that_each_instance_keeps():
    found = efficiency([150, 152, 148, 150], 2, [100, 101, 99, 100])
    assert found.value == pytest.approx(0.75, abs=0.001)
    assert found.interval.low < 0.75 < found.interval.high
    assert efficiency([150.0], 2, [100.0]).interval is None
    assert efficiency([], 2, []) is None
    assert efficiency([300.0], 4, [200.0], 2).value == pytest.approx(0.75)


def test_fairness_is_1_for_equal_shares_and_1_of_n_for_one_that_has_all():
    assert fairness([3.0, 3.0, 3.0]) == pytest.approx(1.0)
    assert fairness([5.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    # The example of the paper's abstract: a share of users with an equal part, the rest with none.
    assert fairness([1.0] * 2 + [0.0] * 8) == pytest.approx(0.2)
    assert fairness([1e308, 1e308]) == pytest.approx(1.0)
    assert fairness([]) is None
    assert fairness([0.0, 0.0]) is None


def test_what_one_instance_more_takes_is_a_slope_whatever_a_block_begins_with():
    some = [(n, block, 1000.0 * block + 64.0 * n) for block in range(5) for n in (1, 2, 4, 8)]
    found = marginal(some)
    assert found.value == pytest.approx(64.0)
    assert found.interval.low == pytest.approx(64.0)
    assert found.interval.high == pytest.approx(64.0)
    assert marginal([]) is None
    assert marginal([(1, 0, 5.0), (1, 1, 6.0)]) is None
    assert marginal([(1, 0, 5.0), (2, 0, 7.0)]).interval is None


def test_the_interval_of_a_slope_holds_the_truth():
    held = {1: 0, 6: 0}
    for blocks in held:
        for seed in range(400):
            rng = np.random.default_rng(seed)
            some = [
                (n, block, rng.normal(0, 3) + 50.0 * n)
                for block in range(blocks)
                for n in (1, 2, 4, 8, 16)
            ]
            found = marginal(some)
            held[blocks] += found.interval.low <= 50 <= found.interval.high
    assert min(held.values()) >= 0.93 * 400


def test_blocks_of_one_level_each_say_nothing_of_a_law():
    alone = [Observation(n, block, 5 / n) for block, n in enumerate((1, 2, 4, 8))]

    assert law(alone) is None
    assert marginal([(1, 0, 5.0), (2, 1, 7.0), (4, 2, 11.0)]) is None
