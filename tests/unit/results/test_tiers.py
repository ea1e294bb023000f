"""Which of several instances costs what, on trials in which that is known."""

from dataclasses import replace

import pytest

from tare.core.model import HostCost, Part, Replicates, Status
from tare.results.questions.tiers import tiers
from tare.results.study import compare
from unit.makers import RATE, make_cell, make_plan, make_trial

HOST, DOCKER = make_cell("host"), make_cell("host/docker")


def part(name, cpu_s):
    cost = HostCost(cpu_s=cpu_s, run_delay_s=0, all_cpu_s=cpu_s, coverage=1, threads=1)
    return Part(name=name, instance=name, status=Status.OK, host=cost)


def study(blocks=20):
    """A web server that takes twice as much CPU time in a container, and a database as much."""
    trials = []
    for block in range(blocks):
        for cell, web_s in ((HOST, 1.0), (DOCKER, 2.0)):
            noise = 1 + 0.01 * (block * 7 % 5)
            trial = make_trial(cell, block, instance=str(block), samples={RATE.name: 100.0})
            parts = (part("web", web_s * noise), part("db", 3.0 * noise))
            trials.append(replace(trial, parts=parts, duration_s=10.0))
    return trials


def found(trials, **changed):
    plan = replace(make_plan(HOST, DOCKER, metrics=(RATE,), max_blocks=20), **changed)
    compared = compare(plan, trials)
    return tiers(compared.estimates, compared.comparisons)


def test_each_role_is_compared_with_its_own_on_the_baseline():
    web, db = found(study())

    assert (web.role, db.role) == ("web", "db")
    # 1,000 units of work in each trial.
    assert web.cpu.own == pytest.approx(2.04e-3, rel=1e-6)
    assert web.cpu.baseline == pytest.approx(1.02e-3, rel=1e-6)
    assert web.cpu.ratio == pytest.approx(2, rel=1e-6)
    assert db.cpu.ratio == pytest.approx(1, rel=1e-6)
    assert (web.share, db.share) == (pytest.approx(0.4), pytest.approx(0.6))
    assert web.cpu.pairs == 20


def test_a_trial_of_which_one_role_is_not_known_is_left_out():
    trials = study()
    (first, second) = trials[1].parts
    trials[1] = replace(trials[1], parts=(first, replace(second, host=None)))

    web, db = found(trials)

    assert (web.cpu.pairs, db.cpu.pairs) == (19, 19)


def test_instances_that_a_trial_makes_itself_are_no_roles():
    assert len(found(study())) == 2
    assert found(study(), replicates=Replicates.TRIALS) == ()


def test_one_instance_has_no_roles_to_compare():
    assert found([replace(one, parts=()) for one in study()]) == ()
    assert found([replace(one, parts=one.parts[:1]) for one in study()]) == ()
