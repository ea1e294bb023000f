"""Flags are kinds with numbers; each has its sentence in one place."""

import math

import pytest

from tare.present.view.flags import _WORDS, SEEN, SHARES, flag_text, flag_texts
from tare.results.compare.flag import Flag, FlagKind, flag

LOG_2 = math.log(2)
OUTLIER = {"block": 3, "change": LOG_2, "own": {}, "baseline": {}, "read": True}


def test_every_kind_has_words_and_every_cause_of_an_outlier():
    assert set(_WORDS) == set(FlagKind)
    assert set(SEEN) >= set(SHARES)


def test_flags_stand_in_their_order():
    flags = [flag(FlagKind.BOTH_ZERO, zeros=1, pairs=8), flag(FlagKind.BOTH_FAILED, blocks=2)]

    assert flag_texts(flags) == (
        "Both had 0 in 1 of 8 pairs, which count as equal.",
        "Left out 2 blocks in which both failed: they favour neither.",
    )


def test_flags_are_equal_by_kind_and_values_and_can_be_counted():
    assert flag(FlagKind.RUN_AGAIN, trials=1) == Flag(FlagKind.RUN_AGAIN, {"trials": 1})
    assert flag(FlagKind.RUN_AGAIN, trials=1) != flag(FlagKind.RUN_AGAIN, trials=2)
    assert len({flag(FlagKind.RUN_AGAIN, trials=1), flag(FlagKind.RUN_AGAIN, trials=1)}) == 1


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (
            flag(FlagKind.NO_RATIO, values=3, zero=True),
            "3 values are zero, negative or not finite and have no ratio: they count as failed.",
        ),
        (
            flag(FlagKind.NO_RATIO, values=3, zero=False),
            "3 values are negative or not finite and have no ratio: they count as failed.",
        ),
        (
            flag(FlagKind.REFUTED, verdict="slower", decided_at=3, look=8, early=True),
            "Called slower at 3 pairs, which the interval of 8 pairs refutes: the cost changed in "
            "between, or so few pairs were chance.",
        ),
        (
            flag(FlagKind.NOT_DIRECT, share=0.25, of_baseline=True),
            "The baseline's O_DIRECT was not direct: the host's disks moved 25 % of the bytes that "
            "the tool claims (median of the trials).",
        ),
        (
            flag(FlagKind.COST_REGIMES, levels=((0, 0.0), (9, -LOG_2))),
            "The cost differs by regime: +0 % from block 0, \N{MINUS SIGN}50 % from block 9.",
        ),
        (
            flag(FlagKind.NO_COMMON_NOISE, tau=None, p=None),
            "Noise that is common to both halves is not shown (they do not vary): without it a "
            "duet is no more exact than interleaving.",
        ),
        (
            flag(FlagKind.NO_COMMON_NOISE, tau=0.125, p=0.2),
            "Noise that is common to both halves is not shown (tau 0.12, p 0.2): without it a duet "
            "is no more exact than interleaving.",
        ),
        (
            flag(FlagKind.OUTLIERS, outliers=2, pairs=20, far=5.0, listed=(OUTLIER,)),
            "2 of 20 pairs are outliers, more than 5 deviations from the cost, and are kept: "
            "block 3, +100 % (the host shows no cause); and 1 more.",
        ),
        (
            flag(
                FlagKind.OUTLIERS,
                outliers=1,
                pairs=20,
                far=5.0,
                listed=(OUTLIER | {"own": {"steal": 0.2}, "baseline": {"swapped_pages": 12.0}},),
            ),
            "1 of 20 pairs are outliers, more than 5 deviations from the cost, and are kept: "
            "block 3, +100 % (stolen CPU time 20 %, baseline: 12 swapped pages).",
        ),
        (
            flag(FlagKind.SIDE_NOT_TRUSTED, side="B"),
            "In B: NOT TRUSTED: the A/A control, the same platform measured twice, differs from "
            "its baseline.",
        ),
    ],
)
def test_a_flag_is_worded_with_its_numbers(told, text):
    assert flag_text(told) == text
