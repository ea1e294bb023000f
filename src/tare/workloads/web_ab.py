"""web_ab: clients that each ask a web server for the next page when they have the last.

Defined by ab 2.3 of Apache 2.4 (ab(1)). A closed model: while the server stalls nobody asks, so
its latencies are those of few and patient clients; ``web_rate`` is the open one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose

from tare import workload
from tare.errors import OutputNotUnderstood
from tare.model import Better, Metric, Sample, Unit
from tare.workload import TOOL_DURATION, Course, number
from tare.workloads import _web, at_least, at_most
from tare.workloads._web import FAILED, QUANTILES

REQUESTS = Metric("requests", Unit.PER_SECOND, Better.HIGHER)
LATENCY_MEAN = Metric("latency_mean", Unit.SECOND, Better.LOWER)

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
    """Ask for the page ``requests`` times with so many ``clients`` at once.

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
        at_least(self, clients=1, requests=self.clients, timeout_s=1)
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
        # Three decimals, always: a cut one is none.
        quantiles_s = {q: number(rf"^{q},(\d+\.\d{{3}})$", text) / 1000 for q in QUANTILES}
        if length != self.page_bytes:
            raise OutputNotUnderstood(f"page of {self.page_bytes} bytes", text)
        # The duration is in whole milliseconds.
        agrees = isclose(complete, rate * duration_s, rel_tol=0.01, abs_tol=rate * 0.001)
        if complete != self.requests or not agrees:
            raise OutputNotUnderstood(f"{self.requests} requests that agree with the rate", text)
        if not isclose(mean_ms, 1000 * self.clients / rate, rel_tol=0.01):
            raise OutputNotUnderstood("mean time of a request that agrees with the rate", text)
        complaints = _complaints(text)
        other_status = _count("Non-2xx responses", text)
        pages = html_bytes / self.page_bytes
        incomplete = pages != complete and not complaints + other_status
        if incomplete or not 0 < html_bytes < total_bytes or other_status == complete:
            raise OutputNotUnderstood("pages that agree with the bytes transferred", text)
        pages = min(pages, complete - other_status)
        # What ab tried again is not among the complete ones.
        failed = complete - pages or min(complaints, complete)
        yield Sample(REQUESTS, rate * pages / complete)
        yield Sample(FAILED, failed / complete)
        if not failed:
            yield Sample(LATENCY_MEAN, mean_ms / 1000)
            for q, metric in QUANTILES.items():
                yield Sample(metric, quantiles_s[q])
        yield Sample(TOOL_DURATION, duration_s)

    def courses(self, output: workload.Output) -> Iterator[Course]:
        """See Workload.courses; nothing where requests failed, for ab does not tell which."""
        text = output.stdout
        rows = re.findall(r"^(\d{9,}),(\d+)$", text, re.MULTILINE)
        asked = sum(int(count) for _, count in rows)
        if asked != self.requests:
            raise OutputNotUnderstood(f"seconds of {self.requests} requests", text)
        if _complaints(text) + _count("Non-2xx responses", text):
            raise OutputNotUnderstood(
                "seconds in which requests failed, which ab does not tell", text
            )
        begun = {int(second): int(count) for second, count in rows}
        # The first and the last are not whole; when in the first one it began is not known.
        times_s = range(1, max(begun) - min(begun))
        if times_s:
            values = [begun.get(min(begun) + second, 0) for second in times_s]
            yield Course(metric=REQUESTS, times_s=times_s, values=values)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        slow_per_s = 5000
        return 1.0 + self.requests / slow_per_s


def _complaints(text: str) -> int:
    """Add up what ab calls failed; one request may be there as Receive, Length and Exception."""
    failed = int(number(r"^Failed requests:\s+(\d+)$", text))
    kinds = re.search(r"^ +\(Connect: .*\)$", text, re.MULTILINE)
    if failed != sum(map(int, re.findall(r"\d+", kinds[0] if kinds else ""))):
        raise OutputNotUnderstood("failed requests that agree with their kinds", text)
    return failed + _count("Write errors", text)


def _count(label: str, text: str) -> int:
    """Read a line that ab leaves out where it would say 0."""
    found = re.search(rf"^{label}:\s+(\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else 0
