"""HTML from templates, which escape all text: names and reasons come from files and guests."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote, unquote

from jinja2 import Environment

from tare.present.page.templating import environment
from tare.present.view import numbers
from tare.present.view.theme import dark_rules, page_colours


def whole(title: str, body: str) -> str:
    """Put the body of a page into what is the same for all."""
    return _templates().get_template("page.html").render(title=title, body=body)


def problem(title: str, text: str) -> str:
    """Make a page that says what is not there."""
    return whole(title, macro("page.html", "sentence")(text))


def macro(template: str, name: str) -> Any:  # noqa: ANN401 - what a template defines
    """Return a part of a page that a template defines: a function that gives its HTML."""
    return getattr(_module(template), name)


def style() -> str:
    """Write the style sheet."""
    dark = f"@media screen and (prefers-color-scheme: dark) {{ {dark_rules()} }}"
    return f"{page_colours()}\n{_own('style.css')}\n{dark}"


def script() -> str:
    """Write the script that replaces the parts that change."""
    return _own("script.js")


def quoted(name: str) -> str:
    """Write the name of a folder as addresses have it: a name need not be UTF-8, an address is."""
    return quote(name, safe="", errors="surrogateescape")


def unquoted(text: str) -> str:
    """Read what ``quoted`` wrote."""
    return unquote(text, errors="surrogateescape")


def study_url(name: str) -> str:
    """Return where the page of a study is."""
    return f"/study/{quoted(name)}"


def file_url(name: str, inner: str) -> str:
    """Return where a file of a study is."""
    return f"/files/{quoted(name)}/{quote(inner, errors='surrogateescape')}"


def _own(name: str) -> str:
    return (
        resources.files("tare.present.live").joinpath("templates", name).read_text(encoding="utf-8")
    )


def _moment(at: datetime | float) -> str:
    """Write a time of this host's clock; without the date if it is today's."""
    at = datetime.fromtimestamp(at).astimezone() if isinstance(at, float) else at
    today = datetime.now().astimezone().date()
    return f"{at:%H:%M:%S}" if at.date() == today else f"{at:%Y-%m-%d %H:%M:%S}"


@cache
def _templates() -> Environment:
    templates = environment("tare.present.live")
    templates.globals |= {
        "numbers": numbers,
        "quoted": quoted,
        "study_url": study_url,
        "file_url": file_url,
        "moment": _moment,
    }
    return templates


@cache
def _module(template: str) -> Any:  # noqa: ANN401
    return _templates().get_template(template).module
