"""What changed around two sets of results, in words."""

from __future__ import annotations

from tare.present.view.values import few, value_text
from tare.results.questions.fact_differences import Difference, FlagsDiffer, Whose

_OWNERS = {Whose.TARE: "Tare's ", Whose.PEER: "the peer's "}
_NAMES = {Whose.SESSION: "CPUs of the session", Whose.GUESTS: "kernel of guests"}
"""What is the only fact of its kind goes by these words."""


def what_text(one: Difference | FlagsDiffer) -> str:
    """Name what is not the same: of the host or, ``platform: fact``, of a platform."""
    if isinstance(one, FlagsDiffer):
        return f"{one.platform}: CPU flags only there"
    name = _NAMES.get(one.whose, one.changed.name)
    name = f"mitigation.{name}" if one.is_mitigation else name
    platform = f"{one.platform}: " if one.platform else ""
    return f"{platform}{_OWNERS.get(one.whose, '')}{name}"


def ends_text(one: Difference | FlagsDiffer) -> tuple[str, str]:
    """Write what it was in A, and what it is in B."""
    if isinstance(one, FlagsDiffer):
        before, after = (few(some, ", ") or "none more" for some in (one.before, one.after))
        return before, after
    return value_text(one.changed.before), value_text(one.changed.after)
