"""What libvirt is told, how its daemon is found or started, and what is made of what it says."""

from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from tare.core.completed import Completed
from tare.core.errors import ConfigError, LayerError, LayerTimedOut, Unavailable
from tare.core.model import DiskCache, Limits
from tare.machines import layer
from tare.machines.backends import domain, libvirt
from tare.machines.backends.libvirt import Daemon
from tare.machines.instance import Threads
from tare.machines.layers import _libvirt_domain as domains
from tare.machines.userland import Guest

GUEST = Guest(Path("/cache/guest/1a2b"), "6.1")
NAMES = '<&">'


def site(**changes):
    given = {
        "name": f"tare-{NAMES}",
        "folder": "/run",
        "limits": Limits(cpus=2, memory_bytes=2**30),
        "cpuset": "1,3",
        "deadline_s": 0.0,
    }
    return SimpleNamespace(**(given | changes))


class Fake:
    """Answers by a word of the command, with success and silence for the rest."""

    name, ephemeral = "host", False

    def __init__(self, **answers):
        self.answers, self.asked = answers, []

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.asked.append(list(argv))
        for word, (returncode, stdout, stderr) in self.answers.items():
            if word in argv:
                return Completed(tuple(argv), returncode, stdout, stderr, 0.0)
        return Completed(tuple(argv), 0, b"", b"", 0.0)


REFUSED = (1, b"", b"error: failed to connect to the hypervisor")


# --- the XML


@pytest.fixture(params=["qemu", "xen", "lxc"])
def described(request):
    made = {
        "qemu": lambda: domain.qemu(site(), "qemu", GUEST, "tap1", "quiet"),
        "xen": lambda: domain.xen(site(), "xenpvh", GUEST, "bridge1", "quiet"),
        "lxc": lambda: domain.lxc(site(), "/run/root", ("/bin/sh", "-c", "a && b")),
    }[request.param]()
    return ET.fromstring(made)  # noqa: S314 - it was made above


def test_every_domain_bears_its_name_and_gets_its_limits(described):
    assert described.findtext("name") == f"tare-{NAMES}"
    assert (described.findtext("memory"), described.find("memory").get("unit")) == (
        str(2**30),
        "b",
    )
    held = "1,3" if described.get("type") == "lxc" else None
    assert (described.findtext("vcpu"), described.find("vcpu").get("cpuset")) == ("2", held)


def test_a_guest_is_held_once_it_has_booted():
    made = guest()
    made.site.cpuset = "3"

    made.hold()

    assert [argv[4:] for argv in made.outer.asked] == [
        ["vcpupin", "tare-x", "0", "3", "--live"],
        ["vcpupin", "tare-x", "1", "3", "--live"],
        ["emulatorpin", "tare-x", "3", "--live"],
    ]


def test_what_powers_itself_off_is_not_started_again(described):
    assert described.findtext("on_poweroff") == "destroy"
    assert described.findtext("on_crash") == "destroy"


@pytest.mark.parametrize(("kind", "cpu"), [("qemu", "maximum"), ("kvm", "host-passthrough")])
def test_the_type_decides_the_cpu(kind, cpu):
    made = ET.fromstring(domain.qemu(site(), kind, GUEST, "tap1", ""))  # noqa: S314

    assert (made.get("type"), made.find("cpu").get("mode")) == (kind, cpu)


@pytest.mark.parametrize("cache", list(DiskCache))
def test_the_disk_is_cached_as_the_limits_say(cache):
    here = site(name="x", limits=Limits(cpus=1, memory_bytes=1, disk_cache=cache))

    for text in (
        domain.qemu(here, "qemu", GUEST, "tap1", ""),
        domain.xen(here, "xenpv", GUEST, "b", ""),
    ):
        disk = ET.fromstring(text).find("devices/disk")  # noqa: S314
        assert disk.find("driver").get("cache") == cache
        assert disk.find("source").get("file") == "/run/x/disk"


def test_a_guest_boots_the_shared_kernel_on_its_own_tap_and_console():
    made = ET.fromstring(domain.qemu(site(name="x"), "qemu", GUEST, "tap1", "quiet"))  # noqa: S314

    assert made.findtext("os/kernel") == "/cache/guest/1a2b/vmlinuz"
    assert made.findtext("os/cmdline") == "quiet"
    target = made.find("devices/interface/target")
    assert (target.get("dev"), target.get("managed")) == ("tap1", "no")
    console = made.find("devices/serial/source")
    assert (console.get("path"), console.get("append")) == ("/run/x/console", "on")


def test_a_container_runs_its_init_in_its_root():
    made = ET.fromstring(domain.lxc(site(), "/run/root", ("/bin/sh", "-c", "a && b")))  # noqa: S314

    assert [made.findtext("os/init"), *(arg.text for arg in made.findall("os/initarg"))] == [
        "/bin/sh",
        "-c",
        "a && b",
    ]
    assert made.find("devices/filesystem/source").get("dir") == "/run/root"


# --- the settings


@pytest.mark.parametrize(
    ("uri", "guest", "seen"),
    [
        ("qemu:///system", True, ("kvm", "qemu-tcg")),
        ("qemu+ssh://root@far/system", True, ("kvm", "qemu-tcg")),
        ("xen:///system", True, ("xen",)),
        ("lxc:///system", False, ("lxc",)),
    ],
)
def test_the_address_says_what_kind_of_layer_it_is(uri, guest, seen):
    made = layer.load("libvirt", uri=uri)

    assert (made.boots_guest, made.own_kernel, made.detected_as()) == (guest, guest, seen)
    assert set(made.packages) < set(made.needs())


