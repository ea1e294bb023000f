"""web_rate: requests to a web server at a fixed rate, whether it has answered or not.

An open model: users do not wait for each other. A server that stalls for a second has a second's
requests waiting, each from when it should have been sent (METHOD.md: coordinated omission).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from operator import gt

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Sample
from tare.work import workload
from tare.work.parsing import document
from tare.work.workload import TOOL_DURATION, Course
from tare.work.workloads import _vegeta, at_least, at_most
from tare.work.workloads._vegeta import LAG_P99, THROUGHPUT, attacks
from tare.work.workloads._web import FAILED, QUANTILES

# A second line, made after the attack: of what was due in each second, how much was answered and
# when, and how many answers came in it.
SCRIPT = r"""
attack "$1" "$2"
awk '$2 >= 0 { printf "%d %.9f %d\n", $3, $1 + $2, $1 + $2 + $3 }' times | sort -k 1,1n -k 2,2n |
    awk -v rate="$1" -v seconds="$2" '
        function due_before(s) { return int((s * 1e9 + interval - 1) / interval) }
        function quantile(s, q, due) {
            place = int((due * q + 99) / 100)
            return place <= answered[s] ? took[s, place] : "Infinity"
        }
        BEGIN { interval = int(1e9 / rate) }
        { took[$1, ++answered[$1]] = $2; came[$3]++ }
        END {
            printf "["
            for (s = 0; s < seconds; s++) {
                due = due_before(s + 1) - due_before(s)
                printf "%s{\"due\": %d, \"answered\": %d, ", s ? ", " : "", due, answered[s]
                printf "\"came\": %d, \"p50_s\": %s, ", came[s], quantile(s, 50, due)
                printf "\"p99_s\": %s}", quantile(s, 99, due)
            }
            print "]"
        }
    '
"""


@dataclass(frozen=True, kw_only=True)
class Workload(_vegeta.Workload):
    """Ask for the page ``rate`` times a second for ``time_s``.

    The median is primary, for a verdict of per cents needs it: the middle half of ten runs on a
    busy host spread by 8 %, of their means by 85 %, of p99 by 450 %. A stall's cost is in p99.
    ``failed`` is the share of requests not answered, or not sent, which have no latency: a quantile
    that falls on one is not given. ``lag_p99`` is the generator's own part of the latencies.
    """

    rate: int = 1000
    time_s: int = 30

    metrics = (*QUANTILES.values(), FAILED, THROUGHPUT, LAG_P99, TOOL_DURATION)

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, rate=1, time_s=1)
        at_most(self, rate=_vegeta.MOST_RATE)

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        return self.attacking(SCRIPT, str(self.rate), str(self.time_s))

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        found = list(attacks(text.partition("\n")[0], self.time_s, self.page_bytes))
        if len(found) != 1 or found[0].rate != self.rate:
            raise OutputNotUnderstood(f"report of {self.rate} requests per second", text)
        (attack,) = found
        if attack.sent < 0.99 * attack.due:
            raise OutputNotUnderstood(f"generator that sent all of {attack.due} requests", text)
        if not isfinite(attack.quantiles_s[50]):
            raise OutputNotUnderstood("answers to half of the requests", text)
        for q, metric in QUANTILES.items():
            if isfinite(attack.quantiles_s[q]):
                yield Sample(metric, attack.quantiles_s[q])
        yield Sample(FAILED, 1 - attack.answered / attack.due)
        yield Sample(THROUGHPUT, attack.throughput)
        yield Sample(LAG_P99, attack.lag_p99_s)
        yield Sample(TOOL_DURATION, attack.duration_s)

    def courses(self, output: workload.Output) -> Iterator[Course]:
        """See Workload.courses; latencies and failures are of the second a request was due in."""
        text = output.stdout
        seconds = document(text.partition("\n")[2], "list of seconds", text).parts()
        due, answered, came = (
            [one.count(key) for one in seconds] for key in ("due", "answered", "came")
        )
        p50_s, p99_s = (
            [one.number(key, may_be_infinite=True) for one in seconds] for key in ("p50_s", "p99_s")
        )
        if not all((*p50_s, *p99_s)):
            raise OutputNotUnderstood("latencies of seconds above 0", text)
        if len(seconds) != self.time_s or any(map(gt, answered, due)):
            raise OutputNotUnderstood(f"{self.time_s} seconds that agree with the requests", text)
        # What is due at the very end is in no second.
        of_all = sum(
            one.answered for one in attacks(text.partition("\n")[0], self.time_s, self.page_bytes)
        )
        if not 0 <= of_all - sum(answered) <= 1 or sum(came) > of_all:
            raise OutputNotUnderstood("seconds that agree with all answers", text)
        failed = [
            1 - part / whole if whole else nan for part, whole in zip(answered, due, strict=True)
        ]
        for metric, values in (
            (QUANTILES[50], p50_s),
            (QUANTILES[99], p99_s),
            (THROUGHPUT, came),
            (FAILED, failed),
        ):
            known = [(end, value) for end, value in enumerate(values, 1) if isfinite(value)]
            if known:
                times_s, some = zip(*known, strict=True)
                yield Course(metric=metric, times_s=times_s, values=some)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return self.time_s + 2.0
