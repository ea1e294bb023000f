"""command: run the user's own program, and find the number in its output.

No shell comes between: the words are split as a shell would split them, and run as they are. Who
needs one writes ``sh -c '...'``. Without pattern or path the command's wall time is measured, by
the host's clock and with the way into the stack and back.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work import workload
from tare.work.roles import OWN, PEER, Role
from tare.work.workload import DATA_PORT, PORT, SERVER
from tare.work.workloads import at_least, of_form, one_of
from tare.work.workloads._finding import NUMBER, led_to, matched

Words = Literal["s", "B", "1/s", "B/s", "1"]

WORDS = {"{server}": SERVER, "{port}": PORT, "{data_port}": DATA_PORT}
"""What stands in a user's words for the role that is served by, and for its ports."""
PACKAGE = r"([a-z][a-z-]*/)?[a-z0-9][a-z0-9.+-]+"
"""A Debian package (Debian policy, 5.6.1), with its component before it or not."""


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Run a program; ``pattern`` or ``json_path`` finds one number in ``stream``.

    The pattern is a regular expression that must match once in all of the stream; its first group
    is the number. The path leads to it in the JSON document that is printed: ``jobs.0.read.iops``.
    ``factor`` makes the base unit of it. ``called`` tells several programs of one study apart.
    ``better`` may be left out for times, sizes and rates. ``setup`` is run once per instance before
    the first trial, and ``files_bytes`` is what it lays; ``each_setup`` is run before each trial,
    outside its clock. ``serve`` runs on another machine, with {server}, {port} and {data_port}
    filled in there and in ``run``.
    """

    run: str
    called: str = ""
    metric: str = "duration"
    unit: Words = "s"
    better: Literal["lower", "higher"] | None = None
    pattern: str = ""
    json_path: str = ""
    stream: Literal["stdout", "stderr"] = "stdout"
    factor: float = 1.0
    install: str = ""
    setup: str = ""
    files_bytes: int = 0
    takes_s: float = 1.0
    serve: str = ""
    server_under_test: bool = True
    # None is no parameter of a cell, so that studies that are older than the parameter can be
    # resumed.
    each_setup: str | None = None

    def __post_init__(self) -> None:
        one_of(self, unit=Words, stream=Literal["stdout", "stderr"])
        at_least(self, files_bytes=0, takes_s=0)
        if self.better is not None:
            one_of(self, better=Literal["lower", "higher"])
        lines = {"setup": self.setup, "serve": self.serve, "each_setup": self.each_setup or ""}
        for key, line in (("run", self.run), *lines.items()):
            _check_words(key, line, may_be_empty=key != "run")
        of_form(self, "called", r"[A-Za-z0-9._+-]{0,40}", "letters, digits and ._+- (at most 40)")
        of_form(self, "metric", r"[a-z][a-z0-9_]{0,39}", "small letters, digits and _ (at most 40)")
        packages = rf"[ ,]*({PACKAGE}([ ,]+|$))*"
        of_form(self, "install", packages, "Debian packages, separated by spaces")
        self._check_reading()
        if not self.serve and any(word in self.run for word in WORDS):
            raise ValueError(f"run: {self.run!r} was given; a port or server expects serve")
        if self.serve and "{port}" not in self.serve:
            raise ValueError(f"serve: {self.serve!r} was given; expected {{port}} in it")

    @property
    def metrics(self) -> tuple[Metric, ...]:  # type: ignore[override]  # here they are a parameter
        """See Workload.metrics."""
        better = self.better or ("higher" if self.unit.endswith("/s") else "lower")
        return (Metric(self.metric, Unit(self.unit), Better(better)),)

    @property
    def packages(self) -> tuple[str, ...]:  # type: ignore[override]  # here they are a parameter
        """See Workload.packages."""
        return tuple(re.findall(r"[^ ,]+", self.install))

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        return _named(shlex.split(self.run))

    def place(self) -> str:
        """See Workload.place."""
        return PEER if self.serve and self.server_under_test else OWN

    def prepare(self) -> Sequence[str] | None:
        """See Workload.prepare."""
        return shlex.split(self.setup) or None

    def before_trial(self) -> Sequence[str] | None:
        """See Workload.before_trial."""
        return shlex.split(self.each_setup or "") or None

    def roles(self) -> Sequence[Role]:
        """See Workload.roles."""
        words = _named(shlex.split(self.serve))
        place = OWN if self.server_under_test else PEER
        return (Role(name="server", command=words, place=place),) if words else ()

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout if self.stream == "stdout" else output.stderr
        found: object = output.duration_s
        if self.pattern:
            found = matched(self.pattern, text)
        elif self.json_path:
            found = led_to(self.json_path, text)
        # A zero is what a tool prints that did nothing, or rounded: no ratio can be made of it.
        value = float(str(found)) * self.factor if NUMBER.fullmatch(str(found)) else 0.0
        if not 0 < value < inf:
            raise OutputNotUnderstood(f"number above 0 for {self.metric} ({found!r})", text)
        yield Sample(self.metrics[0], value)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return self.takes_s

    def disk_bytes(self) -> int:
        """See Workload.disk_bytes."""
        return self.files_bytes

    def _check_reading(self) -> None:
        if self.pattern and self.json_path:
            raise ValueError(f"json_path: {self.json_path!r} was given; expected it or a pattern")
        try:
            groups = re.compile(self.pattern).groups
        except re.error as error:
            raise ValueError(
                f"pattern: {self.pattern!r} was given; expected a regular expression: {error}"
            ) from None
        if self.pattern and not groups:
            raise ValueError(f"pattern: {self.pattern!r} was given; expected a group: ([0-9.]+)")
        if not self.factor > 0:
            raise ValueError(f"factor: {self.factor} was given; expected more than 0")
        is_time = self.unit == "s" and self.better != "higher" and self.factor == 1
        if not (self.pattern or self.json_path or is_time):
            raise ValueError("pattern: neither it nor json_path was given; expected one for a unit")
        if self.unit == "1" and self.better is None:
            raise ValueError("better: nothing was given; expected lower or higher for the unit 1")


def _named(words: Sequence[str]) -> list[str]:
    """Return a user's words with the role's name in the placeholders."""
    return [re.sub("|".join(map(re.escape, WORDS)), lambda it: WORDS[it[0]], w) for w in words]


def _check_words(key: str, line: str, *, may_be_empty: bool) -> None:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ValueError(f"{key}: {line!r} was given; expected a command: {error}") from None
    if not words and not (may_be_empty and not line):
        raise ValueError(f"{key}: {line!r} was given; expected a command")
