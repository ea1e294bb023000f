"""Charts as Vega-Lite specifications: pure functions of what was found."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tare.present.charts.costs import forest, waterfall
from tare.present.charts.courses import over_time
from tare.present.charts.distributions import distribution
from tare.present.charts.drift import drift
from tare.present.charts.families import families
from tare.present.charts.figure import Figure
from tare.present.charts.heat import heat_map
from tare.present.charts.ladders import ladder
from tare.present.charts.lifecycle import gantt, has_life
from tare.present.charts.matrix import FEWEST, matrix, rivals
from tare.present.charts.scaling import MAX_FAMILIES, scaling
from tare.present.charts.timelines import timelines
from tare.present.charts.trials import points
from tare.present.view.courses import gather
from tare.present.view.findings import Findings, Group
from tare.present.view.trial_records import MAX_TRIALS
from tare.results.compare.summary import Summary

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
