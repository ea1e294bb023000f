"""Figures of published studies, drawn again: every row in one, at any width, and ours beside."""

import json
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from tare import cli
from tare.core.model import Better, Metric, Unit
from tare.present.charts.axis import inner_ticks
from tare.present.charts.canvas import Point, Polyline, Rect
from tare.present.page.render import PHONE, WIDE
from tare.present.redrawn import figures, undrawn
from tare.present.redrawn.bars import draw_panels, goes_on
from tare.present.redrawn.own_values import OwnValues
from tare.present.redrawn.panels import Bar, Panel, domains, panels
from tare.present.redrawn.side import Side
from tare.present.view import theme
from tare.present.view.numbers import TIMES
from tare.results.published import load, p_values, studies
from tare.results.published.by_study import laine2017
from tare.results.published.costs import as_difference, of_difference
from tare.results.published.originals import UNDRAWN, Form, originals
from tare.results.published.printed import PARTS
from tare.results.published.significance import significance
from tare.work import workload
from unit.drawing import assert_texts_apart, marks, text_boxes, words
from unit.makers import LIMITS, store
from unit.results.test_compare_published import METRICS, PRIMES, WRITES, make_ours, two_sizes

RATE = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)
COSTS = {"native": 1, "docker": 1.25, "kvm": 2}
HOSTILE = "<script>alert(1)</script>"


def figure(study, name, ours=None):
    (found,) = [one for one in figures(study, ours) if one.name == f"{study}-{name}"]
    return found


def original(study, name):
    (found,) = [one for one in originals(study, load(study)) if one.name == name]
    return found


def drawn_panels(study, name, ours=None):
    here = OwnValues(study, ours) if ours else None
    _, found = panels(original(study, name), load(study), here)
    return found


def length(bar):
    return bar.opposite[0] - bar.corner[0]


def shapes(canvas):
    """All rectangles of a picture."""
    return marks(canvas, Rect)


# What is drawn


@pytest.mark.parametrize("study", studies())
def test_every_printed_number_is_in_one_figure_or_said_not_to_be(study):
    rows = load(study)
    found = originals(study, rows)

    for row in rows:
        drawn = [one.name for one in found if row in one.rows(rows)]
        assert len(drawn) == (0 if row.table in UNDRAWN.get(study, {}) else 1), row
    assert all(one.rows(rows) for one in found)
    assert len({one.name for one in found}) == len(found)
    assert all(table in undrawn(study) for table in UNDRAWN.get(study, {}))


@pytest.mark.parametrize("study", studies())
def test_no_two_bars_of_a_panel_have_one_name(study):
    rows = load(study)
    for one in originals(study, rows):
        if one.form is Form.BARS:
            kept, found = panels(one, rows, None)
            assert sum(len(panel.bars) for panel in found) == len(kept)
            for panel in found:
                names = [bar.name for bar in panel.bars]
                assert len(set(names)) == len(names), panel.title


@pytest.mark.parametrize("width", [WIDE, PHONE])
@pytest.mark.parametrize("study", studies())
def test_no_text_lies_on_another_or_outside(study, width):
    work = {"cole2022": PRIMES, "hpe2016": ("linpack", {"size": 39000})}.get(study, WRITES)
    ours = make_ours(work, {**COSTS, "qemu-tcg": 5}, wobble=0.01)
    for one in (*figures(study), *figures(study, ours)):
        assert_texts_apart(one.draw(width))


def test_on_a_phone_no_line_crosses_the_name_of_a_bar():
    canvas = figure("hpe2016", "java").draw(PHONE)
    lines = [one.places for one in marks(canvas, Polyline)]
    names = [box for box in text_boxes(canvas) if "instances" in box[0]]

    assert len(names) == 9
    for _, left, right, top, bottom in names:
        across = [line for line in lines if left < line[0][0] < right]
        assert across
        assert all(line[-1][1] <= top or line[0][1] >= bottom for line in across)


def test_runs_are_points_and_the_one_that_was_left_out_is_told():
    (panel,) = drawn_panels("aspernas2016", "http")
    by_name = {bar.name: bar.printed for bar in panel.bars}
    apart = by_name["esxi(CoreOS)/docker"]

    assert len(panel.bars) == 5
    assert all(len(side.runs) == 5 for side in by_name.values())
    assert apart.text == "57653"
    assert [run.value for run in apart.runs if run.left_out] == [35783]
    assert "A ring is a run that the study left out" in figure("aspernas2016", "http").caption
    spec = figure("aspernas2016", "http").draw(WIDE)
    (ring,) = marks(spec, Point, fill=theme.PAPER)
    assert "35783" in ring.tip


