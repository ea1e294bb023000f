"""CPU time and run-queue delay of a group's threads, on a made-up tree with a real busy process."""

import subprocess
import time
from pathlib import Path

import pytest

from tare.experiment.probes.threads import (
    ELAPSED_SHARE,
    LEAST_S,
    MOST_S,
    READING_SHARE,
    Sampler,
    period_s,
)
from tare.machines.instance import Threads

WORK_S = 0.1
PATIENCE_S = 60.0
LOOP = ["/bin/sh", "-c", "while :; do :; done"]


class Tree:
    """A cgroup hierarchy of plain files, v1 or v2."""

    def __init__(self, root, version):
        self.root, self.version = root, version
        self.group = root / ("" if version == 2 else "cpuacct") / "tare/x"
        (self.group / "below").mkdir(parents=True)
        if version == 2:
            (root / "cgroup.controllers").touch()
        self.tasks = "cgroup.threads" if version == 2 else "tasks"
        for folder in (self.group, self.group / "below"):
            (folder / self.tasks).touch()
        self.use(1.0)

    def use(self, cpu_s):
        if self.version == 2:
            text = f"usage_usec {int(cpu_s * 1e6)}\nuser_usec 0\n"
            (self.group / "cpu.stat").write_text(text)
        else:
            (self.group / "cpuacct.usage").write_text(f"{int(cpu_s * 1e9)}\n")


