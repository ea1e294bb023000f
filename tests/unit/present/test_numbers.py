"""Numbers as people read them: an estimate and its ends have the same digits, and enough."""

import math

import pytest

from tare.core.model import Limits
from tare.present.charts.lifecycle import gantt
from tare.present.page.render import WIDE
from tare.present.view.names import limits_text
from tare.present.view.numbers import (
    MINUS,
    NONE,
    TIMES,
    cost_text,
    costs_text,
    middle_texts,
    percent_text,
    percents_text,
    plain,
    plains,
    rate_text,
    share_text,
    share_texts,
    size_text,
)
from tare.present.view.values import whole_limits
from unit.drawing import words
from unit.invented import LIFE, Study


def plainly(text):
    return text.replace(MINUS, "-").replace(TIMES, "x")


@pytest.mark.parametrize(
    ("low", "cost", "high", "text"),
    [
        (1.028, 1.031, 1.034, "1.031x [1.028, 1.034]"),
        (1.0, 1.02, 1.04, "1.020x [1.000, 1.040]"),
        # More digits where an end could not be told from 1, or from the estimate.
        (1.0001, 1.02, 1.04, "1.0200x [1.0001, 1.0400]"),
        (1.0402, 1.0404, 1.0409, "1.0404x [1.0402, 1.0409]"),
        (149.7, 150.0, 150.4, "150.0x [149.7, 150.4]"),
        # As many behind the point on both sides of a step of the scale.
        (9.95, 10.5, 12.25, "10.5x [9.9, 12.2]"),
        (0.04, 0.05, 2.0, "0.050x [0.040, 2.000]"),
        (2.0, 3.0, math.inf, "3.000x [2.000, ∞]"),
        (0.0, 0.5, 1.5, "0.500x [0.000, 1.500]"),
        # What differs by less than any digit shows does not fill the line.
        (1.1 - 1e-12, 1.1, 1.1 + 1e-12, "1.100x [1.100, 1.100]"),
        (5e-324, 5.0, 1e308, "5.000x [5e-324, 1e+308]"),
    ],
)
def test_a_cost_and_its_ends_have_the_same_digits(low, cost, high, text):
    assert plainly(f"{cost_text(cost, low, high)} {costs_text(low, high, cost)}") == text


@pytest.mark.parametrize(
    ("low", "cost", "high", "text"),
    [
        (1.028, 1.031, 1.034, "+3.1 % [+2.8, +3.4] %"),
        (1.0304, 1.031, 1.0312, "+3.10 % [+3.04, +3.12] %"),
        (1.96, 1.98, 2.04, "+98 % [+96, +104] %"),
        (0.673, 1.0043, 1.136, "+0.4 % [-32.7, +13.6] %"),
        (0.9996, 1.03, 1.08, "+3.00 % [-0.04, +8.00] %"),
        (0.98, 1.0, 1.02, "0.0 % [-2.0, +2.0] %"),
        (1.0, 1.02, 1.04, "+2.0 % [0.0, +4.0] %"),
        (0.0, 1.5, math.inf, "+50 % [-100, +∞] %"),
    ],
)
def test_a_degradation_and_its_ends_have_the_same_digits(low, cost, high, text):
    assert plainly(f"{percent_text(cost, low, high)} {percents_text(low, high, cost)}") == text


def test_the_larger_end_says_how_many_digits_if_they_tell_both_from_1():
    assert costs_text(1.0, 1.04) == "[1.000, 1.040]"
    assert costs_text(9.0, 150.0) == "[9, 150]"
    assert costs_text(0.95, 150.0) == "[0.950, 150]"
    assert percents_text(1.005, 1.5) == "[+0.5, +50.0] %"


@pytest.mark.parametrize("end", [0.0, math.inf])
def test_an_interval_that_only_says_which_side_is_better_is_none(end):
    assert costs_text(end, end) == percents_text(end, end) == NONE


