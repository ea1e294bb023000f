"""Tests that paired differences are centred at 0, other than the signed-rank test of Tare's
verdicts.

Each takes the differences, or the log ratios, of the pairs; all are two-sided. None is given where
a test has no answer; see ``tare.results.stats.values``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tare.results.stats.signed_rank import Array
from tare.results.stats.values import Tested, averageable, constant, numbers, scaled


def paired_t(differences: Sequence[float] | Array) -> Tested | None:
    """Test that the mean is 0 (Student 1908); None if there is no spread or an infinite value."""
    from scipy import special  # only here: it takes longer to load than most results to compare

    d = numbers(differences)
    if not averageable(d) or constant(d):
        return None
    (d,) = scaled(d)
    statistic = float(d.mean() / (d.std(ddof=1) / math.sqrt(len(d))))
    return Tested(statistic, 2 * float(special.stdtr(len(d) - 1, -abs(statistic))))
