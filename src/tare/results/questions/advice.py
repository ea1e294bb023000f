"""Which platform suits a mix of work: expected slowdown, ties, constraints, and what is not known.

The weights of a mix are the shares of time that its work takes on the baseline, so a platform whose
costs are ``c`` takes ``sum(share * c)`` times as long: the *expected slowdown* (METHOD.md 2.9). The
weighted geometric mean is shown with it as an *index*; it is no time that anybody waits.

**Intervals.** The costs' intervals are those of ``tare show``. Their arms are weighted, squared and
added (``stats.independent``), which takes the workloads' errors for independent: each cost is
paired in blocks with a baseline cell of its own.

**Ties.** Two platforms are compared with each other as either is with the baseline: their trials
are paired in the same blocks, workload by workload, with the shares of time that the mix has on the
second, ``share * c / sum(share * c)``; these shares are taken as they were measured. That is
narrower and truer than two intervals that overlap, because the noise of the baseline is in neither.
(In a duet only the baseline runs with another; there the two costs are divided.) Platforms whose
interval holds 1, or that have none, are tied. Each such interval holds with 95 %, not all of them
together. Platforms share a letter if and only if they are tied.

Nothing is filled in: a platform without a cost for a part of the mix has no place in the ranking.
Isolation, start and memory are constraints and no part of the slowdown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from string import ascii_letters

from tare.core.model.group import Group, group
from tare.results.compare.result_set import ResultSet
from tare.results.questions.mix_costs import Costs, Mix
from tare.results.questions.places import Place, place_of, slowdown_of
from tare.results.questions.reversals import (
    Gap,
    LeftOut,
    Swap,
    left_out_of,
    missing_of,
    swaps_of,
    undecided_of,
)
from tare.results.stats.sequential import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Platforms, best first; then those that break a constraint, then those that lack a number.

    ``untrusted`` are parts of the mix whose A/A control differs from its baseline.
    """

    places: tuple[Place, ...]
    swaps: tuple[Swap, ...]
    left_out: tuple[LeftOut, ...]
    missing: tuple[Gap, ...]
    undecided: tuple[Gap, ...]
    untrusted: tuple[Group, ...] = ()

    @property
    def first(self) -> tuple[str, ...]:
        """The platforms that are first: the best one and those tied with it, in their order."""
        ranked = [place for place in self.places if place.rank is not None]
        best = set(ranked[0].letters) if ranked else set()
        return tuple(place.platform for place in ranked if best & set(place.letters))


def advise(side: ResultSet, mix: Mix, others: Sequence[ResultSet] = ()) -> Advice:
    """Rank the platforms of a study for a mix.

    ``others`` are results of studies in which the same platforms were started, which say start and
    memory, or had neighbours, which say what they lose to these.
    """
    known = Costs(side, mix)
    places = [place_of(known, name, mix, (side, *others)) for name in known.platforms]
    whole = sorted((one for one in places if one.slowdown is not None), key=slowdown_of)
    able = [one for one in whole if not one.is_excluded]
    letters = _letters([one.platform for one in able], known)
    ranked = [replace(one, rank=_rank(one, able), letters=letters[one.platform]) for one in able]
    rest = [one for one in whole if one.is_excluded]
    unranked = [one for one in places if one.slowdown is None]
    return Advice(
        places=(*ranked, *rest, *unranked),
        swaps=tuple(swaps_of(known, ranked)),
        left_out=tuple(left_out_of(known, ranked)),
        missing=tuple(missing_of(known, places)),
        undecided=tuple(undecided_of(known, ranked)),
        untrusted=tuple(
            group(row.cell)
            for row in side.primary.values()
            if row.is_control
            and row.verdict in (Verdict.SLOWER, Verdict.FASTER)
            and group(row.cell) in known.shares
        ),
    )


def _rank(place: Place, able: Sequence[Place]) -> int:
    return 1 + sum(slowdown_of(one) < slowdown_of(place) for one in able)


def _letters(names: Sequence[str], known: Costs) -> dict[str, str]:
    """Return platforms letters so that two share one if and only if they are tied (Piepho 2004)."""
    tied = [set(names)] if names else []
    for one, other in combinations(names, 2):
        if known.are_apart(one, other):
            halves = [
                half
                for some in tied
                for half in (
                    [some - {one}, some - {other}] if one in some and other in some else [some]
                )
            ]
            unique = [some for place, some in enumerate(halves) if some not in halves[:place]]
            tied = [some for some in unique if not any(some < larger for larger in unique)]
    tied.sort(key=lambda some: [name not in some for name in names])
    return {
        name: "".join(_letter(n) for n, some in enumerate(tied) if name in some) for name in names
    }


def _letter(number: int) -> str:
    """Return one sign a number; beyond the alphabet any letter that is not in it will do."""
    return ascii_letters[number] if number < len(ascii_letters) else chr(0x100 + number)
