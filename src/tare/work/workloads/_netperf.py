"""How netperf is run between two machines, and its report of lines KEY=value."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tare.core.errors import OutputNotUnderstood
from tare.work import parsing, workload
from tare.work.roles import OWN, PEER, Role
from tare.work.workload import DATA_PORT, PORT, SERVER, Output
from tare.work.workloads import at_least, one_of

Protocol = Literal["tcp", "udp"]


@dataclass(frozen=True, kw_only=True)
class Netperf(workload.Workload):
    """One test of netperf for ``time_s``; 10 s is its own default.

    ``congestion`` is TCP's at both ends, see the workload iperf; netperf continues with the
    kernel's own when it may not set it, which fails the trial here.
    """

    protocol: Protocol = "tcp"
    congestion: str = "reno"
    time_s: int = 10

    # netbase has /etc/protocols, without which netperf does not notice datagrams that never left.
    packages = ("non-free/netperf", "netbase")
    recorded = {"netperf": "2.7.0"}

    def __post_init__(self) -> None:
        one_of(self, protocol=Protocol)
        at_least(self, time_s=1)
        if not self.congestion.isidentifier():
            raise ValueError(f"congestion: {self.congestion!r} was given; expected a kernel's name")

    def client(self, test: str, options: Sequence[str], keys: Sequence[str]) -> list[str]:
        """Build the command of a test that prints the values of ``keys``, the protocol last."""
        tcp = self.protocol == "tcp"
        both = ["-K", f"{self.congestion},{self.congestion}"] if tcp else []
        control = ["-H", SERVER, "-p", PORT, "-l", str(self.time_s)]
        ask = ["-k", ",".join([*keys, "LOCAL_CONG_CONTROL", "REMOTE_CONG_CONTROL", "PROTOCOL"])]
        name = f"{self.protocol.upper()}_{test}"
        # Without -P netperf would take any port for the data; -f k is 1000 bits a second.
        data = ["--", "-P", f",{DATA_PORT}", *both, *options, *ask]
        return ["netperf", "-P", "0", "-f", "k", *control, "-t", name, *data]

    def place(self) -> str:
        """See Workload.place."""
        return PEER if self.serves() else OWN

    def roles(self) -> Sequence[Role]:
        """See Workload.roles."""
        command = ["netserver", "-D", "-p", PORT]
        return (Role(name="server", command=command, place=OWN if self.serves() else PEER),)

    @abstractmethod
    def serves(self) -> bool:
        """Return whether the stack has the server."""

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return self.time_s + 1.0

    def report(self, output: Output, keys: Sequence[str]) -> Mapping[str, float]:
        """Read the numbers of ``keys``, or raise OutputNotUnderstood."""
        text = output.stdout
        found = dict(re.findall(r"^([A-Z\d_]+)=(.*)$", text, re.MULTILINE))
        # Asked for last: the number before it is whole.
        if found.get("PROTOCOL") != self.protocol.upper():
            raise OutputNotUnderstood(f"whole report of a test of {self.protocol}", text)
        used = {found.get(f"{end}_CONG_CONTROL") for end in ("LOCAL", "REMOTE")}
        if self.protocol == "tcp" and used != {self.congestion}:
            raise OutputNotUnderstood(f"congestion control {self.congestion} at both ends", text)
        numbers = {key: parsing.numeral(found.get(key), f"number of {key}", text) for key in keys}
        if numbers["ELAPSED_TIME"] < 0.9 * self.time_s:
            raise OutputNotUnderstood(f"time that agrees with {self.time_s} s", text)
        return numbers


def agree(total: float, rate: float, duration_s: float) -> bool:
    """Return whether a total is a rate times a duration, of which netperf prints 0.01 s.

    Both rest on one reading of the clock.
    """
    return parsing.agree(total, rate, duration_s, apart_s=0.0051)
