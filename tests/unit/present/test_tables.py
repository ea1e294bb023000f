"""Tables in a terminal stay readable where it is narrow."""

import re

import pytest
from rich.console import Console
from rich.text import Text

from tare import cli
from tare.present.terminal.tables import Field, print_table, wrapped
from tare.results.published import studies
from tare.results.published.rows import load


def printed(capsys, width, fields, rows):
    print_table(Console(width=width), fields, rows)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_names_wrap_at_their_parts_and_short_words_never():
    assert wrapped("native(CoreOS)/docker", 10) == "native\n(CoreOS)/\ndocker"
    assert wrapped("sysbench cpu --cpu-max-prime=100", 18) == "sysbench cpu\n--cpu-max-prime=\n100"
    assert wrapped("1,000 events/s", 8) == "1,000\nevents/s"
    assert wrapped("tcp: latency_p90", 14) == "tcp:\nlatency_p90"
    assert wrapped("a\nb", 8) == "a\nb"


def test_a_part_that_is_too_long_is_broken_within():
    assert wrapped("x" * 12, 5) == "xxxxx\nxxxxx\nxx"


def test_with_room_for_all_nothing_is_left_out(capsys):
    fields = [Field("what"), Field("value", number=True, weight=0)]
    assert printed(capsys, 40, fields, [("copy", "1.5"), ("add", "2.5")]) == [
        "what  value",
        "copy    1.5",
        "add     2.5",
    ]


def test_columns_are_left_out_by_weight_and_named(capsys):
    fields = [
        *(Field("platform"), Field("mean", number=True)),
        *(Field("sd", number=True, weight=2), Field("p", number=True, weight=1)),
    ]
    rows = [("native", "1,234.5", "10.25", "0.001"), ("docker", "1,300.5", "12.25", "0.002")]

    assert printed(capsys, 26, fields, rows)[0] == "platform     mean     sd"
    assert printed(capsys, 26, fields, rows)[3].startswith("No room for: p.")
    assert printed(capsys, 18, fields, rows)[0] == "platform     mean"
    assert printed(capsys, 18, fields, rows)[3].startswith("No room for: p,")


def test_what_all_rows_share_becomes_a_note_where_there_is_no_room(capsys):
    fields = [Field("what"), Field("against"), Field("cost", number=True)]
    rows = [("copy", "the same platform", "1.5"), ("add", "the same platform", "2.5")]

    assert "the same platform" in printed(capsys, 40, fields, rows)[1]
    assert printed(capsys, 22, fields, rows) == [
        "what  cost",
        "copy   1.5",
        "add    2.5",
        "against in all rows:",
        "the same platform",
    ]


def test_what_has_a_colour_stays_in_its_row(capsys):
    fields = [Field("what"), Field("verdict"), Field("cost", number=True, weight=1)]
    rows = [(what, Text("undecided", "yellow"), "1.5") for what in ("copy", "add")]

    assert printed(capsys, 18, fields, rows)[:2] == ["what  verdict", "copy  undecided"]


def test_a_column_without_a_text_is_not_printed(capsys):
    fields = [Field("what"), Field("note"), Field("cost", number=True)]
    assert printed(capsys, 40, fields, [("copy", "", "1.5")])[0] == "what  cost"


def test_a_table_that_fits_nowhere_is_still_printed(capsys):
    fields = [Field("what"), Field("value", number=True)]
    lines = printed(capsys, 10, fields, [("copy", "123,456,789.5")])
    assert max(map(len, lines)) <= 10


def test_markup_in_a_cell_is_text(capsys):
    assert printed(capsys, 40, [Field("what")], [("[bold]x[/bold]",)])[1] == "[bold]x[/bold]"


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("study", studies())
def test_the_tables_of_a_study_break_no_name_within_a_part(capsys, monkeypatch, study, width):
    monkeypatch.setenv("COLUMNS", str(width))
    assert cli.main(["published", study]) == 0
    text = capsys.readouterr().out
    tables = re.split(r"\n\n[A-Z ]+\n", text.rpartition("\nExperiment: ")[2])[0]
    words = set(re.findall(r"\w+", tables))
    parts = {part for row in load(study) for part in re.findall(r"\w+", row.platform)}

    assert max(map(len, text.splitlines())) <= width
    assert parts - words == set()
