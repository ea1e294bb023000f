"""Build QEMU's command line (machine, CPU, disk, network), and send commands to its monitor."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tare.core.completed import tail_of
from tare.core.errors import LayerError, Unavailable
from tare.core.model import Limits
from tare.machines.backends import qmp
from tare.machines.machine import Host, Machine, text
from tare.machines.switch import Switch
from tare.machines.userland.architecture import CONSOLES, HERE, NAMES, Arch

PACKAGES = {"amd64": "qemu-system-x86", "arm64": "qemu-system-arm"}
# The guest's own watchdogs would take a pause for a fault, and its check of the timer a busy host
# for a broken board: of 32 guests that booted at once under emulation, one panicked by it. A guest
# that panics asks for a reset, which ends QEMU, so that nobody waits for it.
KERNEL_ARGUMENTS = (
    "quiet net.ifnames=0 nowatchdog no_timer_check rcupdate.rcu_cpu_stall_suppress=1 panic=-1"
)  # fmt: skip
ROOT = {"virtio": "/dev/vda", "nvme": "/dev/nvme0n1", "ide": "/dev/sda", "sata": "/dev/sda"}
UEFI = {"amd64": "/usr/share/ovmf/OVMF.fd", "arm64": "/usr/share/qemu-efi-aarch64/QEMU_EFI.fd"}
UEFI_PACKAGES = {"amd64": "ovmf", "arm64": "qemu-efi-aarch64"}
# In the guest "max" means all that TCG can emulate. The algorithm that signs pointers may be any;
# QEMU's own costs a fraction of the one of real CPUs, which takes most of a guest's time.
CPU = {"amd64": "max", "arm64": "max,pauth-impdef=on"}


SWITCHES = (
    Switch(
        name="disk", setting="disk", on="ide", off="virtio", shows=("root_device",),
        about="an emulated IDE disk, QEMU's default, or a paravirtual one",
    ),
    Switch(
        name="network", setting="network", on="e1000", off="virtio", shows=("eth0_driver",),
        about="an emulated Intel card, QEMU's default, or a paravirtual one",
    ),
    Switch(
        name="cpu", setting="cpu", on="qemu64", off="max", shows=("cpu_model",),
        about="QEMU's own least CPU model, or all that the accelerator has",
    ),
)  # fmt: skip
"""Messages that QEMU sends without being asked."""


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """What a guest sees; the fields are settings of every layer that runs QEMU.

    ``arch`` is that of the controlling host unless given. ``machine`` is ``pc`` unless given, and
    ``virt`` on arm64. Of ``disk`` and ``network``
    ``virtio`` is paravirtual, the others emulate real devices. ``cpu`` is a model in QEMU's words;
    unless given the host's own under KVM, and all that can be emulated without. ``hugepages`` backs
    the guest's memory with huge pages reserved on the host. ``kernel`` is the flavour of Debian's
    kernel: ``auto`` takes ``cloud`` where that has the drivers, else ``generic``.
    """

    arch: Arch = HERE
    machine: Literal["pc", "q35", "microvm"] | None = None
    disk: Literal["virtio", "nvme", "ide", "sata"] = "virtio"
    network: Literal["virtio", "e1000"] = "virtio"
    cpu: str = ""
    hugepages: bool = False
    kernel: Literal["auto", "cloud", "generic"] = "auto"

    def __post_init__(self) -> None:
        """Refuse hardware that cannot be, with ValueError."""
        if self.arch == "arm64" and self.machine:
            raise ValueError("machine: arm64 has none but virt; expected it to be left out")
        if self.disk == "ide" and self.board != "pc":
            raise ValueError(f"disk: {self.board} has no IDE; expected sata, or the machine pc")
        if self.board == "microvm" and {self.disk, self.network} != {"virtio"}:
            raise ValueError("machine: microvm has no PCI; expected disk and network virtio")
        if self.kernel == "cloud" and self.flavour != "cloud":
            raise ValueError("kernel: Debian's cloud kernel lacks the drivers; expected generic")

    @property
    def board(self) -> str:
        """The machine type."""
        return self.machine or ("virt" if self.arch == "arm64" else "pc")

    @property
    def flavour(self) -> Literal["cloud", "generic"]:
        """The kernel's flavour that has the drivers and is asked for."""
        # What the initramfs of the cloud flavour loads, or that kernel has built in.
        enough = (
            self.board != "microvm" and self.disk in ("virtio", "nvme") and self.network == "virtio"
        )
        return "cloud" if enough and self.kernel != "generic" else "generic"

    @property
    def binary(self) -> str:
        """The program that emulates it."""
        return f"qemu-system-{NAMES[self.arch]}"

    @property
    def append(self) -> str:
        """The kernel's command line."""
        console = CONSOLES[self.arch]
        words = ["console=" + console, KERNEL_ARGUMENTS]
        if console != "ttyS0":
            words.append(f"tare.console=/dev/{console}")
        if self.disk != "virtio":
            words.append(f"tare.root={ROOT[self.disk]}")
        return " ".join(words)

    def cpu_model(self, accel: str) -> str:
        """Return QEMU's name of the CPU."""
        return self.cpu or (CPU[self.arch] if accel == "tcg" else "host")

    def argv(
        self, folder: str, limits: Limits, accel: str, port: int, published: Sequence[str] = ()
    ) -> list[str]:
        """Build the command that starts a guest and returns, all but what it boots.

        Its user-mode network leads from ``port`` of the loopback to its sshd, and by ``published``
        (``published_argv``) from elsewhere to its other ports.
        ``cache=none`` opens the disk with O_DIRECT: the host's memory is no second cache for the
        guest. ``debug-threads`` gives the threads of the virtual CPUs distinct names.
        ``append=on`` lets the console's file be emptied before a reboot.
        """
        memory = f"{limits.memory_bytes // 2**20}M"
        forwards = [f"tcp:127.0.0.1:{port}-:22", *published]
        return [
            self.binary, "-machine", self._machine(accel),
            "-accel", "tcg,thread=multi" if accel == "tcg" else "kvm",
            "-cpu", self.cpu_model(accel),
            "-name", f"{folder.rpartition('/')[2]},debug-threads=on",
            "-smp", str(limits.cpus), "-m", memory, *self._memory(memory),
            "-nodefaults", "-no-user-config", "-display", "none", "-daemonize",
            "-pidfile", f"{folder}/pid",
            "-chardev", f"file,id=console,path={folder}/console,append=on",
            "-serial", "chardev:console",
            "-chardev", f"socket,id=monitor,path={folder}/monitor,server=on,wait=off",
            "-mon", "chardev=monitor,mode=control",
            "-drive", f"if=none,id=disk,file={folder}/disk,format=qcow2,cache={limits.disk_cache}",
            *self._disk(),
            "-netdev", ",".join(["user,id=net", *(f"hostfwd={each}" for each in forwards)]),
            "-device", f"{self._network()},netdev=net",
        ]  # fmt: skip

    @staticmethod
    def published_argv(front: str, ports: Sequence[int]) -> list[str]:
        """Build the words that lead from ports at an address to the same ports of the guest."""
        return [f"{kind}:{front}:{at}-:{at}" for kind in ("tcp", "udp") for at in ports]

    def cable_argv(self, device: str) -> list[str]:
        """Build the words that add the guest's end of a cable, whose other end is a tap device."""
        # The last device there is, so that the guest's first network stays the first.
        return ["-netdev", f"tap,id=cable,ifname={device},script=no,downscript=no",
                "-device", f"{self._network()},netdev=cable"]  # fmt: skip

    def _machine(self, accel: str) -> str:
        """Return the name of the board, with what it has by option.

        KVM has the host's interrupt controller.
        """
        gic = ",gic-version=host" if (self.arch, accel) == ("arm64", "kvm") else ""
        return self.board + gic + (",memory-backend=ram" * self.hugepages)

    def _memory(self, size: str) -> list[str]:
        """Build the words for huge pages, which are all reserved at the start."""
        backend = f"memory-backend-memfd,id=ram,size={size},hugetlb=on,prealloc=on"
        return ["-object", backend] if self.hugepages else []

    def _disk(self) -> list[str]:
        virtio = "virtio-blk-device" if self.board == "microvm" else "virtio-blk-pci"
        devices = {
            "virtio": [f"{virtio},drive=disk"],
            "nvme": ["nvme,drive=disk,serial=tare"],
            "ide": ["ide-hd,drive=disk,bus=ide.0"],
            "sata": ["ahci,id=sata", "ide-hd,drive=disk,bus=sata.0"],
        }
        return [word for device in devices[self.disk] for word in ("-device", device)]

    def _network(self) -> str:
        """Return the name of the device; without its ROM nothing tries to boot from the network."""
        if self.board == "microvm":
            return "virtio-net-device"
        return {"virtio": "virtio-net-pci", "e1000": "e1000"}[self.network] + ",romfile="


