"""What a study of neighbours shows: its map, as a figure and as tables."""

import io

from rich.console import Console

from tare.core.model import Neighbour, NeighbourCpus, Status
from tare.present.charts.catalogue import figures
from tare.present.export.markdown import markdown
from tare.present.page.html import Pages
from tare.present.report import describe
from tare.present.terminal.verdicts import show
from tare.present.view.neighbours import short_text, table
from tare.present.view.numbers import TIMES
from unit.disturbed import DOSES, dialled, disturbed
from unit.drawing import assert_drawable, assert_texts_apart, words

IDLE, SYSCALL = Neighbour(stressor="idle"), Neighbour(stressor="syscall")


def study(**others):
    costs = dict(zip(dialled(), (1.2, 1.5, 1.8, 2.0), strict=True))
    return describe(
        disturbed(
            {
                "host": {**costs, IDLE: 1.0, SYSCALL: 1.5},
                "host/docker": {**costs, IDLE: Status.DNR, SYSCALL: Status.UNAVAILABLE},
            },
            **others,
        )
    )


def figure(found, name):
    return next(one for one in figures(found) if one.name == name)


def shown(found):
    text = io.StringIO()
    Console(file=text, width=120).print(show(found))
    return text.getvalue()


def test_the_map_has_a_degradation_or_a_reason_for_each_neighbour_on_each_platform():
    one = figure(study(), "isolation")
    assert_drawable(one)
    said = words(one.draw(940))
    assert said[:2] == ["host", "host/docker"]
    assert [text for text in said if text.startswith("cpu")] == [
        f"cpu {100 * dose:g} %" for dose in DOSES
    ]
    assert {"idle", "syscall", "unavailable"} <= set(said)
    assert any("dnr" in text for text in said)
    assert any(text.startswith("▲ +10") for text in said)
    assert "dnr: every trial was ended at its deadline" in one.caption
    assert "unavailable or n/a" in one.caption


def test_texts_of_the_map_lie_apart_with_several_workloads_on_a_phone():
    one = figure(study(workloads=("spin", "a workload with a long name")), "isolation")
    assert_drawable(one)
    for width in (940, 350):
        assert_texts_apart(one.draw(width))
    assert "spin" in words(one.draw(940))


def test_a_study_of_neighbours_has_its_own_map_and_not_that_of_platforms():
    names = [one.name for one in figures(study())]
    assert "isolation" in names
    assert "heat" not in names


def test_the_map_is_a_table_in_terminal_and_markdown():
    found = study()
    heads, rows = table(found)
    assert heads == ("neighbour", "host", "host/docker")
    assert [row[0] for row in rows][-2:] == ["idle", "syscall"]
    assert rows[-1][2] == "unavailable"
    assert rows[-2][2] == "dnr"
    assert "What neighbours cost" in shown(found)
    assert "## What neighbours cost" in markdown(found)
    assert "What neighbours cost" in Pages(found).report({})


def test_a_neighbour_in_a_table_is_short():
    twice = Neighbour(stressor="cpu", count=2, cpus=NeighbourCpus.APART)
    assert short_text(twice, shows_amount=False) == f"2 {TIMES} cpu on other CPUs"
