"""Colours of charts and page: one light set, and what each becomes in the dark.

A chart is drawn once, in light colours, as a file that can stand alone. In the page a style sheet
replaces its colours in the dark: a mark is found by the colour it was drawn in.
"""

from __future__ import annotations

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
}

# Arial's widths are known wherever a chart is drawn, so labels fit wherever it is looked at.
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
    """Give each platform its colour, the same in all charts; the first is the baseline."""
    own = {name: SERIES[i % len(SERIES)] for i, name in enumerate(platforms[1:])}
    return {platforms[0]: BASELINE, **own} if platforms else {}


def variables(platforms: tuple[str, ...]) -> dict[str, str]:
    """Name the page's variable that holds each platform's colour."""
    own = {colour: f"var(--series-{i})" for i, colour in enumerate((BASELINE, *SERIES))}
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
    names |= {f"series-{i}": colour for i, colour in enumerate((BASELINE, *SERIES))}
    light = " ".join(f"--{name}: {colour};" for name, colour in names.items())
    dark = " ".join(f"--{name}: {DARK[colour]};" for name, colour in names.items())
    return (
        f":root {{ {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    )
