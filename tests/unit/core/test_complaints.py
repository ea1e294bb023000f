"""The sentences that say why a trial is suspect."""

import pytest

from tare.core.complaints import sentence
from tare.core.model import Complaint, ComplaintKind

SENTENCES = {
    "the hypervisor below stole 28 % of the CPU time": (ComplaintKind.STOLEN, {"share": 0.28}),
    "other work took 157 % of the trial's CPU time": (ComplaintKind.FOREIGN, {"share": 1.57}),
    "the host was short of memory in 12 % of the time": (ComplaintKind.MEMORY, {"share": 0.12}),
    "the host swapped 8 pages": (ComplaintKind.SWAPPED, {"pages": 8}),
    "heat throttled its CPUs 1 times": (ComplaintKind.HEAT, {"times": 1}),
    "its CPUs ran at 89 % of their base frequency": (ComplaintKind.SLOW_CLOCK, {"ratio": 0.89}),
    "the peer was busy for 95 % of the time: it may be the bottleneck instead of what is "
    "measured": (ComplaintKind.PEER_BUSY, {"share": 0.95}),
    "the peer shares the trial's CPUs, because this host has no others": (
        ComplaintKind.PEER_SHARED,
        {},
    ),
}


@pytest.mark.parametrize(("text", "complaint"), SENTENCES.items())
def test_each_kind_has_its_sentence(text, complaint):
    assert sentence(Complaint(*complaint)) == text


def test_several_of_a_kind_are_one_sentence_with_a_range():
    some = [Complaint(ComplaintKind.STOLEN, {"share": share}) for share in (0.1, 0.3, 0.2)]
    assert sentence(*some) == "the hypervisor below stole 10 to 30 % of the CPU time"
