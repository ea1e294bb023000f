"""The charts of a study: what each of them says, at any number of platforms, and never lies."""

import json
import math
import re
from dataclasses import replace
from itertools import pairwise

import pytest

from tare.core.model import Status
from tare.present.charts.canvas import Polyline, Rect
from tare.present.charts.catalogue import figures
from tare.present.charts.cost_axis import cost_axis
from tare.present.charts.families import families
from tare.present.charts.figure import shortened
from tare.present.charts.grid import STRENGTH, Box, Line, grid
from tare.present.charts.heat import brief, shade
from tare.present.charts.knee import knee
from tare.present.charts.matrix import rivals
from tare.present.page.render import PHONE, WIDE, svg
from tare.present.view import theme
from tare.results.questions.each_other import each_other
from unit.drawing import (
    assert_drawable,
    assert_texts_apart,
    in_lane,
    lane_share,
    marks,
    words,
)
from unit.invented import HOSTILE, LIFE, Study, full, names, noisy


def chart(found, name):
    return next(one for one in figures(found) if one.name == name)


def lines(canvas, lane):
    """The lines of a lane's own platform, but for intervals."""
    own = [one for one in marks(canvas, Polyline, width=2) if in_lane(canvas, lane, one)]
    return [one for one in own if len(one.places) != 2 or one.places[0][0] != one.places[1][0]]


@pytest.mark.parametrize("count", [1, 3, 12])
def test_every_chart_can_be_drawn_at_both_widths_in_colours_that_have_a_dark_one(count):
    found = full(count)
    drawn = list(figures(found))
    assert {one.name.rpartition("-")[0] or one.name for one in drawn} >= {
        *("heat", "scaling", "distribution", "points"),
        *(("matrix",) if count > 2 else ()),
    }
    for figure in drawn:
        if figure.name[-1] in "23456" and not figure.name.startswith("lifecycle"):
            continue  # of each kind the first is enough
        assert_drawable(figure)


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_no_text_of_a_grid_lies_on_another(width):
    canvas = chart(full(12), "heat").draw(width)
    assert len(words(canvas)) > 100
    assert_texts_apart(canvas)


def test_the_heat_map_says_why_a_cell_is_empty_and_colours_by_the_logarithm():
    found = full(6)
    figure = chart(found, "heat")
    assert {"dnr", "unavailable"} <= set(words(figure.draw(WIDE)))
    assert "dnr: every trial was ended at its deadline" in figure.caption
    assert "unavailable or n/a: this host cannot run it" in figure.caption
    assert "some of its pairs are suspect" in figure.caption
    rects = marks(figure.draw(WIDE), Rect)
    dnr = next(one for one in rects if one.tip.startswith("fio on host/qemu-tcg:"))
    assert dnr.opacity == 0
    assert "did not end within 60 s" in dnr.tip


def test_a_cost_and_its_inverse_are_coloured_alike_and_one_is_not_coloured():
    assert shade(4.0, 16.0) == (theme.WORSE, STRENGTH / 2)
    assert shade(0.25, 16.0) == (theme.BETTER, STRENGTH / 2)
    assert shade(1.0, 16.0)[1] == 0
    assert shade(math.inf, 16.0) == (theme.WORSE, STRENGTH)
    assert shade(0.0, 16.0) == (theme.BETTER, STRENGTH)


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (1.0, "1.00"),
        (0.184, "0.18"),
        (14.39, "14.4"),
        (142.3, "142"),
        (9.997, "10.0"),
        (99.97, "100"),
    ],
)
def test_a_brief_cost_has_four_characters(cost, text):
    assert brief(cost) == text


def test_a_brief_cost_of_any_size_is_short():
    assert brief(math.inf) == "∞"
    assert all(len(brief(10.0**power)) <= 6 for power in range(-300, 300, 7))


def test_the_heat_map_names_a_baseline_that_has_no_number():
    study = Study(["host", "host/docker"])
    study.add("fio", lambda p, b: (Status.FAILED, "broken") if p == "host" else 5.0)
    study.add("cpu", noisy({"host/docker": 2.0}))
    assert "no baseline" in set(words(chart(study.found(), "heat").draw(WIDE)))


