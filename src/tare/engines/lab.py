"""The lab: a disposable Debian host whose hardware virtualization is emulated by QEMU (TCG).

All instances of all platforms of a session share one. It is booted by the first that needs it and
removed at the session's end; or it was booted by ``tare lab up``, is used by every session, and
stays until ``tare lab down``. It stands still unless somebody runs something in it.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tare import durable
from tare.engines.qemu import tell
from tare.errors import CommandFailed, LayerError, LayerTimedOut, Unavailable
from tare.home import home
from tare.ledger import Ledger, Leftover, Scope, clean, leftovers
from tare.limits import cgroup
from tare.machine import Completed, Host, Inner, Machine, await_true, check, text
from tare.ssh import Connection
from tare.userland import REMOVE_FOLDER
from tare.userland.lab import SHELVES, Image, build_lab

if TYPE_CHECKING:
    from tare.layer import Site

Hypervisor = Literal["kvm", "xen"]
HYPERVISORS: tuple[Hypervisor, ...] = ("kvm", "xen")

BINARY = "qemu-system-x86_64"
CPUS = 2
LINUX_CPUS = {"kvm": CPUS, "xen": 1}
"""What the lab's Linux has of them: a dom0 with two spins on one while it waits for the other."""
MEMORY_MIB = 5120
# What QEMU needs besides the lab's memory: translated code, above all.
NEEDS_MIB = MEMORY_MIB + 1536
BOOT_S = 600.0
SSHD_S = 60.0
PORTS = (20000, 32000)
PORT_TRIES = 5
# Xen and a CPU that QEMU emulates, each seen: the IRET of a paravirtual kernel, which runs in
# user mode, is refused by SMAP; idling by MWAIT is a general protection fault; an intercepted
# RDTSCP is reported as RDTSC, at which Xen ends the guest. So that CPU has none of them.
CPU = {"kvm": "EPYC-v1,+svm,+npt", "xen": "EPYC-v1,+svm,+npt,-smap,-smep,-monitor,-rdtscp"}
# A clock that need not be watched; no watchdog that takes slowness for a fault; no mitigations of
# faults that an emulated CPU does not have; no AppArmor, whose profiles take minutes to compile
# here. A panic ends QEMU, so that nobody waits for it.
KERNEL = (
    "root=/dev/vda rw quiet systemd.show_status=0 net.ifnames=0 panic=-1 "
    "mitigations=off apparmor=0 tsc=reliable nowatchdog rcupdate.rcu_cpu_stall_suppress=1"
)
# By itself the driver is loaded some time after the lab is up.
LINUX = f"{KERNEL} console=ttyS0 clocksource=tsc modules_load=kvm_amd"
DOM0 = f"{KERNEL} console=hvc0"
XEN = (
    "console=com1 com1=115200,8n1 cpuidle=0 "
    "dom0_mem=2048M,max:2048M dom0_max_vcpus=1 dom0_vcpus_pin"
)

# Whether the process that the lab's folder names is in its group: another may have its number.
ALIVE = r"""
alive() {
    pid=$(cat "$folder/pid" 2> /dev/null) &&
        cat /sys/fs/cgroup/"$path"/cgroup.procs /sys/fs/cgroup/*/"$path"/cgroup.procs 2> /dev/null |
        grep -qx "$pid"
}
folder=$0 path=$1
shift
"""
LIVES = ALIVE + "alive\n"
# In a lab that is gone there is nothing to undo; one that stands still has to go on for that.
UNDO = (
    ALIVE
    + r"""
tell() {
    printf '{"execute": "qmp_capabilities"}\n{"execute": "%s"}\n' "$1" |
        socat -t 10 - UNIX-CONNECT:"$folder/monitor" > /dev/null 2>&1
}
alive || exit 0
tell cont
"$@"
status=$?
tell stop
exit $status
"""
)
AVAILABLE = "awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo"


