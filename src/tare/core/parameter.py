"""What the name of a parameter, a setting, a limit or a fact says of its values.

Layers and workloads declare them as fields whose names end in the unit, and a plan stores the names
with the values. Here alone a unit is read out of a name.
"""

from __future__ import annotations

from tare.core.model import Unit

_RATE = "_per_s"
_ENDS = {"_bytes": Unit.BYTE, "_s": Unit.SECOND}


def unit_of(name: str) -> Unit | None:
    """Return the unit of the values; None of what is no size and no time."""
    if name.endswith(_RATE):
        return None
    return next((unit for end, unit in _ENDS.items() if name.endswith(end)), None)


def word_of(name: str) -> str:
    """Return the name without the unit, as people write and read it."""
    end = next((end for end, unit in _ENDS.items() if unit is unit_of(name)), "")
    return name.removesuffix(end)
