"""A simulated layer with memory of its own, as a virtual machine has, which does as scripted."""

from __future__ import annotations

from dataclasses import dataclass

from tare.machines.layers import scripted


@dataclass(frozen=True, kw_only=True)
class Layer(scripted.Layer):
    def commits(self, limits):
        return limits.memory_bytes
