"""kv: clients that each get or set values of a Redis server over the network.

Defined by redis-benchmark 7.0 (redis-tools). A closed model: a client asks again when it has its
answers, so while the server stalls nobody asks, and latencies are those of few and patient clients.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work import workload
from tare.work.parsing import CLOCKS_S, Latencies, agree, number
from tare.work.roles import PEER, Role, Succeeds
from tare.work.workload import PORT, SERVER, TOOL_DURATION
from tare.work.workloads import at_least, at_most, one_of

Operation = Literal["get", "set"]

OPERATIONS = Metric("operations", Unit.PER_SECOND, Better.HIGHER)
MEAN = Metric("latency_mean", Unit.SECOND, Better.LOWER)
QUANTILES = {
    50: Metric("latency_p50", Unit.SECOND, Better.LOWER),
    95: Metric("latency_p95", Unit.SECOND, Better.LOWER),
    99: Metric("latency_p99", Unit.SECOND, Better.LOWER),
}

# Every key that redis-benchmark may ask for, by the names that it makes, in one call: through the
# network of an emulated guest a call for each would take minutes.
FILL = """\
local value = string.rep('x', tonumber(ARGV[2]))
for i = 0, tonumber(ARGV[1]) - 1 do
    redis.call('SET', string.format('key:%012d', i), value)
