"""A session: lock, ledger and CPUs of one run on this host; and clean-up after killed ones."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TextIO

from tare.core.errors import LayerError, ResultsError, Unavailable
from tare.core.home import home
from tare.core.model import CpuSet, Limits, NeighbourCpus
from tare.experiment.run.cpu_topology import SYS, related
from tare.machines.agent import Agents
from tare.machines.layer import Site
from tare.machines.ledger import Ledger, Leftover, Scope, Services, clean, is_live, leftovers
from tare.machines.machine import Host
from tare.machines.stack import NAMED
from tare.machines.userland import REMOVE_FOLDER, Userland, architecture

log = logging.getLogger(__name__)


class Session:
    """Owns all that a run makes; leaving it removes whatever the ledger still holds.

    Only one session can measure on a host at a time: two would be each other's noise.
    """

    sys = SYS
    """Where the kernel describes the CPUs of this host."""
    reached = False
    """Whether what is opened has to be reached by another machine; see Site.reached."""

    def __init__(
        self,
        ledger_folder: Path,
        suite: str,
        packages: tuple[str, ...],
        nested: tuple[str, ...] = (),
        programs: tuple[str, ...] = (),
    ) -> None:
        self.id = secrets.token_hex(3)
        self.host = Host()
        root = home()
        try:
            (root / "ledgers").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Unavailable(f"cannot write to {root}: {error.strerror}", "run as root") from error
        path = ledger_folder / "ledger.jsonl"
        self._lock = _only_session(root / "lock")
        try:
            path.touch()
            _refuse_leftovers([path, *(root / "ledgers").glob("*")])
            self.ledger = Ledger(path)
        except BaseException:
            self._lock.close()
            raise
        self.services = Services(self.ledger)
        self.agents: Agents | None = Agents(self.host, self.ledger)
        self.userland = Userland(
            suite, packages, self.ledger, nested, arch=architecture.HERE, programs=programs
        )
        self.folder = root / "run" / self.id
        self.everything = sorted(os.sched_getaffinity(0))

    def cpus(self, count: int, number: int = 0) -> list[int]:
        """Choose the CPUs for a stack: the last ones, since the first serve most interrupts.

        Of several stacks at once each has a ``number``; they are spread over all CPUs in turn.
        """
        if count > len(self.everything):
            raise Unavailable(f"{count} CPUs are asked for, this host gives {len(self.everything)}")
        end = len(self.everything) - count * (number % (len(self.everything) // count))
        return self.everything[end - count : end]

    def cpus_under(self, limits: Limits, number: CpuSet = 0) -> list[int]:
        """Choose the CPUs for a stack under some limits: all there are, where they pin nothing.

        ``number`` may be what they have in common with those of number 0 instead; then raises
        Unavailable where this host has no such CPUs.
        """
        if isinstance(number, str):
            if not limits.is_pinned:
                raise Unavailable(
                    f"cpus: {number}: limits that pin nothing hold no neighbour to such CPUs",
                    "leave `cpus` out of the neighbour, or pin the CPUs",
                )
            own = self.cpus(limits.cpus)
            return related(own, NeighbourCpus(number), self.everything, self.sys)
        chosen = self.cpus(limits.cpus, number)
        return chosen if limits.is_pinned else list(self.everything)

    def step_aside(self, count: int) -> list[int]:
        """Move this process off the CPUs that are measured, where any others are left."""
        rest = self.everything[:-count] or self.everything
        os.sched_setaffinity(0, rest)
        return rest

    def site(self, name: str, limits: Limits, deadline_s: float, number: CpuSet = 0) -> Site:
        """Return what a layer needs in addition to its outer machine; see cpus for ``number``."""
        return Site(
            name=f"{NAMED}{self.id}-{name}",
            session=self.id,
            folder=str(self.folder),
            limits=limits,
            cpuset=",".join(map(str, self.cpus_under(limits, number))),
            scope=Scope(self.ledger),
            services=self.services,
            userland=self.userland,
            deadline_s=deadline_s,
            reached=self.reached,
            agents=self.agents,
        )

    def __enter__(self) -> Session:
        try:
            # Before anything is made, so that `tare clean` finds the ledger wherever it lies; and
            # locked before that, so that it is not taken for a dead session's.
            (home() / "ledgers" / self.id).symlink_to(self.ledger.path.resolve())
            remove = ["sh", "-c", REMOVE_FOLDER, str(self.folder)]
            self.ledger.about_to_make("folder", str(self.folder), self.host, remove)
            self.folder.mkdir(parents=True)
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.sched_setaffinity(0, self.everything)
        # What fails is still in the ledger, and is next. OSError: the ledger's own disk is full.
        with contextlib.suppress(LayerError, OSError):
            self.services.close()
        with contextlib.suppress(OSError):
            self.ledger.close()
        try:
            problems = [why for _, why in clean(self.ledger.path) if why]
        except OSError as full:
            problems = [str(full)]
        if not leftovers(self.ledger.path):
            (home() / "ledgers" / self.id).unlink(missing_ok=True)
        self._lock.close()
        if problems and kind is None:
            raise LayerError("; ".join(problems))
        for problem in problems:
            log.warning("%s; remove it with: tare clean", problem)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The result for one thing that a killed session left: ``problem`` is empty if it is gone."""

    session: str
    left: Leftover
    problem: str


def clean_all(*, forget: bool = False) -> Iterator[Cleaned | str]:
    """Remove what killed sessions left, by their ledgers alone; yields texts for what was skipped.

    With ``forget`` what cannot be removed is given up.
    """
    for link in sorted((home() / "ledgers").glob("*")):
        if not link.exists():
            with contextlib.suppress(FileNotFoundError):  # its session has just ended
                yield f"the ledger of session {link.name} is gone ({link.readlink()})"
            link.unlink(missing_ok=True)
            continue
        try:
            for left, problem in clean(link, forget=forget):
                yield Cleaned(link.name, left, problem)
        except LayerError as error:
            yield str(error)
            continue
        if not leftovers(link):
            link.unlink()


def _refuse_leftovers(ledgers: Iterable[Path]) -> None:
    """Refuse to measure while leftovers of a killed session exist: its guests take CPU time."""
    for path in ledgers:
        left = leftovers(path) if path.exists() and not is_live(path) else []
        if left:
            raise ResultsError(
                f"an earlier session left {len(left)} things on this host, such as the "
                f"{left[0].what} {left[0].name}; remove them with: tare clean"
            )


def _only_session(path: Path) -> TextIO:
    try:
        file = path.open("w")
    except OSError as error:
        raise Unavailable(f"cannot write to {path}: {error.strerror}", "run as root") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise Unavailable(
            "another Tare session is running on this host, and two would disturb each other",
            "wait for it to end",
        ) from None
    return file