@dataclass
class Lab:
    """A lab that runs: its QEMU in the group ``group``, its files in ``folder``."""

    outer: Machine
    hypervisor: str
    folder: str
    group: str
    port: int
    control: str
    """The socket of this session's connection; another than that of another session."""
    _users: set[object] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def connection(self) -> Connection:
        """How it is reached."""
        return Connection("root", "127.0.0.1", self.port, f"{self.folder}/key", self.control)

    @property
    def machine(self) -> Inside:
        """The machine inside, always the same: what its instances share is found by it."""
        return self._machine

    def __post_init__(self) -> None:
        self._machine = Inside(self, self.connection.wrap)

    def lives(self) -> bool:
        """Ask whether its QEMU still runs."""
        return self.outer.run(["sh", "-c", LIVES, self.folder, self.group]).returncode == 0

    def answers(self) -> bool:
        """Ask whether a command can be run in it."""
        return self.lives() and self.machine.run(["true"]).returncode == 0

    def undo_argv(self, argv: Sequence[str]) -> list[str]:
        """Build the command that runs argv here if the lab lives, and else succeeds."""
        return ["sh", "-c", UNDO, self.folder, self.group, *argv]

    def take(self, user: object) -> None:
        """Let it go on, for as long as there is a user; raises LayerError."""
        with self._lock:
            if not self._users:
                self.tell("cont", "running")
            self._users.add(user)

    def drop(self, user: object) -> None:
        """Have it stand still, its clock too, unless there is another user; raises LayerError."""
        with self._lock:
            self._users.discard(user)
            if not self._users:
                self.tell("stop", "paused")

    def tell(self, command: str, status: str) -> None:
        """Give a command to its QEMU and believe only the status it then has."""
        monitor = f"{self.folder}/monitor"
        *_, state = tell(self.outer, monitor, (command, {}), ("query-status", {}))
        if state["status"] != status:
            raise LayerError(f"the lab did not take {command!r}: it is {state['status']}")

    @contextmanager
    def awake(self) -> Iterator[None]:
        """Let it go on for as long as something is done in it."""
        user = object()
        self.take(user)
        try:
            yield
        finally:
            self.drop(user)


class Inside:
    """The machine inside a lab."""

    ephemeral = False  # it outlives the instances that use it

    def __init__(self, lab: Lab, wrap: Callable[[Sequence[str]], Sequence[str]]) -> None:
        self.lab, self._inner = lab, Inner(lab.outer, "lab", wrap)
        self.name = self._inner.name

    def host_argv(self, argv: Sequence[str]) -> list[str]:
        """See Machine.host_argv; what is written in a ledger has to succeed without the lab too."""
        return self.lab.outer.host_argv(self.lab.undo_argv(self._inner.wrap(argv)))

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> Completed:
        """See Machine.run."""
        try:
            with self.lab.awake():
                return self._inner.run(argv, stdin=stdin, timeout_s=timeout_s)
        except LayerError as error:  # as ssh says it of a machine that is gone
            return Completed(tuple(argv), 255, b"", str(error).encode(), 0.0)

    def held(self, group: cgroup.Group) -> Inside:
        """Give the same machine with all that is run there in a group."""
        wrap = self._inner.wrap
        return Inside(self.lab, lambda argv: wrap(group.enter_argv(argv)))


def serving(outer: Machine, site: Site, hypervisor: Hypervisor) -> Lab:
    """Give the session's lab: the one that ``tare lab up`` left, else one of its own."""

    def make(scope: Scope) -> Lab:
        kept = find(hypervisor)
        if kept is None or not kept.lives():
            name = f"tare-{site.session}-lab-{hypervisor}"
            return boot(outer, scope, hypervisor, name, f"{site.folder}/{name}")
        lab = Lab(outer, hypervisor, kept.folder, kept.group, kept.port,
                  f"{site.folder}/lab-{hypervisor}.ssh")  # fmt: skip
        leave = lab.undo_argv(lab.connection.hang_up_argv())
        scope.about_to_make("connection", lab.control, outer, leave)
        with lab.awake():
            lab.connection.open(outer, SSHD_S)
            # What layers make in a lab that stays lies in a folder that does not.
            remove = ["sh", "-c", REMOVE_FOLDER, site.folder]
            scope.about_to_make("folder", site.folder, lab.machine, remove)
            check(lab.machine, ["mkdir", "-p", site.folder])
        return lab

    return site.services.once(f"lab {hypervisor}", outer, make, Lab.answers)


