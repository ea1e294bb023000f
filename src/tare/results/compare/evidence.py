"""Grade a verdict as established or likely: by the e-process, and by Holm's p over all comparisons.

The rule of looks keeps its 5 % by a schedule that is fixed in advance. The e-process needs none and
is stricter (METHOD.md 2.4): in fresh A/A campaigns it alarmed half as often. Both are about one
comparison; of thirty between equal platforms one or two are called different by luck. So a
difference is established where Holm's p over all comparisons of the study is small as well, and
else likely.
"""

from __future__ import annotations

from tare.core.model import Evidence
from tare.results.stats.eprocess import established
from tare.results.stats.sequential import Verdict
from tare.results.stats.signed_rank import Array

DECIDED = (Verdict.SLOWER, Verdict.FASTER, Verdict.SAME)
"""The verdicts that evidence is weighed of."""

FAMILYWISE = 0.05
"""The chance that a study of equal platforms calls any difference established."""


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


def within_family(
    found: Evidence | None, verdict: Verdict, holm_p: float | None
) -> Evidence | None:
    """Weigh again what was established alone, as one of all comparisons of a study.

    That two are the same is no alarm: the family is of the tests that there is no difference.
    """
    alarms = verdict in (Verdict.SLOWER, Verdict.FASTER)
    if found is Evidence.ESTABLISHED and alarms and (holm_p is None or holm_p > FAMILYWISE):
        return Evidence.LIKELY
    return found
