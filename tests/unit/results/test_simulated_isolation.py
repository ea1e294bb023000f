"""Studies of neighbours on machines whose true interference is known."""

from statistics import mean

import pytest

from tare.core.model import ContrastKind, Kind, Status, neighbour_of
from tare.results.stats.sequential import Verdict
from tare.results.study import compare

TRUTH = 1.2
STUDIES = 1000


def text(lab, interference, *, seed=1, noise=0.01, neighbours=None, most=20, least=20):
    """A study of one simulated platform and a neighbour on it."""
    return lab.text(
        {"base": {"sim": {"noise": noise, "interference": interference, "seed": seed}}},
        scenario="isolation",
        neighbours=neighbours or [{"stressor": "cpu"}],
        repetition={"min_blocks": least, "max_blocks": most, "instances": 1},
    )


def rows(results):
    """The comparisons with the workload alone, by their neighbours."""
    return {
        neighbour_of(row.cell.params): row
        for row in compare(results.plan, results.trials).comparisons
        if row.primary and row.kind is ContrastKind.ISOLATION
    }


def test_interference_is_found_for_each_instance_and_not_for_idle_ones(lab):
    neighbours = [{"stressor": "cpu", "count": [1, 2]}, {"stressor": "idle"}]
    results = lab.run(text(lab, TRUTH, noise=0.005, neighbours=neighbours))

    assert {one.status for one in results.trials if one.kind is Kind.MEASURED} == {Status.OK}
    found = {(one.stressor, one.count): row for one, row in rows(results).items()}
    for (stressor, count), row in found.items():
        truth = TRUTH**count if stressor == "cpu" else 1.0
        assert row.cost == pytest.approx(truth, rel=0.01)
        assert row.low <= truth <= row.high


@pytest.mark.slow
def test_known_interference_is_recovered_without_bias_and_covered(lab, record_property):
    costs, covered = [], []
    for seed in range(STUDIES):
        (row,) = rows(lab.run(text(lab, TRUTH, seed=seed, noise=0.03), seed)).values()
        costs.append(row.cost)
        covered.append(row.fixed_low <= TRUTH <= row.fixed_high)

    found = {"mean cost": mean(costs), "covered": mean(covered)}
    record_property("found", found)
    assert mean(costs) == pytest.approx(TRUTH, rel=0.002), found
    assert 0.93 <= mean(covered) <= 0.97, found


@pytest.mark.slow
def test_neighbours_that_do_no_harm_are_seldom_said_to(lab, record_property):
    alarms = []
    for seed in range(STUDIES):
        results = lab.run(text(lab, 1.0, seed=seed, noise=0.03, least=8, most=30), seed)
        (row,) = rows(results).values()
        alarms.append(row.verdict in (Verdict.SLOWER, Verdict.FASTER))

    record_property("alarms", mean(alarms))
    assert mean(alarms) <= 0.05
