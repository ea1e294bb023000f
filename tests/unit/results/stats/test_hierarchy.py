import math

import numpy as np
import pytest

from tare.results.stats.hierarchy import (
    Components,
    blocks_per_group,
    can_differ,
    components,
    means,
    means_p,
    nested_interval,
    numbered,
    tamed,
)
from tare.results.stats.signed_rank import interval, p_value

# Calcium in turnip leaves: Snedecor and Cochran, Statistical Methods (6th ed. 1967), table 10.13.1.
LEAVES = [
    [3.28, 3.09, 3.03, 3.03],
    [3.52, 3.48, 3.38, 3.38],
    [2.88, 2.80, 2.81, 2.76],
    [3.34, 3.38, 3.23, 3.26],
]
# Width of the scutum of ticks on four rabbits, groups of unequal size: Sokal and Rohlf, Biometry
# (2nd ed. 1981), box 9.1.
RABBITS = [
    [380, 376, 360, 368, 372, 366, 374, 382],
    [350, 356, 358, 376, 338, 342, 366, 350, 344, 364],
    [354, 360, 362, 352, 366, 372, 362, 344, 342, 358, 351, 348, 348],
    [376, 344, 342, 372, 374, 360],
]


def nested_p(values, groups):
    """The p that an interval of nested values is the inversion of."""
    return max(p_value(values), means_p(values, groups))


def flat(data):
    """Values, and the number of the group of each."""
    groups = [number for number, part in enumerate(data) for _ in part]
    return np.array([value for part in data for value in part], dtype=float), groups


def test_groups_are_numbered_as_they_first_appear():
    groups = ["c", "a", "c", "b", "a"]
    places = numbered(groups)
    assert places.tolist() == [0, 1, 0, 2, 1]
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    assert components(values, places) == components(values, groups)
    assert means(values, places).tolist() == [2.5, 9.0, 8.0]


@pytest.mark.parametrize("groups", ["", "a", "aaa", "abc"])
def test_without_two_groups_or_two_values_in_one_nothing_can_differ(groups):
    assert not can_differ(numbered(groups))
    assert can_differ(numbered("aab"))


def split(between, within, *, groups=40, each=10, seed=1):
    rng = np.random.default_rng(seed)
    luck = np.repeat(rng.normal(0, between, groups), each)
    return luck + rng.normal(0, within, groups * each), list(np.repeat(range(groups), each))


def test_groups_of_equal_size_as_in_snedecor_and_cochran():
    found = components(*flat(LEAVES))

    assert found.within == pytest.approx(0.0066, abs=5e-5)
    assert found.between == pytest.approx(0.0724, abs=5e-5)
    assert found.f == pytest.approx(0.2961 / 0.0066, rel=0.01)
    assert (found.n, found.groups) == (16, 4)


def test_groups_of_unequal_size_as_in_sokal_and_rohlf():
    found = components(*flat(RABBITS))

    assert found.f == pytest.approx(5.26, abs=0.005)
    assert found.within == pytest.approx(114.48, abs=0.01)
    assert found.between == pytest.approx(54.19, abs=0.1)
    assert found.icc == pytest.approx(0.321, abs=0.001)
    assert 0.001 < found.p < 0.01  # two asterisks in the book


def test_for_equal_sizes_it_is_the_corrected_estimator_of_kalibera_and_jones():
    """T2 squared = variance of the means, less the variance within over the size (section 9.2)."""
    data = np.array(LEAVES)
    corrected = data.mean(axis=1).var(ddof=1) - data.var(axis=1, ddof=1).mean() / 4

    assert components(*flat(LEAVES)).between == pytest.approx(corrected)


def test_what_was_put_in_is_found():
    found = components(*split(0.02, 0.04, groups=400))

    assert found.between == pytest.approx(0.0004, rel=0.2)
    assert found.within == pytest.approx(0.0016, rel=0.05)
    assert found.icc == pytest.approx(0.2, abs=0.04)


def test_an_estimate_below_zero_says_zero():
    found = components(np.array([1.0, -1.0, 1.0, -1.0]), ["a", "a", "b", "b"])

    assert (found.between, found.icc, found.f) == (0, 0, 0)
    assert found.p == 1


@pytest.mark.parametrize(
    "groups", [["a"] * 4, ["a", "b", "c", "d"]], ids=["one group", "one value a group"]
)
def test_without_two_groups_or_two_values_in_one_nothing_is_known(groups):
    assert components(np.array([1.0, 2.0, 3.0, 4.0]), groups) is None


def test_constant_values_have_no_variance_at_all():
    found = components(np.full(6, 0.1), list("aabbcc"))
    assert (found.between, found.within, found.icc, found.p) == (0, 0, 0, 1)


def test_constant_groups_that_differ_have_all_of_it_between():
    found = components(np.array([0.1, 0.1, 0.3, 0.3]), list("aabb"))
    assert (found.within, found.icc, found.f, found.p) == (0, 1, math.inf, 0)


