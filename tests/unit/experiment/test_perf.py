"""What explains a degradation: counters of a layer by perf_event_open, KVM and its threads."""

import errno
import os
import struct
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from tare.core.errors import Unavailable
from tare.experiment.probes import _parsers as readings
from tare.experiment.probes import perf
from tare.experiment.probes.kvm_exits import of_guests
from tare.experiment.probes.perf import HARDWARE, SOFTWARE, TRACEPOINT, Counters
from tare.experiment.probes.series import HOST, LAYER, PER_WORK, TOTALS, Series, summary
from tare.experiment.probes.threads import Sampler
from tare.experiment.probes.timeline import Places, Timeline
from tare.experiment.trial.watch import add_counts
from tare.machines.instance import Threads

RECORDED = Path(__file__).parent / "recorded_timeline"
GROUP = "tare/x"
THREADS = Threads(cgroup=GROUP)
CPU_S = 0.5
COUNTS = {(SOFTWARE, 0): int(CPU_S * 1e9), (SOFTWARE, 3): 40, (SOFTWARE, 4): 7, (TRACEPOINT, 9): 3}


class Tree:
    """A host of plain files with two CPUs; ``alone`` says that v2 is not beside v1."""

    def __init__(self, root, *, alone=True):
        self.places = Places(root / "proc", root / "sys", root / "groups")
        self.groups, self.sys, self.proc = root / "groups", root / "sys", root / "proc"
        self.group = self.groups / ("" if alone else "unified") / GROUP
        self.group.mkdir(parents=True)
        (self.groups / ("cgroup.controllers" if alone else "unified/cgroup.procs")).touch()
        self.write(self.sys / "devices/system/cpu/online", "0-1\n")
        self.write(self.proc / "sys/kernel/perf_event_paranoid", "2\n")

    def write(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def trace(self, point, number):
        self.write(self.sys / f"kernel/tracing/events/{point}/id", f"{number}\n")


class Kernel:
    """Opens counters that stand where they are told; ``lacks`` has what it will not open."""

    def __init__(self, folder, lacks=None, enabled_ns=10, running_ns=10):
        self.folder, self.lacks, self.opened = folder, lacks or {}, []
        self.enabled_ns, self.running_ns = enabled_ns, running_ns

    def open(self, kind, number, group, cpu):
        if (kind, cpu) in self.lacks or (kind, None) in self.lacks:
            error = self.lacks.get((kind, cpu)) or self.lacks[kind, None]
            raise OSError(error, os.strerror(error))
        self.opened.append((kind, number, str(Path(f"/proc/self/fd/{group}").readlink()), cpu))
        path = self.folder / f"{kind}-{number}-{cpu}"
        running_ns = self.enabled_ns if kind == SOFTWARE else self.running_ns
        count = COUNTS.get((kind, number), 1000) // 2  # on each of two CPUs
        path.write_bytes(struct.pack("=QQQ", count, self.enabled_ns, running_ns))
        return os.open(path, os.O_RDONLY)


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "host")


def count(tree, kernel, used_s=CPU_S):
    """Count in a tree, and give the series by name."""
    with Counters(GROUP, tree.places, kernel.open) as counters:
        pass
    return {one.name: one for one in counters.series(used_s)}


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_counts_are_summed_over_the_cpus_of_the_group(tree, tmp_path):
    tree.write(tree.group / "cpuset.cpus.effective", "1,4\n")
    kernel = Kernel(tmp_path)

    seen = count(tree, kernel)

    assert seen["context_switches"].values == (0.0, 40.0)
    assert seen["migrations"].values == (0.0, 6.0)  # 3 on each
    assert seen["instructions"].values == (0.0, 1000.0)
    assert seen["context_switches"].source == LAYER
    assert seen["context_switches"].is_counter
    assert {cpu for *_, cpu in kernel.opened} == {1, 4}
    assert {folder for _, _, folder, _ in kernel.opened} == {str(tree.group)}
    assert summary(seen.values())["layer_context_switches"] == 40.0


def test_a_counter_that_shared_the_cpu_is_scaled_to_the_whole_time(tree, tmp_path):
    seen = count(tree, Kernel(tmp_path, enabled_ns=100, running_ns=25))

    assert seen["cycles"].values[-1] == 4000.0
    assert seen["context_switches"].values[-1] == 40.0


def test_a_counter_that_never_ran_is_unknown_and_no_zero(tree, tmp_path):
    seen = count(tree, Kernel(tmp_path, enabled_ns=100, running_ns=0))

    assert not seen["cycles"].values
    assert "no counter left" in seen["cycles"].reason
    assert "layer_cycles" not in summary(seen.values())


