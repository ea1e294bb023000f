"""A platform taken apart: what each of its switches costs, from both of its ends.

The cells of a ladder are compared with each other as any cell is with its baseline: pairs of one
block, intervals that hold at all looks together. The cost of a switch is asked twice: at the
default end (the default against the default with this switch off) and at the bare end (the bare
platform with this switch on against the bare one). Where switches do not act on each other the two
agree, and the costs multiply up to the whole.

**Sum and rest.** Costs add on the log scale. The parts share the cell they are compared with, so
their intervals may not be added up as those of independent numbers. Instead each block gives one
sum, and one rest (the log ratio of default to bare less that sum), and these are the values that an
interval is made of, by the same rule as pairs are. A block in which one of these platforms has no
ratio is left out, since a sum has no rank to keep. The rest is the interaction: 1 where switches do
not act on each other. Two that hinder each other raise the rest above 1 from the bare end, where
none of the switches turned meets another, and below 1 from the default end, where what they cost
only together is counted with each of them.

**Switches without an effect.** What was read back inside shows whether a switch did anything on
this host. One that did not is reported as having none: it is no part of sum or rest, and any cost
measured of it is chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tare.core.model import (
    Cell,
    Contrast,
    ContrastKind,
    Facts,
    Ladder,
    LadderSwitch,
    Metric,
    Plan,
)
from tare.core.model.group import Group, group
from tare.results.compare.comparison import Comparison
from tare.results.compare.estimates import Estimates
from tare.results.compare.reason import ReasonKind, reason_of
from tare.results.questions.by_block import Combined, combined


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read inside the default platform, and inside it with the switch off."""

    name: str
    on: str
    off: str

    @property
    def differs(self) -> bool:
        """Whether the switch changed it."""
        return self.on != self.off


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchCost:
    """What one switch costs, as seen from the default end and from the bare end."""

    switch: LadderSwitch
    from_default: Comparison
    from_bare: Comparison
    readings: tuple[Reading, ...] = ()

    @property
    def took_effect(self) -> bool | None:
        """Whether anything read inside differs with it; None where nothing was read."""
        return any(one.differs for one in self.readings) if self.readings else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndCosts:
    """The sum of the switches' costs as seen from one end, and what it lacks to the whole."""

    total: Combined
    rest: Combined


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderCosts:
    """One ladder on one workload under one set of limits, by the workload's first metric.

    ``default`` and ``bare`` are compared with the study's baseline, ``between`` is the default
    against the bare end; it is what the switches cost together.
    """

    ladder: Ladder
    cell: Cell
    metric: Metric
    default: Comparison | None
    bare: Comparison | None
    between: Comparison
    switches: tuple[SwitchCost, ...]
    from_default: EndCosts
    from_bare: EndCosts


def ladder_costs(estimates: Estimates, facts: Facts) -> Iterator[LadderCosts]:
    """List what each switch of each ladder costs, on every workload, in the order of the plan."""
    for ladder in estimates.plan.ladders:
        for cells in _groups(estimates.plan).values():
            if ladder.default in cells and ladder.bare in cells:
                yield _Ladder(ladder, cells, estimates).costs(facts)


def still_compared(estimates: Estimates) -> set[str]:
    """List the ids of the cells that a ladder needs more blocks of.

    A switch is decided where its neighbours are distinguished, not where both differ from the
    baseline.
    """
    needed = set()
    for contrast in estimates.plan.contrasts:
        is_attribution = contrast.kind is ContrastKind.ATTRIBUTION
        if is_attribution and not estimates.of(contrast).is_done:
            needed |= {contrast.cell, contrast.reference}
    return needed


def _groups(plan: Plan) -> dict[Group, dict[str, Cell]]:
    """Sort the cells by what must be alike to be compared, and by platform."""
    groups: dict[Group, dict[str, Cell]] = {}
    for cell in plan.platform_cells:
        groups.setdefault(group(cell), {})[cell.platform] = cell
    return groups


@dataclass(frozen=True, slots=True)
class _Ladder:
    """One ladder on one workload, with all that its comparisons are made of."""

    ladder: Ladder
    cells: Mapping[str, Cell]
    estimates: Estimates

    @property
    def plan(self) -> Plan:
        return self.estimates.plan

    def costs(self, facts: Facts) -> LadderCosts:
        default, bare = self.cells[self.ladder.default], self.cells[self.ladder.bare]
        switches = tuple(
            SwitchCost(
                switch=one,
                from_default=self.compared(default, self.cells[one.without]),
                from_bare=self.compared(self.cells[one.only], bare),
                readings=tuple(_readings(one, self.ladder, facts)),
            )
            for one in self.ladder.switches
        )
        parts = [one for one in switches if one.took_effect is not False]
        return LadderCosts(
            ladder=self.ladder,
            cell=default,
            metric=self.metric,
            default=self.decided(default),
            bare=self.decided(bare),
            between=self.compared(default, bare),
            switches=switches,
            from_default=self.end([one.from_default for one in parts]),
            from_bare=self.end([one.from_bare for one in parts]),
        )

    @property
    def metric(self) -> Metric:
        return self.plan.metrics[self.cells[self.ladder.default].workload][0]

    def compared(self, cell: Cell, reference: Cell) -> Comparison:
        """Compare two cells by the rule that compares each with its baseline."""
        return self.estimates.of(self.contrast(cell, reference)).row

    def contrast(self, cell: Cell, reference: Cell) -> Contrast:
        kind = ContrastKind.ATTRIBUTION
        return Contrast(cell=cell.id, reference=reference.id, kind=kind)

    def decided(self, cell: Cell) -> Comparison | None:
        """Compare a cell as the plan decides about it; None of the reference itself."""
        contrast = self.plan.decided_by.get(cell.id)
        return None if contrast is None else self.estimates.of(contrast).row

    def end(self, parts: Sequence[Comparison]) -> EndCosts:
        """Add up the costs of switches as seen from one end, and give the rest."""
        if not parts:
            none = Combined(reason=reason_of(ReasonKind.NO_SWITCH))
            return EndCosts(total=none, rest=none)
        pairs = [(row.cell, row.baseline) for row in parts if row.baseline is not None]
        whole = self.cells[self.ladder.default], self.cells[self.ladder.bare]
        return EndCosts(
            total=self.combined([(1.0, *one) for one in pairs]),
            rest=self.combined([(1.0, *whole), *((-1.0, *one) for one in pairs)]),
        )

    def combined(self, terms: Sequence[tuple[float, Cell, Cell]]) -> Combined:
        """Add weighted log ratios block by block, and estimate the sum."""
        contrasts = [(weight, self.contrast(cell, other)) for weight, cell, other in terms]
        return combined(self.estimates, contrasts)


def _readings(switch: LadderSwitch, ladder: Ladder, facts: Facts) -> Iterator[Reading]:
    """List what was read inside with a switch on and off, as far as both are known."""
    on, off = (facts.platform(name).confinement for name in (ladder.default, switch.without))
    for name in switch.shows:
        if name in on or name in off:
            yield Reading(name, on.get(name, ""), off.get(name, ""))
