"""Requests at a fixed rate by vegeta, with latencies from the moment each should have been sent.

vegeta 12.11 starts a request's clock when it sends it. Where it did not get the CPU it sends late,
and at the end not at all: its own percentiles lack just the requests that had to wait (coordinated
omission). So quantiles are made here, of what it wrote down of each request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Unit
from tare.work.parsing import JsonPart, agree, document
from tare.work.workloads import _web, at_least

SECOND_NS = 10**9
QUANTILES = (50, 90, 95, 99)
LAG_P99 = Metric("lag_p99", Unit.SECOND, Better.LOWER)
THROUGHPUT = Metric("throughput", Unit.PER_SECOND, Better.HIGHER)

# Its first words are the URL, keep_alive and connections. `attack RATE SECONDS` prints an object of
# JSON in a line. `latencies` are in seconds and sorted: of what was not answered by 200, or never
# sent, it is infinite. vegeta's interval is in whole nanoseconds; when requests were due is known
# from the one that was least late. The one page asked for before (it is all that -lazy finds) shows
# that the server lives, and the length.
ATTACK = r"""
set -eu
url=$1 keep_alive=$2 connections=$3
shift 3
ask() { echo "GET $url" | vegeta attack -timeout=10s "-keepalive=$keep_alive" "$@"; }
quantile() { sed -n "$((($(wc -l < "$2") * $1 + 99) / 100))p" "$2"; }
attack() {
    ask -lazy -workers=1 -max-workers=1 -rate=1000 > page
    # Bodies would be written to disk, in the time that counts.
    ask "-rate=$1" "-duration=$2s" -max-workers=4096 "-max-connections=$connections" \
        -max-body=0 > hits
    vegeta encode -to=csv hits | awk -F , -v rate="$1" '
        BEGIN { interval = int(1e9 / rate) / 1e9 }
        NR == 1 { first = $1 }
        { due[NR] = $(NF - 3) * interval; late[NR] = ($1 - first) / 1e9 - due[NR] }
        { took[NR] = $2 == 200 ? $3 / 1e9 : -1 }
        NR == 1 || late[NR] < least { least = late[NR] }
        END {
            for (i = 1; i <= NR; i++) printf "%.9f %.9f %.9f\n", late[i] - least, took[i], due[i]
        }
    ' > times
    cut -d " " -f 1 times | sort -n > lags
    awk -v due="$(($2 * 1000000000 / (1000000000 / $1)))" '
        $2 >= 0 { answered++; printf "%.9f\n", $1 + $2 }
        END { while (answered++ < due || answered <= NR) print "Infinity" }
    ' times | sort -g > latencies
    printf '{"rate": %s, "sent": %s, ' "$1" "$(wc -l < times)"
    printf '"lag_p99_s": %s, "lag_max_s": %s, ' "$(quantile 99 lags)" "$(quantile 100 lags)"
    for q in 50 90 95 99; do printf '"p%s_s": %s, ' $q "$(quantile $q latencies)"; done
    printf '"page": %s, ' "$(vegeta report -type=json page)"
    printf '"report": %s}\n' "$(vegeta report -type=json hits)"
}
"""
MOST_RATE = 1_000_000
"""A second. It is more than vegeta can send, and intervals in whole nanoseconds still make it."""
OWN_FAULTS = ("too many open files", "cannot assign requested address", "cannot allocate memory")


@dataclass(frozen=True, kw_only=True)
class Workload(_web.Workload):
    """Send requests at a rate over at most ``connections`` connections; others wait for one.

    Without a limit an overloaded server is met with thousands, and each leaves a port of the client
    waiting for a minute. With 18,000 of them some runs sent a tenth of their requests and spent
    their time in the kernel, most likely looking for a port.
    """

    connections: int = 256

    packages = _web.PACKAGES
    programs = ("vegeta",)
    recorded = {"vegeta": "12.11.1"}

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, connections=1)

    def attacking(self, script: str, *words: str) -> Sequence[str]:
        """Build a command from a script that uses ``attack``."""
        how = [f"http://{_web.PAGE}", str(self.keep_alive).lower(), str(self.connections)]
        return ["sh", "-c", ATTACK + script, "vegeta", *how, *words]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """What came of a rate that was held for some seconds.

    Quantiles are over all requests that were ``due``; one that falls on a request without an answer
    is infinite. ``lag_p99_s`` is how late the generator itself was, which the latencies contain.
    """

    rate: int
    due: int
    sent: int
    answered: int
    quantiles_s: Mapping[int, float]
    lag_p99_s: float
    errors: Sequence[str]
    throughput: float
    duration_s: float


def attacks(text: str, time_s: int, page_bytes: int) -> Iterator[Attack]:
    """Read what ``attack`` printed; OutputNotUnderstood where it is not whole or disagrees."""
    for line in text.splitlines():
        yield _attack(document(line, "whole report of vegeta", text), time_s, page_bytes)


def _attack(said: JsonPart, time_s: int, page_bytes: int) -> Attack:
    text, report, rate = said.text, said.at("report"), said.count("rate")
    if not 0 < rate <= MOST_RATE:
        raise said.unlike(f"rate from 1 to {MOST_RATE}", "rate")
    due, sent = time_s * SECOND_NS // (SECOND_NS // rate), report.count("requests")
    statuses = {name: status.count() for name, status in report.members("status_codes").items()}
    lag_max_s = said.number("lag_max_s")
    found = Attack(
        rate=rate,
        due=max(due, sent),
        sent=sent,
        answered=statuses.get("200", 0),
        quantiles_s={q: said.number(f"p{q}_s", may_be_infinite=True) for q in QUANTILES},
        lag_p99_s=said.number("lag_p99_s"),
        errors=[error.word() for error in report.parts("errors")],
        throughput=report.number("throughput"),
        duration_s=(report.number("duration") + report.number("wait")) / 1e9,
    )
    for fault in OWN_FAULTS:
        if any(fault in error for error in found.errors):
            raise OutputNotUnderstood(f"generator without a fault of its own ({fault})", text)
    if said.count("page", "bytes_in", "total") != page_bytes:
        raise OutputNotUnderstood(f"page of {page_bytes} bytes", text)
    counts = said.count("sent"), sum(statuses.values())
    # One more is due at the very end.
    if sent > due + 1 or counts != (sent, sent):
        raise OutputNotUnderstood("requests that agree with rate and time", text)
    # One clock, and all digits. A run without an answer has neither.
    is_right = agree(found.answered, found.throughput, found.duration_s)
    if not is_right and (found.answered or found.throughput):
        raise OutputNotUnderstood("throughput that agrees with the answers", text)
    values_s = list(found.quantiles_s.values())
    # A request took from when it was due at most the longest lag and then the longest answer.
    most_s = lag_max_s + report.number("latencies", "max") / 1e9 + 1e-6
    finite_s = [value_s for value_s in values_s if isfinite(value_s)]
    given = [100 * found.answered >= q * found.due for q in QUANTILES]
    if (
        values_s != sorted(values_s)
        or not values_s[0]
        or [isfinite(value_s) for value_s in values_s] != given
        or max(finite_s, default=0.0) > most_s
        or found.lag_p99_s > lag_max_s
    ):
        raise OutputNotUnderstood("quantiles that agree with the answers", text)
    return found
