"""iperf_udp: sends UDP datagrams at a fixed rate, and counts those that arrive.

Defined by iperf3 3.12; see the workload iperf for why not iperf 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, MetricRole, Sample, Unit
from tare.work.parsing import JsonPart
from tare.work.workload import TOOL_DURATION, Course, Output
from tare.work.workloads import at_least
from tare.work.workloads._iperf import THROUGHPUT, Iperf, check_streams, courses, halves, report

SENT = Metric("sent", Unit.BYTE_PER_SECOND, Better.HIGHER)
LOSS = Metric("loss", Unit.RATIO, Better.LOWER, MetricRole.LOSS)
JITTER = Metric("jitter", Unit.SECOND, Better.LOWER)


@dataclass(frozen=True, kw_only=True)
class Workload(Iperf):
    """Offer a fixed number of bits a second from the stack, or to it, for a number of seconds.

    laine2017 offers 10, 20, 50, 100 and 999 Mbit/s in both directions; datagrams of 1470 bytes are
    those of its iperf 2. ``sent`` is below the offer where the sender cannot keep it up. Loss is
    the share of the sent bytes that had not arrived when the sender was done; jitter is RFC 1889's,
    between datagrams.
    """

    rate_bits_per_s: int = 100_000_000
    datagram_bytes: int = 1470

    metrics = (THROUGHPUT, SENT, LOSS, JITTER, TOOL_DURATION)

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, rate_bits_per_s=1, datagram_bytes=16)
        if self.datagram_bytes > 65507:
            raise ValueError(f"datagram_bytes: {self.datagram_bytes} was given; UDP expects 65507")

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        return [
            *self.client(),
            *("-u", "-b", str(self.rate_bits_per_s), "-l", str(self.datagram_bytes)),
        ]

    def parse(self, output: Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text, end = output.stdout, report(output, "UDP")
        sent, received = halves(end, self.time_s)
        datagrams, lost = (end.count("sum", key) for key in ("packets", "lost_packets"))
        lost_share = end.number("sum", "lost_percent") / 100
        arrived = end.count("sum_received", "packets") - lost
        jitter_s = end.number("sum_received", "jitter_ms") / 1000
        check_streams(end, sum=("udp", "lost_packets"), sum_sent=("udp", "bytes"))
        # It is a mean over differences of times on the way, all of them within the run.
        if jitter_s > received.duration_s:
            raise OutputNotUnderstood("jitter that agrees with the duration", text)
        if not isclose(lost, lost_share * datagrams, rel_tol=0.001):
            raise OutputNotUnderstood("loss that agrees with lost datagrams", text)
        for half, count in ((sent, datagrams), (received, arrived)):
            if not isclose(half.total_bytes, count * self.datagram_bytes, rel_tol=0.001):
                raise OutputNotUnderstood("bytes that agree with datagrams", text)
        if received.total_bytes > sent.total_bytes:
            raise OutputNotUnderstood("bytes received that agree with those sent", text)
        yield Sample(THROUGHPUT, received.bytes_per_s)
        yield Sample(SENT, sent.bytes_per_s)
        # The tool's own share does not know of what was lost after the last that arrived.
        yield Sample(LOSS, 1 - received.total_bytes / sent.total_bytes)
        yield Sample(JITTER, jitter_s)
        yield Sample(TOOL_DURATION, received.duration_s)

    def courses(self, output: Output) -> Iterator[Course]:
        """See Workload.courses."""
        yield from courses(
            output,
            (THROUGHPUT, lambda one: one.number("bits_per_second") / 8),
            (LOSS, _loss),
            (JITTER, lambda one: one.number("jitter_ms") / 1000),
        )


def _loss(second: JsonPart) -> float | None:
    """Return the share of a second's datagrams that did not come; of none there is no share."""
    datagrams, lost = second.count("packets"), second.count("lost_packets")
    if lost > datagrams:
        raise second.unlike("loss that agrees with the datagrams")
    return lost / datagrams if datagrams else None
