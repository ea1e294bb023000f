"""The current state of a running session, as stored in ``progress.json``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """Where a session is between its beginning and its end."""

    OPENING = "opening"
    """Platforms are prepared and opened; nothing is measured yet."""
    MEASURING = "measuring"
    REMOVING = "removing"
    """Nothing more is measured, and what was made is removed."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionProgress:
    """What a session is doing.

    ``text`` is its last message about work between trials. ``cells`` are the ids of those
    that are measured now, in ``block``, and ``following`` of those that come next in this block.
    ``decided`` of ``compared`` comparisons that this host can measure are decided.
    """

    session: str
    phase: Phase = Phase.OPENING
    text: str = ""
    block: int | None = None
    cells: tuple[str, ...] = ()
    following: tuple[str, ...] = ()
    decided: int = 0
    compared: int = 0
