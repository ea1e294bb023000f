"""Limits of the disk: fio tries to exceed each, and what the group's own counters say is held."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from contract.test_limits import CONTAINERS, EVERY, IS_V2, ROOT, SLOW, _param
from tare.core.errors import Unavailable
from tare.core.model import Limits
from tare.machines.cgroup import disk, readback
from tare.machines.machine import Host, check

pytestmark = pytest.mark.slow

CPU = str(max(EVERY))
USUAL = Limits(cpus=1, memory_bytes=2**29)
# These are refused before they are made.
WITHOUT = {"host-libvirt-lxc", "host-gvisor"}
HELD = [
    *(one for one in CONTAINERS if one.id not in WITHOUT),
    _param("host/docker", storage="volume"),
    _param("host/qemu-tcg", SLOW),
]
CASES = {
    "write": ({"disk_write_bytes_per_s": 10_000_000}, ["--rw=write", "--bs=64k"]),
    "read": ({"disk_read_bytes_per_s": 10_000_000}, ["--rw=read", "--bs=64k"]),
    "writes": ({"disk_writes_per_s": 200}, ["--rw=randwrite", "--bs=4k"]),
    "reads": ({"disk_reads_per_s": 200}, ["--rw=randread", "--bs=4k"]),
}
LEAST = {"host/qemu-tcg": 0.5}
"""What share of a limit is reached, at least: an emulated guest may not get there."""
FREE = {"host/qemu-tcg": 1.3}
"""How many times as fast it is without a limit, at least; an emulated guest is not much faster."""
ALL_OF_IT = ["if=/dev/zero", "bs=1M", "count=32", "oflag=direct"]
WINDOW_S, TRIES = 8.0, 3
"""Who else keeps this host busy can make it slower than its limit, but never faster."""
WORDS = {"write": ("Write", "wbytes", "wios"), "read": ("Read", "rbytes", "rios")}


def moved(made, way, operations):
    """Read what a stack's group has moved on all disks, by the group's own counter."""
    group = made.instances[0].holding_group(Host()).path
    v1, *v2 = WORDS[way]
    if IS_V2:
        words = (ROOT / group / "io.stat").read_text().split()
        wanted = f"{v2[operations]}="
        return sum(int(word.removeprefix(wanted)) for word in words if word.startswith(wanted))
    file = "io_serviced" if operations else "io_service_bytes"
    lines = (ROOT / "blkio" / group / f"blkio.throttle.{file}").read_text().splitlines()
    return sum(int(line.split()[2]) for line in lines if line.split()[1] == v1)


def rate(made, way, operations, options, window_s):
    """Measure from outside at what rate fio moves bytes, or does operations, as fast as it can.

    From its first on: what waits for a busy host in one moment is made good in the next.
    """
    argv = [
        "fio", "--name=exceed", f"--filename={made.workdir}/exceed", "--size=32m", "--direct=1",
        "--ioengine=libaio", "--iodepth=16", "--time_based", f"--runtime={window_s + 1:g}",
        *options,
    ]  # fmt: skip
    idle = moved(made, way, operations)
    with ThreadPoolExecutor() as threads:
        running = threads.submit(check, made.machine, argv, timeout_s=120)
        while moved(made, way, operations) == idle and not running.done():
            time.sleep(0.02)
        begin = time.monotonic()
        time.sleep(window_s)
        found = (moved(made, way, operations) - idle) / (time.monotonic() - begin)
        running.result()
    return found


@pytest.mark.parametrize("stack", HELD)
@pytest.mark.parametrize("case", CASES)
def test_direct_io_does_not_exceed_a_limit_which_can_be_taken_away(opened, stack, case):
    declared, options = CASES[case]
    ((name, number),) = declared.items()
    way, operations = case.removesuffix("s"), case.endswith("s")
    limits = replace(USUAL, **declared)
    made = opened(USUAL, *stack, cpuset=CPU)
    check(made.machine, ["dd", f"of={made.workdir}/exceed", *ALL_OF_IT], timeout_s=120)

    made.confine(limits)
    made.confine(limits)  # once more makes no difference
    inside = made.inside()
    least = LEAST.get(stack[0], 0.95) * number
    held = [rate(made, way, operations, options, WINDOW_S)]
    while held[-1] < least and len(held) < TRIES:
        held.append(rate(made, way, operations, options, WINDOW_S))
    made.confine(USUAL)
    free = rate(made, way, operations, options, WINDOW_S / 4)

    assert readback.refusals(limits, inside, made.cpuset) == []
    assert getattr(inside.group, name) == number
    assert max(held) <= 1.05 * number
    assert held[-1] >= least
    assert free > FREE.get(stack[0], 2) * number
    assert getattr(made.inside().group, name) is None


@pytest.mark.needs("root")
def test_limits_of_several_kinds_hold_at_once_and_are_exchanged(opened):
    first = replace(USUAL, disk_read_bytes_per_s=2_000_000, processes=64, cpu_weight=300)
    second = replace(USUAL, disk_writes_per_s=50, processes=32)
    made = opened(first, "host", {}, cpuset=CPU)
    before = made.inside()

    made.confine(second)
    after = made.inside()

    assert readback.refusals(first, before, made.cpuset) == []
    assert readback.refusals(second, after, made.cpuset) == []
    assert (after.group.disk_read_bytes_per_s, after.group.cpu_weight) == (None, 100)


@pytest.mark.skipif(IS_V2, reason="v2 holds the groups below too")
@pytest.mark.needs("docker")
@pytest.mark.needs("bubblewrap")
def test_groups_below_that_v1_does_not_hold_are_refused(opened):
    limits = replace(USUAL, disk_read_bytes_per_s=10_000_000)

    with pytest.raises(Unavailable, match="cgroup v1 holds no groups below it"):
        opened(limits, "host/docker/bubblewrap", {"docker": {"privileged": True}}, cpuset=CPU)


@pytest.mark.needs("root")
def test_the_disk_is_the_whole_one_below_the_filesystem(opened):
    made = opened(USUAL, "host", {}, cpuset=CPU)
    host = Host()

    found = disk.find(host, made.instances[0].files_at)

    assert Path(f"/sys/dev/block/{found}").exists()
    assert not Path(f"/sys/dev/block/{found}/partition").exists()
    # The root of the instance is an overlay, whose files are written there too.
    assert disk.find(host, f"{made.instances[0].files_at}/root") == found
    with pytest.raises(Unavailable, match="is on tmpfs, which is on no disk"):
        disk.find(host, "/dev/shm")  # noqa: S108 - only looked at
