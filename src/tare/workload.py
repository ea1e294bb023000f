"""What a workload has to say about itself."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import ClassVar

from tare import workloads
from tare.errors import ConfigError, OutputNotUnderstood
from tare.model import Metric, Sample, Scalar


@dataclass(frozen=True, slots=True)
class Output:
    """What a workload left behind: its streams, and its wall time by the host's clock."""

    stdout: str
    stderr: str = ""
    duration_s: float = 0.0


class Workload(ABC):
    """A program with its parameters fixed.

    A concrete workload is a frozen dataclass named Workload in a module of its own under
    tare/workloads. Its fields are its parameters, with units in their names; the module's name is
    its name. The methods are pure: they touch no file, no clock and no machine. Commands are run in
    an empty directory of the cell's own, which is kept from prepare to clean-up.
    """

    metrics: ClassVar[tuple[Metric, ...]]
    """What it measures; the first one is the primary metric, on which verdicts rest."""

    packages: ClassVar[tuple[str, ...]]
    """The Debian packages that the machine inside must have."""

    @abstractmethod
    def command(self) -> Sequence[str]:
        """Build the command to run in the innermost machine."""

    @abstractmethod
    def parse(self, output: Output) -> Iterator[Sample]:
        """Read the samples out of the output, or raise OutputNotUnderstood."""

    def prepare(self) -> Sequence[str] | None:
        """Build the command that is run once per instance before the first trial, or None."""
        return None

    def expected_s(self) -> float:
        """Say how long one trial takes on a machine of today, for plans and deadlines."""
        return 1.0

    def disk_bytes(self) -> int:
        """Say how much disk the prepared files take."""
        return 0


def number(pattern: str, text: str) -> float:
    """Find the one number that a pattern's first group captures, or raise OutputNotUnderstood."""
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise OutputNotUnderstood(pattern, text)
    return float(found[1])


def names() -> list[str]:
    """List every workload there is, without importing any; ``_name`` is no workload."""
    modules = (module.name for module in iter_modules(workloads.__path__))
    return sorted(name for name in modules if not name.startswith("_"))


def kind(name: str) -> type[Workload]:
    """Find a workload's class by its name, or raise ConfigError."""
    if name not in names():
        raise ConfigError(f"no workload is called {name!r}; there are: {', '.join(names())}")
    try:
        return import_module(f"tare.workloads.{name}").Workload  # type: ignore[no-any-return]
    except (ImportError, SyntaxError, AttributeError) as error:  # one from outside the tree
        raise ConfigError(f"workload {name} cannot be loaded: {error}") from error


def load(name: str, **params: Scalar) -> Workload:
    """Make a workload from its name and parameters, or raise ConfigError."""
    try:
        return kind(name)(**params)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"workload {name}: {error}") from None
