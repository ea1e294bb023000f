"""The facts stored with results: what the host and its platforms were when they were measured.

They explain numbers and are shown with them. None is needed to compare: whatever is missing, from
an older file or because a session was killed, is the empty value of its type and is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tare.core.model.cell import Scalar
from tare.core.model.reservation import DerivedLimit

Scalars = Mapping[str, Scalar]
"""Readings by name where the names are those of a layer or of the machine: free-form."""


@dataclass(frozen=True, slots=True)
class DetectedStep:
    """One layer that shows from inside: its title in words, and what this rests on."""

    title: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DetectedStack:
    """The layers that show from inside, from the outside in."""

    steps: tuple[DetectedStep, ...]


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A fact as it was stored, only to be shown: the names that lead to it, and its value."""

    names: tuple[str, ...]
    value: Scalar | tuple[Scalar | None, ...] | DetectedStack | None


@dataclass(frozen=True, slots=True)
class FactSection:
    """A part of the facts as it was stored, only to be shown."""

    name: str
    values: tuple[NamedValue, ...]


@dataclass(frozen=True, slots=True)
class StoredMismatch:
    """How a platform differed from the baseline, and the workloads whose numbers that affects."""

    said: str
    workloads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClockSkew:
    """Bounds of the rate of a platform's clock less the host's, in seconds per second.

    Negative is slow; None: it was not watched.
    """

    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preconditions:
    """What was read in a machine before anything was measured in it; false if nothing was read.

    ``values`` are readings by name, ``files`` SHA-256 digests by the file's name. ``mitigations``
    has, for the CPU's weaknesses that concern it, what the kernel says it does about each.
    """

    values: Scalars = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    mitigations: Mapping[str, str] = field(default_factory=dict)
    cpu_flags: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Return whether anything was read."""
        return bool(self.values or self.files or self.mitigations or self.cpu_flags)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformFacts:
    """What a platform was: what was asked of it, and what was read in its first instance.

    ``inside`` has everything that was read back of its limits, ``confinement`` the part of it that
    switches of ladders show in. ``start_s`` has what opening each instance took, in seconds.
    ``unavailable`` is why this host cannot run it; empty: it can.
    """

    settings: Scalars = field(default_factory=dict)
    probe: Scalars = field(default_factory=dict)
    inside: tuple[NamedValue, ...] = ()
    confinement: Mapping[str, str] = field(default_factory=dict)
    detected: DetectedStack = DetectedStack(())
    preconditions: Preconditions = Preconditions()
    clock: ClockSkew = ClockSkew()
    mismatches: tuple[StoredMismatch, ...] = ()
    start_s: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()
    unavailable: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserlandFacts:
    """The userland that platforms share: its id, versions by package, and the guests' kernel."""

    id: str = ""
    versions: Scalars = field(default_factory=dict)
    kernel: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of where results were measured.

    ``mitigations`` is what the host's kernel does about its CPU's weaknesses, by weakness.
    ``tare`` has the versions of Tare and Python, ``peer`` the stack and settings of the machine
    that loaded or served what was measured, where one did, ``cpuset`` the host's CPUs that the last
    session was held to, ``noise`` what made the host noisy, ``selftest`` what its last self-test
    had shown when the study began, as sentences. ``reservations`` has, by the id of a cell, the
    limits that were derived for its neighbours. ``sections`` has all parts that are shown as they
    were stored, in the order of the file.
    """

    host: Scalars = field(default_factory=dict)
    mitigations: Mapping[str, str] = field(default_factory=dict)
    platforms: Mapping[str, PlatformFacts] = field(default_factory=dict)
    userland: UserlandFacts = UserlandFacts()
    tare: Scalars = field(default_factory=dict)
    peer: Scalars = field(default_factory=dict)
    cpuset: str = ""
    noise: tuple[str, ...] = ()
    selftest: tuple[str, ...] = ()
    reservations: Mapping[str, tuple[DerivedLimit, ...]] = field(default_factory=dict)
    sections: tuple[FactSection, ...] = ()

    def platform(self, name: str) -> PlatformFacts:
        """Return the facts of a platform; empty ones where none were stored."""
        return self.platforms.get(name, PlatformFacts())


NO_FACTS = Facts()
"""The facts of results that stored none."""
