"""What the stressors of both directions of the network share: UDP between its place and the peer.

After the ``perludp-multithread`` of the Isolation Benchmark Suite, as huang2019 ran it: four
threads send (or receive) datagrams of 60 KB to (from) a machine outside, without end. Defined by
iperf3 3.12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tare.core.model import Resource, Source
from tare.work.roles import PEER, Role
from tare.work.stressor import Bounds
from tare.work.stressors._rates import Rated
from tare.work.stressors._readiness import stresses
from tare.work.workloads import at_least, at_most

MIB = 2**20
MOST_UDP_BYTES, LEAST_UDP_BYTES = 65507, 16
MOST_STREAMS = 128
"""iperf3's own."""
BIT = 1 / 8
PAIR_BYTES = 64 * MIB


@dataclass(frozen=True, kw_only=True)
class Datagrams(Rated):
    """UDP in one direction, by a client at the place and a server at the peer for each worker.

    A worker is a pair of processes of its own: iperf3 serves one client at a time, and all of its
    streams with one thread, so more streams in one process would send no more. A datagram above
    the link's MTU is sent in fragments, as the study's were.
    """

    streams: int = 4
    datagram_bytes: int = 60_000

    reverse: ClassVar[bool]
    """Whether the server sends. The connection is always made from the place, which an instance
    behind address translation can do and a peer could not."""

    packages = ("iperf3",)
    recorded = (("iperf3", "3.12"),)
    readings: ClassVar[tuple[Resource, ...]] = (
        Resource(Source.HOST, "network_bytes"),
        Resource(Source.LAYER, "cpu_s"),
    )
    """A control group counts no bytes of the network; the host counts those of each device."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, streams=1, datagram_bytes=LEAST_UDP_BYTES)
        at_most(self, streams=MOST_STREAMS, datagram_bytes=MOST_UDP_BYTES)

    def roles(self, name: str, place: str) -> Sequence[Role]:
        """See Stressor.roles; the first client has the name itself, the others numbers behind."""
        return [
            role
            for number in range(self.workers)
            for role in self._pair(f"{name}_{number}" if number else name, place)
        ]

    def bounds(self) -> Bounds:
        """See Stressor.bounds."""
        return Bounds(memory_bytes=PAIR_BYTES * self.workers, processes=2 * self.workers)

    def _pair(self, name: str, place: str) -> Sequence[Role]:
        peer = f"{name}_peer"
        at = ["-c", f"{{{peer}.address}}", "-p", f"{{{peer}.port}}", "--connect-timeout", "5000"]
        # The rate is of each stream. No time is no end, and no interval is no report.
        rate = self.rate(self.streams, BIT)
        how = ["-u", "-l", str(self.datagram_bytes), "-P", str(self.streams)]
        how += ["-b", str(rate or 0), "-t", "0", "-i", "0"]
        client = ["iperf3", *at, *how, *(["-R"] if self.reverse else [])]
        server = ["iperf3", "-s", "-p", f"{{{peer}.port}}", "-i", "0"]
        ready = stresses(moved_bytes=self.datagram_bytes * self.streams)
        return (
            Role(name=peer, command=server, place=PEER, packages=self.packages),
            Role(name=name, command=client, place=place, packages=self.packages, ready=ready),
        )
