"""Which figures and tables the studies had: what each sets side by side, and in what form.

Of the studies' own figures the data hold the values that were printed. A study that is not here
(one that is only data) has a figure of bars for each of its tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tare.results.published.rows import Row, Statistic


class Form(StrEnum):
    """How a figure is drawn."""

    BARS = "bars"
    MAP = "map"
    """A coloured table of degradations: stressors down, platforms across."""
    MATRIX = "matrix"
    """A table of tests: what was measured down, pairs of platforms across."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """A figure or table of a study.

    ``panels`` and ``bars`` name the columns of the data whose values tell its panels apart, and
    within them its bars (or the lines of a map); "against" stands for the platform and what it is
    against. ``workload`` leaves others out, if it is not empty. ``note`` explains the study's own
    words.
    """

    name: str
    title: str
    tables: tuple[str, ...]
    form: Form = Form.BARS
    panels: tuple[str, ...] = ("workload", "metric")
    bars: tuple[str, ...] = ("platform",)
    workload: str = ""
    note: str = ""

    def rows(self, rows: Sequence[Row]) -> list[Row]:
        """Choose the rows that are drawn in it, those of single runs too."""
        return [
            row
            for row in rows
            if row.table in self.tables and (not self.workload or row.workload == self.workload)
        ]

    def panel(self, row: Row) -> str:
        """Name the panel of a row."""
        return named(row, self.panels)

    def bar(self, row: Row) -> str:
        """Name the bar or line of a row."""
        return named(row, self.bars)


def named(row: Row, columns: Sequence[str]) -> str:
    """Join what some columns of a row say; what another of them has said already is left out."""
    texts: list[str] = []
    for column in columns:
        against = column == "against"
        text = _against(row) if against else str(getattr(row, column))
        text = text.removeprefix("isolation: ")
        if text and not any(text in before.split() or text == before for before in texts):
            texts.append(text)
    return ", ".join(texts)


def originals(study: str, rows: Sequence[Row]) -> tuple[Original, ...]:
    """List a study's figures in the order in which it has them."""
    if study in ORIGINALS:
        return ORIGINALS[study]
    tables = dict.fromkeys(row.table for row in rows if row.statistic is not Statistic.P_VALUE)
    return tuple(
        Original(
            name=f"table-{number}",
            title=table,
            tables=(table,),
            panels=("experiment", "workload", "metric"),
            bars=("scenario", "level", "against"),
        )
        for number, table in enumerate(tables, 1)
    )


def _against(row: Row) -> str:
    return f"{row.platform} against {row.baseline}" if row.baseline else row.platform


_STRESS = tuple(f"Table 5.{number}" for number in range(6, 12))
_STRESS_NOTE = (
    "90%U: the application and its neighbours together take 90 % of the host, FU: all of it; RR "
    "after them: reservations limit the resources of the neighbours."
)

