"""netperf_rr: sends a request, waits for the response, sends the next: the latency of a network.

Defined by netperf 2.7.0, tests TCP_RR and UDP_RR: one connection, one request outstanding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work.parsing import CLOCKS_S, Latencies
from tare.work.workload import TOOL_DURATION, Output
from tare.work.workloads import at_least, one_of
from tare.work.workloads._netperf import Netperf, agree

Side = Literal["server", "client"]

MEAN = Metric("latency_mean", Unit.SECOND, Better.LOWER)
PERCENTILES = {
    "P50_LATENCY": Metric("latency_p50", Unit.SECOND, Better.LOWER),
    "P90_LATENCY": Metric("latency_p90", Unit.SECOND, Better.LOWER),
    "P99_LATENCY": Metric("latency_p99", Unit.SECOND, Better.LOWER),
}
REQUESTS = Metric("requests", Unit.PER_SECOND, Better.HIGHER)

KEYS = ("ELAPSED_TIME", "LOCAL_SEND_CALLS", "TRANSACTION_RATE", "MEAN_LATENCY", *PERCENTILES)


@dataclass(frozen=True, kw_only=True)
class Workload(Netperf):
    """Exchange requests and responses of fixed sizes with a server in the stack, or from it.

    Latency is the whole round trip. The mean is primary: netperf prints percentiles in steps of
    1 us below 100 us, 10 us below 1 ms and so on, which is more than the difference that is
    looked for. Sizes of 1 byte are netperf's own and those of huang2019 (its result is
    the 90th percentile); hpe2016 gives none.
    """

    under_test: Side = "server"
    request_bytes: int = 1
    response_bytes: int = 1

    metrics = (MEAN, *PERCENTILES.values(), REQUESTS, TOOL_DURATION)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, under_test=Side)
        at_least(self, request_bytes=1, response_bytes=1)

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        return self.client("RR", ["-r", f"{self.request_bytes},{self.response_bytes}"], KEYS)

    def parse(self, output: Output) -> Iterator[Sample]:
        """See Workload.parse."""
        found = self.report(output, KEYS)
        rate, mean_s = found["TRANSACTION_RATE"], found["MEAN_LATENCY"] / 1e6
        if not agree(found["LOCAL_SEND_CALLS"], rate, found["ELAPSED_TIME"]):
            raise OutputNotUnderstood("transactions that agree with rate and time", output.stdout)
        # One is outstanding at any time; after a lost datagram netperf waits for the end. It may
        # have to wait for a CPU before the first and after the last, which no latency has in it.
        busy, elapsed_s = rate * mean_s, found["ELAPSED_TIME"]
        if not 0 < busy <= 1.1 or busy * elapsed_s < 0.9 * elapsed_s - CLOCKS_S:
            raise OutputNotUnderstood("mean latency that agrees with the rate", output.stdout)
        # Percentiles are printed as the whole microseconds at which classes of latencies begin,
        # each of which is a tenth wide or less, see the docstring.
        quantiles_s = {float(key[1:3]): found[key] / 1e6 for key in PERCENTILES}
        Latencies(
            requests=found["LOCAL_SEND_CALLS"],
            mean_s=mean_s,
            quantiles_s=quantiles_s,
            most_s=found["ELAPSED_TIME"],
            relative=0.1,
            absolute_s=1e-6,
        ).check(output.stdout)
        yield Sample(MEAN, mean_s)
        for key, metric in PERCENTILES.items():
            yield Sample(metric, found[key] / 1e6)
        yield Sample(REQUESTS, rate)
        yield Sample(TOOL_DURATION, found["ELAPSED_TIME"])

    def serves(self) -> bool:
        """See Netperf.serves."""
        return self.under_test == "server"
