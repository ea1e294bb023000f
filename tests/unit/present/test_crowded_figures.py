"""What charts say of many platforms, of names that are alike, and of what is not there."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import pytest

from tare.core.model import Status
from tare.present.charts.canvas import Canvas, Polyline, Rect, Text
from tare.present.charts.catalogue import figures
from tare.present.charts.figure import label_width, shortened_apart
from tare.present.charts.scaling import MAX_FAMILIES
from tare.present.page.render import PHONE, WIDE, svg
from unit.drawing import lane_share, marks, words
from unit.invented import LIFE, Study, life, names, noisy

ALIKE = [f"host/qemu-tcg/docker with a {word} disk and a long name to end" for word in "ABC"]
"""Of 57 characters, which differ in the one that is cut away first."""


def chart(found, name):
    return next(one for one in figures(found) if one.name == name)


def labels(picture):
    """How a figure writes the names that are alike: as an axis's or a facet's, or as a text."""
    if isinstance(picture, Canvas):
        yield from (text for text in words(picture) if text.startswith("host/q"))
        return
    for written in re.findall(r'"labelExpr": "(\{.*?\})\[datum.value\]"', json.dumps(picture)):
        yield from (text for name, text in unescaped(written).items() if name in ALIKE)


def unescaped(written):
    return json.loads(json.loads(f'"{written}"'))


def platforms_with(value, *, blocks=11, **more):
    """A study of a host and three platforms, of which ``value`` says what two of them do."""
    steady = noisy({"host/slow": 2.0})
    study = Study(["host", "host/slow", "host/odd", "host/gone"], blocks)
    return study.add("cpu", lambda p, b: value(p, b) or steady(p, b), **more)


def unavailable(platform, block):
    if platform == "host/gone":
        return Status.UNAVAILABLE, "there is no /dev/kvm"
    return (Status.DNR, "late") if platform == "host/odd" else None


def test_texts_that_would_be_the_same_show_what_differs():
    short = shortened_apart([*ALIKE, "host"], 150)
    assert short["host"] == "host"
    assert [re.search(r" ([ABC]) ", short[name])[1] for name in ALIKE] == ["A", "B", "C"]
    assert max(map(len, short.values())) <= 150 / 6.9 + 1
    assert shortened_apart(ALIKE, 1000) == {name: name for name in ALIKE}


@pytest.mark.parametrize("width", [60, 130, 180, 250, 380])
def test_a_name_is_shortened_alike_whoever_else_is_there(width):
    """A number would be another one in a chart without the baseline, or without who failed."""
    long = [f"host/qemu-tcg/docker, 2 cpus, cache none, disk {one} of virtio, image 20260101"
            for one in "abcdef"]  # fmt: skip
    every = shortened_apart(["host", *long], width)
    some = shortened_apart(long[1:4], width)
    assert len(set(every.values())) == 7
    assert some == {name: every[name] for name in long[1:4]}
    assert all(len(text) <= max(5, width / 6.9) + 1 for text in every.values())


def test_texts_that_differ_in_two_places_are_numbered():
    texts = [f"{'a' * 40}{one}{'b' * 40}{two}{'c' * 40}" for one in "xy" for two in "xy"]
    short = shortened_apart(texts, 100)
    assert len(set(short.values())) == 4
    assert [text[:3] for text in short.values()] == ["1. ", "2. ", "3. ", "4. "]


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_names_that_are_alike_stay_apart_in_every_chart(width):
    study = Study(["host", *ALIKE])
    for jobs in (1, 2, 4):
        study.add("fio", noisy({}), params=(("jobs", jobs),))
    for kind in ("forest", "heat", "points-01", "drift-01", "distribution-01", "scaling-01"):
        assert len(set(labels(chart(study.found(), kind).draw(width)))) == len(ALIKE), kind


@pytest.mark.parametrize(("width", "form", "word"), [(WIDE, "text", "unavailable"),
                                                     (PHONE, "short", "n/a")])  # fmt: skip
def test_the_forest_says_what_there_is_instead_of_a_cost(width, form, word):
    figure = chart(platforms_with(unavailable).found(), "forest")
    spec = figure.draw(width)
    said = {one["platform"]: one[form] for one in spec["data"]["values"]}
    assert said["host/gone"] == word
    assert said["host/odd"] == "dnr"
    assert json.dumps({"field": form}) in json.dumps(spec)
    assert "unavailable or n/a: this host cannot run it" in figure.caption


def test_an_interval_that_is_cut_on_the_left_shows_that_it_is():
    def value(platform, block):
        return 1e6 if platform == "host/odd" and block % 2 else None

    found = platforms_with(value).found()
    low = next(one.low for one in found.headline if one.cell.platform == "host/odd")
    figure = chart(found, "forest")
    spec = figure.draw(WIDE)
    odd = next(one for one in spec["data"]["values"] if one["platform"] == "host/odd")
    assert odd["below"] > low * 5
    assert "triangle-left" in json.dumps(spec)
    assert "goes on beyond the axis" in figure.caption


@pytest.mark.parametrize(("cost", "legend"), [(80.0, "100"), (500.0, "≥ 100")])
def test_a_legend_says_if_its_end_holds_all_that_is_beyond(cost, legend):
    study = Study(["host", "host/slow"]).add("cpu", noisy({"host/slow": cost}))
    texts = words(chart(study.found(), "heat").draw(WIDE))
    assert f"{legend}\N{MULTIPLICATION SIGN}" in texts
    assert ("≤ 1/100\N{MULTIPLICATION SIGN}" in texts) == ("≥" in legend)


def test_a_platform_without_a_number_keeps_its_row_and_says_why():
    figure = chart(platforms_with(unavailable).found(), "points-01")
    *_, gaps = figure.draw(WIDE)["layer"]
    assert [(one["platform"], one["text"]) for one in gaps["data"]["values"]] == [
        ("host/odd", "dnr"),
        ("host/gone", "unavailable"),
    ]
    domain = gaps["encoding"]["y"]["scale"]["domain"]
    assert domain == ["host", "host/slow", "host/odd", "host/gone", "host (A/A control)"]
    assert "unavailable or n/a: this host cannot run it" in figure.caption


def test_drift_says_whom_it_does_not_show():
    caption = chart(platforms_with(unavailable).found(), "drift-01").caption
    assert "no median above 0: host/odd (dnr), host/gone (unavailable)." in caption


def test_more_courses_than_are_drawn_are_counted():
    study = Study(["host", "host/docker"])
    for number in range(MAX_FAMILIES + 2):
        for jobs in (1, 2, 4):
            study.add(f"work{number}", noisy({}), params=(("jobs", jobs),))
    drawn = [one for one in figures(study.found()) if one.name.startswith("scaling")]
    assert len(drawn) == MAX_FAMILIES
    assert all("The first 6 of 8 courses are drawn." in one.caption for one in drawn)


def test_large_levels_are_written_out():
    study = Study(["host", "host/docker"])
    for rate in (1_000_000, 1_000_001, 3_000_000):
        study.add("net", noisy({}), params=(("rate", rate),))
    texts = words(chart(study.found(), "scaling-01").draw(WIDE))
    assert {"1,000,000", "3,000,000"} <= set(texts)
    assert not any("e+06" in text for text in texts)


def suspect(platform, block):
    if platform == "host/odd" and block < 2:
        return Status.SUSPECT, "throttled", {"events": 900.0 + block}
    return None


def test_what_rests_on_suspect_trials_is_marked_in_the_matrix():
    figure = chart(platforms_with(suspect).found(), "matrix-01")
    canvas = figure.draw(WIDE)
    assert sum("host/odd" in one.tip for one in marks(canvas, Rect)) == 3
    assert sum("*" in text for text in words(canvas)) == 3
    assert "some of its pairs are suspect" in figure.caption


def test_trials_without_a_pair_of_numbers_are_no_missing_ratio():
    study = Study(["host", "host/a", "host/b"])
    study.add("cpu", lambda p, b: 100.0 + b if (p == "host/a") == (b < 4) else None)
    texts = words(chart(study.found(), "matrix-01").draw(WIDE))
    assert "not known" in texts
    assert "no ratio" not in texts


def test_a_life_says_how_many_of_its_trials_are_suspect():
    lives = life(dict.fromkeys(("host", "host/docker"), 1.0))
    study = Study(["host", "host/docker"])
    study.add("lifecycle", lives, metrics=LIFE)
    docker = {one.id for one in study.cells if one.platform == "host/docker"}
    study.trials = [
        replace(one, status=Status.SUSPECT) if one.cell in docker and one.block < 3 else one
        for one in study.trials
    ]
    titles = words(chart(study.found(), "lifecycle-01").draw(WIDE))
    assert sum(title.endswith("n 11, 3 suspect") for title in titles) == 1
    assert sum(title.endswith("n 11") for title in titles) == 2


def test_a_label_that_has_room_is_whole():
    for name in names(12):
        assert shortened_apart([name], label_width([name]) - 12) == {name: name}


def test_one_value_far_away_does_not_flatten_the_course_of_the_others():
    found = platforms_with(lambda p, b: 1e6 if (p, b) == ("host/odd", 4) else None).found()
    figure = chart(found, "drift-01")
    values = figure.draw(PHONE)["data"]["values"]
    assert max(one["value"] for one in values) < 50
    (far,) = [one for one in values if (one["platform"], one["block"]) == ("host/odd", 4)]
    assert "+9" in far["text"]
    assert " 1 so far away that the others would be flat: drawn at the edge." in figure.caption


def test_on_a_phone_the_title_of_a_life_has_a_line_for_its_numbers():
    lives = life(dict.fromkeys(("host", "host/docker"), 1.0))
    study = Study(["host", "host/docker"]).add("lifecycle", lives, metrics=LIFE)
    texts = words(chart(study.found(), "lifecycle-01").draw(PHONE))
    numbers = texts[texts.index("2. host/docker") + 1]
    assert re.fullmatch(r"5\.\d+ s less 1 phase, n 11", numbers)


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_the_title_of_a_life_shows_in_what_a_name_differs(width):
    names = [f"host/qemu-tcg/docker, 2 cpus, cache none, disk {one} of virtio with an iothread and "
             "io_uring, image 20260101" for one in "abc"]  # fmt: skip
    lives = life(dict.fromkeys(("host", *names), 1.0))
    study = Study(["host", *names]).add("lifecycle", lives, metrics=LIFE)
    texts = words(chart(study.found(), "lifecycle-01").draw(width))
    for place, one in enumerate("abc", 2):
        assert any(re.match(rf"{place}\. host/.*k {one} of", text) for text in texts)


@pytest.mark.parametrize(("count", "axes"), [(3, 1), (12, 6)])
def test_in_a_tall_forest_every_plot_has_its_axis(count, axes):
    study = Study(names(count))
    for number in range(6):
        study.add(f"work{number}", noisy({"host/docker": 2.0}))
    picture = svg(chart(study.found(), "forest").draw(WIDE))
    assert picture.count(">cost, \N{MULTIPLICATION SIGN} baseline<") == axes


def spread(platform, block):
    """Zeros among values that spread over powers of ten."""
    if platform == "host/odd":
        return {"events": 0.0 if block == 4 else 20_000_000.0 + block}
    return unavailable(platform, block)


def zeros_and_others(layers, platform="host/odd"):
    """What stands for 0, and the other values of a platform."""
    values = [one for one in layers[0]["data"]["values"] if one["platform"] == platform]
    zeros = {one["value"] for one in values if one["text"].endswith(": 0 /s")}
    return zeros, [one["value"] for one in values if one["value"] not in zeros]


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_a_zero_does_not_flatten_what_spreads_over_powers_of_ten(width):
    figure = chart(platforms_with(spread).found(), "points-01")
    layers = figure.draw(width)["layer"]
    x = layers[0]["encoding"]["x"]
    (zero,), others = zeros_and_others(layers)
    assert x["scale"]["type"] == "log"
    assert len(others) == 10
    assert (
        0 < zero < min(one["value"] for one in layers[0]["data"]["values"] if one["value"] > zero)
    )
    # Its tick is the first one and is called 0; every row has a line between it and the others.
    assert x["axis"]["values"][0] == zero
    (line,) = {one["line"] for one in layers[-2]["data"]["values"]}
    assert x["axis"]["labelExpr"].startswith(f"datum.value < {line} ? '0' : ")
    assert zero < line < min(x["axis"]["values"][1:])
    rows = [one["platform"] for one in layers[-2]["data"]["values"]]
    assert rows == ["host", "host/slow", "host/odd", "host (A/A control)"]
    assert "left of each row's upright line" in figure.caption
    written = svg(figure.draw(width))
    assert ">0</text>" in written
    assert ">10,000</text>" in written


def test_an_interval_that_reaches_to_zero_ends_where_zeros_stand():
    def value(platform, block):
        return {"events": 0.0 if block < 5 else 1e6} if platform == "host/odd" else None

    layers = chart(platforms_with(value).found(), "points-01").draw(WIDE)["layer"]
    (zero,), _ = zeros_and_others(layers)
    (odd,) = [one for one in layers[2]["data"]["values"] if one["platform"] == "host/odd"]
    assert 0 < zero < 1000
    assert (odd["low"], odd["median"], odd["high"]) == (zero, 1e6, 1e6)


def test_a_zero_among_values_that_are_near_each_other_stands_on_a_linear_axis():
    def value(platform, block):
        return {"events": 0.0} if (platform, block) == ("host/odd", 4) else None

    figure = chart(platforms_with(value).found(), "points-01")
    layers = figure.draw(WIDE)["layer"]
    assert layers[0]["encoding"]["x"]["scale"]["type"] == "linear"
    assert zeros_and_others(layers)[0] == {0}
    assert "upright line" not in figure.caption


def courses_with(zero_at):
    """Courses over powers of ten; that of the second platform is 0 at one level."""
    study = Study(["host", "host/docker"])
    for rate in (1, 10, 100, 1000):
        steady = noisy({}, base=50.0 * rate)
        study.add(
            "net",
            lambda p, b, rate=rate, steady=steady: (
                {"events": 0.0} if (p, rate) == ("host/docker", zero_at) else steady(p, b)
            ),
            params=(("rate", rate),),
        )
    return chart(study.found(), "scaling-01")


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_a_zero_in_a_course_stands_at_its_foot_and_the_others_are_not_flat(width):
    figure = courses_with(zero_at=100)
    canvas = figure.draw(width)
    lines = [one.places for one in marks(canvas, Polyline, width=2) if len(one.places) == 4]
    host, docker = (
        [lane_share(canvas, lane, y) for _, y in line] for lane, line in enumerate(lines)
    )
    steps = [above - below for below, above in pairwise(host)]
    assert max(steps) < 1.2 * min(steps)
    assert docker[2] == 0
    zeros = [one.place[1] for one in marks(canvas, Text, text="0")]
    assert [lane_share(canvas, lane, y) for lane, y in enumerate(zeros)] == [0, 0]
    across = [one.places for one in marks(canvas, Polyline, dash="4 3")]
    dashes = [y for (_, y), (_, end) in across if y == end]
    assert 0 < lane_share(canvas, 1, dashes[1]) < min(docker[0], docker[1], docker[3])
    assert "so zeros are below the dashed line across" in figure.caption
    labels = sorted(one.place[1] for one in marks(canvas, Text, align="end"))
    assert min(high - low for low, high in pairwise(labels)) > 12


def test_courses_without_a_zero_have_none_on_their_axis():
    figure = courses_with(zero_at=None)
    assert "0" not in words(figure.draw(WIDE))
    assert "dashed line across" not in figure.caption


@pytest.mark.parametrize("count", [12, 17])
def test_what_stands_in_a_map_of_many_platforms_can_be_read_on_a_phone(count):
    platforms = names(count)
    costs = {name: 1 + 0.4 * place for place, name in enumerate(platforms)}
    study = Study(platforms).add("cpu", noisy({**costs, platforms[7]: 3e10}))
    study.add("fio", lambda p, b: unavailable(p.replace("kvm", "gone"), b) or 100.0 + b)
    texts = marks(chart(study.found(), "heat").draw(PHONE), Text)
    assert min(one.size for one in texts) >= 10
    assert {"3e10", "1.40", "n/a", "▲"} <= {one.text for one in texts}
    column = (PHONE - 6) / min(count, 16)
    wide = [one.text for one in texts if not one.upright and len(one.text) < 6
            and 0.58 * one.size * len(one.text) > column]  # fmt: skip
    assert wide == []
