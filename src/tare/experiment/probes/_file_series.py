"""Collect the readings of one file of /proc or /sys over a trial, as a series for each figure."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from tare.experiment.probes import _parsers as readings
from tare.experiment.probes.series import Series


class FileSeries:
    """The series of one file; ``side`` says whose they are: host, layer or machine."""

    def __init__(self, side: str, source: readings.Source) -> None:
        self._side, self._source = side, source
        self._tracks: dict[tuple[str, str], _FigureSeries] = {}
        self._held: list[tuple[float, bytes]] = []
        self._reason = ""

    def hold(self, now_s: float, content: bytes) -> None:
        """Store a raw reading, to be parsed when there is time: see ``settle``."""
        self._held.append((now_s, content))

    def settle(self) -> None:
        """Parse what is stored, in order."""
        held, self._held = self._held, []
        for now_s, content in held:
            self.take(now_s, content)

    def take(self, now_s: float, content: bytes) -> None:
        """Add a reading; one that is not understood ends these series, and nothing else."""
        if self._reason:
            return
        try:
            for name, device, value in self._source.parse(content):
                track = self._tracks.get((name, device))
                if track is None:
                    track = _FigureSeries(self._source.wraps.get(name))
                    self._tracks[name, device] = track
                track.add(now_s, value)
        except (ValueError, IndexError) as error:
            self.fail(f"{self._source.path}: not understood: {error}")

    def fail(self, reason: str) -> None:
        """End these series, for the first reason there is; what is held was read before it."""
        self.settle()
        self._reason = self._reason or reason

    @property
    def has_failed(self) -> bool:
        """Whether these series have ended."""
        return bool(self._reason)

    def series(self) -> Iterator[Series]:
        """Return what was read, and by name what was not."""
        self.settle()
        ended = f"ended early: {self._reason}" if self._reason else ""
        for (name, device), track in self._tracks.items():
            # Devices that Tare made for other stacks are idle.
            ours = device.encode().startswith(readings.OURS) or device in self._source.made
            if ours and track.is_still:
                continue
            counts = name not in readings.LEVELS
            yield Series(self._side, name, track.times_s, track.values, device, counts, ended)
        read = {name for name, _ in self._tracks}
        lack = self._reason or f"{self._source.path} does not have it"
        for name in self._source.names:
            if name not in read:
                counts = name not in readings.LEVELS
                reason = f"not available here: {lack}"
                yield Series(self._side, name, is_counter=counts, reason=reason)


class _FigureSeries:
    """The readings of one figure; a counter that wraps to 0 is continued."""

    __slots__ = ("_last", "_past", "_wraps", "times_s", "values")

    def __init__(self, wraps: float | None) -> None:
        self._wraps, self._past, self._last = wraps, 0.0, 0.0
        self.times_s, self.values = array("d"), array("d")

    def add(self, now_s: float, value: float) -> None:
        if self._wraps is not None:
            if value < self._last:
                self._past += self._wraps
            self._last = value
        self.times_s.append(now_s)
        self.values.append(self._past + value)

    @property
    def is_still(self) -> bool:
        return self.values[0] == self.values[-1]
