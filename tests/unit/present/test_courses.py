"""What tools told over the time of a trial: read, stored, drawn, and said where it lacks."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from tare.core.completed import Completed
from tare.core.errors import OutputNotUnderstood
from tare.core.model import NO_FACTS, Better, Kind, Metric, MetricRole, Status, Unit
from tare.experiment.probes.series import Series
from tare.present.charts.canvas import Point, Polyline, Text
from tare.present.charts.catalogue import figures
from tare.present.charts.courses import FIGURE_SPACE, MAX_IN_LINE
from tare.present.charts.figure import MAX_POINTS
from tare.present.page.render import PHONE, WIDE, svg
from tare.present.report import describe
from tare.present.view.courses import MAX_OTHERS, chosen, gather
from tare.present.view.sampled_rows import identity
from tare.present.view.theme import BAD, BASELINE, SERIES
from tare.results.compare.result_set import ResultSet
from tare.results.store import load, samples
from tare.work.workloads.sysbench_cpu import Workload as Primes
from unit.drawing import along, assert_drawable, in_lane, lane_share, marks, words
from unit.invented import HOSTILE, LONG
from unit.makers import make_cell, make_plan, make_trial, store, store_samples

RECORDED = Path(__file__).parents[1] / "work/workloads/sysbench_cpu/threads-2.stdout"
PRIMES = {"sysbench_cpu": {"max_prime": 10000, "threads": 2, "time": "3 s"}}

RATE = Metric("throughput", Unit.PER_SECOND, Better.HIGHER)
P50 = Metric("latency_p50", Unit.SECOND, Better.LOWER)
P99 = Metric("latency_p99", Unit.SECOND, Better.LOWER)
JITTER = Metric("jitter", Unit.SECOND, Better.LOWER)
FAILED = Metric("failed", Unit.RATIO, Better.LOWER, MetricRole.FAILED)
METRICS = (RATE, P50, P99, JITTER, FAILED)
COLOURS = (BASELINE, *SERIES)


def course(name, times_s=(), values=(), *, source="work", reason=""):
    return Series(source, name, times_s, values, is_counter=False, reason=reason)


def stored(folder, told, *, metrics=METRICS):
    """Store a study; ``told`` gives by platform the value and the series of each of its trials."""
    cells = [make_cell(name, workload="web") for name in told]
    trials = []
    for cell, name in zip(cells, told, strict=True):
        for block, (value, some) in enumerate(told[name]):
            given = {"samples": {metrics[0].name: value}}
            if isinstance(value, Status):
                given = {"status": value, "reason": "no answer"}
            trials.append((make_trial(cell, block, **given), some))
    store(
        ResultSet(make_plan(*cells, metrics=metrics), [one for one, _ in trials], NO_FACTS), folder
    )
    store_samples(folder, *trials)
    return describe(load(folder))


def line(value=1000.0, seconds=10, name="throughput", **others):
    times_s = tuple(float(second) for second in range(1, seconds + 1))
    values = value if isinstance(value, tuple) else (value,) * seconds
    return course(name, times_s, values, **others)


def courses(found):
    return [one for one in figures(found) if one.name.startswith("course")]


def strong(canvas, lane=0):
    """The strong lines of a lane: pixels from the left, and heights as shares of its lane's."""
    lines = marks(canvas, Polyline, width=2.0, stroke=COLOURS[lane])
    return [points_of(canvas, lane, one) for one in lines if in_lane(canvas, lane, one)]


def thin(canvas, lane=0):
    """The thin lines of a lane."""
    lines = marks(canvas, Polyline, opacity=0.4)
    return [points_of(canvas, lane, one) for one in lines if in_lane(canvas, lane, one)]


def points_of(canvas, lane, one):
    return [(x, lane_share(canvas, lane, y)) for x, y in one.places]


def crosses(canvas):
    """Where the upright bars of crosses are."""
    found = [one.places for one in marks(canvas, Polyline, stroke=BAD)]
    return [places[0] for places in found if places[0][0] == places[1][0]]


def titles(canvas):
    return [one.text for one in marks(canvas, Text, size=13)]