def test_a_hypervisor_that_takes_no_userland_is_refused_with_those_that_do():
    with pytest.raises(ConfigError, match=r"esx://far cannot run the userland; expected .*lxc:///"):
        layer.load("libvirt", uri="esx://far")


# --- the daemon


def test_a_daemon_that_answers_is_used_as_it_is():
    assert libvirt.serving(Fake(), None, "qemu:///system").uri == "qemu:///system"


def test_only_this_machines_own_drivers_can_be_started():
    for uri in ("xen:///system", "qemu://far/system", "qemu+ssh://far/system"):
        machine = Fake(uri=REFUSED)
        with pytest.raises(Unavailable, match="failed to connect") as refused:
            libvirt.usable(machine, uri)
        assert refused.value.fix
        assert "libvirtd" not in [argv[0] for argv in machine.asked]


@pytest.mark.parametrize(
    ("missing", "fix"),
    [
        ("virsh", "apt-get install libvirt-clients"),
        ("libvirtd", "apt-get install libvirt-daemon"),
        (libvirt.DRIVER, "apt-get install libvirt-daemon-driver-lxc"),
    ],
)
def test_what_is_missing_is_named_with_its_package(missing, fix):
    machine = Fake(**{missing: (127, b"", b"")} | {"uri": REFUSED})

    with pytest.raises(Unavailable) as refused:
        libvirt.usable(machine, "lxc:///system")

    assert refused.value.fix == fix


def test_our_own_daemon_is_reached_by_its_socket():
    assert (
        libvirt.own_uri("lxc:///system", "/run/d")
        == "lxc:///system?socket=/run/d/run/libvirt/libvirt-sock"
    )


def test_our_own_daemon_is_not_confined_and_needs_no_other_daemon():
    assert 'security_driver = "none"\n' in libvirt.CONFIG
    assert 'stdio_handler = "file"\n' in libvirt.CONFIG


def test_what_only_the_daemon_sees_is_mounted_where_it_sees_it():
    machine = Fake()

    assert Daemon(machine, "lxc:///system").mounts is machine
    Daemon(machine, "lxc:///system", "/run/d").mounts.run(["true"])
    assert machine.asked[0][:4] == ["sh", "-c", libvirt.IN_MOUNTS, "/run/d/pid"]


def test_a_verb_that_fails_says_which_where_and_why():
    daemon = Daemon(Fake(start=(1, b"", b"error: no room")), "qemu:///system")

    with pytest.raises(LayerError, match=r"virsh start at qemu:///system failed: .*no room"):
        daemon.do("start", "tare-x")


# --- a domain


def guest(**answers):
    made = object.__new__(domains.Guest)
    made.outer = Fake(**answers)
    made.machine, made.site, made.folder = made.outer, site(name="tare-x"), "/run/tare-x"
    made.daemon, made.console = Daemon(made.outer, "qemu:///system"), "/run/tare-x/console"
    made.connection = SimpleNamespace(hang_up_argv=lambda: ["true"])
    return made


def test_a_guest_that_does_not_come_up_is_late_and_says_what_its_console_says():
    late = guest(domstate=(0, b"running (booted)\n", b""), grep=(1, b"", b""),
                 tail=(0, b"panic", b""))  # fmt: skip

    with pytest.raises(LayerTimedOut, match=r"tare-x did not come up, .*booted.*said last: panic"):
        late.ready()


def test_a_guest_that_died_while_it_booted_is_not_late():
    dead = guest(domstate=(0, b"shut off (crashed)\n", b""), grep=(1, b"", b""))

    with pytest.raises(LayerError, match=r"shut off \(crashed\); it said last: \(nothing\)") as it:
        dead.ready()

    assert not isinstance(it.value, LayerTimedOut)


def test_a_guest_that_does_not_end_is_late():
    with pytest.raises(LayerTimedOut, match="did not shut down within 0 s"):
        guest(domstate=(0, b"running (booted)\n", b"")).stop()


def test_a_hard_stop_and_a_hard_reboot_are_those_of_the_hardware():
    made = guest()
    made.stop(hard=True)
    made.reboot(hard=True)
    made.pause()
    made.resume()

    verbs = [argv[4] for argv in made.outer.asked if argv[0] == "virsh"]
    assert verbs == ["destroy", "reset", "suspend", "resume"]


@pytest.mark.parametrize(
    ("found", "whole"),
    [
        ("tare/d/machine/qemu-1-x.libvirt-qemu/emulator", "tare/d/machine/qemu-1-x.libvirt-qemu"),
        ("machine.slice/machine-x.scope/libvirt/emulator", "machine.slice/machine-x.scope"),
        ("machine/qemu-1-x.libvirt-qemu", "machine/qemu-1-x.libvirt-qemu"),
    ],
)
def test_the_bill_is_the_whole_domains(found, whole):
    made = guest(cat=(0, b"42", b""))
    made.outer.answers = {
        "/proc/42/cgroup": (0, f"2:cpuacct:/{found}\n".encode(), b""),
        "cat": (0, b"42\n", b""),
    }

    assert made.threads() == Threads(cgroup=whole, comm="CPU ")
