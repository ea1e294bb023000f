"""Who took what a workload and its neighbour contend for, over the time of a trial.

A lane is a platform with a neighbour, a column what that neighbour is held to. All lanes of a
figure have one scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tare.core.model import Cell, Neighbour, Reservation, Unit, neighbour_of
from tare.present.charts.axis import outer_ticks, share_of, time_axis
from tare.present.charts.canvas import Canvas, Polyline, Text
from tare.present.charts.figure import BOLD, NARROW, Figure, shortened, within
from tare.present.charts.lanes import Lanes, legend
from tare.present.charts.stacks import MAX_STEPS, Stack, areas_of, usable
from tare.present.view import theme
from tare.present.view.findings import CellGroup, Findings
from tare.present.view.neighbours import short_text
from tare.present.view.numbers import Scale, duration_text, scale_for
from tare.present.view.reservation_words import reservation_text
from tare.present.view.sampled_rows import LAYER_CPU, LAYER_DISK, Name, Numbers, Readings
from tare.present.view.timelines import Seen
from tare.results.questions.shares import Contended, Shares, contended_with, shares, sides
from tare.results.stats.spans import LEAST_SPAN_S, steps

WORKLOAD, NEIGHBOUR, ALONE = "workload", "neighbour", "workload alone, mean"
COLOURS = {WORKLOAD: theme.SYSTEM, NEIGHBOUR: theme.STOLEN}
COUNTERS: Mapping[Contended, tuple[Name, ...]] = {
    Contended.CPU: (LAYER_CPU,),
    Contended.DISK: LAYER_DISK,
}
UNCOUNTED = ("net_send", "net_receive")
"""Stressors whose traffic nothing counts by group."""
MAX_LANES = 8
"""Maximum number of platforms with neighbours that one figure has."""
_HEAD = 22


@dataclass(frozen=True)
class Rivalry:
    """A workload, and what it contends for with some of its neighbours."""

    group: CellGroup
    contended: Contended


@dataclass(frozen=True)
class _Lane:
    """A platform next to a neighbour: its cell by what the neighbour is held to."""

    title: str
    cells: Mapping[Reservation | None, Cell]

    def cell(self, *, is_held: bool) -> Cell | None:
        """Return the cell whose neighbour is not held, or the first one whose neighbour is."""
        return next((cell for by, cell in self.cells.items() if (by is not None) == is_held), None)


@dataclass(frozen=True)
class _Drawn:
    """What is drawn of a cell: both sides over time, and what the workload took alone."""

    stack: Stack
    alone: float | None


def rivalries(groups: Sequence[CellGroup]) -> list[Rivalry]:
    """List each workload with each thing that it contends for."""
    return [
        Rivalry(group, contended)
        for group in groups
        for contended in Contended
        if _lanes(group, contended)
    ]


def has_rivalry(found: Findings, of: Rivalry) -> bool:
    """Return whether a trial has readings of both sides."""
    return bool(_drawn(found, of))


def starved(found: Findings, of: Rivalry, name: str) -> Figure:
    """Draw what both sides took over a typical trial, without and with a reservation."""
    drawn, planned = _drawn(found, of), _lanes(of.group, of.contended)
    every = [one for one in planned if any(cell.id in drawn for cell in one.cells.values())]
    some = every[:MAX_LANES]
    columns = [
        is_held
        for is_held in (False, True)
        if any(lane.cell(is_held=is_held) is not None for lane in some)
    ]
    shown = [drawn[cell.id] for lane in some for cell in lane.cells.values() if cell.id in drawn]
    most = max([one.stack.most for one in shown] + [one.alone or 0.0 for one in shown])
    scale = _scale(of.contended, most)
    ticks = outer_ticks(0.0, within(most / scale.factor, log=False) or 1.0, log=False)
    labels = {share_of(tick, ticks, log=False): f"{tick:,.6g}" for tick in ticks}
    labels[1.0] += f" {scale.unit}"
    end_s = max(one.stack.times_s[-1] for one in shown)

    def share(height: float) -> float:
        return share_of(height / scale.factor, ticks, log=False)

    def draw(width: int) -> Canvas:
        canvas, narrow = Canvas(width), width < NARROW
        top = legend(canvas, {**COLOURS, ALONE: theme.INK}, columns=2 if narrow else 3)
        across = 1 if narrow else len(columns)
        own = width / across
        for place, is_held in enumerate(columns):
            corner = (0.0, canvas.height + 8) if narrow and place else (place % across * own, top)
            heading = "neighbour held by a reservation" if is_held else "neighbour not held"
            if len(columns) > 1:
                canvas.add(
                    Text(
                        (corner[0] + 4, corner[1] + 8),
                        shortened(heading, own - 12, BOLD),
                        bold=True,
                    )
                )
            titles = [(one.title, _note(found, one.cell(is_held=is_held))) for one in some]
            axis = time_axis("time since the trial began (s)", end_s, int(own))
            below = corner[0], corner[1] + (_HEAD if len(columns) > 1 else 0)
            lanes = Lanes(canvas, below, own, titles, labels, axis)
            for number, lane in enumerate(some):
                cell = lane.cell(is_held=is_held)
                one = drawn.get(cell.id) if cell else None
                if one is None:
                    continue
                for kind, outline in areas_of(one.stack):
                    places = lanes.places(number, [(at, share(height)) for at, height in outline])
                    canvas.add(Polyline(places, fill=COLOURS[kind]))
                if one.alone is not None:
                    ends = [(0.0, share(one.alone)), (one.stack.times_s[-1], share(one.alone))]
                    canvas.add(Polyline(lanes.places(number, ends), theme.INK, 1.5, dash="4 3"))
        return canvas

    title = f"{of.group.name}: who took the {of.contended.value}"
    return Figure(name, title, _caption(of, planned, every, drawn), draw)


def _caption(
    of: Rivalry, planned: Sequence[_Lane], every: Sequence[_Lane], drawn: Mapping[str, _Drawn]
) -> str:
    lanes, left = every[:MAX_LANES], len(every) - MAX_LANES
    what = {
        Contended.CPU: "How many CPUs each side kept busy",
        Contended.DISK: "How many bytes a second each side read and wrote",
    }[of.contended]
    text = (
        f"{what}, as the control groups of its instances count it: the neighbour upon the "
        "workload. The dashed line is what the workload took without a neighbour, the median over "
        "trials of their means. It is the trial whose duration is nearest to the median, and each "
        f"step the mean between two readings that are {1000 * LEAST_SPAN_S:.0f} ms apart or more. "
        "All lanes have one scale."
    )
    if of.contended is Contended.CPU and any(map(_is_on_network, _cells(lanes))):
        text += (
            " Nothing counts the bytes of a network by group, so a neighbour that sends or "
            "receives is drawn by its CPU time."
        )
    if missing := [one.title for one in planned if one not in every]:
        text += f" Not read of both sides: {'; '.join(missing)}."
    if left > 0:
        text += f" {left} more {'is' if left == 1 else 'are'} not drawn."
    if any(len([by for by in lane.cells if by is not None]) > 1 for lane in lanes):
        text += " Of several reservations the first is drawn."
    return text


def _cells(lanes: Sequence[_Lane]) -> list[Cell]:
    return [cell for lane in lanes for cell in lane.cells.values()]


def _is_on_network(cell: Cell) -> bool:
    neighbour = neighbour_of(cell.params)
    return neighbour is not None and neighbour.stressor in UNCOUNTED


def _note(found: Findings, cell: Cell | None) -> str:
    if cell is None:
        return "not in the study"
    seen = found.timelines.typical.get(cell.id)
    if seen is None:
        return "no samples of its trials"
    trial = seen.trial
    neighbour = neighbour_of(cell.params)
    held = neighbour.reservation if neighbour else None
    said = f"block {trial.block}, slot {trial.slot}, {duration_text(trial.duration_s)}"
    return said if held is None else f"held to {reservation_text(held)}; {said}"


def _scale(contended: Contended, most: float) -> Scale:
    if contended is Contended.CPU:
        return Scale(1, "CPUs")
    return scale_for(Unit.BYTE_PER_SECOND, [most])


def _lanes(group: CellGroup, contended: Contended) -> list[_Lane]:
    lanes: dict[tuple[str, Neighbour], dict[Reservation | None, Cell]] = {}
    for cell in group.cells:
        neighbour = neighbour_of(cell.params)
        if neighbour is not None and contended_with(neighbour) is contended and not cell.replica:
            free = replace(neighbour, reservation=None)
            lanes.setdefault((cell.platform, free), {})[neighbour.reservation] = cell
    return [
        _Lane(f"{platform}, next to {short_text(neighbour)}", cells)
        for (platform, neighbour), cells in lanes.items()
    ]


def _drawn(found: Findings, of: Rivalry) -> Mapping[str, _Drawn]:
    alone = {one.cell.id: one.alone for one in _known(found)}
    typical = found.timelines.typical
    drawn = {}
    for lane in _lanes(of.group, of.contended):
        for cell in lane.cells.values():
            if cell.id in typical:
                stack = rival_stack(typical[cell.id], cell, of.contended)
                if stack is not None:
                    drawn[cell.id] = _Drawn(stack, alone.get(cell.id))
    return drawn


def _known(found: Findings) -> Sequence[Shares]:
    return shares(found.plan, found.measured)


def rival_stack(seen: Seen, cell: Cell, contended: Contended) -> Stack | None:
    """Stack what the neighbour took in a second upon what the workload did, from step to step.

    None where a part of the trial was not read twice in the time that all of them were read in.
    """
    own, theirs = sides(neighbour_of(cell.params), seen.trial)
    counters = COUNTERS[contended]
    by_side: dict[str, list[Readings]] = {}
    for side, parts in ((WORKLOAD, own), (NEIGHBOUR, theirs)):
        for part in parts:
            readings = seen.parts.get(getattr(part, "name", ""), {})
            known = usable(readings, counters, fewest=2)
            if len(known) < len(counters):
                return None
            by_side.setdefault(side, []).extend(known.values())
    if set(by_side) != {WORKLOAD, NEIGHBOUR}:
        return None
    every = [one for some in by_side.values() for one in some]
    begin = max(float(one.times_s[0]) for one in every)
    end = min(float(one.times_s[-1]) for one in every)
    inner = [at for at in by_side[WORKLOAD][0].times_s.tolist() if begin < at < end]
    times_s = [begin, *inner, end]
    if end - begin < LEAST_SPAN_S:
        return None
    marks = [times_s[mark] for mark in steps(times_s, MAX_STEPS)]
    if len(marks) < 2:
        return None
    heights = {side: _rates(some, marks).tolist() for side, some in by_side.items()}
    return Stack(marks, heights, holds=True)


def _rates(series: Sequence[Readings], marks: Sequence[float]) -> Numbers:
    """Return what some counters grew by together in a second of each step."""
    counts = np.sum([np.interp(marks, one.times_s, one.values) for one in series], axis=0)
    lasted_s = np.array([two - one for one, two in pairwise(marks)])
    grown: Numbers = np.maximum(0.0, np.diff(counts)) / lasted_s
    return grown