def kept(folder, metric="events"):
    work = [one for one in samples.read(folder) if one.source == "work"]
    return [one for one in work if one.name == metric]


def test_what_a_tool_tells_is_stored_with_its_trial(lab, scripted):
    def plot(instance, verb, argv):
        if verb == "run" and "sysbench" in argv:
            return Completed(argv, 0, RECORDED.read_bytes(), b"", 3.2)
        return None

    scripted.plot = plot
    text = lab.text({"told": {"stack": "host/scripted"}}, workloads=[PRIMES])

    results = lab.run(text)

    some = kept(results.folder)
    told = [float(rate) for rate in re.findall(r"eps: ([\d.]+)", RECORDED.read_text())]
    assert len(some) == len(results.trials)
    for one, trial in zip(some, results.trials, strict=True):
        assert trial.status is Status.OK
        assert one.is_of(trial)
        assert (one.reason, one.is_counter) == ("", False)
        assert list(one.times_s) == [1.0, 2.0]
        assert list(one.values) == told
    assert kept(results.folder, "latency_p95")
    assert trial.resources == {}


@pytest.mark.parametrize("value", [math.inf, math.nan, -1.0])
def test_a_course_that_cannot_be_says_why_and_fails_no_trial(lab, monkeypatch, value):
    wrong = type("Course", (), {"metric": Primes().metrics[0], "times_s": [1.0], "values": [value]})
    monkeypatch.setattr(Primes, "courses", lambda self, output: iter([wrong]))

    results = lab.run(lab.text({"base": {"sim": {}}}, workloads=[PRIMES]))

    assert {trial.status for trial in results.trials} == {Status.OK}
    assert {one.reason for one in kept(results.folder)} == {
        "impossible values over the tool's time"
    }


def test_an_output_without_a_course_says_so_and_fails_no_trial(lab, monkeypatch):
    def courses(self, output):
        raise OutputNotUnderstood("line for each second", output.stdout)

    monkeypatch.setattr(Primes, "courses", courses)

    results = lab.run(lab.text({"base": {"sim": {}}}, workloads=[PRIMES]))

    assert {trial.status for trial in results.trials} == {Status.OK}
    some = kept(results.folder)
    assert len(some) == len(results.trials)
    assert all("no line for each second in the output" in one.reason for one in some)
    assert not any(one.values for one in some)


def test_nothing_told_is_nothing_drawn(tmp_path):
    assert courses(stored(tmp_path / "none", {"host": [(1.0, ())] * 3})) == []
    other = [(1.0, [line(source="host", name="cpu_s")])] * 3
    assert courses(stored(tmp_path / "other", {"host": other})) == []
    why = [(1.0, [course("throughput", reason="no lines")])] * 3
    assert courses(stored(tmp_path / "why", {"host": why})) == []


def test_damaged_samples_are_nothing_drawn(tmp_path):
    found = stored(tmp_path, {"host": [(1.0, [line()])] * 3})
    (file,) = (tmp_path / "samples").iterdir()
    file.write_bytes(b"not Parquet")

    assert courses(found) == []


def test_the_median_is_strong_and_the_others_are_thin_on_one_scale(tmp_path):
    some = [(float(value), [line(float(value))]) for value in (400, 100, 200)]
    found = stored(tmp_path, {"host": some, "host/docker": [(50.0, [line(50.0)])]})

    (figure,) = courses(found)
    canvas = figure.draw(WIDE)

    (host,), (docker,) = strong(canvas, 0), strong(canvas, 1)
    assert {y for _, y in host} == {200 / 400}
    assert {y for _, y in docker} == {50 / 400}
    assert {y for one in thin(canvas) for _, y in one} == {1.0, 100 / 400}
    assert [along(canvas, x, 10) for x, _ in host] == [float(second) for second in range(1, 11)]
    assert titles(canvas) == ["throughput (/s)"]
    texts = words(canvas)
    assert "block 2, slot 0: 200 /s" in texts
    assert "0" in [one.strip(FIGURE_SPACE) for one in texts]  # rates begin at nothing


