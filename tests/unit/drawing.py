"""What every drawing has to keep, whatever it shows, and what stands on a canvas."""

import re

from tare.present.charts.canvas import Polyline, Text
from tare.present.charts.lanes import HEIGHT
from tare.present.page.render import PHONE, WIDE, svg
from tare.present.view.theme import DARK, FAINT


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


def marks(canvas, kind, **style):
    """List the marks of a kind that have a style."""
    return [
        one
        for one in canvas.marks
        if isinstance(one, kind)
        if all(getattr(one, name) == value for name, value in style.items())
    ]


def words(canvas):
    """List the texts of a canvas."""
    return [one.text for one in marks(canvas, Text)]


def text_boxes(canvas):
    """List texts with the box that each of them takes: left, right, top, bottom."""
    boxes = []
    for one in marks(canvas, Text):
        (x, y), wide, high = one.place, 0.5 * one.size * len(one.text), 0.8 * one.size
        if one.upright:
            boxes.append((one.text, x - high / 2, x + high / 2, y - wide, y))
        else:
            left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[one.align] * wide
            boxes.append((one.text, left, left + wide, y - high / 2, y + high / 2))
    return boxes


def assert_texts_apart(canvas):
    """See that no text lies on another or outside."""
    boxes = text_boxes(canvas)
    for place, (text, left, right, top, bottom) in enumerate(boxes):
        assert left >= -3, text
        assert right <= canvas.width + 6, text
        assert bottom <= canvas.height + 2, text
        for other, its_left, its_right, its_top, its_bottom in boxes[:place]:
            apart = right <= its_left or its_right <= left or bottom <= its_top
            assert apart or its_bottom <= top, (text, other)


def lane_heads(canvas):
    """List the names of the lanes of a canvas, and their notes."""
    texts = marks(canvas, Text)
    return [
        (one, texts[place + 1]) for place, one in enumerate(texts) if one.bold and one.size == 12
    ]


def lane_share(canvas, lane, y):
    """Return how high a pixel lies in a lane: 0 at its foot, 1 at its top."""
    foot = lane_heads(canvas)[lane][0].place[1] + 32 + HEIGHT
    return round((foot - y) / HEIGHT, 4)


def in_lane(canvas, lane, one):
    """Return whether a mark lies in a lane."""
    places = one.places if isinstance(one, Polyline) else [one.place]
    return all(-0.2 <= lane_share(canvas, lane, y) <= 1.2 for _, y in places)


def along(canvas, x, span):
    """Return the value of a pixel on an axis without margins that spans so much from 0."""
    rules = [one.places for one in marks(canvas, Polyline, stroke=FAINT)]
    (left, _), (right, _) = next(ends for ends in rules if ends[0][1] == ends[1][1])
    return round(span * (x - left) / (right - left), 4)
