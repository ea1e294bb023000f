"""A file as a block device, past the machine's page cache."""

from __future__ import annotations

from tare.ledger import Scope
from tare.machine import Machine, check, text

DETACH = r"""
losetup --noheadings --output NAME --associated "$0" 2> /dev/null | while read -r device; do
    losetup --detach "$device"
done
"""


def record(outer: Machine, path: str, scope: Scope) -> None:
    """Have the devices of a file detached when the scope is closed."""
    scope.about_to_make("loop device", path, outer, ["sh", "-c", DETACH, path])


def attach(outer: Machine, path: str) -> str:
    """Make a block device of a file, not cached, and give its name; or raise CommandFailed."""
    detach(outer, path)
    return text(outer, ["losetup", "--find", "--show", "--direct-io=on", path])


def detach(outer: Machine, path: str) -> None:
    """Take the device of a file away again, if there is one."""
    check(outer, ["sh", "-c", DETACH, path])
