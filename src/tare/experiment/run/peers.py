"""Start the peer: the machine with the load generator or server for network workloads.

Unless a study declares another it is the same userland as everywhere, in a network namespace at the
other end of a cable to the host, on the CPUs that no trial is measured on. So the baseline too is
reached over a network and not by the host's loopback, and what loads it takes no CPU time from it
(docs/decisions/0017 and 0034).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tare.core.errors import LayerError, TareError, Unavailable
from tare.core.model import CpuSet, Limits
from tare.experiment.design.admission import peer_name
from tare.experiment.run.headroom import Headroom
from tare.experiment.run.session import Session
from tare.experiment.study import Study
from tare.experiment.trial.peer import Peer
from tare.experiment.trial.placed_part import Kept
from tare.experiment.trial.role_placement import end_kept
from tare.machines.ledger import Scope
from tare.machines.stack import Stack, open_stack
from tare.work.workload import Measured

ALL_CPUS = 4096
"""More than any computer has: a computer that is the peer uses all of its CPUs."""


class Peers:
    """Provides the peer of each trial, one for equal CPUs; ``kept`` are its lasting programs."""

    def __init__(self, study: Study, session: Session) -> None:
        self._platform, self._called = study.peer, peer_name(study)
        self._deadline_s = study.deadlines.start_s
        self._session, self._made = session, 0
        self._known: dict[str, Peer] = {}
        self._dropped: set[str] = set()
        self._lost: dict[str, str] = {}
        """Those that were not there again when they were needed, and why."""
        self.kept: Kept = {}

    def of(
        self,
        limits: Limits,
        made: Measured,
        cpu_sets: Iterable[CpuSet],
        headroom: Headroom | None = None,
    ) -> Peer | None:
        """Return the peer of trials on some sets of CPUs; None if the workload uses none.

        ``headroom`` decides whether its memory fits the host's, where that is watched.
        Raises Unavailable where the declared one cannot be started or reached, LayerError where it
        fails.
        """
        if not made.uses_peer():
            return None
        measured = {cpu for number in cpu_sets for cpu in self._session.cpus_under(limits, number)}
        rest = [cpu for cpu in self._session.everything if cpu not in measured]
        cpus = rest or sorted(measured)

        def make(scope: Scope) -> Peer:
            if headroom is not None:
                headroom.before(self._called, limits)
            return self._make(scope, limits, cpus, headroom, is_apart=bool(rest))

        name = f"peer {cpus} {limits.memory_bytes}"
        if name not in self._lost:
            try:
                host = self._session.host
                self._known[name] = self._session.services.once(name, host, make, lambda _: True)
                return self._known[name]
            except TareError as error:
                if name not in self._dropped:
                    raise
                self._lost[name] = str(error)
        raise LayerError(f"the peer {self._platform.name} no longer answers: {self._lost[name]}")

    def drop_dead(self) -> bool:
        """Forget the peers that no longer answer; the next trial tries once to start them again.

        What they made stays in the ledger.
        """
        gone = [name for name, peer in self._known.items() if not peer.answers()]
        for name in gone:
            del self._known[name]
            self._session.services.abandon(name, self._session.host)
            self.kept.clear()
        self._dropped.update(gone)
        return bool(gone)

    def close(self) -> None:
        """End what lasted for the session; what cannot be ended stays in the ledger."""
        for _ in end_kept(self.kept):
            pass

    def _make(
        self,
        scope: Scope,
        limits: Limits,
        cpus: list[int],
        headroom: Headroom | None,
        *,
        is_apart: bool,
    ) -> Peer:
        session, layers = self._session, self._platform.made
        layers[0].probe(session.host, session.userland if layers[0].boots_guest else None)
        for layer in layers:
            layer.prepare(session.host, session.userland)
        is_elsewhere = layers[0].commits(limits) == 0 and not layers[0].runs_userland
        count = ALL_CPUS if is_elsewhere else len(cpus)
        self._made += 1
        # Whatever the trials are held by, it has these CPUs.
        held = Limits(
            cpus=len(cpus), memory_bytes=limits.memory_bytes, disk_cache=limits.disk_cache
        )
        site = session.site(f"peer-{self._made}", held, self._deadline_s)
        site = replace(
            site, limits=replace(held, cpus=count), cpuset=",".join(map(str, cpus)), scope=scope
        )
        stack = open_stack(session.host, layers, site)
        # The scope's now, in which what is in a machine that goes with the stack goes with it.
        scope.entries += [
            entry for one in stack.scopes for entry in one.entries if not entry.machine.ephemeral
        ]
        stack.scopes.clear()
        if headroom is not None:
            headroom.opened(self._called, limits, stack.threads())
        # One that never takes an agent is entered anew by all cells alike.
        if session.agents is not None and stack.no_agent and stack.instances[-1].takes_agent:
            raise LayerError(f"the peer has no agent, as the others have: {stack.no_agent}")
        address = stack.address()
        if address is None:
            raise Unavailable(
                f"the peer {self._platform.name} has this host's own network",
                "give it one of its own, as the layer host has with `network: cable`",
            )
        if stack.threads() is None:
            cpus, is_apart = _listed(stack), True
        return Peer(stack, address, stack.gateway(), tuple(cpus), is_apart)


def _listed(stack: Stack) -> list[int]:
    """Read the CPUs that a stack is held to, as its own machine numbers them."""
    return [
        cpu
        for part in stack.cpuset.split(",")
        for cpu in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)
    ]
