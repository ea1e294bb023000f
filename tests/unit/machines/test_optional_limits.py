"""Optional limits: who offers them, how a group is given them and read back, what a study shows.

That they hold is shown in tests/contract/test_optional_limits.py.
"""

from dataclasses import asdict, replace

import pytest

from tare.core.errors import LayerError, Unavailable
from tare.core.model import Limits
from tare.core.model.cell import OPTIONAL
from tare.machines import layer
from tare.machines.cgroup import disk, readback
from tare.machines.cgroup.group_limits import APPLY, READ, GroupLimits, apply_limits, read_group
from tare.machines.cgroup.readback import Inside
from tare.machines.instance import Instance, Threads
from tare.machines.stack import Stack
from tare.present.view.names import limits_text
from unit.fakes import Fake

USUAL = Limits(cpus=1, memory_bytes=2**30)
SETTINGS = {
    "ssh": {"address": "192.0.2.1"},
    "vsphere": {"host": "vc", "user": "u", "password_file": "/p", "vm": "one"},
}
WITHOUT_GROUP = {"ssh", "vsphere", "xen"}
WITHOUT_WRITES = ["", "", "", "none"]
GUESTS = {"gvisor", "kvm", "libvirt", "qemu", "qemu-tcg", "uml"}


def limited(**values):
    return replace(USUAL, **values)


class Opened(Instance):
    def __init__(self, threads):
        self._threads, self.machine = threads, Fake()

    def start(self):
        pass

    def ready(self):
        pass

    def inside(self):
        return Inside(1, 2**30)

    def threads(self):
        return self._threads


# --- declared and undeclared


def test_undeclared_limits_are_neither_shown_nor_applied():
    host = Fake()
    Stack(host, instances=[Opened(Threads(cgroup="tare/x"))]).confine(USUAL)

    assert USUAL.optional == ()
    assert host.asked == []
    assert {asdict(USUAL)[name] for name in OPTIONAL} == {None}
    assert limits_text(USUAL) == "1 CPU, 1 GiB, disk cache none"


def test_declared_limits_are_shown():
    assert limits_text(limited(processes=64)).endswith(", processes 64")


# --- who offers them


@pytest.mark.parametrize("name", layer.names())
def test_processes_are_limited_where_a_group_counts_them(name):
    made = layer.load(name, **SETTINGS.get(name, {}))

    why = made.lacks(limited(processes=64))

    if name in WITHOUT_GROUP:
        assert why == f"no control group holds what {name} makes, so nothing limits its processes"
    elif name in GUESTS:
        assert why == (f"no control group counts the processes of {name}, which has its own kernel")
    else:
        assert why == ""


@pytest.mark.parametrize(
    ("name", "settings", "offered"),
    [
        ("docker", {"runtime": "runsc"}, False),
        ("docker", {"runtime": "kata"}, False),
        ("docker", {"runtime": "crun"}, True),
        ("libvirt", {"uri": "lxc:///system"}, True),
        ("libvirt", {"uri": "xen:///system"}, False),
    ],
)
def test_whether_processes_are_limited_depends_on_the_settings(name, settings, offered):
    assert (layer.load(name, **settings).lacks(limited(processes=64)) == "") == offered


@pytest.mark.parametrize("name", layer.names())
def test_a_weight_is_given_to_guests_too_but_not_to_domains_of_libvirts(name):
    made = layer.load(name, **SETTINGS.get(name, {}))

    assert (made.lacks(limited(cpu_weight=300)) == "") == (name not in {*WITHOUT_GROUP, "libvirt"})


# --- applied and read back


def test_the_group_of_the_outermost_instance_is_limited():
    host = Fake()
    instances = [Opened(Threads(cgroup="tare/outer")), Opened(Threads(cgroup="tare/inner"))]

    Stack(host, instances=instances).confine(limited(processes=64))

    (asked,) = host.asked
    assert asked[:5] == ["sh", "-c", APPLY, "tare/outer", "64"]
    assert instances[0].machine.asked == []


def test_an_instance_without_a_group_is_refused():
    with pytest.raises(Unavailable, match="leave processes out of `limits:`"):
        Stack(Fake(), instances=[Opened(None)]).confine(limited(processes=64))


@pytest.mark.parametrize(("status", "kind"), [(3, Unavailable), (1, LayerError)])
def test_a_group_that_takes_no_limit_is_an_error_with_its_words(status, kind):
    machine = Fake(**{APPLY: (status, b"", b"it is no group of the pids controller")})

    with pytest.raises(kind, match="tare/x on host cannot be limited: it is no group of"):
        apply_limits(machine, "tare/x", {"processes": "64"}, "/var")


@pytest.mark.parametrize(
    ("said", "weight"), [(b"weight 300\n", 300), (b"weight 100\n", 100), (b"", 100)]
)
def test_a_weight_that_cannot_be_seen_is_the_default(said, weight):
    group = read_group(Fake(**{READ: (0, said)}), "tare/x")

    assert group.cpu_weight == weight
    complaints = readback.refusals(limited(cpu_weight=300), Inside(1, 2**30, group=group))
    assert bool(complaints) == (weight != 300)


