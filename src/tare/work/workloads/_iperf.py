"""What the iperf3 workloads for TCP and UDP share: the command and most of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isclose
from typing import Literal

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Unit
from tare.work import workload
from tare.work.parsing import CLOCKS_S, JsonPart, agree, document
from tare.work.roles import OWN, PEER, Role
from tare.work.workload import PORT, SERVER, Course, Output
from tare.work.workloads import at_least, one_of

Direction = Literal["send", "receive"]

SECOND = 1
"""How long the intervals are that the server reports."""
WHOLE = 0.9
"""The last interval is as short as is left; below this part of a second it is not drawn."""

THROUGHPUT = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)


@dataclass(frozen=True, kw_only=True)
class Iperf(workload.Workload):
    """A client that sends for ``time_s``: from the stack, or to a server in it."""

    direction: Direction = "send"
    time_s: int = 20

    packages = ("iperf3",)
    recorded = {"iperf3": "3.12"}

    def __post_init__(self) -> None:
        one_of(self, direction=Direction)
        at_least(self, time_s=1)

    def client(self) -> list[str]:
        """Build the words that both kinds of client begin with: one report, at the end.

        The server's, of each second as it makes it anyway, is fetched when all has been sent: only
        the receiving end knows what arrived.
        """
        # Without its own limit a server that does not answer costs the kernel's two minutes.
        server = ["-c", SERVER, "-p", PORT, "--connect-timeout", "5000", "--get-server-output"]
        return ["iperf3", "--json", *server, "-i", "0", "-t", str(self.time_s)]

    def place(self) -> str:
        """See Workload.place."""
        return PEER if self.direction == "receive" else OWN

    def roles(self) -> Sequence[Role]:
        """See Workload.roles."""
        command = ["iperf3", "-s", "-p", PORT, "--json", "-i", str(SECOND)]
        place = OWN if self.direction == "receive" else PEER
        return (Role(name="server", command=command, place=place),)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return self.time_s + 1.0


@dataclass(frozen=True, slots=True)
class Half:
    """What one end counted: all of its streams, over its own clock."""

    total_bytes: float
    bytes_per_s: float
    duration_s: float


def report(output: Output, protocol: str) -> JsonPart:
    """Read the report's end; iperf3 exits with 0 after an error too, which is then in it."""
    whole = document(output.stdout, "whole report of iperf3")
    if error := whole.members().get("error"):
        raise OutputNotUnderstood(f"report without error ({error.word()})", output.stdout)
    if whole.word("start", "test_start", "protocol") != protocol:
        raise OutputNotUnderstood(f"report of a test of {protocol}", output.stdout)
    return whole.at("end")


def halves(end: JsonPart, time_s: float) -> tuple[Half, Half]:
    """Read what was sent and what was received, or raise where they contradict themselves."""
    sent, received = (_half(end.at(key)) for key in ("sum_sent", "sum_received"))
    if not received.total_bytes:
        raise OutputNotUnderstood("bytes that were received", end.text)
    for half in (sent, received):
        # Each end makes its rate of its own bytes and time, and prints all digits.
        agrees = agree(half.total_bytes, half.bytes_per_s, half.duration_s)
        if half.duration_s < 0.9 * time_s or not agrees:
            raise OutputNotUnderstood(f"bytes that agree with rate and {time_s} s", end.text)
    # One of the clocks is in the stack, the other is not; each end is late on a loaded machine.
    if not isclose(sent.duration_s, received.duration_s, rel_tol=0.1, abs_tol=2 * CLOCKS_S):
        raise OutputNotUnderstood("durations of both ends that agree", end.text)
    return sent, received


def check_streams(end: JsonPart, **of: tuple[str, str]) -> None:
    """Raise OutputNotUnderstood where a sum's counter is not that of all streams together.

    ``of`` is, by the name of a sum, what a stream calls that half and the counter. Nothing is
    rounded, so nothing may be missing.
    """
    for name, (half, counter) in of.items():
        streams = [stream.count(half, counter) for stream in end.parts("streams")]
        if sum(streams) != end.count(name, counter):
            raise OutputNotUnderstood(f"{counter} that agree with those of the streams", end.text)


def courses(
    output: Output, *of: tuple[Metric, Callable[[JsonPart], float | None]]
) -> Iterator[Course]:
    """Read metrics from what the server counted in each second, over all streams.

    Raises OutputNotUnderstood where the server's report is not in the client's.
    """
    sums = [
        interval.at("sum")
        for interval in document(output.stdout, "server's report of each second").parts(
            "server_output_json", "intervals"
        )
    ]
    whole = [
        one for one in sums if not one.truth("omitted") and one.number("seconds") >= WHOLE * SECOND
    ]
    ends_s = [one.number("end") for one in whole]
    if any(late <= early for early, late in pairwise((0.0, *ends_s))):
        raise OutputNotUnderstood("seconds of the server that follow each other", output.stdout)
    for one in whole:
        # All digits are printed, and a second may be empty.
        product = one.number("bits_per_second") / 8 * one.number("seconds")
        if not isclose(one.number("bytes"), product, rel_tol=0.01, abs_tol=1):
            raise OutputNotUnderstood("seconds that agree with their rates", output.stdout)
    for metric, value_of in of:
        points = zip(ends_s, map(value_of, whole), strict=True)
        known = [(end_s, value) for end_s, value in points if value is not None]
        if known:
            times_s, values = zip(*known, strict=True)
            yield Course(metric=metric, times_s=times_s, values=values)


def _half(total: JsonPart) -> Half:
    bytes_per_s = total.number("bits_per_second") / 8
    return Half(total.number("bytes"), bytes_per_s, total.number("seconds"))
