"""The user's own program as a workload: from study file to plan, and the number it finds."""

import pytest

from tare.core.errors import ConfigError, OutputNotUnderstood
from tare.core.model import Better, Metric, Unit
from tare.experiment.design import make_plan
from tare.experiment.study import read_study
from tare.work.workload import Output, load

STUDY = """\
name: own
platforms: [host, host/docker]
limits: {cpus: 1, memory: 1GiB}
workloads:
"""
LAY = "head -c 1M /dev/urandom > file"
GZIP = f"  - command: {{run: gzip -k file, setup: sh -c '{LAY}', files: 2MB}}"
SPEED = "  - command: {run: md5sum -b x, pattern: '([0-9.]+) B/s', metric: speed, unit: B/s}"


def plan(*workloads):
    return make_plan(read_study(STUDY + "\n".join(workloads), "own.yaml"), seed=1)


def test_a_study_file_says_all_of_it():
    (chosen,) = read_study(STUDY + GZIP, "own.yaml").workloads

    assert chosen.made.command() == ["gzip", "-k", "file"]
    assert chosen.made.prepare() == ["sh", "-c", LAY]
    assert chosen.made.disk_bytes() == 2_000_000
    assert chosen.made.metrics == (Metric("duration", Unit.SECOND, Better.LOWER),)


def test_what_it_measures_is_in_the_plan():
    assert plan(SPEED).metrics == {
        "command": (Metric("speed", Unit.BYTE_PER_SECOND, Better.HIGHER),)
    }


def test_programs_that_measure_the_same_stand_in_one_study():
    made = plan(GZIP, GZIP.replace("-k", "-9k"))

    assert len({cell.params for cell in made.cells}) == 2


def test_programs_that_measure_different_things_never_merge():
    told = r"two are called 'command' .* duration \(s, lower\) and speed \(B/s, higher\)"
    with pytest.raises(ConfigError, match=told):
        plan(GZIP, SPEED)


def test_work_for_a_time_and_a_time_for_work_are_two_studies():
    timed, fixed = "  - sysbench_cpu: {time: 1 s}", "  - sysbench_cpu: {time: none, events: 9}"
    assert plan(fixed).metrics["sysbench_cpu"][0].name == "tool_duration"

    with pytest.raises(ConfigError, match=r"two are called 'sysbench_cpu' .*; make two studies"):
        plan(timed, fixed)


def found(text, **params):
    (sample,) = load("command", run="x", **params).parse(Output(stdout=text))
    return sample.value


@pytest.mark.parametrize(
    ("pattern", "text", "value"),
    [
        (r"took ([\d.]+) ms", "took 12.5 ms\n", 12.5),
        (r"^(\d+),", "12,13,14\n", 12),  # it says itself that the comma separates
        (r"=(.*)$", "x=1e-3\n", 0.001),
        (r"(\d+)", "12.\n", 12),
        (r"rate ([\d.]+)", "rate 3\nother 4\n", 3),
    ],
)
def test_a_pattern_finds_a_whole_number(pattern, text, value):
    assert found(text, pattern=pattern) == value


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"([\d.]+) ms", "took 12,5 ms\n"),
        (r"took (\d+)", "took 12,5 ms\n"),
        (r"took ([\d.]+)", "took 1.5e3 ms\n"),
        (r"took ([\d.]+)", "took 12.5"),  # where the output ends there may have been more
        (r"took (.*) ms", "took 12,5 ms\n"),
        (r"took (.*) ms", "took 1_000 ms\n"),
        (r"took (.*) ms", "took nan ms\n"),
        (r"took (.*) ms", "took -1 ms\n"),
        (r"took ([\d.]+)?", "took ages\n"),
        (r"(\d+) ms", "1 ms, 2 ms\n"),
    ],
)
def test_half_a_number_or_none_is_refused(pattern, text):
    with pytest.raises(OutputNotUnderstood):
        found(text, pattern=pattern)


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("a.1.b", '{"a": [0, {"b": 2.5}]}', 2.5),
        ("p.99.000000", '{"p": {"99.000000": 7, "99": {"0": 1}}}', 7),
        ("a", 'starting\n{"a": "3.5"}\n', 3.5),
        ("1", "[1, 2]", 2),
    ],
)
def test_a_path_leads_to_a_number(path, text, value):
    assert found(text, json_path=path) == value


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a", '{"a": 1'),
        ("a", '{"a": 1}\n{"a": 2}\n'),
        ("a.b", '{"a": 1}'),
        ("b", '{"a": 1}'),
        ("a", '{"a": true}'),
        ("a", '{"a": "1,5"}'),
        ("a", '{"a": NaN}'),
        ("a", "[" * 100_000),
        ("a", ""),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(path, text):
    with pytest.raises(OutputNotUnderstood):
        found(text, json_path=path)


def test_without_either_it_is_the_time():
    (sample,) = load("command", run="x").parse(Output(stdout="", duration_s=1.25))

    assert (sample.metric.name, sample.value) == ("duration", 1.25)
