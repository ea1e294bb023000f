"""iperf: sends a stream of bytes over TCP, as fast as the network takes it.

Defined by iperf3 3.12, which replaces the iperf 2 of the studies: its report is JSON with counts
of both ends, and servers of iperf 2 die of UDP tests. What arrived counts, not what was sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work.workload import TOOL_DURATION, Course, Output
from tare.work.workloads import at_least
from tare.work.workloads._iperf import THROUGHPUT, Iperf, check_streams, courses, halves, report

RETRANSMITS = Metric("retransmits", Unit.PER_SECOND, Better.LOWER)


@dataclass(frozen=True, kw_only=True)
class Workload(Iperf):
    """Send from the stack, or receive in it, over a number of connections at once for ``time_s``.

    The time and the directions are those of laine2017. The congestion control is set at both
    ends, for it is each kernel's own choice otherwise: a host with bbr and a guest with cubic would
    compare the two. A kernel lets ordinary containers use only what its
    net.ipv4.tcp_allowed_congestion_control names; reno is there always. ``omit_s`` are run
    before ``time_s`` and not counted.
    """

    streams: int = 1
    congestion: str = "reno"
    omit_s: int = 0

    metrics = (THROUGHPUT, RETRANSMITS, TOOL_DURATION)

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, streams=1, omit_s=0)
        if not self.congestion.isidentifier():
            raise ValueError(f"congestion: {self.congestion!r} was given; expected a kernel's name")

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        how = ["-P", str(self.streams), "-C", self.congestion, "-O", str(self.omit_s)]
        return [*self.client(), *how]

    def parse(self, output: Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text, end = output.stdout, report(output, "TCP")
        sent, received = halves(end, self.time_s)
        used = {end.word("sender_tcp_congestion"), end.word("receiver_tcp_congestion")}
        retransmits = end.count("sum_sent", "retransmits")
        check_streams(end, sum_sent=("sender", "bytes"), sum_received=("receiver", "bytes"))
        check_streams(end, sum_sent=("sender", "retransmits"))
        if used != {self.congestion}:
            raise OutputNotUnderstood(f"congestion control {self.congestion} at both ends", text)
        # What was on its way when counting began is received, but was sent before.
        if received.total_bytes > sent.total_bytes * (1.1 if self.omit_s else 1):
            raise OutputNotUnderstood("bytes received that agree with those sent", text)
        yield Sample(THROUGHPUT, received.bytes_per_s)
        yield Sample(RETRANSMITS, retransmits / sent.duration_s)
        yield Sample(TOOL_DURATION, received.duration_s)

    def courses(self, output: Output) -> Iterator[Course]:
        """See Workload.courses."""
        yield from courses(output, (THROUGHPUT, lambda one: one.number("bits_per_second") / 8))

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return super().expected_s() + self.omit_s
