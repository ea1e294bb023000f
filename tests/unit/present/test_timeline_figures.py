"""What samples say over a trial's time: in charts, in the page, and where something is missing."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tare.core.errors import ResultsError
from tare.core.model import NO_FACTS, NO_RUN, Kind, Run, Status
from tare.experiment.probes.series import Series
from tare.present.charts.canvas import Polyline
from tare.present.charts.catalogue import figures
from tare.present.charts.stacks import (
    ALL,
    FILES,
    IDLE,
    INSIDE,
    OTHER,
    REST,
    SYSTEM,
    UNDIVIDED,
    USER,
    WAIT,
    cpu_stack,
    memory_stack,
)
from tare.present.charts.timelines import COLOURS
from tare.present.page.html import Pages
from tare.present.page.render import WIDE, Drawing
from tare.present.page.trials_page import MAX_BYTES, MAX_TRIALS
from tare.present.report import describe
from tare.present.view.sampled_rows import NAMES, Readings, identity
from tare.present.view.threats import threats
from tare.present.view.timeline_texts import MAX_STEPS, bounding
from tare.present.view.timelines import tell
from tare.results.compare.result_set import ResultSet
from tare.results.stats.spans import LEAST_SPAN_S, spans, steps
from tare.results.store import load, samples
from tare.results.store.samples import SCHEMA
from unit.drawing import along, assert_drawable, in_lane, lane_heads, lane_share, marks, words
from unit.invented import HOSTILE, names
from unit.makers import make_cell, make_plan, make_trial, store, store_samples
from unit.present.test_report_page import stored

MIB = 2**20


def series(times_s, **figures):
    """Samples of a trial: a figure is called ``layer_cpu_s``; a text is why it is not there."""
    for key, given in figures.items():
        source, _, name = key.partition("_")
        if isinstance(given, str):
            yield Series(source, name, reason=given)
        else:
            yield Series(source, name, tuple(times_s[: len(given)]), tuple(given))


def busy(times_s=(0.0, 1.0, 2.0), **others):
    """Samples of a trial that keeps half a CPU busy in its first second, and one in its second."""
    last = len(times_s)
    figures = {
        "layer_cpu_s": (10.0, 10.5, 11.5),
        "layer_cpu_user_s": (8.0, 8.25, 9.0),
        "layer_cpu_system_s": (2.0, 2.25, 2.5),
        "layer_memory_bytes": (1 * MIB, 2 * MIB, 1 * MIB),
        "layer_memory_cached_bytes": (MIB // 2, MIB, MIB // 4),
        "host_cpu_user_s": (100.0, 101.0, 101.5),
        "host_cpu_system_s": (50.0, 50.0, 50.75),
        "host_cpu_guest_s": (0.0, 0.0, 0.0),
        "host_cpu_iowait_s": (5.0, 5.25, 5.25),
        "host_cpu_steal_s": (1.0, 1.0, 1.5),
        "host_memory_used_bytes": (2**30, 2**30, 3 * 2**29),
    }
    cut = {name: values[:last] for name, values in figures.items()}
    return tuple(series(times_s, **cut | others))


def results_of(folder, told, plan=None):
    """Store trials, each with its samples (None: it has none), and load the results."""
    cells = list(dict.fromkeys(one.cell for one, _ in told))
    assert set(cells) <= {one.id for one in plan.cells}
    store(ResultSet(plan, [one for one, _ in told], NO_FACTS), folder)
    store_samples(folder, *told)
    return load(folder)


def study(folder, platforms=("host", "host/docker"), some=busy, blocks=3):
    """A study whose trials have all the same samples; those of a higher block took longer."""
    cells = [make_cell(name) for name in platforms]
    told = [
        (make_trial(cell, block, slot=slot, duration_s=2.0 + block, samples={"time": 1.0}), some())
        for block in range(blocks)
        for slot, cell in enumerate(cells)
    ]
    return results_of(folder, told, make_plan(*cells))


def drawn(found):
    return {one.name: one for one in figures(found) if one.name.startswith(("cpu", "memory"))}


def areas(figure, kind, lane=0, lasted=2.0):
    """The top of one area: times, and heights as shares of its lane's."""
    canvas = figure.draw(WIDE)
    found = [
        one for one in marks(canvas, Polyline, fill=COLOURS[kind]) if in_lane(canvas, lane, one)
    ]
    half = [one.places[: len(one.places) // 2] for one in found]
    return [
        (along(canvas, x, lasted), lane_share(canvas, lane, y))
        for places in half
        for x, y in places
    ]


def notes(figure, width=WIDE):
    """What stands below the names of the lanes."""
    return [note.text for _, note in lane_heads(figure.draw(width))]


def text_of(found, trial):
    return found.timelines.texts[identity(trial)]


def read(some):
    """What is read of the samples of one trial, by figure."""
    return {
        (one.source, one.name): Readings(np.array(one.times_s), np.array(one.values), one.reason)
        for one in some
        if (one.source, one.name) in NAMES
    }


# ---- which readings


def test_steps_reach_from_the_first_reading_to_the_last():
    assert steps([0.0, 1.0, 2.0], 30) == [0, 1, 2]
    assert steps([0.0, 1.0, 1.02], 30) == [0, 2]
    assert steps([0.0, 0.02, 0.06, 0.1, 0.12], 30) == spans([0.0, 0.02, 0.06, 0.1, 0.12])
    assert steps([0.0, 0.04], 30) == [0]
    assert steps([0.0], 30) == [0]


@pytest.mark.parametrize("count", [31, 32, 59, 61, 100, 1000])
def test_of_many_readings_no_more_steps_are_made_than_asked_for(count):
    marks = steps([float(place) for place in range(count)], 30)
    assert (marks[0], marks[-1]) == (0, count - 1)
    assert 15 <= len(marks) - 1 <= 30
    times_s = [place / 100 for place in range(count)]
    assert all(
        times_s[end] - times_s[begin] >= LEAST_SPAN_S
        for begin, end in zip(marks, steps(times_s, 30)[1:], strict=False)
    )


# ---- the reader


def test_a_file_is_read_by_columns(tmp_path):
    study(tmp_path, blocks=1)
    (path,) = samples.files(tmp_path)
    rows = samples.table(path).to_pylist()
    assert rows == pq.read_table(path).to_pylist()


def test_a_damaged_file_is_an_error_by_columns_too(tmp_path):
    study(tmp_path)
    path = tmp_path / "samples/000000.parquet"
    row = pq.read_table(path).to_pylist()[0]
    pq.write_table(pa.Table.from_pylist([row | {"value": [1.0]}], SCHEMA), path)
    with pytest.raises(ResultsError, match="more times than values"):
        samples.table(path)
    pq.write_table(pa.Table.from_pylist([{"source": "layer"}]), path)
    with pytest.raises(ResultsError, match="of another format"):
        samples.table(path)
    path.write_bytes(b"PAR1 torn")
    with pytest.raises(ResultsError, match=f"{path} is damaged"):
        samples.table(path)
    with pytest.raises(ResultsError, match="has no samples"):
        samples.files(tmp_path / "samples")


# ---- what is kept of every trial


def test_a_trial_is_rates_between_readings_and_memory_at_them(tmp_path):
    results = study(tmp_path)
    found = describe(results)
    assert len(found.timelines.texts) == len(results.trials)
    for trial in results.trials:
        # Host: user and system together, 1.0 and 1.25 CPUs.
        assert text_of(found, trial) == "2000|0,500,1000|50,100|100,125|2048|500,1000,500"


@pytest.mark.parametrize(
    ("others", "text"),
    [
        ({"layer_cpu_s": "no group"}, "2000|0,500,1000|,|100,125|2048|500,1000,500"),
        ({"host_cpu_guest_s": "no such field"}, "2000|0,500,1000|50,100|,|2048|500,1000,500"),
        ({"layer_memory_bytes": "no group"}, "2000|0,500,1000|50,100|100,125||,,"),
        ({"layer_cpu_s": (1.0, 2.0)}, "2000|0,500,1000|100,|100,125|2048|500,1000,500"),
        ({"layer_cpu_s": (2.0, 1.0, 1.5)}, "2000|0,500,1000|0,50|100,125|2048|500,1000,500"),
        (
            {"layer_cpu_s": (0.0, float("inf"), 1.0)},
            "2000|0,500,1000|,0|100,125|2048|500,1000,500",
        ),
        (
            {"layer_memory_bytes": (float("nan"), MIB, 0.0)},
            "2000|0,500,1000|50,100|100,125|1024|,1000,0",
        ),
    ],
)
def test_what_is_not_known_is_empty_and_no_zero(tmp_path, others, text):
    results = study(tmp_path, some=lambda: busy(**others))
    assert text_of(describe(results), results.trials[-1]) == text


def test_trials_of_different_lengths_in_one_file_stay_apart(tmp_path):
    cell = make_cell("host")
    trials = [make_trial(cell, block, duration_s=1.0) for block in range(4)]
    told = [
        (trials[0], busy((0.0, 1.0))),
        (trials[1], busy((0.0, 0.02))),
        (trials[2], tuple(series((), layer_cpu_s="gone", host_cpu_user_s="gone"))),
        (trials[3], busy((0.0, 0.5, 2.0))),
    ]
    found = describe(results_of(tmp_path, told, make_plan(cell)))
    assert [text_of(found, one) for one in trials] == [
        "1000|0,1000|50|100|2048|500,1000",
        "",
        "",
        "2000|0,250,1000|100,67|200,83|2048|500,1000,500",
    ]


def test_trials_of_one_slot_are_told_apart(tmp_path):
    cell = make_cell("host")
    trial = make_trial(cell, duration_s=1.0)
    told = [
        (replace(trial, kind=Kind.WARMUP), busy((0.0, 4.0, 8.0))),
        (trial, busy((0.0, 2.0, 4.0))),
        (replace(trial, repeat=1), busy()),
    ]
    found = describe(results_of(tmp_path, told, make_plan(cell)))
    assert [text_of(found, one).split("|")[0] for one, _ in told] == ["8000", "4000", "2000"]


def many(count, cpus=1.0, hold=MIB):
    """Samples of a trial with so many readings, one a second."""
    times_s = [float(place) for place in range(count)]
    grown = [cpus * place for place in times_s]
    names = ("layer_cpu_s", "host_cpu_user_s", "host_cpu_system_s", "host_cpu_guest_s")
    return tuple(series(times_s, **dict.fromkeys(names, grown), layer_memory_bytes=[hold] * count))


def test_a_long_trial_is_at_most_so_many_steps_and_keeps_its_peak(tmp_path):
    cell = make_cell("host")
    held = [float(MIB)] * 1000
    held[777] = 64.0 * MIB
    some = [
        replace(one, values=tuple(held)) if one.name == "memory_bytes" else one
        for one in many(1000)
    ]
    trial = make_trial(cell, duration_s=999.0)
    found = describe(results_of(tmp_path, [(trial, some)], make_plan(cell)))
    _, when, layer, _, most, memory = text_of(found, trial).split("|")
    assert 15 <= len(when.split(",")) - 1 <= MAX_STEPS
    assert set(layer.split(",")) == {"100"}
    assert int(most) == 64 * 1024
    assert max(map(int, memory.split(","))) == 1000
    (picture,) = [one for name, one in drawn(found).items() if name == "memory-01"]
    assert max(top for _, top in areas(picture, UNDIVIDED)) == pytest.approx(64 / 100)


def test_ten_thousand_long_trials_fit_into_the_page(tmp_path):
    cell = make_cell("host")
    trial = make_trial(cell, duration_s=31.0)
    some = many(MAX_STEPS + 1, cpus=32.0, hold=2**40)
    found = describe(results_of(tmp_path, [(trial, some)], make_plan(cell)))
    assert text_of(found, trial).count(",") > 4 * (MAX_STEPS - 2)
    assert len(text_of(found, trial)) * MAX_TRIALS < 0.66 * MAX_BYTES


def test_results_without_samples_have_no_timelines_and_no_threat(tmp_path):
    cell = make_cell("host")
    trial = make_trial(cell, samples={"time": 1.0}, duration_s=1.0)
    store(ResultSet(make_plan(cell), [trial], NO_FACTS), tmp_path)
    found = describe(load(tmp_path))
    assert drawn(found) == {}
    assert found.timelines.texts == {}
    assert not any("timeline" in one for one in threats(found))


def test_damaged_samples_are_one_threat_and_no_crash(tmp_path):
    results = study(tmp_path)
    path = tmp_path / "samples/000000.parquet"
    path.write_bytes(path.read_bytes()[:-7])
    found = describe(results)
    assert drawn(found) == {}
    (said,) = [one for one in threats(found) if "imeline" in one]
    assert said.startswith(f"Timelines are not drawn of all trials: {path} is damaged")
    assert "Timelines are not drawn of all trials" in Pages(found).report({})


def test_one_damaged_file_takes_no_timeline_of_the_others_away(tmp_path):
    results = study(tmp_path)
    (path,) = samples.files(tmp_path)
    whole = describe(results).timelines
    pq.write_table(pq.read_table(path), tmp_path / "samples/000001.parquet")
    path.write_bytes(b"PAR1 torn")
    found = describe(results).timelines
    assert (found.texts, found.typical.keys()) == (whole.texts, whole.typical.keys())
    assert f"{path} is damaged" in found.damage


def test_every_text_is_of_its_own_trial_over_many_files(tmp_path, monkeypatch):
    cell = make_cell("host")
    blocks = range(7)
    told = [
        (make_trial(cell, block, samples={"time": 1.0}), busy((0.0, 1.0 + block, 2.0 + block)))
        for block in blocks
    ]
    results = results_of(tmp_path, told[:1], make_plan(cell))
    for one in told[1:]:
        store_samples(tmp_path, one)  # a file each, as that of a session of its own
    (tmp_path / "samples/000003.parquet").write_bytes(b"PAR1 torn")
    monkeypatch.setattr("tare.present.view.timelines._READINGS", 2 * 3 * 5)  # two files at once
    found = tell(results.folder)
    assert [path.name[5] for path, _ in found.files] == list("012456")
    assert [who[1] for _, whose in found.files for who in whose] == [0, 1, 2, 4, 5, 6]
    assert [int(text.split("|")[0]) for text in found.texts] == [2000, 3000, 4000, 6000, 7000, 8000]
    assert found.courses == []
    assert "000003.parquet is damaged" in found.damage


@pytest.mark.parametrize("stop", ["", "the budget is spent"])
def test_trials_that_came_while_a_report_was_made_have_their_timelines(tmp_path, stop):
    cell = make_cell("host")
    told = [(make_trial(cell, block, samples={"time": 1.0}), busy()) for block in range(7)]
    results = results_of(tmp_path, told[:2], make_plan(cell))
    store_samples(tmp_path, *told[2:4])
    before = tell(tmp_path)
    session = samples.Samples(tmp_path)
    session._number = 1  # the session of the second file goes on in it
    for one in told[2:6]:
        session.add(*one)
    session.close()
    store_samples(tmp_path, told[6])
    results = replace(results, trials=tuple(one for one, _ in told), run=Run(stop=stop))

    found = replace(describe(results), read_texts=lambda: before).timelines
    assert {who[1] for who in found.texts} == set(range(4 if stop else 7))
    assert all(found.texts.values())
    assert found.typical[cell.id].trial.block in range(7)
    assert found.damage == ""
    if not stop:
        assert found.texts == describe(results).timelines.texts


def test_the_first_trials_that_came_while_a_report_was_made_have_their_timelines(tmp_path):
    before = tell(tmp_path)
    results = replace(study(tmp_path), run=NO_RUN)
    found = replace(describe(results), read_texts=lambda: before).timelines
    assert found.texts == describe(results).timelines.texts
    assert len(found.texts) == len(results.trials)


def test_steps_of_many_trials_at_once_are_those_of_each():
    rng = np.random.default_rng(5)
    some = [
        np.cumsum(rng.choice([0.0, 0.02, 0.05, 0.050000001, 0.3, 2.0], count))
        for count in (1, 2, 3, 3, 30, 31, 32, 61, 1000, 2, 1)
        for _ in range(20)
    ]
    ends = np.cumsum([len(one) for one in some])
    begins = ends - [len(one) for one in some]
    expected = [
        begin + at
        for begin, one in zip(begins, some, strict=True)
        for at in steps(one.tolist(), MAX_STEPS)
    ]
    assert bounding(np.concatenate(some), begins, ends).tolist() == expected


def test_a_typical_trial_is_read_when_it_is_asked_for(tmp_path):
    results = study(tmp_path)
    found = describe(results).timelines
    (path,) = samples.files(tmp_path)
    cells = [one.id for one in results.plan.cells]
    assert list(found.typical) == cells
    assert len(found.typical) == len(cells)
    path.write_bytes(b"PAR1 torn")
    assert cells[0] in found.typical
    with pytest.raises(ResultsError, match="is damaged"):
        found.typical[cells[0]]


# ---- what is stacked


def test_the_host_is_stacked_upon_the_layer():
    stack = cpu_stack(read(busy()))
    assert stack.times_s == [0.0, 1.0, 2.0]
    assert stack.heights == {
        USER: [0.25, 0.75],
        SYSTEM: [0.25, 0.25],
        REST: [0.5, 0.25],
        WAIT: [0.25, 0.0],
        "stolen": [0.0, 0.5],
    }
    assert stack.most == 1.75


def test_a_layer_that_counts_finer_than_the_host_leaves_no_negative_rest():
    stack = cpu_stack(read(busy(layer_cpu_user_s=(0.0, 1.2, 1.4))))
    assert stack.heights[REST] == [0.0, pytest.approx(0.8)]


@pytest.mark.parametrize(
    ("lacking", "kinds"),
    [
        (["layer_cpu_user_s"], {UNDIVIDED, REST, *IDLE}),
        (["layer_cpu_user_s", "layer_cpu_s"], {ALL, *IDLE}),
        (["host_cpu_guest_s"], {USER, SYSTEM, *IDLE}),
        (["host_cpu_steal_s"], {USER, SYSTEM, REST, WAIT}),
    ],
)
def test_what_is_not_told_is_not_stacked(lacking, kinds):
    stack = cpu_stack(read(busy(**dict.fromkeys(lacking, "not here"))))
    assert stack.heights.keys() == kinds


def test_a_series_that_ends_early_ends_the_stack():
    stack = cpu_stack(read(busy(layer_cpu_s=(1.0, 2.0))))
    assert stack.times_s == [0.0, 1.0]
    assert stack.heights[USER] == [0.25]


def test_there_is_no_rate_without_two_readings_apart():
    assert cpu_stack({}) is None
    assert cpu_stack(read(busy((0.0,)))) is None
    assert cpu_stack(read(busy((0.0, 0.04)))) is None
    assert cpu_stack(read(busy((0.0, 0.06)))).times_s == [0.0, 0.06]


def test_memory_of_files_is_never_more_than_all_of_it():
    stack = memory_stack(read(busy(layer_memory_cached_bytes=(0.0, 4.0 * MIB, 0.0))))
    assert stack.heights[FILES] == [0.0, 2.0 * MIB, 0.0]
    assert stack.heights[OTHER] == [MIB, 0.0, MIB]
    assert memory_stack(read(busy(layer_memory_bytes="gone"))) is None
    whole = memory_stack(read(busy(layer_memory_cached_bytes="gone")))
    assert whole.heights == {UNDIVIDED: [MIB, 2 * MIB, MIB]}


# ---- the charts


def test_the_trial_nearest_to_the_median_is_drawn_and_named(tmp_path):
    cells = [make_cell("host"), make_cell("host/docker")]
    durations = {0: 9.0, 1: 2.0, 2: 3.1, 3: 2.9, 4: 3.05}
    told = [
        (make_trial(cell, block, slot=7, duration_s=duration), busy())
        for cell in cells
        for block, duration in durations.items()
    ]
    found = describe(results_of(tmp_path, told, make_plan(*cells)))
    assert notes(drawn(found)["cpu-01"]) == 2 * ["block 4, slot 7, 3.0 s"]
    assert notes(drawn(found)["memory-01"])[0] == "block 4, slot 7, 3.0 s; host used 1 to 1.50 GiB"


def test_a_trial_without_samples_gives_way_to_the_next(tmp_path):
    cell = make_cell("host")
    told = [(make_trial(cell, block, duration_s=1.0 + block), busy()) for block in range(3)]
    told[1] = (told[1][0], None)
    found = describe(results_of(tmp_path, told, make_plan(cell)))
    assert notes(drawn(found)["cpu-01"])[0].startswith("block 0")


def test_all_platforms_have_one_scale_that_begins_at_0(tmp_path):
    cells = [make_cell("host"), make_cell("host/docker")]
    slow = busy((0.0, 4.0, 8.0))
    told = [
        (make_trial(cells[0], duration_s=2.0), busy()),
        (make_trial(cells[1], duration_s=8.0), slow),
    ]
    found = describe(results_of(tmp_path, told, make_plan(*cells)))
    picture = drawn(found)["cpu-01"]
    # The axis ends at 2 CPUs.
    low, high = 0.125, 0.375
    assert areas(picture, USER, 0, 8.0) == [(0, low), (1, low), (1, high), (2, high)]
    low, high = pytest.approx(0.0312, abs=1e-3), pytest.approx(0.0938, abs=1e-3)
    assert areas(picture, USER, 1, 8.0) == [(0, low), (4, low), (4, high), (8, high)]
    texts = words(picture.draw(WIDE))
    assert [one for one in ("0", "1", "2 CPUs", "8") if one not in texts] == []


def test_a_platform_without_numbers_or_without_samples_says_so(tmp_path):
    names = ("host", "host/qemu", "host/kvm", "ssh", "host/none")
    cells = [make_cell(name) for name in names]
    told = [
        (make_trial(cells[0], duration_s=2.0), busy()),
        (make_trial(cells[1], 2, status=Status.DNR, duration_s=60.0), busy()),
        (make_trial(cells[2], status=Status.UNAVAILABLE, reason="no /dev/kvm"), None),
        (make_trial(cells[3], duration_s=1.0), None),
    ]
    found = describe(results_of(tmp_path, told, make_plan(*cells)))
    assert notes(drawn(found)["cpu-01"]) == [
        "block 0, slot 0, 2 s",
        "dnr: block 2, slot 0, 1 min 0 s",
        "unavailable: no samples",
        "no samples of its trials",
        "not run: no samples",
    ]


def test_what_a_host_does_not_tell_is_in_the_caption(tmp_path):
    cells = [make_cell("host"), make_cell("host/docker")]
    told = [
        (make_trial(cells[0], duration_s=2.0), busy(host_cpu_steal_s="not here: /proc/stat")),
        (
            make_trial(cells[1], duration_s=2.0),
            busy(host_cpu_steal_s="not here", layer_memory_cached_bytes=HOSTILE),
        ),
    ]
    found = describe(results_of(tmp_path, told, make_plan(*cells)))
    both = drawn(found)
    assert both["cpu-01"].caption.endswith("Not reported: stolen time (not here: /proc/stat).")
    assert f"on host/docker: what of it is of files ({HOSTILE})" in both["memory-01"].caption
    text = Pages(found).report({name: Drawing(one, "", "") for name, one in both.items()})
    assert HOSTILE not in text
    assert "CPU time over a trial" in text


@pytest.mark.parametrize("count", [1, 3, 12])
def test_timelines_can_be_drawn_at_both_widths_in_colours_that_have_a_dark_one(tmp_path, count):
    found = describe(study(tmp_path, names(count)))
    assert list(drawn(found)) == ["cpu-01", "memory-01"]
    for figure in drawn(found).values():
        assert_drawable(figure)


# ---- the page


def timelines(text):
    _, trials = stored(text)
    return [one["timeline"] for one in trials]


def test_every_trial_of_the_page_has_its_timeline(tmp_path):
    results = study(tmp_path)
    expected = ["2000|0,500,1000|50,100|100,125|2048|500,1000,500"] * len(results.trials)
    assert timelines(Pages(describe(results)).report({})) == expected


def test_pages_beside_the_page_have_them_too(tmp_path, monkeypatch):
    monkeypatch.setattr("tare.present.page.trials_page.MAX_TRIALS", 3)
    beside = list(Pages(describe(study(tmp_path))).of_trials())
    assert len(beside) == 2
    for _, text in beside:
        assert timelines(text) == ["2000|0,500,1000|50,100|100,125|2048|500,1000,500"] * 3


def inside(figure):
    """The line of the machine inside: when and how high, of a lane's height."""
    canvas = figure.draw(WIDE)
    return [
        (along(canvas, x, 2.0), lane_share(canvas, 0, y))
        for one in marks(canvas, Polyline, stroke=COLOURS[INSIDE], width=2)
        for x, y in one.places
    ]


def test_what_a_machine_says_of_itself_is_a_line_over_what_its_layer_took(tmp_path):
    machine = {
        "machine_cpu_user_s": (5.0, 5.0, 6.0),
        "machine_cpu_system_s": (1.0, 1.0, 1.5),
        "machine_cpu_guest_s": (0.0, 0.0, 0.0),
        "machine_memory_used_bytes": (MIB, MIB, 2 * MIB),
    }
    found = describe(study(tmp_path, platforms=("host",), some=lambda: busy(**machine)))
    cpu, memory = drawn(found).values()
    # Idle is a line too, at 0.
    assert inside(cpu) == [(0, 0), (1, 0), (1, 0.75), (2, 0.75)]
    assert inside(memory)[-1][1] > inside(memory)[0][1]
    assert all("machine inside" in one.caption for one in (cpu, memory))


def test_a_stack_without_a_kernel_of_its_own_has_no_line_and_lacks_none(tmp_path):
    cpu, memory = drawn(describe(study(tmp_path))).values()
    assert not inside(cpu) + inside(memory)
    assert "inside" not in cpu.caption + memory.caption


def test_why_a_machine_does_not_tell_is_in_the_caption(tmp_path):
    gone = {f"machine_{name}": "it has no perl" for name in ("cpu_user_s", "memory_used_bytes")}
    cpu, memory = drawn(describe(study(tmp_path, some=lambda: busy(**gone)))).values()
    assert "the kernel inside (it has no perl)" in cpu.caption
    assert "the kernel inside (it has no perl)" in memory.caption
