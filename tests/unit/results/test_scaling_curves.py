"""How platforms scale, of studies with known laws."""

import math
from dataclasses import replace

import pytest

from tare.core.model import Status
from tare.results.questions.scaling import scaling_curves
from tare.results.stats.scalability import Fit
from tare.results.study import compare
from unit.makers import again, contrasts_of
from unit.scaled import BUILD, EACH_BYTES, LEVELS, PAGES, SHARE, law, scaled


def curves(laws, **others):
    return curves_of(scaled(laws, **others))


def curves_of(results):
    return scaling_curves(compare(results.plan, results.trials).estimates)


@pytest.mark.parametrize("metric", [BUILD, PAGES], ids=["a time", "a rate"])
def test_the_law_of_each_platform_is_recovered_whatever_is_measured(metric):
    laws = {"host": law(0.05, 0.002), "host/docker": law(0.1, 0.01)}
    host, docker = curves(laws, metric=metric)
    assert [host.cell.platform, docker.cell.platform] == ["host", "host/docker"]
    assert host.law.contention.value == pytest.approx(0.05, abs=0.01)
    assert docker.law.coherency.value == pytest.approx(0.01, abs=0.002)
    assert host.law.rate.value == pytest.approx(0.01, rel=0.02)
    assert docker.law.peak.interval.low < math.sqrt(0.9 / 0.01) < docker.law.peak.interval.high
    assert host.law.fit is Fit.FITS
    for level in host.levels:
        truth = law(0.05, 0.002)(level.instances)
        assert level.together.value == pytest.approx(truth, rel=0.02)
        expected = truth if metric is PAGES else level.instances / truth
        assert level.value.value == pytest.approx(expected, rel=0.02)
        assert host.value_at(level.instances) == pytest.approx(expected, rel=0.02)


def test_efficiency_is_of_the_same_block_and_1_at_the_fewest():
    (found,) = curves({"host": law(1.0, 0.0)})
    assert [one.instances for one in found.levels] == list(LEVELS)
    for one in found.levels:
        assert one.efficiency.value == pytest.approx(1 / one.instances, rel=0.02)
    assert found.levels[0].efficiency.interval is None
    assert found.levels[-1].efficiency.interval.high < 0.07


def test_equal_instances_are_fair_and_what_one_more_takes_is_the_slope_of_their_memory():
    (found,) = curves({"host": law(0.1, 0.0)})
    assert found.levels[0].fairness is None
    assert [one.fairness for one in found.levels[1:]] == pytest.approx([1.0] * 4)
    assert found.memory_by == "layer_pss_bytes"
    assert found.memory.value == pytest.approx(EACH_BYTES)


def test_fairness_of_times_is_that_of_what_each_got_done():
    results = scaled({"host": law(0.0, 0.0)}, levels=(1, 2, 4))

    def uneven(trial):
        if len(trial.parts) != 4:
            return trial
        times = zip(trial.parts, (100.0, 100.0, 100.0, 300.0), strict=True)
        return replace(trial, parts=tuple(replace(p, samples={"elapsed": t}) for p, t in times))

    found = curves_of(replace(results, trials=tuple(map(uneven, results.trials))))
    # Shares of 3, 3, 3 and 1.
    assert found[0].levels[2].fairness == pytest.approx(100 / (4 * 28))


def test_a_level_that_did_not_respond_has_no_number_and_the_law_is_of_the_others():
    (found,) = curves({"host": (law(0.05, 0.01), 16, Status.DNR)})
    last = found.levels[-1]
    assert (last.value, last.together, last.efficiency) == (None, None, None)
    assert (last.dnr, last.answered, last.tried) == (True, 0, 8)
    assert found.law.contention.value == pytest.approx(0.05, abs=0.02)
    assert set(found.law.residuals) == {1, 2, 4, 8}


def test_without_the_first_level_efficiency_is_of_the_fewest_that_answered():
    results = scaled({"host": law(0.0, 0.01)})
    first = results.plan.cells[0].id
    some = tuple(
        replace(one, status=Status.FAILED, samples={}) if one.cell == first else one
        for one in results.trials
    )
    (found,) = curves_of(replace(results, trials=some))
    assert found.base == 2
    assert found.levels[0].efficiency is None
    assert found.levels[1].efficiency.value == 1.0
    assert found.levels[2].efficiency.value == pytest.approx((1 + 0.02) / (1 + 0.12), rel=0.02)


def test_where_nothing_responds_there_is_a_curve_without_a_law():
    (found,) = curves({"host": (law(0.0, 0.0), 1, Status.DNR)})
    assert (found.law, found.base, found.memory) == (None, 0, None)
    assert all(one.dnr for one in found.levels)
    assert found.value_at(4) is None


def test_two_levels_have_efficiency_and_no_law_and_one_has_no_curve():
    (two,) = curves({"host": law(0.1, 0.0)}, levels=(1, 2))
    assert two.law is None
    assert two.levels[1].efficiency.value == pytest.approx(1 / 1.1, rel=0.02)
    assert curves({"host": law(0.1, 0.0)}, levels=(1,)) == ()


def test_a_metric_that_is_no_rate_and_no_time_has_no_curve_and_the_control_has_none():
    assert curves({"host": law(0.1, 0.0)}, metric=SHARE) == ()
    results = scaled({"host": law(0.1, 0.0)})
    cells = (*results.plan.cells, *map(again, results.plan.cells))
    plan = replace(results.plan, cells=cells, contrasts=contrasts_of(cells, "host"))
    assert len(curves_of(replace(results, plan=plan))) == 1


def test_memory_of_parts_that_were_not_all_read_is_that_of_the_trial():
    results = scaled({"host": law(0.1, 0.0)})

    def unread(trial):
        bare = tuple(replace(one, resources={}) for one in trial.parts)
        taken = {"layer_memory_peak_bytes": 1e9 + 32e6 * len(bare)}
        return replace(trial, parts=bare, resources=taken)

    (found,) = curves_of(replace(results, trials=tuple(map(unread, results.trials))))
    assert found.memory_by == "layer_memory_peak_bytes"
    assert found.memory.value == pytest.approx(32e6)


def test_spread_deviation_and_stragglers_are_of_the_instances_of_each_trial():
    results = scaled({"host": law(0.1, 0.0)}, levels=(1, 2, 4))
    times = (10.0, 10.0, 12.0, 18.0)

    def uneven(trial):
        own = [
            replace(one, samples={"elapsed": value})
            for one, value in zip(trial.parts, times, strict=False)
        ]
        return replace(trial, parts=tuple(own))

    (one,) = curves_of(replace(results, trials=tuple(map(uneven, results.trials))))
    alone, two, four = one.levels
    assert (alone.spread, alone.deviation, alone.stragglers) == (None, None, None)
    assert (two.spread, two.deviation, two.stragglers) == (0.0, 0.0, 0.0)
    assert four.spread == pytest.approx(8.0)
    assert four.deviation == pytest.approx(3.786, abs=0.001)
    assert four.stragglers == 1.0