def kernel_argv(hardware: Hardware, kernel: str, initrd: str) -> list[str]:
    """Build the words that boot a kernel; a reset ends QEMU, and only a reboot changes that."""
    return ["-kernel", kernel, "-initrd", initrd, "-append", hardware.append,
            "-action", "reboot=shutdown"]  # fmt: skip


def firmware_argv(hardware: Hardware, firmware: str) -> list[str]:
    """Build the words that boot what is on the disk, by BIOS or UEFI."""
    return ["-bios", UEFI[hardware.arch]] if firmware == "uefi" else []


Command = tuple[str, Mapping[str, str]]
HELLO: Command = ("qmp_capabilities", {})
ANSWER_S = 10.0


def tell(outer: Machine, monitor: str, *commands: Command) -> list[Any]:
    """Send commands to the QEMU behind a monitor's socket and return its answers (QMP).

    QEMU reads no command before it has answered the one before it, so they can be sent at once.
    On the controlling host that needs no process.
    Raises LayerError if one is refused, or QEMU does not answer.
    """
    asked = [{"execute": name, "arguments": dict(given)} for name, given in (HELLO, *commands)]
    lines = "".join(f"{json.dumps(line)}\n" for line in asked).encode()
    if isinstance(outer, Host):
        output, failure = _said_here(monitor, lines, len(asked))
    else:
        output, failure = _said_there(outer, monitor, lines)
    try:
        said = [json.loads(line) for line in output.splitlines()]
    except json.JSONDecodeError:
        said = []
    answers = [line["return"] for line in said if "return" in line]
    if len(answers) < len(asked):
        refused = [str(line["error"]["desc"]) for line in said if "error" in line]
        why = "; ".join(refused) or failure
        raise LayerError(f"QEMU did not take '{commands[0][0]}': {why or 'it did not answer'}")
    return answers[1:]


