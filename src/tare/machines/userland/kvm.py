"""Check whether KVM works by booting a guest: /dev/kvm alone proves nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING

from tare.core import durable
from tare.core.home import home
from tare.machines.machine import Host, Machine, text
from tare.machines.userland import architecture
from tare.machines.userland.architecture import Arch
from tare.machines.userland.cache import content_id
from tare.machines.userland.system import System

if TYPE_CHECKING:
    from tare.machines.userland.tree import Userland

# A working KVM takes a second or two; one that does not work takes all of it.
PROBE_S = 25.0
# Elsewhere the machine itself may be emulated, and is many times slower.
NESTED_PROBE_S = 120.0
# On arm64 there is no board by default, and KVM has the host's interrupt controller only.
BOARD: Mapping[Arch, tuple[str, ...]] = {
    "amd64": (),
    "arm64": ("-machine", "virt,gic-version=host"),
}
_ASKING = Lock()
"""Two guests that are tried at once on a slow host could both be too late."""
_known: dict[str, list[str] | None] = {}
"""Answers of this process, for each boot of each machine."""


def usable(
    outer: Machine, userland: Userland | None, within_s: float | None = None
) -> tuple[str, str] | None:
    """Return None if a guest boots, else the reason and how to fix it.

    It has ``within_s`` seconds for that; unless given 25 s here, and two minutes on other machines.
    The answer is kept until the machine's next boot or another guest kernel: on the controlling
    host on disk, for others as long as this process lives.
    """
    if outer.run(["test", "-w", "/dev/kvm"]).returncode != 0:
        return (
            f"/dev/kvm is not there or not writable on {outer.name}",
            "use a host with hardware virtualization, load its module of kvm, run as root",
        )
    if userland is None:
        return (
            "no guest kernel has been built yet to try KVM with",
            "tare run, or make quickstart",
        )
    arch = architecture.of(outer)
    guest = userland.guest(outer, System(arch=arch))
    argv = [
        f"qemu-system-{architecture.NAMES[arch]}", *BOARD[arch],
        "-accel", "kvm", "-cpu", "host", "-m", "256", "-nodefaults",
        "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio",
        "-kernel", str(guest.kernel), "-initrd", str(guest.initrd),
        "-append", f"console={architecture.CONSOLES[arch]} quiet panic=-1 tare.probe",
    ]  # fmt: skip
    if within_s is None:
        within_s = PROBE_S if isinstance(outer, Host) else NESTED_PROBE_S
    with _ASKING:
        answer = _answer(outer, argv, within_s)
    return (answer[0], answer[1]) if answer else None


def _answer(outer: Machine, argv: list[str], within_s: float) -> list[str] | None:
    asked = content_id([argv, _boot(outer)])
    if not isinstance(outer, Host):
        if asked not in _known:
            _known[asked] = _try(outer, argv, within_s)
        return _known[asked]
    known = home() / "probes" / f"{asked}.json"
    if known.exists():
        stored: list[str] | None = json.loads(known.read_text())
        return stored
    answer = _try(outer, argv, within_s)
    known.parent.mkdir(parents=True, exist_ok=True)
    durable.replace(known, json.dumps(answer))
    return answer


def _try(outer: Machine, argv: list[str], within_s: float) -> list[str] | None:
    done = outer.run(argv, timeout_s=within_s)
    if b"tare: probe ok" in done.stdout:
        return None
    said = done.stderr.decode(errors="replace").strip().splitlines()
    console = done.stdout.decode(errors="replace").strip().splitlines()
    detail = f"QEMU said: {said[0][:120]}" if said else ""
    if not said and console:
        detail = f"its console ends: {console[-1][:120]}"
    return [
        f"/dev/kvm is there on {outer.name}, but no guest came up"
        + (f" within {within_s:.0f} s" if done.timed_out else f" (exit {done.returncode})")
        + (f"; {detail}" if detail else ""),
        "use a host whose KVM boots stock kernels, or the lab (lab/kvm); qemu-tcg works here",
    ]


def _boot(outer: Machine) -> str:
    return text(outer, ["cat", "/proc/sys/kernel/random/boot_id"])
