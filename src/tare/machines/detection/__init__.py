"""Detect from inside which hypervisors and containers a machine runs in.

A step names the evidence it rests on. What cannot be known, such as what a hypervisor itself runs
on, is said to be unknown and never guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from tare.machines.detection.compare import Declared, disagreements
from tare.machines.detection.containers import containers
from tare.machines.detection.machines import machines
from tare.machines.detection.script import SCRIPT, sort
from tare.machines.detection.step import NAMES, Detected, container, hypervisor, summary
from tare.machines.machine import Machine, check

__all__ = [
    "NAMES",
    "SCRIPT",
    "Declared",
    "Detected",
    "container",
    "detect",
    "disagreements",
    "hypervisor",
    "read",
    "summary",
    "table",
]


def detect(machine: Machine) -> tuple[Detected, ...]:
    """Return what a machine runs in, from the outside in, or raise CommandFailed."""
    return read(check(machine, ["sh", "-c", SCRIPT]).stdout.decode(errors="replace"))


def read(printed: str) -> tuple[Detected, ...]:
    """Read a stack out of what SCRIPT printed.

    The first step is what all else stands on: ``hardware``, or ``unknown``.
    """
    seen = sort(printed)
    steps, none = containers(seen)
    *outer, innermost = machines(seen)
    if none:
        innermost = replace(innermost, evidence=(*innermost.evidence, none))
    return (*outer, innermost, *steps)


def table(stack: Sequence[Detected]) -> list[dict[str, object]]:
    """Return a stack as it is stored: sentences for people and names for programs."""
    return [asdict(step) | {"title": step.title} for step in stack]
