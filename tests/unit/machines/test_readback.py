"""What a machine gives, as its own files tell it."""

from dataclasses import replace

import pytest

from tare.core.completed import Completed
from tare.core.model import CpuLimit, DiskCache, Limits
from tare.machines.cgroup import readback
from tare.machines.cgroup.readback import Inside

LIMITS = Limits(cpus=2, memory_bytes=2**30)


class Prints:
    """A machine on which every command prints the same."""

    name, ephemeral = "host/x", True

    def __init__(self, said):
        self.said = said

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        return Completed(tuple(argv), 0, self.said.encode(), b"", 0.0)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param("cpus 2\ntotal 25276502016\nlimit 1073741824\n", 2**30, id="v1 container"),
        pytest.param("cpus 2\ntotal 2.52765e+10\nlimit max\n", 25276500000, id="v2 without limit"),
        pytest.param(
            "cpus 2\ntotal 1000000000\nlimit 9223372036854771712\n", 10**9, id="v1 without limit"
        ),
        pytest.param("cpus 2\ntotal 1000000000\n", 10**9, id="guest without the controller"),
    ],
)
def test_the_smaller_of_memory_and_limit_counts(said, expected):
    assert readback.read(Prints(said)) == Inside(2, expected)


def test_the_cache_of_the_disk_is_passed_on():
    said = Prints("cpus 1\ntotal 5\n")

    assert readback.read(said, DiskCache.NONE) == Inside(1, 5, DiskCache.NONE)


@pytest.mark.parametrize(
    ("inside", "complaints"),
    [
        (Inside(2, 2**30), []),
        (Inside(2, 2**30, DiskCache.NONE), []),
        (Inside(4, 2**30), ["4 CPUs inside, 2 were to be given"]),
        (Inside(2, 2**30, DiskCache.WRITEBACK), ["disk cache mode is writeback, not none"]),
    ],
)
def test_what_makes_a_comparison_worthless_is_refused(inside, complaints):
    assert readback.refusals(LIMITS, inside) == complaints


QUOTA = replace(LIMITS, cpu_limit=CpuLimit.QUOTA)
NONE = replace(LIMITS, cpu_limit=CpuLimit.NONE)


@pytest.mark.parametrize(
    ("limits", "inside", "complaints"),
    [
        (QUOTA, Inside(4, 2**30, quota_cpus=2.0), []),
        (NONE, Inside(4, 2**30), []),
        (
            QUOTA,
            Inside(4, 2**30),
            ["it has no quota, a quota of 2 CPUs was to be given"],
        ),
        (
            QUOTA,
            Inside(4, 2**30, quota_cpus=1.5),
            ["it has a quota of 1.5 CPUs, a quota of 2 CPUs was to be given"],
        ),
        (
            NONE,
            Inside(4, 2**30, quota_cpus=2.0),
            ["it has a quota of 2 CPUs, no quota was to be given"],
        ),
        (
            LIMITS,
            Inside(2, 2**30, quota_cpus=1.5),
            ["it has a quota of 1.5 CPUs, no quota was to be given"],
        ),
        (LIMITS, Inside(2, 2**30, quota_cpus=2.0), []),
        (NONE, Inside(1, 2**30), ["1 CPUs inside, 4 were to be given"]),
        (QUOTA, Inside(2, 2**30, quota_cpus=2.0), ["2 CPUs inside, 4 were to be given"]),
    ],
)
def test_a_quota_is_given_where_asked_and_nowhere_else_on_all_cpus(limits, inside, complaints):
    cpuset = "0-3" if not limits.is_pinned else "2-3"
    assert readback.refusals(limits, inside, cpuset) == complaints


def test_a_guest_has_as_many_virtual_cpus_as_the_limits_whatever_holds_them():
    assert readback.refusals(NONE, Inside(2, 2**30), "0-1") == []
    assert readback.refusals(NONE, Inside(4, 2**30), "0-1") == ["4 CPUs inside, 2 were to be given"]
    assert readback.refusals(NONE, Inside(1, 2**30), "0") == ["1 CPUs inside, 2 were to be given"]


def test_more_cpus_than_a_guest_would_have_are_a_warning_where_nothing_holds_it_to_them():
    (said,) = readback.warnings(NONE, Inside(4, 2**30))

    assert said == "under cpu_limit: none it may use 4 CPUs, where a virtual machine has 2"
    assert readback.warnings(NONE, Inside(2, 2**30)) == []
    assert readback.warnings(QUOTA, Inside(4, 2**30, quota_cpus=2.0)) == []


@pytest.mark.parametrize(
    ("asked", "there", "warned"),
    [
        (0, 0, []),
        (2**31, 2**31, []),
        (2**31, 0, ["0 MiB of swap inside, 2048 MiB were to be given"]),
        (0, 2**30, ["1024 MiB of swap inside, 0 MiB were to be given"]),
    ],
)
def test_other_swap_than_asked_is_a_warning(asked, there, warned):
    limits = replace(LIMITS, swap_bytes=asked)
    assert readback.warnings(limits, Inside(2, 2**30, swap_bytes=there)) == warned


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param("swap 2147483648\nswap_limit max", 2**31, id="no limit"),
        pytest.param("swap 2147483648\nswap_limit 1048576", 2**20, id="limit below the swap"),
        pytest.param("swap 0\nswap_limit 1048576", 0, id="host without swap"),
        pytest.param("swap 2147483648", 2**31, id="kernel that does not account for it"),
        pytest.param("swap 2147483648\nswap_limit 0", 0, id="none is allowed"),
    ],
)
def test_the_smaller_of_swap_and_its_limit_counts(said, expected):
    machine = Prints(f"cpus 1\ntotal 5\n{said}\n")
    assert readback.read(machine).swap_bytes == expected


@pytest.mark.parametrize(
    ("memory", "warned"),
    [(2**30, False), (0.86 * 2**30, False), (0.84 * 2**30, True), (1.03 * 2**30, True)],
)
def test_memory_beyond_what_a_kernel_keeps_is_worth_a_warning(memory, warned):
    found = readback.warnings(LIMITS, Inside(2, int(memory)))

    assert bool(found) is warned
    assert not warned or found[0].endswith("1024 MiB were to be given")
