"""Resources that all monitors of this process share: open files of the host, and one thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from tare.experiment.probes.files import KeptFiles
from tare.experiment.probes.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class Instruments:
    """The files of the host that every trial reads, and the thread that reads while it runs."""

    files: KeptFiles = field(default_factory=KeptFiles)
    scheduler: Scheduler = field(default_factory=Scheduler)


@cache
def shared() -> Instruments:
    """Return those of this process: it has one host, and its trials follow each other."""
    return Instruments()
