"""Boot the lab: QEMU without KVM, with Linux or Xen, avoiding what QEMU emulates wrongly."""

from __future__ import annotations

import random
from collections.abc import Mapping

from tare.core.completed import tail_of
from tare.core.errors import CommandFailed, LayerError, LayerTimedOut, Unavailable
from tare.core.home import home
from tare.machines.backends.lab_machine import Hypervisor, Lab
from tare.machines.cgroup import cgroup
from tare.machines.ledger import Scope
from tare.machines.machine import Machine, await_true, check, text
from tare.machines.network import tap
from tare.machines.userland import REMOVE_FOLDER
from tare.machines.userland.lab import SHELVES, Image, build_lab

BINARY = "qemu-system-x86_64"
CPUS = 2
LINUX_CPUS = {"kvm": CPUS, "xen": 1}
"""What the lab's Linux has of them: a dom0 with two spins on one while it waits for the other."""
MEMORY_MIB = 5120
# What QEMU needs in addition to the lab's memory: mostly translated code.
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
AVAILABLE = "awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo"


def boot(  # noqa: PLR0913 - what it is called here, there and on the network
    outer: Machine, scope: Scope, hypervisor: Hypervisor, name: str, folder: str, device: str
) -> Lab:
    """Boot a lab and wait until it answers; raises Unavailable or LayerError.

    ``device`` names the host's end of a cable to it.
    """
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
    cable = tap.plug(outer, scope, device)
    for _ in range(PORT_TRIES):
        port = random.randrange(*PORTS)  # noqa: S311 - only to miss other sessions
        argv = start_argv(image, folder, hypervisor, port, device, shelves)
        done = outer.run(group.boot_argv(argv))
        if b"Could not set up host forwarding rule" not in done.stderr:
            break
    if done.returncode != 0:
        why = tail_of(done.stderr)
        raise LayerError(f"qemu did not start {name} on {outer.name}: {why}")
    lab = Lab(outer, hypervisor, folder, group.path, port, f"{folder}/ssh", cable)
    _await(lab)
    return lab


def _await(lab: Lab) -> None:
    """Wait for the console to say so, then for sshd: it listens a moment later."""
    console = f"{lab.folder}/console"
    find_state = ["grep", "-aoE", "tare: ready|emergency mode", console]
    said = b""

    def says() -> bool:
        nonlocal said
        said = lab.outer.run(find_state).stdout
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
        raise LayerTimedOut(f"the lab booted, but its sshd accepts no login: {refused[-1]}")


def start_argv(  # noqa: PLR0913 - see boot
    image: Image,
    folder: str,
    hypervisor: Hypervisor,
    port: int,
    device: str,
    shelves: Mapping[str, str],
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
        "-nic", f"tap,model=virtio-net-pci,ifname={device},script=no,downscript=no",
        "-device", "virtio-rng-pci", *shared,
    ]  # fmt: skip