def test_ranges_are_those_that_are_printed():
    (panel,) = [one for one in drawn_panels("cole2022", "rndwr") if "throughput" in one.title]
    (bar,) = [one for one in panel.bars if one.name == "kvm 4cpu/4096MiB"]

    assert (bar.printed.low, bar.printed.value, bar.printed.high) == (43.71, 45.96, 48.75)
    (latency,) = [one for one in drawn_panels("cole2022", "rndwr") if "latency" in one.title]
    assert {bar.printed.low for bar in latency.bars} == {None}
    assert "less is better" in latency.title


def test_what_did_not_respond_has_words_and_no_bar():
    found = figure("huang2019", "scalability")
    spec = found.draw(WIDE)

    assert "DNR: did not respond" in words(spec)
    assert len(shapes(spec)) == 3 + 2  # run times, and how much less these fluctuate
    assert "no value and not 0" in found.caption
    cells = shapes(figure("huang2019", "isolation-specweb").draw(WIDE))
    (lost,) = [one for one in cells if "did not respond" in one.tip]
    assert lost.fill == theme.BAD
    assert f"{TIMES} did not respond" in words(figure("huang2019", "isolation-specweb").draw(WIDE))


def test_every_bar_begins_at_zero():
    spec = figure("hpe2016", "java").draw(WIDE)
    (zero,) = {one.places[0][0] for one in marks(spec, Polyline, stroke=theme.MUTED)}
    left = [one for one in shapes(spec) if one.opposite[0] == zero]
    right = [one for one in shapes(spec) if one.corner[0] == zero]

    assert len(left) == 3  # less of a processor, three times
    assert len(right) == 7
    lengths = {re.search(r": (-?\d+) %", one.tip)[1]: length(one) for one in right}
    assert lengths["12"] / lengths["3"] == pytest.approx(4, rel=0.02)


def test_a_map_is_darker_where_it_is_worse():
    spec = figure("huang2019", "isolation-terasort").draw(PHONE)
    strength = {one.tip: one.opacity for one in shapes(spec) if one.tip}
    at = {
        name: next(value for said, value in strength.items() if f": {name} % degr" in said)
        for name in ("73.4", "25.13", "3.95")
    }

    assert at["73.4"] > at["25.13"] > at["3.95"] > 0


def test_round_ticks_hold_zero():
    assert inner_ticks(*(0, 940), 5) == [0, 200, 400, 600, 800]
    assert inner_ticks(*(-17, 17), 1) == inner_ticks(*(-17, 17), 3) == [-10, 0, 10]
    assert inner_ticks(*(-17, 17), 4) == [-10, 0, 10]
    assert inner_ticks(*(0, 0.0035), 4) == pytest.approx([0, 0.001, 0.002, 0.003])


def test_a_study_that_is_only_data_has_a_figure_for_each_table():
    rows = load("hpe2016")
    found = originals("nobody2030", rows)

    assert [one.tables for one in found] == [
        (table,) for table in dict.fromkeys(r.table for r in rows)
    ]
    for one in found:
        kept, _ = panels(one, rows, None)
        assert {*kept} == {row for row in rows if row.table in one.tables}


# Ours beside


def test_ours_is_counted_as_the_study_counts():
    ours = make_ours(WRITES, COSTS)
    (fio,) = [one for one in drawn_panels("huang2019", "performance", ours) if "fio" in one.title]
    sides = {bar.name: bar.ours for bar in fio.bars}

    (kvm,) = sides["random write, kvm"]
    assert kvm.value == pytest.approx(50)  # of a rate that costs twice as much half is lost
    assert kvm.low <= kvm.value <= kvm.high
    (xen,) = sides["random write, xen"]
    assert xen.value is None
    assert xen.words == "no platform in these results is xen"
    caption = figure("huang2019", "performance", ours).caption
    assert "written as the study counts" in caption
    assert "engine" not in caption  # the cell has no such parameter


def test_a_difference_is_counted_as_one():
    ours = make_ours(("linpack", {"size": 4000}), {"native": 1, "docker": 1.1, "kvm": 1.2})
    found = {one.title: one for one in drawn_panels("hpe2016", "linpack", ours)}
    (bar, _) = next(one for title, one in found.items() if "39k" in title).bars

    assert [side.value for side in bar.ours] == pytest.approx([100 * (1.2 / 1.1 - 1)])
    assert "size 4,000, there 39,000" in figure("hpe2016", "linpack", ours).caption


