"""netperf_stream: sends messages of one size as fast as the network takes them.

Defined by netperf 2.7.0, tests TCP_STREAM and UDP_STREAM. What arrived counts, not what was sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, MetricRole, Sample, Unit
from tare.work.workload import TOOL_DURATION, Output
from tare.work.workloads import at_least, one_of
from tare.work.workloads._netperf import Netperf, agree

Direction = Literal["send", "receive"]

THROUGHPUT = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)
SENT = Metric("sent", Unit.BYTE_PER_SECOND, Better.HIGHER)
LOSS = Metric("loss", Unit.RATIO, Better.LOWER, MetricRole.LOSS)

KEYS = (
    *("ELAPSED_TIME", "LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD"),
    *("LOCAL_SEND_THROUGHPUT", "REMOTE_RECV_THROUGHPUT"),
)


@dataclass(frozen=True, kw_only=True)
class Workload(Netperf):
    """Send messages from the stack, or to a server in it, for a number of seconds.

    huang2019 has both protocols in both directions for 60 s, with a sending socket of 16 KB, the
    size of netperf's messages then; hpe2016 has TCP and gives no size. 16384 bytes are also what
    netperf takes of a Linux kernel's TCP. Messages over UDP may be lost, above 1472 bytes as soon
    as one of their fragments is. TCP loses nothing and gives throughput only.
    """

    direction: Direction = "send"
    message_bytes: int = 16384

    metrics = (THROUGHPUT, SENT, LOSS, TOOL_DURATION)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, direction=Direction)
        at_least(self, message_bytes=1)
        if self.protocol == "udp" and self.message_bytes > 65507:
            raise ValueError(f"message_bytes: {self.message_bytes} was given; udp expects 65507")

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        # Else netperf keeps datagrams off every router, and with them off most stacks' networks.
        route = ["-R", "1"] if self.protocol == "udp" else []
        return self.client("STREAM", [*route, "-m", str(self.message_bytes)], KEYS)

    def parse(self, output: Output) -> Iterator[Sample]:
        """See Workload.parse."""
        found = self.report(output, KEYS)
        duration_s, sent_bytes, received_bytes = (found[key] for key in KEYS[:3])
        # 1000 bits a second.
        sent, received = (found[key] * 125 for key in KEYS[3:])
        if sent_bytes and not received_bytes:  # of datagrams all may be lost
            raise OutputNotUnderstood("bytes that arrived at the other end", output.stdout)
        ends = ((sent_bytes, sent), (received_bytes, received))
        if not all(agree(total, rate, duration_s) for total, rate in ends):
            raise OutputNotUnderstood("bytes that agree with rate and time", output.stdout)
        more_bytes = received_bytes - sent_bytes
        # The last message is cut short by the end of the time: received, but not counted as sent.
        is_tcp = self.protocol == "tcp"
        if more_bytes >= (self.message_bytes if is_tcp else 1) or (is_tcp and more_bytes < 0):
            raise OutputNotUnderstood("bytes received that agree with those sent", output.stdout)
        yield Sample(THROUGHPUT, received)
        if self.protocol == "udp":
            yield Sample(SENT, sent)
            yield Sample(LOSS, 1 - received_bytes / sent_bytes)
        yield Sample(TOOL_DURATION, duration_s)

    def serves(self) -> bool:
        """See Netperf.serves."""
        return self.direction == "receive"
