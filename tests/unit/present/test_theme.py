"""Colours: which platform has which, and which stand for something else."""

import re
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from tare.present.charts.timelines import COLOURS
from tare.present.view import theme
from unit.invented import names

PLATFORMS = [theme.BASELINE, *theme.SERIES, *theme.MORE]
PARTS = {theme.WORSE, theme.BETTER, theme.BAD, theme.BAND, *COLOURS.values()}
MODES = {"light": {one: one for one in (*theme.DARK, theme.INK)}, "dark": theme.DARK}


def linear(colour):
    for place in (1, 3, 5):
        share = int(colour[place : place + 2], 16) / 255
        yield share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def contrast(one, other):
    """By WCAG 2.2: 3 is asked of a mark, 4.5 of a text."""
    weights = (0.2126, 0.7152, 0.0722)
    lights = sorted(
        sum(weight * part for weight, part in zip(weights, linear(colour), strict=True))
        for colour in (one, other)
    )
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def apart(one, other):
    """How far two colours are apart in Oklab (Ottosson 2020), of 100 from black to white."""
    long, middle, short = (
        (0.4122214708, 0.5363325363, 0.0514459929),
        (0.2119034982, 0.6806995451, 0.1073969566),
        (0.0883024619, 0.2817188376, 0.6299787005),
    )
    rows = (
        (0.2104542553, 0.7936177850, -0.0040720468),
        (1.9779984951, -2.4285922050, 0.4505937099),
        (0.0259040371, 0.7827717662, -0.8086757660),
    )
    places = []
    for colour in (one, other):
        light = tuple(linear(colour))
        cones = [
            sum(a * b for a, b in zip(cone, light, strict=True)) ** (1 / 3)
            for cone in (long, middle, short)
        ]
        places.append([sum(a * b for a, b in zip(row, cones, strict=True)) for row in rows])
    return 100 * sum((a - b) ** 2 for a, b in zip(*places, strict=True)) ** 0.5


def test_twelve_platforms_have_a_colour_each_and_the_page_knows_them():
    platforms = tuple(names(12))
    assert list(theme.colours(platforms).values()) == PLATFORMS
    assert len(set(theme.variables(platforms).values())) == 12
    written = theme.page_colours()
    for variable in theme.variables(platforms).values():
        name = re.escape(variable.removeprefix("var(").removesuffix(")"))
        light, dark = re.findall(rf"{name}: (#\w+);", written)
        assert theme.DARK[light] == dark


def test_after_twelve_the_colours_begin_again():
    platforms = tuple(names(20))
    assert list(theme.colours(platforms)) == list(platforms)
    assert theme.colours(platforms)[platforms[12]] == theme.SERIES[0]
    assert theme.colours(()) == {}


@pytest.mark.parametrize("mode", MODES)
def test_platforms_are_told_apart_from_each_other_and_from_paper(mode):
    shown = [MODES[mode][one] for one in PLATFORMS]
    assert min(apart(one, other) for one, other in combinations(shown, 2)) > 6
    assert min(contrast(one, MODES[mode][theme.PAPER]) for one in shown) > 3


@pytest.mark.parametrize("mode", MODES)
def test_no_part_and_no_verdict_has_the_colour_of_a_platform(mode):
    of = MODES[mode]
    assert min(apart(of[part], of[one]) for part in PARTS for one in PLATFORMS) > 4
    assert contrast(of[theme.WORSE], of[theme.PAPER]) > 4.5
    assert contrast(of[theme.BETTER], of[theme.PAPER]) > 4.5
    assert contrast(of[theme.SYSTEM], of[theme.PAPER]) > 3


@pytest.mark.parametrize("mode", MODES)
def test_parts_that_lie_upon_each_other_are_told_apart(mode):
    order = [theme.USER, theme.SYSTEM, theme.HOST_REST, theme.WAIT, theme.STOLEN]
    upon = [*pairwise(order), (theme.UNDIVIDED, theme.HOST_REST)]
    for one, other in [*upon, (theme.USER, theme.FILES), (theme.HOST_ALL, theme.WAIT)]:
        assert apart(MODES[mode][one], MODES[mode][other]) > 8, (one, other)


def test_where_nothing_has_the_widths_of_arial_letters_are_narrowed():
    style = (Path(theme.__file__).parents[1] / "page/templates/style.css").read_text()
    (families,) = re.findall(r"\.chart text \{ font-family: ([^;]+);", style)
    *first, last = families.replace('"', "").split(", ")
    assert [*first, last] == [*theme.FONT.split(", ")[:-1], "narrowed", "sans-serif"]
    assert len(re.findall(r"font-family: narrowed; .*src: local\(.*size-adjust: 8", style)) == 2
