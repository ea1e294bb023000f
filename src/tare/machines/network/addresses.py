"""Choose unused IP addresses for Tare's network devices.

They are of a network for benchmarks (RFC 2544), so that they do not collide with a real one.
"""

from __future__ import annotations

import random
from ipaddress import IPv4Network

from tare.core.errors import LayerError
from tare.machines.machine import Machine

BRIDGES, BRIDGE_BITS = IPv4Network("198.18.0.0/17"), 24
"""Those of container engines: many containers each."""
CABLES, CABLE_BITS = IPv4Network("198.18.128.0/18"), 31
"""Those of a guest's tap device: an address at each end (RFC 3021)."""
FRONTS, FRONT_BITS = IPv4Network("198.18.192.0/18"), 32
"""Those of the outer machine's that stand for one guest each."""
LINKS, LINK_BITS = IPv4Network("198.19.0.0/16"), 30
"""Those of a bridge with one guest on it."""

TRIES = 20
# The kernel takes one route to a network and no second one, whichever session asks for it; the
# route that comes with an address would be taken twice, and all but the first device be deaf.
CLAIM = 'ip route add "$1" dev "$0" && ip addr add "$2/${1#*/}" dev "$0" noprefixroute'
TAKEN = b"File exists"


def claim(machine: Machine, device: str, within: IPv4Network, bits: int) -> IPv4Network:
    """Assign to a device the first address of an unused network of ``bits`` bits, and its route.

    Raises LayerError if the kernel refuses, or if the networks that were tried are all taken.
    """
    step = 2 ** (32 - bits)
    for _ in range(TRIES):
        low = within.network_address + step * random.randrange(  # noqa: S311 - only to miss others
            within.num_addresses // step
        )
        found = IPv4Network((low, bits))
        first = next(iter(found.hosts()))
        done = machine.run(["sh", "-c", CLAIM, device, str(found), str(first)])
        if done.returncode == 0:
            return found
        if TAKEN not in done.stderr:
            break
    why = done.stderr.decode(errors="replace").strip()
    raise LayerError(f"no addresses for {device} on {machine.name}: {why}")
