"""The scenario ``stream``: its study file, and what a trial of requests gives."""

import json
import threading

import pytest

from tare.core.completed import Completed
from tare.core.errors import ConfigError, LayerError, Unavailable
from tare.core.model import Kind, Replicates, Status
from tare.experiment.design import make_plan
from tare.experiment.design.admission import needs
from tare.experiment.scenarios._arriving import Arrivals
from tare.experiment.study import read_study
from tare.results.store.raw_output import raw_name

TEXT = """\
name: requests
scenario: stream
platforms: [host/docker]
baseline: host/docker
limits: {{cpus: 1, memory: 64MiB}}
workloads: [{workload}]
arrivals: {arrivals}
"""
QUICK = {"min_blocks": 1, "max_blocks": 1, "instances": 1, "warmup": 0}
FAST = {"rate_per_s": 200, "requests": 10, "at_once": 3}


def read(arrivals="{rate_per_s: 2, requests: 10}", workload="integer_loop"):
    return read_study(TEXT.format(arrivals=arrivals, workload=workload), "study.yaml")


def run(lab, arrivals=None, platform=None):
    text = lab.text(
        {"base": platform or {"sim": {}}},
        scenario="stream",
        arrivals=arrivals or FAST,
        repetition=QUICK,
    )
    return lab.run(text)


def measured(results):
    return [one for one in results.trials if one.kind is Kind.MEASURED]


def test_each_workload_is_crossed_with_the_ways_to_arrive():
    plan = make_plan(read("{rate_per_s: [1, 5], requests: 10, at_once: 4}"), 1)

    found = [dict(one.params) for one in plan.cells if not one.replica]
    assert [(one["rate_per_s"], one["requests"], one["at_once"]) for one in found] == [
        (1.0, 10, 4),
        (5.0, 10, 4),
    ]
    assert plan.replicates is Replicates.TRIALS


def test_memory_is_asked_for_as_many_as_there_are_at_once():
    study = read("{rate_per_s: 5, requests: 10, at_once: 4}")

    assert {one.makes for one in needs(study, make_plan(study, 1))} == {4}


@pytest.mark.parametrize(
    ("arrivals", "why"),
    [
        ("{rate_per_s: 0}", "0 was given; expected more than 0 a second"),
        ("{requests: 0}", "0 was given; expected 1 to 10000"),
        ("{at_once: 0}", "0 was given; expected 1 or more"),
        ("{per_second: 2}", "unknown key"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(arrivals, why):
    with pytest.raises(ConfigError, match=r"study\.yaml:7:") as raised:
        read(arrivals)
    assert why in str(raised.value)


@pytest.mark.parametrize("workload", ["fio", "web_ab"])
def test_a_workload_that_needs_more_than_a_command_is_refused(workload):
    with pytest.raises(ConfigError, match="a request is one command in a fresh instance"):
        read(workload=workload)


def test_every_request_has_an_instance_of_its_own_which_is_removed(lab, scripted):
    seen, open_now, most = [], set(), []
    guard = threading.Lock()

    def plot(instance, verb, argv):
        with guard:
            if verb == "ready":
                seen.append(instance)
                open_now.add(instance.path)
                most.append(len(open_now))
            if verb == "run" and "sysbench" in argv:
                open_now.discard(instance.path)

    scripted.plot = plot
    results = run(lab, platform={"stack": "host/scripted"})

    assert len(measured(results)) == 2
    assert len({one.path for one in seen}) == len(seen) == 2 * 10
    assert max(most) <= 3
    for trial in measured(results):
        assert trial.status is Status.OK, trial.reason
        samples = trial.samples
        assert 0 < samples["ready_p50"] <= samples["latency_p50"] <= samples["latency_p99"]
        assert 0 < samples["answered"] <= 200 * 10 / 9
        raw = json.loads((results.folder / "raw" / raw_name(trial) / "stdout").read_text())
        assert [one["due_s"] for one in raw] == pytest.approx([n / 200 for n in range(10)])
        for one in raw:
            order = ("due_s", "begun_s", "ready_s", "answered_s", "deleted_s")
            times = [one[name] for name in order]
            assert times == sorted(times)
    assert lab.leftovers() == []


@pytest.mark.parametrize(
    ("raised", "status"), [(LayerError("it broke"), Status.FAILED), (Unavailable("no room"), None)]
)
def test_a_request_that_gets_no_instance_fails_its_trial(lab, scripted, raised, status):
    def plot(instance, verb, argv):
        del argv
        if verb == "start" and len(scripted.made) % 4 == 0:
            raise raised

    scripted.plot = plot
    results = run(lab, platform={"stack": "host/scripted"})

    trial = measured(results)[0]
    assert trial.status is (status or Status.UNAVAILABLE)
    assert "of 10 requests were answered; " in trial.reason
    assert str(raised) in trial.reason
    assert trial.samples == {}
    assert lab.leftovers() == []


def test_a_command_that_fails_is_told_with_its_words(lab, scripted):
    def plot(instance, verb, argv):
        del instance
        if verb == "run" and "sysbench" in argv:
            return Completed(argv, 3, b"", b"no such option", 0.0)
        return None

    scripted.plot = plot
    trial = measured(run(lab, platform={"stack": "host/scripted"}))[0]

    assert trial.status is Status.FAILED
    assert trial.reason == (
        "0 of 10 requests were answered; the command ended with exit status 3: no such option"
    )


def test_a_stream_lasts_from_the_first_arrival_to_the_last():
    assert Arrivals(rate_per_s=4.0, requests=9).lasts_s == 2.0
