"""Two platforms at the same number of instances, on machines whose true costs are known."""

import io
import json

import pytest
from rich.console import Console

from tare.cli import main
from tare.present.export.markdown import markdown
from tare.present.report import describe
from tare.present.terminal.verdicts import show
from tare.results.compare.estimates import Estimates
from tare.results.questions.at_once import platforms_at_once
from tare.results.stats.sequential import Verdict

COST = 1.3


def study(lab, scenario="scale", blocks=16, **more):
    factor = {"instances": [2, 4]} if scenario == "scale" else {}
    return lab.run(
        lab.text(
            {
                "base": {"sim": {"noise": 0.005, "contention": 0.1}},
                "dear": {"sim": {"noise": 0.005, "contention": 0.1, "cost": COST}},
                "same": {"sim": {"noise": 0.005, "contention": 0.1}},
            },
            scenario=scenario,
            repetition={"min_blocks": blocks, "max_blocks": blocks, "instances": 1},
            **factor,
            **more,
        )
    )


def compared(results):
    return platforms_at_once(Estimates(results.plan, results.trials))


def test_platforms_are_compared_at_each_number_of_instances(lab):
    found = compared(study(lab))

    assert [(one.instances, one.cell.platform, one.other.platform) for one in found] == [
        (count, *pair)
        for count in (1, 2, 4)
        for pair in (("dear", "base"), ("same", "base"), ("same", "dear"))
    ]
    truths = {("dear", "base"): COST, ("same", "base"): 1.0, ("same", "dear"): 1 / COST}
    words = {
        ("dear", "base"): Verdict.SLOWER,
        ("same", "base"): Verdict.SAME,
        ("same", "dear"): Verdict.FASTER,
    }
    for one in found:
        pair = one.cell.platform, one.other.platform
        assert one.found.cost == pytest.approx(truths[pair], rel=0.01)
        assert one.found.low <= truths[pair] * 1.005
        assert one.found.high >= truths[pair] * 0.995
        assert one.verdict is words[pair]
        assert one.found.pairs == 16


def test_fewer_blocks_than_decide_anything_leave_all_undecided(lab):
    found = compared(study(lab, blocks=3))

    assert {one.verdict for one in found} == {Verdict.UNDECIDED}


def test_a_study_that_is_none_of_scale_has_none(lab):
    assert compared(study(lab, scenario="solo", blocks=3)) == ()


def test_the_pairs_are_shown_in_terminal_markdown_and_json(lab, capsys):
    results = study(lab)
    found = describe(results)

    text = io.StringIO()
    Console(file=text, width=120).print(show(found))
    for shown in (text.getvalue(), markdown(found)):
        assert "Platforms at the same number of instances" in shown
        assert "slower than base" in shown
        assert "the same as base" in shown
    assert main(["show", "--json", str(results.folder)]) == 0
    rows = json.loads(capsys.readouterr().out)["platforms_at_once"]
    assert [(one["instances"], one["is"]) for one in rows][:3] == [
        (1, "slower"),
        (1, "same"),
        (1, "faster"),
    ]
