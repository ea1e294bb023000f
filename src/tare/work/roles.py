"""Roles: programs that a workload needs in addition to its command, such as a server or a database.

A word of any of them may name another by placeholders: ``{db.address}``, ``{db.port}`` and
``{db.data_port}`` of the role ``db``. A role that names another is started after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath
from typing import Literal

OWN, PEER = "own", "peer"
"""Places: an instance of its own, of the platform that is measured; or the peer."""
COMMAND = "command"
"""The name of the workload's command among its roles."""
PLACEHOLDER = re.compile(r"\{(\w+)\.(address|port|data_port)\}")
STATES = {"tcp": "0A", "udp": "07"}
"""As proc_net(5) writes them: LISTEN of TCP, and an UDP socket that is bound."""
OWN_FILES = ("service.log", "service.pid", "ready.log", "ready.next")
"""What Tare writes into a role's directory itself."""


class Lifetime(StrEnum):
    """For how long a role is up once it was started."""

    TRIAL = "trial"
    """No state goes from one trial into the next."""
    INSTANCE = "instance"
    """It is started once in each instance, and is paused while others are measured there."""
    SESSION = "session"
    """It is started once, at the peer, and is paused while others are measured."""


@dataclass(frozen=True, slots=True)
class Listens:
    """Ready once it listens at its port."""

    protocol: Literal["tcp", "udp"] = "tcp"

    def check(self, port: int) -> list[str]:
        """Build the command that succeeds then; a probe that connects could use up a server."""
        socket = f": [0-9A-F]+:{port:04X} [0-9A-F]+:[0-9A-F]+ {STATES[self.protocol]} "
        return ["grep", "-Eqs", socket, *(f"/proc/net/{self.protocol}{of}" for of in ("", "6"))]


@dataclass(frozen=True, slots=True)
class Prints:
    """Ready once a line of what it prints matches an extended regular expression."""

    pattern: str

    def check(self, port: int) -> list[str]:
        """Build the command that succeeds then."""
        del port
        return ["grep", "-Eqs", "-e", self.pattern, "service.log"]


