"""A switch: one thing that a layer does by default and that can be turned off."""

from __future__ import annotations

from dataclasses import dataclass

from tare.core.model import Scalar

OFF = "off"
"""The value of a setting that takes away what is done where the setting is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One thing that a layer does by default and that can be turned off: a step of a ladder.

    ``on`` is what the engine itself does when nobody asks for anything else, which need not be the
    default of the layer's ``setting``; ``off`` is the bare end. None is a setting left out.
    ``about`` is one sentence of what it is. ``shows`` names what is read back inside
    (``Inside.confinement``) of which at least one differs where the switch has an effect.
    """

    name: str
    setting: str
    on: Scalar | None
    off: Scalar | None
    about: str
    shows: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, str]:
        """The two positions in words, on and off."""
        return _word(self.on, self.off), _word(self.off, self.on)


def _word(value: Scalar | None, other: Scalar | None) -> str:
    if value is None:
        return "on" if other == OFF else "default"
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)
