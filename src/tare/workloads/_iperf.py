"""The part of its report that iperf3 prints the same for TCP and UDP, and how both are run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any, Literal

from tare import workload
from tare.errors import OutputNotUnderstood
from tare.model import Better, Metric, Unit
from tare.role import OWN, PEER, Role
from tare.workload import PORT, SERVER, Course, Output
from tare.workloads import at_least, one_of

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


def report(output: Output) -> Mapping[str, Any]:
    """Read the whole report; iperf3 exits with 0 after an error too, which is then in it."""
    try:
        whole = json.loads(output.stdout)
        if "error" in whole:
            raise OutputNotUnderstood(f"report without error ({whole['error']})", output.stdout)
        return {"protocol": whole["start"]["test_start"]["protocol"], **whole["end"]}
    except (ValueError, LookupError, TypeError) as error:
        raise OutputNotUnderstood("whole report of iperf3", output.stdout) from error


def halves(end: Mapping[str, Any], time_s: float, text: str) -> tuple[Half, Half]:
    """Read what was sent and what was received, or raise where they contradict themselves."""
    sent, received = (_half(end[key]) for key in ("sum_sent", "sum_received"))
    for half in (sent, received):
        product = half.bytes_per_s * half.duration_s
        if half.duration_s < 0.9 * time_s or not isclose(half.total_bytes, product, rel_tol=0.01):
            raise OutputNotUnderstood(f"bytes that agree with rate and {time_s} s", text)
    # One of the clocks is in the stack, the other is not.
    if not isclose(sent.duration_s, received.duration_s, rel_tol=0.1):
        raise OutputNotUnderstood("durations of both ends that agree", text)
    if not received.total_bytes:
        raise OutputNotUnderstood("bytes that were received", text)
    return sent, received


def courses(
    output: Output, *of: tuple[Metric, Callable[[Mapping[str, Any]], float | None]]
) -> Iterator[Course]:
    """Read metrics from what the server counted in each second, over all streams.

    Raises OutputNotUnderstood where the server's report is not in the client's.
    """
    try:
        every = json.loads(output.stdout)["server_output_json"]["intervals"]
        sums = [one["sum"] for one in every]
        whole = [one for one in sums if not one["omitted"] and one["seconds"] >= WHOLE * SECOND]
        found = [[(float(one["end"]), value(one)) for one in whole] for _, value in of]
    except (ValueError, LookupError, TypeError) as error:
        raise OutputNotUnderstood("server's report of each second", output.stdout) from error
    for (metric, _), points in zip(of, found, strict=True):
        known = [(end_s, value) for end_s, value in points if value is not None]
        if known:
            times_s, values = zip(*known, strict=True)
            yield Course(metric=metric, times_s=times_s, values=values)


def _half(total: Mapping[str, Any]) -> Half:
    return Half(float(total["bytes"]), total["bits_per_second"] / 8, float(total["seconds"]))
