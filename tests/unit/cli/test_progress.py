"""What a person sees while a study runs: what is known of each comparison, as it becomes known."""

import re
import time
from pathlib import Path

from tare.cli.progress import Lines, Tally, View
from tare.core.errors import Unavailable
from tare.core.model import Status
from tare.experiment import run as runner
from unit.makers import make_cell, make_trial

REPETITION = {"min_blocks": 3, "max_blocks": 11, "instances": 2}
PLATFORMS = {
    "base": {"sim": {"noise": 0.01}},
    "slow": {"instances": 1, "sim": {"noise": 0.01, "cost": 14.6}},
    "loud": {"sim": {"noise": 0.3}},
    "gone": {"stack": "host/scripted"},
}


def watched(lab, scripted, kind):
    scripted.plot = lambda instance, verb, argv: refuse() if verb == "probe" else None
    study, plan, folder = lab.begin(lab.text(PLATFORMS, repetition=REPETITION))
    progress = kind(folder)
    runner.run(study, plan, folder, progress)
    return progress


def refuse():
    raise Unavailable("no frobs", "get some")


def test_lines_say_what_is_known_as_soon_as_it_is(lab, scripted, capsys):
    progress = watched(lab, scripted, Lines)
    said = re.sub(r"^\[ *[\d.]+ s\] ", "", capsys.readouterr().err, flags=re.MULTILINE)
    lines = said.splitlines()
    decided = [
        line
        for line in lines
        if re.fullmatch(r"slow  sysbench_cpu  1[45](\.\d)?x slower, decided", line)
    ]
    assert len(decided) == 1
    assert [line for line in lines if line.startswith("loud  sysbench_cpu  ")]
    assert not [line for line in lines if line.startswith("gone  ")]
    assert len([line for line in lines if line.startswith("unavailable: gone, sysbench_cpu")]) == 1
    # Before anything is measured none is decided, and what cannot be measured is not counted.
    assert "0 of 2 comparisons decided" in said
    assert progress.compared == 2
    assert progress.decided == 1


def test_a_view_has_a_row_for_each_comparison_that_something_is_known_of(lab, scripted):
    view = watched(lab, scripted, View)
    assert [line.split("  ")[0] for line in view.lines.values()] == ["slow", "loud"]
    assert view.__rich__().row_count == 3 + 2 + 1


def test_what_was_unavailable_says_nothing_of_how_long_the_others_take():
    cell, tally = make_cell("kvm"), Tally(Path("results"))
    tally.planned, tally.measuring_s = 100, time.monotonic()

    tally.ended(cell, make_trial(cell, status=Status.UNAVAILABLE))
    assert tally.left() == ""
    tally.ended(cell, make_trial(cell, 1))
    assert tally.left()
