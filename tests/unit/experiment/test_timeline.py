"""What host and layer did over a trial: on recorded files, made-up trees and the real /proc."""

import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from tare.core.errors import ConfigError
from tare.experiment.probes import _parsers as readings
from tare.experiment.probes.instruments import Instruments
from tare.experiment.probes.series import HOST, LAYER, Series, per_work, spans, summary
from tare.experiment.probes.timeline import FASTEST_HZ, SLOWEST_HZ, Places, Timeline, next_tick
from tare.experiment.study import loader
from tare.machines.instance import Threads

RECORDED = Path(__file__).parent / "recorded_timeline"
PATIENCE_S = 60.0
THREADS = Threads(cgroup="tare/x")


class Tree:
    """A host of plain files: the recorded one, v1, with one disk and one network device."""

    def __init__(self, root):
        shutil.copytree(RECORDED / "first", root)
        self.places = Places(root / "proc", root / "sys", root / "groups")
        self.proc, self.sys, self.groups = root / "proc", root / "sys", root / "groups"
        (self.sys / "block/vda/device").mkdir(parents=True)
        (self.sys / "block/vda/dev").write_text("254:0\n")
        (self.sys / "block/loop0").mkdir()
        (self.sys / "class/net/eth0/device").mkdir(parents=True)
        # The kernel resets a peak; a plain file takes the two bytes and keeps what is behind them.
        (self.groups / "memory/tare/x/memory.max_usage_in_bytes").write_text("9\n")
        self.root = root

    def timeline(self, hertz=1.0, cpus=(0,)):
        return Timeline(THREADS, cpus, hertz, self.places)

    def goes_on(self):
        """Write the later recording into the same files, as the kernel would."""
        for new in (RECORDED / "second").rglob("*"):
            if new.is_file():
                (self.root / new.relative_to(RECORDED / "second")).write_bytes(new.read_bytes())


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "host")


def v2(tree):
    """Make the tree's groups those of v2, at 1 s of CPU time."""
    shutil.rmtree(tree.groups)
    group = tree.groups / "tare/x"
    group.mkdir(parents=True)
    (tree.groups / "cgroup.controllers").touch()
    (group / "cpu.stat").write_text("usage_usec 1000000\nuser_usec 750000\nsystem_usec 250000\n")
    (group / "memory.current").write_text("4096\n")
    (group / "memory.peak").write_text("9\n")
    (group / "memory.stat").write_text("anon 1024\nfile 3072\nfile_mapped 7\n")
    (group / "io.stat").write_text(
        "254:0 rbytes=512 wbytes=1024 rios=1 wios=2 dbytes=9 dios=9\n"
        "253:0 rbytes=512 wbytes=1024 rios=1 wios=2 dbytes=9 dios=9\n"
    )
    (group / "pids.current").write_text("3\n")
    (group / "cgroup.procs").write_text("77\n999999\n")
    return group


def found(timeline, name, source=HOST, device=""):
    (one,) = [s for s in timeline.series if (s.source, s.name, s.device) == (source, name, device)]
    return one


def counter(name, *points, source=HOST, device=""):
    times_s, values = zip(*points, strict=True)
    return Series(source, name, times_s, values, device)


def level(name, *points, source=HOST):
    times_s, values = zip(*points, strict=True)
    return Series(source, name, times_s, values, is_counter=False)


def test_a_recorded_host_and_group_give_the_metrics_of_a_trial(tree):
    with tree.timeline() as timeline:
        tree.goes_on()

    seen = timeline.metrics
    assert seen["layer_cpu_s"] == pytest.approx(7.734493220 - 5.707682910)
    assert seen["layer_cpu_user_s"] == pytest.approx(1.83)
    assert seen["layer_cpu_system_s"] == pytest.approx(0.20)
    assert seen["layer_memory_peak_bytes"] == 338804736
    assert seen["layer_pss_bytes"] == 234 * 1024
    assert seen["layer_disk_reads"] == 0  # that is what the group's file said
    assert seen["host_disk_read_bytes"] == 18440 * 512
    assert seen["host_disk_written_bytes"] == 818 * 512
    assert seen["host_disk_reads"] == 191
    assert seen["host_disk_writes"] == 20
    assert seen["host_context_switches"] == 5671
    assert seen["host_page_faults"] == 18821
    assert seen["host_major_faults"] == 2
    # 200 ticks of user, 35 of system, 1 stolen and 189 idle
    assert seen["host_cpu_busy_mean"] == pytest.approx(235 / 425)
    assert seen["host_cpu_steal_mean"] == pytest.approx(1 / 425)
    assert seen["host_run_queue_most"] == 3  # 4, less the one that reads
    assert seen["host_memory_used_bytes_most"] == (24684084 - 23002620) * 1024
    assert seen["monitor_cpu_s"] > 0


