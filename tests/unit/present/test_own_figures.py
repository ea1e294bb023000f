"""Figures of which a study prints no numbers, drawn of results alone: nothing made up, no zero."""

import csv
import json
import re
from dataclasses import fields, replace
from statistics import fmean, median, stdev

import pytest

from tare import cli
from tare.core.model import Limits, Status
from tare.present.charts.canvas import Rect
from tare.present.charts.vega import svg
from tare.present.page.render import PHONE, WIDE
from tare.present.redrawn import drawn, figures, own_figures, undrawn
from tare.present.redrawn.own_tables import own_tables, table_notes
from tare.present.redrawn.own_words import notes
from tare.present.view import theme
from tare.present.view.numbers import NONE
from tare.results.published import load, studies
from tare.results.published.study_comparison import Ours
from tare.results.published.unprinted import OwnForm, unprinted
from tare.results.store import facts_of
from tare.work import workload
from unit.drawing import assert_texts_apart, marks, words
from unit.invented import LONG
from unit.makers import make_cell, make_plan, make_trial, store

STACKS = {
    "native": "host",
    "docker": "host/docker",
    "kvm": "host/kvm",
    "qemu-tcg": "host/qemu-tcg",
}
HOSTILE = "<script>alert(1)</script>"
RUNS = 8


def make_ours(works, value, *, platforms=("native", "docker", "kvm"), runs=RUNS, limits=None):
    """Results in which ``value(cell, run)`` gives samples, or a status and a reason."""
    cells = [
        make_cell(
            name,
            stack=STACKS.get(name, name),
            workload=work,
            params=tuple(params.items()),
            **({"limits": one} if one else {}),
        )
        for work, params in works
        for one in limits or (None,)
        for name in platforms
    ]
    metrics = {work: workload.kind(work)(**params).metrics for work, params in works}
    plan = make_plan(*cells, metrics=metrics, study="invented")
    trials = []
    for cell in cells:
        for run in range(runs):
            given = value(cell, run)
            if isinstance(given, tuple):
                trials.append(make_trial(cell, run, status=given[0], reason=given[1]))
            elif given is not None:
                trials.append(make_trial(cell, run, samples=given))
    return Ours(plan, trials, facts_of({"host": {}}))


def web(value=None, *, server="nginx", clients=(50, 200), requests=(5000, 10000), **others):
    """Results of ab: natively 1,000 requests a second and a little more in each run."""
    works = [
        ("web_ab", {"server": server, "clients": one, "requests": n})
        for one in clients
        for n in requests
    ]
    return make_ours(works, value or served, **others)


def served(cell, run, lost=0.0):
    params = dict(cell.params)
    rate = {"native": 1000.0, "docker": 800.0}.get(cell.platform, 500.0) + run
    time_s = params["requests"] / rate
    return {"requests": rate * (1 - lost), "failed": lost, "tool_duration": time_s}


def with_losses(cell, run):
    """KVM with 200 clients loses in two runs, and does not get through 10,000 requests."""
    params = dict(cell.params)
    if cell.platform == "kvm" and params["clients"] == 200:
        if params["requests"] == 10000:
            return Status.DNR, "did not end within 60 s"
        return served(cell, run, lost=0.25 if run in (2, 5) else 0.0)
    return served(cell, run)


def own(study, name, ours):
    (found,) = [one for one in own_figures(study, ours) if one.declared.name == name]
    return found


def points(figure, kind="median", width=WIDE):
    values = drawn(figure).draw(width)["data"]["values"]
    return [one for one in values if one["kind"] == kind]


# What is declared


@pytest.mark.parametrize("study", studies())
def test_every_figure_without_numbers_is_of_a_workload_that_has_its_metric_and_levels(study):
    for one in unprinted(study, load(study)):
        assert one.measures, one.name
        for measure in one.measures:
            kind = workload.kind(measure.workload)
            made = kind(**measure.needed)
            assert measure.metric in {metric.name for metric in made.metrics}
            assert {*measure.needed, *one.levels} <= {field.name for field in fields(kind)}
            kind(**measure.needed)
        assert set(one.axes) <= set(one.levels)
        if one.form is OwnForm.LINES:
            assert len(one.axes) == 2
            assert all(one.axes_text)


