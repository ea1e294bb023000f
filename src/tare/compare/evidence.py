"""How strong a verdict is: by the rule of looks alone, or by a second rule as well.

The rule of looks keeps its 5 % by a schedule that is fixed in advance. The e-process needs none and
is stricter (METHOD.md 2.4): in fresh A/A campaigns it alarmed half as often. Where both agree, a
verdict is established; where only the looks have decided, it is likely.
"""

from __future__ import annotations

from enum import StrEnum

from tare.stats.eprocess import established
from tare.stats.sequential import Verdict
from tare.stats.signed_rank import Array


class Evidence(StrEnum):
    """What a verdict rests on."""

    LIKELY = "likely"
    """The rule of looks alone."""
    ESTABLISHED = "established"
    """The rule of looks and the e-process."""


def evidence(log_ratios: Array, verdict: Verdict, margin: float) -> Evidence | None:
    """Weigh a verdict on pairs in order of block; None where there is none. ``margin`` is a log.

    That two are the same is established if neither end of the margin is possible.
    """
    if verdict is Verdict.SAME:
        centres: tuple[float, ...] = (-margin, margin)
    elif verdict in (Verdict.SLOWER, Verdict.FASTER):
        centres = (0.0,)
    else:
        return None
    both = all(established(log_ratios, centre) is not None for centre in centres)
    return Evidence.ESTABLISHED if both else Evidence.LIKELY
