"""What a study of scale shows: the curve, the law, efficiency; as figures, tables and data."""

import io
import math
from dataclasses import replace

import pytest
from rich.console import Console

from tare.core.model import Status
from tare.experiment import scenario
from tare.present.charts.canvas import Point, Polyline, Text
from tare.present.charts.catalogue import figures
from tare.present.export.markdown import markdown
from tare.present.page.html import Pages
from tare.present.page.render import PHONE, WIDE
from tare.present.report import as_json, describe
from tare.present.terminal.verdicts import show
from tare.present.view.explanations import against
from tare.present.view.numbers import NONE
from tare.present.view.scaling import scaled_works, scaling_tables
from unit.drawing import assert_drawable, assert_texts_apart, marks, words
from unit.invented import full
from unit.scaled import LEVELS, PAGES, law, scaled

LAWS = {
    "host": law(0.02, 0.0),
    "host/docker": law(0.05, 0.02),
    "host/gvisor": (law(0.1, 0.02), 16, Status.DNR),
}


def study(laws=None, **others):
    return describe(scaled(laws or LAWS, **others))


def figure(found, name):
    return next(one for one in figures(found) if one.name == name)


def shown(found, width=160):
    text = io.StringIO()
    Console(file=text, width=width).print(show(found))
    return text.getvalue()


def tables(found):
    return {one.title: one for one in scaling_tables(found)}


def test_time_over_instances_has_points_intervals_and_the_law_of_each_platform():
    one = figure(study(), "instances-01")
    assert_drawable(one)
    for width in (WIDE, PHONE):
        canvas = one.draw(width)
        assert_texts_apart(canvas)
        assert {"host", "host/docker", "host/gvisor", "dnr", "16"} <= set(words(canvas))
    canvas = one.draw(WIDE)
    assert len(marks(canvas, Point)) == 3 * len(LEVELS) - 1
    laws = [line for line in marks(canvas, Polyline, width=1.5) if len(line.places) > 20]
    assert len(laws) == 3
    assert "Universal Scalability Law" in one.caption
    assert "dnr: every trial was ended at its deadline" in one.caption


def test_the_law_goes_through_its_points():
    canvas = figure(study({"host": law(0.05, 0.02)}, noise=0.0), "instances-01").draw(WIDE)
    (line,) = [line for line in marks(canvas, Polyline, width=1.5) if len(line.places) > 20]
    for point in marks(canvas, Point):
        x, y = point.place
        nearest = min(line.places, key=lambda place: abs(place[0] - x))
        assert nearest[1] == pytest.approx(y, abs=3)


def test_a_peak_within_what_was_measured_is_a_triangle_at_the_foot():
    def triangles(found):
        return [
            one
            for one in marks(figure(found, "instances-01").draw(WIDE), Polyline)
            if one.fill != "none" and len(one.places) == 3
        ]

    assert len(triangles(study({"host": law(0.05, 0.02)}))) == 1
    assert triangles(study({"host": law(0.05, 0.0)})) == []
    assert "peaks" not in figure(study({"host": law(0.05, 0.0)}), "instances-01").caption


def test_a_law_that_does_not_fit_is_dashed_and_said():
    def step(n):
        return 0.01 * n * (0.6 if n >= 8 else 1.0)

    found = study({"host": step}, levels=(1, 2, 4, 8, 16, 32))
    canvas = figure(found, "instances-01").draw(WIDE)
    assert any(line.dash == "5 4" for line in marks(canvas, Polyline, width=1.5))
    ((*_, said, _),) = tables(found)["How platforms scale"].lines
    assert said.startswith("does not fit (")


def test_efficiency_has_the_line_of_work_that_takes_turns():
    one = figure(study({"host": law(1.0, 0.0)}, noise=0.0), "efficiency-01")
    assert_drawable(one)
    canvas = one.draw(WIDE)
    (turns,) = marks(canvas, Polyline, dash="2 3")
    for point in marks(canvas, Point):
        nearest = min(turns.places, key=lambda place: abs(place[0] - point.place[0]))
        assert nearest[1] == pytest.approx(point.place[1], abs=3)


def test_numbers_of_instances_have_no_second_figure_along_a_factor():
    names = [one.name for one in figures(study())]
    assert {"instances-01", "efficiency-01"} <= set(names)
    assert not any(name.startswith("scaling") for name in names)