def test_a_cpu_on_which_the_layer_never_ran_counts_nothing():
    assert perf.counted(struct.pack("=QQQ", 0, 0, 0)) == 0.0


@pytest.mark.parametrize("kernel_lacks", [{}, {(HARDWARE, 1): errno.EMFILE}])
def test_every_file_is_closed(tree, tmp_path, kernel_lacks):
    before = open_files()

    seen = count(tree, Kernel(tmp_path, kernel_lacks))

    assert open_files() == before
    assert bool(seen["cycles"].values) == (not kernel_lacks)


@pytest.mark.parametrize(
    ("kind", "error", "word"),
    [
        (HARDWARE, errno.ENOENT, "most virtual machines"),
        (HARDWARE, errno.EOPNOTSUPP, "most virtual machines"),
        (HARDWARE, errno.EMFILE, "Too many open files"),
        (SOFTWARE, errno.EACCES, "perf_event_paranoid of 0 or less, which is 2"),
        (SOFTWARE, errno.EPERM, "CAP_PERFMON"),
        (SOFTWARE, errno.EINVAL, "does not count by control group"),
        (SOFTWARE, errno.ENOSYS, "does not count by control group"),
    ],
)
def test_what_the_kernel_refuses_is_said_in_words(tree, tmp_path, kind, error, word):
    seen = count(tree, Kernel(tmp_path, {(kind, None): error}))

    hit = seen["cycles" if kind == HARDWARE else "context_switches"]
    assert hit.reason.startswith("not available here: ")
    assert word in hit.reason
    assert errno.errorcode[error] in hit.reason
    # Without the group's own clock nothing tells whether the others saw all of it.
    assert bool(seen["context_switches"].values) == (kind == HARDWARE)


def test_a_tracepoint_is_counted_by_the_number_that_tracefs_has(tree, tmp_path):
    tree.trace("raw_syscalls/sys_enter", 9)

    seen = count(tree, Kernel(tmp_path))

    assert seen["system_calls"].values[-1] == 2.0  # 3 in all, halved and whole
    assert "no tracepoint kvm/kvm_exit" in seen["guest_exits"].reason


def test_tracefs_that_is_not_mounted_is_said_and_not_mounted(tree, tmp_path):
    seen = count(tree, Kernel(tmp_path))

    for name in ("system_calls", "guest_exits"):
        assert "no tracefs is mounted" in seen[name].reason
        assert "mount -t tracefs" in seen[name].reason


@pytest.mark.parametrize(
    ("used_s", "is_counted"),
    # 40 switches may take up to 2 ms, and 5 % of 0.525 s are 26.25 ms.
    [(CPU_S, True), (0.525, True), (0.533, False), (1.0, False), (None, False), (0.0, True)],
)
def test_a_part_of_the_layer_in_another_group_is_noticed(tree, tmp_path, used_s, is_counted):
    seen = count(tree, Kernel(tmp_path), used_s)

    assert bool(seen["context_switches"].values) == is_counted
    assert bool(seen["context_switches"].reason) != is_counted


def test_a_group_that_is_gone_is_an_outcome(tree, tmp_path):
    tree.group.rmdir()

    seen = count(tree, Kernel(tmp_path))

    assert all("No such file" in one.reason for one in seen.values())


@pytest.mark.parametrize("content", ["", "x\n", "1-\n"])
def test_a_damaged_list_of_cpus_is_an_outcome(tree, tmp_path, content):
    (tree.sys / "devices/system/cpu/online").write_text(content)

    assert all(one.reason for one in count(tree, Kernel(tmp_path)).values())


def test_counting_is_in_v2_beside_v1_only_where_perf_event_is_not_mounted(tmp_path):
    tree = Tree(tmp_path, alone=False)
    assert perf.place(GROUP, tree.groups) == tree.group

    tree.write(tree.groups / "perf_event/cgroup.procs", "")
    with pytest.raises(Unavailable, match=r"no control group in .*perf_event"):
        perf.place(GROUP, tree.groups)

    (tree.groups / "perf_event" / GROUP).mkdir(parents=True)
    assert perf.place(GROUP, tree.groups) == tree.groups / "perf_event" / GROUP


def test_a_host_without_a_hierarchy_to_count_by_says_so(tree, tmp_path):
    (tree.groups / "cgroup.controllers").unlink()

    seen = count(tree, Kernel(tmp_path))

    assert "neither perf_event nor a v2 hierarchy" in seen["context_switches"].reason


