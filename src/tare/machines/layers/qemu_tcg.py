"""QEMU without hardware virtualization: every guest instruction is translated (TCG)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tare.machines.layers import qemu


@dataclass(frozen=True, kw_only=True)
class Layer(qemu.Layer):
    """The ``qemu`` layer with its accelerator fixed."""

    accel: Literal["tcg"] = "tcg"
    machine: Literal["pc", "q35"] | None = None

    nominal_start_s = 40.0