def test_counters_are_kept_as_counters_with_the_time_of_each_reading(tree):
    with tree.timeline() as timeline:
        tree.goes_on()

    cpu = found(timeline, "cpu_s", LAYER)
    assert cpu.is_counter
    assert (cpu.values[0], cpu.values[-1]) == (5.707682910, 7.734493220)
    assert len(cpu.times_s) == len(cpu.values)
    assert 0 <= cpu.times_s[0] < cpu.times_s[-1]
    assert not found(timeline, "memory_bytes", LAYER).is_counter
    assert found(timeline, "psi_io_some_s").values[-1] == pytest.approx(878.708769)
    assert found(timeline, "network_sent_bytes", device="eth0").values[0] == 21751498
    cached = found(timeline, "memory_cached_bytes", LAYER)
    assert (cached.values[0], cached.values[-1]) == (7524352, 7528448)


def test_the_cpu_time_of_guests_is_not_counted_twice():
    content = b"cpu  100 20 30 400 5 6 7 8 60 10\nctxt 9\nprocs_running 1\nprocs_blocked 2\n"

    seen = {name: value for name, _, value in readings.host_cpu(content)}

    assert seen["cpu_user_s"] == pytest.approx(0.50)
    assert seen["cpu_guest_s"] == pytest.approx(0.70)
    assert seen["cpu_system_s"] == pytest.approx(0.43)
    assert sum(seen[name] for name in readings.CPU) == pytest.approx(5.76)
    assert (seen["run_queue"], seen["blocked_tasks"], seen["context_switches"]) == (0, 2, 9)


def test_what_a_host_does_not_have_is_said_and_no_zero(tree):
    (tree.proc / "pressure/io").unlink()

    with tree.timeline() as timeline:
        pass

    for name in ("frequency_hz", "energy_j", "psi_io_some_s"):
        one = found(timeline, name)
        assert one.reason.startswith("not available here: ")
        assert not one.values
    assert str(tree.proc / "pressure/io") in found(timeline, "psi_io_full_s").reason
    assert not [name for name in timeline.metrics if "energy" in name or "frequency" in name]


def test_a_group_of_v2_is_read(tree):
    group = v2(tree)

    with tree.timeline() as timeline:
        (group / "cpu.stat").write_text(
            "usage_usec 4000000\nuser_usec 2750000\nsystem_usec 1250000\n"
        )
        (group / "memory.peak").write_text("9000\n")
        (group / "io.stat").write_text("254:0 rbytes=2560 wbytes=1024 rios=5 wios=2\n")

    seen = timeline.metrics
    assert seen["layer_cpu_s"] == pytest.approx(3.0)
    assert seen["layer_cpu_user_s"] == pytest.approx(2.0)
    assert seen["layer_cpu_system_s"] == pytest.approx(1.0)
    assert seen["layer_memory_peak_bytes"] == 9000
    assert seen["layer_memory_bytes_mean"] == 4096
    # 253:0 has no hardware behind it, and only passes on.
    assert (seen["layer_disk_read_bytes"], seen["layer_disk_reads"]) == (2048, 4)
    assert (seen["layer_disk_written_bytes"], seen["layer_disk_writes"]) == (0, 0)
    assert seen["layer_pids_most"] == 3
    assert seen["layer_pss_bytes"] == 241 * 1024  # 999999 has ended
    assert found(timeline, "memory_cached_bytes", LAYER).values[0] == 3072


def test_disk_traffic_of_a_v1_group_is_that_of_disks_with_hardware():
    content = b"254:0 Read 5\n254:0 Write 7\n254:0 Sync 12\n254:0 Total 12\n7:0 Read 5\nTotal 17\n"

    seen = list(readings.group_disks_v1(content, readings.DISK[2:], {b"254:0"}))

    assert seen == [("disk_reads", "", 5), ("disk_writes", "", 7)]