def test_the_law_is_a_table_with_words_for_what_has_no_number():
    lines = {line[0]: line for line in tables(study())["How platforms scale"].lines}
    assert lines["host"][1].startswith("0.0")
    assert lines["host"][3].endswith(", ∞]")
    assert lines["host/docker"][3].startswith(("6", "7"))
    assert lines["host"][5] == "fits"
    assert lines["host"][6].endswith("MiB")
    assert len(lines["host"]) == 7, "one workload is no column"
    (line,) = tables(study({"host": law(0.05, 0.0)}, noise=0.0))["How platforms scale"].lines
    assert line[3] == "none"
    (line,) = tables(study({"host": lambda n: n**1.03}))["How platforms scale"].lines
    assert line[3].startswith("none (at least ")
    assert line[1].startswith("0 [0")


def test_levels_are_a_table_that_says_what_did_not_respond():
    lines = tables(study())["By number of instances"].lines
    assert len(lines) == 3 * len(LEVELS)
    last = lines[-1]
    assert last[:3] == ("host/gvisor", "16", "dnr")
    assert last[-1] == "0 of 8"
    assert (lines[0][4], lines[0][5]) == ("1", NONE)
    assert lines[1][5] == "1"


def test_tables_are_in_terminal_markdown_and_page():
    found = study()
    for title in ("How platforms scale", "By number of instances"):
        assert title in shown(found)
        assert f"## {title}" in markdown(found)
        assert title in Pages(found).report({})
    assert "What more instances do" in Pages(found).report({})
    assert "contention" in shown(found, 60)


def test_plain_data_has_levels_and_law_in_base_units():
    first = as_json(study())["scaling"][0]
    assert (first["platform"], first["metric"], first["unit"]) == ("host", "elapsed", "s")
    assert first["levels"][1]["value"]["value"] == pytest.approx(2 / law(0.02, 0.0)(2), rel=0.02)
    assert first["levels"][1]["answered"] == 8
    assert len(first["levels"][1]["blocks"]) == 8
    assert first["law"]["contention"]["value"] == pytest.approx(0.02, abs=0.01)
    assert first["law"]["peak"]["high"] == "inf"
    assert set(first["law"]["residuals"]) == {str(n) for n in LEVELS}
    assert first["memory_of_one_more"]["value"] == pytest.approx(64e6)


def test_another_study_has_none_of_it():
    found = full(3)
    assert scaled_works(found) == ()
    assert list(scaling_tables(found)) == []
    assert "scaling" not in as_json(found)
    assert "What more instances do" not in Pages(found).report({})


def test_rates_and_two_levels_can_be_drawn_and_where_nothing_responds_nothing_is():
    for found in (study(metric=PAGES), study(levels=(1, 2)), study(levels=(1, 128))):
        for name in ("instances-01", "efficiency-01"):
            assert_drawable(figure(found, name))
    nothing = study({"host": (law(0.0, 0.0), 1, Status.DNR)})
    assert not any(one.name.startswith("instances") for one in figures(nothing))
    assert tables(nothing)["By number of instances"].lines[0][2] == "dnr"


def test_wide_intervals_and_many_platforms_keep_texts_apart():
    laws = {f"host/layer-{number}": law(0.02 * number, 0.001 * number) for number in range(9)}
    found = study(laws, noise=0.5, blocks=3, levels=(1, 2, 4, 8, 16, 32, 64, 128))
    assert "are cut" in figure(found, "efficiency-01").caption
    for name in ("instances-01", "efficiency-01"):
        one = figure(found, name)
        assert_drawable(one)
        for width in (WIDE, PHONE):
            assert_texts_apart(one.draw(width))
        assert all(math.isfinite(y) for text in marks(one.draw(WIDE), Text) for y in text.place)


def compared():
    """Describe a study whose contrasts are those of the scenario: with one instance."""
    results = scaled({"host": law(0.02, 0.0), "host/docker": law(0.5, 0.0)})
    cells = results.plan.cells
    contrasts = tuple(scenario.load("scale").contrasts(cells, cells[0]))
    return describe(replace(results, plan=replace(results.plan, contrasts=contrasts)))


def test_captions_and_words_say_that_one_instance_is_the_reference():
    found = compared()
    forest, heat = figure(found, "forest"), figure(found, "heat")
    assert forest.title == "Cost of every number of instances on every workload"
    assert "multiple of one instance of the same platform: 1 is equal" in forest.caption
    assert heat.caption.startswith("Cost as a multiple of one instance of the same platform.")
    page = Pages(found).report({})
    assert "Against one instance of the same platform, by each workload" in page
    assert ">Scale</a>" in page
    assert {against(one, found) for one in found.explanations} == {"in one instance"}
