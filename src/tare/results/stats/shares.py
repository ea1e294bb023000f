"""What each of several instances at once gets and takes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tare.results.stats.blocks import (
    LEAST_BLOCKS,
    LEVEL,
    centred,
    jackknife,
    several,
    slope_of,
    student,
)
from tare.results.stats.hierarchy import t_interval
from tare.results.stats.ratio import ratio, ratios
from tare.results.stats.signed_rank import Array, Interval
from tare.results.stats.values import Estimated, numbers


def efficiency(
    own: Sequence[float], instances: int, base: Sequence[float], base_instances: int = 1
) -> Estimated | None:
    """Return how much of its throughput each instance keeps: X(n) / n over that of the base.

    ``own`` and ``base`` are throughputs of the same blocks; the estimate is the geometric mean of
    the blocks' ratios. None without blocks.
    """
    more, fewer = numbers(own), numbers(base)
    if not len(more) or len(more) != len(fewer):
        return None
    return geometric((more / instances) / (fewer / base_instances))


def geometric(values: Sequence[float] | Array) -> Estimated | None:
    """Return the geometric mean of values above 0, and Student's interval of their logarithms.

    None without values.
    """
    logs = np.log(numbers(values))
    if not len(logs):
        return None
    ends = t_interval(logs, LEVEL)
    return Estimated(ratio(float(logs.mean())), None if ends is None else ratios(ends))


def fairness(shares: Sequence[float]) -> float | None:
    """Return Jain's index of what each instance got: 1 if all are equal, 1/n if one got it all.

    It is (sum x)^2 / (n sum x^2) (Jain, Chiu and Hawe 1984, DEC-TR-301). None without a share
    above 0.
    """
    got = numbers(shares)
    if not len(got) or not got.max() > 0 or got.min() < 0:
        return None
    got = got / got.max()
    return float(got.sum() ** 2 / (len(got) * (got**2).sum()))


def marginal(amounts: Sequence[tuple[int, int, float]]) -> Estimated | None:
    """Return what one instance more takes: the slope of amounts over the number of instances.

    An amount is a number of instances, a block, and what they take together, such as memory. Each
    block has a base of its own (what the host takes without any); the slope is that of least
    squares, its interval that of the delete-one-block jackknife with Student's t, or, of fewer than
    ``LEAST_BLOCKS`` blocks, that of the regression. None unless a block has two levels.
    """
    amounts = several([(one, block, (one, block, amount)) for one, block, amount in amounts])
    if not amounts:
        return None
    instances = numbers([one for one, _, _ in amounts])
    taken = numbers([amount for _, _, amount in amounts])
    named, blocks = np.unique([block for _, block, _ in amounts], return_inverse=True)
    names = range(len(named))
    levels, apart = centred(instances, blocks), centred(taken, blocks)
    squares = float((levels**2).sum())
    if squares == 0:
        return None
    slope = float((levels * apart).sum()) / squares
    ends: Interval | None = None
    if len(names) >= LEAST_BLOCKS:
        without = [slope_of(levels[blocks != name], apart[blocks != name], slope) for name in names]
        spread = jackknife(np.array(without)[:, None])
        ends = student(slope, math.sqrt(float(spread[0, 0])), len(names) - 1)
    elif (left := len(taken) - len(names) - 1) > 0:
        error = math.sqrt(float(((apart - slope * levels) ** 2).sum()) / left / squares)
        ends = student(slope, error, left)
    return Estimated(slope, ends)
