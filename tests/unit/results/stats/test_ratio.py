import math

import pytest

from tare.results.stats.ratio import ratio, ratios
from tare.results.stats.signed_rank import Interval


def test_a_ratio_is_the_exponential_of_its_log():
    assert ratio(0) == 1
    assert ratios(Interval(-math.log(2), math.log(3))) == pytest.approx((1 / 2, 3))


def test_only_what_is_infinite_is_zero():
    assert ratios(Interval(-math.inf, math.inf)) == (0, math.inf)
    assert ratio(-5000) > 0
    assert ratio(5000) == math.inf
