"""What a study of neighbours shows: its map, as a figure and as tables."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from tare.core.model import Neighbour, NeighbourCpus, Reservation, Status
from tare.present.charts.canvas import Polyline
from tare.present.charts.catalogue import figures
from tare.present.export.markdown import markdown
from tare.present.page.html import Pages
from tare.present.report import as_json, describe
from tare.present.terminal.verdicts import show
from tare.present.view.doses import dose_lines
from tare.present.view.neighbours import short_text, table
from tare.present.view.numbers import TIMES
from tare.present.view.rivals import compared_lines
from unit.disturbed import DOSES, dialled, disturbed
from unit.drawing import assert_drawable, assert_texts_apart, marks, words

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
    full = Neighbour(stressor="disk", level="full")
    assert short_text(full, shows_amount=False) == "disk at level 100 %"
    assert short_text(twice, shows_amount=False) == f"2 {TIMES} cpu on other CPUs"
    elsewhere = Neighbour(stressor="cpu", platform="host/docker")
    assert short_text(elsewhere, shows_amount=False) == "cpu in host/docker"


def falls(costs, noise=0.002):
    """The words for where a workload with these costs falls to 95 % of itself."""
    found = describe(disturbed({"host": dict(zip(dialled(), costs, strict=True))}, noise=noise))
    ((_, text, *_),) = dose_lines(found)
    return text


def test_where_a_workload_falls_to_95_percent_is_told_in_words():
    assert falls((1.2, 1.5, 1.8, 2.0)) == "below 25 %"
    assert falls((1.0, 1.0, 1.0, 1.0)) == "above 100 %"
    assert re.fullmatch(r"6\d % \[\d\d, 6\d\] %", falls([1 / (1 - 0.08 * dose) for dose in DOSES]))
    assert falls((1.0, 1.02, 1.03, 1.06), noise=0.05) == "unknown"
    assert falls((1.0, 1.0, 1.0, 1.05), noise=0.01).startswith(("above 100 % (at least", "9"))


def test_dose_curves_have_a_line_a_platform_and_what_has_no_number_says_so():
    costs = dict(zip(dialled(), (1.2, 1.5, 1.8, 2.0), strict=True))
    down = {**costs, dialled()[-1]: Status.DNR}
    found = describe(disturbed({"host": costs, "host/docker": down}))
    one = figure(found, "doses-01")
    assert_drawable(one)
    for width in (940, 350):
        canvas = one.draw(width)
        assert_texts_apart(canvas)
        assert {"host", "host/docker", "neighbour: cpu", "alone", "dnr"} <= set(words(canvas))
    lines = marks(one.draw(940), Polyline, width=2, fill="none")
    assert len([line for line in lines if len(line.places) > 2]) == 2
    assert "dnr" in one.caption


def test_dose_curves_are_in_show_and_as_data():
    found = study()
    assert "falls to 95 % of itself at" in shown(found)
    assert "falls to 95 % of itself at" in markdown(found)
    assert "falls to 95 % of itself at" in Pages(found).report({})
    first = as_json(found)["dose_curves"][0]
    assert first["falls_at"] == "below"
    assert first["text"] == "below 25 %"
    assert [one["dose"] for one in first["points"]] == list(DOSES)
    assert as_json(found)["dose_curves"][1]["platform"] == "host/docker"


def test_isolation_compared_is_a_table_everywhere():
    found = study()
    text = shown(found)
    assert "Isolation compared" in text
    assert "## Isolation compared" in markdown(found)
    assert "Isolation compared" in Pages(found).report({})
    rows = as_json(found)["isolation_compared"]
    assert len(rows) == len(DOSES) + 2
    assert (rows[0]["platform"], rows[0]["against"]) == ("host/docker", "host")
    assert rows[0]["ratio"] == pytest.approx(1.0, abs=0.02)
    assert rows[-1]["ratio"] is None
    assert rows[-1]["reason"]


def test_who_loses_less_is_said_in_words():
    kvm = describe(disturbed({"host": {SYSCALL: 2.0}, "host/kvm": {SYSCALL: 1.5}}))
    ((platform, loses, size, *_, neighbour, workload),) = compared_lines(kvm)
    assert (platform, loses, neighbour, workload) == (
        *("host/kvm", "less than host", "syscall", "spin"),
    )
    assert size.startswith("\N{MINUS SIGN}25")


def test_a_reservation_is_a_part_of_the_name_and_its_curve_is_apart():
    held = Reservation(limits=(("cpus", 0.5),))
    both = [*dialled(), *(replace(one, reservation=held) for one in dialled())]
    found = describe(disturbed({"host": dict.fromkeys(both, 1.5)}))
    assert "cpu 25 %, held to 0.5 CPUs" in [row[0] for row in table(found)[1]]
    assert [line[2] for line in dose_lines(found)] == ["cpu", "cpu, held to 0.5 CPUs"]
    assert_drawable(figure(found, "doses-01"))
