"""Reasons: each kind has words, and these have its numbers."""

import pytest

from tare.core.model import Limits, Variant
from tare.present.view.reasons import _WORDS, CANNOT, UNACCOUNTED, reason_text, why_text
from tare.results.compare.contention import Unaccounted
from tare.results.compare.reason import Reason, ReasonKind, reason_of


def test_every_kind_has_words():
    assert set(_WORDS) == set(ReasonKind)
    assert set(UNACCOUNTED) == set(Unaccounted)


def test_reasons_are_equal_by_kind_and_values_and_can_be_counted():
    one = reason_of(ReasonKind.GAVE_NONE, blocks=8, said="")

    assert one == Reason(ReasonKind.GAVE_NONE, {"blocks": 8, "said": ""})
    assert one != reason_of(ReasonKind.GAVE_NONE, blocks=7, said="")
    assert len({one, reason_of(ReasonKind.GAVE_NONE, blocks=8, said="")}) == 1


def test_where_there_is_none_nothing_is_said():
    assert reason_text(None) == ""


UNAVAILABLE = reason_of(ReasonKind.UNAVAILABLE, said="")
SMALL, LARGE = (Limits(cpus=n, memory_bytes=n * 2**29) for n in (1, 2))


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (UNAVAILABLE, CANNOT),
        (
            reason_of(ReasonKind.BASELINE_UNAVAILABLE, why=UNAVAILABLE),
            "the baseline is unavailable: this host cannot do it",
        ),
        (
            reason_of(ReasonKind.PLATFORM_UNAVAILABLE, platform="kvm", why=UNAVAILABLE),
            "kvm is unavailable: this host cannot do it",
        ),
        (
            reason_of(ReasonKind.BASELINE_GAVE_NONE, blocks=3, said="exit 3"),
            "the baseline has no number in any of 3 blocks; the last reason: exit 3",
        ),
        (
            reason_of(
                ReasonKind.VARIANT_UNKNOWN,
                variant=Variant.CORRECTED,
                unknown=((Unaccounted.NOT_READ, 4), (Unaccounted.NO_TIME_LEFT, 1)),
            ),
            "its corrected variant is not known: its threads were not read on this host "
            "(4 trials), no time is left of it (1 trials)",
        ),
        (
            reason_of(ReasonKind.NO_RATIO, failed=2, zeros=1, pairs=8),
            "too many pairs failed and in 1 of 8 pairs one side had 0, which has no ratio",
        ),
        (
            reason_of(ReasonKind.LAYER_NOT_IN_PLAN, path=("host", "docker")),
            "host/docker with the same settings is not in the plan",
        ),
        (
            reason_of(
                ReasonKind.CONSTRAINT,
                name="memory_bytes",
                why=reason_of(
                    ReasonKind.MEMORY_NOT_MEASURED, limits=SMALL, elsewhere=(LARGE, SMALL)
                ),
            ),
            "memory: what it takes of its host: name results of a lifecycle study of it as well; "
            "the named ones have it with 2 CPUs, 1 GiB, disk cache none and 1 CPU, 512 MiB, disk "
            "cache none, this study has 1 CPU, 512 MiB, disk cache none: run one so",
        ),
        (
            reason_of(ReasonKind.OF_SIDES, sides=(("B", reason_of(ReasonKind.TRIALS_FAILED)),)),
            "B: too many of its trials failed",
        ),
        (
            reason_of(ReasonKind.NO_COST_HERE, unavailable=True, why=UNAVAILABLE),
            "unavailable: this host cannot do it",
        ),
        (
            reason_of(ReasonKind.SEVERAL, reasons=(UNAVAILABLE, UNAVAILABLE)),
            CANNOT,
        ),
    ],
    ids=lambda one: one.kind if isinstance(one, Reason) else "",
)
def test_a_reason_is_worded_with_its_values(reason, text):
    assert reason_text(reason) == text


def test_reasons_that_studies_give_stay_as_they_are():
    assert why_text("it did not respond") == "it did not respond"
    assert why_text(UNAVAILABLE) == CANNOT