def used_s(pid):
    """Read how much CPU time a process has had."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def work(pid, more_s=WORK_S):
    """Wait until a busy process has had more CPU time, however long a loaded host takes for it."""
    target, deadline = used_s(pid) + more_s, time.monotonic() + PATIENCE_S
    while used_s(pid) < target:
        assert time.monotonic() < deadline, "a busy loop gets no CPU time here"
        time.sleep(0.01)


@pytest.fixture
def busy():
    with subprocess.Popen(LOOP) as process:
        # Popen returns once exec has closed its pipe, a moment before the process has its new name.
        while Path(f"/proc/{process.pid}/comm").read_text() != "sh\n":
            time.sleep(0.001)
        yield str(process.pid)
        process.kill()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("where", ["", "below"])
def test_a_busy_process_is_seen_in_a_group_and_below(tmp_path, busy, version, where):
    tree = Tree(tmp_path, version)
    (tree.group / where / tree.tasks).write_text(f"{busy}\n999999999\n")

    with Sampler(Threads(cgroup="tare/x"), root=tmp_path) as sampler:
        work(busy)
        tree.use(1001.0)

    cost = sampler.cost
    assert WORK_S <= cost.cpu_s <= used_s(busy)
    assert cost.all_cpu_s == pytest.approx(1000.0)
    assert cost.coverage == pytest.approx(cost.cpu_s / cost.all_cpu_s)
    assert cost.threads == 1


def test_a_process_that_comes_later_is_seen_from_its_beginning(tmp_path):
    tree = Tree(tmp_path, 2)

    with Sampler(Threads(cgroup="tare/x"), root=tmp_path) as sampler:
        process = subprocess.Popen(LOOP)
        work(process.pid)
        before_s = used_s(process.pid)
        (tree.group / tree.tasks).write_text(f"{process.pid}\n")
        tree.use(1001.0)

    assert before_s <= sampler.cost.cpu_s <= used_s(process.pid)
    process.kill()
    process.wait()


def test_only_threads_of_the_name_are_measured_and_in_full(tmp_path, busy):
    tree = Tree(tmp_path, 1)
    (tree.group / tree.tasks).write_text(f"{busy}\n")

    def sampled(comm):
        with Sampler(Threads(cgroup="tare/x", comm=comm), root=tmp_path) as sampler:
            work(busy)
            tree.use(9.0)
        tree.use(1.0)
        return sampler.cost

    named, other = sampled("sh"), sampled("CPU ")
    assert (named.threads, named.coverage) == (1, 1.0)
    assert (other.threads, other.cpu_s, other.coverage) == (0, 0.0, 1.0)
    assert other.all_cpu_s == pytest.approx(8.0)


def test_a_group_that_is_not_there_gives_nothing(tmp_path):
    with Sampler(Threads(cgroup="tare/none"), root=tmp_path) as sampler:
        pass

    assert (sampler.cost.cpu_s, sampler.cost.all_cpu_s, sampler.cost.threads) == (0.0, 0.0, 0)
    assert sampler.with_foreign_work(5.0, 1).foreign_delay_s is None


def test_before_the_end_there_is_no_cost():
    assert Sampler(Threads(cgroup="tare/none")).with_foreign_work(5.0, 1) is None


@pytest.mark.parametrize("version", [1, 2])
def test_a_quota_of_the_group_or_below_is_read(tmp_path, version):
    tree = Tree(tmp_path, version)
    limited = tmp_path / ("" if version == 2 else "cpu") / "tare/x"

    def throttle(seconds):
        line = f"throttled_usec {int(seconds * 1e6)}"
        if version == 1:
            line = f"throttled_time {int(seconds * 1e9)}"
        for folder in (limited, limited / "below"):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "cpu.stat").write_text(f"usage_usec 0\nnr_periods 9\n{line}\n")

    tree.use(1.0)
    throttle(100.0)
    with Sampler(Threads(cgroup="tare/x"), root=tmp_path) as sampler:
        throttle(100.25)

    assert sampler.cost.throttled_s == pytest.approx(0.5)


def test_a_thread_that_was_there_before_counts_over_the_whole_command(tmp_path, busy):
    tree = Tree(tmp_path, 2)
    (tree.group / tree.tasks).write_text(f"{busy}\n")

    with Sampler(Threads(cgroup="tare/x"), root=tmp_path) as lasting:
        work(busy)
    (tree.group / tree.tasks).write_text("")
    with Sampler(Threads(cgroup="tare/x"), root=tmp_path) as born:
        (tree.group / tree.tasks).write_text(f"{busy}\n")
        work(busy)

    assert (lasting.cost.lasting, lasting.cost.workers) == (True, 1)
    assert (born.cost.lasting, born.cost.workers) == (False, 1)


def test_wall_time_is_cpu_time_and_delay_of_a_thread_that_never_sleeps(tmp_path, busy):
    """Wall = cpu + delay + blocked (METHOD.md 2.7); a wait is counted when it has ended."""
    tree = Tree(tmp_path, 2)
    (tree.group / tree.tasks).write_text(f"{busy}\n")
    open_s, deadline = [], time.monotonic() + PATIENCE_S
    while not open_s or min(open_s) > 0.01:
        assert time.monotonic() < deadline, f"never closes: {open_s}"
        begin = time.perf_counter()
        with Sampler(Threads(cgroup="tare/x"), root=tmp_path) as sampler:
            work(busy, 0.05)
        took_s = time.perf_counter() - begin
        open_s.append(abs(took_s - sampler.cost.cpu_s - sampler.cost.run_delay_s))


def test_what_others_took_is_the_busy_time_that_is_not_the_platforms(tmp_path, busy):
    tree = Tree(tmp_path, 2)
    (tree.group / tree.tasks).write_text(f"{busy}\n")

    def sampled(unseen_s):
        tree.use(1.0)
        with Sampler(Threads(cgroup="tare/x"), root=tmp_path) as sampler:
            before_s = used_s(busy)
            work(busy)
            tree.use(1.0 + used_s(busy) - before_s + unseen_s)
        return sampler

    sampler = sampled(0.0)
    own_s = sampler.cost.all_cpu_s
    assert sampler.with_foreign_work(own_s - 0.05, 1).foreign_cpu_s == 0.0
    seen = sampler.with_foreign_work(own_s + 100.0, 1)
    assert seen.foreign_cpu_s == pytest.approx(100.0)
    assert seen.foreign_delay_s == seen.run_delay_s
    # Where most of the CPU time is that of threads nobody saw, so may be most of the waiting.
    assert sampled(10.0).with_foreign_work(own_s + 100.0, 1).foreign_delay_s is None


def test_one_worker_whose_tool_tells_its_time_needs_not_be_seen_to_its_end(tmp_path, busy):
    tree = Tree(tmp_path, 2)
    with Sampler(Threads(cgroup="tare/x"), root=tmp_path) as sampler:
        (tree.group / tree.tasks).write_text(f"{busy}\n")
        work(busy)
        tree.use(1.0 + 10.0)

    assert sampler.cost.coverage < 0.9
    assert sampler.with_foreign_work(100.0, 1).foreign_delay_s is None
    assert sampler.with_foreign_work(100.0, 1, 30.0).foreign_delay_s == pytest.approx(20.0, abs=1.0)


def test_reading_is_done_as_often_as_it_is_cheap():
    assert period_s(0.0, 60) == LEAST_S
    assert period_s(READING_SHARE * 0.02, 60) == pytest.approx(0.02)
    assert period_s(1.0, 1) == MOST_S
    assert period_s(1.0, 60) == pytest.approx(ELAPSED_SHARE * 60)
    assert period_s(READING_SHARE * 0.2, 60) == pytest.approx(0.2)