def test_a_group_without_a_controller_lacks_what_that_tells_and_nothing_else(tree):
    shutil.rmtree(tree.groups / "blkio")

    with tree.timeline() as timeline:
        pass

    assert "blkio" in found(timeline, "disk_reads", LAYER).reason
    assert "layer_disk_reads" not in timeline.metrics
    assert timeline.metrics["layer_cpu_s"] == 0.0


def test_zeros_of_a_kernel_that_counts_no_disk_yet_are_not_taken_for_its_traffic(tree):
    root = tree.groups / "blkio/blkio.throttle.io_service_bytes"
    root.write_text("Total 0\n")
    with tree.timeline() as timeline:
        pass
    root.write_text("254:0 Read 0\n254:0 Total 0\nTotal 0\n")
    with tree.timeline() as counted:
        pass

    reason = found(timeline, "disk_reads", LAYER).reason
    assert "counts the traffic of the disk 254:0 only once a group has had a limit" in reason
    assert "layer_disk_reads" not in timeline.metrics
    assert counted.metrics["layer_disk_reads"] == 0


def zone(tree, name, label, energy_uj, most_uj=1000_000_000):
    folder = tree.sys / "class/powercap" / name
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{label}\n")
    (folder / "energy_uj").write_text(f"{energy_uj}\n")
    (folder / "max_energy_range_uj").write_text(f"{most_uj}\n")
    return folder / "energy_uj"


def test_energy_is_that_of_packages_and_memory_across_a_counters_end(tree):
    package = zone(tree, "intel-rapl:0", "package-0", 999_000_000)
    dram = zone(tree, "intel-rapl:0:1", "dram", 5_000_000)
    core = zone(tree, "intel-rapl:0:0", "core", 1_000_000)
    psys = zone(tree, "intel-rapl:1", "psys", 1_000_000)

    with tree.timeline() as timeline:
        package.write_text("2000000\n")
        dram.write_text("5500000\n")
        core.write_text("900000000\n")
        psys.write_text("900000000\n")

    assert found(timeline, "energy_j", device="package-0").values[-1] == pytest.approx(1002.0)
    assert found(timeline, "energy_j", device="package-0/dram").values[-1] == pytest.approx(5.5)
    assert timeline.metrics["host_energy_j"] == pytest.approx(3.0 + 0.5)


def test_the_clock_rate_is_the_mean_of_the_cpus_that_are_asked_for(tree):
    for cpu, rate in enumerate((1_000_000, 3_000_000, 9_000_000)):
        folder = tree.sys / f"devices/system/cpu/cpu{cpu}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(f"{rate}\n")

    with tree.timeline(cpus=(1, 0)) as timeline:
        pass

    assert timeline.metrics["host_frequency_hz_mean"] == pytest.approx(2e9)


def test_of_virtual_network_devices_those_of_tare_are_kept_if_anything_went_through(tree):
    head = "Inter-|\n face |\n"
    line = "{}: {} 1 0 0 0 0 0 0 {} 1 0 0 0 0 0 0\n"
    names = ("eth0", "lo", "docker0", "tareabcb0", "tareabcb1", "<script>")
    first = head + "".join(line.format(name, 10, 20) for name in names)
    (tree.proc / "net/dev").write_text(first)
    (tree.sys / "class/net/<script>/device").mkdir(parents=True)

    with tree.timeline() as timeline:
        (tree.proc / "net/dev").write_text(first.replace("tareabcb1: 10", "tareabcb1: 11"))

    seen = {one.device for one in timeline.series if one.name == "network_received_bytes"}
    assert seen == {"eth0", "tareabcb1", "<script>"}


def test_a_group_that_is_gone_ends_the_layers_series_and_nothing_else(tree):
    with Timeline(THREADS, (0,), 1.0, tree.places, instruments=Instruments()) as timeline:
        gone = os.open(tree.root, os.O_RDONLY)
        for file in timeline._own._open.values():
            os.dup2(gone, file)  # a folder can be opened and not read: as good as gone
        os.close(gone)
        tree.goes_on()

    cpu = found(timeline, "cpu_s", LAYER)
    assert cpu.reason.startswith("ended early: ")
    assert list(cpu.values) == [5.707682910]
    assert "layer_cpu_s" not in timeline.metrics
    assert timeline.metrics["host_disk_reads"] == 191


