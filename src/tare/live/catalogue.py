"""The folder that is served: which studies are in it, and which of its files may be read."""

from __future__ import annotations

import threading
from pathlib import Path

from tare.errors import ResultsError
from tare.live.watching import Glancing, Watching, is_inside

MAX_WATCHED = 16
"""So many studies are kept with all their trials; of more, those longest not asked for go."""

_OPEN_FILES = ("report.html", "results.csv", "results.md", "results.tex", "trials.jsonl")
_OPEN_FOLDERS = ("figures", "raw", "report-trials")


class Catalogue:
    """A results directory or a folder of several; they may come and go meanwhile."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise ResultsError(
                f"{root} is no folder: give a results directory, or a folder of several"
            )
        self.root = root.resolve()
        self._glancing: dict[str, Glancing] = {}
        self._watching: dict[str, Watching] = {}
        self._lock = threading.Lock()

    def folders(self) -> dict[str, Path]:
        """List the studies that are there now by their names: those of their folders."""
        if _is_file(self.root / "plan.json"):
            return {self.root.name or "results": self.root}
        try:
            found = sorted(self.root.iterdir())
        except OSError:
            return {}
        return {
            path.name: path
            for path in found
            if _is_file(path / "plan.json") and is_inside(path, self.root)
        }

    def glancing(self) -> list[Glancing]:
        """Give a reader for each study that is there."""
        folders = self.folders()
        with self._lock:
            for name in self._glancing.keys() - folders.keys():
                del self._glancing[name]
            for name, path in folders.items():
                if name not in self._glancing:
                    self._glancing[name] = Glancing(path, name, self.root)
            return list(self._glancing.values())

    def watching(self, name: str) -> Watching | None:
        """Give the reader of one study; one that was known is given although it was removed."""
        path = self.folders().get(name)
        with self._lock:
            known = self._watching.pop(name, None)
            if known is None and path is not None:
                known = Watching(path, name, self.root)
            if known is not None:
                self._watching[name] = known  # as the newest
            while len(self._watching) > MAX_WATCHED:
                del self._watching[next(iter(self._watching))]
            return known

    def file(self, name: str, inner: str) -> Path | None:
        """Find a file that a report shows or links to; None if there is none, or it is outside."""
        folder = self.folders().get(name)
        parts = inner.split("/")
        if folder is None or "\0" in inner or ".." in parts:
            return None
        if inner not in _OPEN_FILES and parts[0] not in _OPEN_FOLDERS:
            return None
        path = folder / inner
        return path if is_inside(path, folder.resolve()) and _is_file(path) else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # too long a name, or a folder that may not be read
        return False