@pytest.mark.parametrize("better", Better)
@pytest.mark.parametrize("percent", [-17.0, 0.0, 86.0])
def test_a_difference_comes_back_from_its_cost(better, percent):
    assert as_difference(of_difference(percent, better), better) == pytest.approx(percent)


def test_time_saved_is_less_time():
    metric = Metric("boot", Unit.SECOND, Better.LOWER)
    METRICS["lifecycle"] = (metric,)
    try:
        ours = make_ours(("lifecycle", {"count": 1}), {"native": 1, "docker": 1, "kvm": 4})
        (panel,) = drawn_panels("hpe2016", "lifecycle", ours)
    finally:
        del METRICS["lifecycle"]
    sides = {bar.name: bar.ours[0] for bar in panel.bars}

    assert sides["boot"].value == pytest.approx(75)
    assert sides["delete"].words == "lifecycle gave no delete here"


def iperf(monkeypatch, factor=1.0):
    """Our rates are 1000 B/s over the cost, times so much; the study has 940 Mbit/s natively."""
    monkeypatch.setitem(METRICS, "iperf", (RATE,))
    ours = make_ours(("iperf", {"direction": "send"}), COSTS, wobble=0.01)
    for one in ours.trials:
        one.samples["throughput"] *= factor
    return ours


def test_a_rate_is_the_median_in_the_unit_of_the_study(monkeypatch):
    ours = iperf(monkeypatch, 100_000)
    send, receive = drawn_panels("laine2017", "tcp", ours)
    sides = {bar.name: bar.ours[0] for bar in send.bars}

    assert sides["native"].value == pytest.approx(800)  # 100 MB/s, although native has no pair
    assert sides["kvm"].value == pytest.approx(400, rel=0.001)
    assert sides["kvm"].low < sides["kvm"].value < sides["kvm"].high
    assert {side.words for side in receive.sides[1]} == {
        "iperf (direction receive) is not in these results"
    }
    (both,) = domains([send]).values()
    assert both[0] == both[1] == (0, 940)
    for name in ("tcp", "udp-send"):
        assert "written as the study counts" not in figure("laine2017", name, ours).caption
    assert "hardware is another" in figure("laine2017", "tcp", ours).caption


def test_on_one_scale_the_same_number_has_the_same_length(monkeypatch):
    ours = iperf(monkeypatch, 117_500)  # natively 940 Mbit/s, as there
    bars = shapes(figure("laine2017", "tcp", ours).draw(WIDE))
    lengths = [length(one) for one in bars if re.search("native.* 940", one.tip)]

    assert len(lengths) == 2
    assert lengths[0] == pytest.approx(lengths[1], abs=0.2)


def test_what_is_missing_of_another_platform_is_not_said_of_this_one(monkeypatch):
    monkeypatch.setitem(METRICS, "iperf", (RATE,))
    ours = make_ours(("iperf", {"direction": "send"}), {"native": 1})
    send, _ = drawn_panels("laine2017", "tcp", ours)
    native, docker, _ = (bar.ours[0].words for bar in send.bars)

    assert docker == "no platform in these results is docker"
    assert native.startswith("no pair: no platform in these results is docker; ")


def test_the_cell_that_is_most_like_the_study_is_drawn():
    ours = two_sizes()
    found = {one.title: one for one in drawn_panels("hpe2016", "linpack", ours)}
    sides = {size: one.bars[0].ours for title, one in found.items() for size in ("39k", "79k")
             if size in title}  # fmt: skip

    assert [side.value for side in sides["39k"]] == pytest.approx([100 * (1.2 / 1.1 - 1)])
    assert len(sides["79k"]) == 2
    said = figure("hpe2016", "linpack", ours).caption
    assert "those are drawn that differ from the study in the fewest things" in said


def test_sides_that_lie_far_apart_have_scales_of_their_own_and_say_so(monkeypatch):
    ours = iperf(monkeypatch, 1)
    found = figure("laine2017", "tcp", ours)
    theirs, mine = domains(drawn_panels("laine2017", "tcp", ours))["Mbit/s"]

    assert theirs == (0, 940)
    assert mine[1] < 0.01
    assert "each has its own" in found.caption
    for width in (WIDE, PHONE):
        assert "on a scale of its own" in words(found.draw(width))


