"""Control groups: what is run, and how a process's group is found. The scripts run for real in
tests/contract.
"""

import json
import os
import subprocess

import pytest

from tare.core.completed import Completed
from tare.core.errors import LayerError, Unavailable
from tare.core.model import CpuLimit, Limits
from tare.machines.cgroup import cgroup
from tare.machines.cgroup import group_limits as held
from tare.machines.cgroup.group_limits import GroupLimits
from tare.machines.ledger import Ledger, Scope, leftovers


class Fake:
    """Answers as told and keeps what it was asked."""

    name, ephemeral = "host", False

    def __init__(self, stdout=b"", returncode=0):
        self.answer, self.asked = (returncode, stdout, b"no such controller", 0.0), []

    def host_argv(self, argv):
        return list(argv)

    def undo_argv(self, argv):
        return list(argv)

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.asked.append(list(argv))
        return Completed(tuple(argv), *self.answer)


@pytest.fixture
def scope(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    yield Scope(ledger)
    ledger.close()


@pytest.mark.parametrize(
    ("listing", "group"),
    [
        pytest.param(
            b"5:memory:/other\n3:cpu,cpuacct:/tare/x\n0::/init\n", "tare/x", id="v1 and hybrid"
        ),
        pytest.param(b"0::/system.slice/docker-1.scope\n", "system.slice/docker-1.scope", id="v2"),
        pytest.param(b"0::/with:colon\n", "with:colon", id="a colon in the path"),
        pytest.param(b"2:cpuacct:/\n0::/\n", "", id="the root"),
    ],
)
def test_the_group_that_counts_cpu_time_is_found(listing, group):
    machine = Fake(listing)

    assert cgroup.of_process(machine, "12") == group
    assert machine.asked == [["cat", "/proc/12/cgroup"]]


def test_limits_reach_the_script_as_arguments(scope):
    machine = Fake()

    group = cgroup.make(
        machine, "tare/x", scope, cpuset="1-2", limits=Limits(cpus=2, memory_bytes=2**30)
    )
    group.hold("3")

    assert [argv[3:] for argv in machine.asked] == [
        ["make-cgroup", "tare/x", "1-2", str(2**30), "0", ""],
        ["make-cgroup", "tare/x", "3", "", "", ""],
    ]
    assert group.enter_argv(["a b"])[3:] == ["tare/x", "a b"]


def test_a_quota_and_swap_reach_the_script_and_a_quota_alone_leaves_the_memory(scope):
    machine = Fake()
    limits = Limits(cpus=2, memory_bytes=2**30, cpu_limit=CpuLimit.QUOTA, swap_bytes=2**31)

    cgroup.make(machine, "tare/x", scope, cpuset="0-3", limits=limits).hold("0-3", 2)

    swap, made, held = machine.asked
    assert cgroup.COUNTS_SWAP in swap
    assert made[3:] == ["make-cgroup", "tare/x", "0-3", str(2**30), str(2**31), "2"]
    assert held[3:] == ["make-cgroup", "tare/x", "0-3", "", "", "2"]


def test_swap_that_the_kernel_does_not_account_for_is_unavailable_and_nothing_is_made(scope):
    swap = Limits(cpus=1, memory_bytes=2**30, swap_bytes=1)

    with pytest.raises(Unavailable, match="the kernel of host does not account for swap") as caught:
        cgroup.make(Fake(returncode=1), "tare/x", scope, limits=swap)

    assert "swapaccount=1" in str(caught.value)
    assert leftovers(scope.ledger.path) == []


def test_what_holds_a_group_is_the_smallest_quota_around_it_and_the_swap_there_is():
    told = b"quota 200000 100000\nquota 150000 50000\nswap 1048576\nswap 4.29497e+09\n"

    assert held.read_group(Fake(told), "tare/x") == GroupLimits(quota_cpus=2.0, swap_bytes=2**20)
    assert held.read_group(Fake(b""), "tare/x") == GroupLimits()
    with pytest.raises(LayerError, match="cgroup tare/x on host cannot be read"):
        held.read_group(Fake(returncode=1), "tare/x")


def test_a_group_that_cannot_be_made_is_in_the_ledger_all_the_same(scope):
    with pytest.raises(LayerError, match=r"could not make the cgroup tare/x on host: .*controller"):
        cgroup.make(Fake(returncode=1), "tare/x", scope)

    assert [left.name for left in leftovers(scope.ledger.path)] == ["tare/x"]


def test_what_boots_may_use_all_cpus_although_its_session_keeps_to_one():
    every = os.sched_getaffinity(0)
    show = ["python3", "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]
    kept_to_one = ["taskset", "--cpu-list", str(min(every))]

    *_, script = cgroup.Group(Fake(), "tare/x").boot_argv([])
    done = subprocess.run(
        [*kept_to_one, "sh", "-c", script, *show], capture_output=True, text=True, check=True
    )

    assert set(json.loads(done.stdout)) >= every


def test_a_list_of_cpus_is_read_as_the_kernel_writes_it():
    assert cgroup.cpus_of("0-2,5\n") == [0, 1, 2, 5]
    assert cgroup.cpus_of("3") == [3]
    with pytest.raises(ValueError, match="invalid literal"):
        cgroup.cpus_of("")
