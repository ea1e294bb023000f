"""CPU time and run-queue delay of a group's threads, on a made-up tree with a real busy process."""

import subprocess
import time
from pathlib import Path

import pytest

from tare.layer import Threads
from tare.monitors.threads import Sampler

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
