"""Read which Debian packages a tree has."""

from __future__ import annotations

from pathlib import Path

from tare.machines.machine import Host, text


def installed(tree: Path) -> dict[str, str]:
    """Read the names and versions of the packages in a tree, or raise CommandFailed."""
    query = ["dpkg-query", f"--admindir={tree}/var/lib/dpkg", "-W"]
    lines = text(Host(), [*query, "-f", "${Package}\t${Version}\n"]).splitlines()
    return dict(sorted(line.split("\t") for line in lines))
