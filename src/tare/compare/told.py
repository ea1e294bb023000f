"""Numbers in the sentences that comparisons are flagged with; logs of ratios become per cent."""

from __future__ import annotations

from tare.stats.ratio import ratio


def size(log: float) -> str:
    """Say how large a difference is, whichever way it goes."""
    return f"{100 * (ratio(abs(log)) - 1):.2g} %"


def percent(log: float) -> str:
    """Say a difference with its sign; from 100 % on in full, not as a power of ten."""
    change = 100 * (ratio(log) - 1)
    text = f"{change:+,.0f}" if 100 <= abs(change) < 1e6 else f"{change:+.2g}"
    return f"{text} %".replace("-", "\N{MINUS SIGN}")


def chance(p: float) -> str:
    """Say a p value."""
    return f"p {p:.1g}" if p >= 0.001 else "p < 0.001"
