"""Start the layers of a stack one inside the other, and remove them in reverse."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import takewhile

from tare.core.errors import LayerError, TareError, Unavailable
from tare.core.model import Limits
from tare.machines.agent import AgentMachine, NoAgent
from tare.machines.agent.placement import FOLDERS
from tare.machines.cgroup.group_limits import GroupLimits
from tare.machines.cgroup.readback import Inside
from tare.machines.instance import Instance, Threads
from tare.machines.layer import Layer, Site
from tare.machines.ledger import Scope
from tare.machines.machine import Machine

NAMED = "tare-"
"""What the names of all instances begin with."""


@dataclass
class Stack:
    """The started layers of one instance of a platform."""

    machine: Machine
    workdir: str = "/data"
    instances: list[Instance] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)
    cpuset: str = ""
    """The CPUs for the workload as the innermost machine numbers them; empty: as the host does."""
    host: Machine = field(init=False)
    """Where its outermost layer is."""
    no_agent: str = ""
    """Why some machine of it has no agent although one was wanted; else empty."""

    def __post_init__(self) -> None:
        """Begin on the machine that the layers are then entered from."""
        self.host = self.machine

    @property
    def has_agent(self) -> bool:
        """Whether commands in the innermost machine are started by an agent."""
        return isinstance(self.machine, AgentMachine) and not self.machine.entered_anew

    @property
    def may_hold_orphans(self) -> bool:
        """Whether a lost agent may have left processes in the innermost machine."""
        return isinstance(self.machine, AgentMachine) and self.machine.may_hold_orphans

    def enter_anew(self, anew: bool = True) -> None:
        """Make every command enter its machine anew from now on, as if there was no agent."""
        for instance in self.instances:
            if isinstance(instance.machine, AgentMachine):
                instance.machine.entered_anew = anew

    def pause(self) -> None:
        """Pause the whole stack by its outermost layer, which contains all the others.

        Unless other stacks are in its machine too: then that continues for as long as they need it.
        """
        for instance in reversed(self._holding()):
            instance.pause()

    def resume(self) -> None:
        """Undo pause."""
        for instance in self._holding():
            instance.resume()

    def _close_agents(self) -> None:
        """End the agents, from the inside out; what is paused could neither end nor be killed."""
        agents = [one.machine for one in self.instances if isinstance(one.machine, AgentMachine)]
        try:
            if agents:
                with suppress(TareError):  # what is dead is removed all the same
                    self.resume()
        finally:
            for machine in reversed(agents):
                machine.close()

    def _holding(self) -> list[Instance]:
        """List the outermost instance that is this stack's alone, and those around it."""
        around = sum(1 for _ in takewhile(lambda instance: instance.shared, self.instances))
        return self.instances[: around + 1]

    def inside(self) -> Inside:
        """Read back what a command in the innermost machine really gets.

        Raises CommandFailed or LayerError where that cannot be read.
        """
        modes = [instance.disk_cache() for instance in self.instances]
        innermost = next((mode for mode in reversed(modes) if mode is not None), None)
        found = replace(self.instances[-1].inside(), disk_cache=innermost)
        if (held := self.held()) is None:
            return found
        # Some containers show their limit as the swap there is, which may be more than there is.
        swap = min(found.swap_bytes, held.swap_bytes)
        return replace(found, swap_bytes=swap, quota_cpus=held.quota_cpus, group=held)

    def confine(self, limits: Limits) -> None:
        """Hold the outermost instance that is this stack's alone to the optional limits.

        Raises Unavailable where that cannot be, LayerError.
        """
        if self.instances:
            instance, outer = self._outermost()
            instance.confine(outer, limits)

    def ration(self, cpus: float | None) -> None:
        """Hold the same instance to a quota of CPU time, in CPUs; None takes the quota away.

        Raises Unavailable where that cannot be, LayerError.
        """
        if self.instances:
            instance, outer = self._outermost()
            instance.ration(outer, cpus)

    def held(self) -> GroupLimits | None:
        """Read back what holds the same instance, and all in it; None where no group does.

        Raises LayerError where that cannot be read.
        """
        instance, outer = self._outermost()
        return instance.held(outer)

    def own_group(self) -> str | None:
        """Return the control group of this host that holds this stack and nothing else.

        None where none does: what is opened on another computer, or by its hypervisor. None too
        where the group does not bear the name of an instance: of a container engine that serves
        from another namespace of processes, the number that it gives is a stranger's here.
        """
        if not self.instances:
            return None
        instance, outer = self._outermost()
        group = instance.holding_group(outer)
        is_own = group is not None and outer is self.host and NAMED in group.path
        return group.path if group is not None and is_own else None

    def _outermost(self) -> tuple[Instance, Machine]:
        """Return the outermost instance that is this stack's alone, and the machine around it."""
        around = self._holding()
        return around[-1], around[-2].machine if len(around) > 1 else self.host

    def address(self) -> str | None:
        """Return the address of the innermost machine on the host's network; None: it has that.

        Raises Unavailable where it cannot be reached from there.
        """
        for depth, instance in reversed(list(enumerate(self.instances))):
            if (address := instance.address()) is None:
                continue
            for outer in self.instances[:depth]:
                if outer.passes_on:
                    outer.pass_on(address)
                elif outer.address() is not None:
                    raise Unavailable(
                        f"{address}, of {instance.machine.name}, is reached only from inside "
                        f"{outer.machine.name}",
                        "give the innermost layer `network: host`",
                    )
            return address
        return None

    def gateway(self) -> str:
        """Return the host's address as the innermost machine sees it; it has one of its own.

        Raises LayerError where no way leads there.
        """
        own = (one for one in reversed(self.instances) if one.address() is not None)
        return next(own).gateway()

    def route_to(self, address: str) -> None:
        """Add a route from the innermost machine to an address that this host knows; works twice.

        Raises Unavailable where it cannot.
        """
        for instance in self.instances:
            instance.route_to(address)

    def ports(self) -> tuple[int, int] | None:
        """Return the only ports at which the innermost machine is reached; None: all there are."""
        return next((one.ports for one in reversed(self.instances) if one.ports), None)

    def threads(self) -> Threads | None:
        """Return which threads of the controlling host do the work."""
        return self.instances[0].threads() if self.instances else None

    def close(self) -> None:
        """Remove the layers, from the inside out.

        What lies in a machine that is itself removed here is not removed on its own: a guest that
        is killed takes its containers with it, and a dead guest could not be asked.
        """
        failures = []
        self._close_agents()
        for depth, scope in reversed(list(enumerate(self.scopes))):
            if any(entry.machine.ephemeral for entry in scope.entries) and depth > 0:
                scope.forget()
                continue
            try:
                scope.close()
            except LayerError as error:
                failures.append(str(error))
        self.scopes.clear()
        self.instances.clear()
        if failures:
            raise LayerError("; ".join(failures))


