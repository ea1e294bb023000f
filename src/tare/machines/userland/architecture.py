"""CPU architectures, and their names in Debian, the kernel and QEMU."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

from tare.core.errors import Unavailable
from tare.machines.machine import Machine, text

Arch = Literal["amd64", "arm64"]
"""Debian's names of those that there is a userland for."""

NAMES: Mapping[Arch, str] = {"arm64": "aarch64", "amd64": "x86_64"}
"""What QEMU and the kernel call them."""

CONSOLES: Mapping[Arch, str] = {"arm64": "ttyAMA0", "amd64": "ttyS0"}
"""The serial console of a guest: the first one of the board that QEMU shows by default."""


def named(word: str) -> Arch | None:
    """Return the architecture that a kernel calls so, or None if there is no userland for it."""
    return next((arch for arch, name in NAMES.items() if name == word), None)


def of(machine: Machine) -> Arch:
    """Return a machine's architecture; raises Unavailable where there is no userland for it."""
    word = text(machine, ["uname", "-m"])
    arch = named(word)
    if arch is None:
        raise Unavailable(
            f"{machine.name} is {word}, and there is a userland for {' and '.join(NAMES)} only",
            f"use a host that is {' or '.join(NAMES.values())}",
        )
    return arch


HERE: Arch = named(os.uname().machine) or "amd64"
"""The controlling host's, which settings have unless they say another."""
