"""The folder that is served: which studies are in it, and which of its files may be read."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from weakref import WeakValueDictionary

from tare.core.errors import ResultsError
from tare.present.live.overview import OverviewReader, is_inside
from tare.present.live.study_reader import StudyReader

MAX_KEPT = 16
"""The most studies that are kept with all their trials although nobody looks at them."""

_OPEN_FILES = (
    *("report.html", "results.csv", "explanations.csv", "results.md", "results.tex"),
    "trials.jsonl",
)
_OPEN_FOLDERS = ("figures", "raw", "report-trials")


class ResultsCatalogue:
    """A results directory or a folder of several; they may come and go meanwhile."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise ResultsError(
                f"{root} is no folder: give a results directory, or a folder of several"
            )
        self.root = root.resolve()
        self._overviews: dict[str, OverviewReader] = {}
        self._readers: WeakValueDictionary[str, StudyReader] = WeakValueDictionary()
        self._lately: dict[str, StudyReader] = {}
        self._lock = threading.Lock()

    def folders(self) -> dict[str, Path]:
        """List the studies that are there now by their names: those of their folders."""
        if self._is_study():
            return {self._own_name: self.root}
        try:
            with os.scandir(self.root) as entries:
                found = sorted((one.name, one.is_symlink()) for one in entries)
        except OSError:
            return {}
        paths = {name: self.root / name for name, is_link in found if self._leads_in(name, is_link)}
        return {name: path for name, path in paths.items() if _is_file(path / "plan.json")}

    def folder(self, name: str) -> Path | None:
        """Find one study by its name."""
        if self._is_study():
            return self.root if name == self._own_name else None
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            return None
        path = self.root / name
        is_there = _is_file(path / "plan.json") and self._leads_in(name, path.is_symlink())
        return path if is_there else None

    @property
    def _own_name(self) -> str:
        return self.root.name or "results"

    def _is_study(self) -> bool:
        return _is_file(self.root / "plan.json")

    def _leads_in(self, name: str, is_link: bool) -> bool:
        """Whether what is in the root by this name is so in truth."""
        return not is_link or is_inside(self.root / name, self.root)

    def overviews(self) -> list[OverviewReader]:
        """Return a reader for each study that is there."""
        folders = self.folders()
        with self._lock:
            for name in self._overviews.keys() - folders.keys():
                del self._overviews[name]
            for name, path in folders.items():
                if name not in self._overviews:
                    self._overviews[name] = OverviewReader(path, name, self.root)
            return list(self._overviews.values())

    def reader(self, name: str) -> StudyReader | None:
        """Return the reader of one study: the same to all, as long as somebody keeps it.

        One that was known is given although the study was removed.
        """
        path = self.folder(name)
        with self._lock:
            known = self._readers.get(name)
            if known is None and path is not None:
                known = StudyReader(path, name, self.root)
            if known is not None:
                self._readers[name] = known
                self._lately.pop(name, None)
                self._lately[name] = known  # as the newest
            while len(self._lately) > MAX_KEPT:
                del self._lately[next(iter(self._lately))]
            return known

    def file(self, name: str, inner: str) -> Path | None:
        """Find a file that a report shows or links to; None if there is none, or it is outside."""
        folder = self.folder(name)
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