def test_a_control_that_differs_is_said_beside_its_workload():
    study = Study(["host", "host/docker"])
    study.add("cpu", noisy({}))
    controls = {one.id for one in study.cells if one.replica}
    study.trials = [
        replace(one, samples={"events": 700.0 + one.block}) if one.cell in controls else one
        for one in study.trials
    ]
    figure = chart(study.found(), "heat")
    assert "cpu (not trusted)" in set(words(figure.draw(WIDE)))
    assert "Not trusted: the A/A control differs" in figure.caption


def test_too_many_platforms_are_cut_and_said():
    study = Study([f"host/{number}" for number in range(30)], baseline="host/0")
    study.add("cpu", noisy({}), params=())
    found = study.found()
    assert "The first 16 of 30 platforms are drawn." in chart(found, "heat").caption
    assert "The first 16 of 30 platforms are drawn." in chart(found, "matrix-01").caption


def three(blocks=30, cost=2.0):
    """B and C cost as much, of A; each against each is known."""
    return Study(["a", "b", "c"], blocks, baseline="a").add(
        "cpu", noisy({"b": cost, "c": cost}, noise=0.001)
    )


def held(found):
    cells = rivals(found, found.groups[0])
    rows = each_other(found.comparisons.estimates, cells)
    return {
        (found.plan.cells_by_id[a].platform, found.plan.cells_by_id[b].platform): row
        for (a, b), row in rows.items()
    }


def test_each_platform_is_compared_with_each_and_both_readings_agree():
    rows = held(three().found())
    assert len(rows) == 6
    assert rows["b", "a"].cost == pytest.approx(2.0, rel=0.002)
    assert rows["a", "b"].cost == pytest.approx(0.5, rel=0.002)
    assert rows["a", "b"].verdict.value == "faster"
    assert rows["c", "b"].verdict.value == rows["b", "c"].verdict.value == "same"
    assert rows["c", "b"].cost == pytest.approx(1.0, abs=0.002)


def test_the_matrix_agrees_with_the_table_and_holm_is_over_the_matrix():
    found = three().found()
    rows, table = held(found), {one.cell.platform: one for one in found.headline}
    for platform in ("b", "c"):
        assert rows[platform, "a"].cost == table[platform].cost
        assert rows[platform, "a"].p == table[platform].p
    # Holm of three: the smallest p is multiplied by 3, so is the equal next one.
    smallest = min(rows["b", "a"].p, rows["c", "a"].p)
    assert rows["b", "a"].holm_p >= 3 * smallest * (1 - 1e-9)
    assert rows["c", "b"].holm_p > 0.05


def test_marks_of_the_matrix_tell_better_from_equal_and_from_luck():
    figure = chart(three().found(), "matrix-01")
    said = list(words(figure.draw(WIDE)))
    assert sum(text.startswith("▲ 2.0") for text in said) == 2
    assert sum(text.startswith("= ") for text in said) == 1
    assert "3 comparisons" in figure.caption
    # Where a cost is not obvious p is 0.0078 after eight pairs, which three comparisons and the
    # looks use up.
    few = list(words(chart(three(blocks=8, cost=1.03).found(), "matrix-01").draw(WIDE)))
    assert any(text.startswith("(▲)") for text in few)


def test_of_two_platforms_there_is_no_matrix():
    found = Study(["a", "b"], baseline="a").add("cpu", noisy({"b": 2.0})).found()
    assert not [one for one in figures(found) if one.name.startswith("matrix")]


def test_kneedle_finds_the_knee_of_its_paper():
    # Figure 2 of Satopaa et al. (2011): y = -1/(x + 0.1) + 5 at ten points of 0..1; x = 0.22.
    x = [place / 9 for place in range(10)]
    assert x[knee(x, [5 - 1 / (value + 0.1) for value in x])] == pytest.approx(0.22, abs=0.005)


@pytest.mark.parametrize(
    ("x", "y", "place"),
    [
        ([1, 2, 4, 8, 16], [1.0, 1.9, 3.4, 3.6, 3.7], 2),  # a rate that is used up
        ([1, 2, 3, 4, 5, 6], [10, 10.1, 10.2, 10.3, 30, 50], 3),  # latency that takes off
        ([1, 2, 4, 8, 16], [16.0, 8.0, 4.0, 3.8, 3.7], 2),  # time that falls no more
        ([1, 2, 3, 4, 5], [2.0, 4.0, 6.0, 8.0, 10.0], None),  # a straight line
        ([1, 2, 3, 4, 5], [7.0] * 5, None),
        ([1, 2], [1.0, 2.0], None),
        ([], [], None),
    ],
)
def test_a_knee_is_where_a_course_bends_either_way(x, y, place):
    assert knee(x, y) == place