@pytest.mark.parametrize(
    ("file", "text", "cpus"),
    [
        ("groups/tare/x/cpuset.cpus.effective", "0-1,4\n", [0, 1, 4]),
        ("groups/cpuset/tare/x/cpuset.effective_cpus", "3\n", [3]),
        ("groups/tare/x/cpuset.cpus.effective", "\n", [0, 1]),  # no controller handed down
    ],
)
def test_only_cpus_that_the_group_may_use_are_counted_on(tmp_path, file, text, cpus):
    tree = Tree(tmp_path)
    tree.write(tmp_path / file, text)

    assert perf.usable_cpus(GROUP, tree.groups, tree.sys) == cpus


def test_a_measured_trial_says_that_it_is_not_counted(tree):
    series = perf.uncounted(perf.WARM_UPS_ONLY, tree.sys)

    assert {one.name for one in series} == {one.name for one in perf.EVENTS}
    assert all("warm-up" in one.reason and not one.values for one in series)


def test_a_trial_has_its_counts_or_the_reason_beside_its_readings(tree, tmp_path):
    def kept(closely):
        tree.write(tree.group / "cgroup.threads", "")
        tree.write(tree.group / "cpu.stat", "usage_usec 0\n")
        counters = Counters(GROUP, tree.places, Kernel(tmp_path).open) if closely else None
        timeline = Timeline(THREADS, (0,), places=tree.places)
        with counters or nullcontext(), timeline, Sampler(THREADS, tree.groups) as sampler:
            pass
        add_counts(timeline, sampler, counters)
        return timeline

    warm, measured = kept(closely=True), kept(closely=False)

    assert warm.metrics["layer_context_switches"] == 40.0
    assert warm.metrics["layer_timeslices"] == 0.0
    assert "layer_context_switches" not in measured.metrics
    (one,) = [
        one for one in measured.series if (one.source, one.name) == (LAYER, "context_switches")
    ]
    assert "warm-up trials alone" in one.reason


def test_every_count_is_a_metric_and_has_a_meaning_per_unit_of_work():
    for event in perf.EVENTS:
        assert event.name in TOTALS[LAYER]
        assert f"layer_{event.name}" in PER_WORK
    assert {"layer_timeslices", "layer_page_faults", "host_network_bytes"} <= PER_WORK


def guest(tree, name, exits):
    tree.write(tree.sys / f"kernel/debug/kvm/{name}/exits", f"{exits}\n")


def exits(tree, act):
    """Read the guests of a group, let something happen, and give the series."""
    tree.write(tree.sys / "kernel/debug/kvm/exits", "99999\n")
    tree.write(tree.group / "cgroup.procs", "77\n78\n")
    with Timeline(THREADS, (0,), places=tree.places) as timeline:
        act()
    return next(one for one in timeline.series if one.name == "guest_exits")


def test_guest_exits_are_those_of_the_groups_own_guests(tree):
    guest(tree, "77-11", 500)
    guest(tree, "78-9", 10)
    guest(tree, "7-11", 7000)  # of another layer

    seen = exits(tree, lambda: guest(tree, "77-11", 1500))

    assert (seen.values[0], seen.values[-1]) == (510, 1510)
    assert summary([seen])["layer_guest_exits"] == 1000


def test_a_layer_without_guests_has_no_exits(tree):
    guest(tree, "7-11", 7000)

    assert list(exits(tree, lambda: guest(tree, "7-11", 9000)).values) == [0, 0]


def test_a_guest_that_comes_meanwhile_ends_the_series(tree):
    seen = exits(tree, lambda: guest(tree, "77-11", 5))

    assert "began or ended" in seen.reason
    assert "layer_guest_exits" not in summary([seen])


def test_guest_exits_are_told_once(tree, tmp_path):
    tree.trace("kvm/kvm_exit", 9)
    assert of_guests(GROUP, tree.groups, tree.sys) == []
    assert "guest_exits" in count(tree, Kernel(tmp_path))

    tree.write(tree.sys / "kernel/debug/kvm/exits", "1\n")
    assert len(of_guests(GROUP, tree.groups, tree.sys)) == 1
    assert "guest_exits" not in count(tree, Kernel(tmp_path))


def test_exits_that_may_not_be_read_are_left_to_the_tracepoint(tree, tmp_path):
    tree.trace("kvm/kvm_exit", 9)
    closed = tree.sys / "kernel/debug/kvm/exits"
    closed.parent.mkdir(parents=True)
    closed.symlink_to(closed)  # as good as a kernel that is locked down

    assert of_guests(GROUP, tree.groups, tree.sys) == []
    assert count(tree, Kernel(tmp_path))["guest_exits"].values


def test_page_faults_of_a_group_are_those_of_its_memory_and_below():
    first, second = (
        {
            name: value
            for name, _, value in readings.group_memory(
                (RECORDED / when / "groups/memory" / GROUP / "memory.stat").read_bytes(),
                b"\ntotal_cache ",
                b"total_",
            )
        }
        for when in ("first", "second")
    )

    assert second["page_faults"] - first["page_faults"] == 19902 - 16606
    assert second["major_faults"] == 0
    assert second["memory_cached_bytes"] == 7528448


