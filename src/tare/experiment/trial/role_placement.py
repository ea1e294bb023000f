"""Start a workload's roles in their machines for a trial, and fill in addresses and ports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from tare.core.completed import tail_of
from tare.core.errors import LayerError, LayerTimedOut, TareError, Unavailable
from tare.experiment.trial.peer import Peer
from tare.experiment.trial.placed_part import Kept, PlacedPart
from tare.experiment.trial.port import free_port
from tare.experiment.trial.service import ProgramEnd, Server
from tare.machines.ledger import Ledger
from tare.machines.machine import NOT_FOUND, Machine
from tare.work.roles import COMMAND, PEER, PLACEHOLDER, Lifetime, Role, Roles

NOT_IN_USERLAND = (NOT_FOUND, 126)
"""Statuses of a command that is not there, or is no program."""
PEER_LOST = "the peer no longer answers"
LOOPBACK, ANY = "127.0.0.1", "0.0.0.0"  # noqa: S104 - a role is to be reached by others


@dataclass(frozen=True, slots=True)
class PlacedCommand:
    """What a trial runs and where; ``peer`` is None where nothing is there.

    ``conclude`` ends or pauses its roles, and returns how each ended; of those
    at a peer that is lost nothing is known, and they stay in the ledger.
    """

    machine: Machine
    argv: Sequence[str]
    peer: Peer | None = None
    conclude: Callable[[bool], Mapping[str, ProgramEnd]] = lambda _: {}


class RolePlacement:
    """The roles of one cell's workload, in their places.

    ``name`` is that of their directories. Of ``placed_parts`` each role with an instance of its own
    has one, in turn: where a scenario gives fewer, several share it. ``session`` are the programs
    that last for the session, and ``ledger`` is where those are written that nothing else would
    end. The warm-up of the command has ``warm_up_s``.
    """

    def __init__(  # noqa: PLR0913 - roles, machines, and programs that earlier trials left running
        self,
        roles: Roles,
        name: str,
        placed_parts: Sequence[PlacedPart],
        peer: Peer | None = None,
        session: Kept | None = None,
        ledger: Ledger | None = None,
        warm_up_s: float = 60.0,
    ) -> None:
        self._warm_up_s = warm_up_s
        self._roles, self._name, self._placed_parts, self._peer = roles, name, placed_parts, peer
        self._session, self._ledger = {} if session is None else session, ledger
        self._placed = {
            home: placed_parts[n % len(placed_parts)] for n, home in enumerate(roles.homes())
        }
        self._ports: dict[str, dict[str, int]] = {}

    def at(self, role: str) -> tuple[Machine, str]:
        """Return the machine of a role and its directory there."""
        directory = self._name if role == COMMAND else f"{self._name}-{role}"
        placed = self._placed_of(role)
        if placed is not None:
            return placed.stack.machine, f"{placed.stack.workdir}/{directory}"
        assert self._peer is not None  # noqa: S101 - it is made for whatever has a role there
        # The same for all instances.
        label = self._placed_parts[0].instance
        if role != COMMAND and self._lifetime(role) is Lifetime.SESSION:
            return self._peer.machine, f"{self._peer.stack.workdir}/{directory}"
        directory = directory.replace(self._name, f"{self._name}-{label}", 1)
        return self._peer.machine, f"{self._peer.stack.workdir}/{directory}"

    @contextmanager
    def up(self) -> Iterator[PlacedCommand]:
        """Start all roles, warm them up, and return the command that they serve.

        Raises Unavailable where one cannot be reached or its machine lacks its program, LayerError
        if one cannot be started, or the warm-up fails.
        """
        machine, directory = self.at(COMMAND)
        peer = self._peer if self._roles.at_peer() else None
        addresses = {
            (viewer, of): self._address(viewer, of)
            for viewer, of, what in self._roles.named()
            if what == "address"
        }
        started: list[Server] = []
        ended: dict[str, ProgramEnd] = {}

        def conclude(is_lost: bool) -> Mapping[str, ProgramEnd]:
            while started:
                server = started.pop()
                if not (is_lost and self._placed_of(server.role.name) is None):
                    ended[server.role.name] = self._rest(server)
            return ended

        try:
            self._choose_ports()
            for roles in self._roles.starts():
                self._start_all(roles, addresses, started)
            self._warm_up(addresses)
        except TareError as error:
            is_lost = peer is not None and not peer.answers()
            conclude(is_lost)
            if is_lost:
                raise LayerError(f"{PEER_LOST}: {error}") from error
            raise
        except BaseException:
            conclude(False)
            raise
        try:
            argv = [self._fill(COMMAND, word, addresses) for word in self._roles.main.command]
            yield PlacedCommand(machine, in_directory(directory, argv), peer, conclude)
        finally:
            conclude(False)

    def _warm_up(self, addresses: Mapping[tuple[str, str], str]) -> None:
        """Run what warms the roles up, if anything does, within the time of a trial."""
        wanted = self._roles.main.warm_up
        if not wanted:
            return
        machine, directory = self.at(COMMAND)
        argv = [self._fill(COMMAND, word, addresses) for word in wanted]
        run_before(machine, in_directory(directory, argv), "the warm-up", self._warm_up_s)

    def _start_all(
        self,
        roles: Sequence[Role],
        addresses: Mapping[tuple[str, str], str],
        started: list[Server],
    ) -> None:
        """Start some roles at once, so that many take no longer than one; ``started`` grows.

        Raises the first error, when all others are up or have failed too.
        """
        if len(roles) == 1:
            started.append(self._start(roles[0], addresses))
            return
        workers = ThreadPoolExecutor(max_workers=len(roles))
        asked = [workers.submit(self._start, role, addresses) for role in roles]
        try:
            errors = [error for one in asked if (error := one.exception()) is not None]
        except BaseException:  # an interrupt: what comes up later ends with its instance, or is in
            workers.shutdown(wait=False, cancel_futures=True)  # the ledger
            raise
        workers.shutdown()
        started += [one.result() for one in asked if one.exception() is None]
        if errors:
            raise errors[0]

    def _start(self, role: Role, addresses: Mapping[tuple[str, str], str]) -> Server:
        """Start a role, or resume the one that was kept."""
        machine, directory = self.at(role.name)
        placed = self._placed_of(role.name)
        # A stack's group takes what is in it with it; what is on another computer nothing takes.
        stack = placed.stack if placed is not None else self._at_peer.stack
        is_own = placed is not None or role.lifetime is Lifetime.TRIAL
        goes_by_itself = is_own and stack.threads() is not None
        server = Server(
            role,
            machine,
            directory,
            lambda text: self._fill(role.name, text, addresses),
            self._ports.get(role.name, {}),
            None if goes_by_itself else self._ledger,
        )
        kept = self._kept(role.name)
        if kept is None:
            server.start()
            return server
        known = kept.pop((self._name, role.name), None)
        if known is not None:
            if known.is_same(server) and known.resume():
                kept[self._name, role.name] = known
                return known
            known.end()
        server.start()
        kept[self._name, role.name] = server
        return server

    def _rest(self, server: Server) -> ProgramEnd:
        """End a role, or pause one that lasts."""
        kept = self._kept(server.role.name)
        if kept is None:
            return server.end()
        if server.pause():
            return ProgramEnd(lived=True, said="")
        kept.pop((self._name, server.role.name), None)
        return server.end()

    def _placed_of(self, role: str) -> PlacedPart | None:
        """Return the place of a role; None is the peer."""
        home = self._roles.home(role)
        return None if home == PEER else self._placed[home]

    def _lifetime(self, role: str) -> Lifetime:
        known = self._roles.by_name[role]
        return known.lifetime if isinstance(known, Role) else Lifetime.TRIAL

    def _kept(self, role: str) -> Kept | None:
        """Return the programs among which a role's is kept; None if it ends with the trial."""
        lifetime = self._lifetime(role)
        if lifetime is Lifetime.TRIAL:
            return None
        placed = self._placed_of(role) or self._placed_parts[0]
        return self._session if lifetime is Lifetime.SESSION else placed.kept

    def _fill(self, viewer: str, text: str, addresses: Mapping[tuple[str, str], str]) -> str:
        return PLACEHOLDER.sub(
            lambda found: (
                addresses[viewer, found[1]]
                if found[2] == "address"
                else str(self._ports[found[1]][found[2]])
            ),
            text,
        )

    def _address(self, viewer: str, of: str) -> str:
        """Return the address at which one role reaches another, and add routes where needed."""
        if viewer == of:
            return ANY
        here, there = self._placed_of(viewer), self._placed_of(of)
        if here is there:
            return LOOPBACK
        mine = here.stack.address() if here is not None else self._at_peer.address
        address = there.stack.address() if there is not None else self._at_peer.address
        if address is None:
            return LOOPBACK if here is not None else self._at_peer.gateway
        for end, to in ((here, address), (there, mine)):
            if to is not None and address != mine:
                (self._at_peer.stack if end is None else end.stack).route_to(to)
        return address

    @property
    def _at_peer(self) -> Peer:
        assert self._peer is not None  # noqa: S101 - as above
        return self._peer

    def _choose_ports(self) -> None:
        """Choose the ports that are named: as kept programs have them, as published, or free.

        Which are free is asked where the role is: what this host has free may be taken there.
        """
        ends: dict[tuple[str, str], bool] = {}
        for viewer, of, what in self._roles.named():
            if what != "address":
                is_far = self._placed_of(viewer) is not self._placed_of(of)
                ends[of, what] = ends.get((of, what), False) or is_far
        for role in dict.fromkeys(of for of, _ in ends):
            kept = self._kept(role)
            known = None if kept is None else kept.get((self._name, role))
            self._ports[role] = {} if known is None else dict(known.ports)
        for (role, what), is_far in ends.items():
            if what not in self._ports[role]:
                self._ports[role][what] = self._port(role, is_far=is_far)

    def _port(self, role: str, *, is_far: bool) -> int:
        """Choose a port at which a role is reached, ``is_far``: by other machines."""
        placed = self._placed_of(role)
        stack = placed.stack if placed is not None else self._at_peer.stack
        published = stack.ports() if is_far else None
        if published is None:
            # Some instances have one network together.
            chosen = {port for ports in self._ports.values() for port in ports.values()}
            return free_port(self.at(role)[0], chosen)
        here = [name for name in self._ports if self._placed_of(name) is placed]
        taken = {port for name in here for port in self._ports[name].values()}
        free = [port for port in published if port not in taken]
        if not free:
            raise Unavailable(
                f"{stack.machine.name} passes on {len(published)} ports, and its roles "
                f"{', '.join(sorted(here))} are reached at more",
                "give the layer another `network:`, or its `netdev: tap`",
            )
        kept = {} if placed is None else placed.kept
        others = {port for other in kept.values() for port in other.ports.values()}
        left = next((port for port in free if port not in others), free[0])
        for key, other in [*kept.items()]:
            if left in other.ports.values():  # of another cell: it has to be started anew then
                del kept[key]
                other.end()
        return left


def end_kept(kept: Kept, *, apart: bool = False) -> Iterator[str]:
    """End programs that were kept; with ``apart`` only those that outlive their instance.

    Returns what could not be ended: it stays in the ledger.
    """
    for key, server in [*kept.items()]:
        if not apart or server.is_apart:
            del kept[key]
            try:
                server.end()
            except TareError as error:
                yield str(error)


def run_before(where: Machine, argv: Sequence[str], what: str, deadline_s: float) -> None:
    """Run what prepares trials.

    Raises Unavailable, LayerTimedOut or LayerError that says what it was.
    """
    done = where.run(argv, timeout_s=deadline_s)
    why = tail_of(done.stderr or done.stdout)
    if done.timed_out:
        raise LayerTimedOut(f"{what} did not end within {deadline_s:.0f} s")
    if done.returncode in NOT_IN_USERLAND:
        raise Unavailable(f"{what}: {why}; the machine inside lacks the tool")
    if done.returncode != 0:
        raise LayerError(f"{what} failed: {why or f'exit status {done.returncode}'}")


def in_directory(directory: str, argv: Sequence[str]) -> list[str]:
    """Build the command that runs argv in a directory, in the language that parsers know."""
    return ["env", "-C", directory, "LC_ALL=C", *argv]
