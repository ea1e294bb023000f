"""Plan all trials of a study in randomized complete blocks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from random import Random
from typing import TypeVar

from tare.core.errors import ConfigError
from tare.core.model import (
    Cell,
    Contrast,
    ContrastKind,
    CpuSet,
    Design,
    Metric,
    Placement,
    Plan,
    Slot,
)
from tare.core.model.group import Group, group
from tare.experiment import scenario
from tare.experiment.scenario import Scenario
from tare.experiment.study.declaration import Study
from tare.experiment.study.duet import BLOCKS_IN_TURN, Half, Pairing
from tare.experiment.study.ladder import neighbours
from tare.work.workload import Measured

T = TypeVar("T")
ATTRIBUTION = ContrastKind.ATTRIBUTION


def make_plan(study: Study, seed: int) -> Plan:
    """Cross the factors into cells and order them; the same seed gives the same plan anywhere.

    Every block has every cell once. Cells that are compared with each other (one workload, one set
    of limits) stand back to back, so that what disturbs the host falls on both halves of a pair. In
    a duet the baseline runs together with each of the others instead; see
    ``tare.experiment.study.duet``. Blocks take the places of the platform with most instances in
    turn; one with fewer serves several places with the same instance, so that pairs that share one
    are always the same (decision 27). Raises ConfigError where workloads that measure different
    things have one name.
    """
    groups = _groups(study)
    # Slots of a block share these strings: a plan of 100,000 slots holds each id once.
    ids = [[cell.id for cell in cells] for cells in groups]
    random = Random(seed)  # noqa: S311 - a design must be repeatable, not secret
    own = {one.name: study.repetition.instances_of(one.name) for one in study.platforms}
    most = max(own.values())
    chosen = scenario.load(study.scenario)
    contrasts = [contrast for cells in groups for contrast in _contrasts(study, chosen, cells)]
    _refuse_chains(study.scenario, contrasts)
    pairing = Pairing({one.reference for one in contrasts if one.kind is not ATTRIBUTION}, random)
    is_duet = study.repetition.design is Design.DUET
    made = {(one.name, one.params): one.made for one in study.workloads}
    parts = {
        cell.id: chosen.parts(made[cell.workload, cell.params])
        for cells in groups
        for cell in cells
    }

    cpu_sets = {
        cell.id: chosen.cpu_sets(made[cell.workload, cell.params])
        for cells in groups
        for cell in cells
    }
    platforms = {
        cell.id: [
            "" if one == cell.platform else one
            for one in chosen.platforms(made[cell.workload, cell.params])
        ]
        for cells in groups
        for cell in cells
    }
    names = {cell.id: cell.platform for cells in groups for cell in cells}
    # Parts of two cells share an instance where their number and their set of CPUs are the same.
    instances = sorted({one for sets in cpu_sets.values() for one in enumerate(sets)}, key=_order)

    @cache
    def placed(cell: str, place: int) -> tuple[Placement, ...]:
        """Place the parts of a cell; each platform has the place as far as it has instances."""
        return tuple(
            Placement(
                instance=place % own[platform or names[cell]] * len(instances)
                + instances.index(one),
                part=part,
                platform=platform,
            )
            for one, part, platform in zip(
                enumerate(cpu_sets[cell]), parts[cell], platforms[cell], strict=True
            )
        )

    @cache
    def paired(half: Half, place: int) -> Placement:
        return Placement(instance=place, part=half.part, cores=half.cores, cell=half.cell)

    slots = []
    for block in range(study.repetition.max_blocks):
        order = [_shuffled(some, random) for some in _shuffled(ids, random)]
        turn = block // BLOCKS_IN_TURN if is_duet else block
        instance = turn % most
        if is_duet:
            pairs = [pair for some in order for pair in pairing.pairs(some)]
            places = [
                (cell, tuple(paired(half, instance % own[names[half.cell]]) for half in halves))
                for cell, halves in pairs
            ]
        else:
            every = [cell for some in order for cell in some]
            places = [(cell, placed(cell, instance)) for cell in every]
        each = 2 if is_duet else 1
        slots += [
            Slot(block=block, slot=each * n, cell=cell, placements=placements)
            for n, (cell, placements) in enumerate(places)
        ]
    return Plan(
        study=study.name,
        seed=seed,
        cells=tuple(cell for cells in groups for cell in cells),
        contrasts=tuple(contrasts),
        metrics=_metrics(study),
        repetition=study.repetition,
        slots=tuple(slots),
        replicates=chosen.replicates,
        ladders=study.ladders,
        cpu_sets=_if_shared(tuple(cpus for _, cpus in instances)),
    )


def _order(instance: tuple[int, CpuSet]) -> tuple[int, bool, int, str]:
    """Return by what a part's instances are ordered: sets with a number first."""
    part, cpus = instance
    return (part, False, cpus, "") if isinstance(cpus, int) else (part, True, 0, cpus)


