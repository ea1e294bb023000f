"""Monitor the machine inside a stack (a guest), which has its own kernel, during a trial.

Its readings are those of a host, taken by a reader that stays in it. Times are by the host's clock,
halfway from the asking to the answer: the clock inside may be wrong, and would be a second one.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from tare.experiment.probes import _parsers as readings
from tare.experiment.probes._file_series import FileSeries
from tare.experiment.probes._sources import of_machine
from tare.experiment.probes.agent_reader import AgentReader
from tare.experiment.probes.reader import Answer, Reader
from tare.experiment.probes.series import MACHINE, Series
from tare.machines.agent import AgentMachine
from tare.machines.instance import Instance
from tare.machines.layer import Layer
from tare.machines.machine import Machine

ROOT = Path("/")
READING_SHARE = 0.002
"""The part of one core that reading may take; what takes more is done less often.

All that it takes: the reader, the connection's both ends, an emulated CPU. So it is known by how
long the first reading of a trial lasts, while nothing else runs there; some of that is no CPU time.
"""


class Listener:
    """Collects a reader's answers over one trial, between ``first`` and ``last``.

    The last answer is awaited when its results are asked for, so that other work can be done while
    the machine inside, which may be emulated, makes it. ``cost_s`` is the CPU time that listening
    took on the host; see ``metrics`` for that inside.
    """

    def __init__(self, reader: AnyReader) -> None:
        self._reader = reader
        self._tracks: list[FileSeries] = []
        self._cpu_s: list[float] = []
        self._begin_s = self._due_s = 0.0
        self._period_s: float | None = None
        self._cost_s = reader.cost_s
        self._ended = False

    def open(self) -> None:
        """Start the reader, once the previous trial has its last answer."""
        before = self._reader.listener
        if before is not None:
            before.complete()
        self._reader.listener = self
        self._reader.start()
        self._cost_s = self._reader.cost_s

    def first(self, begin_s: float) -> None:
        """Take the first reading of a trial that begins now."""
        reader, self._begin_s = self._reader, begin_s
        if reader.owes and reader.answer() is None:  # of the trial before
            reader.close("the reader inside has not answered since an earlier trial")
        here = sources(reader.root, reader.disks, reader.links)
        self._tracks = [FileSeries(MACHINE, source) for source in here]
        reader.ask()
        self._await()
        self._cost_s = reader.cost_s  # of an agent's, what all others have cost until now

    def tick(self) -> None:
        """Collect answers and ask again when it is time; does not wait."""
        if self._ended:
            return
        if self._reader.owes and (answer := self._reader.answer(0)) is not None:
            self._take(answer)
        if self._reader.is_late or self._reader.reason:
            self._end()
        elif time.monotonic() >= self._due_s:
            self._reader.ask()

    def last(self) -> None:
        """Request the last reading, after what is still owed."""
        self.complete()
        if not self._ended:
            self._reader.ask()
            if not self._reader.owes:  # it has died, and could not be asked
                self._end()

    def series(self) -> Iterator[Series]:
        """Return what was read, and by name what was not."""
        self.complete()
        for tracks in self._tracks:
            yield from tracks.series()

    @property
    def cost_s(self) -> float:
        """The CPU time that listening took on the host during this trial."""
        self.complete()
        return self._reader.cost_s - self._cost_s

    @property
    def metrics(self) -> dict[str, float]:
        """Return what reading cost inside, if that is known of the whole trial."""
        self.complete()
        if self._ended or not self._cpu_s:
            return {}
        return {"monitor_machine_cpu_s": self._cpu_s[-1] - self._cpu_s[0]}

    def complete(self) -> None:
        """Wait for the last answer, but not for one that the reader owes to a later listener."""
        if self._reader.listener is self and self._reader.owes and not self._ended:
            self._await()

    def _await(self) -> None:
        answer = self._reader.answer()
        if answer is None:
            self._end()
        else:
            self._take(answer)

    def _take(self, answer: Answer) -> None:
        if self._period_s is None:
            self._period_s = answer.took_s / READING_SHARE
        self._due_s = answer.at_s + self._period_s
        self._cpu_s.append(answer.cpu_s)
        for tracks, content in zip(self._tracks, answer.contents, strict=True):
            if isinstance(content, str):
                tracks.fail(content)
            else:
                tracks.take(answer.at_s - self._begin_s, content)

    def _end(self) -> None:
        self._ended = True
        for tracks in self._tracks:
            tracks.fail(self._reader.reason or "the reader inside did not answer in time")


AnyReader = Reader | AgentReader


def reader_of(layers: Sequence[Layer], instances: Sequence[Instance]) -> AnyReader | None:
    """Make the reader of the innermost machine that has a kernel of its own.

    None where there is no such machine: what is inside a layer is then what its group tells.
    """
    started = zip(layers, instances, strict=False)
    own = [instance for layer, instance in started if layer.own_kernel]
    return reader_in(own[-1].machine) if own else None


def reader_in(machine: Machine, root: Path = ROOT) -> AnyReader:
    """Make the reader of a machine, to be started at its first trial."""
    paths = [source.path for source in sources(root, (), ())]
    if isinstance(machine, AgentMachine) and not machine.entered_anew:
        return AgentReader(machine, paths, root)
    return Reader(machine, paths, root)


def sources(
    root: Path, disks: Collection[bytes], links: Collection[bytes]
) -> list[readings.Source]:
    """List the sources of a machine, as of a host."""
    return of_machine(root / "proc", disks, links, cpu=cpu)


def cpu(content: bytes) -> Iterator[readings.Figure]:
    """Read /proc/stat, unless it is that of a kernel that fills it with zeros, as gVisor's is."""
    figures = list(readings.host_cpu(content))
    if not any(value for name, _, value in figures if name in readings.CPU):
        raise ValueError("all CPU times are 0, so this kernel keeps no account of them")
    yield from figures
