"""The sentences about a self-test that every report prints."""

from __future__ import annotations

from collections.abc import Sequence

from tare.core.model import Variant
from tare.experiment.selftest.outcome import SPANS_S, Arm, Tested

NAMES = {
    Variant.WALL: "wall time",
    Variant.CORRECTED: "less foreign delay",
    Variant.HOST_CPU: "host CPU",
}
HEADLINE = 0.03
"""The injected overhead that the sentence quotes."""


def said(tested: Sequence[Tested], date: str) -> list[str]:
    """Return how the overhead came out by the recommended variants, and what can be resolved."""
    chosen = [one for one in tested if one.recommended]
    if not chosen:
        return [f"The self-test of this host on {date} gave no numbers.", ""]
    wrong = [one for one in chosen for arm in one.arms if arm.holds is False]
    arms = [(one, arm) for one in chosen for arm in one.arms if arm.truth == HEADLINE]
    quoted = ", ".join(
        f"{found_text(arm)} % on {one.stack} ({NAMES[one.variant]})" for one, arm in arms
    )
    count = sum(arm.holds is not None for one in chosen for arm in one.arms)
    held = "all" if not wrong else f"{count - len(wrong)}"
    missed = sum(arm.missed for one in chosen for arm in one.arms)
    luck = f"; {missed} missed it by more than luck" if missed else ""
    spans = " / ".join(map(span_text, SPANS_S))
    resolved = ", ".join(
        f"{one.stack} {' / '.join(map(share_text, one.resolvable))}" for one in chosen
    )
    return [
        f"Self-test of this host on {date}: +{100 * HEADLINE:g} % of work came out as {quoted}; "
        f"{held} of {count} intervals hold the truth, each of them with 95 %{luck}.",
        f"In {spans} of measuring one comparison it resolves: {resolved}.",
    ]


def found_so_far(tested: Sequence[Tested]) -> str:
    """Return how each injected overhead has come out by now, by the recommended variant."""
    arms = [arm for one in tested if one.recommended for arm in one.arms]
    if not arms:
        return "no numbers yet"
    found = "; ".join(f"{100 * arm.truth:+g} % is {found_text(arm)} %" for arm in arms)
    return found.replace("+0 %", "A/A")


def found_text(arm: Arm) -> str:
    """Write an estimate and its interval in per cent, without the unit."""
    if arm.found is None:
        return "nothing"
    if arm.low is None or arm.high is None:
        return f"{100 * arm.found:+.2f}"
    return f"{100 * arm.found:+.2f} [{100 * arm.low:+.2f}, {100 * arm.high:+.2f}]"


def share_text(share: float | None) -> str:
    """Write what can be resolved."""
    return "too short" if share is None else f"{100 * share:.2g} %"


def span_text(seconds: float) -> str:
    """Write a time of measuring."""
    return f"{seconds:g} s" if seconds < 100 else f"{seconds / 60:g} min"
