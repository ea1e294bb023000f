"""What layer and host did over the time of one trial a platform: CPU time, and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tare.core.model import Cell, Status, Unit
from tare.present.charts.figure import NARROW, Figure, Spec, shortened, within
from tare.present.charts.lanes import lanes, line_of, round_ticks, share_of
from tare.present.charts.stacks import (
    ALL,
    CACHED,
    FILES,
    IDLE,
    INSIDE,
    OTHER,
    REST,
    SPLIT,
    STOLEN,
    SYSTEM,
    UNDIVIDED,
    USED,
    USER,
    WAIT,
    Stack,
    areas_of,
    cpu_inside,
    cpu_stack,
    line_points,
    memory_inside,
    memory_stack,
    usable,
)
from tare.present.view import theme
from tare.present.view.findings import Findings, Group
from tare.present.view.marks import own_gap
from tare.present.view.names import platform_text
from tare.present.view.numbers import Scale, duration_text, plain, scale_for
from tare.present.view.sampled_rows import (
    HOST_BUSY,
    LAYER_CPU,
    LAYER_MEMORY,
    MACHINE,
    MACHINE_BUSY,
    MACHINE_MEMORY,
    Name,
    Readings,
)
from tare.present.view.timelines import Seen
from tare.results.stats.spans import LEAST_SPAN_S

COLOURS = {
    USER: theme.USER,
    SYSTEM: theme.SYSTEM,
    UNDIVIDED: theme.UNDIVIDED,
    REST: theme.HOST_REST,
    ALL: theme.HOST_ALL,
    WAIT: theme.WAIT,
    STOLEN: theme.STOLEN,
    OTHER: theme.USER,
    FILES: theme.FILES,
    INSIDE: theme.INK,
}
"""What is stacked, from the foot up; the last one is a line over it."""

_CPU = {
    LAYER_CPU: "the layer's CPU time",
    SPLIT[USER]: "its parts",
    SPLIT[SYSTEM]: "its parts",
    HOST_BUSY[0]: "the host's CPU time",
    IDLE[WAIT]: "I/O wait",
    IDLE[STOLEN]: "stolen time",
    MACHINE_BUSY[0]: "CPU time by the kernel inside",
}
_MEMORY = {
    LAYER_MEMORY: "the layer's memory",
    CACHED: "what of it is of files",
    USED: "the host's used memory",
    MACHINE_MEMORY: "memory used by the account of the kernel inside",
}
_MAX_REASON = 110
_CHOICE = (
    "Of each platform it is the trial whose duration is nearest to the median; where none has "
    "numbers, one that failed or was ended at its deadline. All platforms have one scale."
)


@dataclass(frozen=True)
class _Picture:
    """What the two charts of a workload differ in, by the cell's id.

    ``insides`` are what lines over the stacks tell: the account of a machine's own kernel.
    """

    kind: str
    stacks: Mapping[str, Stack]
    insides: Mapping[str, Stack]
    notes: Mapping[str, str]
    scale: Scale
    caption: str


def timelines(found: Findings, group: Group, number: int) -> Iterator[Figure]:
    """Draw a workload's CPU time and its memory, each where a trial of it has samples."""
    typical = found.timelines.typical
    seen = {cell.id: typical[cell.id] for cell in group.cells if cell.id in typical}
    some = {
        cell: (cpu_stack(one.readings), memory_stack(one.readings)) for cell, one in seen.items()
    }
    if cpu := {cell: one for cell, (one, _) in some.items() if one}:
        yield _figure(found, group, number, _cpu(found, group, seen, cpu))
    if memory := {cell: one for cell, (_, one) in some.items() if one}:
        yield _figure(found, group, number, _memory(found, group, seen, memory))


def _cpu(
    found: Findings, group: Group, seen: Mapping[str, Seen], stacks: Mapping[str, Stack]
) -> _Picture:
    notes = {cell.id: _note(found, cell, seen, stacks, "no rate") for cell in group.cells}
    caption = (
        "How many CPUs of the host were busy, and with what, from the foot up: the layer with all "
        "that runs in it, in user mode and in the kernel; the rest of the host; idle while a "
        "request to a disk was under way (I/O wait); and taken away by what is below the host "
        f"(stolen). {_CHOICE} Each step is the mean between two readings that are "
        f"{1000 * LEAST_SPAN_S:.0f} ms apart or more; a trial that ended before there was a third "
        "is one step. The kernel counts some of it in ticks of 10 ms, so short steps are rough."
    )
    insides = _insides(seen, stacks, cpu_inside)
    if insides:
        caption += (
            " The line is how many of its virtual CPUs the machine inside says were busy; it is "
            "read less often where that costs more."
        )
    caption += _not_told(group, seen, _CPU)
    return _Picture("cpu", stacks, insides, notes, Scale(1, "CPUs"), caption)


def _memory(
    found: Findings, group: Group, seen: Mapping[str, Seen], stacks: Mapping[str, Stack]
) -> _Picture:
    notes = {}
    for cell in group.cells:
        used = _used(seen[cell.id].readings) if cell.id in stacks else ""
        notes[cell.id] = _note(found, cell, seen, stacks, "memory not told") + used
    caption = (
        "What the layer with all that runs in it held of the host's memory: pages of files, which "
        "the kernel can drop, upon all other. What the whole host used is in words, for it is "
        f"mostly far more. {_CHOICE} Between two readings the lines are straight."
    )
    insides = _insides(seen, stacks, memory_inside)
    if insides:
        caption += (
            " The line is what the machine inside says it uses of its own memory, without pages of "
            "files; what it once used, the layer may go on holding."
        )
    scale = scale_for(Unit.BYTE, [max(one.most for one in stacks.values())])
    caption += _not_told(group, seen, _MEMORY)
    return _Picture("memory", stacks, insides, notes, scale, caption)


