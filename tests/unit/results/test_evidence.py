"""How strong a verdict is, and studies that go on until it is strong enough."""

import pytest

from tare.core.errors import ConfigError
from tare.core.model import Evidence
from tare.experiment.study.loader import ENOUGH_INSTANCES
from tare.present.view.study import describe
from tare.present.view.verdict_texts import stop_text, summary
from tare.results.compare.evidence import FAMILYWISE, within_family
from tare.results.stats.hierarchy import ENOUGH_GROUPS
from tare.results.stats.sequential import Verdict
from tare.results.study import compare

MANY = {"base": {"sim": {"noise": 0.005}}} | {
    f"dear{number}": {"sim": {"cost": 1.03, "noise": 0.005, "seed": number}} for number in range(6)
}


def rows(results):
    found = compare(results.plan, results.trials).comparisons
    return [row for row in found if row.primary and not row.is_control]


def study(lab, **repetition):
    shared = {"min_blocks": 8, "max_blocks": 30, "instances": 5}
    return lab.run(lab.text(MANY, repetition=shared | repetition))


def test_many_comparisons_of_few_pairs_are_likely_only(lab):
    results = study(lab)

    assert {(row.verdict, row.evidence) for row in rows(results)} == {
        (Verdict.SLOWER, Evidence.LIKELY)
    }
    assert all(row.look == 8 and row.holm_p > FAMILYWISE for row in rows(results))
    assert "it can be luck (Holm's p" in stop_text(rows(results)[0])
    assert "6 of 6 verdicts are likely, not established" in " ".join(summary(describe(results)))


def test_a_study_may_go_on_until_every_verdict_is_established(lab):
    results = study(lab, evidence="established")

    assert {(row.verdict, row.evidence) for row in rows(results)} == {
        (Verdict.SLOWER, Evidence.ESTABLISHED)
    }
    assert all(8 < row.look < 30 and row.holm_p <= FAMILYWISE for row in rows(results))
    assert results.run.stop == "every comparison is decided"
    assert "likely" not in " ".join(summary(describe(results)))


def test_what_so_few_instances_show_may_be_their_luck_and_is_likely(lab):
    repetition = {"min_blocks": 30, "max_blocks": 30, "instances": 4}
    results = lab.run(lab.text(dict(list(MANY.items())[:2]), repetition=repetition))

    (row,) = rows(results)
    assert row.holm_p < FAMILYWISE
    assert (row.verdict, row.evidence) == (Verdict.SLOWER, Evidence.LIKELY)


def test_few_instances_are_refused_where_established_verdicts_are_asked_for(lab):
    assert ENOUGH_INSTANCES == ENOUGH_GROUPS
    with pytest.raises(ConfigError, match="instances: 4 was given; expected 5 or more"):
        study(lab, evidence="established", instances=4)


@pytest.mark.parametrize(
    ("found", "verdict", "p", "expected"),
    [
        (Evidence.ESTABLISHED, Verdict.SLOWER, 0.05, Evidence.ESTABLISHED),
        (Evidence.ESTABLISHED, Verdict.FASTER, 0.051, Evidence.LIKELY),
        (Evidence.ESTABLISHED, Verdict.SAME, 1.0, Evidence.ESTABLISHED),
        (Evidence.LIKELY, Verdict.SLOWER, 0.001, Evidence.LIKELY),
        (None, Verdict.UNDECIDED, 0.001, None),
    ],
)
def test_a_difference_is_established_within_its_family(found, verdict, p, expected):
    assert within_family(found, verdict, p) is expected
