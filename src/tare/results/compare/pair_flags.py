"""What is to be known of the pairs of one comparison, by kind."""

from __future__ import annotations

from collections.abc import Iterator

from tare.core.model import Better, Metric, Variant
from tare.results.compare.flag import Flag, FlagKind, flag
from tare.results.compare.pairing import Pairs
from tare.results.compare.suspects import suspect_flags


def pair_flags(pairs: Pairs, metric: Metric, repeated: int) -> Iterator[Flag]:
    """Yield what is to be known of a comparison's pairs: failed, left out, without a ratio, rerun.

    ``repeated`` is the number of trials that were run again.
    """
    n = len(pairs.log_ratios)
    if pairs.failed:
        yield flag(FlagKind.FAILED, failed=pairs.failed, pairs=n)
    if pairs.baseline_failed:
        yield flag(FlagKind.BASELINE_FAILED, failed=pairs.baseline_failed, pairs=n)
    if pairs.both_failed:
        yield flag(FlagKind.BOTH_FAILED, blocks=pairs.both_failed)
    if pairs.no_ratio:
        zero = metric.better is Better.HIGHER
        yield flag(FlagKind.NO_RATIO, values=pairs.no_ratio, zero=zero)
    yield from _zero_flags(pairs, n)
    yield from suspect_flags(pairs.why_suspect, n)
    left_out = {
        FlagKind.BASELINE_MISSING: pairs.baseline_missing,
        FlagKind.OTHER_SESSION: pairs.apart,
        FlagKind.OTHER_ENTRY: pairs.other_entry,
        FlagKind.NO_METRIC: pairs.absent,
    }
    for kind, blocks in left_out.items():
        if blocks:
            yield flag(kind, blocks=blocks)
    if repeated:
        yield flag(FlagKind.RUN_AGAIN, trials=repeated)


def _zero_flags(pairs: Pairs, n: int) -> Iterator[Flag]:
    """Yield where 0 is the best value: which side is better is known, not by what ratio."""
    if pairs.zeros:
        yield flag(FlagKind.ZERO, zeros=pairs.zeros, pairs=n)
    if pairs.baseline_zeros:
        yield flag(FlagKind.BASELINE_ZERO, zeros=pairs.baseline_zeros, pairs=n)
    if pairs.both_zero:
        yield flag(FlagKind.BOTH_ZERO, zeros=pairs.both_zero, pairs=n)


def accounting_flags(pairs: Pairs, variant: Variant) -> Iterator[Flag]:
    """Yield on what the accounting of a variant rests."""
    for why, trials in pairs.unknown.items():
        yield flag(FlagKind.VARIANT_UNKNOWN, variant=variant, trials=trials, why=why)
    if pairs.workers > 1:
        yield flag(FlagKind.PARALLEL_DELAY, threads=pairs.workers)
