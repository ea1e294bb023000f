"""What layer and host did over the time of one trial a platform: CPU time, and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tare.core.model import Cell, Status, Unit
from tare.present.charts.axis import outer_ticks, share_of, time_axis
from tare.present.charts.canvas import Canvas, Polyline
from tare.present.charts.figure import NARROW, Figure, shortened, within
from tare.present.charts.lanes import Lanes, legend
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
    line_of,
    memory_inside,
    memory_stack,
    usable,
)
from tare.present.view import theme
from tare.present.view.findings import CellGroup, Findings
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
_CPUS = Scale(1, "CPUs")
_CHOICE = (
    "Of each platform it is the trial whose duration is nearest to the median; where none has "
    "numbers, one that failed or was ended at its deadline. All platforms have one scale."
)


@dataclass(frozen=True)
class _Picture:
    """What the two charts of a workload differ in, by the cell's id.

    ``insides`` are what lines over the stacks tell: the account of a machine's own kernel.
    """

    title: str
    stacks: Mapping[str, Stack]
    insides: Mapping[str, Stack]
    notes: Mapping[str, str]
    scale: Scale
    caption: str


def has_cpu(found: Findings, group: CellGroup) -> bool:
    """Return whether a trial of a workload has samples of CPU time."""
    return bool(_stacks(_seen(found, group), cpu_stack))


def has_memory(found: Findings, group: CellGroup) -> bool:
    """Return whether a trial of a workload has samples of memory."""
    return bool(_stacks(_seen(found, group), memory_stack))


def cpu(found: Findings, group: CellGroup, name: str) -> Figure:
    """Draw the CPU time of a typical trial of each platform."""
    seen = _seen(found, group)
    stacks, insides = _stacks(seen, cpu_stack), _stacks(seen, cpu_inside)
    notes = {cell.id: _note(found, cell, seen, stacks, "no rate") for cell in group.cells}
    caption = (
        "How many CPUs of the host were busy, and with what, from the foot up: the layer with all "
        "that runs in it, in user mode and in the kernel; the rest of the host; idle while a "
        "request to a disk was under way (I/O wait); and taken away by what is below the host "
        f"(stolen). {_CHOICE} Each step is the mean between two readings that are "
        f"{1000 * LEAST_SPAN_S:.0f} ms apart or more; a trial that ended before there was a third "
        "is one step. The kernel counts some of it in ticks of 10 ms, so short steps are rough."
    )
    if insides.keys() & stacks.keys():
        caption += (
            " The line is how many of its virtual CPUs the machine inside says were busy; it is "
            "read less often where that costs more."
        )
    caption += _not_reported(group, seen, _CPU)
    return _figure(group, name, _Picture("CPU time", stacks, insides, notes, _CPUS, caption))


def memory(found: Findings, group: CellGroup, name: str) -> Figure:
    """Draw the memory of a typical trial of each platform."""
    seen = _seen(found, group)
    stacks, insides = _stacks(seen, memory_stack), _stacks(seen, memory_inside)
    notes = {}
    for cell in group.cells:
        used = _used(seen[cell.id].readings) if cell.id in stacks else ""
        notes[cell.id] = _note(found, cell, seen, stacks, "memory not reported") + used
    caption = (
        "What the layer with all that runs in it held of the host's memory: pages of files, which "
        "the kernel can drop, upon all other. What the whole host used is in words, for it is "
        f"mostly far more. {_CHOICE} Between two readings the lines are straight."
    )
    if insides.keys() & stacks.keys():
        caption += (
            " The line is what the machine inside says it uses of its own memory, without pages of "
            "files; what it once used, the layer may go on holding."
        )
    scale = scale_for(Unit.BYTE, [max(one.most for one in stacks.values())])
    caption += _not_reported(group, seen, _MEMORY)
    return _figure(group, name, _Picture("memory", stacks, insides, notes, scale, caption))


def _seen(found: Findings, group: CellGroup) -> Mapping[str, Seen]:
    typical = found.timelines.typical
    return {cell.id: typical[cell.id] for cell in group.cells if cell.id in typical}


def _stacks(
    seen: Mapping[str, Seen], make: Callable[[Mapping[Name, Readings]], Stack | None]
) -> Mapping[str, Stack]:
    stacks = {cell: make(one.readings) for cell, one in seen.items()}
    return {cell: stack for cell, stack in stacks.items() if stack}


def _figure(group: CellGroup, name: str, of: _Picture) -> Figure:
    """Draw a lane for each platform, all on one scale that begins at 0."""
    insides = {cell: line for cell, line in of.insides.items() if cell in of.stacks}
    every = [*of.stacks.values(), *insides.values()]
    most = max(one.most for one in every) / of.scale.factor
    ticks = outer_ticks(0.0, within(most, log=False) or 1.0, log=False)
    labels = {share_of(tick, ticks, log=False): f"{tick:,.6g}" for tick in ticks}
    labels[1.0] += f" {of.scale.unit}"
    end_s = max(one.times_s[-1] for one in every)
    titles = [(platform_text(cell), of.notes[cell.id]) for cell in group.cells]
    present = {kind for one in every for kind in one.heights}
    kinds = {kind: colour for kind, colour in COLOURS.items() if kind in present}

    def shares(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
        for time_s, height in points:
            yield time_s, share_of(height / of.scale.factor, ticks, log=False)

    def draw(width: int) -> Canvas:
        canvas = Canvas(width)
        top = legend(canvas, kinds, columns=2 if width < NARROW else len(kinds))
        axis = time_axis("time since the trial began (s)", end_s, width)
        lanes = Lanes(canvas, (0, top), width, titles, labels, axis)
        for lane, cell in enumerate(group.cells):
            if cell.id in of.stacks:
                for kind, outline in areas_of(of.stacks[cell.id]):
                    canvas.add(Polyline(lanes.places(lane, shares(outline)), fill=COLOURS[kind]))
            if cell.id in insides:
                line = lanes.places(lane, shares(line_of(insides[cell.id])))
                canvas.add(Polyline(line, COLOURS[INSIDE], 2))
        return canvas

    return Figure(name, f"{group.name}: {of.title} over a trial", of.caption, draw)


def _note(
    found: Findings,
    cell: Cell,
    seen: Mapping[str, Seen],
    stacks: Mapping[str, Stack],
    missing: str,
) -> str:
    """Return which trial is drawn, or why none is."""
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
        return f"{said}: {missing}"
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


def _not_reported(group: CellGroup, seen: Mapping[str, Seen], series: Mapping[Name, str]) -> str:
    """Return what is missing, where, and why, as far as a host reported it."""
    lacks: dict[str, dict[str, str]] = {}
    for cell in group.cells:
        for name, words in series.items() if cell.id in seen else ():
            one = seen[cell.id].readings.get(name)
            # Not every stack has a kernel inside, and the host's stands for those that have none.
            lacks_it = "" if name[0] == MACHINE else "not read"
            reason = lacks_it if one is None else one.reason
            if reason:
                lacks.setdefault(words, {})[platform_text(cell)] = reason
    said = ""
    for words, where in lacks.items():
        on = "" if len(where) == len(seen) else f" on {', '.join(where)}"
        said += (
            f" Not reported{on}: {words} ({shortened(next(iter(where.values())), _MAX_REASON, 1)})."
        )
    return said
