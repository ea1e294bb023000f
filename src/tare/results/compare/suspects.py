"""Why a suspect trial is one: the host was disturbed, or the machine outside limited it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntFlag

from tare.core.model import ComplaintKind, Status, Trial
from tare.results.compare.flag import Flag, FlagKind, flag


class Why(IntFlag):
    """What a suspect trial's complaints are of; a trial may have several."""

    NONE = 0
    DISTURBED = 1
    """The host was: whatever is not of the machine outside, and where nothing is known."""
    LIMITED = 2
    """The machine outside was busy, so that the number may be its own."""
    SHARED = 4
    """The machine outside had the trial's CPUs."""


_OF_OUTSIDE = {
    ComplaintKind.PEER_BUSY: Why.LIMITED,
    ComplaintKind.PEER_SHARED: Why.SHARED,
}
_FLAGS = {
    Why.DISTURBED: FlagKind.DISTURBED,
    Why.LIMITED: FlagKind.LIMITED_OUTSIDE,
    Why.SHARED: FlagKind.SHARED_WITH_OUTSIDE,
}


def why_suspect(trial: Trial) -> Why:
    """Return all that a suspect trial's complaints are of; of another trial there is nothing."""
    found = Why.NONE
    if trial.status is Status.SUSPECT:
        for complaint in trial.complaints:
            found |= _OF_OUTSIDE.get(complaint.kind, Why.DISTURBED)
        found = found or Why.DISTURBED
    return found


def suspect_flags(counts: Mapping[Why, int], pairs: int) -> Iterator[Flag]:
    """Yield how many pairs have a suspect trial, for each thing that complaints are of."""
    for why, kind in _FLAGS.items():
        if suspect := counts[why]:
            yield flag(kind, suspect=suspect, pairs=pairs)
