"""Cache of built trees and disks, by the content of their recipe; never half built."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tare.core import durable
from tare.core.errors import Unavailable
from tare.machines.cgroup import cgroup
from tare.machines.ledger import Ledger, Scope
from tare.machines.machine import Host, Inner, Machine, check

MANIFEST = "manifest.json"

# Mounts below the folder go first: a build that was killed may have left some.
REMOVE_FOLDER = r"""
folder=$0
awk -v folder="$folder/" 'index($5 "/", folder) == 1 { print $5 }' /proc/self/mountinfo |
    sort -r | while read -r at; do umount "$at" || umount -l "$at"; done
rm -rf --one-file-system "$folder"
"""


def content_id(content: object) -> str:
    """Return twelve hexadecimal digits that stand for JSON content."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def find(shelf: Path, recipe: object) -> Path | None:
    """Find what was built by a recipe, or None."""
    pointer = shelf / f"{content_id(recipe)}.built"
    if not pointer.exists():
        return None
    folder = shelf / pointer.read_text().strip()
    return folder if (folder / MANIFEST).exists() else None


def build(
    shelf: Path,
    recipe: object,
    ledger: Ledger,
    needs_bytes: int,
    make: Callable[[Path, Scope], Mapping[str, object]],
) -> Path:
    """Find what a recipe gives, or make it.

    ``make`` fills an empty folder and returns the manifest, whose content is the address of the
    result. The folder gets its final name when all of it is on disk; what is interrupted or fails
    is removed. Raises Unavailable where there is no room.
    """
    shelf.mkdir(parents=True, exist_ok=True)
    with _locked(shelf / "lock"):
        known = find(shelf, recipe)
        if known is not None:
            return known
        free = shutil.disk_usage(shelf).free
        if free < needs_bytes:
            raise Unavailable(
                f"building in {shelf} needs {needs_bytes / 1e9:.1f} GB of disk, "
                f"{free / 1e9:.1f} GB are free",
                "make room there, or set TARE_HOME to a folder on a larger disk",
            )
        scope = Scope(ledger)
        folder = shelf / f"building-{secrets.token_hex(4)}"
        scope.about_to_make("folder", str(folder), Host(), ["sh", "-c", REMOVE_FOLDER, str(folder)])
        folder.mkdir(mode=0o700)
        try:
            manifest = make(folder, scope)
            done = shelf / content_id(manifest)
            (folder / MANIFEST).write_text(json.dumps(manifest, indent=1))
            os.sync()
            if not (done / MANIFEST).exists():
                # What has its name and no manifest was not built here: a copy that was cut short.
                check(Host(), ["sh", "-c", REMOVE_FOLDER, str(done)])
                folder.rename(done)
            durable.replace(shelf / f"{content_id(recipe)}.built", done.name)
        finally:
            scope.close()
        return done


def builder(folder: Path, scope: Scope) -> Machine:
    """Return this host with all that it runs in a group, so that clean-up ends a killed build."""
    group = cgroup.make(Host(), f"tare/{folder.name}", scope)
    return Inner(Host(), "build", group.enter_argv, ephemeral=False)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
