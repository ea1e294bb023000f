"""The dose at which a response has fallen to a share of itself."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.results.stats.dose import ABOVE, BELOW, Response, fall, pooled

DOSES = (0.25, 0.5, 0.75, 1.0)


def responses(kept, arm=0.01):
    return [
        Response(dose=dose, kept=one, low=one - arm, high=one + arm)
        for dose, one in zip(DOSES, kept, strict=True)
    ]


def test_it_is_read_from_the_line_between_two_doses():
    found = fall(responses((1.0, 0.98, 0.92, 0.8)), 0.95)
    assert found.at == pytest.approx(0.625)
    # The lower ends: 0.97 at 50 %, 0.91 at 75 %; the upper ones: 0.99 and 0.93.
    assert found.low == pytest.approx(0.5 + 0.25 * 0.02 / 0.06)
    assert found.high == pytest.approx(0.5 + 0.25 * 0.04 / 0.06)
    assert found.is_known


def test_outside_the_measured_doses_it_is_a_bound():
    low = fall(responses((0.9, 0.8, 0.7, 0.6)), 0.95)
    assert (low.at, low.low, low.high) == (BELOW, BELOW, BELOW)
    assert low.is_known
    high = fall(responses((1.0, 1.0, 0.99, 0.99)), 0.95)
    assert (high.at, high.low, high.high) == (ABOVE, ABOVE, ABOVE)


def test_what_intervals_cannot_tell_is_not_known():
    found = fall(responses((0.98, 0.97, 0.96, 0.94), arm=0.2), 0.95)
    assert (found.low, found.high) == (BELOW, ABOVE)
    assert not found.is_known
    bare = [Response(dose=dose, kept=1 - dose / 2) for dose in DOSES]
    assert not fall(bare, 0.95).is_known


def test_one_end_may_lie_outside():
    found = fall(responses((0.98, 0.97, 0.96, 0.94), arm=0.02), 0.95)
    assert found.low == pytest.approx(0.5)
    assert found.high == ABOVE
    assert found.is_known


def test_one_wide_interval_does_not_hide_what_the_others_say():
    some = responses((0.9, 0.8, 0.7, 0.6))
    some[3] = Response(dose=1.0, kept=0.6, low=0.1, high=1.7)
    assert fall(some, 0.95).high == BELOW
    some = responses((1.0, 0.99, 0.98, 0.9))
    some[0] = Response(dose=0.25, kept=1.0, low=0.5, high=2.0)
    assert fall(some, 0.95).low > 0.75


def test_values_out_of_order_are_pooled():
    assert pooled([1.0, 0.8, 0.9, 0.5]) == pytest.approx([1.0, 0.85, 0.85, 0.5])
    assert pooled([0.8, 0.9, 1.0]) == pytest.approx([0.9, 0.9, 0.9])
    assert fall(responses((1.0, 0.94, 0.98, 0.9)), 0.95).at == pytest.approx(0.75 + 0.25 / 6)


def test_what_failed_has_infinite_ends_and_no_nan():
    some = [Response(dose=0.5, kept=1.0, low=0.0, high=math.inf), *responses((1, 1, 0.9, 0))[2:]]
    found = fall(some, 0.95)
    assert found.low == BELOW
    assert 0.5 < found.at <= found.high <= 0.75


def test_doses_out_of_order_are_refused():
    for wrong in ([], [0.5, 0.25], [0.5, 0.5], [0.0, 0.5]):
        with pytest.raises(ValueError, match="rising doses"):
            fall([Response(dose=one, kept=1.0) for one in wrong], 0.95)


@given(
    st.lists(st.floats(0, 1.2), min_size=4, max_size=4),
    st.lists(st.floats(0, 0.5), min_size=4, max_size=4),
)
def test_the_interval_holds_the_value_and_pooling_keeps_the_mean(kept, arms):
    some = [
        Response(dose=dose, kept=one, low=one - arm, high=one + arm)
        for dose, one, arm in zip(DOSES, kept, arms, strict=True)
    ]
    found = fall(some, 0.95)
    assert found.low <= found.at <= found.high
    assert found.at in (BELOW, ABOVE) or DOSES[0] <= found.at <= DOSES[-1]
    monotone = pooled(kept)
    assert sorted(monotone, reverse=True) == pytest.approx(monotone)
    assert sum(monotone) == pytest.approx(sum(kept))
