"""Writes a study's figures: each as SVG, PNG and PDF, and one page with all of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from markupsafe import Markup

from tare.errors import ConfigError
from tare.published.beside import Ours
from tare.published.rows import source
from tare.redrawn import figures, undrawn
from tare.report.figures.figure import Figure
from tare.report.render import PHONE, WIDE, inline
from tare.report.templating import environment
from tare.report.theme import dark_rules, page_colours
from tare.report.vega import svg, write_figure


def write(study: str, into: Path, ours: Ours | None) -> list[Path]:
    """Write the page STUDY.html and the figures into a folder; list them, the page first."""
    drawn = list(figures(study, ours))
    try:
        into.mkdir(parents=True, exist_ok=True)
        files, charts = [], []
        # Vega draws in a thread of its own, and takes half a second to wake up.
        with ThreadPoolExecutor(1) as artist:
            sheets = [
                (one, [artist.submit(svg, one.draw(width)) for width in (WIDE, PHONE)])
                for one in drawn
            ]
            for figure, (wide, phone) in sheets:
                files += write_figure(wide.result(), into / figure.name)
                charts.append(_chart(figure, wide.result(), phone.result()))
        page = into / f"{study}.html"
        page.write_text(_page(study, charts, ours), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{into}: the figures cannot be written: {error}") from error
    return [page, *files]


def _chart(figure: Figure, wide: str, phone: str) -> dict[str, str]:
    return {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "wide": Markup(inline(wide, figure, "wide")),  # noqa: S704 - drawn by us, escaped by Vega
        "phone": Markup(inline(phone, figure, "phone")),  # noqa: S704 - the same
    }


def _page(study: str, charts: list[dict[str, str]], ours: Ours | None) -> str:
    templates = environment()
    return templates.get_template("redrawn.html").render(
        study=study,
        source=source(study),
        ours=ours.plan.study if ours else "",
        charts=charts,
        undrawn=undrawn(study),
        script_digest="",  # the page has no script
        style=Markup(templates.get_template("style.css").render()),  # noqa: S704 - our own
        colours=Markup(page_colours()),  # noqa: S704 - our own
        dark_rules=Markup(dark_rules()),  # noqa: S704 - our own
    )
