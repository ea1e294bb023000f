"""Compare the detected stack with the declared one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tare.machines.detection.step import (
    CHROOT,
    CONTAINERS,
    HARDWARE,
    MACHINES,
    NAMES,
    Detected,
    summary,
)

ANYTHING = "*"
LOOSE = {"vm": MACHINES.keys(), "qemu": {"kvm", "qemu-tcg"}, "container": CONTAINERS.keys()}
"""What shows as one of these did not say which of its kind it is."""
HIDE_ALL = {*MACHINES, "gvisor", ANYTHING}
"""What has a kernel of its own, or leads to another machine."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A declared layer, and the steps it may be seen as from inside (Layer.detected_as)."""

    layer: str
    seen_as: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Expected:
    title: str
    names: frozenset[str]
    must: bool

    def is_seen_as(self, step: Detected) -> bool:
        return any(
            name == step.layer
            or step.layer in LOOSE.get(name, ())
            or name in LOOSE.get(step.layer, ())
            for name in self.names
        )


def disagreements(
    declared: Sequence[Declared], outside: Sequence[Detected], inside: Sequence[Detected]
) -> list[str]:
    """Return in which steps a stack is not what was declared, with the evidence.

    ``outside`` is what the machine shows on which it was opened, ``inside`` what its innermost one
    shows. A layer with a kernel of its own hides what is outside of it, and a container may hide
    the one around it: only what shows, or had to show, can disagree.
    """
    layers = [one.layer for one in declared]
    path = "/".join(layers if layers[0] in ("host", "lab") else ["host", *layers])
    is_denied = inside[0].layer == HARDWARE
    expected = [
        _Expected(step.title, frozenset({step.layer}), is_denied and step.layer in MACHINES)
        for step in outside[1:]
    ]
    for one in declared:
        # A kind that detection does not know cannot be looked for.
        names = frozenset(name if name in NAMES else ANYTHING for name in one.seen_as if name)
        hidden = NAMES.keys() if names & HIDE_ALL else CONTAINERS.keys()
        expected = [replace(o, must=o.must and not o.names & hidden) for o in expected]
        must = "" not in one.seen_as and ANYTHING not in names
        expected.append(_Expected(one.layer, names, must))
    return [_sentence(path, left, inside) for left in _align(expected, inside[1:])]


def _sentence(path: str, left: _Expected | Detected, inside: Sequence[Detected]) -> str:
    if isinstance(left, _Expected):
        return (
            f"{path} is declared, but {left.title} does not show inside; what shows is "
            f"{summary(inside)} ({'; '.join(inside[-1].evidence)})"
        )
    return (
        f"{path} is declared, but inside shows {left.title}, which is not declared there "
        f"({'; '.join(left.evidence)})"
    )


def _align(
    expected: Sequence[_Expected], found: Sequence[Detected]
) -> tuple[_Expected | Detected, ...]:
    """Pair both in their order, and return those that are left without a partner."""
    if not expected:
        # A root directory of its own is how every layer gives its userland.
        return tuple(step for step in found if step.layer != CHROOT)
    first, rest = expected[0], expected[1:]
    ways = [((first,) if first.must else ()) + _align(rest, found)]
    if found:
        step, inner = found[0], found[1:]
        if first.is_seen_as(step):
            ways.append(_align(rest, inner))
        is_free = ANYTHING in first.names or step.layer == CHROOT
        ways.append((() if is_free else (step,)) + _align(expected, inner))
    return min(ways, key=len)