def test_an_empty_column_says_once_why():
    ours = make_ours(WRITES, COSTS)
    found = figure("aspernas2016", "http", ours)
    said = " ".join(words(found.draw(WIDE)))

    assert said.count("no workload of Tare measures it") == 1
    assert "Missing here: no workload of Tare measures it (4); " in found.caption
    assert "here: made" in said


def test_a_long_interval_leaves_room_for_the_bars():
    short = Side(value=50.0, low=20.0, high=80.0)

    def reach(ours):
        bar = Bar("read", "blue", Side(value=40.0), (ours,))
        return domains([Panel("fio", "%", (bar,))])["%"]

    assert reach(short) == ((0, 80), (0, 80))
    assert reach(replace(short, low=-10_000.0)) == ((-100, 80), (-100, 80))
    assert reach(replace(short, high=9_000.0)) == ((0, 100), (0, 100))


def test_an_interval_that_goes_on_ends_in_an_arrow():
    def ends(ours):
        panel = Panel("fio", "%", (Bar("read", "blue", Side(value=40.0), (ours,)),))
        assert draw_panels(WIDE, ["there", "here"], [panel])
        return [goes_on(ours, domains([panel])["%"][1], at_low) for at_low in (True, False)]

    assert ends(Side(value=50.0, low=20.0, high=80.0)) == [False, False]
    assert ends(Side(value=50.0, low=-10_000.0, high=80.0)) == [True, False]
    assert ends(Side(value=50.0, low=20.0, high=9_000.0)) == [False, True]


def test_a_long_reason_takes_few_lines_of_an_empty_panel():
    why = "no cost: the last reason: " + "no array in the output, which begins: 0 " * 10
    panel = Panel("STREAM", "%", (Bar("copy", "blue", Side(value=2.0), (Side(words=why),)),))
    for width in (WIDE, PHONE):
        (*_, last) = [
            text for text in words(draw_panels(width, ["a", "b"], [panel])) if "…" in text
        ]
        assert last.endswith(" …")
        assert sum(len(text) for text in words(draw_panels(width, ["a", "b"], [panel]))) < 200


def test_a_reason_is_never_cut_in_the_middle():
    ours = make_ours(WRITES, COSTS, unavailable=["kvm"])
    sides = [
        side
        for panel in drawn_panels("huang2019", "performance", ours)
        for side in panel.sides[1]
        if side.words.startswith("unavailable")
    ]
    assert {side.brief for side in sides} == {"unavailable"}
    assert "no number" in words(figure("huang2019", "performance", ours).draw(PHONE))
    found = figure("huang2019", "performance", make_ours(WRITES, COSTS))
    assert not [text for text in words(found.draw(PHONE)) if "…" in text]
    assert "linpack or hpl is not in these results" in found.caption


def test_another_unit_is_no_number(monkeypatch):
    requests = Metric("throughput", Unit.PER_SECOND, Better.HIGHER)
    monkeypatch.setitem(METRICS, "iperf", (requests,))
    ours = make_ours(("iperf", {"direction": "send"}), COSTS)
    send, _ = drawn_panels("laine2017", "tcp", ours)

    assert {side.words for side in send.sides[1]} == {"here it is counted in 1/s, there in Mbit/s"}


# Significance


def test_the_matrix_has_every_p_as_it_is_printed():
    rows = p_values.tests(load("laine2017"))
    spec = figure("laine2017", "significance").draw(WIDE)
    said = words(spec)

    empty = [one for one in shapes(spec) if one.tip == "not in the study"]
    assert len(shapes(spec)) == len(rows) + len(empty) == 23 * 3
    assert "? 0.895" in said
    assert "(≠) 0.035" in said
    assert said.count("≠ 0.0") + said.count("≠ 0.001") == sum(
        one.holm_p < 0.05 for one in significance(rows, "laine2017", None)
    )


def test_our_tests_stand_beside_those_of_the_study(monkeypatch):
    monkeypatch.setattr("unit.results.test_compare_published.BLOCKS", 20)
    monkeypatch.setattr("unit.makers.LIMITS", replace(LIMITS, cpus=4))
    ours = make_ours(("sysbench_cpu", {"threads": 1}), COSTS, wobble=0.01)
    found = figure("laine2017", "significance", ours)
    spec = found.draw(WIDE)
    said = {one.tip: one for one in shapes(spec) if one.tip}

    (kvm,) = [one for text, one in said.items() if text.startswith("kvm against docker: ")]
    assert kvm.fill == theme.WORSE
    assert "here: kvm – docker" in words(spec)  # noqa: RUF001
    assert "Holm's over these 3" in found.caption
    assert "sysbench_cpu (1 CPU) is not in these results" in said


