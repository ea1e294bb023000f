"""CPU and memory on the live page: from files of samples to coordinates."""

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from importlib.resources import files

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tare.experiment.probes.series import Series
from tare.present.charts.canvas import Polyline
from tare.present.live import samples
from tare.present.live.drawings import COLOURS, colour
from tare.present.live.resource_usage import FINEST, LAYER_CPU, LEAST_SPAN_S, Track, resource_usage
from tare.present.live.resources import resources
from tare.present.live.samples import MAX_TRIALS, SampledUsage, SampledUsageReader
from tare.present.view.theme import INK
from tare.results.store.samples import TRIALS_A_FILE, Samples
from unit.drawing import marks
from unit.makers import make_trial, store_samples

BEGIN = datetime(2026, 1, 2, tzinfo=UTC).timestamp()
GIB = 2.0**30


def a_trial(number, cell="c", **others):
    """Make the trial of this number: they begin every ten seconds and take two."""
    at = datetime.fromtimestamp(BEGIN + 10 * number, UTC).isoformat(timespec="milliseconds")
    given = {"instance": "aaa-1", "duration_s": 2.0, "started_at": at}
    return make_trial(cell, number, **given | others)


def used(layer=1.0, host=1.25, memory=GIB, times_s=(0.0, 1.0, 2.0)):
    """Make what is read while so many CPUs are busy; half of the host's is the system's."""
    counted = {
        ("layer", "cpu_s"): [5 + layer * at for at in times_s],
        ("layer", "cpu_user_s"): [9.0 for _ in times_s],
        ("host", "cpu_user_s"): [100 + host * at / 2 for at in times_s],
        ("host", "cpu_system_s"): [50 + host * at / 2 for at in times_s],
        ("host", "cpu_guest_s"): [7.0 for _ in times_s],
        ("host", "cpu_idle_s"): [1000 + at for at in times_s],
    }
    held = Series("layer", "memory_bytes", times_s, (memory,) * len(times_s), is_counter=False)
    return [*(Series(*key, times_s, tuple(values)) for key, values in counted.items()), held]


def trials_of(canvas):
    return [one for one in marks(canvas, Polyline) if one.tip]


def areas(canvas):
    return [one.places for one in trials_of(canvas) if one.fill != "none"]


def drawn(folder, trials, platforms=None):
    known = platforms or {"c": "host", "d": "slow"}
    read = SampledUsageReader(folder, folder).look()
    return resources(trials, known, dict.fromkeys(known, "work"), read)


def test_busy_cpus_are_stairs_and_memory_is_a_line(tmp_path):
    trials = [a_trial(0), a_trial(1, "d", duration_s=10.0)]
    store_samples(tmp_path, (trials[0], used(2.0, 2.5, GIB)), (trials[1], used(0.5, 4.0, GIB / 4)))

    seen = drawn(tmp_path, trials)

    # 20 s over 1000: the first trial is from 0 to 100. CPUs from 0 to 4, memory to 1 GiB.
    host, slow = seen.courses
    assert (seen.cpu_top, seen.memory_top) == ("4 CPUs", "1 GiB")
    assert areas(host.cpu)[0] == [(0, 40), (0, 20), (50, 20), (50, 20), (100, 20), (100, 40)]
    (line,) = marks(host.cpu, Polyline, stroke=INK)
    assert line.places == [(0, 15), (50, 15), (50, 15), (100, 15)]
    assert areas(host.memory) == [[(0, 40), (0, 0), (50, 0), (100, 0), (100, 40)]]
    assert areas(slow.cpu)[0][:3] == [(500, 40), (500, 35), (550, 35)]
    assert areas(slow.memory)[0][:2] == [(500, 40), (500, 30)]
    assert [round(at.timestamp() - BEGIN) for at in seen.times] == [0, 10, 20]
    assert host.said == "layer 2, host 2.50 CPUs; 1 GiB at most"
    assert line.tip == "block 0, work: layer 2, host 2.50 CPUs"
    assert trials_of(slow.memory)[0].tip == "block 1, work: 256 MiB at most"


def test_platforms_have_their_lanes_though_nothing_is_there(tmp_path):
    trials = [a_trial(0), a_trial(1, "d")]
    store_samples(tmp_path, (trials[0], used()))
    host, slow, other = drawn(tmp_path, trials, {"c": "host", "d": "slow", "e": "other"}).courses

    assert areas(host.cpu)
    assert slow.said == "nothing was read of its last trials"
    assert other.said == "none of these trials"
    assert [host.colour, slow.colour, other.colour] == [0, 1, 2]


def test_what_waits_to_be_stored_is_told_from_what_was_never_read(tmp_path):
    trials = [a_trial(number) for number in range(5)]
    store_samples(tmp_path, (trials[0], used()), (trials[2], used()))
    seen = drawn(tmp_path, trials)

    assert (seen.shown, seen.unread, seen.waiting) == (5, 1, 2)


