"""oltp: transactions of a database by sysbench's oltp tests, from clients at the peer.

Defined by sysbench 1.0 (its ``oltp_*.lua``). A closed model: each thread begins its next
transaction when it has the answer to the last. hpe2016 measured MySQL so, in containers and guests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, FileAccess, Metric, MetricRole, Sample, Unit
from tare.work import workload
from tare.work.parsing import Latencies, number, rows
from tare.work.roles import PEER, Role
from tare.work.workload import TOOL_DURATION, Course
from tare.work.workloads import _database, _sysbench, at_least, one_of
from tare.work.workloads._database import Database, Durability
from tare.work.workloads._sysbench import EVERY_SECOND, LATENCY_MAX, LATENCY_MEAN, LATENCY_P95

Test = Literal["read_write", "read_only", "write_only", "point_select"]

TRANSACTIONS = Metric("transactions", Unit.PER_SECOND, Better.HIGHER)
QUERIES = Metric("queries", Unit.PER_SECOND, Better.HIGHER)
FAILED = Metric("failed", Unit.RATIO, Better.LOWER, MetricRole.FAILED)
LATENCY_P50 = Metric("latency_p50", Unit.SECOND, Better.LOWER)
LATENCY_P99 = Metric("latency_p99", Unit.SECOND, Better.LOWER)
QUANTILES = {50: LATENCY_P50, 95: LATENCY_P95, 99: LATENCY_P99}

FILL = r"""
fill() {
    sysbench oltp_read_write "$1" $words "$2" "$3" "$4" --rand-seed=1 prepare > ../fill.log 2>&1 ||
        { tail -n 1 ../fill.log | tail -c 150 >&2; return 1; }
    rm ../fill.log
}
"""
# What the server itself counted is asked for before and after, by another connection than those
# that are measured.
RUN = r"""
set -eu
host=$1 port=$2 counter=$3
shift 3
before=$(committed "$counter")
sysbench "$@" run
after=$(committed "$counter")
echo "counted by the database: $((after - before))"
"""
OPTION = {"mariadb": "mysql", "postgresql": "pgsql"}
"""What sysbench calls them."""
PREPARED = {"read_write": 9, "read_only": 5, "write_only": 4, "point_select": 1}
"""How many statements a thread prepares for each table; to PostgreSQL each is a transaction."""
OWN_SHARE, OWN_COUNT = 0.01, 8
"""What the server may have counted besides: what asks it for the count, and what it does itself."""

ROW_BYTES = 350
"""Of a row of sysbench's with its index, and what pages leave free, in either database."""


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Run transactions in ``threads`` threads on ``tables`` tables of ``rows`` rows.

    A transaction of ``read_write`` is 18 queries between BEGIN and COMMIT: ten rows by their keys,
    four ranges of a hundred rows, two updates, a delete and an insert. ``read_only`` and
    ``write_only`` are its halves, ``point_select`` is one row by its key. The buffer holds
    ``buffer_bytes``. With ``durability`` full each commit waits for the disk.

    The same load runs ``warm_up_s`` before the clock of each trial, so that the buffer is filled.
    What was given up for a deadlock is ``failed``, a share of all transactions. Latencies are of
    transactions; quantiles are the ends of sysbench's classes, which are 1.8 % wide. With
    ``together`` the clients are in the database's own instance.
    """

    database: Database = "mariadb"
    test: Test = "read_write"
    threads: int = 4
    tables: int = 4
    rows: int = 100_000
    time_s: int = 30
    warm_up_s: int = 5
    buffer_bytes: int = 256 * 2**20
    durability: Durability = "full"
    together: bool = False

    metrics = (TRANSACTIONS, QUERIES, FAILED, LATENCY_MEAN, *QUANTILES.values(), LATENCY_MAX,
               TOOL_DURATION)  # fmt: skip
    packages = ("sysbench", "mariadb-client", "postgresql-client")
    recorded = {"sysbench": "1.0.20"}

    def __post_init__(self) -> None:
        one_of(self, database=Database, test=Test, durability=Durability)
        at_least(self, threads=1, tables=1, rows=100, time_s=1, warm_up_s=0, buffer_bytes=2**24)

    def place(self) -> str:
        """See Workload.place."""
        return "db" if self.together else PEER

    def roles(self) -> Sequence[Role]:
        """See Workload.roles."""
        option = OPTION[self.database]
        tables = [f"--tables={self.tables}", f"--table-size={self.rows}"]
        db = _database.role(
            self.database,
            FILL,
            *(f"--db-driver={option}", f"--{option}-db={_database.NAME}", *tables),
            buffer_bytes=self.buffer_bytes,
            durability=self.durability,
            connections=self.threads,
        )
        return (db,)

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        committed = _database.ENGINES[self.database].committed
        # MariaDB counts no commit where a query is a transaction of its own.
        counter = "Com_select" if self.test == "point_select" else "Com_commit"
        where = [_database.ADDRESS, _database.PORT, counter]
        # The same transactions in each trial; the warm-up's are others.
        load = [*self._load(self.time_s), EVERY_SECOND, "--histogram=on", "--rand-seed=3"]
        return ["sh", "-c", committed + RUN, "oltp", *where, *load]

    def warm_up(self) -> Sequence[str] | None:
        """See Workload.warm_up."""
        if not self.warm_up_s:
            return None
        return ["sysbench", *self._load(self.warm_up_s), "--rand-seed=2", "run"]

    def _load(self, time_s: int) -> list[str]:
        option = OPTION[self.database]
        words = {"host": _database.ADDRESS, "port": _database.PORT}
        words |= dict.fromkeys(("db", "user", "password"), _database.NAME)
        return [
            f"oltp_{self.test}",
            f"--db-driver={option}",
            *(f"--{option}-{name}={value}" for name, value in words.items()),
            *(f"--tables={self.tables}", f"--table-size={self.rows}"),
            *_sysbench.bounds(self.threads, time_s),
        ]

    def _prepared(self) -> int:
        """Return how many transactions the server counts for what threads do to get ready."""
        if self.database == "mariadb":
            return 0
        # Each asks for the connection's settings; BEGIN and COMMIT are prepared too.
        of_thread = 1 if self.test == "point_select" else 3
        return self.threads * (PREPARED[self.test] * self.tables + of_thread)

    def tools(self) -> Sequence[str]:
        """See Measured.tools."""
        return ("sysbench",)

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        transactions, rate = _total("transactions", text)
        queries, queries_per_s = _total("queries", text)
        ignored, _ = _total("ignored errors", text)
        counted = number(r"^counted by the database: (\d+)\n", text) - self._prepared()
        if abs(counted - transactions) > OWN_SHARE * transactions + OWN_COUNT:
            raise OutputNotUnderstood(
                f"{transactions:.0f} transactions that agree with what the database counted", text
            )
        kinds = sum(number(rf"^ +{kind}: +(\d+)$", text) for kind in ("read", "write", "other"))
        if not queries or kinds != queries:
            raise OutputNotUnderstood("queries that agree with their kinds", text)
        yield from _sysbench.per_second(TRANSACTIONS, text)
        yield Sample(QUERIES, queries_per_s)
        yield Sample(FAILED, ignored / (ignored + transactions))
        # The quantile that sysbench prints has 10 us; the classes of its histogram have 1 us.
        for sample in _sysbench.general(text, rate):
            if sample.metric is LATENCY_P95:
                continue
            yield sample
            if sample.metric is LATENCY_MEAN:
                yield from _quantiles(text, transactions, sample.value)

    def courses(self, output: workload.Output) -> Iterator[Course]:
        """See Workload.courses."""
        text = output.stdout
        pattern = (
            r"thds: \d+ tps: ([\d.]+) qps: [\d.]+ \(r/w/o: [\d./]+\) lat \(ms,95%\): ([\d.]+) "
            r"err/s: [\d.]+ reconn/s: [\d.]+"
        )
        found = _sysbench.seconds(text, pattern)
        yield from _sysbench.course(TRANSACTIONS, ((row[0], row[1]) for row in found))
        yield from _sysbench.course(LATENCY_P95, ((row[0], row[2] / 1000) for row in found))

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return self.time_s + self.warm_up_s + 5.0

    def file_access(self) -> FileAccess:
        """See Workload.file_access."""
        return FileAccess.CACHED

    def disk_bytes(self) -> int:
        """See Workload.disk_bytes: of the snapshot and its copy."""
        return 2 * (_database.EMPTY_BYTES + self.tables * self.rows * ROW_BYTES)


def _total(label: str, text: str) -> tuple[float, float]:
    """Read a total and its rate from sysbench's SQL statistics."""
    found = rows(rf"^ +{label}: +(\d+) +\(([\d.]+) per sec\.\)$", text)
    if len(found) != 1:
        raise OutputNotUnderstood(f"one total of {label}", text)
    total, rate = found[0]
    return total, rate


def _quantiles(text: str, transactions: float, mean_s: float) -> Iterator[Sample]:
    """Read quantiles of the histogram, which has to hold all transactions."""
    classes = rows(r"^ +([\d.]+) \|\** +(\d+)$", text)
    total = sum(count for _, count in classes)
    if not classes or total != transactions:
        raise OutputNotUnderstood("histogram that agrees with the transactions", text)
    found_s = dict[float, float]()
    for q in QUANTILES:
        before = 0.0
        for value_ms, count in classes:
            before += count
            if before >= int(total * q / 100 + 0.5):
                found_s[q] = value_ms / 1000
                break
    printed_s = number(r"^ +95th percentile: +([\d.]+)$", text) / 1000
    if abs(printed_s - found_s[95]) > 5.1e-6 + 0.001 * printed_s:
        raise OutputNotUnderstood("histogram that agrees with the 95th percentile", text)
    # A class ends above what is in it, by up to 1.8 %; half of the last decimal is 0.5 us.
    Latencies(
        requests=total, mean_s=mean_s, quantiles_s=found_s, relative=0.02, absolute_s=5.1e-7
    ).check(text)
    for q, metric in QUANTILES.items():
        yield Sample(metric, found_s[q])
