"""How QEMU is called, and what is made of what it and its tools answer."""

from pathlib import Path

import pytest

from tare import layer
from tare.errors import LayerError, Unavailable
from tare.layers import qemu
from tare.machine import Completed
from tare.model import DiskCache, Limits
from tare.userland import Guest

GUEST = Guest(Path("/cache/guest/1a2b"), "6.1")
LIMITS = Limits(cpus=2, memory_bytes=2**30)


def argv(accel="tcg", limits=LIMITS):
    return qemu.start_argv("/run/tare-x", GUEST, limits, accel, 20022)


def after(words, flag):
    return words[words.index(flag) + 1]


class Fake:
    """Answers by the first word, with success and silence for the rest."""

    name, ephemeral = "host", False

    def __init__(self, **answers):
        self.answers, self.asked = answers, []

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.asked.append((list(argv), stdin))
        word = argv[-1] if argv[0] == "sh" else argv[0]
        returncode, stdout = self.answers.get(word.replace("-", "_"), (0, b""))
        return Completed(tuple(argv), returncode, stdout, b"", 0.0)


@pytest.mark.parametrize(
    ("accel", "engine", "cpu"), [("tcg", "tcg,thread=multi", "max"), ("kvm", "kvm", "host")]
)
def test_the_accelerator_decides_the_cpu(accel, engine, cpu):
    assert (after(argv(accel), "-accel"), after(argv(accel), "-cpu")) == (engine, cpu)


def test_a_guest_gets_its_limits():
    words = argv(limits=Limits(cpus=3, memory_bytes=700 * 2**20))

    assert (after(words, "-smp"), after(words, "-m")) == ("3", "700M")


@pytest.mark.parametrize("mode", list(DiskCache))
def test_the_disk_is_cached_as_the_limits_say(mode):
    words = argv(limits=Limits(cpus=1, memory_bytes=2**30, disk_cache=mode))

    assert after(words, "-drive") == f"file=/run/tare-x/disk,if=virtio,format=qcow2,cache={mode}"


def test_nothing_of_the_user_or_of_qemu_is_added_to_the_guest():
    assert {"-nodefaults", "-no-user-config", "-no-reboot", "-daemonize"} <= set(argv())


def test_the_guest_is_reached_on_the_loopback_only():
    assert after(argv(), "-nic").endswith("hostfwd=tcp:127.0.0.1:20022-:22")


def test_all_files_lie_in_its_folder_and_bear_its_name():
    words = argv()

    assert after(words, "-pidfile") == "/run/tare-x/pid"
    assert after(words, "-serial") == "file:/run/tare-x/console"
    assert after(words, "-name") == "tare-x,debug-threads=on"
    assert after(words, "-kernel") == "/cache/guest/1a2b/vmlinuz"


def instance(outer):
    made = object.__new__(qemu.Instance)
    made.outer, made.folder = outer, "/run/tare-x"
    made.site = type("Site", (), {"name": "tare-x"})
    return made


def test_pause_believes_the_status_alone():
    outer = Fake(socat=(0, b"(qemu) stop\r\n(qemu) info status\r\nVM status: paused\r\n(qemu) "))

    instance(outer).pause()

    ((words, stdin),) = outer.asked
    assert stdin == b"stop\ninfo status\n"
    assert "-u" not in words, "QEMU drops what it has not read when the other end hangs up"
    with pytest.raises(LayerError, match=r"(?s)tare-x did not take 'cont': .*paused"):
        instance(outer).resume()


def test_a_monitor_that_says_nothing_is_an_error():
    with pytest.raises(LayerError, match="did not take 'stop'"):
        instance(Fake()).pause()


@pytest.mark.parametrize(
    ("missing", "mend"),
    [
        ("qemu_system_x86_64", "qemu-system-x86"),
        ("qemu_img", "qemu-utils"),
        ("socat", "apt-get install socat"),
    ],
)
def test_a_missing_tool_is_named_with_its_package(missing, mend):
    with pytest.raises(Unavailable) as refused:
        layer.load("qemu-tcg").probe(Fake(**{missing: (127, b"")}), None)

    assert missing.replace("_", "-").replace("x86-64", "x86_64") in refused.value.reason
    assert mend in refused.value.mend


def test_the_probe_tells_version_and_accelerator():
    outer = Fake(qemu_system_x86_64=(0, b"QEMU emulator version 7.2.22\nCopyright"))

    facts = layer.load("qemu-tcg").probe(outer, None)

    assert facts == {"qemu.version": "QEMU emulator version 7.2.22", "qemu.accel": "tcg"}


def test_without_kvm_auto_takes_emulation_and_kvm_refuses():
    outer = Fake(qemu_system_x86_64=(0, b"QEMU 7\n"), test=(1, b""))

    assert layer.load("qemu").probe(outer, None)["qemu.accel"] == "tcg"
    with pytest.raises(Unavailable, match="/dev/kvm is not there"):
        layer.load("kvm").probe(outer, None)
