"""Draws charts by Vega, with the fonts that it brings: a chart looks the same on every host.

The host's own fonts are left aside. Vega's are in memory; the file of one of the host's is opened
again for every letter, which took half of a report's time.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from threading import Event, Lock

import vl_convert

from tare.present.charts.canvas import Canvas
from tare.present.charts.figure import Spec

_VEGA_LITE = "5.21"
_FONTS = "FONTCONFIG_FILE"
_UNDRAWABLE = re.compile(
    r"((?<!\\)(?:\\\\)*)\\(?:u00[01][0-9a-f]|[bf])"  # a control character, as JSON has it
    "|[\u2028\u2029\ud800-\udfff\ufffe\uffff]"
)
"""What is no character of XML, and what ends a line of a program's text: Vega makes programs."""
_awake = Event()
_fonts_lock = Lock()


def svg(picture: Spec | Canvas) -> str:
    """Draw a picture; nothing is fetched."""
    if isinstance(picture, Canvas):
        return picture.svg()
    with _fonts_lock:
        _choose_fonts()
    _awake.set()
    text = _drawable(picture)
    drawn: str = vl_convert.vegalite_to_svg(text, vl_version=_VEGA_LITE, allowed_base_urls=[])
    return drawn


def _drawable(spec: Spec) -> str:
    """Write a chart as JSON, with a sign in place of each character that no drawing can have.

    Tools print them, and what a tool said last is the reason why its trial failed.
    """
    return _UNDRAWABLE.sub("\\1\N{REPLACEMENT CHARACTER}", json.dumps(spec, ensure_ascii=False))


def is_awake() -> bool:
    """Whether Vega has drawn in this process: it then has a thread, which a fork does not have."""
    return _awake.is_set()


def write_figure(drawn: str, stem: Path) -> list[Path]:
    """Write a chart that was drawn as SVG, PNG and PDF; the stem's name may have full stops."""
    paths = [stem.with_name(f"{stem.name}.{suffix}") for suffix in ("svg", "png", "pdf")]
    with _fonts_lock:
        _choose_fonts()
    paths[0].write_text(drawn, encoding="utf-8")
    paths[1].write_bytes(vl_convert.svg_to_png(drawn, scale=2))
    paths[2].write_bytes(vl_convert.svg_to_pdf(drawn))
    return paths


@cache
def _choose_fonts() -> None:
    """Have the fonts read, which happens once in a process; its environment is as it was after."""
    before = os.environ.get(_FONTS)
    with as_file(files("tare.present.charts") / "fonts.conf") as ours:
        os.environ[_FONTS] = str(ours)
        try:
            vl_convert.svg_to_png('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>')
        finally:
            if before is None:
                del os.environ[_FONTS]
            else:
                os.environ[_FONTS] = before
