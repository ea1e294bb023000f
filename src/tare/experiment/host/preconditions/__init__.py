"""Conditions that must be equal for a fair comparison, read inside each stack and compared.

A *reading* is what was read in one machine; what cannot be read has no key, and nothing is
concluded from that. A *mismatch* is a difference between a platform's reading and the baseline's
that can change a number, with the workloads whose numbers it touches. What is inherent to a virtual
machine (another kernel, another CPU model) is a mismatch as well: it is part of what is measured
then, and the reader has to know.

``reading`` reads, ``clock`` holds a machine's clock against the host's, ``mismatches`` compares.
"""

from tare.experiment.host.preconditions.clock import Ping, Skew, bound, day_offset, watch
from tare.experiment.host.preconditions.mismatches import Mismatch, clock_mismatches, mismatches
from tare.experiment.host.preconditions.reading import read, understand

__all__ = [
    "Mismatch",
    "Ping",
    "Skew",
    "bound",
    "clock_mismatches",
    "day_offset",
    "mismatches",
    "read",
    "understand",
    "watch",
]
