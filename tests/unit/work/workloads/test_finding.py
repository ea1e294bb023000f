"""Where a number begins and ends in the output of any program."""

import pytest

from tare.core.errors import OutputNotUnderstood
from tare.work.workload import Output, load
from tare.work.workloads._finding import matched


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"took (\d+) \d", "took 12 345\n", "12"),  # two columns, as the pattern says itself
        (r"took (\d+)", "took 12 3456\n", "12"),
        (r"took (\d+)", "took 1234 567\n", "1234"),
        (r"took (\d+)", "took 12 ms\n", "12"),
        (r"took (\d+)", "took 5em\n", "5"),
        (r"(\d+) ms", "p99-5 ms\n", "5"),
        (r"-(\d+) ms", "took -5 ms\n", "5"),
    ],
)
def test_a_whole_number_is_found(pattern, text, found):
    assert matched(pattern, text) == found


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"took (\d+)", "took 1_000\n"),
        (r"took (\d+)", "took 12 345\n"),
        (r"took (\d+)", "took 1 234 567 ms\n"),
        (r"took (\d+)", "took 12\u202f345 ms\n"),
        (r"took (\d+)", "took 12'345 ms\n"),
        (r"took (\d+)", "took 12 34"),  # cut within the thousands
        (r"took (\d+)", "took 5e\n"),
        (r"took (\d+)", "took 5e+\n"),
        (r"(\d+) ms", "took 12 345 ms\n"),
        (r"(\d+) ms", "took 1_000 ms\n"),
        (r"(\d+) ms", "took 1e5 ms\n"),
        (r"(\d+) ms", "took 1e-5 ms\n"),
        (r"(\d+) ms", "took -5 ms\n"),
    ],
)
def test_half_a_number_is_refused(pattern, text):
    with pytest.raises(OutputNotUnderstood, match="whole number at"):
        matched(pattern, text)


def test_a_number_larger_than_any_is_refused():
    command = load("command", run="x", pattern=r"took (\S+)$")
    with pytest.raises(OutputNotUnderstood, match="number above 0 for duration"):
        list(command.parse(Output(stdout="took 1e999\n")))
