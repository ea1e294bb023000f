"""Whether a guest comes up on KVM, found out by booting one: /dev/kvm alone proves nothing."""

from __future__ import annotations

import json
from threading import Lock
from typing import TYPE_CHECKING

from tare import durable
from tare.home import home
from tare.machine import Host, Machine, text
from tare.userland.cache import content_id

if TYPE_CHECKING:
    from tare.userland.tree import Userland

PROBE_S = 25.0
_ASKING = Lock()
"""Two guests that are tried at once on a slow host could both be too late."""


def usable(outer: Machine, userland: Userland | None) -> tuple[str, str] | None:
    """Give None where a guest comes up, else the reason and what would mend it.

    On the controlling host the answer is kept until the next boot or another guest kernel.
    """
    if outer.run(["test", "-w", "/dev/kvm"]).returncode != 0:
        return (
            f"/dev/kvm is not there or not writable on {outer.name}",
            "use a host with hardware virtualization, load kvm_intel or kvm_amd, run as root",
        )
    if userland is None:
        return (
            "no guest kernel has been built yet to try KVM with",
            "tare run, or make quickstart",
        )
    guest = userland.guest(outer)
    argv = [
        "qemu-system-x86_64", "-accel", "kvm", "-cpu", "host", "-m", "256", "-nodefaults",
        "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio",
        "-kernel", str(guest.kernel), "-initrd", str(guest.initrd),
        "-append", "console=ttyS0 quiet panic=-1 tare.probe",
    ]  # fmt: skip
    with _ASKING:
        answer = _answer(outer, argv)
    return (answer[0], answer[1]) if answer else None


def _answer(outer: Machine, argv: list[str]) -> list[str] | None:
    known = home() / "probes" / f"{content_id([argv, _boot(outer)])}.json"
    if isinstance(outer, Host) and known.exists():
        stored: list[str] | None = json.loads(known.read_text())
        return stored
    done = outer.run(argv, timeout_s=PROBE_S)
    answer = None
    if b"tare: probe ok" not in done.stdout:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        answer = [
            f"/dev/kvm is there on {outer.name}, but no guest came up"
            + (f" within {PROBE_S:.0f} s" if done.timed_out else "")
            + (f" (QEMU said: {said[0][:120]})" if said else ""),
            "use a host whose KVM boots stock kernels; qemu-tcg works here",
        ]
    if isinstance(outer, Host):
        known.parent.mkdir(parents=True, exist_ok=True)
        durable.replace(known, json.dumps(answer))
    return answer


def _boot(outer: Machine) -> str:
    return text(outer, ["cat", "/proc/sys/kernel/random/boot_id"])
