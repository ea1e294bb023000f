"""The estimate of two cells is made once, and checks only add to what is found of it."""

from dataclasses import replace

from tare.core.model import NO_FACTS, ContrastKind
from tare.results.checks.case import Comparing
from tare.results.compare.estimates import Estimates
from tare.results.compare.flag import FlagKind, flag
from tare.results.study import checked
from unit.makers import again, make_cell, make_plan, make_trial

HOST, DOCKER = make_cell("host"), make_cell("host/docker")
CONTROL = again(HOST)
PLAN = make_plan(HOST, CONTROL, DOCKER)
TRIALS = [
    make_trial(cell, block, samples={"time": time + block / 1000})
    for block in range(10)
    for cell, time in ((HOST, 1.0), (CONTROL, 1.0), (DOCKER, 2.0))
]


def test_an_estimate_is_made_once_and_shared_with_its_control():
    estimates = Estimates(PLAN, TRIALS)
    docker, control = (estimates.of(PLAN.decided_by[one.id]) for one in (DOCKER, CONTROL))

    assert estimates.of(PLAN.decided_by[DOCKER.id]) is docker
    assert docker.control is control
    assert control.control is None
    assert docker.pairs is docker.pairs
    assert control.subject.kind is ContrastKind.CONTROL


def test_a_check_adds_what_it_finds_and_changes_nothing():
    estimates = Estimates(PLAN, TRIALS)
    asked = []

    def share(study):
        asked.append(study)
        return flag(FlagKind.NOT_TRUSTED)

    def check(case):
        yield case.study.once(share)

    study = Comparing(estimates, estimates.decisive, NO_FACTS)
    plain, found = checked(study, ()), checked(study, (check,))

    assert found == [replace(row, flags=(*row.flags, flag(FlagKind.NOT_TRUSTED))) for row in plain]
    assert asked == [study]
