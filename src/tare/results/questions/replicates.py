"""Which pairs were measured in the same instances, and whether that makes them one replicate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tare.core.model import Plan, Trial
from tare.results.compare.estimates import Estimates
from tare.results.stats.hierarchy import Components, blocks_per_group

RECYCLE_BELOW = 0.1
"""Upper-tail p of the F test, times the cells asked, below which fresh instances are opened.

Group means become the replicates at weaker evidence, which costs width only; opening costs time.
"""


@dataclass(frozen=True, slots=True)
class Scatter:
    """How the pairs of a cell scatter between and within instances, at its last look."""

    cell: str
    parts: Components


def scatters(plan: Plan, trials: Iterable[Trial], open_cells: Iterable[str]) -> Iterator[Scatter]:
    """Split the variance of every open cell's pairs, by its workload's primary metric."""
    wanted = set(open_cells)
    for one in Estimates(plan, trials).decisive:
        cell, parts = one.subject.cell.id, one.judgement.parts
        if cell in wanted and parts is not None:
            yield Scatter(cell, parts)


def blocks_per_instance(found: Sequence[Scatter], fresh_s: float, block_s: float) -> int | None:
    """Choose after how many blocks an instance is closed and a fresh one opened in its place.

    ``fresh_s`` is what one fresh instance of every platform takes with its warm-up, ``block_s``
    what a block takes. The cell whose instances differ most decides, because all of a place are
    replaced together: otherwise pairs would share one of their two instances. None if nothing
    shows that instances differ.
    """
    chosen = [
        blocks_per_group(one.parts, fresh_s, block_s)
        for one in found
        if one.parts.p * len(found) < RECYCLE_BELOW
    ]
    return min((blocks for blocks in chosen if blocks is not None), default=None)