def test_a_number_alone_keeps_its_own_digits():
    assert plainly(cost_text(1.0003)) == "1.000x"
    assert percent_text(1.0003) == "+0.03 %"
    assert cost_text(None) == percent_text(None) == costs_text(None, 1.0) == NONE


@pytest.mark.parametrize(
    ("cost", "low", "high", "text"),
    [
        (1.031, 1.028, 1.034, "+3.1 % [+2.8, +3.4] %"),
        (14.2, 13.9, 14.5, "14.2x [13.9, 14.5]"),
        (14.2, None, None, "14.2x"),
        (1.5, math.inf, math.inf, "+50.0 %"),
    ],
)
def test_a_size_is_in_per_cent_or_in_times(cost, low, high, text):
    assert plainly(size_text(cost, low, high)) == text


@pytest.mark.parametrize(
    ("middle", "low", "high", "texts"),
    [
        (1.02, 1.0, 1.04, ("1.02", "[1.00, 1.04]")),
        (12.34, 12.31, 12.36, ("12.34", "[12.31, 12.36]")),
        (12.34, 11.0, 13.0, ("12.3", "[11.0, 13.0]")),
        (1234.0, 1200.0, 1300.0, ("1,234", "[1,200, 1,300]")),
        (0.5, None, None, ("0.500", "")),
        (0.0, 0.0, 0.0, ("0", "[0, 0]")),
        (2.0, 1.5, math.inf, ("2.00", "[1.50, ∞]")),
    ],
)
def test_a_median_and_its_ends_have_the_same_digits(middle, low, high, texts):
    assert middle_texts(middle, low, high) == texts


def test_the_ends_of_a_phase_of_a_life_have_the_same_digits():
    study = Study(["host"])
    study.add("lifecycle", lambda _, block: {"boot": max(1, 0.97 + block / 100)}, metrics=LIFE)
    found = study.found()
    picture = gantt(found, found.groups[0], "lifecycle-01").draw(WIDE)

    assert "1.02 s [1.00, 1.06]" in words(picture)


@pytest.mark.parametrize(
    ("low", "high", "costs", "percents"),
    [
        (1e-6, 1001882.6788, "[0.0000010, 1,001,883]", f"[{MINUS}100.0, +100,188,168] %"),
        (0.02, 900.4, "[0.020, 900]", f"[{MINUS}98.0, +89,940] %"),
        (0.5, 900.4, "[0.500, 900]", f"[{MINUS}50.0, +89,940] %"),
        (0.5, 45.04, "[0.5, 45.0]", f"[{MINUS}50, +4,404] %"),
    ],
)
def test_ends_that_are_powers_of_ten_apart_have_digits_of_their_own(low, high, costs, percents):
    assert costs_text(low, high) == costs
    assert percents_text(low, high) == percents


@pytest.mark.parametrize("digits", [2, 4, 6])
def test_many_numbers_are_written_as_each_is(digits):
    sizes = [
        mantissa * 10.0**power for power in range(-12, 16) for mantissa in (1, 1.2345678, 9.99996)
    ]
    values = [*sizes, *(-one for one in sizes), 0.0, 999.0, 999.9996, math.inf, -math.inf]
    assert plains(values, digits) == [plain(one, digits) for one in values]
    assert share_texts(values) == [share_text(one) for one in values]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10_000_000, "10 MB/s"),
        (12_500_000, "12,500 kB/s"),
        (2_000_000_000, "2 GB/s"),
        (10_485_761, "10,485,761 B/s"),
        (0, "0 B/s"),
    ],
)
def test_a_rate_that_is_a_limit_is_written_exactly(value, text):
    assert rate_text(value) == text


def test_limits_of_rates_are_written_with_their_unit():
    limits = Limits(cpus=1, memory_bytes=2**30, disk_write_bytes_per_s=10_000_000)

    assert limits_text(limits) == "1 CPU, 1 GiB, disk cache none, disk_write 10 MB/s"
    assert whole_limits(limits) == "1 CPU, 1 GiB, disk cache none, disk_write 10 MB/s"
