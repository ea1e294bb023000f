"""Sentences that explain why a trial's result is suspect, such as stolen CPU time."""

from __future__ import annotations

from collections.abc import Iterable

from tare.core.model import Complaint, ComplaintKind

_SENTENCES = {
    ComplaintKind.STOLEN: "the hypervisor below stole {share} % of the CPU time",
    ComplaintKind.FOREIGN: "other work took {share} % of the trial's CPU time",
    ComplaintKind.MEMORY: "the host was short of memory in {share} % of the time",
    ComplaintKind.SWAPPED: "the host swapped {pages} pages",
    ComplaintKind.HEAT: "heat throttled its CPUs {times} times",
    ComplaintKind.SLOW_CLOCK: "its CPUs ran at {ratio} % of their base frequency",
    ComplaintKind.PEER_BUSY: (
        "the peer was busy for {share} % of the time: it may be the bottleneck instead of what is "
        "measured"
    ),
    ComplaintKind.PEER_SHARED: (
        "the peer shares the trial's CPUs, because this host has no others"
    ),
    ComplaintKind.OFF_LEVEL: (
        "its neighbours' resource was used to {share} % of its maximum instead of {target} %"
    ),
}
_PERCENT = ("share", "ratio", "target")
"""Names of values that are shown in percent."""


def sentence(first: Complaint, *others: Complaint) -> str:
    """Return the sentence of complaints of one kind, with the range of their numbers."""
    alike = (first, *others)
    numbers = {name: _range(name, [one.values[name] for one in alike]) for name in first.values}
    return _SENTENCES[first.kind].format(**numbers)


def texts(warnings: Iterable[str | Complaint]) -> tuple[str, ...]:
    """Return a trial's warnings as texts, complaints as their sentences."""
    return tuple(sentence(one) if isinstance(one, Complaint) else one for one in warnings)


def _range(name: str, values: list[float]) -> str:
    factor = 100 if name in _PERCENT else 1
    low, high = (f"{factor * value:.0f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
