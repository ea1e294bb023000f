"""Who took what a workload and its neighbour contend for, over the time of a trial."""

from dataclasses import replace

import pytest

from tare.core.model import NO_FACTS, Neighbour, Part, Status, neighbour_of
from tare.core.model.reservation import given
from tare.experiment.probes.series import Series
from tare.present.charts.canvas import Polyline
from tare.present.charts.catalogue import figures
from tare.present.charts.starved import COLOURS, NEIGHBOUR, WORKLOAD
from tare.present.export.markdown import markdown
from tare.present.report import describe
from tare.results.compare.result_set import ResultSet
from tare.results.store import load
from unit.disturbed import disturbed
from unit.drawing import assert_drawable, assert_texts_apart, marks, words
from unit.makers import store, store_samples

FREE = Neighbour(stressor="cpu", level=1.0)
HELD = replace(FREE, reservation=given({"cpus": 0.25}))
DISK = Neighbour(stressor="disk", level=1.0)


def parts_of(trial, neighbour):
    """Give a trial its parts: the command, and the neighbour's instances."""
    took = {"layer_cpu_s": 0.5, "layer_disk_read_bytes": 1e6, "layer_disk_written_bytes": 1e6}
    names = ("command", *(neighbour.parts if neighbour else ()))
    parts = tuple(
        Part(
            name=name,
            instance=f"{trial.instance}-{name}",
            status=Status.OK,
            duration_s=1.0,
            resources=took,
        )
        for name in names
    )
    return replace(trial, instance=parts[0].instance, parts=parts)


def read(*cpu_s, begin_s=0.0):
    """What was read of an instance each second: its CPU time, and half a MB a second of disk."""
    times_s = tuple(begin_s + at for at in range(len(cpu_s)))
    disk = tuple(5e5 * at for at in range(len(cpu_s)))
    return [
        Series("layer", "cpu_s", times_s, cpu_s),
        Series("layer", "disk_read_bytes", times_s, disk),
        Series("layer", "disk_written_bytes", times_s, disk),
    ]


def found_in(folder, neighbours=(FREE, HELD), missing=(), platforms=("host",)):
    """A study whose workload gets a half and then all of a CPU; its neighbour gets the rest."""
    costs = {platform: dict.fromkeys(neighbours, 2.0) for platform in platforms}
    results = disturbed(costs, blocks=3, change=parts_of)
    store(ResultSet(results.plan, results.trials, NO_FACTS), folder)
    cells = {cell.id: neighbour_of(cell.params) for cell in results.plan.cells}
    told = []
    for trial in results.trials:
        for part in trial.parts:
            is_own = part.name == "command"
            series = read(0.0, 0.5, 1.5) if is_own else read(3.0, 3.5, 3.5)
            skipped = not is_own and cells[trial.cell] in missing
            told.append((replace(trial, instance=part.instance), [] if skipped else series))
    store_samples(folder, *told)
    return describe(load(folder))


def starved(found):
    return [one for one in figures(found) if one.name.startswith("starved")]


def heights(canvas, kind):
    """How high the areas of a side are above their own feet at most, in pixels."""
    found = []
    for one in marks(canvas, Polyline, fill=COLOURS[kind]):
        top = one.places[: len(one.places) // 2]
        foot = list(reversed(one.places[len(one.places) // 2 :]))
        found.append([round(low[1] - up[1], 1) for up, low in zip(top, foot, strict=True)])
    return found


def test_both_sides_lie_upon_each_other_without_and_with_a_reservation(tmp_path):
    (one,) = starved(found_in(tmp_path / "results"))
    assert_drawable(one)
    assert one.title == "spin: who took the CPU time"
    canvas = one.draw(940)
    assert_texts_apart(canvas)

    said = words(canvas)
    assert "neighbour not held" in said
    assert "neighbour held by a reservation" in said
    assert any(text.startswith("held to 0.25 CPUs; block") for text in said)
    for ours, theirs in zip(heights(canvas, WORKLOAD), heights(canvas, NEIGHBOUR), strict=True):
        assert ours[0] == pytest.approx(ours[-1] / 2, abs=0.2)
        assert theirs[0] == pytest.approx(ours[0], abs=0.2)
        assert theirs[-1] == 0
    assert len(heights(canvas, WORKLOAD)) == 2
    assert marks(canvas, Polyline, dash="4 3")


def test_a_phone_has_the_columns_below_each_other(tmp_path):
    (one,) = starved(found_in(tmp_path / "results", platforms=("host", "host/docker")))
    wide, narrow = one.draw(940), one.draw(350)
    assert_texts_apart(narrow)
    assert narrow.height > 1.5 * wide.height


def test_each_thing_that_is_contended_for_has_a_figure(tmp_path):
    cpu, disk = starved(found_in(tmp_path / "results", neighbours=(FREE, DISK)))
    assert disk.title == "spin: who took the disk traffic"
    assert not [text for text in words(disk.draw(940)) if text.startswith("neighbour not held")]
    assert "MiB/s" in " ".join(words(disk.draw(940)))
    assert "CPUs" in " ".join(words(cpu.draw(940)))


def test_what_was_not_read_of_both_sides_is_said(tmp_path):
    (one,) = starved(found_in(tmp_path / "some", missing=(HELD,)))
    assert len(heights(one.draw(940), NEIGHBOUR)) == 1
    assert "Not read of both sides" not in one.caption  # of one of the two it was
    assert starved(found_in(tmp_path / "none", missing=(FREE, HELD))) == []


def test_a_lane_of_which_nothing_was_read_is_named_and_takes_no_room(tmp_path):
    memory = Neighbour(stressor="memory")
    (one,) = starved(found_in(tmp_path / "some", neighbours=(FREE, memory), missing=(memory,)))
    said = words(one.draw(940))
    assert "host, next to cpu at level 100 %" in said
    assert not [text for text in said if "memory" in text]
    assert "Not read of both sides: host, next to memory" in one.caption


def test_each_neighbour_has_its_own_reservation_in_the_second_column(tmp_path):
    sender = Neighbour(stressor="net_send", level=1.0)
    held = replace(sender, reservation=given({"network_out_bytes_per_s": 1_000_000}))
    (one,) = starved(found_in(tmp_path / "results", neighbours=(FREE, HELD, sender, held)))
    canvas = one.draw(940)
    assert len([text for text in words(canvas) if text.startswith("held to")]) == 2
    assert len(heights(canvas, WORKLOAD)) == 4
    assert "Nothing counts the bytes of a network by group" in one.caption


def test_what_both_sides_took_is_a_table_in_markdown(tmp_path):
    text = markdown(found_in(tmp_path / "results"))
    assert "Who took it" in text
    assert "0.50 CPUs" in text
