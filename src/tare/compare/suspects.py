"""Why a suspect trial is one: the host was disturbed, or the machine outside limited it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntFlag

from tare.model import Status, Trial


class Why(IntFlag):
    """What a suspect trial's reason says; a trial may have several."""

    NONE = 0
    DISTURBED = 1
    """The host was: whatever the reason says that is not of the machine outside."""
    LIMITED = 2
    """The machine outside was busy, so that the number may be its own."""
    SHARED = 4
    """The machine outside had the trial's CPUs."""


_BEGINNINGS = {
    "the machine outside was busy": Why.LIMITED,
    "the machine outside shares": Why.SHARED,
}
"""How reasons begin that are not of the host's; those of ``tare.trial.ends``."""


def why_suspect(trial: Trial) -> Why:
    """Tell the reasons of a suspect trial apart; of another trial there are none."""
    found = Why.NONE
    if trial.status is Status.SUSPECT:
        for part in trial.reason.split("; "):
            of_outside = (why for start, why in _BEGINNINGS.items() if part.startswith(start))
            found |= next(of_outside, Why.DISTURBED)
    return found


def suspect_flags(counts: Mapping[Why, int], pairs: int) -> Iterator[str]:
    """Say how many pairs have a suspect trial, for each reason."""
    if n := counts[Why.DISTURBED]:
        yield f"Suspect in {n} of {pairs} pairs: the host was disturbed."
    if n := counts[Why.LIMITED]:
        yield (
            f"Limited by the machine outside in {n} of {pairs} pairs: it was busy, and what is "
            "compared may be its own number on both sides."
        )
    if n := counts[Why.SHARED]:
        yield f"The machine outside shared the trial's CPUs in {n} of {pairs} pairs."