def open_stack(host: Machine, layers: Sequence[Layer], site: Site) -> Stack:
    """Create, start and await each layer in the one before; on failure nothing stays behind."""
    stack = Stack(host)
    try:
        for depth, layer in enumerate(layers):
            scope = Scope(site.scope.ledger)
            stack.scopes.append(scope)
            if depth and not layers[depth - 1].runs_userland:
                site = replace(site, userland=site.userland.of(stack.machine))
            at = replace(site, name=f"{site.name}-{depth}", scope=scope)
            instance = layer.create(stack.machine, at)
            stack.instances.append(instance)
            instance.start()
            instance.ready()
            if why := put_agent(instance, at):
                stack.no_agent, site = why, replace(site, agents=None)  # nor what is inside
            stack.machine, stack.workdir = instance.machine, instance.workdir
            stack.cpuset = instance.cpuset
            site = replace(site, cpuset=instance.cpuset)
        for instance in stack.instances:
            instance.hold()
            # What holds only the innermost machine does so now that nothing more is made in it.
            stack.machine = instance.machine
        stack.confine(site.limits)
    except BaseException as error:
        try:
            stack.close()
        except LayerError as left:
            error.add_note(str(left))  # it stays in the ledger; what failed first is the news
        raise
    return stack


def put_agent(instance: Instance, site: Site) -> str:
    """Put an agent into a machine that is ready, if any is wanted and its layer has not done so.

    Returns why there is none although one was wanted; commands then enter the machine anew.
    """
    if site.agents is None or isinstance(instance.machine, AgentMachine):
        return ""
    if not instance.takes_agent:
        return f"{instance.machine.name} takes no agent"
    # What outlives the instance is written only where its ledger removes what it made.
    folders = (*FOLDERS, instance.workdir) if instance.machine.ephemeral else (instance.workdir,)
    try:
        instance.machine = site.agents.push(instance.machine, site.name, folders, site.deadline_s)
    except NoAgent as error:
        return str(error)
    return ""
