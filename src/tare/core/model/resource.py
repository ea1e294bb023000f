"""Names of a trial's resource figures, such as ``layer_cpu_s``: whose they are, what they count.

``tare.experiment.probes`` writes these names, results keep them, and here alone they are taken
apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

_LEVELS = ("_mean", "_most", "peak_bytes", "pss_bytes")
"""How the kinds end that are levels, which have no meaning per unit of work."""


class Source(StrEnum):
    """Where a resource is measured: host, layer or machine inside."""

    HOST = "host"
    LAYER = "layer"
    MACHINE = "machine"
    """The innermost machine that has a kernel of its own, by that kernel's account."""
    MONITOR = "monitor"
    """What the monitoring itself used."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One counter or level: whose it is and what it counts; no source of a name that is unknown."""

    source: Source | None
    kind: str

    @property
    def name(self) -> str:
        """How results name it."""
        return self.kind if self.source is None else f"{self.source}_{self.kind}"

    @property
    def is_total(self) -> bool:
        """Whether it grows with the work; the others are levels, or the cost of monitoring."""
        return self.source is not Source.MONITOR and not self.kind.endswith(_LEVELS)


@lru_cache(maxsize=1024)
def resource_of(name: str) -> Resource:
    """Return the resource that results give this name."""
    begin, _, kind = name.partition("_")
    source = next((one for one in Source if one == begin), None)
    return Resource(source, name) if source is None else Resource(source, kind)
