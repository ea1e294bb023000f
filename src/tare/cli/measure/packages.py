"""Which Debian packages bring a command's program into the userland that every stack runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tare.core.errors import ConfigError
from tare.experiment.run.resolved_study import resolve
from tare.experiment.study import load_study
from tare.machines.machine import Host, Machine
from tare.work import workload

USUAL = "quick"
"""The study whose packages the userland always has: who has run it need not build another one."""


@dataclass(frozen=True, slots=True)
class Packages:
    """What the userland gets; ``guessed`` are those chosen for no better reason than their name."""

    names: tuple[str, ...]
    guessed: tuple[str, ...] = ()


def find_packages(
    sure: Iterable[str],
    likely: Iterable[str],
    given: Sequence[str],
    host: Machine | None = None,
) -> Packages:
    """Return what has the programs, or raise ConfigError for one that nothing is known to have.

    ``sure`` are programs that are run; ``likely`` are words of shells, of which what is not known
    is taken for no program. Where packages were ``given``, those are all that is added.
    """
    usual = _usual()
    if given:
        return Packages(tuple(sorted({*usual, *given})))
    host = host or Host()
    needed: set[str] = set()
    guessed: list[str] = []
    wanted = dict.fromkeys([*((one, True) for one in sure), *((one, False) for one in likely)])
    for name, is_sure in wanted:
        if name in usual:
            continue
        found = _known(name) or _owner(host, name)
        if not found and is_sure and _is_package(host, name):
            found = name
            guessed.append(name)
        if not found and is_sure:
            raise ConfigError(_nowhere(name))
        if found and not _is_essential(host, found):
            needed.add(found)
    return Packages(tuple(sorted({*usual, *needed})), tuple(guessed))


def _usual() -> tuple[str, ...]:
    return resolve(load_study(USUAL)).packages


def _known(program: str) -> str:
    """Return the package of this name that a workload of Tare has, if there is one."""
    for name in workload.names():
        try:
            packages = workload.kind(name).packages
        except ConfigError:  # a broken one is no reason to refuse a command
            continue
        for package in packages if isinstance(packages, tuple) else ():
            if package.rpartition("/")[2] == program:
                return package
    return ""


def _owner(host: Machine, program: str) -> str:
    """Return the package that owns a program of this host; empty if none does."""
    path = program if "/" in program else shutil.which(program)
    if path is None or not path.startswith("/"):
        return ""
    # What dpkg knows as /bin/tar is found as /usr/bin/tar, and awk is a link to what is installed.
    real = os.path.realpath(path)
    for place in dict.fromkeys((path, real, real.removeprefix("/usr"))):
        done = host.run(["dpkg-query", "--search", place])
        lines = done.stdout.decode(errors="replace").splitlines() if done.returncode == 0 else []
        for line in lines:
            if not line.startswith("diversion by "):
                return line.partition(":")[0].partition(",")[0].strip()
    return ""


def _is_essential(host: Machine, package: str) -> bool:
    """Whether every Debian has a package."""
    done = host.run(["dpkg-query", "--show", "--showformat=${Essential} ${Priority}", package])
    return done.returncode == 0 and bool({b"yes", b"required"} & set(done.stdout.split()))


def _is_package(host: Machine, name: str) -> bool:
    done = host.run(["apt-cache", "pkgnames", name])
    return done.returncode == 0 and name.encode() in done.stdout.split()


def _nowhere(program: str) -> str:
    if "/" in program:
        return (
            f"{program}: a file of this host that belongs to no Debian package. Every stack runs a "
            "userland of Debian packages, in which it is not; expected a program of a package, or "
            "one that --setup makes, as in --setup 'cc -o prog ...' with --package"
        )
    return (
        f"{program}: no Debian package is known to have this program; expected --package NAME with "
        "the package that has it (apt-file search finds it)"
    )
