"""Kinds of CPU limit and swap: how they reach the engines, who lacks them, what a study shows."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tare.core.model import CpuLimit, Limits, Status
from tare.experiment.run import conditions
from tare.machines import layer
from tare.machines.backends import domain
from tare.machines.backends.switches import limit_argv
from tare.machines.cgroup.cgroup import Group
from tare.machines.cgroup.group_limits import READ
from tare.machines.cgroup.readback import Inside
from tare.machines.instance import Instance, Threads
from tare.machines.layers import xen
from tare.machines.layers._libvirt_domain import Guest
from tare.machines.layers._qemu_guest import Guest as QemuGuest
from tare.machines.stack import Stack
from tare.present.view.names import limits_text
from unit.fakes import Fake, Printing

PINNED = Limits(cpus=2, memory_bytes=2**30)
QUOTA = replace(PINNED, cpu_limit=CpuLimit.QUOTA)
NONE = replace(PINNED, cpu_limit=CpuLimit.NONE)
KINDS = [PINNED, QUOTA, NONE]


def loaded(name, **settings):
    return layer.load(name, **settings)


# --- what the engines are asked for


@pytest.mark.parametrize("limits", KINDS)
def test_an_engine_is_asked_for_a_quota_only_where_there_is_one(limits):
    words = limit_argv(limits, "0-3", memory=True)

    assert words[0] == "--cpuset-cpus=0-3"
    assert ("--cpus=2" in words) == (limits is QUOTA)


def test_an_engine_is_told_memory_and_swap_together():
    words = limit_argv(replace(PINNED, swap_bytes=2**31), "0-3", memory=True)

    assert words[1:] == [f"--memory={2**30}", f"--memory-swap={2**30 + 2**31}"]
    assert limit_argv(QUOTA, "0-3", memory=False) == ["--cpuset-cpus=0-3", "--cpus=2"]


@pytest.mark.parametrize("limits", KINDS)
@pytest.mark.parametrize("name", ["docker", "podman"])
def test_both_engines_get_these_words(site, name, limits):
    site = replace(site, limits=limits)
    made = loaded(name)
    if name == "docker":
        daemon = SimpleNamespace(
            client=("docker",), own=True, machine=Fake(), runtime=lambda *_, **__: "runc"
        )
        words = made.create_argv(daemon, "image:1", site)
    else:
        words = made.create_argv("/run/x/f", site)

    assert set(limit_argv(limits, site.cpuset, memory=True)) <= set(words)
    assert any(word.startswith("--cpus=") for word in words) == (limits is QUOTA)


@pytest.mark.parametrize(("limits", "quota"), [(PINNED, ""), (QUOTA, "2"), (NONE, "")])
def test_a_guests_process_gets_the_quota_once_it_has_booted(site, limits, quota):
    machine = Fake()
    made = QemuGuest(
        machine, replace(site, limits=limits), Group(machine, "tare/x"), None, lambda _: []
    )

    made.hold()

    (held,) = machine.asked
    assert held[4:] == ["tare/x", "1,3", "", "", quota]


@pytest.mark.parametrize("limits", KINDS)
def test_libvirt_gives_a_guest_one_quota_for_all_its_threads(limits):
    asked = []
    made = Guest.__new__(Guest)
    made.site, made.console = SimpleNamespace(limits=limits, cpuset="0-3"), "/console"
    made._do = lambda *words: asked.append(words)

    made.hold()

    quotas = [words for words in asked if words[0] == "schedinfo"]
    given = ("schedinfo", "global_period=100000", "global_quota=200000", "--live")
    assert quotas == ([given] if limits is QUOTA else [])


def test_a_container_of_libvirts_has_quota_and_swap_in_its_description(site):
    def described(limits):
        xml = domain.lxc(replace(site, limits=limits), "/run/root", ("/bin/sh",))
        return ET.fromstring(xml)  # noqa: S314 - it was made above

    usual, other = described(PINNED), described(replace(QUOTA, swap_bytes=2**31))

    assert usual.find("cputune") is None
    assert usual.find("memtune") is None
    assert [other.findtext(f"cputune/{name}") for name in ("period", "quota")] == [
        "100000",
        "200000",
    ]
    assert other.findtext("memtune/swap_hard_limit") == str(2**30 + 2**31)


@pytest.mark.parametrize(("limits", "cpus"), [(PINNED, "2-3"), (NONE, "0-3")])
def test_xen_places_a_domain_on_all_cpus_where_nothing_is_pinned(limits, cpus):
    link = SimpleNamespace(address="10.0.0.2", gateway="10.0.0.1", bridge="b")
    of = SimpleNamespace(
        site=SimpleNamespace(name="tare-x", limits=limits),
        kind="pvh",
        guest=SimpleNamespace(kernel="/k", initrd="/i"),
        link=link,
        physical=4,
    )

    written = xen.configuration(of, "disk").splitlines()

    assert f'cpus = "{cpus}"' in written
    assert "vcpus = 2" in written


# --- who lacks them

SETTINGS = {
    "ssh": {"address": "192.0.2.1"},
    "vsphere": {"host": "vc", "user": "u", "password_file": "/p", "vm": "one"},
}
WITHOUT_QUOTA = {
    "xen": ({}, "Xen schedules its domains itself"),
    "libvirt": ({"uri": "xen:///system"}, "Xen schedules its domains itself"),
    "ssh": (SETTINGS["ssh"], "nothing here holds 192.0.2.1 to a quota"),
    "vsphere": (SETTINGS["vsphere"], "its server's to decide"),
}


@pytest.mark.parametrize("name", WITHOUT_QUOTA)
def test_who_can_give_no_quota_says_so_and_gives_the_other_kinds(name):
    settings, why = WITHOUT_QUOTA[name]
    made = loaded(name, **settings)

    assert why in made.lacks(QUOTA)
    assert [made.lacks(limits) for limits in (PINNED, NONE)] == ["", ""]


@pytest.mark.parametrize("name", sorted(set(layer.names()) - WITHOUT_QUOTA.keys()))
def test_all_others_give_every_kind(name):
    made = loaded(name)
    assert [made.lacks(limits) for limits in KINDS] == ["", "", ""]


def test_virtual_cpus_are_pinned_only_to_cpus_of_their_own():
    made = loaded("qemu-tcg", vcpus="pinned")

    assert made.lacks(PINNED) == ""
    assert "cpu_limit: quota gives none" in made.lacks(QUOTA)
    assert "cpu_limit: none gives none" in made.lacks(NONE)


# --- what is read back


class Opened(Instance):
    def __init__(self, threads, swap_bytes=0):
        self._threads, self.swap_bytes = threads, swap_bytes
        self.machine = Fake()

    def start(self):
        pass

    def ready(self):
        pass

    def inside(self):
        return Inside(1, 2**30, swap_bytes=self.swap_bytes)

    def threads(self):
        return self._threads


def test_the_quota_of_a_stack_is_that_of_its_outermost_instance():
    host = Fake(**{READ: (0, b"quota 200000 100000\nswap 0\n")})
    instances = [Opened(Threads(cgroup="tare/outer")), Opened(Threads(cgroup="tare/inner"))]

    found = Stack(host, instances=instances).inside()

    assert found.quota_cpus == 2.0
    assert [argv[-1] for argv in host.asked] == ["tare/outer"]
    assert instances[0].machine.asked == []


def test_swap_that_a_container_shows_and_the_host_lacks_is_not_there():
    without = Fake(**{READ: (0, b"swap 0\nswap 4096\n")})
    there = Fake(**{READ: (0, b"swap 1048576\nswap 8192\n")})
    instance = Opened(Threads(cgroup="tare/x"), swap_bytes=2**16)

    assert Stack(without, instances=[instance]).inside().swap_bytes == 0
    assert Stack(there, instances=[instance]).inside().swap_bytes == 8192


def test_what_no_group_of_the_host_holds_is_read_inside_alone():
    found = Stack(Fake(), instances=[Opened(None, swap_bytes=4096)]).inside()

    assert (found.quota_cpus, found.swap_bytes) == (None, 4096)


def test_a_guests_quota_is_no_mismatch_with_a_containers():
    guest = SimpleNamespace(machine=Printing(b"affinity: 0\n"), workdir="/data")
    container = SimpleNamespace(machine=Printing(b"quota: 100000 100000\n"), workdir="/data")

    held = conditions.read(guest, "0", Inside(1, 2**30, quota_cpus=1.0), ())
    seen = conditions.read(container, "0", Inside(1, 2**30, quota_cpus=1.0), ())
    free = conditions.read(guest, "0", Inside(1, 2**30), ())

    assert held.reading.values["cpu_quota"] == seen.reading.values["cpu_quota"] == 1.0
    assert "cpu_quota" not in free.reading.values


# --- a study


def test_cells_are_compared_with_those_under_the_same_kind_of_limit(lab):
    limits = {"cpus": 1, "memory": "1GiB", "cpu_limit": ["cpuset", "quota", "none"]}
    results = lab.run(lab.text({"base": {}, "dear": {"sim": {"cost": 2.0}}}, limits=limits))

    cells = results.plan.cells_by_id
    pairs = [
        (cells[one.cell].limits, cells[one.reference].limits) for one in results.plan.contrasts
    ]
    assert {mine.cpu_limit for mine, _ in pairs} == set(CpuLimit)
    assert all(mine == theirs for mine, theirs in pairs)
    assert {trial.status for trial in results.trials} == {Status.OK}


def test_a_platform_that_lacks_a_kind_is_unavailable_and_the_others_are_measured(lab):
    limits = {"cpus": 1, "memory": "1GiB", "cpu_limit": "quota"}
    platforms = {
        "base": {},
        "far": {"stack": "host/ssh", "ssh": SETTINGS["ssh"]},
        "other": {"sim": {"cost": 3.0}},
    }
    results = lab.run(lab.text(platforms, limits=limits))

    cells = results.plan.cells_by_id
    by_platform = {name: [] for name in platforms}
    for trial in results.trials:
        by_platform[cells[trial.cell].platform].append(trial)
    (trial,) = by_platform["far"]
    assert trial.status is Status.UNAVAILABLE
    assert trial.reason.startswith("nothing here holds 192.0.2.1 to a quota of CPU time; ")
    assert trial.reason.endswith("change that limit below `limits:`, or leave it out")
    assert len(by_platform["other"]) > 8


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (PINNED, "2 CPUs, 1 GiB, disk cache none"),
        (QUOTA, "2 CPUs, 1 GiB, disk cache none, cpu_limit quota"),
        (
            replace(NONE, swap_bytes=2**31),
            "2 CPUs, 1 GiB, disk cache none, cpu_limit none, swap 2 GiB",
        ),
    ],
)
def test_limits_name_what_is_not_usual(limits, text):
    assert limits_text(limits) == text
