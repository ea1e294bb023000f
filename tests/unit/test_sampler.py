"""CPU time and run-queue delay of a group's threads, on a made-up tree with a real busy process."""

import subprocess
import time

import pytest

from tare.layer import Threads
from tare.monitors.threads import Sampler

BUSY_S = 0.4
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


@pytest.fixture
def busy():
    with subprocess.Popen(LOOP) as process:
        yield str(process.pid)
        process.kill()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("where", ["", "below"])
def test_a_busy_process_is_seen_in_a_group_and_below(tmp_path, busy, version, where):
    tree = Tree(tmp_path, version)
    (tree.group / where / tree.tasks).write_text(f"{busy}\n999999999\n")

    with Sampler(Threads(cgroup="tare/x"), root=tmp_path) as sampler:
        time.sleep(BUSY_S)
        tree.use(1.0 + 2 * BUSY_S)

    cost = sampler.cost
    assert 0.8 * BUSY_S < cost.cpu_s + cost.run_delay_s < 2 * BUSY_S
    assert cost.all_cpu_s == pytest.approx(2 * BUSY_S)
    assert cost.coverage == pytest.approx(cost.cpu_s / cost.all_cpu_s)
    assert cost.threads == 1


def test_a_process_that_comes_later_is_seen_from_its_beginning(tmp_path):
    tree = Tree(tmp_path, 2)

    with Sampler(Threads(cgroup="tare/x"), root=tmp_path) as sampler:
        with subprocess.Popen(LOOP) as process:
            try:
                (tree.group / tree.tasks).write_text(f"{process.pid}\n")
                time.sleep(BUSY_S)
            finally:
                process.kill()
        tree.use(1.0 + BUSY_S)

    assert 0.6 * BUSY_S < sampler.cost.cpu_s + sampler.cost.run_delay_s < 2 * BUSY_S


def test_only_threads_of_the_name_are_measured_and_in_full(tmp_path, busy):
    tree = Tree(tmp_path, 1)
    (tree.group / tree.tasks).write_text(f"{busy}\n")

    def sampled(comm):
        with Sampler(Threads(cgroup="tare/x", comm=comm), root=tmp_path) as sampler:
            time.sleep(0.1)
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