def test_nothing_is_drawn_before_the_first_reading(tmp_path):
    assert drawn(tmp_path, []) is None
    assert drawn(tmp_path, [a_trial(0)]) is None
    store_samples(tmp_path, (a_trial(0), used()))
    assert drawn(tmp_path, [a_trial(1)]) is None
    assert drawn(tmp_path, [a_trial(0)]) is not None


def test_what_is_not_known_is_no_zero(tmp_path):
    lack = Series("layer", "cpu_s", reason="not available here: <b>no group</b>")
    no_host = [one for one in used() if one.name not in ("cpu_s", "cpu_guest_s")]
    short = used(times_s=(0.0, LEAST_SPAN_S / 2))
    fell = Series("layer", "cpu_s", (0.0, 1.0, 2.0), (5.0, 4.0, 6.0))
    rest = [one for one in used() if one.name != "cpu_s"]
    trials = [a_trial(number) for number in range(3)]
    store_samples(
        tmp_path,
        (trials[0], [lack, *no_host]),
        (trials[1], short),
        (trials[2], [fell, *rest]),
    )
    (course, _) = drawn(tmp_path, trials).courses

    assert areas(course.cpu) == []
    (falling,) = trials_of(course.cpu)  # nothing is drawn of the other two
    assert falling.tip == "block 2, work: host 1.25 CPUs"
    first = drawn(tmp_path, trials[:1]).courses[0]
    assert first.said.endswith("; not available here: <b>no group</b>")


def test_values_that_are_no_numbers_are_left_out(tmp_path):
    odd = Series("layer", "memory_bytes", (0.0, 1.0, 2.0), (GIB, float("nan"), float("inf")))
    more = Series("layer", "cpu_s", (0.0, 1.0, float("inf")), (0.0, 1.0, 2.0))
    store_samples(tmp_path, (a_trial(0), [odd, more]))
    (course, _) = drawn(tmp_path, [a_trial(0)]).courses

    assert areas(course.memory) == []  # one reading is no line
    assert areas(course.cpu) == [[(0, 40), (0, 0), (500, 0), (500, 40)]]


def test_a_long_trial_has_no_more_points_than_can_be_seen(tmp_path):
    times_s = tuple(float(at) for at in range(4000))
    levels = tuple(GIB if at == 2000 else GIB / 2 for at in range(4000))
    peak = Series("layer", "memory_bytes", times_s, levels, is_counter=False)
    rest = [one for one in used(times_s=times_s) if one.name != "memory_bytes"]
    trial = a_trial(0, duration_s=3999.0)
    store_samples(tmp_path, (trial, [peak, *rest]))
    (course, _) = drawn(tmp_path, [trial]).courses

    (busy,), (held,) = areas(course.cpu), areas(course.memory)
    assert FINEST * 0.9 < len({x for x, _ in busy}) <= FINEST + 1
    assert busy[-1] == (1000, 40)
    assert len(held) <= FINEST + 3
    assert min(y for _, y in held) == 0  # the peak is not lost


def test_a_trial_too_short_for_its_picture_can_still_be_seen(tmp_path):
    trials = [a_trial(0, duration_s=0.1), a_trial(1000)]
    store_samples(tmp_path, *((one, used(times_s=(0.0, 0.1))) for one in trials))
    (course, _) = drawn(tmp_path, trials).courses

    assert areas(course.cpu)[0] == [(0, 40), (0, 13.3), (2, 13.3), (2, 40)]
    assert areas(course.memory)[0] == [(0, 40), (0, 0), (2, 0), (2, 40)]


def test_the_last_trials_of_the_latest_session_are_drawn(tmp_path):
    old = [a_trial(number, instance="old-1") for number in range(3)]
    new = [a_trial(number) for number in range(3, 3 + MAX_TRIALS + 5)]
    store_samples(tmp_path, *((one, used()) for one in (*old, *new[:2])))
    few = drawn(tmp_path, [*old, *new[:2]])
    store_samples(tmp_path, *((one, used()) for one in new[2:]))
    many = drawn(tmp_path, [*old, *new])

    assert few.shown == len(areas(few.courses[0].cpu)) == 2
    assert many.shown == len(areas(many.courses[0].cpu)) == MAX_TRIALS
    assert many.unread == many.waiting == 0


def test_trials_of_the_file_before_stand_there_too(tmp_path):
    trials = [a_trial(number) for number in range(TRIALS_A_FILE + 3)]
    store_samples(tmp_path, *((one, used(times_s=(0.0, 2.0))) for one in trials))

    assert len(list((tmp_path / "samples").iterdir())) == 2
    assert drawn(tmp_path, trials).unread == 0


