"""What is made of sockperf's log: a line for each second of a run."""

from pathlib import Path

import pytest

from tare.core.errors import OutputNotUnderstood
from tare.work.workload import Output, load

RECORDED = (Path(__file__).parent / "sockperf/udp.stdout").read_text()
REPORT, _, ROWS = RECORDED.partition("Second,Messages,Median (s),99th percentile (s)\n")
COUNTS = [int(row.split(",")[1]) for row in ROWS.splitlines()]
SOCKPERF = load("sockperf", rate_per_s=2000, time_s=3)


def told(*rows):
    text = REPORT + "Second,Messages,Median (s),99th percentile (s)\n" + "".join(rows)
    return {one.metric.name: one for one in SOCKPERF.courses(Output(text))}


def test_a_second_without_a_message_has_a_rate_and_no_latency():
    found = told(f"1,{sum(COUNTS[:-1])},0.01,0.02\n", "2,0,,\n", f"3,{COUNTS[-1]},0.01,0.02\n")

    assert found["sent"].values == [sum(COUNTS[:-1]), 0]
    assert found["latency_p50"].times_s == found["latency_p99"].times_s == [1]


def test_few_messages_have_no_99th_percentile():
    found = told("1,99,0.01,0.02\n", "2,100,0.01,0.02\n", f"3,{sum(COUNTS) - 199},0.01,0.02\n")

    assert found["latency_p50"].times_s == [1, 2]
    assert found["latency_p99"].times_s == [2]


def test_the_last_second_is_not_whole_and_left_out():
    assert told(f"1,{sum(COUNTS)},0.01,0.02\n") == {}


@pytest.mark.parametrize(
    "rows", [[], ROWS.splitlines(keepends=True)[:-1], [ROWS, "4,1,0.01,0.02\n"]]
)
def test_seconds_that_lack_a_message_or_have_one_too_many_are_refused(rows):
    with pytest.raises(OutputNotUnderstood, match="agree with the observations"):
        told(*rows)


def test_overtaken_messages_are_not_logged_and_leave_no_course():
    text = RECORDED.replace("out-of-order messages = 0", "out-of-order messages = 1")

    with pytest.raises(OutputNotUnderstood, match="out-of-order"):
        list(SOCKPERF.courses(Output(text)))
    assert list(SOCKPERF.parse(Output(text)))
