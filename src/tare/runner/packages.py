"""Which Debian packages and other programs a study needs, and where."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise

from tare.model import Params
from tare.runner.fleet import load_layers
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


def programs_of(study: Study) -> tuple[str, ...]:
    """List the programs besides packages that the userland must hold."""
    return tuple(sorted({name for chosen in study.workloads for name in chosen.made.programs}))


def needs_of(study: Study) -> Mapping[tuple[str, Params], Collection[str]]:
    """Map each workload with its parameters to the packages and programs that it needs."""
    return {
        (chosen.name, chosen.params): {*chosen.made.packages, *chosen.made.programs}
        for chosen in study.workloads
    }


def has_services(study: Study) -> bool:
    """Say whether a workload has its other half on another machine."""
    return any(chosen.made.service() is not None for chosen in study.workloads)
