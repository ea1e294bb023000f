"""Warn of tool versions that the parsers were not tested with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tare.work.workload import Workload


def other_versions(workloads: Iterable[Workload], versions: Mapping[str, str]) -> list[str]:
    """Return which packages have another upstream version than the one recorded, each once.

    ``versions`` are Debian's, by package, as the userland tells them. A package that is not among
    them says nothing here: a workload whose tool is missing has other ways to fail.
    """
    recorded = {name: upstream(one) for each in workloads for name, one in each.recorded.items()}
    return [
        f"{name} is version {upstream(versions[name])}; its output is known of version {one}, and "
        "if that has changed its numbers are refused or, at worst, mean something else"
        for name, one in sorted(recorded.items())
        if name in versions and upstream(versions[name]) != one
    ]


def upstream(version: str) -> str:
    """Return a Debian version without epoch, revision and repacking.

    1:2.14+dfsg1-3~deb12u1 is 2.14.
    """
    without_revision = version.rpartition("-")[0] or version
    return re.sub(r"^\d+:|[+~].*$", "", without_revision)
