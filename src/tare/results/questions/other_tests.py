"""What the tests of older studies say of the same numbers, for readers of those studies.

They decide nothing here. The first three know no blocks, so that drift counts as a difference or
hides one; the last is for means, which bursts move (METHOD.md 2.5).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tare.core.model import Cell, Metric, Variant
from tare.results.compare.columns import has_numbers
from tare.results.compare.contention import value
from tare.results.compare.estimates import Estimates
from tare.results.compare.pairing import History
from tare.results.stats.signed_rank import Array
from tare.results.stats.values import Tested


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherTests:
    """The p values of a cell's first metric, by the variant that decides; None: no answer.

    ``student`` takes equal variances for granted, as the studies did. Failed trials are in none.
    """

    cell: Cell
    student: float | None
    welch: float | None
    mann_whitney: float | None
    paired_t: float | None


def other_tests(estimates: Estimates) -> tuple[OtherTests, ...]:
    """Test every cell against its reference, in the order of the plan; controls too."""
    # Only here: it loads scipy, which takes longer than most results take to compare.
    from tare.results.stats import paired, two_sample

    found = []
    for one in estimates.decisive:
        metric, variant = one.subject.metric, one.subject.variant
        sides = _values(one.own, metric, variant), _values(one.base, metric, variant)
        ratios = one.pairs.log_ratios
        found.append(
            OtherTests(
                cell=one.subject.cell,
                student=_p(two_sample.student, *sides),
                welch=_p(two_sample.welch, *sides),
                mann_whitney=_p(two_sample.mann_whitney, *sides),
                paired_t=_p(paired.paired_t, ratios[np.isfinite(ratios)]),
            )
        )
    return tuple(found)


def _values(history: History, metric: Metric, variant: Variant) -> Array:
    tool_duration = history.tool_duration
    good = (trial for trial in history.counted if has_numbers(trial))
    read = (value(trial, metric, variant, tool_duration) for trial in good)
    return np.array([one for one in read if one is not None and math.isfinite(one)])


def _p(test: Callable[..., Tested | None], *samples: Array) -> float | None:
    tested = test(*samples) if all(len(one) > 1 for one in samples) else None
    return None if tested is None else tested.p
