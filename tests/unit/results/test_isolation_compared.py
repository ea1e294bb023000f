"""Two platforms next to the same neighbour: whose workload suffers less."""

from dataclasses import replace

import pytest

from tare.core.model import Neighbour, Status
from tare.results.compare.reason import ReasonKind
from tare.results.questions.isolation import isolation_compared
from tare.results.stats.sequential import Verdict
from tare.results.study import compare
from unit.disturbed import disturbed

CPU, FORK = Neighbour(stressor="cpu"), Neighbour(stressor="fork")


def compared(costs, **others):
    results = disturbed(costs, **others)
    found = compare(results.plan, results.trials)
    return isolation_compared(found.estimates, found.comparisons)


def test_the_platform_that_loses_less_is_shown_with_its_ratio():
    (found,) = compared({"host": {CPU: 2.0}, "host/kvm": {CPU: 1.5}})
    assert (found.row.cell.platform, found.other.cell.platform) == ("host/kvm", "host")
    assert found.found.cost == pytest.approx(0.75, rel=0.02)
    assert found.found.low < 0.75 < found.found.high
    assert found.verdict is Verdict.FASTER
    assert found.holm_p < 0.05
    assert found.paired


def test_how_fast_platforms_are_alone_does_not_count():
    slow = {"host": {CPU: 2.0}, "host/kvm": {CPU: 2.0}}

    def slower(trial, _):
        kvm = trial.samples and trial.cell in kvm_cells
        return replace(trial, samples={"events": trial.samples["events"] / 10}) if kvm else trial

    plan = disturbed(slow).plan
    kvm_cells = {cell.id for cell in plan.cells if cell.platform == "host/kvm"}
    (found,) = compared(slow, change=slower, noise=0.002)
    assert found.found.cost == pytest.approx(1.0, abs=0.01)
    assert found.verdict is Verdict.SAME


def test_what_slows_a_whole_block_cancels():
    """Blocks differ by up to ten times; the ratio is as sharp as on a quiet host."""

    def drifting(trial, _):
        factor = 10 ** (trial.block % 4 / 4)
        return replace(trial, samples={"events": trial.samples["events"] / factor})

    (found,) = compared({"host": {CPU: 2.0}, "host/kvm": {CPU: 1.9}}, change=drifting)
    assert found.found.high / found.found.low < 1.05
    assert found.verdict is Verdict.FASTER


def test_equal_platforms_are_rarely_told_apart():
    runs, alarms = 100, 0
    for seed in range(runs):
        costs = {name: {CPU: 2.0, FORK: 1.3} for name in ("host", "host/docker", "host/kvm")}
        found = compared(costs, seed=seed, blocks=8, noise=0.03)
        assert len(found) == 6
        alarms += any(one.verdict in (Verdict.SLOWER, Verdict.FASTER) for one in found)
    assert alarms <= 0.05 * runs


def test_few_blocks_show_nothing():
    (found,) = compared({"host": {CPU: 2.0}, "host/kvm": {CPU: 1.2}}, blocks=5)
    assert found.verdict is Verdict.UNDECIDED
    assert found.holm_p is None


def test_a_platform_that_never_answers_has_no_ratio():
    (found,) = compared({"host": {CPU: 2.0}, "host/kvm": {CPU: Status.DNR}})
    assert found.found.cost is None
    assert found.verdict is Verdict.NOT_MEASURED
    assert found.found.reason.kind is ReasonKind.BLOCKS_FAILED


def test_without_a_common_block_intervals_are_combined():
    costs = {"host": {CPU: 2.0}, "host/kvm": {CPU: 1.5}}
    cells = disturbed(costs).plan.cells
    kvm = {cell.id for cell in cells if cell.platform == "host/kvm"}

    def apart(trial, _):
        return replace(trial, block=trial.block + 20) if trial.cell in kvm else trial

    (found,) = compared(costs, change=apart)
    assert not found.paired
    assert found.found.cost == pytest.approx(0.75, rel=0.02)
    assert found.found.low < 0.75 < found.found.high
    assert found.verdict is Verdict.FASTER