def test_failures_are_marked_and_no_line(tmp_path):
    shares = course("failed", (1.0, 2.0, 3.0), (0.0, 0.25, 0.0))
    found = stored(tmp_path, {"host": [(5.0, [line(5.0, 3), shares])]})

    (figure,) = courses(found)
    canvas = figure.draw(WIDE)

    ((x, y),) = crosses(canvas)
    assert along(canvas, x, 3) == 2.0
    assert lane_share(canvas, 0, y) > 1
    assert "failed" in figure.caption


def test_failures_after_the_last_answer_are_within_the_axis(tmp_path):
    shares = course("failed", (1.0, 2.0, 3.0, 4.0), (0.0, 0.0, 1.0, 1.0))

    (figure,) = courses(stored(tmp_path, {"host": [(5.0, [line(5.0, 2), shares])]}))
    canvas = figure.draw(WIDE)

    assert [along(canvas, x, 4) for x, _ in crosses(canvas)] == [3.0, 4.0]
    assert "4" in words(canvas)


def test_without_failures_there_is_no_word_of_them(tmp_path):
    shares = course("failed", (1.0, 2.0), (0.0, 0.0))

    (figure,) = courses(stored(tmp_path, {"host": [(5.0, [line(5.0, 2), shares])]}))

    assert "failed" not in figure.caption


def test_a_stall_breaks_the_line_and_a_value_alone_is_a_point(tmp_path):
    stalled = course("latency_p50", (1.0, 2.0, 3.0, 7.0, 12.0, 13.0), (1e-3,) * 6)
    found = stored(tmp_path, {"host": [(5.0, [stalled])]})

    canvas = courses(found)[0].draw(WIDE)

    assert [len(one) for one in strong(canvas)] == [3, 2]
    assert [along(canvas, one.place[0], 13) for one in marks(canvas, Point)] == [7.0]


def test_three_metrics_are_drawn_and_the_fourth_is_named(tmp_path):
    some = [line(5.0), line(1e-3, name="latency_p50"), line(2e-3, name="latency_p99")]
    told = [(5.0, [*some, line(1e-6, name="jitter")])]
    (figure,) = courses(stored(tmp_path, {"host": told}))

    for width in (WIDE, PHONE):
        canvas = figure.draw(width)
        assert titles(canvas) == ["throughput (/s)", "latency_p50 (ms)", "latency_p99 (ms)"]
        tops = {one.place[1] for one in marks(canvas, Text, size=13)}
        assert len(tops) == (1 if width == WIDE else 3)
    assert "Reported but not drawn: jitter." in figure.caption


def test_times_far_apart_are_on_a_logarithmic_axis_that_is_named(tmp_path):
    spike = line((1e-4,) * 9 + (0.9,), name="latency_p99")
    (figure,) = courses(stored(tmp_path, {"host": [(5.0, [spike])]}))

    canvas = figure.draw(WIDE)

    assert "logarithmic" in titles(canvas)[0]
    (line_drawn,) = strong(canvas)
    assert all(0 <= y <= 1 for _, y in line_drawn)


def test_a_platform_of_which_nothing_is_told_keeps_its_lane_and_says_why(tmp_path):
    told = {
        "host": [(5.0, [line(5.0)])],
        "host/docker": [(4.0, [course("throughput", reason="no line for each second")])],
        "host/kvm": [(Status.DNR, ())],
        "host/old": [(4.0, ())],
    }
    (figure,) = courses(stored(tmp_path, told))

    texts = words(figure.draw(WIDE))

    assert {"host/docker", "host/kvm", "host/old"} <= set(texts)
    assert {"no line for each second", "dnr", "not reported"} <= set(texts)
    assert "Of 3 of 4 platforms nothing is drawn" in figure.caption


def test_a_median_without_a_course_is_stood_in_for_by_the_next(tmp_path):
    told = [(1.0, [line(1.0)]), (2.0, ()), (3.0, [line(3.0)])]

    (figure,) = courses(stored(tmp_path, {"host": told}))

    canvas = figure.draw(WIDE)
    assert any(text.startswith("block 0") for text in words(canvas))
    assert len(thin(canvas)) == 1


