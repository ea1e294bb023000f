"""What every drawing has to keep, whatever it shows."""

import re

from tare.present.page.render import PHONE, WIDE, svg
from tare.present.view.theme import DARK


def assert_drawable(figure):
    """See at both widths that it fits, has a dark colour for each of its own, and says no NaN."""
    for width in (WIDE, PHONE):
        picture = svg(figure.draw(width))
        assert float(re.search(r' width="([\d.]+)"', picture)[1]) <= 1.04 * width + 10
        assert_dark(picture)
        for wrong in ("NaN", "undefined", "<script"):
            assert wrong not in picture, (figure.name, width)


def assert_dark(markup):
    """See that every colour in it has one for the dark."""
    colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', markup))
    assert colours - {"none", "transparent"} <= DARK.keys()