@pytest.mark.parametrize("content", [b"", b"\n", b"garbage\n", b"\xff\xfe\x00", b"cpu inf\n"])
def test_a_damaged_file_is_an_outcome(tree, content):
    ours = [*(tree.root / "proc").rglob("*"), *(tree.root / "groups").rglob("*")]
    for path in ours:
        if path.is_file():
            path.write_bytes(content)

    with tree.timeline() as timeline:
        pass

    told = {one.name for one in timeline.series if one.values}
    assert told <= {"memory_peak_bytes"}  # which was written anew, at the beginning
    assert all(one.reason for one in timeline.series if not one.values)
    assert not [name for name in timeline.metrics if "cpu_" in name and name != "monitor_cpu_s"]


def test_an_empty_tree_has_nothing_and_says_so_of_everything(tmp_path):
    with Timeline(THREADS, (0,), places=Places(tmp_path, tmp_path, tmp_path)) as timeline:
        pass

    assert not [one for one in timeline.series if one.values]
    assert all(one.reason.startswith("not available here") for one in timeline.series)
    assert summary(timeline.series) == {}


def test_a_file_of_many_pieces_is_read_whole(tree):
    lines = [f" 8 {n} sd{n} 1 0 2 3 4 0 5 6 0 7 8 0 0 0 0\n" for n in range(5000)]
    (tree.proc / "diskstats").write_text("".join(lines))
    (tree.sys / "block/sd4999/device").mkdir(parents=True)

    with tree.timeline() as timeline:
        pass

    assert found(timeline, "disk_writes", device="sd4999").values[0] == 4


def test_readings_are_taken_while_the_block_runs(tree):
    deadline = time.monotonic() + PATIENCE_S
    with tree.timeline(hertz=10.0) as timeline:
        while taken(timeline) < 3:
            assert time.monotonic() < deadline, "the thread takes no readings"
            time.sleep(0.01)

    times_s = found(timeline, "cpu_idle_s").times_s
    assert list(times_s) == sorted(times_s)
    seen = taken(timeline)
    with tree.timeline(hertz=10.0) as after:  # on the same thread
        while taken(after) < 2:
            assert time.monotonic() < deadline, "the thread takes no readings"
            time.sleep(0.01)
    assert taken(timeline) == seen


def taken(timeline):
    """Count the readings of one figure that were taken in so far."""
    track = timeline._files[0]._tracks.get(("cpu_idle_s", ""))
    return 0 if track is None else len(track.values)


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_an_error_in_the_block_passes_and_leaves_nothing_behind(tree):
    with tree.timeline():  # the first one starts the thread of them all
        pass
    open_before, running_before = open_files(), threading.active_count()

    with pytest.raises(RuntimeError, match="the trial"), tree.timeline():
        raise RuntimeError("the trial")

    assert open_files() == open_before
    assert threading.active_count() == running_before


def test_the_real_host_is_read():
    with Timeline(Threads(cgroup="tare/there-is-no-such-group"), (0,)) as timeline:
        pass

    for name in (*readings.CPU, "context_switches", "memory_used_bytes", "page_faults"):
        one = found(timeline, name)
        assert len(one.values) >= 2
        assert one.values[-1] >= one.values[0] or name in readings.LEVELS or name == "cpu_steal_s"
    assert all(one.reason for one in timeline.series if one.source == LAYER)
    assert timeline.metrics["host_memory_used_bytes_most"] > 0


@pytest.mark.parametrize("hertz", [0.0, 0.5, 11.0, -1.0, float("nan"), float("inf")])
def test_a_rate_out_of_bounds_is_refused(hertz):
    with pytest.raises(ConfigError, match=f"1 to 10 readings a second, not {hertz}"):
        Timeline(THREADS, (0,), hertz)


@pytest.mark.parametrize(
    ("tick", "elapsed_s", "expected"),
    [
        (0, 0.0, 1),
        (0, 0.4, 1),
        (3, 2.9999, 4),  # woken a moment early: not the third once more
        (3, 3.2, 4),
        (3, 7.2, 8),  # late: what was missed is left out
    ],
)
def test_readings_keep_to_their_deadlines(tick, elapsed_s, expected):
    assert next_tick(tick, elapsed_s, 1.0) == expected


