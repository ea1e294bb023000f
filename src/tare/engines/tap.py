"""A cable of a guest's own: a tap device, an address at each end, nobody else on it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import count
from typing import TYPE_CHECKING

from tare.engines import link
from tare.engines.link import FORWARD
from tare.errors import CommandFailed, LayerError
from tare.machine import Machine, check

if TYPE_CHECKING:
    from tare.layer import Site
    from tare.ledger import Scope

BITS = 31
# Pairs of addresses of a network for benchmarks (RFC 2544), so that they meet no real one.
FIRST, PAIRS = int(IPv4Address("198.18.128.0")), 2**14
TRIES = 20
MAKE = f"""
[ -c /dev/net/tun ] || modprobe tun || exit 1
ip tuntap add dev "$0" mode tap && ip link set dev "$0" up || exit 1
{FORWARD}"""
# The kernel takes one route to an address and no second one, whichever session asks for it.
CLAIM = 'ip route add "$2/32" dev "$0" && ip addr add "$1/32" dev "$0"'
TAKEN = b"File exists"
REMOVE = '! ip link show dev "$0" > /dev/null 2>&1 || ip link delete dev "$0"'


@dataclass(frozen=True, slots=True)
class Tap:
    """A device's name, the address of the outer machine's end, and the guest's."""

    device: str
    gateway: str
    address: str


def make(outer: Machine, site: Site) -> Tap:
    """Make a tap device on a machine and claim two addresses for it, or raise LayerError."""
    number = next(site.services.once("tap numbers", outer, _numbers, lambda _: True))
    device = f"tare{site.session}t{link.short(number)}"  # 15 characters at most
    site.scope.about_to_make("tap", device, outer, ["sh", "-c", REMOVE, device])
    try:
        check(outer, ["sh", "-c", MAKE, device])
    except CommandFailed as error:
        raise LayerError(f"could not make a tap device on {outer.name}: {error}") from error
    for _ in range(TRIES):
        low = FIRST + 2 * random.randrange(PAIRS)  # noqa: S311 - only to miss others at once
        tap = Tap(device, str(IPv4Address(low)), str(IPv4Address(low + 1)))
        done = outer.run(["sh", "-c", CLAIM, tap.device, tap.gateway, tap.address])
        if done.returncode == 0:
            return tap
        if TAKEN not in done.stderr:
            break
    why = done.stderr.decode(errors="replace").strip()
    raise LayerError(f"no addresses for {device} on {outer.name}: {why}")


def _numbers(scope: Scope) -> Iterator[int]:
    del scope
    return count(1)