def boot(outer: Machine, scope: Scope, hypervisor: Hypervisor, name: str, folder: str) -> Lab:
    """Boot a lab and wait until it answers; raises Unavailable or LayerError."""
    free = int(text(outer, ["sh", "-c", AVAILABLE]))
    if free < NEEDS_MIB:
        raise Unavailable(
            f"a lab needs {NEEDS_MIB} MiB of memory, {free} MiB are available on {outer.name}",
            "end what takes the memory, or use a larger host",
        )
    image = build_lab(scope.ledger)
    scope.about_to_make("folder", folder, outer, ["sh", "-c", REMOVE_FOLDER, folder])
    group = cgroup.make(outer, f"tare/{name}", scope)
    shelves = {shelf: str(home() / shelf) for shelf in SHELVES}
    disk = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(image.disk),
            f"{folder}/disk"]  # fmt: skip
    try:
        check(outer, ["mkdir", "-p", folder, *shelves.values()])
        check(outer, disk)
        check(outer, ["install", "-m", "600", str(image.key), f"{folder}/key"])
    except CommandFailed as error:
        raise LayerError(f"could not make a disk for {name}: {error}") from error
    for _ in range(PORT_TRIES):
        port = random.randrange(*PORTS)  # noqa: S311 - only to miss other sessions
        argv = start_argv(image, folder, hypervisor, port, shelves)
        done = outer.run(group.enter_argv(argv))
        if b"Could not set up host forwarding rule" not in done.stderr:
            break
    if done.returncode != 0:
        why = done.stderr.decode(errors="replace").strip()[-400:]
        raise LayerError(f"qemu did not start {name} on {outer.name}: {why}")
    lab = Lab(outer, hypervisor, folder, group.path, port, f"{folder}/ssh")
    _await(lab)
    return lab


def _await(lab: Lab) -> None:
    """Wait for the console to say so, then for sshd: it listens a moment later."""
    console = f"{lab.folder}/console"
    told = ["grep", "-aoE", "tare: ready|emergency mode", console]
    said = b""

    def says() -> bool:
        nonlocal said
        said = lab.outer.run(told).stdout
        return bool(said)

    await_true(says, timeout_s=BOOT_S, every_s=0.5, alive=lab.lives)
    if b"emergency" in said:
        first = lab.outer.run(["head", "-n", "8", console]).stdout.decode(errors="replace")
        raise LayerError(
            f"the lab {lab.group} went into emergency mode; its console: {first.strip()[-600:]}"
        )
    if not said:
        tail = lab.outer.run(["tail", "-n", "8", console]).stdout
        raise LayerTimedOut(
            f"the lab {lab.group} did not come up within {BOOT_S:.0f} s; its console ends: "
            f"{tail.decode(errors='replace').strip()[-600:] or '(nothing was printed)'}"
        )
    refused: list[LayerError] = []

    def connects() -> bool:
        try:
            lab.connection.open(lab.outer, SSHD_S)
        except LayerError as error:
            refused.append(error)
            return False
        return True

    if not await_true(connects, timeout_s=SSHD_S, every_s=0.5, alive=lab.lives):
        raise LayerTimedOut(f"the lab booted, but its sshd lets nobody in: {refused[-1]}")