def _said_here(monitor: str, lines: bytes, count: int) -> tuple[bytes, str]:
    """Return what QEMU says, and why it says no more, without a process: the socket is here."""
    try:
        return qmp.converse(monitor, lines, count, ANSWER_S), ""
    except OSError as error:
        return b"", error.strerror or f"no answer within {ANSWER_S:g} s"


def _said_there(outer: Machine, monitor: str, lines: bytes) -> tuple[bytes, str]:
    """Return the same by socat, which waits for the last answer: only then does QEMU hang up."""
    to_monitor = ["socat", "-t", "10", "-", f"UNIX-CONNECT:{monitor}"]
    done = outer.run(to_monitor, stdin=lines, timeout_s=20)
    return done.stdout, tail_of(done.stderr)


def refuse_too_few_huge_pages(outer: Machine, memory_bytes: int) -> None:
    """Raise Unavailable where a machine has fewer free huge pages than a guest needs."""
    lines = text(outer, ["cat", "/proc/meminfo"]).splitlines()
    pages = {name: int(value.split()[0]) for name, _, value in (x.partition(":") for x in lines)}
    page_bytes = pages.get("Hugepagesize", 0) * 1024
    if not page_bytes:
        raise Unavailable(f"the kernel of {outer.name} has no huge pages", "hugepages: false")
    needed = -(-memory_bytes // page_bytes)
    free = pages["HugePages_Free"] - pages["HugePages_Rsvd"]
    if free < needed:
        raise Unavailable(
            f"a guest needs {needed} huge pages, {free} are free on {outer.name}",
            f"sysctl vm.nr_hugepages={pages['HugePages_Total'] + needed - free}",
        )
