"""Writes a study's figures: each as SVG, PNG and PDF, and one page with all of them.

What is ours alone is written as numbers, too: as tables in the page, as Markdown and as CSV.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tare.core.errors import ConfigError
from tare.present.charts.figure import Figure
from tare.present.charts.vega import svg, write_figure
from tare.present.page.render import PHONE, WIDE, inline
from tare.present.page.templating import environment
from tare.present.redrawn import drawn, figures, own_figures, undrawn
from tare.present.redrawn.own_tables import OwnTable, own_tables, table_notes, write_tables
from tare.present.view.theme import dark_rules, page_colours
from tare.results.published.rows import source
from tare.results.published.study_comparison import Ours, compared_with


@dataclass(frozen=True, slots=True)
class _Part:
    """What the page shows below one heading: a figure, tables with notes, or both."""

    name: str
    title: str
    figure: Figure | None
    tables: Sequence[OwnTable] = ()
    notes: str = ""


def write_figures(study: str, into: Path, ours: Ours | None = None) -> list[Path]:
    """Write the page STUDY.html, figures and tables into a folder; list them, the page first.

    ConfigError if there is no such study, or the files cannot be written.
    """
    own = own_figures(study, ours) if ours else []
    filled = [one for one in own if one.results]
    parts = [_Part(one.name, one.title, one) for one in figures(study, ours)]
    parts += [
        _Part(one.name, one.title, drawn(one), own_tables(one), " ".join(table_notes(one)))
        for one in filled
    ]
    rest = undrawn(study, own if ours else None)
    try:
        into.mkdir(parents=True, exist_ok=True)
        files, sections = [], []
        # Vega draws in a thread of its own, and takes half a second to wake up.
        with ThreadPoolExecutor(1) as artist:
            sheets = [
                [artist.submit(svg, part.figure.draw(width)) for width in (WIDE, PHONE)]
                if part.figure
                else []
                for part in parts
            ]
            for part, sheet in zip(parts, sheets, strict=True):
                chart = None
                if part.figure is not None:
                    wide, phone = (one.result() for one in sheet)
                    files += write_figure(wide, into / part.name)
                    chart = _chart(part.figure, wide, phone)
                sections.append({"part": part, "chart": chart})
        if filled:
            files += write_tables(study, filled, into)
        page = into / f"{study}.html"
        page.write_text(_page(study, sections, ours, rest), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{into}: the figures cannot be written: {error}") from error
    return [page, *files]


def _chart(figure: Figure, wide: str, phone: str) -> Mapping[str, str]:
    return {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "wide": Markup(inline(wide, figure, "wide")),  # noqa: S704 - drawn by us, escaped by Vega
        "phone": Markup(inline(phone, figure, "phone")),  # noqa: S704 - the same
    }


def _page(study: str, sections: Sequence[Mapping[str, Any]], ours: Ours | None, rest: str) -> str:
    templates = environment()
    return templates.get_template("redrawn.html").render(
        study=study,
        source=source(study),
        ours=ours.plan.study if ours else "",
        sections=sections,
        tables=any(one["part"].tables for one in sections),
        undrawn=rest,
        caveats=compared_with(study, ours).caveats if ours else (),
        script_digest="",  # the page has no script
        style=Markup(templates.get_template("style.css").render()),  # noqa: S704 - our own
        colours=Markup(page_colours()),  # noqa: S704 - our own
        dark_rules=Markup(dark_rules()),  # noqa: S704 - our own
    )
