"""Evidence that may be looked at after every block: the sign-flip e-process.

If two platforms are the same, the coin that ordered a block's trials makes the sign of its log
ratio a fair coin, whatever its size. A bet of strength l on sign s of size z then multiplies the
stake by exp(l s z) / cosh(l z), which is 1 on average; so is any product of such bets, and by
Ville's inequality it ever reaches 20 with a chance of at most 5 %, however often one looks
(Ville 1939; Howard, Ramdas, McAuliffe and Sekhon 2021; the bound for symmetric values goes back to
de la Pena 1999). The stake is spread over bets of five strengths on either sign.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence

import numpy as np

from tare.results.stats.signed_rank import Array
from tare.results.stats.values import numbers

ESTABLISHED = 20.0
"""The stake that a true null reaches in at most 1 / 20 of all studies, ever."""

STRENGTHS = (0.125, 0.25, 0.5, 1.0, 2.0)

FIRST_SEEN = 128
"""This number is read first: a stake hangs on none that come later, and is mostly won early."""

CLIP = 3.0
"""The most running medians that a size counts as: one wild block cannot win a bet alone."""


def e_values(log_ratios: Sequence[float] | Array, centre: float = 0.0) -> Array:
    """Return the stake after each log ratio, in order, against symmetry about ``centre``.

    Sizes are divided by the running median of sizes, the present one included: it depends on no
    sign, so the bets stay fair. A failed trial (infinite) has the clipped size; a value equal to
    the centre leaves the stake as it was.
    """
    d = numbers(log_ratios) - centre
    sizes = np.abs(d)
    scales = _running_medians(sizes)
    has_scale = (scales > 0) & (scales < math.inf)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bet = np.where(has_scale & (sizes < CLIP * scales), sizes / scales, CLIP)
    psi = np.where(sizes > 0, np.sign(d) * bet, 0.0)
    bets = np.array([*(-s for s in STRENGTHS), *STRENGTHS])
    # exp(x) / cosh(x) = 2 / (1 + exp(-2x)), whose logarithm never overflows.
    gains = math.log(2) - np.logaddexp(0.0, -2 * np.outer(psi, bets))
    logs = np.logaddexp.reduce(np.cumsum(gains, axis=0), axis=1) - math.log(len(bets))
    result: Array = np.exp(np.minimum(logs, 700.0))
    return result


def _running_medians(sizes: Array) -> Array:
    """Return the median of the first 1, 2, 3, ... values."""
    ordered: list[float] = []
    medians = np.empty(len(sizes))
    for i, size in enumerate(sizes.tolist()):
        insort(ordered, size)
        low, high = ordered[i // 2], ordered[(i + 1) // 2]
        medians[i] = low if low == high else low / 2 + high / 2
    return medians


def established(log_ratios: Sequence[float] | Array, centre: float = 0.0) -> int | None:
    """Return after how many log ratios the stake first reached 20; None if it never did."""
    array = numbers(log_ratios)
    seen, most = 0, FIRST_SEEN
    while seen < len(array):
        seen, most = min(most, len(array)), most * 4
        reached = np.flatnonzero(e_values(array[:seen], centre) >= ESTABLISHED)
        if len(reached):
            return int(reached[0]) + 1
    return None
