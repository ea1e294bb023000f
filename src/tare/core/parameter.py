"""Split the unit off a parameter's name: ``size_bytes`` is ``size`` in bytes.

Layers and workloads declare them as fields whose names end in the unit, and a plan stores the names
with the values. Units are read from names only in this module.
"""

from __future__ import annotations

from tare.core.model import Unit

_RATE = "_per_s"
_BYTE_RATE = "_bytes_per_s"
_ENDS = {"_bytes": Unit.BYTE, "_s": Unit.SECOND}


def unit_of(name: str) -> Unit | None:
    """Return the unit of the values; None if they are no size, time or rate of bytes."""
    if name.endswith(_BYTE_RATE):
        return Unit.BYTE_PER_SECOND
    if name.endswith(_RATE):
        return None
    return next((unit for end, unit in _ENDS.items() if name.endswith(end)), None)


def word_of(name: str) -> str:
    """Return the name without the unit, as people write and read it."""
    end = next((end for end, unit in _ENDS.items() if unit is unit_of(name)), "")
    return name.removesuffix(end)


def key_of(name: str) -> str:
    """Return the key of a study file: without the unit, which its values have.

    ``word_of`` keeps that of a rate of bytes.
    """
    return word_of(name).removesuffix(_BYTE_RATE)
