"""What a metric is used for is said by its role, whatever it is called."""

import json
from dataclasses import asdict

import pytest

from tare.core.model import Better, Metric, MetricRole, Unit, metric_of, tool_duration_s
from tare.results.store.reader import plan_of
from tare.work import workload
from tare.work.workload import TOOL_DURATION
from unit.makers import TIME, make_cell, make_plan, make_trial

TOOK = Metric("took", Unit.SECOND, Better.LOWER, MetricRole.TOOL_DURATION)
FIRST_FORMAT = [
    ("tool_duration", Unit.SECOND, MetricRole.TOOL_DURATION),
    ("loss", Unit.RATIO, MetricRole.LOSS),
    ("failed", Unit.RATIO, MetricRole.FAILED),
    ("capacity", Unit.PER_SECOND, MetricRole.SEARCHED),
    ("throughput", Unit.PER_SECOND, MetricRole.PLAIN),
    ("loss", Unit.SECOND, MetricRole.PLAIN),
    ("failed", Unit.PER_SECOND, MetricRole.PLAIN),
]


def test_the_tools_own_time_is_the_sample_of_the_metric_with_that_role():
    trial = make_trial("a", samples={"took": 1.5, "tool_duration": 9.0}, duration_s=2.0)

    assert tool_duration_s(trial.samples, (TIME, TOOK)) == 1.5
    assert trial.lasted_s(metric_of((TIME, TOOK), MetricRole.TOOL_DURATION)) == 1.5


def test_without_the_tools_own_time_a_trial_lasted_as_long_as_its_command():
    trial = make_trial("a", samples={"tool_duration": 9.0}, duration_s=2.0)

    for metrics in ((TIME,), (TIME, TOOK)):
        assert tool_duration_s(trial.samples, metrics) is None
        assert trial.lasted_s(metric_of(metrics, MetricRole.TOOL_DURATION)) == 2.0


@pytest.mark.parametrize(
    ("role", "unit"),
    [
        (MetricRole.TOOL_DURATION, Unit.RATIO),
        (MetricRole.LOSS, Unit.PER_SECOND),
        (MetricRole.FAILED, Unit.BYTE),
        (MetricRole.SEARCHED, Unit.SECOND),
    ],
)
def test_a_unit_that_is_none_of_the_role_is_refused(role, unit):
    with pytest.raises(ValueError, match=f"metric x: its unit is {unit}; expected .*role is"):
        Metric("x", unit, Better.LOWER, role)


@pytest.mark.parametrize("name", workload.names())
def test_of_each_role_a_workload_has_one_metric(name):
    metrics = workload.load(name, **({"run": "true"} if name == "command" else {})).metrics

    roles = [metric.role for metric in metrics if metric.role is not MetricRole.PLAIN]

    assert len(roles) == len(set(roles))


@pytest.mark.parametrize(("name", "unit", "role"), FIRST_FORMAT)
def test_a_metric_of_the_first_format_was_used_by_its_name(name, unit, role):
    metrics = (TIME, Metric(name, unit, Better.LOWER))
    stored = asdict(make_plan(make_cell("host"), metrics=metrics))
    for metric in stored["metrics"]["spin"]:
        del metric["role"]

    plan = plan_of(json.dumps(stored | {"format": 1, "baseline": "host"}).encode(), "plan.json")

    assert plan.metrics["spin"] == (TIME, Metric(name, unit, Better.LOWER, role))


def test_a_role_is_stored_with_the_plan():
    plan = make_plan(make_cell("host"), metrics=(TIME, TOOL_DURATION))

    assert plan_of(json.dumps({"format": 2, **asdict(plan)}).encode(), "plan.json") == plan