def test_a_kernel_that_counts_no_faults_by_group_lacks_them_alone():
    seen = list(readings.group_memory(b"anon 5\nfile 7\n", b"\nfile "))

    assert seen == [("memory_cached_bytes", "", 7)]


def through(device, *values, way="received"):
    return Series(HOST, f"network_{way}_bytes", (0.0, 1.0), values, device)


def test_a_byte_is_counted_once_on_every_device_that_it_passes():
    there = [through("eth0", 5, 105), through("tare1b", 0, 100)]
    back = [through("eth0", 0, 10, way="sent"), through("tare1b", 0, 10, way="sent")]

    assert summary([*there, *back])["host_network_bytes"] == 220
    assert "host_network_bytes" not in summary(there)


def test_devices_on_tares_bridges_are_read_while_something_goes_through(tree):
    head = "Inter-|\n face |\n"
    line = "{}: {} 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n"
    for name, master in (("veth1", "tareab"), ("veth2", "tareab"), ("veth3", "docker0")):
        bridge = tree.sys / "class/net" / master
        bridge.mkdir(parents=True, exist_ok=True)
        (bridge.parent / name).mkdir()
        (bridge.parent / name / "master").symlink_to(bridge)
    names = ("veth1", "veth2", "veth3", "tareab")
    tree.write(tree.proc / "net/dev", head + "".join(line.format(name, 5) for name in names))

    with Timeline(THREADS, (0,), places=tree.places) as timeline:
        more = "".join(line.format(name, 5 + (name != "veth2")) for name in names)
        (tree.proc / "net/dev").write_text(head + more)

    read = {one.device for one in timeline.series if one.name == "network_received_bytes"}
    assert read == {"veth1", "tareab"}


@pytest.fixture
def sleeper():
    """A thread that sleeps and wakes until it is told to end; gives its id."""
    stop, tids = threading.Event(), []

    def sleep():
        tids.append(threading.get_native_id())
        while not stop.wait(0.001):
            pass

    thread = threading.Thread(target=sleep)
    thread.start()
    while not tids:
        time.sleep(0.001)
    yield str(tids[0])
    stop.set()
    thread.join()


def slices(tid):
    return int(Path(f"/proc/{tid}/schedstat").read_text().split()[2])


def sampled(tree, tid, comm=""):
    """Read a thread until it has had fifty turns on a CPU; gives the sampler and how many."""
    tree.write(tree.group / "cgroup.threads", f"{tid}\n")
    tree.write(tree.group / "cpu.stat", "usage_usec 0\n")
    before = slices(tid)
    with Sampler(Threads(cgroup=GROUP, comm=comm), tree.groups) as sampler:
        begun = slices(tid)
        while slices(tid) < begun + 50:
            time.sleep(0.01)
    return sampler, slices(tid) - before


def test_timeslices_are_how_often_a_thread_got_a_cpu(tree, sleeper):
    sampler, at_most = sampled(tree, sleeper)

    one = sampler.timeslices
    assert (one.source, one.name, one.reason) == (LAYER, "timeslices", "")
    assert 50 <= one.values[-1] <= at_most
    assert summary([one])["layer_timeslices"] == one.values[-1]


def test_timeslices_of_threads_that_were_hardly_seen_are_unknown(tree):
    tree.write(tree.group / "cgroup.threads", "")
    tree.write(tree.group / "cpu.stat", "usage_usec 0\n")

    with Sampler(THREADS, tree.groups) as sampler:
        tree.write(tree.group / "cpu.stat", "usage_usec 1000000\n")

    assert not sampler.timeslices.values
    assert "0% of the CPU time" in sampler.timeslices.reason


def test_the_little_that_was_not_seen_is_taken_for_as_many(tree):
    sampler = Sampler(THREADS, tree.groups)
    sampler._slices = {"1": (100, 580), "2": (0, 480)}

    assert sampler._counted(0.96).values[-1] == pytest.approx(1000.0)
    assert sampler._counted(1.02).values[-1] == 960.0
    assert not sampler._counted(0.94).values


def test_a_named_thread_that_ended_leaves_them_unknown(tree, sleeper):
    comm = Path(f"/proc/{sleeper}/comm").read_text().strip()
    tree.write(tree.group / "cgroup.threads", f"{sleeper}\n")
    tree.write(tree.group / "cpu.stat", "usage_usec 0\n")

    with Sampler(Threads(cgroup=GROUP, comm=comm), tree.groups) as sampler:
        tree.write(tree.group / "cgroup.threads", "")

    assert "1 of the threads ended" in sampler.timeslices.reason