def test_groups_that_differ_in_one_number_are_a_family():
    study = Study(["host", "host/docker"])
    for pattern in ("read", "write"):
        for jobs in (1, 2, 4):
            study.add("fio", noisy({}), params=(("pattern", pattern), ("jobs", jobs)))
    for size in (4096, 65536):
        study.add("two", noisy({}), params=(("block_bytes", size),))
    found = families(study.found())
    assert [(one.name, one.factor, list(one.groups)) for one in found] == [
        ("fio · pattern read", "jobs", [1, 2, 4]),
        ("fio · pattern write", "jobs", [1, 2, 4]),
    ]


def test_what_changes_with_a_factor_is_said_to():
    study = Study(["host", "host/docker"])
    for cpus in (1, 2, 4):
        study.add("cpu", noisy({}), cpus=cpus, memory_bytes=cpus * 2**30)
    found = study.found()
    (family,) = families(found)
    assert (family.factor, family.along) == ("cpus", ("memory_bytes",))
    assert "memory changed with it" in chart(found, "scaling-01").caption


def test_a_scaling_line_says_its_knee_and_its_holes_and_its_axis_holds_zero():
    found = full(6)
    figure = chart(found, "scaling-01")
    said = list(words(figure.draw(WIDE)))
    assert said.count("knee at 4") == 3
    assert said.count("knee at 4; suspect trials") == 1
    assert {"dnr", "unavailable", "0"} <= set(said)
    assert "axes hold zero" in figure.caption
    assert "Satopaa et al. 2011" in figure.caption


def test_a_level_without_a_number_breaks_the_line():
    study = Study(["host", "host/docker"])
    for jobs in (1, 2, 4):
        value = noisy({})
        study.add(
            "fio",
            lambda p, b, v=value, j=jobs: (
                (Status.DNR, "late") if (j, p) == (2, "host/docker") else v(p, b)
            ),
            params=(("jobs", jobs),),
        )
    canvas = chart(study.found(), "scaling-01").draw(WIDE)
    assert [len(one.places) for one in lines(canvas, 0)] == [3]
    assert [len(one.places) for one in lines(canvas, 1)] == [1, 1]
    assert "dnr at 2" in set(words(canvas))


def test_a_wide_range_is_drawn_on_a_logarithmic_axis_that_is_named():
    study = Study(["host", "host/docker"])
    for jobs, rate in ((1, 1.0), (10, 90.0), (100, 7000.0)):
        study.add("fio", noisy({}, base=rate), params=(("jobs", jobs),))
    figure = chart(study.found(), "scaling-01")
    assert "logarithmic and have no zero" in figure.caption
    canvas = figure.draw(WIDE)
    assert "jobs, logarithmic" in words(canvas)
    (line,) = lines(canvas, 0)
    ys = [y for _, y in line.places]
    assert len(ys) == 3
    assert ys == sorted(ys, reverse=True)


def test_a_staircase_has_a_step_for_each_value_and_failures_leave_room_below():
    study = Study(["host", "host/docker"], blocks=10)
    study.add(
        "cpu",
        lambda p, b: (Status.FAILED, "no") if (p, b) == ("host/docker", 0) else 100.0 + b,
    )
    canvas = chart(study.found(), "distribution-01").draw(WIDE)
    (host,), (docker,) = (lines(canvas, lane) for lane in (0, 1))
    assert len({y for _, y in host.places}) == 11
    assert [lane_share(canvas, 0, host.places[end][1]) for end in (0, -1)] == [0, 1]
    # One of ten failed, and a rate is better when higher: the nine begin at a tenth.
    assert [lane_share(canvas, 1, docker.places[end][1]) for end in (0, -1)] == [0.1, 1]
    assert "\N{MINUS SIGN}4" in words(canvas)  # the least is 100, which is 4.3 % below 104.5


def test_one_value_far_away_does_not_flatten_the_others():
    study = Study(["host", "host/docker"], blocks=40)
    study.add("cpu", lambda p, b: 1e6 if (p, b) == ("host/docker", 7) else 100.0 + b % 5)
    figure = chart(study.found(), "distribution-01")
    texts = words(figure.draw(WIDE))
    ticks = [float(text) for text in texts if re.fullmatch(r"\+\d+", text)]
    assert 0 < max(ticks) < 20
    assert any(text.endswith("1 beyond") for text in texts)
    assert "drawn at its edge, and counted" in figure.caption


