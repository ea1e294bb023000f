"""Store the old values of host settings on disk before they are changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tare.core import durable
from tare.core.errors import ResultsError, Unavailable
from tare.experiment.host.tuning.plan import Change

BOOT_ID = "proc/sys/kernel/random/boot_id"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A file's value from before, and the one that it was to be given."""

    old: str
    wanted: str


class Journal:
    """A file of entries by path; it is there as long as anything may have to be restored.

    What was set before a reboot is gone with it, so entries of an earlier boot are no entries.
    """

    def __init__(self, path: Path, root: Path = Path("/")) -> None:
        self.path, self._root = path, root

    def entries(self) -> dict[Path, JournalEntry]:
        """Read what may have to be restored, or raise ResultsError."""
        try:
            stored = json.loads(self.path.read_text())
            if stored["boot"] != self._boot():
                return {}
            return {
                Path(p): JournalEntry(e["old"], e["wanted"]) for p, e in stored["entries"].items()
            }
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise ResultsError(
                f"{self.path}, which holds the host's settings from before tare tune, cannot be "
                f"read: {error}; see what it says, restore by hand or reboot, and remove it"
            ) from error

    def add(self, changes: Sequence[Change]) -> None:
        """Write down what is about to be changed, and return once it is on the disk.

        Of what was changed before, the oldest value stays, unless somebody else has set another
        one since: that is then what is restored.
        """
        entries = self.entries()
        for change in changes:
            known = entries.get(change.path)
            is_ours = known is not None and change.old in (known.old, known.wanted)
            old = known.old if known is not None and is_ours else change.old
            entries[change.path] = JournalEntry(old, change.wanted)
        self.keep(entries)

    def keep(self, entries: Mapping[Path, JournalEntry]) -> None:
        """Write down that these are what is left to be restored; no entries, no file."""
        if not entries:
            self.path.unlink(missing_ok=True)
            return
        content = {
            "boot": self._boot(),
            "entries": {
                str(path): {"old": one.old, "wanted": one.wanted} for path, one in entries.items()
            },
        }
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            durable.replace(self.path, json.dumps(content, indent=1))
        except OSError as error:
            raise Unavailable(
                f"the host's settings could not be written down in {self.path}, so none is "
                f"changed: {error.strerror}",
                "run as root, make room",
            ) from error

    def _boot(self) -> str:
        try:
            return (self._root / BOOT_ID).read_text().strip()
        except OSError:
            return ""
