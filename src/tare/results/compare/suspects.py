"""Why a suspect trial is one: the host was disturbed, the peer limited it, a level was missed."""

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
    OFF_LEVEL = 8
    """Its neighbours' resource was not used to the level that is asked for."""


_WHYS = {
    ComplaintKind.PEER_BUSY: Why.LIMITED,
    ComplaintKind.PEER_SHARED: Why.SHARED,
    ComplaintKind.OFF_LEVEL: Why.OFF_LEVEL,
}
_FLAGS = {
    Why.DISTURBED: FlagKind.DISTURBED,
    Why.LIMITED: FlagKind.LIMITED_OUTSIDE,
    Why.SHARED: FlagKind.SHARED_WITH_OUTSIDE,
    Why.OFF_LEVEL: FlagKind.OFF_LEVEL,
}


def why_suspect(trial: Trial) -> Why:
    """Return all that a suspect trial's complaints are of; of another trial there is nothing."""
    found = Why.NONE
    if trial.status is Status.SUSPECT:
        for complaint in trial.complaints:
            found |= _WHYS.get(complaint.kind, Why.DISTURBED)
        found = found or Why.DISTURBED
    return found


def suspect_flags(counts: Mapping[Why, int], pairs: int) -> Iterator[Flag]:
    """Yield how many pairs have a suspect trial, for each thing that complaints are of."""
    for why, kind in _FLAGS.items():
        if suspect := counts[why]:
            yield flag(kind, suspect=suspect, pairs=pairs)
