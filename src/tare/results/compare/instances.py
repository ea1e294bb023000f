"""Which pairs were measured in the same instances, and what is to be known where these differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from tare.core.model import Replicates
from tare.results.compare.flag import Flag, FlagKind, flag
from tare.results.compare.pairing import History
from tare.results.stats.hierarchy import ENOUGH_GROUPS
from tare.results.stats.sequential import Judgement

SAID_ABOVE = 0.1
"""The intraclass correlation from which METHOD.md 2.2 says that instances are the replicates."""


def instance_pairs(of_cell: History, of_base: History, blocks: Sequence[int]) -> tuple[int, ...]:
    """Number, for each of the blocks, the group of pairs that it shares an instance with.

    Pairs that share either instance, or are linked by others that do, are one group: where one side
    was replaced alone, its pairs before and after still share the other side. Empty where pairs
    share nothing. A trial that names no instance shares none.
    """
    if of_cell.replicates is Replicates.TRIALS:
        return ()
    return linked(of_cell.instances(blocks), of_base.instances(blocks))


@lru_cache(maxsize=8)  # the metrics and variants of a cell follow each other
def linked(of_cell: Sequence[str], of_base: Sequence[str]) -> tuple[int, ...]:
    """Number the group of each pair: those that share an instance of either side are one."""
    linked: dict[tuple[str, str], tuple[str, str]] = {}

    def root(name: tuple[str, str]) -> tuple[str, str]:
        while (above := linked.setdefault(name, name)) != name:
            linked[name] = linked.setdefault(above, above)  # the next walk is shorter
            name = above
        return name

    for own, base in dict.fromkeys(zip(of_cell, of_base, strict=True)):
        linked[root(("base", base))] = root(("cell", own))
    roots = {own: root(("cell", own)) for own in dict.fromkeys(of_cell)}
    first: dict[tuple[str, str], int] = {}
    for place, own in enumerate(of_cell):
        first.setdefault(roots[own], place)
    return tuple(first[roots[own]] for own in of_cell)


def instance_flags(
    judgement: Judgement, instances: int | None, pairs: int, planned: int
) -> Iterator[Flag]:
    """Yield on what the interval rests where instances differ, or may and nobody can know.

    Instance pairs are the replicates at weaker evidence than is worth a sentence; their number
    is shown with that of the pairs.
    """
    parts = judgement.parts
    if judgement.nested and parts is not None:
        if parts.icc <= SAID_ABOVE and parts.p >= 0.05:
            return
        yield flag(
            FlagKind.INSTANCES_DIFFER,
            sure=parts.p < 0.05,
            icc=parts.icc,
            p=parts.p,
            instances=parts.groups,
            blocks=judgement.look or pairs,
        )
    elif instances is not None and max(instances, planned) < ENOUGH_GROUPS and pairs > instances:
        yield flag(FlagKind.FEW_INSTANCES, instances=instances)