def test_the_smallest_number_of_processes_around_a_group_holds_it():
    said = b"processes 64\nprocesses 32\nswap 0\n"

    assert read_group(Fake(**{READ: (0, said)}), "tare/x/y").processes == 32
    assert read_group(Fake(**{READ: (0, b"swap 0\n")}), "tare/x").processes is None


@pytest.mark.parametrize(
    ("group", "given"),
    [(GroupLimits(processes=65), "a limit of 65"), (GroupLimits(), "no limit"), (None, "no limit")],
)
def test_another_limit_than_the_declared_one_is_refused(group, given):
    (said,) = readback.refusals(limited(processes=64), Inside(1, 2**30, group=group))

    assert said == f"processes: its group has {given}, 64 was to be given"


def test_a_limit_that_nobody_declared_is_no_mismatch():
    inside = Inside(1, 2**30, group=GroupLimits(processes=4096))

    assert readback.refusals(USUAL, inside) == []


def test_a_stack_reports_what_its_group_holds_it_to():
    host = Fake(**{READ: (0, b"processes 64\nswap 0\n")})
    found = Stack(host, instances=[Opened(Threads(cgroup="tare/x"))]).inside()

    assert readback.refusals(limited(processes=64), found) == []


# --- given up and exchanged


def given(host):
    """What each script was told, by the script."""
    return {argv[2]: argv[3:] for argv in host.asked}


def test_what_is_no_longer_declared_is_taken_away_and_the_rest_is_left_alone():
    host = Fake(**{disk.FIND: (0, b"254:0\n")})
    made = Opened(Threads(cgroup="tare/x"))
    made.files_at = "/var/tare"
    stack = Stack(host, instances=[made])

    stack.confine(limited(processes=64, disk_read_bytes_per_s=10_000_000))
    first = given(host)
    host.asked.clear()
    stack.confine(limited(disk_writes_per_s=100))
    second = given(host)
    host.asked.clear()
    stack.confine(USUAL)
    third = given(host)
    host.asked.clear()
    stack.confine(USUAL)

    assert first[APPLY] == ["tare/x", "64", ""]
    assert first[disk.FIND] == ["/var/tare"]
    assert first[disk.APPLY] == ["tare/x", "254:0", "10000000", "", "", ""]
    assert second[APPLY] == ["tare/x", "none", ""]
    assert second[disk.APPLY] == ["tare/x", "254:0", "none", "", "", "100"]
    assert third == {disk.FIND: ["/var/tare"], disk.APPLY: ["tare/x", "254:0", *WITHOUT_WRITES]}
    assert host.asked == []


def test_a_limit_that_was_refused_half_way_is_taken_away_as_well():
    host = Fake(**{disk.FIND: (3, b"", b"/var/tare is on tmpfs, which is on no disk")})
    made = Opened(Threads(cgroup="tare/x"))
    made.files_at = "/var/tare"
    with pytest.raises(Unavailable, match="no disk of host can be held: /var/tare is on tmpfs"):
        made.confine(host, limited(processes=64, disk_read_bytes_per_s=10_000_000))
    host.answers = {disk.FIND: (0, b"254:0\n")}
    host.asked.clear()

    made.confine(host, USUAL)

    assert given(host)[APPLY] == ["tare/x", "none", ""]


def test_files_whose_disk_is_not_known_are_not_held():
    with pytest.raises(Unavailable, match="fix: leave disk_reads_per_s out of `limits:`"):
        Opened(Threads(cgroup="tare/x")).confine(Fake(), limited(disk_reads_per_s=10))


def test_the_smallest_limit_of_a_disk_around_a_group_holds_it():
    said = (
        b"disk_read_bytes_per_s 20000 8:0\ndisk_read_bytes_per_s 10000 8:0\n"
        b"disk_writes_per_s 7 8:0\nswap 0\n"
    )

    found = read_group(Fake(**{READ: (0, said)}), "tare/x")

    assert (found.disk_read_bytes_per_s, found.disk_writes_per_s) == (10000, 7)
    assert found.disk_write_bytes_per_s is None


def test_limits_of_another_disk_than_that_of_the_files_do_not_count():
    said = b"disk_read_bytes_per_s 20000 8:0\ndisk_read_bytes_per_s 10000 8:16\nswap 0\n"
    host = Fake(**{READ: (0, said), disk.FIND: (0, b"8:0\n")})

    assert read_group(host, "tare/x", "/var/lib").disk_read_bytes_per_s == 20000
    assert read_group(host, "tare/x").disk_read_bytes_per_s == 10000
    on_none = Fake(**{READ: (0, said), disk.FIND: (3, b"")})
    assert read_group(on_none, "tare/x", "/var/lib").disk_read_bytes_per_s is None


