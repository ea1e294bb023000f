"""web_ab: clients that each ask a web server for the next page when they have the last.

Defined by ab 2.3 of Apache 2.4 (ab(1)). A closed model: while the server stalls nobody asks, so
its latencies are those of few and patient clients; ``web_rate`` is the open one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work import workload
from tare.work.parsing import CLOCKS_S, Latencies, agree, count, number
from tare.work.workload import MOST_POINTS, TOOL_DURATION, Course
from tare.work.workloads import _web, at_least, at_most
from tare.work.workloads._web import FAILED, QUANTILES

REQUESTS = Metric("requests", Unit.PER_SECOND, Better.HIGHER)
LATENCY_MEAN = Metric("latency_mean", Unit.SECOND, Better.LOWER)

DURATION = r"^Time taken for tests:\s+([\d.]+) *seconds$"

# ab 2.3 takes P99 of n requests from place 0.5 + 0.99 n of its list, which ends before that where n
# is 50 or less (ab.c, output_results): what it prints then is any number.
LEAST_REQUESTS = 51

# The report has percentiles in whole milliseconds, the file in microseconds. Both files are written
# after the last answer. Of each request ab tells when it began in whole seconds of the wall clock,
# and how long it took in whole milliseconds, which is more than most take.
SCRIPT = r"""
set -e
ab -q -e percentiles.csv -g requests.tsv "$@"
cat percentiles.csv
echo 'Second,Requests begun'
awk -F '\t' 'NR > 1 { n[$2]++ } END { for (s in n) print s "," n[s] }' requests.tsv | sort
"""


@dataclass(frozen=True, kw_only=True)
class Workload(_web.Workload):
    """Request the page ``requests`` times with ``clients`` clients at once.

    ``requests`` of the result are whole pages that came, per second. What did not come is
    ``failed``, a share of what was asked; latencies are given only when nothing failed, for ab
    mixes a refusal's short time with the others. No answer to anybody for ``timeout_s`` ends it.
    ab is one thread: on a fast server it is what limits.
    """

    clients: int = 50
    requests: int = 100_000
    keep_alive: bool = False
    timeout_s: int = 30

    metrics = (REQUESTS, FAILED, LATENCY_MEAN, *QUANTILES.values(), TOOL_DURATION)
    packages = (*_web.PACKAGES, "apache2-utils")
    recorded = {"apache2-utils": "2.4.71"}

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, clients=1, requests=max(self.clients, LEAST_REQUESTS), timeout_s=1)
        at_most(self, clients=20_000)  # ab's own limit

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        load = ["-n", str(self.requests), "-c", str(self.clients), "-s", str(self.timeout_s)]
        keep = ["-k"] if self.keep_alive else []
        # With -r a connection that breaks is counted; without, it would end the whole run.
        return ["sh", "-c", SCRIPT, "ab", "-r", *keep, *load, f"http://{_web.PAGE}"]

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        length, complete, total_bytes, html_bytes, duration_s, rate, mean_ms = (
            number(rf"^{label}:\s+([\d.]+) *{unit}$", text)
            for label, unit in (
                ("Document Length", "bytes"),
                ("Complete requests", ""),
                ("Total transferred", "bytes"),
                ("HTML transferred", "bytes"),
                ("Time taken for tests", "seconds"),
                ("Requests per second", r"\[#/sec\] \(mean\)"),
                ("Time per request", r"\[ms\] \(mean\)"),
            )
        )
        quantiles_s: dict[float, float] = {q: _quantile_s(q, text) for q in QUANTILES}
        if length != self.page_bytes:
            raise OutputNotUnderstood(f"page of {self.page_bytes} bytes", text)
        # One clock. The duration is in whole milliseconds, and the rate has two decimals, which is
        # more than 1 % of a rate below one in two seconds.
        rounding = 0.01 + 0.005 / rate if rate else 0.0
        agrees = agree(complete, rate, duration_s, relative=rounding, apart_s=0.001)
        if complete != self.requests or not agrees:
            raise OutputNotUnderstood(f"{self.requests} requests that agree with the rate", text)
        # Each client waits that long for one request after the other.
        if not agree(self.clients, rate, mean_ms / 1000, relative=rounding, apart_s=1e-6):
            raise OutputNotUnderstood("mean time of a request that agrees with the rate", text)
        complaints = _complaints(text)
        other_status = _count("Non-2xx responses", text)
        pages = html_bytes / self.page_bytes
        incomplete = pages != complete and not complaints + other_status
        if incomplete or not 0 < html_bytes < total_bytes or other_status >= complete:
            raise OutputNotUnderstood("pages that agree with the bytes transferred", text)
        pages = min(pages, complete - other_status)
        # What ab tried again is not among the complete ones.
        failed = complete - pages or min(complaints, complete)
        yield Sample(REQUESTS, rate * pages / complete)
        yield Sample(FAILED, failed / complete)
        if not failed:
            # The mean is that of a client's whole round, in which it also waits for ab itself.
            Latencies(
                requests=complete,
                mean_s=mean_ms / 1000,
                quantiles_s={**quantiles_s, 100: _quantile_s(100, text)},
            ).check(text)
            yield Sample(LATENCY_MEAN, mean_ms / 1000)
            for q, metric in QUANTILES.items():
                yield Sample(metric, quantiles_s[q])
        yield Sample(TOOL_DURATION, duration_s)

    def courses(self, output: workload.Output) -> Iterator[Course]:
        """See Workload.courses; nothing where requests failed, for ab does not tell which."""
        text = output.stdout
        found = re.findall(r"^(\d{9,}),(\d+)$", text, re.MULTILINE)
        begun = {
            count(second, "second", text): count(requests, "requests", text)
            for second, requests in found
        }
        if len(begun) != len(found) or sum(begun.values()) != self.requests:
            raise OutputNotUnderstood(f"seconds of {self.requests} requests", text)
        if _complaints(text) + _count("Non-2xx responses", text):
            raise OutputNotUnderstood(
                "seconds in which requests failed, which ab does not tell", text
            )
        # Seconds are the wall clock's, which may be set meanwhile; the duration is not. The first
        # request begins the run, and what was begun last was answered at its end.
        span_s, duration_s = max(begun) - min(begun), number(DURATION, text)
        least_s = duration_s - _quantile_s(100, text) - 1 - CLOCKS_S
        if not least_s <= span_s <= duration_s + 1 + CLOCKS_S or span_s > MOST_POINTS:
            raise OutputNotUnderstood(
                f"seconds that agree with a run of {duration_s} s (the clock was set)", text
            )
        # The first and the last are not whole; when in the first one it began is not known.
        times_s = range(1, span_s)
        if times_s:
            values = [begun.get(min(begun) + second, 0) for second in times_s]
            yield Course(metric=REQUESTS, times_s=times_s, values=values)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        slow_per_s = 5000
        return 1.0 + self.requests / slow_per_s


def _quantile_s(q: int, text: str) -> float:
    """Read a quantile; it has three decimals, always: a cut one is none."""
    return number(rf"^{q},(\d+\.\d{{3}})$", text) / 1000


def _complaints(text: str) -> int:
    """Add up what ab calls failed; one request may be there as Receive, Length and Exception."""
    failed = int(number(r"^Failed requests:\s+(\d+)$", text))
    kinds = re.search(r"^ +\(Connect: .*\)$", text, re.MULTILINE)
    counts = re.findall(r"\d+", kinds[0] if kinds else "")
    if failed != sum(count(one, "failed requests", text) for one in counts):
        raise OutputNotUnderstood("failed requests that agree with their kinds", text)
    return failed + _count("Write errors", text)


def _count(label: str, text: str) -> int:
    """Read a line that ab leaves out where it would say 0."""
    found = re.search(rf"^{label}:\s+(\d+)$", text, re.MULTILINE)
    return count(found[1], label, text) if found else 0
