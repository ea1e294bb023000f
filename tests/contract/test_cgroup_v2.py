"""Groups on cgroup v2, in a guest: it has v2 whatever this host has."""

from dataclasses import replace

import pytest

from tare.core.errors import LayerError
from tare.core.model import CpuLimit, Limits
from tare.machines.cgroup import cgroup, quota, readback
from tare.machines.cgroup import group_limits as held
from tare.machines.cgroup.group_limits import GroupLimits
from tare.machines.ledger import Scope
from tare.machines.machine import Inner, check, text

pytestmark = pytest.mark.needs("qemu")

LIMITS = Limits(cpus=1, memory_bytes=2**26)
ROOT = "/sys/fs/cgroup"


@pytest.fixture(scope="module")
def guest(place, layers_of):
    stack = place.open(layers_of("host/qemu-tcg"))
    assert stack.machine.run(["test", "-f", f"{ROOT}/cgroup.controllers"]).returncode == 0
    yield stack.machine
    stack.close()


@pytest.fixture
def scope(place):
    made = Scope(place.ledger)
    yield made
    made.close()


def exists(guest, path):
    return guest.run(["test", "-d", f"{ROOT}/{path}"]).returncode == 0


def test_a_command_in_a_group_gets_its_limits(guest, scope):
    group = cgroup.make(guest, "tare/x/y", scope, cpuset="0", limits=LIMITS)
    inside = Inner(guest, "group", group.enter_argv)

    said = text(inside, ["cat", "/proc/self/cgroup"])
    files = "cat $0/memory.max $0/memory.swap.max $0/cpuset.cpus"
    limits = inside.run(["sh", "-c", files, f"{ROOT}/tare/x/y"]).stdout.decode().split()

    assert said == "0::/tare/x/y"
    assert [limits[0], limits[-1]] == [str(2**26), "0"]
    assert set(limits[1:-1]) <= {"0"}
    assert readback.read(inside) == readback.Inside(1, 2**26)
    take = ["dd", "if=/dev/zero", "of=/dev/null", "count=1", "bs=100M"]
    assert inside.run(take).returncode == 137
    assert cgroup.of_process(inside, "self") == "tare/x/y"


def test_a_group_gets_its_quota_and_its_swap(guest, scope):
    limits = replace(LIMITS, cpu_limit=CpuLimit.QUOTA, swap_bytes=2**20)
    group = cgroup.make(guest, "tare/q/y", scope, cpuset="0", limits=limits)
    files = "cat $0/cpu.max $0/memory.max $0/memory.swap.max"

    said = guest.run(["sh", "-c", files, f"{ROOT}/{group.path}"]).stdout.decode().splitlines()

    assert said == ["100000 100000", str(2**26), str(2**20)]
    # A guest has no swap device: what it may swap is what there is.
    assert held.read_group(guest, group.path) == GroupLimits(quota_cpus=1.0, swap_bytes=0)
    check(guest, ["sh", "-c", "echo 50000 100000 > $0/cpu.max", f"{ROOT}/tare/q"])
    assert held.read_group(guest, group.path).quota_cpus == 0.5
    quota.set_quota(guest, group.path, 0.25)
    assert held.read_group(guest, group.path).quota_cpus == 0.25
    quota.set_quota(guest, group.path, None)
    assert held.read_group(guest, group.path).quota_cpus == 0.5, "that of the group around"
    other = cgroup.make(guest, "tare/free", scope, cpuset="0", limits=LIMITS)
    assert held.read_group(guest, other.path) == GroupLimits()


def test_removing_a_group_kills_what_is_in_it_and_below_even_frozen(guest, scope):
    group = cgroup.make(guest, "tare/z", scope)
    below = cgroup.make(guest, "tare/z/below", scope)
    for each in (below,):
        check(guest, each.enter_argv(["sh", "-c", "setsid sleep 4321.5 > /dev/null 2>&1 &"]))
    check(guest, ["sh", "-c", f"echo 1 > {ROOT}/{group.path}/cgroup.freeze"])

    check(guest, ["sh", "-c", cgroup.REMOVE, group.path])

    lines = text(guest, ["sh", "-c", "cat /proc/[0-9]*/cmdline 2> /dev/null; true"])
    assert "4321.5" not in lines
    assert not exists(guest, "tare")
    check(guest, ["sh", "-c", cgroup.REMOVE, group.path])


def test_a_neighbour_keeps_the_group_above(guest, scope):
    cgroup.make(guest, "tare/stays", scope)
    goes = Scope(scope.ledger)
    cgroup.make(guest, "tare/goes", goes)

    goes.close()

    assert exists(guest, "tare/stays")
    assert not exists(guest, "tare/goes")


def test_limits_that_cannot_be_given_say_so_and_leave_nothing(guest, scope):
    with pytest.raises(LayerError, match="could not make the cgroup tare/w on"):
        cgroup.make(guest, "tare/w", scope, cpuset="77", limits=LIMITS)

    scope.close()
    assert not exists(guest, "tare/w")


def test_a_group_is_held_to_other_cpus_later(guest, scope):
    group = cgroup.make(guest, "tare/h", scope)

    group.hold("0")

    assert text(guest, ["cat", f"{ROOT}/tare/h/cpuset.cpus"]) == "0"


def test_optional_limits_are_given_exchanged_and_taken_away(guest, scope):
    group = cgroup.make(guest, "tare/o/y", scope, cpuset="0", limits=LIMITS)
    some = {"processes": "20", "cpu_weight": "300", "disk_writes_per_s": "50"}
    held.apply_limits(guest, group.path, {**some, "disk_read_bytes_per_s": "20000"}, "/var")
    first = held.read_group(guest, group.path)
    none = {"processes": "none", "cpu_weight": "none", "disk_read_bytes_per_s": "none"}

    held.apply_limits(guest, group.path, {**none, "disk_writes_per_s": "60"}, "/var")
    second = held.read_group(guest, group.path)
    held.apply_limits(guest, group.path, {"disk_writes_per_s": "none"}, "/var")

    assert (first.processes, first.cpu_weight) == (20, 300)
    assert (first.disk_writes_per_s, first.disk_read_bytes_per_s) == (50, 20000)
    assert second == GroupLimits(disk_writes_per_s=60)
    assert held.read_group(guest, group.path) == GroupLimits()


def test_direct_io_of_a_group_and_those_below_does_not_exceed_its_limit(guest, scope):
    group = cgroup.make(guest, "tare/d", scope)
    below = cgroup.make(guest, "tare/d/below", scope)
    held.apply_limits(guest, group.path, {"disk_write_bytes_per_s": "1000000"}, "/var/tmp")  # noqa: S108
    write = ["dd", "if=/dev/zero", "of=/var/tmp/exceed", "bs=64k", "count=64", "oflag=direct"]

    took_s = check(guest, below.enter_argv(write)).duration_s

    assert held.read_group(guest, below.path).disk_write_bytes_per_s == 1_000_000
    # Somewhat less than 4.2 s, for a limit lets what has been saved in the last 0.1 s go at once.
    assert took_s > 64 * 2**16 / 1_050_000
