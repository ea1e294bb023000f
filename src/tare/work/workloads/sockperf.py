"""sockperf: sends messages at a fixed rate, whether or not the answers keep up: latency under load.

Defined by sockperf 3.7, mode under-load. The load is the same for every stack, which a stream that
takes all it can get next to a ping would not be; no second tool has to overlap with the first; and
messages that are late are not fewer (open model).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Literal

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, MetricRole, Sample, Unit
from tare.work import workload
from tare.work.parsing import CLOCKS_S, Latencies, count, number, numeral
from tare.work.roles import OWN, PEER, Listens, Role
from tare.work.workload import PORT, SERVER, TOOL_DURATION, Course, Output
from tare.work.workloads import at_least, at_most, one_of

Protocol = Literal["tcp", "udp"]
Side = Literal["server", "client"]

PERCENTILES = {
    "50.000": Metric("latency_p50", Unit.SECOND, Better.LOWER),
    "90.000": Metric("latency_p90", Unit.SECOND, Better.LOWER),
    "99.000": Metric("latency_p99", Unit.SECOND, Better.LOWER),
    "99.900": Metric("latency_p999", Unit.SECOND, Better.LOWER),
}
MEAN = Metric("latency_mean", Unit.SECOND, Better.LOWER)
SENT = Metric("sent", Unit.PER_SECOND, Better.HIGHER)
LOSS = Metric("loss", Unit.RATIO, Better.LOWER, MetricRole.LOSS)
REORDERED = Metric("reordered", Unit.RATIO, Better.LOWER)

ANSI = re.compile(r"\x1b\[[\d;]*m")

# sockperf keeps the times of all messages anyway, and writes them after the last. Of each second it
# is counted what was sent in it and answered; empty is the time of a second in which nothing was.
SCRIPT = r"""
set -e
sockperf "$@" --full-log messages.csv
awk -F ', ' '
    $1 ~ /^[0-9]+$/ { if (!n++) first = $2; printf "%d %.9f\n", $2 - first, $3 - $2 }
' messages.csv | sort -k 1,1n -k 2,2n | awk '
    { took[$1, ++n[$1]] = $2; last = $1 }
    END {
        if (!NR) exit
        print "Second,Messages,Median (s),99th percentile (s)"
        for (s = 0; s <= last; s++) {
            p50 = took[s, int((n[s] * 50 + 99) / 100)]
            p99 = took[s, int((n[s] * 99 + 99) / 100)]
            printf "%d,%d,%s,%s\n", s + 1, n[s], p50, p99
        }
    }
