"""Make a tap device for one guest, with an address at each end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tare.core.errors import CommandFailed, LayerError
from tare.machines.machine import Machine, check
from tare.machines.network import link
from tare.machines.network.addresses import CABLE_BITS, CABLES, claim
from tare.machines.network.link import FORWARD

if TYPE_CHECKING:
    from tare.machines.layer import Site
    from tare.machines.ledger import Scope

MAKE = f"""
[ -c /dev/net/tun ] || modprobe tun || exit 1
ip tuntap add dev "$0" mode tap && ip link set dev "$0" up || exit 1
{FORWARD}"""
REMOVE = '! ip link show dev "$0" > /dev/null 2>&1 || ip link delete dev "$0"'

# The guest's end; addresses of Tare's are reached by it, all others by QEMU's own network.
PLUG = r"""
ip link set eth1 up && ip addr replace "$0" dev eth1 &&
    ip route replace 198.18.0.0/15 via "$1" dev eth1
"""


@dataclass(frozen=True, slots=True)
class Tap:
    """A device's name, the address of the outer machine's end, and the guest's."""

    device: str
    gateway: str
    address: str


def make(outer: Machine, site: Site) -> Tap:
    """Make a tap device on a machine and claim two addresses for it, or raise LayerError."""
    return plug(outer, site.scope, link.device(outer, site, "t"))


def plug(outer: Machine, scope: Scope, device: str) -> Tap:
    """Make the same, of a name; raises LayerError."""
    scope.about_to_make("tap", device, outer, ["sh", "-c", REMOVE, device])
    try:
        check(outer, ["sh", "-c", MAKE, device])
    except CommandFailed as error:
        raise LayerError(f"could not make a tap device on {outer.name}: {error}") from error
    gateway, address = claim(outer, device, CABLES, CABLE_BITS).hosts()
    return Tap(device, str(gateway), str(address))