def test_a_dearer_instance_or_a_quieter_one_gets_more_blocks():
    parts = Components(n=20, groups=5, between=1.0, within=4.0, f=5.0, p=0.01, icc=0.2)

    assert blocks_per_group(parts, fresh_cost=9.0, value_cost=1.0) == 6  # sqrt(9 * 4)
    assert blocks_per_group(parts, fresh_cost=36.0, value_cost=1.0) == 12
    assert blocks_per_group(parts, fresh_cost=0.1, value_cost=1.0) == 1
    assert blocks_per_group(parts, fresh_cost=1.0, value_cost=0.0) == 1


def test_where_groups_do_not_differ_a_fresh_one_buys_nothing():
    parts = Components(n=20, groups=5, between=0.0, within=4.0, f=0.9, p=0.5, icc=0.0)
    assert blocks_per_group(parts, fresh_cost=1.0, value_cost=1.0) is None


def test_the_chosen_number_of_blocks_gives_the_narrowest_interval_for_the_cost():
    """Kalibera and Jones (2013): variance of the mean times cost is least there."""
    parts = Components(n=20, groups=5, between=1.0, within=9.0, f=5.0, p=0.01, icc=0.1)

    def price(r):
        return (parts.between + parts.within / r) * (4.0 + r * 1.0)

    best = blocks_per_group(parts, fresh_cost=4.0, value_cost=1.0)
    assert best == min(range(1, 50), key=price) == 6


def test_wild_and_infinite_values_are_pulled_in_for_the_split_only():
    values = np.array([0.0, 0.1, -0.1, 0.2, -0.2, 50.0, math.inf, -math.inf])
    found = tamed(values)

    assert np.isfinite(found).all()
    assert list(found[:5]) == list(values[:5])
    assert found[5] == found[6] == pytest.approx(2 * np.median(values[:6]) - found[7])


@pytest.mark.parametrize("values", [[1, 1, 1, math.inf], [1, 1, 1, 1], [1, 1, 1, 3]])
def test_values_without_a_spread_can_be_pulled_in_too(values):
    found = tamed(np.array(values, dtype=float))
    assert np.isfinite(found).all()
    assert (found[:3] == 1).all()


def test_where_everything_failed_only_the_side_is_left():
    assert list(tamed(np.array([math.inf, -math.inf]))) == [1, -1]


def test_a_group_has_one_value_whatever_failed_in_it():
    values = np.array([1, 2, 3, 4, 5, 6, math.inf, math.inf, -math.inf, 2, math.inf])
    assert list(means(values, list("aabbbbbccdd"))) == [1.5, 5.0, 0.0, math.inf]


def test_a_nested_interval_is_never_narrower_and_agrees_with_its_p():
    rng = np.random.default_rng(3)
    for _ in range(300):
        groups = list(rng.integers(0, rng.integers(2, 12), 15))
        values = rng.normal(0.3, 0.5, 15) + rng.normal(0, 0.5, 12)[groups]
        ends, inner = nested_interval(values, groups, 0.02), interval(values, 0.02)
        p = nested_p(values, groups)
        if ends is None:
            assert p > 0.02
            continue
        assert ends.low <= inner.low <= inner.high <= ends.high
        assert p >= p_value(values)
        assert (p <= 0.02) == (ends.low > 0 or ends.high < 0)


def test_nested_results_turn_round_with_their_values():
    values, groups = split(0.02, 0.02, groups=6, each=4)
    ends, turned = nested_interval(values, groups, 0.01), nested_interval(-values, groups, 0.01)

    assert nested_p(values, groups) == pytest.approx(nested_p(-values, groups))
    assert (ends.low, ends.high) == pytest.approx((-turned.high, -turned.low))


@pytest.mark.parametrize(("groups", "p"), [("aaaaaaaa", 1), ("aaaabbbb", 0.5)])
def test_failures_in_few_groups_prove_nothing(groups, p):
    values = np.array([0.1] * 4 + [math.inf] * 4)
    assert nested_interval(values, list(groups), 0.02) is None
    assert nested_p(values, list(groups)) == p


def test_groups_that_always_failed_are_as_many_coins_that_fell_alike():
    values, groups = np.full(18, math.inf), [*range(6)] * 3

    assert nested_p(values, groups) == 2 / 2**6
    assert nested_interval(values, groups, 0.04) == (math.inf, math.inf)
    assert nested_interval(values, groups, 0.03) is None


def test_values_that_are_equal_are_known_exactly():
    assert nested_p(np.full(16, 0.1), list(range(4)) * 4) == p_value(np.full(16, 0.1))
    assert nested_p(np.zeros(16), list(range(4)) * 4) == 1
    ends = nested_interval(np.full(16, 0.1), list(range(4)) * 4, 0.01)
    assert (ends.low, ends.high) == pytest.approx((0.1, 0.1))