def test_the_web_servers_have_the_levels_of_the_study():
    found = {one.name: one for one in unprinted("laine2017", load("laine2017"))}

    assert len(found) == 6  # three servers, rate and time of each: figures 14 to 19
    for one in found.values():
        assert one.levels["clients"] == (50, 100, 200)
        assert one.levels["requests"] == (
            *(5000, 10000, 20000, 30000, 40000, 50000, 70000, 100000),
        )


def test_no_figure_number_is_made_up():
    titles = " ".join(one.title for one in unprinted("hpe2016", load("hpe2016")))

    assert re.findall(r"Figure (\d+)", titles) == ["24"]


@pytest.mark.parametrize("study", studies())
def test_names_of_figures_are_not_used_twice(study):
    ours = web()
    names = [one.name for one in (*figures(study, ours), *own_figures(study, ours))]

    assert len(set(names)) == len(names)


# Lines


def test_a_line_has_the_medians_of_its_platform_with_their_intervals():
    rate = own("laine2017", "web-nginx-rate", web())
    values = [1000.0 + run for run in range(RUNS)]
    (first, second) = [
        one for one in points(rate) if (one["series"], one["panel"]) == ("native", "clients 50")
    ]

    assert (first["level"], second["level"]) == (5000, 10000)
    assert first["y"] == median(values)
    assert (first["low"], first["high"]) == (values[0], values[-1])  # of eight: the ends
    assert first["text"] == "native, clients 50, requests 5,000: 1,004 /s, n 8"
    time = own("laine2017", "web-nginx-time", web())
    (first, _) = [
        one for one in points(time) if (one["series"], one["panel"]) == ("native", "clients 50")
    ]
    assert first["y"] == pytest.approx(median(5000 / value for value in values))


def test_few_runs_have_no_interval():
    rate = own("laine2017", "web-nginx-rate", web(runs=5))

    assert {(one["low"], one["high"]) for one in points(rate)} == {(None, None)}
    assert "Medians of 5 runs a cell, with 95 % intervals from 6 runs on." in [*notes(rate)]


def test_a_cell_without_a_number_breaks_its_line_and_is_no_zero():
    rate = own("laine2017", "web-nginx-rate", web(with_losses))
    (empty,) = [one for one in points(rate) if one["y"] is None]
    figure = drawn(rate)

    assert (empty["series"], empty["panel"], empty["level"]) == ("kvm", "clients 200", 10000)
    assert all(one["y"] > 0 for one in points(rate) if one["y"] is not None)
    header = figure.draw(WIDE)["facet"]["row"]["header"]["labelExpr"]
    assert "kvm: dnr at 10,000" in header
    said = "No number, which is not 0: kvm, clients 200, requests 10,000: dnr (did not end"
    assert said in figure.caption
    (table,) = own_tables(rate)
    assert table.columns == ("clients", "requests", "native", "docker", "kvm")
    assert table.rows[-1] == ("200", "10,000", "1,004", "803.5", "dnr")


def test_runs_that_lost_requests_are_seen():
    rate = own("laine2017", "web-nginx-rate", web(with_losses))
    lossy = points(rate, "lossy")

    assert sorted(one["y"] for one in lossy) == [502 * 0.75, 505 * 0.75]
    assert {(one["series"], one["panel"], one["level"]) for one in lossy} == {
        ("kvm", "clients 200", 5000)
    }
    caption = drawn(rate).caption
    assert "kvm, clients 200, requests 5,000 (2 of 8 runs, up to 25 %)" in caption
    assert "except on KVM with 200 clients" in caption
    assert "A cross" in caption
    (table,) = own_tables(rate)
    assert [cell for row in table.rows for cell in row if "*" in cell] == ["502*"]
    assert "*: some of its runs lost requests." in table_notes(rate)


def test_that_nothing_was_lost_is_said_only_of_what_counts_losses():
    assert "No run lost a request." in [*notes(own("laine2017", "web-nginx-rate", web()))]
    memory = own("hpe2016", "memory", make_ours([("sysbench_memory", {})], bandwidth))
    assert not any("lost" in one for one in notes(memory))


def test_what_the_study_had_and_the_results_do_not_is_named():
    rate = own("laine2017", "web-nginx-rate", web(platforms=("native", "qemu-tcg")))
    said = " ".join(notes(rate))

    assert "In the study, but not here: docker; kvm; clients 100; requests 20,000, 30,000, " in said
    assert "Here, but not in the study: qemu-tcg." in said


