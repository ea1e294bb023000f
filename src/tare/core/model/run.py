"""The sessions that measured a study: when they ran and why each ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How many trials were suspect, how many were run again for it, and the most that may be.

    ``largest_share`` is that part of the trials.
    """

    suspect: int = 0
    run_again: int = 0
    largest_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedSession:
    """A session that worked on a study and has ended; ``reason`` is why, in a sentence.

    ``started`` and ``ended`` are UTC in ISO 8601. ``blocks_per_instance`` is after how many blocks
    an instance was replaced, None where it stayed, and ``warmups`` how many a fresh one had, by
    workload.
    """

    id: str = ""
    started: str = ""
    ended: str = ""
    reason: str = ""
    repeats: Repeats = Repeats()
    blocks_per_instance: int | None = None
    replaced_instances: int = 0
    warmups: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The sessions that have ended, the first one first, and why the last of them did.

    ``stop`` is None as long as none has, and where all of them were killed.
    """

    sessions: tuple[EndedSession, ...] = ()
    stop: str | None = None


NO_RUN = Run()
"""What is known where no session has ended."""
