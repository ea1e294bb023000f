"""Charts as Vega-Lite specifications: pure functions of what was found."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tare.compare import Summary
from tare.report.courses import gather
from tare.report.figures.costs import forest, waterfall
from tare.report.figures.courses import over_time
from tare.report.figures.distributions import distribution
from tare.report.figures.drift import drift
from tare.report.figures.families import families
from tare.report.figures.figure import Figure
from tare.report.figures.heat import heat_map
from tare.report.figures.ladders import ladder
from tare.report.figures.lifecycle import gantt, has_life
from tare.report.figures.matrix import FEWEST, matrix, rivals
from tare.report.figures.scaling import MAX_FAMILIES, scaling
from tare.report.figures.timelines import timelines
from tare.report.figures.trials import points
from tare.report.findings import Findings, Group
from tare.report.trials_page import MAX_TRIALS

__all__ = ["Figure", "drawn", "figures"]

MAX_GROUPS = 6
"""So many workloads are drawn one by one; of more, those with the largest costs."""
MAX_GROUPS_OF_LARGE = 4
"""So many are where trials have pages of their own: such a report has enough to do."""

MAX_STACKS = 12
"""So many stacks are taken apart in one chart."""


def figures(found: Findings) -> Iterator[Figure]:
    """List all charts of a report."""
    groups = drawn(found)
    if any(row.cost is not None for row in found.headline):
        yield forest(found, groups)
        yield heat_map(found)
    explained = [
        one
        for one in found.comparisons.attributions
        if one.stack.primary and one.product is not None
    ]
    shown = [one for one in explained if one.stack.cell in {c for g in groups for c in g.cells}]
    if shown:
        yield waterfall(found, shown[:MAX_STACKS], len(explained))
    ladders = [one for one in found.comparisons.ladders if one.between.cost is not None]
    if ladders:
        yield ladder(found, ladders)
    courses = families(found)
    for number, family in enumerate(courses[:MAX_FAMILIES], 1):
        yield scaling(found, family, number, len(courses))
    for number, group in enumerate(groups, 1):
        yield from _of_group(found, group, number)
    # The last, so that samples are read while Vega draws the others.
    for number, group in enumerate(groups, 1):
        yield from timelines(found, group, number)
    told = gather(found, groups)
    for number, group in enumerate(groups, 1):
        yield from over_time(found, group, number, told)


def _of_group(found: Findings, group: Group, number: int) -> Iterator[Figure]:
    medians = [one.values.median for one in _summaries(found, group) if one.values]
    if medians:
        yield points(found, group, number)
    if any(median > 0 for median in medians):
        yield drift(found, group, number)
        yield distribution(found, group, number)
    if medians and len(rivals(found, group)) >= FEWEST:
        yield matrix(found, group, number)
    if has_life(found, group):
        yield gantt(found, group, number)


def drawn(found: Findings) -> tuple[Group, ...]:
    """Choose the groups that are drawn, in the order of the plan."""
    most = MAX_GROUPS_OF_LARGE if len(found.results.trials) > MAX_TRIALS else MAX_GROUPS
    if len(found.groups) <= most:
        return found.groups
    sizes = {group.name: 0.0 for group in found.groups}
    for row in found.headline:
        if row.cost is not None and not row.is_control:
            name = found.group_names[row.cell.id]
            sizes[name] = max(sizes[name], abs(math.log(row.cost)))
    largest = set(sorted(sizes, key=lambda name: -sizes[name])[:most])
    return tuple(group for group in found.groups if group.name in largest)


def _summaries(found: Findings, group: Group) -> list[Summary]:
    """Give what its first metric is on each platform: what the charts of single trials show."""
    return [found.summaries[cell.id, group.metrics[0].name] for cell in group.cells]