'
"""


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Send ``rate_per_s`` messages a second to a server in the stack, or from it; each is answered.

    Latency is the whole round trip from the moment of sending, of the messages that came back: read
    it together with ``loss``. A lost one has no latency: a quantile that falls on one is not given,
    nor is a mean where there is one. The trial fails when more than half are lost, or the client
    cannot keep the rate. No study has this; the rate is sockperf's own default, size and time are
    ours. The client waits busily: it takes a CPU while it sends.
    """

    protocol: Protocol = "udp"
    under_test: Side = "server"
    rate_per_s: int = 10_000
    message_bytes: int = 64
    time_s: int = 10

    metrics = (*PERCENTILES.values(), MEAN, SENT, LOSS, REORDERED, TOOL_DURATION)
    packages = ("sockperf",)
    spins = True
    recorded = {"sockperf": "3.7"}

    def __post_init__(self) -> None:
        one_of(self, protocol=Protocol, under_test=Side)
        # Fewer than 1000 messages have no 99.9th percentile; of a second sockperf counts half.
        at_least(self, rate_per_s=-(-2000 // max(self.time_s, 1)), message_bytes=14, time_s=1)
        at_most(self, message_bytes=65507)

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        load = ["--mps", str(self.rate_per_s), "--msg-size", str(self.message_bytes)]
        # By default sockperf asks for an answer to one message in a hundred and halves the time.
        every = ["--reply-every", "1", "--full-rtt"]
        # Not --no-rdtsc: sockperf 3.7 then sends slower by the clock rate in GHz.
        to = [*self._tcp(), "-i", SERVER, "-p", PORT]
        how = [*to, *load, "-t", str(self.time_s), *every]
        return ["sh", "-c", SCRIPT, "sockperf", "under-load", *how]

    def parse(self, output: Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = ANSI.sub("", output.stdout)
        counts = r"RunTime=([\d.]+) sec;.* SentMessages=(\d+); ReceivedMessages=(\d+)$"
        # The valid part leaves out the warm-up and the end.
        total, valid = (
            re.search(rf"\[{part}\] {counts}", text, re.MULTILINE)
            for part in ("Total Run", "Valid Duration")
        )
        # The last line of all; after an error sockperf exits with 0 and says why at the end.
        if total is None or valid is None or "<MIN> observation" not in text:
            said = "".join([line for line in text.splitlines() if " end " not in line][-1:])
            raise OutputNotUnderstood(f"whole report of sockperf ({said})", text)
        duration_s, valid_s = (numeral(part[1], "run time", text) for part in (total, valid))
        sent, received = (count(valid[place], "messages", text) for place in (2, 3))
        # The kernel's timer ends it, late on a loaded host; the clock is the CPU's counter, as
        # sockperf understands it.
        if not isclose(duration_s, self.time_s, rel_tol=0.1, abs_tol=2 * CLOCKS_S):
            raise OutputNotUnderstood(f"time that agrees with {self.time_s} s", text)
        if not isclose(sent, self.rate_per_s * valid_s, rel_tol=0.1):
            raise OutputNotUnderstood(f"messages that agree with {self.rate_per_s} a second", text)
        observed = number(r"^sockperf: Total (\d+) observations;", text)
        if not 0 < received == observed <= sent:
            raise OutputNotUnderstood("messages received that agree with observations", text)
        if 2 * received < sent:
            raise OutputNotUnderstood("answers to half of the messages", text)
        mean_s = number(r"Summary: Round trip is ([\d.]+) usec$", text) / 1e6
        latencies_s = {
            q: number(rf"percentile {re.escape(q)} = +([\d.]+)$", text) / 1e6 for q in PERCENTILES
        }
        # All are of the same messages, sorted by their latency, and printed to nanoseconds.
        Latencies(
            requests=received,
            mean_s=mean_s,
            quantiles_s={float(q): latency_s for q, latency_s in latencies_s.items()},
            least_s=number(r"<MIN> observation = +([\d.]+)$", text) / 1e6,
            most_s=number(r"<MAX> observation = +([\d.]+)$", text) / 1e6,
        ).check(text)
        for q, metric in PERCENTILES.items():
            if 100 * received >= float(q) * sent:
                yield Sample(metric, latencies_s[q])
        if received == sent:
            yield Sample(MEAN, mean_s)
        yield Sample(SENT, sent / valid_s)
        yield Sample(LOSS, 1 - received / sent)
        reordered = number(r"# out-of-order messages = (\d+)$", text)
        if reordered > received:
            raise OutputNotUnderstood("messages out of order that agree with those received", text)
        yield Sample(REORDERED, reordered / received)
        yield Sample(TOOL_DURATION, duration_s)

    def courses(self, output: Output) -> Iterator[Course]:
        """See Workload.courses; a message is of the second in which it was sent.

        There are none where one was lost or overtaken: sockperf does not log those.
        """
        text = ANSI.sub("", output.stdout)
        found = re.findall(r"^(\d+),(\d+),([\d.]*),([\d.]*)\n", text, re.MULTILINE)
        rows = [
            (
                count(second, "second", text),
                count(messages, "messages", text),
                _latency_s(p50, text),
                _latency_s(p99, text),
            )
            for second, messages, p50, p99 in found
        ]
        for fate in ("dropped", "out-of-order"):
            if number(rf"# {fate} messages = (\d+)", text):
                raise OutputNotUnderstood(f"times of {fate} messages, which are not logged", text)
        observed = number(r"^sockperf: Total (\d+) observations;", text)
        # Every second has its row, an empty one too.
        in_order = [row[0] for row in rows] == list(range(1, 1 + len(rows)))
        if not in_order or sum(row[1] for row in rows) != observed:
            raise OutputNotUnderstood("seconds that agree with the observations", text)
        whole = rows[:-1]
        for metric, values in (
            (PERCENTILES["50.000"], {end: p50 for end, _, p50, _ in whole}),
            # Of fewer than a hundred it would only be the greatest.
            (PERCENTILES["99.000"], {end: p99 for end, n, _, p99 in whole if n >= 100}),
            (SENT, {end: n for end, n, _, _ in whole}),
        ):
            known = {end: value for end, value in values.items() if value is not None}
            if known:
                yield Course(metric=metric, times_s=[*known], values=[*known.values()])

    def place(self) -> str:
        """See Workload.place."""
        return PEER if self.under_test == "server" else OWN

    def roles(self) -> Sequence[Role]:
        """See Workload.roles."""
        # A connection of the trial before still holds the port for a minute.
        reuse = ["--uc-reuseaddr"] if self.protocol == "tcp" else []
        command = ["sockperf", "server", *self._tcp(), *reuse, "-p", PORT]
        place = OWN if self.under_test == "server" else PEER
        ready = Listens(self.protocol)
        return (Role(name="server", command=command, place=place, ready=ready),)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return self.time_s + 3.0  # it gets to know the CPU's counter first

    def _tcp(self) -> list[str]:
        return ["--tcp"] if self.protocol == "tcp" else []


def _latency_s(found: str, text: str) -> float | None:
    """Read a second's latency; in one without a message there is none."""
    if not found:
        return None
    if not (latency_s := numeral(found, "latency", text)):
        raise OutputNotUnderstood("latencies of seconds above 0", text)
    return latency_s
