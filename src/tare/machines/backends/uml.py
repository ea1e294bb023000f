"""Build the command line of user-mode Linux, and check what it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.core.errors import Unavailable
from tare.core.model import DiskCache, Limits
from tare.machines.backends import fuse_disk as direct
from tare.machines.machine import Machine, text
from tare.machines.network.addresses import CABLE_BITS
from tare.machines.network.tap import Tap

if TYPE_CHECKING:
    from tare.machines.userland import Guest

BINARY = "linux.uml"
TOOLS = {BINARY: "user-mode-linux", direct.BINARY: "qemu-system-common",
         "qemu-img": "qemu-utils", "ip": "iproute2"}  # fmt: skip
DEVICES = {"/dev/net/tun": "tun", "/dev/fuse": "fuse"}
# The driver that takes a tap without losing packets gives it a name of its own.
INIT = '"ip link set dev vec0 name eth0; exec /sbin/tare-init"'

TRY_S = 30.0
BROKEN = "Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b"
# What it makes lies in a folder that is gone with it. Its root is the host's, read only.
TRY = r"""
folder=$(mktemp -d /tmp/tare-XXXXXX)
trap 'rm -rf "$folder"' EXIT
env -i "TMPDIR=$folder" timeout -s KILL 20 "$0" mem=64M root=/dev/root rootfstype=hostfs ro \
    "uml_dir=$folder" umid=try noreboot con=null con0=null,fd:1 ssl=null loglevel=1 \
    init=/bin/true < /dev/null
"""


def usable(outer: Machine) -> str:
    """Return the version of the kernel that would be run, or raise Unavailable."""
    for tool, package in TOOLS.items():
        if outer.run(["sh", "-c", 'command -v "$0"', tool]).returncode != 0:
            raise Unavailable(
                f"{tool} is not installed on {outer.name}", f"apt-get install {package}"
            )
    for device, module in DEVICES.items():
        there = 'test -c "$0" || modprobe "$1"'
        if outer.run(["sh", "-c", there, device, module]).returncode != 0:
            raise Unavailable(f"{outer.name} has no {device}", f"modprobe {module}")
    return text(outer, [BINARY, "--version"])


def boots(outer: Machine) -> None:
    """Raise Unavailable where its kernel cannot run a first program.

    It has room for the registers of the CPUs of its time: on one with more (AMX) every program ends
    by SIGSEGV, also /bin/true. That is looked for and nothing else.
    """
    done = outer.run(["sh", "-c", TRY, BINARY], timeout_s=TRY_S)
    if BROKEN in (done.stdout + done.stderr).decode(errors="replace"):
        raise Unavailable(
            f"no program runs on the kernel of {BINARY} on the CPU of {outer.name}; it said last: "
            f"{BROKEN}",
            "measure it on a CPU without AMX, or with a newer user-mode-linux",
        )


def start_argv(folder: str, guest: Guest, limits: Limits, cable: Tap) -> list[str]:
    """Build the command that boots the guest, and is its kernel as long as that lives.

    What it writes goes above the shared disk. ``noreboot`` ends it instead: started again by itself
    it could not open its tap. ``gro=1`` takes the large packets that the host sends.
    """
    direct_disk = limits.disk_cache is DiskCache.NONE
    above = f"{folder}/export" if direct_disk else f"{folder}/disk,{guest.disk}"
    return [
        "env", "-i", f"TMPDIR={folder}/memory", BINARY, f"mem={limits.memory_bytes // 2**20}M",
        f"ubd0={above}", "root=/dev/ubda", "rw", f"uml_dir={folder}", "umid=uml", "noreboot",
        "con=null", "con0=null,fd:1", "ssl=null", "loglevel=1",
        f"vec0:transport=tap,ifname={cable.device},depth=64,gro=1",
        "rcupdate.rcu_cpu_stall_suppress=1", "tare.console=/dev/tty0",
        f"tare.address={cable.address}/{CABLE_BITS}", f"tare.gateway={cable.gateway}",
        "init=/bin/sh", "--", "-c", INIT,
    ]  # fmt: skip
