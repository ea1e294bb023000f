"""Limits other than pinned CPUs: a quota that cannot be exceeded, none at all, and swap.

What layers promise of pinned CPUs and memory is in test_layer.py.
"""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tare.core.model import CpuLimit, Limits
from tare.machines.cgroup import cgroup, readback
from tare.machines.machine import check, text
from tare.machines.stack import Stack

SWAP = 2**28
QUOTA = Limits(cpus=1, memory_bytes=2**29, cpu_limit=CpuLimit.QUOTA, swap_bytes=SWAP)
NONE = replace(QUOTA, cpu_limit=CpuLimit.NONE, swap_bytes=0)
EVERY = sorted(os.sched_getaffinity(0))
ROOT = Path("/sys/fs/cgroup")
IS_V2 = (ROOT / "cgroup.controllers").exists()
BUSY_S = 2.0
# One loop more than there are CPUs to be had; none of them outlives the command.
LOOPS = r"""
for loop in $(seq $(($0 + 1))); do timeout "$1" sh -c 'while :; do :; done' & done
wait
"""


def _param(stack, *marks, **settings):
    path = stack.split("/")
    marked = [pytest.mark.needs(one) for one in path[1:] or ["root"]]
    name = "-".join([*path, *(str(one).split(":")[0] for one in settings.values())])
    inner = {path[1]: settings} if settings else {}
    return pytest.param((stack, inner), id=name, marks=[*marked, *marks])


SLOW = pytest.mark.slow
CONTAINERS = [
    _param("host"),
    *(
        _param(f"host/{name}")
        for name in ("docker", "podman", "lxc", "nspawn", "gvisor", "bubblewrap")
    ),
    _param("host/libvirt", uri="lxc:///system"),
]
GUESTS = [
    _param("host/uml"),
    _param("host/kvm", SLOW),
    _param("host/qemu-tcg", SLOW),
    _param("host/libvirt", SLOW, type="qemu"),
]
NESTED = [
    _param("host/docker/bubblewrap", privileged=True),
    _param("host/qemu-tcg/docker", SLOW),
]

pytestmark = pytest.mark.skipif(len(EVERY) < 2, reason="one CPU only: no quota of it is a limit")


def used_s(group):
    """Read the CPU time that a group has used, by its own counter."""
    if IS_V2:
        return int((ROOT / group / "cpu.stat").read_text().split()[1]) / 1e6
    return int((ROOT / "cpuacct" / group / "cpuacct.usage").read_text()) / 1e9


def share(used, lasted_s, cpus):
    """Divide the CPU time that was used by that of some CPUs, in whole periods of the quota."""
    periods = lasted_s // 0.1 + 1
    return used / (periods * 0.1 * cpus)


@pytest.mark.parametrize("stack", [*CONTAINERS, *GUESTS, *NESTED])
def test_a_quota_is_read_back_and_more_loops_than_cpus_do_not_exceed_it(opened, stack):
    made = opened(QUOTA, *stack)
    group = made.threads().cgroup

    inside = made.inside()
    before, begin = used_s(group), time.monotonic()
    check(made.machine, ["sh", "-c", LOOPS, str(QUOTA.cpus), f"{BUSY_S:g}"], timeout_s=60)
    used, lasted_s = used_s(group) - before, time.monotonic() - begin

    assert inside.quota_cpus == QUOTA.cpus
    assert readback.refusals(QUOTA, inside, made.cpuset) == []
    assert share(used, lasted_s, QUOTA.cpus) <= 1.05
    assert used > 0.1, "the loops ran outside the group"


@pytest.mark.parametrize("stack", [*CONTAINERS, *GUESTS])
def test_without_a_limit_there_is_no_quota_and_the_host_places_it_on_all_cpus(opened, stack):
    made = opened(NONE, *stack)

    inside = made.inside()
    is_guest = any(stack is one.values[0] for one in GUESTS)
    tree = ROOT if IS_V2 else ROOT / "cpuset"
    cpus = "cpuset.cpus.effective" if IS_V2 else "cpuset.cpus"
    allowed = (tree / made.threads().cgroup / cpus).read_text()

    assert inside.quota_cpus is None
    assert inside.cpus == (NONE.cpus if is_guest else len(EVERY))
    assert readback.refusals(NONE, inside, made.cpuset) == []
    assert bool(readback.warnings(NONE, inside)) == (not is_guest)
    assert cgroup.cpus_of(allowed) == EVERY
    if not is_guest:
        assert text(made.machine, ["nproc"]) == str(len(EVERY))


@pytest.mark.parametrize("stack", CONTAINERS)
def test_swap_is_allowed_beside_the_memory_by_the_groups_own_limit(opened, stack):
    made = opened(QUOTA, *stack)
    group = made.instances[-1].container.path if stack[0] == "host/lxc" else made.threads().cgroup

    if IS_V2:
        limit = int((ROOT / group / "memory.swap.max").read_text())
    else:
        memory = ROOT / "memory" / group
        both = int((memory / "memory.memsw.limit_in_bytes").read_text())
        limit = both - int((memory / "memory.limit_in_bytes").read_text())

    assert limit == SWAP
    there = sum(int(line.split()[2]) for line in Path("/proc/swaps").read_text().splitlines()[1:])
    missing = there * 1024 < SWAP
    assert bool(readback.warnings(QUOTA, made.inside())) == missing


# --- that these can fail


def test_twice_the_quota_is_found():
    assert share(2.05, 2.05, 1) < 1.05
    assert share(2.2, 2.05, 1) < 1.05  # a window may touch a period more at either end
    assert share(2.25, 2.05, 1) > 1.05
    assert share(4.0, 2.05, 1) > 1.05


@pytest.mark.needs("root")
def test_a_layer_that_gives_no_quota_is_refused(opened, monkeypatch):
    made = opened(NONE, "host", {})

    (said,) = readback.refusals(QUOTA, made.inside(), made.cpuset)
    assert said == "it has no quota, a quota of 1 CPUs was to be given"
    assert isinstance(made, Stack)