def test_another_size_of_memory_is_no_counterpart(monkeypatch):
    monkeypatch.setitem(METRICS, "mbw", (Metric("bandwidth", RATE.unit, Better.HIGHER),))
    ours = make_ours(("mbw", {"method": "dumb"}), COSTS)
    found = {
        one.row.level: one
        for one in significance(load("laine2017"), "laine2017", ours)
        if (one.row.workload, one.row.platform, one.row.baseline) == ("mbw dumb", "kvm", "native")
    }

    assert [row.cell.platform for row in found["1 GB"].ours] == ["kvm"]
    assert found["2 GB"].reason == "nothing in these results has 2 GB of memory"


def test_every_tested_counterpart_exists_with_its_metric_and_parameters():
    rows = p_values.tests(load("laine2017"))
    for row in rows:
        (one,) = laine2017.tested_by(row)
        kind = workload.kind(one.workload)
        assert set(one.needed) <= {field.name for field in fields(kind)}
        assert kind(**one.needed).metrics[0].name == one.metric  # tests are of first metrics
    assert laine2017.tested_by(load("laine2017")[0]) == ()


def test_what_is_part_of_a_mean_is_no_bar_of_its_own():
    rows = load("cole2022")
    kept, _ = panels(original("cole2022", "seqwr"), rows, None)

    assert not {row.statistic for row in kept} & PARTS


# The command


def tare(*words):
    return cli.main([*map(str, words)])


def test_the_command_writes_a_page_and_each_figure_in_three_forms(tmp_path, capsys):
    into = tmp_path / "new" / "figures"
    assert tare("published", "aspernas2016", "--figures", into) == 0
    listed = capsys.readouterr().out.splitlines()[-10:]
    page = (into / "aspernas2016.html").read_text()

    assert listed == [str(into / name) for name in (
        "aspernas2016.html",
        *(f"aspernas2016-{name}.{suffix}" for name in ("http", "sql-select", "sql-insert")
          for suffix in ("svg", "png", "pdf")),
    )]  # fmt: skip
    assert (into / "aspernas2016-http.pdf").read_bytes().startswith(b"%PDF")
    assert (into / "aspernas2016-http.png").read_bytes().startswith(b"\x89PNG")
    assert page.count("<svg ") == 6
    assert {into / one for one in re.findall(r'href="([^"#]+)"', page)} == {
        Path(one) for one in listed[1:]
    }
    assert "script-src" not in page
    assert "Table 2.2: requests that a web site served" in page
    assert "No spread" not in page
    assert not re.search(r'(src|href)="http', page)


def test_results_stand_beside_a_study_in_its_page(tmp_path, capsys):
    ours = make_ours(WRITES, COSTS)
    results = store(ours, tmp_path / "results")
    assert tare("compare", results, "aspernas2016", "--figures", tmp_path, "--json") == 0
    told = json.loads(capsys.readouterr().out)

    assert told["figures"][0] == str(tmp_path / "aspernas2016.html")
    assert (
        "aspernas2016 compared with results of made" in (tmp_path / "aspernas2016.html").read_text()
    )


def test_a_study_of_an_evil_name_stays_text(tmp_path):
    from tare.present.redrawn.write import write_figures

    ours = make_ours(WRITES, COSTS)
    ours.plan = replace(ours.plan, study=HOSTILE)
    page, svg, *_ = write_figures("aspernas2016", tmp_path, ours)

    assert "<script" not in page.read_text()
    assert "&lt;script&gt;" in page.read_text()
    assert "<script" not in svg.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["published", "--figures", "{into}"], "expected a study; there are aspernas2016"),
        (["published", "nobody1999", "--figures", "{into}"], "no published study"),
        (["published", "hpe2016", "--figures", "{file}"], "the figures cannot be written"),
        (["compare", "{into}", "{other}", "--figures", "{into}"], "found 2 and 0"),
    ],
)
def test_what_cannot_be_written_is_bad_input(tmp_path, capsys, words, said):
    file, into, other = tmp_path / "file", tmp_path / "into", tmp_path / "other"
    file.write_text("in the way")
    into.mkdir()
    other.mkdir()
    given = [word.format(file=file, into=into, other=other) for word in words]

    assert tare(*given) == cli.BAD_INPUT
    assert said in capsys.readouterr().err
    assert file.read_text() == "in the way"
    assert list(into.iterdir()) == []
