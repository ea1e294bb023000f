"""The scenario ``density``: its search, its objective, its study file, and a trial of known end."""

import json
from pathlib import Path

import pytest

from tare.core.errors import ConfigError
from tare.core.model import Kind, Status
from tare.core.model.instances import FIT, READY_P50, SLOWEST
from tare.experiment import scenario
from tare.experiment.scenarios._dense import LEAST_BYTES, Dense, Objective
from tare.experiment.scenarios._density_trial import Level, memory_each, search
from tare.experiment.study import read_study
from tare.experiment.trial import guard
from tare.experiment.trial.measure import Outcome
from tare.work import workload
from tare.work.roles import Role, Succeeds

TEXT = """\
name: density
scenario: density
platforms: [host]
limits: {{cpus: 1, memory: 256MiB}}
workloads: [{workload}]
objective: {objective}
repetition: {{min_blocks: 3, max_blocks: 4{repetition}}}
"""
QUICK = {"min_blocks": 2, "max_blocks": 2, "instances": 1, "warmup": 0}


def read(objective="{}", workload="integer_loop", repetition=""):
    text = TEXT.format(objective=objective, workload=workload, repetition=repetition)
    return read_study(text, "study.yaml")


def tried(holds, most):
    """Search where ``holds`` says which numbers meet the objective; return all that were tried."""
    levels = []
    search(lambda n: Level(count=n, broke="" if holds(n) else "broke"), most, levels)
    return [one.count for one in levels]


def test_the_number_is_doubled_until_it_breaks_and_then_halved():
    assert tried(lambda n: n <= 5, 128) == [1, 2, 4, 8, 6, 5]
    assert tried(lambda n: n <= 4, 128) == [1, 2, 4, 8, 6, 5]
    assert tried(lambda n: n <= 7, 128) == [1, 2, 4, 8, 6, 7]


@pytest.mark.parametrize("fit", range(1, 100))
def test_the_largest_that_holds_has_the_smallest_that_broke_next_to_it(fit):
    levels = tried(lambda n: n <= fit, 128)
    assert max(n for n in levels if n <= fit) == fit
    assert min(n for n in levels if n > fit) == fit + 1
    assert len(levels) == len(set(levels)) <= 14


def test_one_that_breaks_ends_the_search():
    assert tried(lambda _: False, 128) == [1]


@pytest.mark.parametrize("most", [2, 6, 8, 100])
def test_no_more_than_the_most_are_tried(most):
    levels = tried(lambda _: True, most)
    assert levels[-1] == max(levels) == most


def test_the_most_is_halved_too_where_it_breaks():
    assert tried(lambda n: n <= 5, 6) == [1, 2, 4, 6, 5]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"slowdown": 1.0}, "slowdown: 1 was given; expected more than 1"),
        ({"memory_left_bytes": 2**27}, "memory_left: 128 MiB were given; expected at least 256"),
        ({"most": 1}, "most: 1 was given; expected 2 to 1024"),
        ({"most": 1025}, "most: 1025 was given; expected 2 to 1024"),
    ],
)
def test_an_objective_that_cannot_be_is_refused(given, why):
    with pytest.raises(ValueError, match=why):
        Objective(**given)


def test_no_less_memory_may_be_left_than_the_guard_allows():
    assert guard.LEAST_BYTES == LEAST_BYTES


def test_each_workload_is_crossed_with_each_objective():
    levels = [Objective(slowdown=2.0), Objective(slowdown=4.0)]
    assert [one.made.objective for one in read("[2, 4]").workloads] == levels
    assert [one.made.objective for one in read("{slowdown: [2, 4]}").workloads] == levels
    (one,) = read("{memory_left: 1GiB, most: 16}").workloads
    assert dict(one.params).items() >= {
        ("slowdown", 2.0),
        ("memory_left_bytes", 2**30),
        ("most", 16),
    }


