"""Decide whether a suspect trial is run again."""

from __future__ import annotations

from collections.abc import Sequence

from tare.core.model import Kind, Repeats, Status, Trial

REPEATED_SHARE = 0.1
"""Largest part of the trials that is run again because the first was suspect.

On a host that is always loaded, running everything twice would only double the time.
"""


def repeats(trials: Sequence[Trial]) -> Repeats:
    """Count the trials that were suspect and those run again for it, with the limit of these."""
    measured = [trial for trial in trials if trial.kind is Kind.MEASURED]
    return Repeats(
        suspect=sum(trial.status is Status.SUSPECT for trial in measured),
        run_again=sum(trial.repeat > 0 for trial in measured),
        largest_share=REPEATED_SHARE,
    )


def may_repeat(trials: Sequence[Trial]) -> bool:
    """Return whether one more may be run again after all these."""
    measured = sum(trial.kind is Kind.MEASURED for trial in trials)
    return repeats(trials).run_again + 1 <= REPEATED_SHARE * measured
