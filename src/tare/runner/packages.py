"""Which Debian packages a study needs, and where."""

from __future__ import annotations

from itertools import pairwise

from tare.runner.pool import load_layers
from tare.study import Study


def packages_of(study: Study) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """List what the userland must hold, and what its guests must hold besides.

    A layer finds its tools in the machine it is opened in: those opened in a container of the
    userland need them in the userland itself.
    """
    userland = {name for chosen in study.workloads for name in chosen.made.packages}
    guest: set[str] = set()
    for platform in study.platforms:
        made = load_layers(platform)
        for outer, inner in pairwise(made):
            if outer.boots_guest:
                guest |= set(inner.needs())
            elif outer.runs_userland:
                userland |= set(inner.needs())
    return tuple(sorted(userland)), tuple(sorted(guest))
