"""Make a bridge with one guest on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from string import ascii_lowercase, digits
from typing import TYPE_CHECKING

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.machines.machine import NOT_FOUND, Machine, check
from tare.machines.network.addresses import LINK_BITS, LINKS, claim

if TYPE_CHECKING:
    from tare.machines.layer import Site
    from tare.machines.ledger import Scope

# Packets that come in by a device of Tare's may be forwarded; others' devices are left as they
# are.
FORWARD = r"""
at=/proc/sys/net/ipv4/conf/$0/forwarding
[ ! -w "$at" ] || echo 1 > "$at"
"""
MAKE = f"""
command -v ip > /dev/null || exit {NOT_FOUND}
ip link add "$0" type bridge && ip link set "$0" up || exit 1
{FORWARD}"""
# A container engine's packet filter passes only what is its own, and drops the rest.
FILTERED = r"""
command -v iptables > /dev/null || exit 1
iptables -w -S FORWARD | grep -qE '^-P FORWARD DROP|DOCKER'
"""
ADMIT = 'iptables -w -I FORWARD -i "$0" -j ACCEPT && iptables -w -I FORWARD -o "$0" -j ACCEPT'
DISMISS = r"""
for way in -i -o; do
    while iptables -w -C FORWARD $way "$0" -j ACCEPT 2> /dev/null; do
        iptables -w -D FORWARD $way "$0" -j ACCEPT || exit 1
    done
done
"""
REMOVE = '! ip link show "$0" > /dev/null 2>&1 || ip link delete "$0"'


@dataclass(frozen=True, slots=True)
class Link:
    """A bridge's name, its address, and the address of the one guest on it; /30 networks."""

    bridge: str
    gateway: str
    address: str


def make(outer: Machine, site: Site) -> Link:
    """Make a bridge on a machine, or raise LayerError; Unavailable where it has no ``ip``."""
    bridge = device(outer, site, "n")
    site.scope.about_to_make("bridge", bridge, outer, ["sh", "-c", REMOVE, bridge])
    try:
        check(outer, ["sh", "-c", MAKE, bridge])
        if outer.run(["sh", "-c", FILTERED]).returncode == 0:
            dismiss = ["sh", "-c", DISMISS, bridge]
            site.scope.about_to_make("packet filter rule", bridge, outer, dismiss)
            check(outer, ["sh", "-c", ADMIT, bridge])
    except CommandFailed as error:
        if error.completed.returncode == NOT_FOUND:
            raise Unavailable(
                f"{outer.name} has no ip, by which networks are made", "apt-get install iproute2"
            ) from error
        raise LayerError(f"could not make a bridge on {outer.name}: {error}") from error
    gateway, address = claim(outer, bridge, LINKS, LINK_BITS).hosts()
    return Link(bridge, str(gateway), str(address))


def device(outer: Machine, site: Site, kind: str) -> str:
    """Return the name of a device: its session, a letter for its kind, and a unique number."""
    number = next(site.services.once(f"numbers of {kind}", outer, _numbers, lambda _: True))
    return f"tare{site.session}{kind}{short(number)}"


def short(number: int) -> str:
    """Write a number in base 36.

    A name has room for three digits, for the kernel takes 15 characters and a veth's one more than
    its bridge's: in base 36 those are more than there are addresses.
    """
    return (short(number // 36) if number >= 36 else "") + (digits + ascii_lowercase)[number % 36]


def _numbers(scope: Scope) -> Iterator[int]:
    del scope
    return count(1)
