"""Ladders in words and rows: what each switch of a platform costs, for tables of any kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tare.present.view.findings import Findings
from tare.present.view.numbers import NONE, share_text, size_text
from tare.present.view.reasons import reason_text
from tare.results.compare.comparison import Comparison
from tare.results.questions.by_block import Combined
from tare.results.questions.ladder import LadderCosts, SwitchCost
from tare.results.stats.sequential import Verdict

Costs = Comparison | Combined

COLUMNS = ("switch", "on → off", "cost, seen from the default", "seen from the bare end",
           "read inside, on → off")  # fmt: skip
TOTAL, REST, WHOLE = "sum", "rest", "all at once"
READING = (
    "One switch is turned at a time: off at the default end, on at the bare end. A cost is that of "
    "having the switch on, as a multiple of having it off; costs add on the logarithmic scale. The "
    "rest is what the sum lacks to all of them at once: 0 % where switches do not act on each "
    "other. Two that hinder each other raise it as seen from the bare end and lower it as seen "
    "from the default, where both carry what they cost only together. Intervals hold at every look "
    "together (95 %), each by itself."
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a ladder's table: a switch, or what all of them come to.

    ``read`` is what was read inside in both positions; ``counts`` is false for a switch without an
    effect on this host, whose costs are chance and not shown.
    """

    name: str
    positions: str
    from_default: Costs
    from_bare: Costs
    read: str = ""
    counts: bool = True

    @property
    def texts(self) -> tuple[str, ...]:
        """The cells of the line, one for each of ``COLUMNS``."""
        costs = [self.from_default, self.from_bare]
        shown = [cost_words(one) if self.counts else NONE for one in costs]
        return self.name, self.positions, *shown, self.read


def lines(one: LadderCosts) -> list[Line]:
    """List the switches of a ladder, their sum, the rest, and the whole."""
    switches = [
        Line(
            part.switch.name,
            f"{part.switch.on} → {part.switch.off}",
            part.from_default,
            part.from_bare,
            effect_text(part),
            counts=part.took_effect is not False,
        )
        for part in one.switches
    ]
    default, bare = one.from_default, one.from_bare
    return [
        *switches,
        Line(TOTAL, "", default.total, bare.total),
        Line(REST, "", default.rest, bare.rest),
        Line(WHOLE, "", one.between, one.between),
    ]


def title(found: Findings, one: LadderCosts) -> str:
    """Name a ladder and the workload it was measured by."""
    return f"{one.ladder.default}: {found.group_names[one.cell.id]}"


def cost_words(row: Costs) -> str:
    """Write a cost with its interval, or why there is none."""
    if row.cost is not None:
        return size_text(row.cost, row.low, row.high)
    why = row.reason or (row.why_no_ratio if isinstance(row, Comparison) else None)
    return reason_text(why) or NONE


def effect_text(part: SwitchCost) -> str:
    """Return what was read inside with the switch on and off, or that it changed nothing."""
    if part.took_effect is None:
        return "not read back"
    if not part.took_effect:
        same = ", ".join(f"{one.name} {one.on or NONE}" for one in part.readings)
        return f"no effect on this host: {same} in both positions"
    changed = (one for one in part.readings if one.differs)
    return ", ".join(f"{one.name} {one.on or NONE} → {one.off or NONE}" for one in changed)


def sentences(found: Findings, one: LadderCosts) -> list[str]:
    """Return what a platform costs, which of its switches cost something, and which do nothing."""
    name, bare = one.ladder.default, one.ladder.bare
    against = found.plan.reference
    parts = [
        f"{platform} costs {cost_words(row)} beyond {against}"
        for platform, row in ((name, one.default), (bare, one.bare))
        if row is not None
    ]
    between = f"all its switches at once cost {cost_words(one.between)}"
    ranked = sorted(
        (part for part in one.switches if part.took_effect is not False),
        key=lambda part: -(part.from_default.cost or 0.0),
    )
    text = [f"{'; '.join([*parts, between])}."]
    margin = share_text(found.plan.repetition.margin)
    for verdicts, words in (
        ((Verdict.SLOWER,), "Shown to cost something, seen from the default"),
        ((Verdict.FASTER,), "Cheaper with it than without"),
        ((Verdict.SAME,), f"The same within {margin} with it and without"),
        ((Verdict.UNDECIDED, Verdict.NOT_MEASURED), "Undecided"),
    ):
        some = [part for part in ranked if part.from_default.verdict in verdicts]
        texts = [f"{part.switch.name} ({cost_words(part.from_default)})" for part in some]
        if texts:
            text.append(f"{words}: {', '.join(texts)}.")
    idle = [part.switch.name for part in one.switches if part.took_effect is False]
    if idle:
        text.append(f"Without any effect on this host, and so without a cost: {', '.join(idle)}.")
    return text


def brief(found: Findings) -> Iterator[str]:
    """List a sentence for each switch of each ladder, for texts without tables."""
    for one in found.comparisons.ladders:
        for line in lines(one):
            name, positions, default, bare, read = line.texts
            known = f" ({positions})" if positions else ""
            costs = f"{default}, from the bare end {bare}" if line.counts else read
            yield f"{title(found, one)}: {name}{known}: {costs}."


def ladder_rows(found: Findings) -> list[dict[str, Any]]:
    """Return all ladders as plain data, in ratios."""
    return [
        {
            "platform": one.ladder.default,
            "bare_platform": one.ladder.bare,
            "workload": found.group_names[one.cell.id],
            "metric": one.metric.name,
            "default": _cost(one.default),
            "bare": _cost(one.bare),
            "between": _cost(one.between),
            "switches": [
                {
                    "name": part.switch.name,
                    "about": part.switch.about,
                    "on": part.switch.on,
                    "off": part.switch.off,
                    "without": part.switch.without,
                    "only": part.switch.only,
                    "from_default": _cost(part.from_default),
                    "from_bare": _cost(part.from_bare),
                    "took_effect": part.took_effect,
                    "read": {each.name: [each.on, each.off] for each in part.readings},
                }
                for part in one.switches
            ],
            **{
                f"{name}_{end}": _cost(row)
                for end, costs in (("from_default", one.from_default), ("from_bare", one.from_bare))
                for name, row in (("sum", costs.total), ("rest", costs.rest))
            },
        }
        for one in found.comparisons.ladders
    ]


def _cost(row: Costs | None) -> dict[str, Any] | None:
    if row is None:
        return None
    verdict = {"verdict": row.verdict.value} if isinstance(row, Comparison) else {}
    return {
        "cost": row.cost,
        "low": row.low,
        "high": row.high,
        "pairs": row.pairs,
        **verdict,
        "reason": reason_text(row.reason),
    }


def taken_apart(found: Findings) -> Sequence[tuple[str, Sequence[str], Sequence[Line]]]:
    """List the title, the sentences and the lines of each ladder, as the page shows them."""
    return [(title(found, one), sentences(found, one), lines(one)) for one in
            found.comparisons.ladders]  # fmt: skip