@dataclass(frozen=True, slots=True)
class Succeeds:
    """Ready once a command succeeds in its directory.

    Placeholders are filled in the command too.
    """

    command: Sequence[str]

    def check(self, port: int) -> list[str]:
        """Build that command."""
        del port
        return list(self.command)


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One program that runs in addition to a workload's command, in a directory of its own.

    ``place`` is OWN, PEER, or the name of a role (or COMMAND) that it shares a machine with. In
    its directory ``files`` (texts by names) are written and ``setup`` is run before it is started;
    ``ready_s`` is how long it may take from there until it is ``ready``, and ``setup`` before. It
    stays in the foreground and is ended by SIGTERM. One that is gone before fails the trial: it
    may have served only a part.

    ``snapshot`` is a command that is run once in each instance, in an empty directory, within
    ``snapshot_s``. What it leaves there, such as the files of a loaded database, is copied into the
    role's directory before each start, so that every trial begins with the same. It names no role:
    several roles and cells share what the same words made.

    Its own address is 0.0.0.0 in its own words: all that it can listen at.
    """

    name: str
    command: Sequence[str]
    place: str = OWN
    packages: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    snapshot: Sequence[str] | None = None
    snapshot_s: float = 900.0
    files: Mapping[str, str] = field(default_factory=dict)
    setup: Sequence[str] | None = None
    ready: Listens | Prints | Succeeds = field(default_factory=Listens)
    ready_s: float = 60.0
    lifetime: Lifetime = Lifetime.TRIAL

    def texts(self) -> Iterator[str]:
        """List every text of it that may name a role."""
        yield from self.command
        yield from self.setup or ()
        yield from self.files.values()
        if isinstance(self.ready, Succeeds):
            yield from self.ready.command
        elif isinstance(self.ready, Prints):
            yield self.ready.pattern


@dataclass(frozen=True, slots=True)
class Main:
    """A workload's command as one among its roles: where it is, its words, and how it is warmed up.

    ``warm_up`` is run at its place before it, once the roles are up and outside of the clock.
    """

    place: str
    command: Sequence[str]
    warm_up: Sequence[str] = ()

    def texts(self) -> Iterator[str]:
        """List every text of it that may name a role."""
        yield from self.command
        yield from self.warm_up


@dataclass(frozen=True, slots=True)
class Roles:
    """All roles of a workload, and its command; every method is pure.

    All but ``objections`` assume that there are no objections.
    """

    main: Main
    others: tuple[Role, ...] = ()

    @property
    def by_name(self) -> Mapping[str, Role | Main]:
        """All of them, the command last."""
        return {**{role.name: role for role in self.others}, COMMAND: self.main}

    def home(self, name: str) -> str:
        """Return the name of the role whose place a role is at, or PEER."""
        place = self.by_name[name].place
        return name if place == OWN else PEER if place == PEER else self.home(place)

    def homes(self) -> tuple[str, ...]:
        """Return the roles that have an instance of their own, the measured one first."""
        homes = dict.fromkeys(self.home(name) for name in (COMMAND, *self.by_name))
        return tuple(home for home in homes if home != PEER)

    def at_peer(self) -> bool:
        """Return whether any of them is at the peer."""
        return any(self.home(name) == PEER for name in self.by_name)

    def outlasts_trials(self, *, at_peer: bool) -> bool:
        """Return whether a role stays up between trials, at the peer or in an instance."""
        lasting = (role.name for role in self.others if role.lifetime is not Lifetime.TRIAL)
        return any((self.home(name) == PEER) is at_peer for name in lasting)

    def starts(self) -> Iterator[tuple[Role, ...]]:
        """Yield the roles in the order in which they are started, those together that may be.

        Each names only roles that were started before.
        """
        known = self.by_name
        order = TopologicalSorter({name: self._named_by(name) for name in known})
        order.prepare()
        while order.is_active():
            names = order.get_ready()
            if roles := tuple(one for name in names if isinstance(one := known[name], Role)):
                yield roles
            order.done(*names)

    def named(self) -> Iterator[tuple[str, str, str]]:
        """Yield each placeholder.

        The role that uses it, the role it names, and ``address`` or a port.
        """
        for name, role in self.by_name.items():
            for of, what in dict.fromkeys(_placeholders(role.texts())):
                yield name, of, what

    def objections(self) -> Iterator[str]:
        """Yield what is wrong with the roles; nothing if they can be run."""
        known = self.by_name
        roles = ", ".join(role.name for role in self.others)
        expected = f"expected one of the roles {roles}" if roles else "there are no roles"
        found = [*self._of_names()]
        found += [wrong for name, role in known.items() for wrong in _of_place(name, role, known)]
        found += [
            f"{name} names {{{of}.{what}}}; {expected}"
            for name, of, what in self.named()
            if of not in known or of == COMMAND
        ]
        yield from found
        if not found:
            yield from self._of_order()

    def _of_names(self) -> Iterator[str]:
        taken: set[str] = {OWN, PEER, COMMAND}
        for role in self.others:
            if role.name in taken or not re.fullmatch(r"\w+", role.name):
                yield f"a role is called {role.name!r}; expected letters, digits and _, each once"
            taken.add(role.name)

    def _of_order(self) -> Iterator[str]:
        try:
            for name in self.by_name:
                self.home(name)
        except RecursionError:
            yield "roles share a machine with each other in a ring; expected one that is own"
            return
        if not self.homes():
            yield "all roles and the command are at the peer; expected one that is own"
        try:
            list(self.starts())
        except CycleError as error:
            yield f"roles wait for each other: {' names '.join(error.args[1])}; expected an order"
            return
        lasting = {role.name: list(Lifetime).index(role.lifetime) for role in self.others}
        for role in self.others:
            if role.lifetime is Lifetime.SESSION and self.home(role.name) != PEER:
                yield f"the role {role.name} lasts for the session; expected at the peer"
            for of in self._named_by(role.name):
                if lasting[of] < lasting[role.name]:
                    yield f"the role {role.name} outlasts {of}, which it names; expected as long"
            if isinstance(role.ready, Listens) and (role.name, "port") not in _placeholders(
                role.texts()
            ):
                yield (
                    f"the role {role.name} is ready once it listens, and names no port of its own; "
                    f"expected {{{role.name}.port}}"
                )

    def _named_by(self, name: str) -> list[str]:
        """List the roles that a role waits for."""
        texts = self.by_name[name].texts()
        return [of for of in dict.fromkeys(of for of, _ in _placeholders(texts)) if of != name]


def _of_place(name: str, role: Role | Main, known: Mapping[str, object]) -> Iterator[str]:
    if role.place not in {OWN, PEER, *known} or role.place == name:
        yield f"{name} is at {role.place!r}; expected {OWN}, {PEER} or the name of another role"
    if not role.command:
        yield f"{name} has no words; expected a command"
    if not isinstance(role, Role):
        return
    for time_s, purpose in ((role.ready_s, "to get ready"), (role.snapshot_s, "for its snapshot")):
        if time_s <= 0:
            yield f"{name} has {time_s:g} s {purpose}; expected more than 0"
    for of, what in _placeholders(role.snapshot or ()):
        yield (
            f"{name} names {{{of}.{what}}} in its snapshot, which is made before any role is "
            "started; expected no role there"
        )
    for file in role.files:
        path = PurePosixPath(file)
        if file in OWN_FILES or not path.name or path.is_absolute() or ".." in path.parts:
            yield (
                f"{name} has a file {file!r}; expected a path in its directory, "
                f"other than {', '.join(OWN_FILES)}"
            )


def _placeholders(texts: Iterable[str]) -> list[tuple[str, str]]:
    return [found for text in texts for found in PLACEHOLDER.findall(text)]
