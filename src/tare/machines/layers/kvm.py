"""QEMU with hardware virtualization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tare.machines.layers import qemu


@dataclass(frozen=True, kw_only=True)
class Layer(qemu.Layer):
    """The ``qemu`` layer with its accelerator fixed."""

    accel: Literal["kvm"] = "kvm"
