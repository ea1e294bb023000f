"""How user-mode Linux is called, its cable and its disk made, and what is said when it fails."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tare.core.completed import Completed
from tare.core.errors import LayerError, LayerTimedOut, Unavailable
from tare.core.model import DiskCache, Limits
from tare.machines import layer
from tare.machines.backends import fuse_disk as direct
from tare.machines.backends import uml as engine
from tare.machines.layers import uml
from tare.machines.network import tap
from tare.machines.network.tap import Tap
from tare.machines.userland import Guest

GUEST = Guest(Path("/cache/guest/1a2b"), "6.1")
CABLE = Tap("tareabct1", "198.18.128.2", "198.18.128.3")


def words(cache=DiskCache.NONE):
    limits = Limits(cpus=1, memory_bytes=700 * 2**20, disk_cache=cache)
    return engine.start_argv("/run/tare-x", GUEST, limits, CABLE)


class Fake:
    """Answers by a word of the command, with success and silence for the rest."""

    name, ephemeral = "host", False

    def __init__(self, **answers):
        self.answers, self.asked = answers, []

    def host_argv(self, argv):
        return list(argv)

    def undo_argv(self, argv):
        return list(argv)

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.asked.append(list(argv))
        for word, (returncode, stdout, stderr) in self.answers.items():
            if word.replace("_", "-") in argv:
                return Completed(tuple(argv), returncode, stdout, stderr, 0.0)
        return Completed(tuple(argv), 0, b"", b"", 0.0)


class Scope:
    def about_to_make(self, what, name, machine, undo):
        self.made = (what, name, undo)


class Services:
    def __init__(self):
        self.known = {}

    def once(self, what, machine, make, alive):
        return self.known.setdefault(what, make(None))


def site(**changes):
    given = {
        "session": "a1b2c3",
        "scope": Scope(),
        "services": Services(),
        "limits": Limits(cpus=1, memory_bytes=2**30),
    }
    return SimpleNamespace(**(given | changes))


# --- the command


def test_the_kernel_gets_its_memory_and_keeps_it_in_its_folder():
    assert "mem=700M" in words()
    assert {"TMPDIR=/run/tare-x/memory", "uml_dir=/run/tare-x"} <= set(words())


@pytest.mark.parametrize(
    ("cache", "disk"),
    [
        (DiskCache.NONE, "/run/tare-x/export"),
        (DiskCache.WRITEBACK, "/run/tare-x/disk,/cache/guest/1a2b/disk.img"),
    ],
)
def test_the_shared_disk_is_only_read_and_cached_as_the_limits_say(cache, disk):
    assert f"ubd0={disk}" in words(cache)


def test_the_guest_is_told_its_addresses_and_has_its_tap():
    assert {"tare.address=198.18.128.3/31", "tare.gateway=198.18.128.2"} <= set(words())
    assert "vec0:transport=tap,ifname=tareabct1,depth=64,gro=1" in words()


def test_it_ends_instead_of_rebooting_and_is_no_terminal():
    assert {"noreboot", "con=null", "con0=null,fd:1", "ssl=null"} <= set(words())


def test_what_the_first_process_gets_comes_last():
    """Whatever stood behind ``--`` would go to the shell."""
    assert words()[-4:] == ["init=/bin/sh", "--", "-c", engine.INIT]


def test_the_served_disk_is_not_cached_at_all():
    argv = direct.serve_argv("/run/tare-x")

    devices = [word for word in argv if word.startswith("driver=")]
    assert len(devices) == 2
    assert all(word.endswith("cache.direct=on") for word in devices)
    assert "--daemonize" in argv


# --- what it cannot do


def test_more_than_one_cpu_is_refused_before_anything_is_made():
    machine = Fake()

    with pytest.raises(Unavailable, match="one CPU, 2 were to be given"):
        layer.load("uml").create(machine, site(limits=Limits(cpus=2, memory_bytes=2**30)))

    assert machine.asked == []


def test_a_missing_tool_is_named_with_its_package():
    machine = Fake(qemu_storage_daemon=(1, b"", b""))

    with pytest.raises(Unavailable, match="qemu-storage-daemon") as refused:
        layer.load("uml").probe(machine, None)

    assert refused.value.fix == "apt-get install qemu-system-common"


def test_a_missing_device_is_named_with_its_module():
    machine = Fake(tun=(1, b"", b""))

    with pytest.raises(Unavailable, match="/dev/net/tun") as refused:
        layer.load("uml").probe(machine, None)

    assert refused.value.fix == "modprobe tun"


# --- its cable


def test_a_tap_is_in_the_ledger_and_its_name_fits():
    here = site()

    first, second = (tap.make(Fake(), here) for _ in range(2))

    assert (first.device, second.device) == ("tarea1b2c3t1", "tarea1b2c3t2")
    assert len("tarea1b2c3t9999") == 15
    assert here.scope.made == ("tap", second.device, ["sh", "-c", tap.REMOVE, second.device])


# --- how it fails


def instance(lives):
    made = object.__new__(uml.Instance)
    made.site = SimpleNamespace(name="tare-x", deadline_s=0.0)
    made.folder = "/run/tare-x"
    panic = (0, b"Kernel panic - not syncing", b"")
    made.outer = Fake(**{"-qa": (1, b"", b""), uml.LAST_WORDS: panic})
    made.machine = made.outer
    made.process = SimpleNamespace(lives=lambda: lives)
    return made


def test_a_kernel_that_does_not_come_up_in_time_says_what_its_console_says():
    with pytest.raises(
        LayerTimedOut, match=r"tare-x did not come up in 0 s; it said last: Kernel panic"
    ):
        instance(lives=True).ready()


def test_a_kernel_that_ends_while_it_boots_is_not_late_but_dead():
    with pytest.raises(
        LayerError, match=r"tare-x ended by itself; it said last: Kernel panic"
    ) as it:
        instance(lives=False).ready()

    assert not isinstance(it.value, LayerTimedOut)


def test_a_kernel_that_does_not_power_off_is_late():
    with pytest.raises(LayerTimedOut, match="did not power off"):
        instance(lives=True).stop()


def test_a_kernel_that_died_while_it_was_to_power_off_did_not_stop_in_order():
    with pytest.raises(LayerError, match="ended by itself"):
        instance(lives=False).stop()


class Booting(Fake):
    """Answers the trial boot by what its kernel says."""

    def __init__(self, said):
        super().__init__()
        self.said = said

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        if engine.TRY in argv:
            return Completed(tuple(argv), 134, self.said, b"", 0.0)
        return super().run(argv, stdin=stdin, timeout_s=timeout_s)


def test_a_cpu_with_more_registers_than_its_kernel_has_room_for_is_refused():
    said = b"\nKernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b\nCPU: 0"

    with pytest.raises(Unavailable, match=r"exitcode=0x0000000b; fix: .* without AMX"):
        layer.load("uml").probe(Booting(said), None)


def test_a_first_program_that_ends_orderly_is_no_reason_to_refuse():
    said = b"Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000000\n"

    assert "uml.version" in layer.load("uml").probe(Booting(said), None)