@pytest.mark.parametrize(
    ("objective", "why"),
    [
        ("{slowdown: 1}", "slowdown: 1 was given; expected more than 1"),
        ("{memory: 1GiB}", "unknown key"),
        ("[2, 2]", "the same stands above"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(objective, why):
    with pytest.raises(ConfigError, match=r"study\.yaml:6:") as raised:
        read(objective)
    assert why in str(raised.value)


def test_a_variant_of_the_time_is_refused():
    with pytest.raises(ConfigError, match="expected wall where trials make their own instances"):
        read(repetition=", variant: host_cpu")


class Served(type(workload.load("integer_loop"))):
    def roles(self):
        return [Role(name="base", command=["true"], ready=Succeeds(["true"]))]


def test_a_workload_with_roles_is_refused():
    with pytest.raises(ValueError, match="a workload with roles cannot be added"):
        list(scenario.load("density").crossed(Served(), [Objective()]))


def test_files_on_the_disk_are_those_of_the_most_instances():
    fio = workload.load("fio")
    dense = Dense(workload=fio, objective=Objective(most=16))
    assert dense.disk_bytes() == 16 * fio.disk_bytes()
    assert dense.makes() == 1


@pytest.fixture
def dense(lab, scripted):
    """Run a study of a layer in which n instances take 1 + contention (n - 1) times as long."""

    def plot(instance, verb, argv):
        if verb == "run":  # a trial's own instances are never paused: those that exist are awake
            there = {one.number for one in scripted.made if Path(one.path).exists()}
            instance.machine.simulated.world.awake = there

    scripted.plot = plot

    def run(contention=0.0, **objective):
        return lab.run(
            lab.text(
                {
                    "base": {
                        "stack": "host/scripted",
                        "scripted": {"noise": 0.0, "contention": contention},
                    }
                },
                scenario="density",
                objective=objective,
                repetition=QUICK,
            )
        )

    return run


def test_as_many_fit_as_the_known_law_allows(lab, dense):
    # 6 take 3.5 times as long as one alone, 7 take 4 times.
    results = dense(contention=0.5, slowdown=3.75, most=16)

    measured = [one for one in results.trials if one.kind is Kind.MEASURED]
    assert measured
    for trial in measured:
        assert trial.status is Status.OK, trial.reason
        assert trial.samples[FIT] == 6
        assert trial.samples[SLOWEST] == pytest.approx(3.5, rel=0.01)
        assert trial.samples[READY_P50] >= 0
        assert len(trial.parts) == 6
        assert trial.reason == (
            "7 instances: the slowest reached 1/4.00 of what one alone does, of 1/3.75"
        )
    assert lab.leftovers() == []


def test_where_nothing_breaks_the_most_fit(dense):
    for trial in dense(slowdown=2, most=5).trials:
        assert trial.samples[FIT] == 5
        assert trial.reason == "all 5 fit, and no more were tried"


def test_the_raw_output_has_each_level_that_was_tried(dense):
    results = dense(contention=0.5, slowdown=3.75, most=16)

    (first, *_) = sorted(results.folder.glob("raw/*/stdout"))
    raw = json.loads(first.read_text())
    assert [one["instances"] for one in raw["levels"]] == [1, 2, 4, 8, 6, 7]
    assert [bool(one["broke"]) for one in raw["levels"]] == [False] * 3 + [True, False, True]
    assert len(raw["ready_s"]) >= 8


def test_the_memory_of_an_instance_is_the_slope_over_the_levels():
    done = Outcome(instance="x", status=Status.OK)

    def level(count, used, outcome=done):
        return Level(count=count, broke="", used_bytes=used, outcome=outcome)

    base, each = 50_000_000, 3_000_000
    line = [level(n, base + n * each) for n in (1, 2, 4)]
    assert memory_each(line) == pytest.approx(each)
    assert memory_each([*line, level(8, 10**12, outcome=None)]) == pytest.approx(each)
    assert memory_each(line[:2]) is None
    assert memory_each([level(n, base - n * each) for n in (1, 2, 4)]) is None
