"""What fio says of the time of a run: reports of which each counts from the begin."""

from pathlib import Path

import pytest

from tare.core.errors import OutputNotUnderstood
from tare.work.workload import Output, load

RECORDED = Path(__file__).parent / "fio/randread-3-s.stdout"
FIO = load("fio", pattern="randread", depth=8, size_bytes=2**24, time_s=3)


def reports():
    first, second, last = RECORDED.read_text().removesuffix("\n}\n").split("\n}\n{\n")
    return [first.removeprefix("{\n"), second, last]


def printed(*parts):
    return Output("".join(f"{{\n{part}\n}}\n" for part in parts))


def told(*parts):
    return {one.metric.name: one for one in FIO.courses(printed(*parts))}


def interval_ms(time_s):
    (word,) = [one for one in load("fio", time_s=time_s).command() if "status-interval" in one]
    return float(word.removeprefix("--status-interval=").removesuffix("ms"))


@pytest.mark.parametrize("time_s", [1.5, 2, 2.4, 3, 9.99, 10, 30, 600])
def test_a_run_ends_in_the_middle_between_two_reports(time_s):
    every_ms = interval_ms(time_s)

    assert 1000 <= every_ms < 1700
    assert 1000 * time_s / every_ms % 1 == pytest.approx(0.5, abs=0.001 * time_s)


def test_a_run_that_is_too_short_is_asked_for_no_report_before_its_end():
    short = load("fio", time_s=1.4)

    assert not any("status-interval" in word for word in short.command())
    assert list(short.courses(printed(reports()[-1]))) == []


def test_a_second_without_a_request_has_a_rate_and_no_latency():
    first, _, last = reports()

    found = told(first, first.replace('"runtime" : 1087,', '"runtime" : 2287,'), last)

    assert found["throughput"].times_s == [1.087, 2.287]
    assert found["throughput"].values[1] == 0
    assert found["read_latency_mean"].times_s == [1.087]


def test_a_report_before_the_first_request_has_no_time_and_is_left_out():
    first, second, last = reports()
    nothing = first
    for key in ("runtime", "io_bytes"):
        value = next(line for line in first.splitlines() if line.startswith(f'        "{key}" : 1'))
        nothing = nothing.replace(value, f'        "{key}" : 0,')

    found = told(nothing, second, last)

    assert found["throughput"].times_s == [2.287]


def test_messages_between_reports_are_looked_over():
    first, second, last = reports()
    text = printed(first).stdout + "\nfio: a message\n" + printed(second, last).stdout

    assert {one.metric.name: one for one in FIO.courses(Output(text))} == told(first, second, last)
    assert list(FIO.parse(Output(text))) == list(FIO.parse(printed(last)))


def test_reports_that_do_not_follow_each_other_are_refused():
    first, second, last = reports()

    with pytest.raises(OutputNotUnderstood, match="follow each other"):
        told(second, first, last)
    with pytest.raises(OutputNotUnderstood, match="follow each other"):
        told(last)
