"""The exceptions that Tare raises on purpose.

TareError
  ConfigError           the user's file is wrong; shown without a traceback
  Unavailable           this host cannot do it; says how to fix that
  LayerError            a layer did not start or stop; the trial failed
    LayerTimedOut       it did not come up within its deadline
  ResultsError          a results directory cannot be read, written or resumed
  CommandFailed         a command ended with another status than 0
    CommandTimedOut
  OutputNotUnderstood   a tool printed something its parser does not know
  WorkloadFault         a workload's own code raised what it may not; the trial failed
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tare.core.completed import tail_of

if TYPE_CHECKING:
    from tare.core.completed import Completed


class TareError(Exception):
    """Base of every error raised on purpose."""


class ConfigError(TareError):
    """The user's file is wrong.

    The message begins with ``file:line`` where there is a file, names the key, and says what was
    found and what is expected.
    """


class Unavailable(TareError):  # noqa: N818
    """This host cannot do what was asked; ``fix`` is the command or step that makes it possible."""

    def __init__(self, reason: str, fix: str = "") -> None:
        self.reason = reason
        self.fix = fix
        super().__init__(f"{reason}; fix: {fix}" if fix else reason)


class LayerError(TareError):
    """A layer did not start or stop."""


class LayerTimedOut(LayerError):  # noqa: N818
    """A layer did not come up within its deadline."""


class ResultsError(TareError):
    """A results directory cannot be read, written or resumed."""


class CommandFailed(TareError):  # noqa: N818
    """A command ended with another status than 0."""

    def __init__(self, completed: Completed, machine: str, tried: str = "") -> None:
        self.completed = completed
        self.machine = machine
        # argv may begin with the ssh or docker client that carries the command.
        self.tried = tried or completed.argv[0]
        tail = tail_of(completed.stderr)
        super().__init__(
            f"{self.tried} exited with {completed.returncode} on {machine}: "
            f"{tail or 'nothing on stderr'}"
        )


class CommandTimedOut(CommandFailed):
    """A command did not end in its time."""

    def __str__(self) -> str:
        return (
            f"{self.tried} did not end within {self.completed.duration_s:.1f} s on {self.machine}"
        )


REPORT = re.compile(r"^(?:\{|\[\s*[{\n]).*", re.MULTILINE | re.DOTALL)
ERROR_IN_REPORT = re.compile(r'"error"\s*:\s*"([^"]+)"')


def message_of(text: str) -> str:
    """Return what a tool says to people: what is not its report in JSON, or the error in that."""
    words = REPORT.sub("", text).strip()
    if words or not text.strip():
        return words
    error = ERROR_IN_REPORT.search(text)
    return error[1] if error else "(a report in JSON)"


class OutputNotUnderstood(TareError):  # noqa: N818
    """A tool printed something its parser does not know; ``fix`` is what changes that."""

    def __init__(self, wanted: str, text: str, fix: str = "") -> None:
        self.wanted = wanted
        self.text = text
        said = f"no {wanted} in the output, which says: {message_of(text)[:200]!r}"
        super().__init__(f"{said}. Fix: {fix}" if fix else said)


class WorkloadFault(TareError):  # noqa: N818
    """A workload's code raised an exception that it must not raise; most likely a plug-in's bug."""

    def __init__(self, workload: str, method: str, error: Exception) -> None:
        # The message may quote the output.
        said = f"{type(error).__name__}: {error}"[:300].encode(errors="replace").decode()
        super().__init__(
            f"workload {workload}: its {method} raised {said}; only OutputNotUnderstood may leave "
            "it (see docs/how-to/add-a-workload.md)"
        )
