"""A host that is arm64: what is chosen by ``uname -m``, on machines that only answer.

No test here runs on such a host; see docs/how-to/prepare-a-host.md for what has been run.
"""

import os
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from tare.core.completed import Completed
from tare.core.errors import ConfigError, Unavailable
from tare.core.model import Limits
from tare.machines import layer
from tare.machines.backends import domain, guest_disk
from tare.machines.backends.qemu import Hardware
from tare.machines.machine import Host, text
from tare.machines.userland import Guest, System, architecture, kvm

LIMITS = Limits(cpus=4, memory_bytes=2**30)
BOARD = ["qemu-system-aarch64", "-machine", "virt,gic-version=host"]


class Board:
    """A machine of an architecture; what it was asked is kept, and all goes well."""

    name, ephemeral = "board", False

    def __init__(self, word="aarch64", boot="boot-of-an-arm64-board", **answers):
        told = {"uname": f"{word}\n", "cat": boot}
        self.answers, self.asked = {name: (0, out) for name, out in told.items()} | answers, []

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.asked.append(list(argv))
        word = argv[0].replace("-", "_")
        returncode, out = self.answers.get(word, (0, "tare: probe ok\n"))
        return Completed(tuple(argv), returncode, out.encode(), b"", 0.0)


class Shared:
    """A userland that has been built, and notes for which system its guest was asked."""

    def __init__(self):
        self.systems = []

    def guest(self, machine, system):
        self.systems.append(system)
        return Guest(Path("/cache/guest/1a2b"), "6.1", system.arch)


def after(words, flag):
    return words[words.index(flag) + 1]


# --- what a machine is


@pytest.mark.parametrize(("word", "arch"), [("aarch64", "arm64"), ("x86_64", "amd64")])
def test_a_machine_is_what_its_kernel_says(word, arch):
    assert architecture.of(Board(word)) == arch
    assert architecture.named(word) == arch


def test_a_machine_without_a_userland_is_unavailable_with_what_there_is():
    with pytest.raises(Unavailable, match=r"board is riscv64, .* arm64 and amd64 only"):
        architecture.of(Board("riscv64"))


# --- KVM


def test_kvm_of_an_arm64_board_is_tried_with_its_own_program_board_and_console():
    board, shared = Board(), Shared()

    assert kvm.usable(board, shared) is None

    (tried,) = (argv for argv in board.asked if argv[0].startswith("qemu"))
    assert tried[:3] == BOARD
    assert after(tried, "-append").split()[0] == "console=ttyAMA0"
    assert shared.systems == [System(arch="arm64")]


def test_kvm_of_a_pc_is_tried_as_ever():
    pc = Board("x86_64", boot="boot-of-a-pc")

    assert kvm.usable(pc, Shared()) is None

    (tried,) = (argv for argv in pc.asked if argv[0].startswith("qemu"))
    assert tried[:3] == ["qemu-system-x86_64", "-accel", "kvm"]
    assert after(tried, "-append").split()[0] == "console=ttyS0"


def test_a_guest_under_kvm_has_the_interrupt_controller_of_the_board():
    under_kvm = Hardware(arch="arm64").argv("/run/tare-x", LIMITS, "kvm", 20022)
    emulated = Hardware(arch="arm64").argv("/run/tare-x", LIMITS, "tcg", 20022)

    assert under_kvm[:3] == BOARD
    assert after(under_kvm, "-cpu") == "host"
    assert after(emulated, "-machine") == "virt"


@pytest.mark.parametrize(
    ("word", "arch", "own"), [("aarch64", "amd64", "arm64"), ("x86_64", "arm64", "amd64")]
)
def test_kvm_runs_guests_of_the_machines_own_architecture_only(word, arch, own):
    board = Board(word, qemu_system_aarch64=(0, "QEMU 7\n"), qemu_system_x86_64=(0, "QEMU 7\n"))

    with pytest.raises(Unavailable, match=f"board is {own}, a guest of {arch}") as refused:
        layer.load("kvm", arch=arch).probe(board, Shared())
    assert f"arch: {own}" in refused.value.fix
    assert layer.load("qemu", arch=arch).probe(board, Shared())["qemu.accel"] == "tcg"


@pytest.mark.parametrize(("word", "own"), [("aarch64", "arm64"), ("x86_64", "amd64")])
def test_kvm_of_the_machines_own_architecture_is_taken(word, own):
    binary = f"qemu_system_{word}"
    board = Board(word, boot=f"a boot of {own}", **{binary: (0, "QEMU 7\ntare: probe ok\n")})

    assert layer.load("kvm", arch=own).probe(board, Shared())["qemu.accel"] == "kvm"
    assert layer.load("qemu", arch=own).probe(board, Shared())["qemu.accel"] == "kvm"


def test_a_guest_of_an_arm64_board_boots_its_kernel_on_its_console():
    made = layer.load("kvm", arch="arm64")

    assert made.system == System(suite="bookworm", arch="arm64")
    assert {"console=ttyAMA0", "tare.console=/dev/ttyAMA0"} <= set(made.append.split())
    assert made.needs()[0] == "qemu-system-arm"
    with pytest.raises(ConfigError, match="disk: virt has no IDE"):
        layer.load("kvm", arch="arm64", disk="ide")


def test_unless_told_a_guest_is_what_the_controlling_host_is():
    assert layer.load("kvm").arch == layer.load("qemu-tcg").arch == architecture.HERE


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="it opens a file by the bit of x86-64")
def test_a_disk_is_held_open_directly_by_the_bit_of_its_architecture(tmp_path):
    held = tmp_path / "disk"
    held.touch()
    (tmp_path / "uname").write_text("#!/bin/sh\necho aarch64\n")
    (tmp_path / "uname").chmod(0o755)
    ask = ["sh", "-c", guest_disk.IS_DIRECT, str(held)]
    on_arm64 = ["env", f"PATH={tmp_path}:{os.environ['PATH']}", *ask]

    flags = [os.O_RDONLY, os.O_RDONLY | os.O_DIRECT]
    found = []
    for flag in flags:
        opened = os.open(held, flag)
        try:
            found.append([text(Host(), argv).strip() for argv in (ask, on_arm64)])
        finally:
            os.close(opened)

    assert found == [["no", "no"], ["yes", "no"]]


# --- libvirt


def described(arch, kind="kvm"):
    site = SimpleNamespace(name="x", folder="/run", limits=LIMITS, cpuset="0-3")
    guest = Guest(Path("/cache/guest/1a2b"), "6.1", arch)
    return ET.fromstring(domain.qemu(site, kind, guest, "tap1", "quiet"))  # noqa: S314


def test_a_domain_of_an_arm64_board_is_a_virt_without_acpi():
    found = described("arm64")

    assert found.find("os/type").attrib == {"arch": "aarch64", "machine": "virt"}
    assert found.findtext("devices/emulator") == "/usr/bin/qemu-system-aarch64"
    assert found.find("features") is None


def test_a_domain_of_a_pc_is_as_ever():
    found = described("amd64")

    assert found.find("os/type").attrib == {"arch": "x86_64", "machine": "pc"}
    assert found.find("features/acpi") is not None


@pytest.mark.parametrize(("arch", "name"), [("arm64", "aarch64"), ("amd64", "x86_64")])
def test_a_container_of_libvirt_is_of_the_machines_architecture(arch, name):
    site = SimpleNamespace(name="x", folder="/run", limits=LIMITS, cpuset="0-3")
    found = ET.fromstring(domain.lxc(site, "/run/root", ("/bin/sh",), arch))  # noqa: S314

    assert found.find("os/type").get("arch") == name