def _insides(
    seen: Mapping[str, Seen],
    stacks: Mapping[str, Stack],
    inside: Callable[[Mapping[Name, Readings]], Stack | None],
) -> Mapping[str, Stack]:
    found = {cell: inside(seen[cell].readings) for cell in stacks}
    return {cell: one for cell, one in found.items() if one}


def _figure(found: Findings, group: Group, number: int, of: _Picture) -> Figure:
    """Draw a lane for each platform, all on one scale that begins at 0."""
    title = {"cpu": "CPU time", "memory": "memory"}[of.kind]
    every = [*of.stacks.values(), *of.insides.values()]
    most = max(one.most for one in every) / of.scale.factor
    ticks = round_ticks(0.0, within(most, log=False) or 1.0, log=False)
    labels = {share_of(tick, ticks, log=False): f"{tick:,.6g}" for tick in ticks}
    labels[1.0] += f" {of.scale.unit}"
    end_s = max(one.times_s[-1] for one in every)
    titles = [(platform_text(cell), of.notes[cell.id]) for cell in group.cells]
    areas = [
        one
        for lane, cell in enumerate(group.cells)
        if cell.id in of.stacks
        for one in areas_of(of.stacks[cell.id], lane, ticks, of.scale.factor)
    ]
    inside = [
        one
        for lane, cell in enumerate(group.cells)
        if cell.id in of.insides
        for one in line_points(of.insides[cell.id], lane, ticks, of.scale.factor)
    ]
    present = {kind for one in every for kind in one.heights}
    kinds = [kind for kind in COLOURS if kind in present]
    holds = any(one.holds for one in of.stacks.values())

    def draw(width: int) -> Spec:
        x: Spec = {
            "field": "x",
            "type": "quantitative",
            "scale": {"domain": [0, end_s], "nice": False, "zero": True},
            "axis": {
                "title": "time since the trial began (s)",
                "tickCount": max(3, width // 120),
                "format": ",~r",
                "labelOverlap": "greedy",
                "grid": False,
            },
        }
        colour: Spec = {
            "field": "kind",
            "type": "nominal",
            "scale": {"domain": kinds, "range": [COLOURS[kind] for kind in kinds]},
            "legend": {
                "orient": "top",
                "direction": "horizontal",
                "symbolType": "square",
                "columns": 2 if width < NARROW else len(kinds),
            },
        }
        shape: Spec = {"interpolate": "step-after" if holds else "linear"}
        layer: Spec = {
            "data": {"values": areas},
            "mark": {"type": "area", "aria": False, **shape},
            "encoding": {
                "y2": {"field": "y2"},
                "detail": {"field": "lane", "type": "nominal"},
                "color": colour,
            },
        }
        line = line_of(inside, {"strokeWidth": 2, **shape}, color=colour)
        return lanes(width, titles, labels, x, [layer, line] if inside else [layer])

    name = f"{of.kind}-{number:02d}"
    return Figure(name, f"{group.name}: {title} over a trial", of.caption, draw)


def _note(
    found: Findings,
    cell: Cell,
    seen: Mapping[str, Seen],
    stacks: Mapping[str, Stack],
    lacking: str,
) -> str:
    """Say which trial is drawn, or why none is."""
    if cell.id not in seen:
        gap = own_gap(found, cell)
        return f"{gap}: no samples" if gap else "no samples of its trials"
    one = seen[cell.id]
    again = " (run again)" if one.trial.repeat else ""
    # Before the numbers: of a long note on a phone the middle is left out.
    ended = "" if one.trial.status is Status.OK else f"{one.trial.status.value}: "
    said = f"{ended}block {one.trial.block}, slot {one.trial.slot}{again}"
    said += f", {duration_text(one.trial.duration_s)}"
    if cell.id not in stacks:
        return f"{said}: {lacking}"
    early = any(read.reason and len(read.values) for read in one.readings.values())
    return f"{said}{', readings ended early' if early else ''}"


def _used(readings: Mapping[Name, Readings]) -> str:
    known = usable(readings, [USED], fewest=1)
    if not known:
        return ""
    values = known[USED].values
    scale = scale_for(Unit.BYTE, [float(values.max())])
    low, high = (plain(float(one) / scale.factor, 3) for one in (values.min(), values.max()))
    return f"; host used {low if low == high else f'{low} to {high}'} {scale.unit}"


def _not_told(group: Group, seen: Mapping[str, Seen], told: Mapping[Name, str]) -> str:
    """Say what is not there, where, and why, as far as a host said so."""
    lacks: dict[str, dict[str, str]] = {}
    for cell in group.cells:
        for name, words in told.items() if cell.id in seen else ():
            one = seen[cell.id].readings.get(name)
            # Not every stack has a kernel inside, and the host's stands for those that have none.
            lacks_it = "" if name[0] == MACHINE else "not read"
            reason = lacks_it if one is None else one.reason
            if reason:
                lacks.setdefault(words, {})[platform_text(cell)] = reason
    said = ""
    for words, where in lacks.items():
        on = "" if len(where) == len(seen) else f" on {', '.join(where)}"
        said += f" Not told{on}: {words} ({shortened(next(iter(where.values())), _MAX_REASON, 1)})."
    return said