def test_shares_are_of_the_whole_trial_and_of_its_busiest_part():
    # 2 CPUs for 4 s: 0.4 s, then 1.6 s, then none, of 2 s each and of 4 s
    times_s = (0.0, 1.0, 2.0, 4.0)
    user, idle = (10.0, 10.4, 12.0, 12.0), (0.0, 1.6, 2.0, 6.0)
    nothing = dict.fromkeys(readings.CPU, (0.0,) * 4)
    series = [
        Series(HOST, name, times_s, values)
        for name, values in {**nothing, "cpu_user_s": user, "cpu_idle_s": idle}.items()
    ]

    seen = summary(series)

    assert seen["host_cpu_busy_mean"] == pytest.approx(2.0 / 8.0)
    assert seen["host_cpu_busy_most"] == pytest.approx(1.6 / 2.0)
    assert seen["host_cpu_steal_most"] == 0.0


def test_the_busiest_disk_stands_for_all():
    quiet = counter("disk_busy_s", (0.0, 5.0), (2.0, 5.2), device="vda")
    busy = counter("disk_busy_s", (0.0, 1.0), (1.0, 1.9), (2.0, 2.0), device="vdb")

    seen = summary([quiet, busy])

    assert seen == pytest.approx({"host_disk_busy_mean": 0.5, "host_disk_busy_most": 0.9})


def test_a_rate_is_not_made_of_readings_that_lie_too_close():
    # A tick that falls into the last millisecond would be ten CPUs.
    cpu = counter("cpu_s", (0.0, 0.0), (1.0, 0.5), (1.001, 0.51), source=LAYER)

    seen = summary([cpu])

    assert seen["layer_cpus_most"] == pytest.approx(0.51 / 1.001)
    assert spans([0.0, 0.02, 0.06, 0.1, 0.12]) == [0, 2, 4]


def test_bytes_are_weighted_by_the_time_that_they_were_held():
    held = level("memory_bytes", (0.0, 100.0), (1.0, 100.0), (3.0, 300.0), source=LAYER)

    seen = summary([held])

    assert seen["layer_memory_byte_seconds"] == pytest.approx(100 + 2 * 200)
    assert seen["layer_memory_bytes_mean"] == pytest.approx(500 / 3)
    assert seen["layer_memory_bytes_most"] == 300


@pytest.mark.parametrize(
    ("peaks", "expected"),
    [
        ((900.0, 900.0), 300.0),  # the group's, of an earlier trial
        ((200.0, 400.0), 400.0),  # between two readings
    ],
)
def test_a_peak_is_that_of_the_trial(peaks, expected):
    held = level("memory_bytes", (0.0, 100.0), (1.0, 300.0), (2.0, 200.0), source=LAYER)
    peak = level("memory_peak_bytes", *zip((0.0, 2.0), peaks, strict=True), source=LAYER)

    assert summary([held, peak])["layer_memory_peak_bytes"] == expected


def test_a_trial_of_no_time_has_no_rates():
    seen = summary([counter("cpu_s", (0.0, 5.0), source=LAYER), level("run_queue", (0.0, 2.0))])

    assert seen == {"layer_cpu_s": 0.0, "host_run_queue_mean": 2.0, "host_run_queue_most": 2.0}


def test_a_counter_that_goes_back_by_a_tick_is_no_negative_use():
    assert summary([counter("cpu_s", (0.0, 5.0), (1.0, 4.99), source=LAYER)]) == {
        "layer_cpu_s": 0.0,
        "layer_cpus_mean": 0.0,
        "layer_cpus_most": 0.0,
    }


def test_only_what_grows_with_the_work_has_a_value_per_unit_of_it():
    metrics = {
        "layer_cpu_s": 3.0, "host_energy_j": 12.0, "layer_memory_byte_seconds": 600.0,
        "layer_memory_peak_bytes": 5.0, "host_cpu_busy_mean": 0.5, "monitor_cpu_s": 0.1,
    }  # fmt: skip

    assert per_work(metrics, 6.0) == {
        "layer_cpu_s_per_work": 0.5,
        "host_energy_j_per_work": 2.0,
        "layer_memory_byte_seconds_per_work": 100.0,
    }


@pytest.mark.parametrize("work", [None, 0.0, -1.0, float("inf"), float("nan")])
def test_an_unknown_amount_of_work_has_no_cost_per_unit(work):
    assert per_work({"layer_cpu_s": 3.0}, work) == {}


def test_a_study_may_ask_for_the_rates_that_there_are():
    assert (loader.SLOWEST_HZ, loader.FASTEST_HZ) == (SLOWEST_HZ, FASTEST_HZ)
