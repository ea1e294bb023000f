"""Split the unit off a parameter's name: ``size_bytes`` is ``size`` in bytes.

Layers and workloads declare them as fields whose names end in the unit, and a plan stores the names
with the values. Units are read from names only in this module.
"""

from __future__ import annotations

from tare.core.model import Unit

_RATE = "_per_s"
_ENDS = {"_bytes": Unit.BYTE, "_s": Unit.SECOND}


def unit_of(name: str) -> Unit | None:
    """Return the unit of the values; None if they are neither a size nor a time."""
    if name.endswith(_RATE):
        return None
    return next((unit for end, unit in _ENDS.items() if name.endswith(end)), None)


def word_of(name: str) -> str:
    """Return the name without the unit, as people write and read it."""
    end = next((end for end, unit in _ENDS.items() if unit is unit_of(name)), "")
    return name.removesuffix(end)
