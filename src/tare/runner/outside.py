"""The machine outside every stack: it loads a service in one, or serves a command in one.

It runs the same userland, in a network namespace at the other end of a cable to the host, on the
CPUs that no trial is measured on. So the baseline too is reached over a network and not by the
host's loopback, and what loads it takes no CPU time from it (docs/decisions/0017).
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address

from tare import layer
from tare.errors import LayerError
from tare.ledger import Scope
from tare.machine import Machine, get
from tare.model import Limits
from tare.runner.session import Session
from tare.stack import put_agent
from tare.trial.ends import Outside


def outside_of(session: Session, limits: Limits, deadline_s: float, parts: int = 1) -> Outside:
    """Give the machine outside of trials under some limits; makes it once, or raises LayerError.

    It has the CPUs that none of the ``parts`` of a trial has, if there are any.
    """
    measured = {cpu for number in range(parts) for cpu in session.cpus(limits.cpus, number)}
    rest = [cpu for cpu in session.everything if cpu not in measured]
    cpus = rest or sorted(measured)

    def make(scope: Scope) -> Outside:
        site = session.site(f"outside-{len(cpus)}", replace(limits, cpus=len(cpus)), deadline_s)
        site = replace(site, cpuset=",".join(map(str, cpus)), scope=scope)
        instance = layer.load("host", network="cable").create(session.host, site)
        instance.start()
        instance.ready()
        if why := put_agent(instance, site):
            raise LayerError(f"the machine outside has no agent, as the others have: {why}")
        address = instance.address()
        if address is None:
            raise LayerError("the machine outside has no network of its own")
        return Outside(instance, address, _gateway(instance.machine), cpus, is_apart=bool(rest))

    return session.services.once(f"outside {cpus}", session.host, make, lambda _: True)


def _gateway(machine: Machine) -> str:
    """Read where a machine's default route leads to, as proc_net(5) has it."""
    for line in get(machine, "/proc/net/route").decode().splitlines()[1:]:
        _, destination, gateway, *_ = line.split()
        if destination == "00000000":
            return str(IPv4Address(int(gateway, 16).to_bytes(4, "little")))
    raise LayerError(f"no way leads from {machine.name} to the host")
