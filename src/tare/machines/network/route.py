"""Add routes and forwarding between an inner machine and another computer.

What is made by Tare passes packets on to what else is; here they come in by a device of a machine's
own. So its forwarding is switched on, and a packet filter accepts what is for an address.
All of it is undone at the session's end, for several instances on one computer have the same ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.core.completed import tail_of
from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.machines.machine import Machine, check, text
from tare.machines.network.link import FILTERED

if TYPE_CHECKING:
    from tare.machines.layer import Site
    from tare.machines.ledger import Scope

ROUTE = 'ip route add "$0/32" via "$1"'
ROUTED = 'ip route show "$0/32" via "$1" | grep -q .'
UNROUTE = '! ip route show "$0/32" via "$1" | grep -q . || ip route del "$0/32" via "$1"'
DEVICE = r"""ip -o route get "$0" | sed -n 's/.* dev \([^ ]*\).*/\1/p'"""
FORWARDS = 'cat "/proc/sys/net/ipv4/conf/$0/forwarding"'
FORWARD = 'echo "$1" > "/proc/sys/net/ipv4/conf/$0/forwarding"'
STOP_FORWARDING = f'[ ! -e "/proc/sys/net/ipv4/conf/$0" ] || {FORWARD}'
ADMIT = 'iptables -w -I FORWARD -s "$0" -j ACCEPT && iptables -w -I FORWARD -d "$0" -j ACCEPT'
DISMISS = """
for end in -s -d; do
    while iptables -w -C FORWARD $end "$0" -j ACCEPT 2> /dev/null; do
        iptables -w -D FORWARD $end "$0" -j ACCEPT || exit 1
    done
done
"""


class Routes:
    """The routes between a machine and an ``outer`` one.

    ``own`` is the machine's address as the outer one sees it, ``gateway`` the outer one's there.
    """

    def __init__(self, outer: Machine, inside: Machine, site: Site) -> None:
        self._outer, self._inside, self._site = outer, inside, site
        self._known: set[str] = set()

    def out(self, address: str, own: str, gateway: str) -> None:
        """Add a route from the machine to an address that the outer one knows; works twice."""
        if address not in (*self._known, own, gateway):
            _route(self._inside, self._site, address, gateway)
            _forward(self._outer, self._site, address, own)
            self._known.add(address)

    def into(self, address: str, own: str, gateway: str) -> None:
        """Add a route from the outer machine to an address that this one knows; works twice."""
        if address not in self._known:
            _route(self._outer, self._site, address, own)
            _forward(self._inside, self._site, address, gateway)
            self._known.add(address)


def _route(machine: Machine, site: Site, address: str, by: str) -> None:
    """Add a route to an address by way of another; raises Unavailable where that is forbidden."""

    def is_routed(_: object = None) -> bool:
        return machine.run(["sh", "-c", ROUTED, address, by]).returncode == 0

    def make(scope: Scope) -> str:
        if is_routed():  # another instance's, or one that was there before Tare
            return address
        remove = ["sh", "-c", UNROUTE, address, by]
        scope.about_to_make("route", address, machine, remove)
        done = machine.run(["sh", "-c", ROUTE, address, by])
        if done.returncode != 0:
            why = tail_of(done.stderr + done.stdout)
            raise Unavailable(
                f"{machine.name} has no route to {address}: {why}",
                f"add a route by way of {by}: on one network, and as root",
            )
        return address

    site.services.once(f"route to {address} by {by}", machine, make, is_routed)


def _forward(machine: Machine, site: Site, address: str, far: str) -> None:
    """Forward to an address what comes from the side of ``far``; raises LayerError.

    It does so until the session's end.
    """
    try:
        device = text(machine, ["sh", "-c", DEVICE, far]).strip()
        if text(machine, ["sh", "-c", FORWARDS, device]).strip() == "0":
            site.services.once(
                f"forwarding by {device}",
                machine,
                lambda scope: _begin(machine, scope, device),
                lambda _: True,
            )
        if machine.run(["sh", "-c", FILTERED]).returncode == 0:
            site.services.once(
                f"packet filter rule for {address}",
                machine,
                lambda scope: _admit(machine, scope, address),
                lambda _: True,
            )
    except CommandFailed as error:
        raise LayerError(
            f"{machine.name} does not pass on to {address} what comes from {far}: {error}"
        ) from error


def _begin(machine: Machine, scope: Scope, device: str) -> str:
    """Switch on forwarding of a device, until the scope is closed."""
    stop = ["sh", "-c", STOP_FORWARDING, device, "0"]
    scope.about_to_make("forwarding", device, machine, stop)
    check(machine, ["sh", "-c", FORWARD, device, "1"])
    return device


def _admit(machine: Machine, scope: Scope, address: str) -> str:
    """Accept packets from and to an address, until the scope is closed."""
    dismiss = ["sh", "-c", DISMISS, address]
    scope.about_to_make("packet filter rule", address, machine, dismiss)
    check(machine, ["sh", "-c", ADMIT, address])
    return address
