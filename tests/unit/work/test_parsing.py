"""What becomes of numbers and JSON in an output: a number of a tool, or OutputNotUnderstood."""

import json

import pytest

from tare.core.errors import OutputNotUnderstood
from tare.work.parsing import Latencies, agree, count, document, document_at, number, numeral, rows

THOUSAND_DIGITS = "9" * 1000


@pytest.mark.parametrize(
    ("found", "value"),
    [("0", 0), ("12", 12), ("1.5", 1.5), (".5", 0.5), ("5.", 5), ("1e-3", 0.001), ("2E+3", 2000)],
)
def test_a_number_of_a_tool_is_read(found, value):
    assert numeral(found, "speed", "") == value
    assert number(r"speed (\S+)", f"speed {found}\n") == value
    assert rows(r"(\S+) (\S+)", f"{found} 1\n2 {found}") == [(value, 1), (2, value)]


STRANGE = ["", ".", "..", "1.2.3", "1_000", "nan", "inf", "1e999", "1e-40", "-1", "+1", "0x1"]


@pytest.mark.parametrize(
    "found", [None, *STRANGE, "\u0663", "\u00b2", " 1", "1\n", THOUSAND_DIGITS]
)
def test_what_is_no_number_of_a_tool_is_refused(found):
    with pytest.raises(OutputNotUnderstood, match="speed"):
        numeral(found, "speed", "")


def test_a_whole_number_has_no_fraction():
    assert count("12.0", "requests", "") == 12
    with pytest.raises(OutputNotUnderstood, match=r"'12\.5' is no whole number"):
        count("12.5", "requests", "")


def test_a_number_that_is_not_there_is_refused():
    with pytest.raises(OutputNotUnderstood, match="speed"):
        number(r"speed (\d+)", "nothing")
    with pytest.raises(OutputNotUnderstood, match="is no number"):
        number(r"speed( \d+)?", "speed")


PART = document(
    '{"a": [{"n": 1.5, "whole": 2, "word": "x", "yes": true, "no": null, "text": "12"}]}', "report"
)


def test_each_kind_of_value_is_read_by_its_own_method():
    (one,) = PART.parts("a")

    assert (one.number("n"), one.count("whole"), one.word("word"), one.truth("yes")) == (
        *(1.5, 2),
        *("x", True),
    )
    assert [part.value for part in one.members().values()] == [1.5, 2, "x", True, None, "12"]


@pytest.mark.parametrize(
    ("kind", "keys", "said"),
    [
        ("number", ["yes"], "number at a.0.yes"),
        ("number", ["text"], "number at a.0.text"),
        ("number", ["no"], "number at a.0.no"),
        ("number", ["absent"], "value at a.0.absent"),
        ("number", ["n", "deeper"], "value at a.0.n.deeper"),
        ("number", ["word", "x"], "value at a.0.word.x"),
        ("count", ["n"], "whole number at a.0.n"),
        ("word", ["n"], "string at a.0.n"),
        ("truth", ["whole"], "true or false at a.0.whole"),
        ("parts", [], "list at a.0"),
        ("members", ["n"], "object at a.0.n"),
    ],
)
def test_a_value_of_another_type_is_refused_and_its_place_is_named(kind, keys, said):
    (one,) = PART.parts("a")

    with pytest.raises(OutputNotUnderstood, match=rf"^no report \({said}\) in the output"):
        getattr(one, kind)(*keys)


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "-Infinity", "1e999", "-1", "9" * 30, THOUSAND_DIGITS, "1e-320"]
)
def test_a_number_of_json_that_no_tool_counts_is_refused(value):
    part = document(f'{{"n": {value}}}', "report")

    with pytest.raises(OutputNotUnderstood, match="number of a tool at n"):
        part.number("n")
    if value == "Infinity":
        assert part.number("n", may_be_infinite=True) == float("inf")


@pytest.mark.parametrize(
    "text",
    ["", "{", "{} {}", "nothing", "9" * 5000, "[" * 100_000, '{"a":' * 5000, '{"a": 1,}', "{}\n}"],
)
def test_what_is_no_json_document_is_refused(text):
    with pytest.raises(OutputNotUnderstood, match="report"):
        document(text, "report")


def test_a_document_may_stand_between_others():
    text = '{"a": 1}\n{"b": 2}\n'
    part, end = document_at(text, 9, "report")

    assert (part.count("b"), text[end:]) == (2, "\n")
    assert document(text.partition("\n")[0], "report", text).text == text


def test_half_of_a_character_can_be_stored_in_a_reason():
    part = document(json.dumps({"\ud800": "\udc00"}), "report")

    assert [value.word() for value in part.members().values()] == ["?"]
    with pytest.raises(OutputNotUnderstood) as refused:
        part.number("\ud800")
    assert str(refused.value).encode()


def test_a_total_agrees_with_a_rate_and_a_time_that_are_rounded():
    assert agree(100, 10, 10)
    assert agree(100, 10.09, 10)
    assert not agree(100, 10.2, 10)
    assert agree(1, 10, 0.15, apart_s=0.051)
    assert not agree(1, 10, 0.16, apart_s=0.051)
    assert not agree(0, 0, 10)


GOOD = {"requests": 1000, "mean_s": 0.002, "quantiles_s": {50: 0.001, 99: 0.01}, "most_s": 0.5}


def test_latencies_of_one_run_agree():
    Latencies(**GOOD).check("")
    Latencies(**GOOD, least_s=0.0001).check("")
    Latencies(**{**GOOD, "most_s": 0.00995}).check("")  # a hundredth is rounding


@pytest.mark.parametrize(
    "other",
    [
        {"mean_s": 0.0},
        {"quantiles_s": {50: 0.0, 99: 0.01}},
        {"least_s": 0.0015},  # above the median
        {"quantiles_s": {50: 0.02, 99: 0.01}},
        {"most_s": 0.009},  # below P99
        {"mean_s": 0.6},  # above the longest
        {"mean_s": 0.00009},  # a hundredth of P99 is more
        {"quantiles_s": {50: 0.005, 99: 0.01}},  # half of the median is more than the mean
        {"mean_s": 0.012},  # more than half P50, 49 % P99, 1 % and one of the longest
        {"requests": 0},
    ],
)
def test_latencies_that_contradict_each_other_are_refused(other):
    with pytest.raises(OutputNotUnderstood, match="latencies above 0 that agree"):
        Latencies(**{**GOOD, **other}).check("")
