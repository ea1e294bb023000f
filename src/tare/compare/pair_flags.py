"""What is to be known of the pairs of one comparison, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from tare.compare.pairing import Pairs
from tare.compare.suspects import suspect_flags
from tare.model import Better, Metric, Variant


def pair_flags(pairs: Pairs, metric: Metric, repeated: int) -> Iterator[str]:
    """Yield what is to be known of a comparison's pairs: failed, left out, without a ratio, rerun.

    ``repeated`` is the number of trials that were run again.
    """
    n = len(pairs.log_ratios)
    if pairs.failed:
        yield f"Failed in {pairs.failed} of {n} pairs, which count as the worst value."
    if pairs.baseline_failed:
        yield (
            f"The baseline failed in {pairs.baseline_failed} of {n} pairs, "
            "which count as the best value."
        )
    if pairs.both_failed:
        yield f"Left out {pairs.both_failed} blocks in which both failed: they favour neither."
    if pairs.no_ratio:
        impossible = "zero, negative" if metric.better is Better.HIGHER else "negative"
        yield (
            f"{pairs.no_ratio} values are {impossible} or not finite and have no ratio: "
            "they count as failed."
        )
    yield from _zero_flags(pairs, n)
    yield from suspect_flags(pairs.why_suspect, n)
    if pairs.baseline_missing:
        yield (
            f"Left out {pairs.baseline_missing} blocks in which the baseline has no number "
            "and did not fail."
        )
    if pairs.apart:
        yield f"Left out {pairs.apart} blocks whose two trials are of different sessions."
    if pairs.other_entry:
        yield (
            f"Left out {pairs.other_entry} blocks in which a command entered its machine in "
            "another way (anew, or by an agent) than in most."
        )
    if pairs.absent:
        yield f"Left out {pairs.absent} blocks in which the cell has no number of this metric."
    if repeated:
        trials = "1 trial was" if repeated == 1 else f"{repeated} trials were"
        yield f"{trials} run again; the last good one of a block counts."


def _zero_flags(pairs: Pairs, n: int) -> Iterator[str]:
    """Yield where 0 is the best value: which side is better is known, not by what ratio."""
    if pairs.zeros:
        yield f"It had 0 in {pairs.zeros} of {n} pairs, which has no ratio: it is better in them."
    if pairs.baseline_zeros:
        yield (
            f"The baseline had 0 in {pairs.baseline_zeros} of {n} pairs, which has no ratio: it "
            "is better in them."
        )
    if pairs.both_zero:
        yield f"Both had 0 in {pairs.both_zero} of {n} pairs, which count as equal."


def accounting_flags(pairs: Pairs, variant: Variant) -> Iterator[str]:
    """Yield on what the accounting of a variant rests."""
    for reason, trials in pairs.unknown.items():
        yield f"The {variant.value} variant of {trials} trials is not known: {reason}."
    if pairs.workers > 1:
        yield (
            f"Foreign delay is the mean of up to {pairs.workers} threads at once, which assumes "
            "that they work independently."
        )