def test_a_line_that_was_not_planned_to_its_end_says_so():
    ours = web()
    gone = {
        cell.id
        for cell in ours.plan.cells
        if cell.platform == "kvm" and dict(cell.params)["requests"] == 10000
    }
    ours.plan = replace(
        ours.plan, cells=tuple(cell for cell in ours.plan.cells if cell.id not in gone)
    )
    rate = own("laine2017", "web-nginx-rate", ours)

    assert (
        "Not planned here: kvm, clients 50, requests 10,000; kvm, clients 200, requests 10,000."
        in [*notes(rate)]
    )
    assert [
        one for one in notes(own("laine2017", "web-nginx-rate", web())) if "planned" in one
    ] == []


def test_an_emulated_guest_does_not_stand_for_kvm_whatever_it_is_called(monkeypatch):
    monkeypatch.setitem(STACKS, "kvm", "host/qemu-tcg")
    rate = own("laine2017", "web-nginx-rate", web())

    assert {one.series for one in rate.results if not one.is_studied} == {"kvm"}


def test_cells_that_differ_in_something_else_have_lines_of_their_own():
    works = [
        ("web_ab", {"server": "nginx", "clients": 50, "requests": n, "page_bytes": size})
        for n in (5000, 10000)
        for size in (1024, 10240)
    ]
    rate = own("laine2017", "web-nginx-rate", make_ours(works, served, platforms=("native",)))

    assert [*rate.colours] == ["native, page 1 KiB", "native, page 10 KiB"]
    assert len(set(rate.colours.values())) == 2


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_lines_fit_their_width_and_have_colours_for_the_dark(width):
    platforms = ("native", "docker", "kvm", "qemu-tcg", LONG)
    chart = drawn(own("laine2017", "web-nginx-rate", web(with_losses, platforms=platforms)))
    spec = chart.draw(width)
    picture = svg(spec)

    assert float(re.search(r'<svg [^>]*?width="([\d.]+)"', picture)[1]) <= width + 25
    colours = {*re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', picture)}
    assert colours <= theme.DARK.keys()
    assert theme.BAD in colours


# Bars


def metrics_of(cell):
    return workload.kind(cell.workload)(**dict(cell.params)).metrics


def bandwidth(cell, run):
    if cell.platform == "kvm":
        return Status.DNR, "did not end within 60 s"
    rate = 2.0**30 * (2 if cell.platform == "native" else 1)
    return {one.name: rate + run for one in metrics_of(cell)}


def test_bars_are_medians_and_what_has_none_has_words():
    figure = own("hpe2016", "stream", make_ours([("stream", {})], bandwidth))
    spec = drawn(figure).draw(WIDE)
    bars = marks(spec, Rect)

    assert len(bars) == 4 * 2  # four loops, two platforms with numbers
    assert words(spec).count("dnr (did not end within 60 s)") == 4
    assert "here: invented" in words(spec)
    lengths = [one.opposite[0] - one.corner[0] for one in bars[:2]]
    assert lengths[1] == pytest.approx(2 * lengths[0], rel=0.01)
    assert "nothing is compared" in drawn(figure).caption


def test_bars_of_one_platform_have_one_colour():
    works = [("multiuser", {"users": users}) for users in (4, 16)]
    figure = own("hpe2016", "multiuser", make_ours(works, bandwidth))

    assert [*figure.colours] == [
        *("docker, users 4", "docker, users 16", "kvm, users 4"),
        *("kvm, users 16", "native, users 4", "native, users 16"),
    ]
    assert len(set(figure.colours.values())) == 3


# Tables


SIZES = tuple(Limits(cpus=cpus, memory_bytes=cpus * 2**30) for cpus in (1, 4))
PRIMES = ("sysbench_cpu", {"max_prime": 100, "threads": 4, "time_s": 2})


def events(cell, run):
    if cell.platform == "kvm":
        return Status.UNAVAILABLE, "there is no /dev/kvm"
    values = (200.0, 230.0, 210.0, 205.0, 215.0)
    return {"events": values[run] * cell.limits.cpus}


@pytest.fixture
def primes():
    return make_ours([PRIMES], events, platforms=("docker", "kvm"), runs=5, limits=SIZES)


def test_a_table_has_mean_range_and_deviation_by_platform_and_limits(primes):
    figure = own("cole2022", "prime-100-table", primes)
    (table,) = own_tables(figure)
    rows = {row[0]: row[1:] for row in table.rows}
    values = [800.0, 920.0, 840.0, 820.0, 860.0]

    assert drawn(figure) is None
    assert table.columns[:6] == ("platform", "runs", "mean", "min", "max", "sd")
    assert rows["docker, 4 CPUs, 4 GiB"][:6] == (
        *("5", f"{fmean(values):g}", "800", "920", f"{stdev(values):.2f}", "840"),
    )
    assert rows["kvm, 4 CPUs, 4 GiB"] == ("unavailable", *[NONE] * 6)
    said = " ".join(table_notes(figure))
    assert "kvm, 4 CPUs, 4 GiB; kvm, 1 CPU, 1 GiB: unavailable (there is no /dev/kvm)" in said
    assert "In the study, but not here: qemu-tcg 1cpu/1024MiB; " in said
    assert "docker 2cpu/2048MiB" in said
    assert "Here, but not in the study: kvm, 1 CPU, 1 GiB." in said
    assert "Not here as there: time 2, there 30" in said


def test_the_numbers_are_written_as_csv_and_markdown(primes, tmp_path, capsys):
    results = store(primes, tmp_path / "results")
    assert tare("compare", results, "cole2022", "--figures", tmp_path / "out", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    with (tmp_path / "out" / "cole2022-own.csv").open() as file:
        rows = [*csv.DictReader(file)]
    text = (tmp_path / "out" / "cole2022-own.md").read_text()

    assert {str(tmp_path / "out" / f"cole2022-own.{end}") for end in ("csv", "md")} <= {
        *told["figures"]
    }
    by_cell = {(row["platform"], row["cpus"]): row for row in rows}
    assert by_cell["docker", "4"]["mean"] == "848.0"
    assert by_cell["docker", "4"]["runs"] == "5"
    kvm = by_cell["kvm", "4"]
    assert (kvm["mean"], kvm["gap"], kvm["reason"]) == ("", "unavailable", "there is no /dev/kvm")
    assert "| docker, 4 CPUs, 4 GiB | 5 | 848 |" in text.replace("\\", "")
    (json_table,) = [one for one in told["ours_alone"] if one["rows"]]
    assert {row["mean"] for row in json_table["rows"]} == {212.0, 848.0, None}


# The command


def tare(*words):
    return cli.main([*map(str, words)])


def test_the_terminal_has_the_tables(primes, tmp_path, capsys):
    assert tare("compare", store(primes, tmp_path / "results"), "cole2022") == 0
    said = capsys.readouterr().out

    assert "invented alone, in the form of cole2022" in said
    assert re.search(r"docker, 4 CPUs, 4 GiB +5 +848 +800 +920", said)


def test_the_page_has_figure_and_table_and_says_what_is_not_drawn(tmp_path):
    ours = web(with_losses)
    assert (
        tare("compare", store(ours, tmp_path / "r"), "laine2017", "--figures", tmp_path / "out")
        == 0
    )
    page = (tmp_path / "out" / "laine2017.html").read_text()

    assert (tmp_path / "out" / "laine2017-web-nginx-rate.svg").exists()
    assert not (tmp_path / "out" / "laine2017-web-apache-rate.svg").exists()
    section = page[page.index('id="laine2017-web-nginx-rate"') :]
    assert section.index("<svg ") < section.index("<caption>requests a second</caption>")
    assert "web_ab (server apache) is not in these results" in page
    assert 'href="laine2017-own.csv"' in page


def test_a_study_without_results_says_how_to_see_them():
    said = undrawn("laine2017")

    assert "tare compare RESULTS laine2017 --figures DIR" in said
    assert "nginx, time of the test" in said
    assert "web_ab is not in these results" in undrawn(
        "laine2017", own_figures("laine2017", make_ours([PRIMES], events, runs=1))
    )


def test_evil_names_stay_text(tmp_path):
    from tare.present.redrawn.write import write_figures

    ours = web(platforms=("native", HOSTILE))
    ours.plan = replace(ours.plan, study=HOSTILE)
    paths = write_figures("laine2017", tmp_path, ours)

    for path in paths:
        if path.suffix in (".html", ".svg", ".md"):
            assert "<script>a" not in path.read_text(), path.name


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_no_text_of_bars_lies_on_another_or_outside(width):
    works = [("stream", {}), ("sysbench_memory", {}), ("multiuser", {"users": 4})]
    ours = make_ours(works, bandwidth)
    for name in ("stream", "memory", "multiuser"):
        canvas = drawn(own("hpe2016", name, ours)).draw(width)
        assert len(words(canvas)) > 5
        assert_texts_apart(canvas)
