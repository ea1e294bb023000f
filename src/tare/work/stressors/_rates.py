"""What the stressors share that are dialled by a rate: disk and network."""

from __future__ import annotations

from dataclasses import dataclass

from tare.work import stressor
from tare.work.stressor import Dial
from tare.work.workloads import at_least


@dataclass(frozen=True, kw_only=True)
class Rated(stressor.Stressor):
    """A stressor that goes as fast as it can at full, and is held to a rate below.

    ``full_bytes_per_s`` is what one worker was measured to move at full, in both directions
    together; 0: not known, so only full can be set.
    """

    full_bytes_per_s: int = 0

    dial = Dial.RATE

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, full_bytes_per_s=0)
        if self.level < 1 and not self.full_bytes_per_s:
            raise ValueError(
                f"level: {self.level} was given; without full_bytes_per_s it expects 1"
            )

    def rate(self, shares: int, unit: float = 1.0) -> int | None:
        """Return the rate of each of equal shares of a worker, in units; None: it is not held."""
        if self.level == 1:
            return None
        return max(1, round(self.level * self.full_bytes_per_s / shares / unit))