end
"""
# The longest that the fill may take before the trial counts as one that did not respond.
FILL_S = 300.0

# What the server counted is of this run alone. Both ends write their report after the last answer;
# the progress that redis-benchmark shows before each line of it is left out.
SCRIPT = r"""
set -e
host=$1 port=$2 command=$3
shift 3
redis-cli -e -h "$host" -p "$port" config resetstat > reset
redis-benchmark -h "$host" -p "$port" -t "$command" "$@" > report
sed 's/.*\r//' report
redis-cli -e -h "$host" -p "$port" info all > info
tr -d '\r' < info | grep -E "^(keyspace_(hits|misses)|evicted_keys|cmdstat_$command|db0):"
printf 'first value: '
redis-cli -e -h "$host" -p "$port" strlen key:000000000000
"""

MOST = 2**31 - 1
"""Above, redis-benchmark takes another number."""
MOST_LATENCY_S = 3.0
"""redis-benchmark counts what took longer as this."""


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Ask for one of ``keys`` at random, ``requests`` times, with ``clients`` connections.

    Each client sends ``pipeline`` requests at once; the latency of each of them is then the time
    until the first answers came. All keys are there before the clock starts, for ``set`` too, which
    only replaces values. The server keeps them in memory alone. The number of clients and the
    size of a value are redis-benchmark's own defaults, the others are Tare's.

    ``operations`` are those that the server counted too: a run in which it refused one, or missed a
    key, gives nothing. Both ends are one thread: with small values and no wrapping it is often
    redis-benchmark that limits, and the trial is then marked by its peer. Its quantiles are in
    steps of 8 us, the mean is finer. Above 3 s it does not tell latencies apart: a run with such a
    one has none.
    """

    operation: Operation = "get"
    clients: int = 50
    requests: int = 300_000
    value_bytes: int = 3
    pipeline: int = 1
    keys: int = 100_000

    metrics = (OPERATIONS, MEAN, *QUANTILES.values(), TOOL_DURATION)
    packages = ("redis-tools",)
    recorded = {"redis-tools": "7.0.15"}

    def __post_init__(self) -> None:
        one_of(self, operation=Operation)
        at_least(self, clients=1, value_bytes=1, pipeline=1, keys=1)
        at_most(self, clients=1000)  # an end has one file open for each, often of 1024
        at_most(self, value_bytes=2**29, keys=MOST, requests=MOST)  # Redis has no longer strings
        at_least(self, requests=self.clients * self.pipeline)
        if self.requests % self.pipeline:  # it would send whole pipelines, and count fewer
            given = f"requests: {self.requests} was given"
            raise ValueError(f"{given}; expected a multiple of pipeline, {self.pipeline}")

    def place(self) -> str:
        """See Workload.place."""
        return PEER

    def roles(self) -> Sequence[Role]:
        """See Workload.roles."""
        # No file at all is written: neither snapshots nor a log of what was set. Protected, it
        # would answer only to its own machine.
        memory = ["--save", "", "--appendonly", "no", "--protected-mode", "no"]
        fill = ["redis-cli", "-e", "-p", PORT, "eval", FILL, "0"]
        server = Role(
            name="server",
            command=["redis-server", "--port", PORT, *memory],
            packages=("redis-server", "redis-tools"),
            ready=Succeeds([*fill, str(self.keys), str(self.value_bytes)]),
            ready_s=FILL_S,
        )
        return (server,)

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        load = ["-c", str(self.clients), "-n", str(self.requests), "-P", str(self.pipeline)]
        # Without -r all ask for one key; -d is the size of what set sends.
        data = ["-r", str(self.keys), "-d", str(self.value_bytes)]
        # Three decimals of a millisecond, as is the default; said because the parser counts on it.
        ends = [SERVER, PORT, self.operation]
        return ["sh", "-c", SCRIPT, "kv", *ends, *load, *data, "--precision", "3"]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        self._check_run(text)
        self._check_server(text)
        duration_s = number(r"^  \d+ requests completed in (\d+\.\d\d) seconds$", text)
        rate = number(r"^  throughput summary: (\d+\.\d\d) requests per second$", text)
        # One clock, in milliseconds; the duration is printed with two decimals.
        if not agree(self.requests, rate, duration_s, relative=0.001, apart_s=0.006):
            raise OutputNotUnderstood(f"{self.requests} requests that agree with the rate", text)
        took_s = self.requests / rate
        mean_s, least_s, p50_s, p95_s, p99_s, most_s = (one / 1000 for one in _latencies_ms(text))
        yield Sample(OPERATIONS, rate)
        if most_s < MOST_LATENCY_S:
            quantiles_s = {50.0: p50_s, 95.0: p95_s, 99.0: p99_s}
            # Classes of latencies are 8 us or a thousandth wide; a quantile is the end of one, the
            # least is the begin, and the mean that of their middles.
            Latencies(
                requests=self.requests,
                mean_s=mean_s,
                quantiles_s=quantiles_s,
                least_s=least_s,
                most_s=most_s,
                absolute_s=9e-6,
            ).check(text)
            # Little's law: no more are on their way at a time than the clients send at once. The
            # clock of latencies is read later than that of the run.
            inflight = self.clients * self.pipeline
            if mean_s * self.requests > inflight * (1.01 * took_s + CLOCKS_S):
                raise OutputNotUnderstood("mean latency that agrees with the rate", text)
            yield Sample(MEAN, mean_s)
            for q, metric in QUANTILES.items():
                yield Sample(metric, quantiles_s[q])
        yield Sample(TOOL_DURATION, took_s)

    def _check_run(self, text: str) -> None:
        """Hold that redis-benchmark did what was asked for, and has a latency of each request."""
        asked = {
            r"^  (\d+) requests completed in ": self.requests,
            r"^  (\d+) parallel clients$": self.clients,
            r"^  (\d+) bytes payload$": self.value_bytes,
            r"^100\.000% <= [\d.]+ milliseconds \(cumulative count (\d+)\)$": self.requests,
        }
        for pattern, wanted in asked.items():
            if number(pattern, text) != wanted:
                raise OutputNotUnderstood(f"{wanted} that agrees with {pattern}", text)

    def _check_server(self, text: str) -> None:
        """Hold that the server counted the same requests, and carried all of them out."""
        of = rf"^cmdstat_{self.operation}:calls="
        calls = number(rf"{of}(\d+),", text)
        refused = number(rf"{of}.*,rejected_calls=(\d+),failed_calls=\d+$", text)
        failed = number(rf"{of}.*,failed_calls=(\d+)$", text)
        if calls != self.requests or refused or failed:
            raise OutputNotUnderstood(f"{self.requests} calls that agree with the server's", text)
        # Redis counts what was looked for to be read; set looks for nothing.
        found = self.requests if self.operation == "get" else 0
        hits, misses, evicted = (
            number(rf"^{label}:(\d+)$", text)
            for label in ("keyspace_hits", "keyspace_misses", "evicted_keys")
        )
        if hits != found or misses or evicted:
            raise OutputNotUnderstood(f"{found} hits that agree with the requests", text)
        keys = number(r"^db0:keys=(\d+),", text)
        value_bytes = number(r"^first value: (\d+)\n", text)
        if keys != self.keys or value_bytes != self.value_bytes:
            raise OutputNotUnderstood(
                f"{self.keys} keys of {self.value_bytes} bytes that agree with the server's", text
            )

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        slow_per_s = 20_000
        return 1.0 + self.requests / slow_per_s


def _latencies_ms(text: str) -> tuple[float, ...]:
    """Read mean, least, median, p95, p99 and longest, as they stand below each other's names."""
    head = r"^ +avg +min +p50 +p95 +p99 +max *\n +"
    columns = [r"\d+\.\d{3}"] * 6
    found = []
    for place in range(6):
        row = [f"({one})" if at == place else one for at, one in enumerate(columns)]
        found.append(number(head + " +".join(row) + " *$", text))
    return tuple(found)
