"""The peer: a machine outside the measured stack, with the load generator or a server."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from tare.core.completed import Completed
from tare.core.errors import TareError
from tare.core.model import Complaint, ComplaintKind, HostCost
from tare.machines.agent import AgentMachine
from tare.machines.instance import Threads
from tare.machines.machine import Machine
from tare.machines.stack import Stack

BUSY_LIMIT = 0.9
"""Share of its CPUs, or of one CPU by one thread, above which it may be what limits the trial."""
TICK_S = 0.01
"""Of /proc/stat: USER_HZ is 100 on every Linux of today."""
ALIVE_S = 20.0


@dataclass(slots=True, eq=False)
class Peer:
    """The stack of the peer, its address, the host's address as it sees it, and its CPUs.

    ``address`` is as the host sees it. ``cpus`` are numbered as on the machine whose they are.
    ``is_apart`` says whether no trial has any of them. ``is_gone`` once it did not answer.
    """

    stack: Stack
    address: str
    gateway: str
    cpus: Collection[int]
    is_apart: bool
    is_gone: bool = False

    @property
    def machine(self) -> Machine:
        """Where commands run."""
        return self.stack.machine

    def threads(self) -> Threads | None:
        """Return which threads of the host are its own; None: it is another computer."""
        return self.stack.threads()

    def answers(self) -> bool:
        """Return whether a command can be run there; one that is gone is not asked again."""
        if not self.is_gone:
            self.is_gone = True
            with suppress(TareError):
                self.is_gone = self._bare.run(["true"], timeout_s=ALIVE_S).returncode != 0
        return not self.is_gone

    @property
    def _bare(self) -> Machine:
        """The machine without its agent: one that is lost would be looked for again first."""
        return self.machine.machine if isinstance(self.machine, AgentMachine) else self.machine

    def use(self, cost: HostCost, busiest_s: float, duration_s: float) -> Mapping[str, float]:
        """Return what it did during a trial, as ``Trial.noise`` has it: shares of CPU time.

        ``outside_cpu`` is of all its CPUs, ``outside_thread`` of one, by its busiest thread;
        ``duration_s`` is how long there was work.
        """
        return {
            "outside_cpu": cost.all_cpu_s / (len(self.cpus) * duration_s),
            "outside_thread": busiest_s / duration_s,
        }

    def busy(self) -> Mapping[int, float]:
        """Read the busy seconds since boot of each of its CPUs, in the machine itself.

        Of another computer nothing else is known; in ``use_between`` its busiest CPU stands for the
        busiest thread, which is held to no less.
        """
        if self.is_gone:
            return {}
        with suppress(TareError):
            return _busy(self._bare.run(["cat", "/proc/stat"], timeout_s=ALIVE_S), self.cpus)
        return {}

    def use_between(
        self, before: Mapping[int, float], after: Mapping[int, float], duration_s: float
    ) -> Mapping[str, float]:
        """Return the same as ``use``, from two readings of ``busy``; nothing where one failed."""
        spent = [after[cpu] - before[cpu] for cpu in before if cpu in after]
        if not spent:
            return {}
        return {
            "outside_cpu": sum(spent) / (len(spent) * duration_s),
            "outside_thread": max(spent) / duration_s,
        }

    def complaints(self, used: Mapping[str, float], *, spins: bool = False) -> Iterator[Complaint]:
        """Return why a trial's number may be the peer's and not the stack's.

        What ``spins`` uses its CPU for waiting too, so that this shows nothing.
        """
        most = max((used[name] for name in ("outside_cpu", "outside_thread") if name in used),
                   default=0.0)  # fmt: skip
        if most > BUSY_LIMIT and not spins:
            yield Complaint(ComplaintKind.PEER_BUSY, {"share": min(most, 1.0)})
        if not self.is_apart:
            yield Complaint(ComplaintKind.PEER_SHARED)


def _busy(done: Completed, cpus: Collection[int]) -> Mapping[int, float]:
    found = {}
    for line in done.stdout.decode(errors="replace").splitlines():
        name, *ticks = line.split() or [""]
        if name[:3] == "cpu" and name[3:].isdigit() and int(name[3:]) in cpus:
            user, nice, system, _idle, _iowait, irq, softirq, *_ = map(int, ticks)
            found[int(name[3:])] = (user + nice + system + irq + softirq) * TICK_S
    return found