ORIGINALS: Mapping[str, tuple[Original, ...]] = {
    "aspernas2016": (
        Original(
            name="http",
            title="Table 2.2: requests that a web site served",
            tables=("Table 2.2",),
            panels=("metric",),
        ),
        Original(
            name="sql-select",
            title="Table 3.3: one SELECT",
            tables=("Table 3.3",),
        ),
        Original(
            name="sql-insert",
            title="Table 3.4: ten thousand INSERTs",
            tables=("Table 3.4",),
        ),
    ),
    "laine2017": (
        Original(
            name="tcp",
            title="Figures 12 and 13: throughput by TCP",
            tables=("Figures 12-13 (text)",),
            panels=("workload", "scenario"),
        ),
        Original(
            name="udp-send",
            title="Table 2: sending by UDP",
            tables=("Table 2",),
            panels=("scenario", "metric"),
            bars=("level", "platform"),
        ),
        Original(
            name="udp-receive",
            title="Table 3: receiving by UDP",
            tables=("Table 3",),
            panels=("scenario", "metric"),
            bars=("level", "platform"),
        ),
        Original(
            name="disk",
            title="Section 3.2: sequential reading in KVM",
            tables=("section 3.2 (text)",),
            bars=("platform", "level"),
        ),
        Original(
            name="web-completed",
            title="Figures 14 to 19: tests of web servers in which no request failed",
            tables=("Figures 14-19 (text)",),
            panels=("workload",),
            bars=("level", "platform"),
            note="Of 8 numbers of requests, from 5,000 to 100,000, by each number of clients.",
        ),
        Original(
            name="significance",
            title="Table 4: significance of all differences",
            tables=("Table 4",),
            form=Form.MATRIX,
            bars=("workload", "level"),
        ),
    ),
    "huang2019": (
        Original(
            name="performance",
            title="Table 4.1: degradation of benchmarks",
            tables=("Table 4.1", "section 4.5 (text)"),
            panels=("workload",),
            bars=("metric", "platform"),
        ),
        *(
            Original(
                name=f"difference-{name}",
                title=f"{table}: difference from {other}",
                tables=(table,),
                panels=("workload",),
                bars=("metric", "platform"),
                note="Positive: the degradation is larger than in the other study.",
            )
            for name, table, other in (
                ("che2010", "Table 4.2", "Che et al. 2010"),
                ("felter2015", "Table 4.3", "Felter et al. 2015"),
            )
        ),
        *(
            Original(
                name=f"isolation-{name.lower()}",
                title=f"Tables 5.6 to 5.11: {name} next to neighbours that misbehave",
                tables=_STRESS,
                form=Form.MAP,
                bars=("experiment", "scenario", "level"),
                workload=name,
                note=_STRESS_NOTE,
            )
            for name in ("SPECweb", "TPC-DS", "TeraSort")
        ),
        Original(
            name="scalability",
            title="Section 6.1: compiling Apache httpd, many at once",
            tables=("section 6.1.1 (text)", "section 6.1.2 (text)", "section 6.1 (text)"),
            panels=("experiment",),
            bars=("metric", "platform"),
        ),
    ),
    "cole2022": (
        *(
            Original(
                name=name,
                title=f"Section 6: sysbench fileio, {words}",
                tables=(f"6 {name}",),
                panels=("metric",),
            )
            for name, words in (("seqwr", "sequential writing"), ("rndwr", "random writing"))
        ),
        *(
            Original(
                name=f"prime-{prime}",
                title=f"Section 6: sysbench cpu, primes up to {prime:,}",
                tables=(f"6 prime {prime}",),
                panels=("metric",),
            )
            for prime in (100, 100_000)
        ),
    ),
    "hpe2016": (
        Original(
            name="java",
            title="Java: Docker against KVM",
            tables=("Java summary", "Java (text)"),
            bars=("level", "against"),
        ),
        Original(
            name="lifecycle",
            title="OpenStack and Rally: time that Docker saves against KVM",
            tables=("OpenStack/Rally",),
            panels=("metric",),
            bars=("workload",),
            note="The study has Docker faster by so much; that this is time saved is our reading.",
        ),
        Original(
            name="database",
            title="Figure 22: transactions of MySQL",
            tables=("Figure 22 (text)",),
            panels=("workload",),
            bars=("metric", "level"),
            note="The smallest and the largest of its differences, of docker volume against kvm.",
        ),
        Original(
            name="containers",
            title="Figure 23: one container and thirty",
            tables=("Figure 23 (text)",),
            bars=("level",),
        ),
        Original(
            name="linpack",
            title="Figure 25: LINPACK",
            tables=("Figure 25 (text)",),
            panels=("workload",),
            bars=("against",),
        ),
        Original(
            name="fio",
            title="Figure 28: writing with fio",
            tables=("Figure 28 (text)",),
            bars=("against",),
        ),
        Original(
            name="netperf",
            title="Figures 29 and 30: netperf",
            tables=("Figures 29-30 (text)",),
            panels=("workload",),
            bars=("against",),
        ),
        Original(
            name="spread",
            title="Figures 31 and 32: spread of ten runs of netperf",
            tables=("Figures 31-32 (text)",),
            panels=("metric",),
            bars=("workload",),
        ),
    ),
}

UNDRAWN: Mapping[str, Mapping[str, str]] = {
    "huang2019": {
        "Table 5.2": "limits that it set on its stressors",
        "Table 5.3": "what its applications use by themselves",
        "Table 5.5": "how many stressors it ran",
        "Table 5.2 (commands)": "the same limits as its commands set them",
        "abstract (text)": "its largest differences",
        "introduction (text)": "what reservations give back",
        "section 4 (text)": "what the text says of Tables 4.1 and 4.2",
        "section 5 (text)": "what the text says of Tables 5.6 to 5.10",
    },
    "laine2017": {
        "Table 2 (text)": "what the text says of Table 2",
        "section 3 (text)": "what the text says of Table 4",
    },
    "cole2022": {"6 prime 100 (screenshots)": "single runs"},
    "hpe2016": {
        "Figure 11 (text)": "the memory that the kernel of a virtual machine takes",
        "AIM7 (text)": "the host of its multiuser test",
        "STREAM (text)": "a verdict in words",
        "fio (text)": "verdicts in words",
    },
}
"""Tables of studies that are no figures, and what is in them."""