@pytest.mark.parametrize("count", range(9))
def test_the_chosen_are_the_median_and_both_ends(tmp_path, count):
    found = stored(tmp_path, {"host": [(float(value), ()) for value in range(count)]})
    (cell,) = found.plan.cells

    values = [one.samples["throughput"] for one in chosen(found, cell)]

    assert len(values) == len(set(values)) <= 1 + MAX_OTHERS
    assert values[:1] == ([float((count - 1) // 2)] if count else [])
    assert {0.0, float(count - 1)} <= set(values) or count < 3
    assert len(values) == count or count > MAX_OTHERS


def test_only_files_are_read_again_in_which_a_tool_told_of_a_trial_that_may_be_drawn(tmp_path):
    other = Series("host", "load", (0.0,), (1.0,))
    found = stored(tmp_path, {"host": [(1.0, [line(1.0), other])]})
    (trial,) = found.results.trials
    store_samples(tmp_path, (make_trial(found.plan.cells[0], 1), [other]))
    store_samples(tmp_path, (make_trial(found.plan.cells[0], 2), [line(7.0)]))
    _, second, third = samples.files(tmp_path)

    courses = found.timelines.courses
    for path in (second, third):
        path.write_bytes(b"PAR1 torn")
    told = gather(found, found.groups)

    assert [path.name for path, _ in courses] == ["000000.parquet", "000002.parquet"]
    assert list(told) == [identity(trial)]
    assert set(told[identity(trial)].points) == {"throughput"}


def test_warm_ups_are_not_drawn(tmp_path):
    cell = make_cell("host", workload="web")
    kinds = (Kind.WARMUP, Kind.MEASURED)
    trials = [make_trial(cell, kind=kind, samples={"throughput": 7.0}) for kind in kinds]
    store(ResultSet(make_plan(cell, metrics=METRICS), trials, NO_FACTS), tmp_path)
    store_samples(tmp_path, (trials[0], [line(9.0)]))

    assert courses(describe(load(tmp_path))) == []


def test_long_courses_are_thinned_to_means_and_said_to_be(tmp_path):
    seconds = 5 * MAX_IN_LINE - 3
    values = tuple(float(second % 5) for second in range(seconds))
    told = [(2.0, [line(values, seconds)])] * 9

    (figure,) = courses(stored(tmp_path, {"host": told}))

    canvas = figure.draw(WIDE)
    drawn = [*strong(canvas), *thin(canvas)]
    assert MAX_POINTS / 2 < sum(map(len, drawn)) <= MAX_POINTS
    # All but the last are the mean of 0 to 4, which is the most.
    assert {y for one in drawn for _, y in one[:-1]} == {1.0}
    assert "mean of 5 values" in figure.caption


def full(count):
    """Platforms with long names, a stall, failures, one without numbers and one that told none."""
    names = ["host", "host/docker", LONG, HOSTILE, *(f"host/layer-{n}/inner" for n in range(20))]
    told, rng = {}, np.random.default_rng(1)
    for place, name in enumerate(names[:count]):
        cost = 1 + 0.3 * place
        told[name] = [
            (
                1000 / cost + block,
                [
                    line(tuple(1000 / cost + rng.normal(0, 30, 30)), 30),
                    line(tuple(1e-3 * cost + rng.normal(0, 1e-4, 30)), 30, P50.name),
                    line(tuple(0.2 if s == 12 else 2e-3 for s in range(30)), 30, P99.name),
                    course("failed", (13.0,), (0.1,)),
                ],
            )
            for block in range(8)
        ]
    if count > 5:
        told["host/layer-1/inner"] = [(Status.DNR, ())] * 3
        told["host/layer-2/inner"] = [(900.0, [course("throughput", reason=HOSTILE)])] * 3
    return told


@pytest.mark.parametrize("count", [1, 3, 12])
def test_it_can_be_drawn_at_both_widths_in_colours_that_have_a_dark_one(tmp_path, count):
    (figure,) = courses(stored(tmp_path, full(count)))

    assert_drawable(figure)


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e300])
def test_absurd_values_are_drawn_without_an_error(tmp_path, value):
    told = [(1.0, [line(value), line(value, name="latency_p50")])]

    (figure,) = courses(stored(tmp_path, {"host": told, "host/docker": [(1.0, [line(1.0)])]}))

    assert "NaN" not in svg(figure.draw(WIDE))
