"""The simulated userland: what the parsers read in it is in proportion to the speed."""

import sys
from dataclasses import fields
from itertools import pairwise
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

from tare.core.model import Better, Unit
from tare.machines.simulation.tools import answer
from tare.work.workload import TOOL_DURATION, Output, kind, load

WRAP = ["env", "-C", "/work", "LC_ALL=C", "timeout", "-s", "KILL", "60"]
NAMES = ["fio", "mbw", "sysbench_cpu", "sysbench_fileio", "sysbench_memory"]
SECONDS = ["fio", "sysbench_cpu", "sysbench_fileio", "sysbench_memory"]
"""Those that tell of each second."""
SPEEDS = (0.037, 0.5, 1.0, 1.02, 7.3)


def variants():
    """Every simulated workload with its defaults, and with each word of each Literal."""
    for name in NAMES:
        yield pytest.param(name, {}, id=name)
        hints = get_type_hints(kind(name))
        for field in fields(kind(name)):
            if get_origin(hints[field.name]) is Literal:
                for word in get_args(hints[field.name]):
                    params = {field.name: word} | ({"depth": 1} if word == "psync" else {})
                    yield pytest.param(name, params, id=f"{name}-{word}")


VARIANTS = list(variants())
# Tools print whole milliseconds, or tenths: long runs, in which they are nothing.
FIXED = [
    pytest.param("fio", {"time_s": "none", "size_bytes": 2**36}, id="fio-fixed"),
    pytest.param("sysbench_cpu", {"time_s": "none", "events": 10**7}, id="sysbench_cpu-fixed"),
    pytest.param("sysbench_fileio", {"time_s": "none", "total_bytes": 2**36}, id="fileio-fixed"),
    pytest.param("sysbench_memory", {"time_s": "none", "total_bytes": 2**42}, id="memory-fixed"),
]


def printed(workload, speed):
    stdout, seconds = answer([*WRAP, *workload.command()], speed)
    return Output(stdout=stdout.decode(), duration_s=seconds)


def measured(workload, speed):
    samples = workload.parse(printed(workload, speed))
    return {sample.metric.name: sample.value for sample in samples}


@pytest.mark.parametrize(("name", "params"), [*VARIANTS, *FIXED])
def test_the_primary_metric_is_in_proportion_to_the_speed(name, params):
    workload = load(name, **params)
    metric = workload.metrics[0]
    one = measured(workload, 1.0)[metric.name]

    for speed in SPEEDS:
        expected = one * speed if metric.better is Better.HIGHER else one / speed
        assert measured(workload, speed)[metric.name] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("name", "params"), [*VARIANTS, *FIXED])
def test_latencies_are_inversely_proportional_to_the_speed(name, params):
    workload = load(name, **params)
    one, half = measured(workload, 1.0), measured(workload, 0.5)

    assert one.keys() == half.keys()
    for metric in workload.metrics:
        if metric.unit is Unit.SECOND and metric != TOOL_DURATION and metric.name in one:
            # sysbench prints percentiles to 0.01 ms.
            expected = pytest.approx(2 * one[metric.name], rel=1e-3, abs=2e-5)
            assert half[metric.name] == expected, metric.name


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize(("name", "params"), [one for one in VARIANTS if one.values[0] in SECONDS])
def test_each_second_is_like_the_whole_run(name, params, speed):
    workload = load(name, **params)
    output, whole = printed(workload, speed), measured(workload, speed)

    told = list(workload.courses(output))
    assert told[0].metric == workload.metrics[0]
    for one in told:
        assert len(one.times_s) == workload.time_s - 1
        steps_s = [later - early for early, later in pairwise([0.0, *one.times_s])]
        # fio rounds its times to milliseconds.
        assert steps_s == pytest.approx([steps_s[0]] * len(steps_s), abs=0.0011)
        assert 1 <= steps_s[0] < 1.2
        # sysbench rounds MiB to 0.01, the p95 of a second to 0.001 ms and the run's to 0.01
        of_the_run = pytest.approx([whole[one.metric.name]] * len(one.values), rel=3e-4, abs=5.1e-6)
        assert list(one.values) == of_the_run, one.metric.name


@pytest.mark.parametrize("name", SECONDS)
def test_a_run_that_is_too_short_tells_of_no_second(name):
    workload = load(name, time_s=1)

    assert list(workload.courses(printed(workload, 1.0))) == []
    assert measured(workload, 1.0)


def test_a_run_that_its_events_end_tells_of_the_seconds_it_had():
    workload = load("sysbench_cpu", time_s=30, events=25_000)

    assert [list(one.times_s) for one in workload.courses(printed(workload, 1.0))] == [[1, 2]] * 2


@pytest.mark.parametrize("name", NAMES)
def test_what_the_clock_ends_takes_its_time_and_what_the_work_ends_scales(name):
    workload = load(name)
    seconds = [answer(workload.command(), speed)[1] for speed in (1.0, 0.5)]

    if hasattr(workload, "time_s"):
        assert seconds == [workload.time_s, workload.time_s]
    else:
        assert seconds[1] == pytest.approx(2 * seconds[0])


@pytest.mark.parametrize("name", [n for n in NAMES if load(n).prepare() is not None])
def test_preparing_takes_longer_on_a_slow_machine(name):
    fast, slow = (answer([*WRAP, *load(name).prepare()], speed)[1] for speed in (1.0, 0.5))

    assert slow == pytest.approx(2 * fast)
    assert fast == pytest.approx(load(name).disk_bytes() / 2**30)


@pytest.mark.parametrize(
    "argv",
    [["true"], ["mkdir", "-p", "/x"], ["sh", "-c", "exit 3"], ["/bin/true"], ["env", "true"]],
)
def test_small_commands_print_nothing_and_take_no_time(argv):
    assert answer(argv, 0.5) == (b"", 0.0)


def test_sleep_takes_longer_on_a_slow_machine():
    assert answer(["timeout", "-s", "KILL", "9", "sleep", "0.5"], 0.5) == (b"", 1.0)


@pytest.mark.parametrize(
    "argv", [["doom"], ["env", "A=1", "doom"], ["sysbench", "mutex", "run"], []]
)
def test_an_unknown_program_is_not_answered(argv):
    assert answer(argv, 1.0) is None


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_and_its_parsing_cost_almost_nothing(name):
    workload, calls = load(name), 0

    def count(_frame, event, _what):
        nonlocal calls
        calls += event in ("call", "c_call")

    measured(workload, 1.0)  # what is made once is made
    sys.setprofile(count)
    try:
        measured(workload, 1.0)
    finally:
        sys.setprofile(None)
    assert calls < 600  # a third of a millisecond