def start_argv(
    image: Image, folder: str, hypervisor: Hypervisor, port: int, shelves: Mapping[str, str]
) -> list[str]:
    """Build the command that boots a lab and returns.

    ``shelves`` are folders of the host that the lab may read. The disk is opened with O_DIRECT, so
    that the host's memory is no second cache for what is measured in the lab itself.
    """
    if hypervisor == "xen":
        # Multiboot modules: dom0's kernel with its arguments, and its initial RAM disk.
        system = ["-kernel", str(image.xen), "-append", XEN,
                  "-initrd", f"{image.kernel} {DOM0},{image.initrd}"]  # fmt: skip
    else:
        system = ["-kernel", str(image.kernel), "-append", LINUX, "-initrd", str(image.initrd)]
    shared = [
        word
        for tag, path in shelves.items()
        for word in (
            "-fsdev", f"local,id={tag},path={path},security_model=none,readonly=on",
            "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}",
        )
    ]  # fmt: skip
    return [
        # Never KVM: where the host's works, a lab is not needed. The cache of translated code is
        # as large as the code of two kernels and QEMU.
        BINARY, "-machine", "q35", "-accel", "tcg,thread=multi,tb-size=1024",
        "-cpu", CPU[hypervisor], "-smp", str(CPUS), "-m", f"{MEMORY_MIB}M",
        "-name", f"{folder.rpartition('/')[2]},debug-threads=on",
        "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-daemonize",
        "-pidfile", f"{folder}/pid", "-serial", f"file:{folder}/console",
        "-chardev", f"socket,id=monitor,path={folder}/monitor,server=on,wait=off",
        "-mon", "chardev=monitor,mode=control", *system,
        "-drive", f"file={folder}/disk,if=virtio,format=qcow2,cache=none",
        "-nic", f"user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:{port}-:22",
        "-device", "virtio-rng-pci", *shared,
    ]  # fmt: skip


# --- labs that are up on purpose


def find(hypervisor: Hypervisor) -> Lab | None:
    """Find the lab that ``tare lab up`` booted; it may have died since."""
    try:
        state = json.loads(_state(hypervisor).read_text())
    except FileNotFoundError:
        return None
    folder = str(state["folder"])
    return Lab(Host(), hypervisor, folder, state["group"], state["port"], f"{folder}/ssh")


def keep(hypervisor: Hypervisor) -> Lab:
    """Boot a lab that stays after this process, or raise Unavailable or LayerError.

    Until it is up its ledger is among those of sessions, so that ``tare clean`` removes one that is
    half made; then only ``remove`` does.
    """
    state, path = _state(hypervisor), _ledger(hypervisor)
    state.parent.mkdir(parents=True, exist_ok=True)
    link = home() / "ledgers" / f"lab-{hypervisor}"
    link.parent.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(path)
    try:
        link.unlink(missing_ok=True)
        link.symlink_to(path.resolve())
        scope = Scope(ledger)
        try:
            folder = str(state.with_suffix(""))
            lab = boot(Host(), scope, hypervisor, f"tare-lab-{hypervisor}", folder)
            check(Host(), lab.connection.hang_up_argv())
            lab.tell("stop", "paused")  # nobody uses it yet
            told = {"folder": lab.folder, "group": lab.group, "port": lab.port}
            durable.replace(state, json.dumps(told))
        except BaseException:
            scope.close()
            raise
        finally:
            if state.exists() or not leftovers(path):
                link.unlink()
    finally:
        ledger.close()
    return lab


def remove(hypervisor: Hypervisor) -> Iterator[tuple[Leftover, str]]:
    """Remove the lab that is kept, or what is left of it; yields as ``ledger.clean`` does."""
    path = _ledger(hypervisor)
    if not path.exists():
        return
    yield from clean(path)
    if not leftovers(path):
        _state(hypervisor).unlink(missing_ok=True)
        (home() / "ledgers" / f"lab-{hypervisor}").unlink(missing_ok=True)
        path.unlink()


def _state(hypervisor: Hypervisor) -> Path:
    return home() / "labs" / f"{hypervisor}.json"


def _ledger(hypervisor: Hypervisor) -> Path:
    return home() / "labs" / f"{hypervisor}.jsonl"
