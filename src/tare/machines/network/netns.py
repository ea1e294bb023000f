"""Make a network namespace with a link to the outer machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tare.core.errors import CommandFailed, LayerError
from tare.machines.machine import Machine, check
from tare.machines.network import link
from tare.machines.network.addresses import LINK_BITS

if TYPE_CHECKING:
    from tare.machines.layer import Site

MAKE = r"""
set -eu
name=$0 bridge=$1 gateway=$2 address=$3
ip netns add "$name"
ip link add "${bridge}v" type veth peer name eth0 netns "$name"
ip link set "${bridge}v" master "$bridge" up
ip -n "$name" addr add "$address" dev eth0
ip -n "$name" link set lo up
ip -n "$name" link set eth0 up
ip -n "$name" route add default via "$gateway"
"""
REMOVE = '[ ! -e "/run/netns/$0" ] || ip netns delete "$0"'


@dataclass(frozen=True, slots=True)
class Namespace:
    """Its name for ``ip netns``, its path, its address, and the outer machine's on the link.

    ``device`` is the outer machine's end of the link.
    """

    name: str
    path: str
    address: str
    gateway: str
    device: str


def make(outer: Machine, site: Site) -> Namespace:
    """Make a namespace with an ``eth0`` on a link; raises what ``link.make`` does.

    The link reaches the outer machine and the machines on other links of its, which know the way
    back: nobody else does.
    """
    made = link.make(outer, site)
    remove = ["sh", "-c", REMOVE, site.name]
    site.scope.about_to_make("network namespace", site.name, outer, remove)
    words = [site.name, made.bridge, made.gateway, f"{made.address}/{LINK_BITS}"]
    try:
        check(outer, ["sh", "-c", MAKE, *words])
    except CommandFailed as error:
        raise LayerError(f"could not make a network on {outer.name}: {error}") from error
    path, device = f"/run/netns/{site.name}", f"{made.bridge}v"
    return Namespace(site.name, path, made.address, made.gateway, device)
