"""A network of a guest's own: one bridge, two addresses, nobody else on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from tare.errors import CommandFailed, LayerError
from tare.machine import Machine, check

if TYPE_CHECKING:
    from tare.layer import Site
    from tare.ledger import Scope

MAKE = 'ip link add "$0" type bridge && ip addr add "$1" dev "$0" && ip link set "$0" up'
REMOVE = '! ip link show "$0" > /dev/null 2>&1 || ip link delete "$0"'
BITS = 30


@dataclass(frozen=True, slots=True)
class Link:
    """A bridge's name, its address, and the address of the one guest on it; /30 networks."""

    bridge: str
    gateway: str
    address: str


def make(outer: Machine, site: Site) -> Link:
    """Make a bridge on a machine, or raise LayerError.

    The addresses are of a network for benchmarks (RFC 2544), so that they meet no real one; no two
    guests of a session get the same.
    """
    number = next(site.services.once("link numbers", outer, _numbers, lambda _: True))
    low = 4 * number
    at = f"198.19.{low // 256}.{low % 256}".rpartition(".")[0]
    link = Link(f"tare{site.session}n{number}", f"{at}.{low % 256 + 1}", f"{at}.{low % 256 + 2}")
    site.scope.about_to_make("bridge", link.bridge, outer, ["sh", "-c", REMOVE, link.bridge])
    try:
        check(outer, ["sh", "-c", MAKE, link.bridge, f"{link.gateway}/{BITS}"])
    except CommandFailed as error:
        raise LayerError(f"could not make a bridge on {outer.name}: {error}") from error
    return link


def _numbers(scope: Scope) -> Iterator[int]:
    del scope
    return count(1)
