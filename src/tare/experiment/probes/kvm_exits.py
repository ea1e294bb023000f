"""Count VM exits of a layer's guests, which KVM provides in debugfs.

Where debugfs is mounted it has a folder for every virtual machine, named by its process. Reading it
costs the guests nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tare.experiment.probes._parsers import Figure, Source
from tare.experiment.probes.files import subtree

TOTAL = "kernel/debug/kvm/exits"
"""Below /sys: the exits of all guests of the host.

Where it can be read, those of each guest can too.
"""


def is_readable(sys: Path) -> bool:
    """Return whether KVM's counters can be read here.

    A kernel that is locked down forbids it.
    """
    try:
        os.close(os.open(f"{sys}/{TOTAL}", os.O_RDONLY))
    except OSError:
        return False
    return True


def of_guests(path: str, root: Path, sys: Path) -> list[Source]:
    """List the sources for the guests in a layer's control group.

    None where KVM has no counters.
    """
    if not is_readable(sys):
        return []
    total = sys / TOTAL
    group = root / path if (root / "cgroup.controllers").exists() else root / "cpuacct" / path
    # A trial makes no groups of its own, so that the tree is walked only once.
    folders = subtree(str(group)) or [str(group)]
    lists = [Path(folder) / "cgroup.procs" for folder in folders]
    exits = _Guests(total.parent, lists).exits
    return [Source(total, ("guest_exits",), exits, looks_further=True)]


@dataclass(slots=True)
class _Guests:
    """The virtual machines of some processes; a layer without any has no exits."""

    folder: Path
    lists: Sequence[Path]
    known: frozenset[Path] | None = field(default=None, init=False)

    def exits(self, _content: bytes) -> Iterator[Figure]:
        """Add the exits of the group's guests up; ValueError where these changed meanwhile."""
        pids = {pid for path in self.lists for pid in path.read_text().split()}
        found = frozenset(
            one for one in self.folder.iterdir() if one.name.partition("-")[0] in pids
        )
        if self.known is None:
            self.known = found
        if found != self.known:
            raise ValueError("a virtual machine began or ended meanwhile")
        total = sum(int((one / "exits").read_text()) for one in found)
        yield "guest_exits", "", total
