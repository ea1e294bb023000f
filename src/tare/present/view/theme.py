"""Colours of charts and page: one light set, and what each becomes in the dark.

A chart is drawn once, in light colours, as a file that can stand alone. In the page a style sheet
replaces its colours in the dark: a mark is found by the colour it was drawn in.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

INK = "#1b1f24"
MUTED = "#5d6570"
FAINT = "#dfe3e8"
PAPER = "#fefefe"
BAND = "#e4efe6"
BAD = "#c0272d"

BASELINE = "#6f7782"
SERIES = ("#0067a5", "#cc5200", "#00866a", "#9a4c95", "#9c7400", "#3c7fc9", "#a3394f")
"""Blue, vermilion, green, purple, ochre, light blue, wine: after Okabe and Ito, whom people of all
kinds of colour vision can follow, and darker, so that small marks stand out from white."""
MORE = ("#262a6e", "#2f5200", "#a04fe6", "#5c2410")
"""Navy, forest green, violet, brown, for the eighth platform but the baseline and those after it:
no kind of colour vision tells twelve hues apart, so these differ in lightness too."""

WORSE, BETTER = "#9a4a0a", "#4b46a8"
"""Sienna and indigo: people of all kinds of colour vision tell them apart, no platform has them."""

USER, SYSTEM, UNDIVIDED, FILES = "#93b7d3", "#557fa3", "#7399b8", "#cbdde9"
HOST_REST, HOST_ALL, WAIT, STOLEN = "#c3c8ce", "#9aa0a8", "#e2d39a", "#d79c8c"
"""What CPU time and memory are made of, in greyed colours: full ones are platforms. What belongs
to the layer is a blue, to the rest of the host a grey, and what nobody could use is warm."""

DARK = {
    INK: "#e9ecf0",
    MUTED: "#a2abb7",
    FAINT: "#343a42",
    PAPER: "#14171b",
    BAND: "#1d2f25",
    BAD: "#ff7a70",
    BASELINE: "#9aa3af",
    "#0067a5": "#56b1f0",
    "#cc5200": "#ff9350",
    "#00866a": "#35c4a0",
    "#9a4c95": "#d994d3",
    "#9c7400": "#e3bb45",
    "#3c7fc9": "#8fbcff",
    "#a3394f": "#f08398",
    "#262a6e": "#5b70e6",
    "#2f5200": "#74a82a",
    "#a04fe6": "#a765ff",
    "#5c2410": "#b0714c",
    WORSE: "#d98c54",
    BETTER: "#9c97f5",
    USER: "#4a7596",
    SYSTEM: "#8fb6d6",
    UNDIVIDED: "#6690af",
    FILES: "#35566f",
    HOST_REST: "#545c66",
    HOST_ALL: "#737b86",
    WAIT: "#8a7c4a",
    STOLEN: "#96524a",
}

# Arial's widths are known wherever a chart is drawn. Where none of these is, a page narrows what
# stands in for them (style.css), so that labels fit.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"

CONFIG: dict[str, Any] = {
    "background": PAPER,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": MUTED,
        "titleColor": MUTED,
        "gridColor": FAINT,
        "domainColor": FAINT,
        "tickColor": FAINT,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelLimit": 0,
    },
    "axisY": {"labelColor": INK, "domain": False, "ticks": False, "labelPadding": 8},
    "header": {"labelColor": INK, "labelFontSize": 12, "labelFontWeight": "bold", "title": None},
    "legend": {
        "labelColor": INK,
        "labelFontSize": 12,
        "symbolFillColor": MUTED,
        "symbolStrokeColor": MUTED,
        "symbolStrokeWidth": 1.5,
        "title": None,
    },
    "text": {"color": INK, "fontSize": 12},
}


def colours(platforms: tuple[str, ...]) -> dict[str, str]:
    """Return each platform its colour, the same in all charts; the first is the baseline.

    Only after twelve the colours begin again: a platform is named in words wherever it is drawn.
    """
    own = dict(zip(platforms[1:], cycle((*SERIES, *MORE)), strict=False))
    return {platforms[0]: BASELINE, **own} if platforms else {}


def variables(platforms: tuple[str, ...]) -> dict[str, str]:
    """Name the page's variable that holds each platform's colour."""
    own = {colour: f"var(--series-{i})" for i, colour in enumerate((BASELINE, *SERIES, *MORE))}
    return {name: own[colour] for name, colour in colours(platforms).items()}


def dark_rules() -> str:
    """Write the style sheet that turns light charts dark."""
    return "\n".join(
        f'.chart [{attribute}="{light}"] {{ {attribute}: {dark} }}'
        for light, dark in DARK.items()
        for attribute in ("fill", "stroke")
    )


def page_colours() -> str:
    """Write the page's own colours as variables, light and dark."""
    names = {"ink": INK, "muted": MUTED, "faint": FAINT, "paper": PAPER, "band": BAND, "bad": BAD}
    names |= {"worse": WORSE, "better": BETTER, "layer": SYSTEM}
    names |= {f"series-{i}": colour for i, colour in enumerate((BASELINE, *SERIES, *MORE))}
    light = " ".join(f"--{name}: {colour};" for name, colour in names.items())
    dark = " ".join(f"--{name}: {DARK[colour]};" for name, colour in names.items())
    return (
        f":root {{ {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    )
