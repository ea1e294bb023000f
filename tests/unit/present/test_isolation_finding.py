"""The sentence at the head of a study of neighbours."""

from dataclasses import replace
from pathlib import Path

import pytest

from tare.core.model import NO_FACTS, Contrast, ContrastKind, Neighbour, NeighbourCpus, Run
from tare.present.report import describe
from tare.present.view.finding import finding
from tare.present.view.names import neighbour_text
from tare.results.store import Results
from unit.invented import EVENTS
from unit.makers import make_cell, make_plan, make_trial

LIGHT, HEAVY = Neighbour(stressor="cpu", intensity=0.25), Neighbour(stressor="cpu", count=2)


def found(light, heavy, stop="done"):
    """Describe a host that does 100 events/s alone, and so many next to each neighbour."""
    alone, again = make_cell("host"), make_cell("host", replica=1)
    cells = [make_cell("host", params=one.params) for one in (LIGHT, HEAVY)]
    plan = make_plan(alone, *cells, again, metrics={alone.workload: (EVENTS,)}, max_blocks=11)
    contrasts = [
        Contrast(cell=cell.id, reference=alone.id, kind=ContrastKind.ISOLATION) for cell in cells
    ]
    control = Contrast(cell=again.id, reference=alone.id, kind=ContrastKind.CONTROL)
    plan = replace(plan, contrasts=(*contrasts, control))
    rates = zip((alone, *cells, again), (100.0, light, heavy, 100.0), strict=True)
    made = tuple(
        make_trial(cell, block, instance=f"a-{block}", samples={"events": rate + block % 3 / 10})
        for cell, rate in rates
        for block in range(11)
    )
    return describe(Results(Path("r"), "name: n\n", plan, NO_FACTS, Run(stop=stop), made))


def test_the_worst_neighbour_of_a_platform_is_named():
    assert finding(found(80.0, 25.0)) == (
        "With a neighbour, the host itself is at worst 4 times slower (spin, 2 cpu neighbours)."
    )


def test_a_study_that_has_not_ended_says_so():
    assert finding(found(80.0, 25.0, stop="")).startswith("With a neighbour, so far the host ")


def test_a_platform_that_loses_nothing_is_not_slower():
    assert finding(found(100.0, 100.0)) == "With a neighbour, the host itself is not slower."


@pytest.mark.parametrize(
    ("neighbour", "text"),
    [
        (LIGHT, "cpu neighbour at 25 %"),
        (HEAVY, "2 cpu neighbours"),
        (Neighbour(stressor="idle", cpus=NeighbourCpus.APART), "idle neighbour on other CPUs"),
        (
            Neighbour(stressor="cpu", platform="host/docker", cpus=NeighbourCpus.SIBLING),
            "cpu neighbour in host/docker on the sibling threads",
        ),
    ],
)
def test_a_neighbour_is_named_by_what_it_does(neighbour, text):
    assert neighbour_text(neighbour) == text