def test_without_any_limit_of_a_disk_none_is_looked_for():
    host = Fake(**{READ: (0, b"swap 0\n")})

    read_group(host, "tare/x", "/var/lib")

    assert [argv[2] for argv in host.asked] == [READ]


# --- a network


class Known:
    """Rates of a link that are only kept."""

    def __init__(self):
        self.asked, self.held = [], {}

    def apply(self, values):
        self.asked.append(dict(values))

    def read(self):
        return self.held


def test_rates_are_the_links_and_no_groups():
    host, made = Fake(**{READ: (0, b"swap 0\n")}), Opened(Threads(cgroup="tare/x"))
    made.rates = Known()

    made.confine(host, limited(network_in_bytes_per_s=12_500_000))
    made.rates.held = {"network_in_bytes_per_s": 12_499_000}
    held = made.held(host)
    made.confine(host, USUAL)

    assert [argv[2] for argv in host.asked] == [READ]
    name = "network_in_bytes_per_s"
    assert made.rates.asked == [{name: "12500000"}, {name: "none"}]
    # tc writes no more than four digits.
    inside = Inside(1, 2**30, group=held)
    assert readback.refusals(limited(network_in_bytes_per_s=12_500_000), inside) == []
    assert readback.refusals(limited(network_in_bytes_per_s=13_000_000), inside) != []


def test_without_a_link_of_its_own_nothing_is_held():
    with pytest.raises(Unavailable, match="leave network_in_bytes_per_s out of `limits:`"):
        Opened(Threads(cgroup="tare/x")).confine(Fake(), limited(network_in_bytes_per_s=10**6))


LINKED = {
    "docker": {"network": "bridge"},
    "gvisor": {"network": "sandbox"},
    "host": {"network": "cable"},
    "kvm": {},
    "qemu": {},
    "qemu-tcg": {},
    "sim": {},
    "uml": {},
}


@pytest.mark.parametrize("name", layer.names())
def test_the_network_is_held_where_there_is_a_link_of_its_own(name):
    limits = limited(network_out_bytes_per_s=10**6)
    usual = layer.load(name, **SETTINGS.get(name, {}))
    linked = layer.load(name, **SETTINGS.get(name, {}), **LINKED.get(name, {}))

    assert (linked.cannot_hold(limits) == "") == (name in LINKED)
    if usual.cannot_hold(limits):
        assert f"nothing holds {name} to network_out_bytes_per_s: it" in usual.cannot_hold(limits)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("docker", {}, ""),
        ("docker", {"storage": "volume"}, ""),
        ("docker", {"storage": "tmpfs"}, "its /data is a tmpfs"),
        ("podman", {"storage": "tmpfs"}, "its /data is a tmpfs"),
        ("docker", {"runtime": "runsc"}, "gVisor has files in the host's page cache"),
        ("docker", {"runtime": "kata"}, "the runtime kata may have its files in another machine"),
        ("gvisor", {}, "gVisor has files in the host's page cache"),
        ("uml", {}, "another process than its kernel"),
        ("libvirt", {}, "Tare does not hold the disks of libvirt's domains yet"),
        ("qemu-tcg", {}, ""),
    ],
)
def test_whose_disk_no_group_holds_is_said(name, settings, said):
    made = layer.load(name, **settings)

    why = made.cannot_hold(limited(disk_reads_per_s=10))

    assert made.cannot_hold(USUAL) == ""
    assert why.startswith(f"nothing holds {name} to disk_reads_per_s: {said}" if said else "")
    assert bool(why) == bool(said)


@pytest.mark.slow  # where a layer is a real one the host has to be idle first
def test_the_outermost_layer_is_asked_and_its_reason_stands(lab):
    limits = {"cpus": 1, "memory": "1GiB", "network_in": "100Mbit/s"}
    platforms = {"base": {}, "near": {"stack": "host/lxc"}}
    results = lab.run(lab.text(platforms, limits=limits))

    cells = results.plan.cells_by_id
    reasons = {trial.reason for trial in results.trials if cells[trial.cell].platform == "near"}
    assert reasons == {
        "nothing holds lxc to network_in_bytes_per_s: it has the network of the machine around it, "
        "which others use too; fix: change that limit below `limits:`, or leave it out"
    }


# --- a study


def test_a_platform_that_lacks_a_limit_is_unavailable_with_the_remedy(lab):
    limits = {"cpus": 1, "memory": "1GiB", "processes": 64}
    platforms = {"base": {}, "far": {"stack": "host/ssh", "ssh": SETTINGS["ssh"]}}
    results = lab.run(lab.text(platforms, limits=limits))

    cells = results.plan.cells_by_id
    reasons = {trial.reason for trial in results.trials if cells[trial.cell].platform == "far"}
    assert reasons == {
        "no control group holds what ssh makes, so nothing limits its processes; fix: "
        "change that limit below `limits:`, or leave it out"
    }
    assert {cell.limits.processes for cell in cells.values()} == {64}
