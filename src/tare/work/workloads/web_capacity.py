"""web_capacity: the highest rate of requests that a web server answers within an objective.

The rate is searched within one trial: each step halves the range, on a logarithmic scale. A rate
that misses is tried once more, for one stall of the host must not pass for the server's limit
(SPECjbb2015 retries its steps too).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, MetricRole, Sample, Unit
from tare.work import workload
from tare.work.workload import TOOL_DURATION
from tare.work.workloads import _vegeta, at_least, at_most, one_of
from tare.work.workloads._vegeta import LAG_P99, THROUGHPUT, Attack, attacks

Quantile = Literal["p50", "p90", "p95", "p99"]

CAPACITY = Metric("capacity", Unit.PER_SECOND, Better.HIGHER, MetricRole.SEARCHED)
LATENCY = Metric("latency", Unit.SECOND, Better.LOWER)

TRIES = 2
PER_MILLE = 999
"""How many of a thousand requests must be answered, whatever the quantile."""

SCRIPT = r"""
time_s=$1 low=$2 high=$3 steps=$4 q=$5 objective_s=$6 per_mille=$7
met() {
    answered=$(grep -vc Infinity latencies) || return
    [ $((answered * 1000)) -ge $(($(wc -l < latencies) * per_mille)) ] || return
    awk -v it="$(quantile "$q" latencies)" -v most="$objective_s" 'BEGIN { exit !(it <= most) }'
}
while [ "$steps" -gt 0 ]; do
    rate=$(awk -v low="$low" -v high="$high" 'BEGIN { printf "%.0f", sqrt(low * high) }')
    attack "$rate" "$time_s"
    met || attack "$rate" "$time_s"
    if met; then low=$rate; else high=$rate; fi
    steps=$((steps - 1))
done
"""


@dataclass(frozen=True, kw_only=True)
class Workload(_vegeta.Workload):
    """Find the highest rate at which ``quantile`` is within ``objective_s`` and 99.9 % answered.

    Rates are tried for ``time_s`` each between ``low_rate`` and ``high_rate``. What is found is
    below the truth by at most the last of the ``steps``: 2.2 % by default. ``latency`` (the
    quantile), ``throughput`` and ``lag_p99`` are those at the capacity.
    """

    objective_s: float = 0.05
    quantile: Quantile = "p99"
    low_rate: int = 200
    high_rate: int = 51_200
    steps: int = 8
    time_s: int = 3

    metrics = (CAPACITY, LATENCY, THROUGHPUT, LAG_P99, TOOL_DURATION)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self, quantile=Quantile)
        at_least(self, low_rate=1, high_rate=2 * self.low_rate, steps=2, time_s=1)
        at_most(self, high_rate=_vegeta.MOST_RATE)
        if not 0 < self.objective_s <= 1:
            raise ValueError(f"objective_s: {self.objective_s} was given; expected up to 1")

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        search = [str(self.time_s), str(self.low_rate), str(self.high_rate), str(self.steps)]
        objective = [self.quantile.removeprefix("p"), f"{self.objective_s:.9f}", str(PER_MILLE)]
        return self.attacking(SCRIPT, *search, *objective)

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        found = list(attacks(text, self.time_s, self.page_bytes))
        if any("connection refused" in error for attack in found for error in attack.errors):
            # One that is overloaded is slow, or resets; this one was gone.
            raise OutputNotUnderstood("server that listened to the end", text)
        tried = iter(found)
        low, high = self.low_rate, self.high_rate
        best: Attack | None = None
        for _ in range(self.steps):
            rate = round(sqrt(low * high))
            for _ in range(TRIES):
                attack = next(tried, None)
                if attack is None or attack.rate != rate:
                    raise OutputNotUnderstood(f"step that agrees with the search: {rate}/s", text)
                if self._met(attack):
                    best, low = attack, rate
                    break
            else:
                high = rate
        if next(tried, None) is not None:
            raise OutputNotUnderstood(f"end that agrees with the search after {rate}/s", text)
        if best is None:
            raise OutputNotUnderstood(
                f"rate that met the objective down to {high}/s; lower low_rate", text
            )
        if high == self.high_rate:
            raise OutputNotUnderstood(
                f"rate that missed the objective up to {low}/s; raise high_rate", text
            )
        yield Sample(CAPACITY, best.rate)
        yield Sample(LATENCY, best.quantiles_s[self._q])
        yield Sample(THROUGHPUT, best.throughput)
        yield Sample(LAG_P99, best.lag_p99_s)
        yield Sample(TOOL_DURATION, sum(attack.duration_s for attack in found))

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        # Half of the rates miss, and are tried again.
        return 1.5 * self.steps * (self.time_s + 1)

    @property
    def _q(self) -> int:
        return int(self.quantile.removeprefix("p"))

    def _met(self, attack: Attack) -> bool:
        answered = 1000 * attack.answered >= PER_MILLE * attack.due
        return answered and attack.quantiles_s[self._q] <= self.objective_s