def test_long_staircases_are_thinned_and_said_to_be():
    study = Study(["host", "host/docker"], blocks=400).add("cpu", noisy({}))
    figure = chart(study.found(), "distribution-01")
    (line,) = lines(figure.draw(WIDE), 0)
    assert len({y for _, y in line.places}) == 101
    assert "Of more than 100 values 100 steps are drawn." in figure.caption


def test_the_life_of_an_instance_is_a_row_of_bars_that_follow_each_other():
    found = full(3)
    canvas = next(one for one in figures(found) if one.name.startswith("lifecycle")).draw(WIDE)
    bars = marks(canvas, Rect)
    host, docker = bars[:7], bars[7:13]
    begin, end = host[0].corner[0], host[-1].opposite[0]
    assert [one.corner[0] for one in host[1:]] == pytest.approx(
        [one.opposite[0] for one in host[:-1]]
    )
    # The medians of eleven trials whose factors are 1 to 1.04, the middle one 1.02.
    assert (host[0].opposite[0] - begin) / (end - begin) == pytest.approx(0.2 / 6.0)
    assert host[0].tip.startswith("0.204 s [0.2")
    texts = words(canvas)
    phases = ["create", "boot", "soft reboot", "hard reboot", "stop", "start", "delete"]
    assert [one for one in texts if one in phases][:7] == phases
    assert any("host/docker" in one and "less 1 phase" in one for one in texts)
    assert "–" in texts  # noqa: RUF001 - it has no soft reboot
    assert docker[2].corner[0] == pytest.approx(docker[1].opposite[0])


def test_a_platform_without_a_life_keeps_its_row():
    study = Study(["host", "host/kvm"])
    phases = {"create": 0.1, "boot": 1.0, "stop": 0.2, "delete": 0.1}
    study.add(
        "lifecycle",
        lambda p, b: (Status.UNAVAILABLE, "no kvm") if p == "host/kvm" else phases,
        metrics=LIFE,
    )
    texts = words(chart(study.found(), "lifecycle-01").draw(WIDE))
    assert "2. host/kvm: unavailable" in texts
    assert "soft reboot" not in texts


def test_nothing_measured_is_nothing_drawn():
    study = Study(["host", "host/docker", "host/kvm"])
    study.add("cpu", lambda p, b: None)
    assert list(figures(study.found())) == []


@pytest.mark.parametrize("value", [0.0, 1e-300, 1e300, math.inf, -1.0])
def test_absurd_values_are_drawn_without_an_error(value):
    study = Study(["host", "host/docker", "host/kvm"])
    for jobs in (1, 2, 4):
        study.add(
            "fio",
            lambda p, b: value if p == "host/docker" else 100.0 + b,
            params=(("jobs", jobs),),
        )
    for figure in figures(study.found()):
        spec = figure.draw(PHONE)
        if isinstance(spec, dict):
            json.dumps(spec, allow_nan=False)
        if not figure.name.endswith(("2", "3")):
            assert "NaN" not in svg(spec)


def test_hostile_names_stay_text_in_every_chart():
    study = Study(["host", HOSTILE, "host/docker"])
    for jobs in (1, 2, 4):
        study.add(HOSTILE, noisy({HOSTILE: 2.0}), params=((HOSTILE, "x"), ("jobs", jobs)))
    study.add("lifecycle", lambda p, b: {"create": 1.0 + b, "boot": 2.0}, metrics=LIFE)
    for figure in figures(study.found()):
        if not figure.name.endswith(("2", "3")):
            assert "<script" not in svg(figure.draw(WIDE))


def test_a_long_text_loses_its_middle():
    assert shortened("short", 100) == "short"
    cut = shortened("host/qemu-tcg/docker with a very long name", 140)
    assert len(cut) <= 20
    assert cut.startswith("host/qemu")
    assert cut.endswith("name")


def test_a_grid_without_columns_or_lines_can_be_drawn():
    assert svg(grid(WIDE, [], []))
    assert svg(grid(PHONE, ["a"], [Line("b", [Box(("1", "1"), "", theme.WORSE, 0.5, "")])]))


def axis_labels(picture):
    """The labels of a chart's axes of costs, without their sign, each once."""
    return list(
        dict.fromkeys(re.findall(r">([\d.,e\N{MINUS SIGN}]+)\N{MULTIPLICATION SIGN}<", picture))
    )


