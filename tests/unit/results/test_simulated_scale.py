"""Studies of scale on machines whose true contention and coherency are known."""

from statistics import fmean

import pytest

from tare.core.model import Kind, Status
from tare.results.compare.estimates import Estimates
from tare.results.questions.scaling import scaling_curves

CONTENTION, COHERENCY = 0.08, 0.004
LEVELS = (1, 2, 4, 8, 16)
STUDIES = 400


def text(lab, *, seed=1, noise=0.01, blocks=8):
    """A study of one simulated platform in more and more instances."""
    law = {"contention": CONTENTION, "coherency": COHERENCY, "noise": noise, "seed": seed}
    return lab.text(
        {"base": {"sim": law}},
        scenario="scale",
        instances=list(LEVELS),
        repetition={"min_blocks": blocks, "max_blocks": blocks, "instances": 1},
    )


def curve(results):
    (found,) = scaling_curves(Estimates(results.plan, results.trials))
    return found


def test_a_known_law_is_found_in_the_trials_of_several_instances(lab):
    results = lab.run(text(lab, noise=0.002))

    measured = [one for one in results.trials if one.kind is Kind.MEASURED]
    assert {one.status for one in measured} == {Status.OK}
    assert {len(one.parts) for one in measured} == set(LEVELS)
    law = curve(results).law
    assert law.contention.value == pytest.approx(CONTENTION, rel=0.05)
    assert law.coherency.value == pytest.approx(COHERENCY, rel=0.05)
    for level in curve(results).levels:
        n = level.instances
        kept = 1 / (1 + CONTENTION * (n - 1) + COHERENCY * n * (n - 1))
        assert level.efficiency.value == pytest.approx(kept, rel=0.01)
        assert level.answered == level.tried == 8


@pytest.mark.slow
def test_the_law_is_recovered_without_bias_and_its_intervals_cover(lab, record_property):
    found = []
    for seed in range(STUDIES):
        law = curve(lab.run(text(lab, seed=seed, noise=0.03), seed)).law
        found.append((law.contention, law.coherency))

    summary = {}
    for name, truth, place in (("contention", CONTENTION, 0), ("coherency", COHERENCY, 1)):
        own = [one[place] for one in found]
        summary[f"mean {name}"] = fmean(one.value for one in own)
        summary[f"{name} covered"] = fmean(
            one.interval.low <= truth <= one.interval.high for one in own
        )
    record_property("found", summary)
    assert summary["mean contention"] == pytest.approx(CONTENTION, rel=0.02), summary
    assert summary["mean coherency"] == pytest.approx(COHERENCY, rel=0.02), summary
    assert 0.93 <= summary["contention covered"] <= 0.97, summary
    assert 0.93 <= summary["coherency covered"] <= 0.97, summary
