"""Figures and tables of studies that are drawn of our own results alone, in the study's form.

Of most of them the studies print no values, so nothing can be compared. The set-ups and levels are
those of the studies; where it is not known what a numbered figure shows, none is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tare.core.model import Scalar
from tare.results.published.by_study import cole2022
from tare.results.published.counterparts import Measure
from tare.results.published.originals import ORIGINALS
from tare.results.published.rows import Row, Statistic

NO_VALUES = "The study prints no values of it, so nothing is compared: all of it is ours."
NO_FIGURE_KNOWN = "Which of its figures shows it is not known here."


class OwnForm(StrEnum):
    """How our results are shown."""

    LINES = "lines"
    """A line for each platform along one parameter, a panel for each value of another."""
    BARS = "bars"
    TABLE = "table"
    """No picture: runs, mean, range and deviation by platform and limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unprinted:
    """A figure or table of a study that our results alone are shown in.

    ``platforms`` are the study's own names of what it had in it. ``levels`` are its levels of
    parameters; of lines ``along`` is the parameter of the horizontal axis and ``panels`` that of
    the panels, both among ``levels``, and ``axes_text`` names the upright and the horizontal axis.
    ``about`` says what the study prints of it, ``note`` what
    else it is to be read with.
    """

    name: str
    title: str
    form: OwnForm
    measures: tuple[Measure, ...]
    platforms: tuple[str, ...]
    levels: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    along: str = ""
    panels: str = ""
    axes_text: tuple[str, str] = ("", "")
    about: str = NO_VALUES
    note: str = ""

    @property
    def axes(self) -> tuple[str, ...]:
        """The parameters that have an axis or panels, if any."""
        return tuple(one for one in (self.along, self.panels) if one)


def unprinted(study: str, rows: Sequence[Row]) -> tuple[Unprinted, ...]:
    """List what of a study is shown by our results alone; ``rows`` are all that it prints."""
    return (*UNPRINTED.get(study, ()), *(_tables(rows) if study == "cole2022" else ()))


def _tables(rows: Sequence[Row]) -> Sequence[Unprinted]:
    """List the tables of cole2022: mean, range and deviation by platform and limits."""
    return [
        Unprinted(
            name=f"{original.name}-table",
            title=f"{original.title}: its table, of results here",
            form=OwnForm.TABLE,
            measures=_measures(original.rows(rows)),
            platforms=tuple(dict.fromkeys(row.platform for row in original.rows(rows))),
            about=(
                "The study's own numbers are in the figure of this section; this is the form of "
                "its table, filled with results here alone. The study has mean, minimum, maximum "
                "and standard deviation of five runs; median and interval are added."
            ),
        )
        for original in ORIGINALS["cole2022"]
    ]


def _measures(rows: Sequence[Row]) -> tuple[Measure, ...]:
    known: list[Measure] = []
    for row in rows:
        if row.statistic is Statistic.MEAN:
            known += [one for one in cole2022.measures(row) if one not in known]
    return tuple(known)


_SERVERS = {"apache": "Apache", "lighttpd": "lighttpd", "nginx": "nginx"}
_LAINE = ("native", "docker", "kvm")
_WEB_LEVELS: Mapping[str, tuple[Scalar, ...]] = {
    "clients": (50, 100, 200),
    "requests": (5000, 10000, 20000, 30000, 40000, 50000, 70000, 100000),
}
_WEB_NOTE = (
    "The study repeated a run with failed requests until none failed, except on KVM with 200 "
    "clients; nothing is repeated here."
)
_HPE = ("docker", "kvm")

UNPRINTED: Mapping[str, tuple[Unprinted, ...]] = {
    "laine2017": tuple(
        Unprinted(
            name=f"web-{server}-{name}",
            title=f"Figures 14 to 19: {written}, {what}",
            form=OwnForm.LINES,
            measures=(Measure("web_ab", metric, {"server": server}),),
            platforms=_LAINE,
            levels=_WEB_LEVELS,
            along="requests",
            panels="clients",
            axes_text=(what, "number of requests"),
            note=_WEB_NOTE,
        )
        for server, written in _SERVERS.items()
        for name, metric, what in (
            ("rate", "requests", "requests a second"),
            ("time", "tool_duration", "time of the test"),
        )
    ),
    "hpe2016": (
        Unprinted(
            name="memory",
            title="Figure 24: sysbench memory",
            form=OwnForm.BARS,
            measures=(Measure("sysbench_memory", "bandwidth"),),
            platforms=_HPE,
            note=(
                "The study ran it in one instance and in thirty at once; thirty at once are not "
                "measured by any scenario of Tare."
            ),
        ),
        Unprinted(
            name="stream",
            title="STREAM",
            form=OwnForm.BARS,
            measures=tuple(Measure("stream", loop) for loop in ("copy", "scale", "add", "triad")),
            platforms=_HPE,
            note=f"{NO_FIGURE_KNOWN} It calls the platforms comparable.",
        ),
        Unprinted(
            name="fio-read",
            title="fio: reading",
            form=OwnForm.BARS,
            measures=tuple(
                Measure("fio", metric, {"pattern": pattern})
                for pattern, metric in (
                    *(("read", "throughput"), ("read", "requests")),
                    *(("randread", "throughput"), ("randread", "requests")),
                )
            ),
            platforms=_HPE,
            note=(
                f"{NO_FIGURE_KNOWN} It calls reads and requests a second comparable, not naming "
                "patterns: here are sequential and random reading."
            ),
        ),
        Unprinted(
            name="multiuser",
            title="In place of AIM7: many users who do a mix of jobs",
            form=OwnForm.BARS,
            measures=(Measure("multiuser", "jobs"),),
            platforms=_HPE,
            note=(
                f"{NO_FIGURE_KNOWN} AIM7 itself is not run here: the mix of multiuser is made "
                "after it and can be compared with itself only."
            ),
        ),
    ),
}
