"""CPUs that are found by what they have in common with those of the workload."""

import pytest

from tare.core.errors import Unavailable
from tare.core.model import Limits, NeighbourCpus
from tare.experiment.run.cpu_sets import missing
from tare.experiment.run.cpu_topology import related
from tare.experiment.run.instance_set import InstanceSet, Member
from tare.experiment.run.session import Session

SIBLING, CACHE, SOCKET = NeighbourCpus.SIBLING, NeighbourCpus.CACHE, NeighbourCpus.SOCKET


def tree(folder, cpus):
    """Write what a kernel says: of each CPU its siblings, its last-level cache and its socket."""
    for cpu, (siblings, cache, socket) in cpus.items():
        there = folder / f"cpu{cpu}"
        caches = {0: ("1", siblings), 1: ("1", siblings), 2: ("2", siblings), 3: ("3", cache)}
        for number, (level, shared) in caches.items():
            of = there / f"cache/index{number}"
            of.mkdir(parents=True)
            (of / "level").write_text(f"{level}\n")
            (of / "shared_cpu_list").write_text(f"{shared}\n")
        (there / "topology").mkdir()
        (there / "topology/thread_siblings_list").write_text(f"{siblings}\n")
        (there / "topology/physical_package_id").write_text(f"{socket}\n")
    return folder


SMALL = {0: ("0", "0-1", 0), 1: ("1", "0-1", 0)}
"""As on a rented machine: two cores, one cache, one socket."""
LARGE = {
    cpu: (f"{cpu % 8},{cpu % 8 + 8}", "0-3,8-11" if cpu % 8 < 4 else "4-7,12-15", cpu % 8 // 4)
    for cpu in range(16)
}
"""Two sockets of four cores with two threads each."""


@pytest.mark.parametrize(
    ("own", "to", "expected"),
    [
        ([15], SIBLING, [7]),
        ([14, 15], SIBLING, [6, 7]),
        ([15], CACHE, [14]),
        ([14, 15], CACHE, [12, 13]),
        ([15], SOCKET, [11]),
        ([14, 15], SOCKET, [10, 11]),
    ],
)
def test_cpus_are_found_by_what_they_share(tmp_path, own, to, expected):
    assert related(own, to, range(16), tree(tmp_path, LARGE)) == expected


@pytest.mark.parametrize(
    ("own", "to", "says"),
    [
        ([1], SIBLING, r"cpus: sibling: this host has none of the CPUs that a neighbour of CPU 1 "),
        ([1], SOCKET, r"cpus: socket: .* none .*: those of another socket"),
        ([0, 1], CACHE, r"cpus: cache: .* none .*CPU 0,1 would run on: those of other cores"),
    ],
)
def test_a_host_without_such_cpus_says_so(tmp_path, own, to, says):
    with pytest.raises(Unavailable, match=says):
        related(own, to, range(2), tree(tmp_path, SMALL))


def test_cpus_that_are_not_allowed_are_not_found(tmp_path):
    sys = tree(tmp_path, LARGE)

    assert related([15], CACHE, [4, 13, 15], sys) == [13]
    with pytest.raises(Unavailable, match="none"):
        related([15], SIBLING, [14, 15], sys)
    with pytest.raises(Unavailable, match="has 1 of 2 of the CPUs"):
        related([14, 15], SIBLING, [7, 14, 15], sys)


def test_threads_of_one_core_have_no_siblings_but_themselves(tmp_path):
    with pytest.raises(Unavailable, match="sibling"):
        related([7, 15], SIBLING, range(16), tree(tmp_path, LARGE))


@pytest.mark.parametrize("to", [SIBLING, CACHE, SOCKET])
def test_a_kernel_that_says_nothing_has_none(tmp_path, to):
    with pytest.raises(Unavailable, match=f"cpus: {to}"):
        related([1], to, range(2), tmp_path)


LIMITS = Limits(cpus=1, memory_bytes=2**28)


@pytest.fixture
def small(tmp_path):
    """A session on a host of two cores."""
    session = object.__new__(Session)
    session.everything, session.sys = [0, 1], tree(tmp_path, SMALL)
    return session


def test_a_session_finds_them_beside_its_numbers(small):
    assert small.cpus_under(LIMITS, 0) == [1]
    assert small.cpus_under(LIMITS, "cache") == [0]
    lacking = missing(small, LIMITS, (0, 0, 1, "cache", "sibling", "socket"))
    assert list(lacking) == ["sibling", "socket"]


def test_an_instance_set_has_no_instances_where_cpus_are_missing(small):
    one = InstanceSet(None, LIMITS, "p0")
    one.cpu_sets = (0, "sibling", "cache")
    one.missing = missing(small, LIMITS, one.cpu_sets)
    one.members = [Member(index=number, stack=None) for number in range(4)]

    assert one.opened == [0, "cache"]
    assert one.parts == 2
    found = [one.placed(number, 3) for number in range(6)]
    assert [member and member.index for member in found] == [0, None, 1, 2, None, 3]
    one.members.clear()
    assert one.placed(0, 3) is None
