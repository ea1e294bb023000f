"""What work loses next to a neighbour, as a constraint of advice."""

import math
from dataclasses import replace

import pytest

from tare.core.model import NO_FACTS, Neighbour, Reservation, Status
from tare.core.model.group import group
from tare.present.view.reasons import reason_text
from tare.results.questions.constraints import Constraints, Keeps
from tare.results.questions.isolation_loss import isolation_loss
from tare.results.study import result_set
from unit.disturbed import disturbed
from unit.makers import make_cell

CPU, FORK, IDLE = (Neighbour(stressor=name) for name in ("cpu", "fork", "idle"))


def loss(costs, limit=0.1, *, neighbour=None, workloads=("spin",), asked=None, **others):
    """Hold what docker loses next to neighbours with these costs to a limit."""
    own = {"host": dict.fromkeys(costs, 1.0), "host/docker": costs}
    results = disturbed(own, workloads=workloads, **others)
    side = result_set(results.plan, results.trials, NO_FACTS)
    groups = [group(make_cell("host/docker", workload=name)) for name in asked or workloads]
    constraints = Constraints(isolation_loss=limit, neighbour=neighbour)
    (found,) = isolation_loss(make_cell("host/docker"), groups, constraints, [side])
    return found


def test_the_worst_neighbour_is_held_to_the_limit():
    found = loss({CPU: 2.0, FORK: 1.02})
    assert found.keeps is Keeps.BROKEN
    assert found.value == pytest.approx(1.0, rel=0.05)
    assert found.low < 1.0 < found.high
    assert (found.source.neighbour, found.source.rows) == (CPU, 2)
    assert loss({CPU: 1.03, FORK: 1.02}).keeps is Keeps.KEPT


def test_a_limit_within_the_interval_is_neither_kept_nor_broken():
    assert loss({CPU: 1.1}, noise=0.05).keeps is Keeps.UNDECIDED


def test_only_the_neighbour_that_is_named_counts():
    costs = {CPU: 2.0, FORK: 1.02}
    assert loss(costs, neighbour="fork").keeps is Keeps.KEPT
    assert loss(costs, neighbour="cpu").keeps is Keeps.BROKEN
    found = loss(costs, neighbour="disk")
    assert found.keeps is Keeps.MISSING
    assert "what spin loses next to a neighbour disk" in reason_text(found.reason)


def test_an_idle_neighbour_takes_nothing_and_says_nothing():
    assert loss({IDLE: 1.0}).keeps is Keeps.MISSING


def test_a_neighbour_that_is_held_does_not_count():
    held = replace(CPU, reservation=Reservation(limits=(("cpus", 0.1),)))
    assert loss({CPU: 2.0, held: 1.0}).keeps is Keeps.BROKEN
    assert loss({held: 1.0}).keeps is Keeps.MISSING


def test_a_workload_that_does_not_answer_has_lost_everything():
    found = loss({CPU: Status.DNR})
    assert (found.keeps, found.value) == (Keeps.BROKEN, math.inf)


def test_a_part_of_the_mix_that_was_not_measured_is_missing_unless_another_breaks_it():
    asked = ("spin", "disk")
    found = loss({CPU: 1.01}, asked=asked)
    assert found.keeps is Keeps.MISSING
    assert "what disk loses" in reason_text(found.reason)
    assert loss({CPU: 2.0}, asked=asked).keeps is Keeps.BROKEN


def test_other_settings_are_another_platform():
    results = disturbed({"host": {CPU: 2.0}})
    side = result_set(results.plan, results.trials, NO_FACTS)
    cell = make_cell("host")
    tuned = replace(cell, settings=(("docker.seccomp", "off"),))
    for one, keeps in ((cell, Keeps.BROKEN), (tuned, Keeps.MISSING)):
        (found,) = isolation_loss(one, [group(cell)], Constraints(isolation_loss=0.1), [side])
        assert found.keeps is keeps


def test_without_the_constraint_nothing_is_asked():
    assert list(isolation_loss(make_cell("host"), [], Constraints(), [])) == []