def test_files_are_read_when_they_change(tmp_path, monkeypatch):
    read = []
    own = samples._table
    monkeypatch.setattr(samples, "_table", lambda path: (read.append(path.name), own(path))[1])
    recent = SampledUsageReader(tmp_path, tmp_path)
    empty = recent.look()
    assert recent.look() is empty
    assert not empty.by_trial
    session = Samples(tmp_path)
    for number in range(TRIALS_A_FILE):
        session.add(a_trial(number), used(times_s=(0.0, 2.0)))
    first = recent.look()
    assert recent.look() is first
    session.add(a_trial(TRIALS_A_FILE), used())
    session.close()
    second = recent.look()
    assert second.of(a_trial(TRIALS_A_FILE)) is not None
    assert second.of(a_trial(TRIALS_A_FILE - 1)) is not None
    assert recent.look() is second
    assert read == ["000000.parquet", "000001.parquet"]
    shutil.rmtree(tmp_path / "samples")
    assert recent.look().by_trial == {}


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"nonsense" * 99])
def test_a_damaged_file_is_said_and_the_others_are_shown(tmp_path, damage):
    trials = [a_trial(number) for number in range(TRIALS_A_FILE + 3)]
    store_samples(tmp_path, *((one, used(times_s=(0.0, 2.0))) for one in trials))
    (tmp_path / "samples/000001.parquet").write_bytes(damage)
    seen = SampledUsageReader(tmp_path, tmp_path).look()

    assert "000001.parquet is damaged or cannot be read" in seen.problem
    assert seen.of(trials[TRIALS_A_FILE - 1]) is not None


def test_a_file_of_another_kind_is_no_error_of_the_server(tmp_path):
    path = tmp_path / "samples/000000.parquet"
    path.parent.mkdir()
    recent = SampledUsageReader(tmp_path, tmp_path)
    for columns in ({"cell": ["a"]}, {"source": ["layer"], "name": ["cpu_s"], "time_s": [None]}):
        pq.write_table(pa.table(columns), path)
        assert "damaged or cannot be read" in recent.look().problem
    path.unlink()
    store_samples(tmp_path, (a_trial(0), used()))  # it is repaired
    repaired = recent.look()
    assert repaired.problem == ""
    assert repaired.of(a_trial(0)) is not None


def test_what_a_file_has_more_is_added(tmp_path):
    session = Samples(tmp_path)
    recent = SampledUsageReader(tmp_path, tmp_path)
    for number in range(MAX_TRIALS + 3):
        session.add(a_trial(number), used())
        session.close()
        known = recent.look()
        assert known.of(a_trial(number)) is not None
        assert known.of(a_trial(max(0, number - MAX_TRIALS + 1))) is not None
    assert len(known.by_trial) == MAX_TRIALS
    assert known.by_trial == SampledUsageReader(tmp_path, tmp_path).look().by_trial


def test_samples_that_lead_out_are_not_read(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    store_samples(outside, (a_trial(0), used()))
    for name, target in (("a", outside / "samples"), ("b", None)):
        folder = inside / name
        folder.mkdir(parents=True)
        if target:
            (folder / "samples").symlink_to(target)
        else:
            (folder / "samples").mkdir()
            file = outside / "samples/000000.parquet"
            os.symlink(file, folder / "samples/000000.parquet")  # noqa: PTH211
        assert SampledUsageReader(folder, inside).look().by_trial == {}
    assert SampledUsageReader(outside, tmp_path).look().by_trial != {}


def test_no_samples_are_no_zero():
    assert SampledUsage().of(a_trial(0)) is None


def test_growth_beyond_all_numbers_is_not_drawn():
    huge = Track((0.0, 1.0), (-1.7e308, 1.7e308))

    assert resource_usage({LAYER_CPU: huge}).layer == ()


def test_a_page_without_samples_does_not_load_what_reads_them(tmp_path):
    """It takes 70 MB and a part of a second."""
    asked = (
        "import sys; from pathlib import Path; from tare.present.live import ResultsCatalogue;"
        "from tare.present.live.views import OneStudy, Studies; root = Path(sys.argv[1]);"
        "catalogue = ResultsCatalogue(root); Studies(catalogue).look();"
        "print(OneStudy(catalogue, 'one').look().usage, 'pyarrow' in sys.modules)"
    )
    (tmp_path / "one").mkdir()
    (tmp_path / "one/plan.json").write_text("{}")
    done = subprocess.run(
        [sys.executable, "-c", asked, tmp_path],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout == "SampledUsage(by_trial={}, problem='') False\n"


def test_twelve_platforms_have_colours_of_their_own_on_the_live_page_too():
    style = (files("tare.present.live") / "templates/style.css").read_text()
    own = {colour(index) for index in range(12)}

    assert len(own) == len(COLOURS) == 12
    assert all(f".s{colour} {{ --own: var(--series-{colour}); }}" in style for colour in own)