def _if_shared(cpu_sets: tuple[CpuSet, ...]) -> tuple[CpuSet, ...]:
    """Return nothing where each part has a set of CPUs of its own, as in most plans."""
    return () if cpu_sets == tuple(range(len(cpu_sets))) else cpu_sets


def _metrics(study: Study) -> Mapping[str, tuple[Metric, ...]]:
    """Map each workload to its metrics; those of one name must measure the same, or they merge."""
    metrics: dict[str, tuple[Metric, ...]] = {}
    for chosen in study.workloads:
        first = metrics.setdefault(chosen.name, chosen.made.metrics)
        if chosen.made.metrics != first:
            differences = " and ".join(
                f"{one[0].name} ({one[0].unit}, {one[0].better})"
                for one in (first, chosen.made.metrics)
            )
            has_name = "called" in dict(chosen.params)
            fix = "give one of them another name: called" if has_name else "make two studies"
            raise ConfigError(
                f"workloads: two are called {chosen.name!r} and measure different things, "
                f"{differences}; expected the same of both; {fix}"
            )
    return metrics


def _groups(study: Study) -> list[list[Cell]]:
    """Make the cells, those of one workload under one set of limits together, control last."""
    groups = dict[Group, list[Cell]]()
    for chosen in study.workloads:
        for limits in study.limits:
            cells = [
                Cell(
                    id="",
                    platform=platform.name,
                    stack=platform.stack,
                    settings=platform.settings,
                    workload=chosen.name,
                    params=chosen.params,
                    limits=limits,
                    file_access=chosen.made.file_access(),
                )
                for platform in study.platforms
            ]
            groups.setdefault(group(cells[0]), []).extend(cells)
    return [
        [_named(cell) for cell in (*cells, replace(_first(cells, study.baseline), replica=1))]
        for cells in groups.values()
    ]


def _first(cells: Sequence[Cell], platform: str) -> Cell:
    """Return a platform's first cell in a group: that which others are compared with."""
    return next(cell for cell in cells if cell.platform == platform)


def _named(cell: Cell) -> Cell:
    """Return a cell with an id made from its content, so that equal plans are equal files."""
    content = asdict(cell)
    # Without undeclared limits, so that cells keep the ids from before there were such limits.
    content["limits"] = {
        name: value for name, value in content["limits"].items() if value is not None
    }
    text = json.dumps(content, sort_keys=True)
    return replace(cell, id=hashlib.sha256(text.encode()).hexdigest()[:10])


def _contrasts(
    study: Study, chosen: Scenario[Measured], cells: Sequence[Cell]
) -> Iterator[Contrast]:
    """Compare the cells of a group as their scenario says, and attribute costs to switches."""
    yield from chosen.contrasts(cells, _first(cells, study.baseline))
    for ladder in study.ladders:
        for name, reference in neighbours(ladder):
            pair = _first(cells, name), _first(cells, reference)
            yield Contrast(cell=pair[0].id, reference=pair[1].id, kind=ATTRIBUTION)


def _refuse_chains(name: str, contrasts: Sequence[Contrast]) -> None:
    """Raise ConfigError where a scenario compares a cell twice, or against one that is compared."""
    decided = [one for one in contrasts if one.kind is not ATTRIBUTION]
    cells, references = [one.cell for one in decided], {one.reference for one in decided}
    if len(set(cells)) < len(cells) or references & set(cells):
        raise ConfigError(
            f"scenario {name}: a cell is compared with two others, or with one that is compared "
            "itself; expected of each cell one contrast, with a cell that has none"
        )


def _shuffled(items: Sequence[T], random: Random) -> list[T]:
    """Shuffle by sorting on random keys.

    Of all that ``random`` offers, Python promises the same sequence forever only for ``random()``.
    """
    return sorted(items, key=lambda _: random.random())
