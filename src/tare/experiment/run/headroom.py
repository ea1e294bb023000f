"""Watch the host's available memory while instances are opened, and refuse what does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from threading import Lock

from tare.core.errors import Unavailable
from tare.core.model import Limits
from tare.experiment.design.admission import (
    FIX,
    FIX_TRIAL,
    RESERVE_BYTES,
    Need,
    admit,
    text,
)
from tare.experiment.host.facts import available_bytes
from tare.machines.instance import Threads

GROUPS = Path("/sys/fs/cgroup")
PROC = Path("/proc")


class Headroom:
    """Decides how many instances are open at once, and refuses those that no longer fit.

    ``is_by_blocks``: all at once does not fit, the cells of one block and one set of limits do. It
    becomes true while instances are opened where guests take more than their memory. Raises
    Unavailable with the sum where they do not fit either. ``read`` returns the available memory.
    """

    def __init__(
        self, needs: Iterable[Need], at_once: int = 1, read: Callable[[], int] = available_bytes
    ) -> None:
        self.needs, self.at_once, self._read = list(needs), at_once, read
        self.available_bytes = read()
        self.is_by_blocks = not admit(self.needs, at_once, self.available_bytes)
        self.measure: Callable[[str, int], int] = overhead_bytes
        self._measured: set[tuple[str, Limits]] = set()
        self._lock = Lock()

    def before(self, platform: str, limits: Limits) -> None:
        """Refuse to open an instance when others have taken its memory since; the host is first.

        The lab is not asked for: it looks for itself, and only before it is booted.
        """
        need = self._of(platform, limits)
        left = self._read()
        if not need.shared and left < need.each_bytes + RESERVE_BYTES:
            raise Unavailable(
                f"an instance of {platform} takes {text(need.each_bytes)} of memory, and "
                f"{text(RESERVE_BYTES)} are left to the host itself: {text(left)} are available",
                FIX,
            )

    def opened(self, platform: str, limits: Limits, threads: Threads | None) -> None:
        """Measure what a guest takes in addition to its memory, in a platform's first instance.

        Where not all fits with that, instances are to be opened by blocks; raises Unavailable with
        the sum where one block does not fit either.
        """
        with self._lock:
            need = self._of(platform, limits)
            is_guest = need.kept_bytes == limits.memory_bytes and not need.shared
            if threads is None or not is_guest or (platform, limits) in self._measured:
                return
            self._measure(platform, limits, threads)
            fits = admit(self.needs, self.at_once, self.available_bytes)
            self.is_by_blocks = self.is_by_blocks or not fits

    def before_trial(self, platform: str, limits: Limits, count: int) -> None:
        """Refuse a trial that makes ``count`` instances when their memory is not available now."""
        need = self._of(platform, limits)
        left, size = self._read(), count * need.each_made_bytes
        if need.makes and left < size + RESERVE_BYTES:
            raise Unavailable(
                f"a trial makes {count} x {platform} of {text(need.each_made_bytes)}, together "
                f"{text(size)} of memory, and {text(RESERVE_BYTES)} are left to the host itself: "
                f"{text(left)} are available",
                FIX_TRIAL,
            )

    def needs_guest_overhead(self, platform: str, limits: Limits) -> bool:
        """Return whether trials make several guests and what one takes in addition is unknown."""
        need = self._of(platform, limits)
        makes_guests = need.makes > 1 and need.made_bytes == limits.memory_bytes
        return makes_guests and (platform, limits) not in self._measured

    def note_guest_overhead(self, platform: str, limits: Limits, threads: Threads | None) -> None:
        """Note what a guest takes in addition to its memory, measured in one made as trials make
        theirs.

        Nothing is refused: each trial is, by what is available when it begins.
        """
        with self._lock:
            self._measure(platform, limits, threads)

    def _measure(self, platform: str, limits: Limits, threads: Threads | None) -> None:
        self._measured.add((platform, limits))
        more = 0 if threads is None else self.measure(threads.cgroup, limits.memory_bytes)
        self.needs = [
            replace(one, overhead_bytes=more) if one.is_of(platform, limits) else one
            for one in self.needs
        ]

    def _of(self, platform: str, limits: Limits) -> Need:
        return next(one for one in self.needs if one.is_of(platform, limits))


def overhead_bytes(cgroup: str, guest_bytes: int, groups: Path = GROUPS, proc: Path = PROC) -> int:
    """Return what the processes of a guest take in addition to its memory; 0 if it cannot be read.

    The guest's memory is the one private mapping of its size (QEMU's), or mappings that processes
    share (huge pages, the file of user-mode Linux). What is shared with others, such as libraries,
    counts by its share.
    """
    is_v2 = (groups / "cgroup.controllers").exists()
    tree = (groups if is_v2 else groups / "cpuacct") / cgroup
    pids = {pid for file in tree.rglob("cgroup.procs") for pid in _read(file).split()}
    return sum(_overhead(_read(proc / pid / "smaps"), guest_bytes) for pid in pids)


def _overhead(smaps: str, guest_bytes: int) -> int:
    """Add up a process's own mappings, as proc_pid_smaps(5) lists them."""
    total, counts, size = 0, True, 0
    for line in smaps.splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if name == "Size":
            size = int(words[0]) * 1024
        elif name == "Pss" and counts and size != guest_bytes:
            total += int(words[0]) * 1024
        elif not name.isidentifier() and "-" in name.split()[0]:
            counts = not name.split()[1].endswith("s")
    return total


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended
        return ""
