"""Whatever a study file holds, it is read or every problem is named with its line."""

import re
from importlib.resources import files

from hypothesis import given
from hypothesis import strategies as st

from tare.core.errors import ConfigError
from tare.experiment.study import preset_names, read_study
from unit.properties import PROPERTY

PRESETS = [
    (files("tare.experiment.study") / "presets" / f"{name}.yaml").read_text()
    for name in preset_names()
]
PLACE = re.compile(r"study\.yaml:(\d+)(:\d+)?: .")
PART = re.compile(r"[\w.%/-]+|[^\w\s]|\n *|#.*")
PARTS = sorted({part for text in PRESETS for part in PART.findall(text) if part[0] != "#"})
ODD = [
    *(
        "",
        " ",
        "-",
        ":",
        ": ",
        "{",
        "}",
        "[",
        "]",
        "&a ",
        "*a",
        "!!int ",
        "!x ",
        "|",
        ">",
        "'",
        '"',
    ),
    *(
        "\t",
        "\0",
        "\n",
        "\n  ",
        "? ",
        "<<: *a",
        "\n---\n",
        "\n...\n",
        "\u2028",
        "\ufeff",
        "\U0001f600",
    ),
    *("9" * 30, "9" * 5000, "-1", "0", "1e999", ".nan", ".inf", "0o7", "1_0", "null", "~", "true"),
    *("[]", "{}", "[[]]", "{a: b}", "{quick: 1, full: 2}", "auto", "duet", "2026-01-01", "1:30"),
]
WORDS = st.one_of(st.sampled_from(PARTS), st.sampled_from(ODD), st.text(max_size=4))


@st.composite
def broken(draw):
    """A study that comes with Tare, some parts of which are replaced, removed or repeated."""
    text = draw(st.sampled_from(PRESETS))
    for _ in range(draw(st.integers(1, 4))):
        found = list(PART.finditer(text))
        begin = draw(st.integers(0, len(found) - 1)) if found else 0
        end = min(len(found), begin + draw(st.sampled_from([0, 1, 1, 1, 1, 2, 10])))
        at = [one.start() for one in found] + [len(text)]
        new = draw(WORDS | st.just(2 * text[at[begin] : at[end]]))
        text = text[: at[begin]] + new + text[at[end] :]
    return text


def check(text):
    try:
        study = read_study(text, "study.yaml")
    except ConfigError as error:
        for line in str(error).splitlines():
            place = PLACE.match(line)
            assert place, line
            assert 1 <= int(place[1]) <= len(text.splitlines()) + 1
    else:
        assert study.source == text
        assert study.baseline in [platform.name for platform in study.platforms]


@PROPERTY
@given(broken())
def test_a_preset_with_any_mistake_is_read_or_every_problem_has_its_line(text):
    check(text)


@PROPERTY
@given(st.one_of(st.text(), st.lists(WORDS).map(" ".join)))
def test_any_text_is_read_or_every_problem_has_its_line(text):
    check(text)
