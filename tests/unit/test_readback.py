"""What a machine gives, as its own files tell it."""

import pytest

from tare.limits import readback
from tare.limits.readback import Inside
from tare.machine import Completed
from tare.model import DiskCache, Limits

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


@pytest.mark.parametrize(
    ("memory", "warned"),
    [(2**30, False), (0.86 * 2**30, False), (0.84 * 2**30, True), (1.03 * 2**30, True)],
)
def test_memory_beyond_what_a_kernel_keeps_is_worth_a_warning(memory, warned):
    found = readback.warnings(LIMITS, Inside(2, int(memory)))

    assert bool(found) is warned
    assert not warned or found[0].endswith("1024 MiB were to be given")