@pytest.mark.parametrize(
    ("low", "high", "width", "labels"),
    [
        (0.96, 1.04, 150, ["0.97", "1", "1.03"]),
        (0.998, 1.003, 600, ["0.998", "0.999", "1", "1.001", "1.002"]),
        (0.1, 12, 640, ["0.1", "0.2", "0.333", "0.667", "1", "1.5", "3", "5", "10"]),
        (1e-7, 1e10, 640, ["1e\N{MINUS SIGN}6", "0.0001", "0.01", "1", "100", "10,000", "1e6",
                           "1e8", "1e10"]),
    ],
)  # fmt: skip
def test_an_axis_of_costs_has_round_labels_over_its_whole_length(low, high, width, labels):
    axis = cost_axis(low, high, width)
    places = [width * math.log(one / low) / math.log(high / low) for one in axis["values"]]
    assert all(later - place >= 42 - 1e-9 for place, later in pairwise(places))
    assert places[0] <= 0.3 * width
    assert places[-1] >= 0.6 * width
    scale = {"type": "log", "domain": [low, high], "nice": False}
    x = {"field": "x", "type": "quantitative", "scale": scale, "axis": axis}
    spec = {"data": {"values": [{"x": 1}]}, "mark": "point", "width": width, "encoding": {"x": x}}
    assert axis_labels(svg(spec)) == labels


def test_an_interval_without_an_end_is_drawn_from_where_it_begins():
    """Its cost is not known, but all of the interval would lie beyond an axis of the others'."""

    def value(platform, block):
        if platform != "host/odd":
            return noise(platform, block)
        return (Status.FAILED, "exited with 1") if block % 3 == 0 else noise(platform, block)

    noise = noisy({"host/odd": 4.0})
    study = Study(["host", "host/docker", "host/odd"], 15).add("cpu", value)
    found = study.found()
    (odd,) = [one for one in found.headline if one.cell.platform == "host/odd"]
    assert odd.cost is None
    assert odd.high > 1e9
    figure = chart(found, "forest")
    spec = figure.draw(WIDE)
    (row,) = [one for one in spec["data"]["values"] if one["platform"] == "host/odd"]
    assert row["low"] == odd.low < row["beyond"]
    assert "Where there is only slower, too many pairs have no ratio." in figure.caption


def test_a_word_in_a_narrow_cell_is_whole():
    def value(platform, block):
        if platform == "host/gvisor":
            return Status.DNR, "late"
        return (Status.FAILED, "bad") if platform == "host/kvm" else noise(platform, block)

    noise = noisy({})
    platforms = names(12)
    study = Study(platforms).add("sysbench_cpu", value)
    spec = chart(study.found(), "heat").draw(PHONE)
    said = set(words(spec))
    assert {"dnr", "fail"} <= said
    assert not {"d", "f"} & said


def test_drift_counts_the_trials_that_have_no_point():
    noise = noisy({})
    study = Study(["host", "host/docker"]).add(
        "cpu",
        lambda p, b: (Status.FAILED, "bad") if p != "host" and b < 3 else noise(p, b),
    )
    caption = chart(study.found(), "drift-01").caption
    assert "Trials without a value (3) have no point." in caption


def test_the_blocks_of_a_long_study_are_labelled_by_round_numbers():
    study = Study(["host", "host/docker"], 330).add("cpu", noisy({}))
    spec = chart(study.found(), "drift-01").draw(PHONE)
    ticks = spec["spec"]["layer"][0]["encoding"]["x"]["axis"]["values"]
    assert ticks == [0, 50, 100, 150, 200, 250, 300]


def test_an_axis_that_does_not_begin_at_zero_says_so():
    some = Study(["host", "host/docker"]).add("cpu", noisy({"host/docker": 1.1})).found()
    far = Study(["host", "host/docker"]).add("cpu", noisy({"host/docker": 11.0})).found()
    assert "need not begin at 0" in chart(some, "points-01").caption
    assert "need not begin at 0" not in chart(far, "points-01").caption


def test_far_values_are_labelled_briefly():
    study = Study(["host", "host/far"]).add("cpu", noisy({"host/far": 1e-12}))
    picture = svg(chart(study.found(), "points-01").draw(WIDE))
    assert ">1e14<" in picture
    assert ">1,000,000<" in picture
    assert ",000,000,000<" not in picture
