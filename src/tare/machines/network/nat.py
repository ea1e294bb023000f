"""Translate an address of the outer machine to a guest's (NAT by iptables)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.machines.machine import NOT_FOUND, Machine, check
from tare.machines.network import link
from tare.machines.network.addresses import FRONT_BITS, FRONTS, claim

if TYPE_CHECKING:
    from tare.machines.layer import Site

PORTS = range(10_000, 20_000, 2)
"""From which a pair is drawn where ports are published one by one.

Nobody else has the address; but programs that listen at all addresses of the host have the port at
it too.
"""

# A kernel without such a table has no rule of Tare's in it.
FORGET = r"""
rules=$(iptables -w -t nat -S 2>&1) || case $rules in
    *"Table does not exist"* | *"can't initialize"* | *"No such file"*) exit 0 ;;
    *) echo "$rules" >&2 && exit 1 ;;
esac
echo "$rules" | grep -wF -e "$0" | sed 's/^-A/-D/' | while read -r rule; do
    iptables -w -t nat $rule || exit 1
done || exit 1
"""
LEAVE = f"""
command -v iptables > /dev/null || exit 0
{FORGET}"""
# What the guest had for an address before may be another's by now. Inserted, not appended: the
# rules of a container engine would take the packets first.
TRANSLATE = f"""
command -v iptables > /dev/null || exit {NOT_FOUND}
({FORGET}) || exit 1
iptables -w -t nat -I PREROUTING -d "$0" -j DNAT --to-destination "$1" &&
    iptables -w -t nat -I POSTROUTING -s "$1" -j SNAT --to-source "$0"
"""


def make(outer: Machine, site: Site) -> str:
    """Add an unused address to a machine; raises LayerError.

    It is that of a bridge with nothing on it, for every kernel that runs containers has those.
    """
    device = link.device(outer, site, "f")
    site.scope.about_to_make("bridge", device, outer, ["sh", "-c", link.REMOVE, device])
    try:
        check(outer, ["sh", "-c", link.MAKE, device])
    except CommandFailed as error:
        raise LayerError(f"could not make {device} on {outer.name}: {error}") from error
    return str(claim(outer, device, FRONTS, FRONT_BITS).network_address)


def ports() -> tuple[int, int]:
    """Draw two ports to be published."""
    first = random.choice(PORTS)  # noqa: S311 - only to miss others
    return first, first + 1


def translate(outer: Machine, site: Site, front: str, inside: str) -> None:
    """Translate between the address ``front`` and a guest's, both ways; works twice.

    The kernel does it with the rules that Docker makes for a published port (iptables(8), DNAT and
    SNAT), but for all ports at once. Raises LayerError where it cannot, Unavailable without the
    program.
    """
    site.scope.about_to_make("address translation", front, outer, ["sh", "-c", LEAVE, front])
    try:
        check(outer, ["sh", "-c", TRANSLATE, front, inside])
    except CommandFailed as error:
        if error.completed.returncode == NOT_FOUND:
            raise Unavailable(
                f"{outer.name} has no iptables, by which addresses are translated",
                "apt-get install iptables",
            ) from error
        raise LayerError(f"{outer.name} does not translate addresses: {error}") from error
