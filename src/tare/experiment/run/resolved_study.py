"""Collect what a study needs to run: packages, programs, tools, workload objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from tare.core.model import Params
from tare.experiment.study import Study
from tare.work.workload import Measured


@dataclass(frozen=True, slots=True)
class ResolvedStudy:
    """What a study needs: what to install, whose versions to check, and what is run by its name.

    ``packages`` and ``programs`` are what the userland must hold, ``nested`` the packages of its
    guests in addition. ``tools`` are the programs whose versions have to agree. ``measured`` is by
    a cell's workload and parameters; ``is_reached`` says whether other machines have to reach those
    that are measured.
    """

    study: Study
    packages: tuple[str, ...]
    nested: tuple[str, ...]
    programs: tuple[str, ...]
    tools: tuple[str, ...]
    measured: Mapping[tuple[str, Params], Measured]
    is_reached: bool


def resolve(study: Study) -> ResolvedStudy:
    """Collect what each workload and each layer of a study needs."""
    every = [chosen.made for chosen in study.workloads]
    packages, nested = _packages(study)
    return ResolvedStudy(
        study=study,
        packages=packages,
        nested=nested,
        programs=_sorted(name for one in every for name in one.all_programs()),
        tools=_sorted(name for one in every for name in one.tools()),
        measured={(one.name, one.params): one.made for one in study.workloads},
        is_reached=any(one.roles() for one in every),
    )


def _packages(study: Study) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the packages of the userland, and those that its guests need in addition.

    A layer finds its tools in the machine it is opened in: those opened in a container of the
    userland need them in the userland itself.
    """
    userland = {name for chosen in study.workloads for name in chosen.made.all_packages()}
    guest: set[str] = set()
    for platform in (*study.platforms, study.peer):
        for outer, inner in pairwise(platform.made):
            if outer.boots_guest:
                guest |= set(inner.needs())
            elif outer.runs_userland:
                userland |= set(inner.needs())
    return tuple(sorted(userland)), tuple(sorted(guest))


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
