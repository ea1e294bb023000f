"""What a study of density shows: how many instances fit and what ended that, in words and data."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tare.core.model import NO_FACTS, Run, Status
from tare.core.model.instances import FIT, MEMORY_EACH, READY_P50, READY_P99
from tare.experiment.scenarios._dense import Dense
from tare.present.charts.catalogue import figures
from tare.present.export.markdown import markdown
from tare.present.page.html import Pages
from tare.present.report import as_json, describe
from tare.present.terminal.verdicts import show
from tare.present.view.density import density_finding, density_tables, fittings, is_density
from tare.present.view.explanations import slower
from tare.present.view.numbers import NONE
from tare.present.view.summary import three_sentences
from tare.results.store import Results
from unit.drawing import assert_drawable
from unit.invented import full
from unit.makers import make_cell, make_plan, make_trial
from unit.scaled import parts

MIB = 2**20
HOST = (8, 8, 8, 9, 8, 8, 8, 8)
DOCKER = (5, 4, 5, 5, 6, 5, 5, 4)
GUEST = (Status.UNAVAILABLE, "there is no /dev/kvm")
TITLE = "How many instances fit"


def reason(fit):
    return f"{fit + 1} instances: the slowest took {fit + 1:.2f} times as long as one alone, of 4.5"


def study(found=None, workloads=("spin",)):
    """Describe a study in which a platform fits some instances in each block, or has a status."""
    given = found or {"host": HOST, "host/docker": DOCKER, "host/kvm": GUEST}
    cells, trials = [], []
    for workload in workloads:
        for platform, counts in given.items():
            cell = make_cell(platform, workload=workload)
            cells.append(cell)
            is_ended = isinstance(counts[0], Status)
            for block in range(len(HOST)):
                if is_ended:
                    made = {"status": counts[0], "reason": counts[1]}
                else:
                    made = ended(counts[block])
                trials.append(make_trial(cell, block, instance=f"a-{block}", **made))
    plan = make_plan(*cells, metrics=Dense.metrics, max_blocks=len(HOST))
    run = Run(stop="all blocks were run")
    return describe(Results(Path("results"), "name: made\n", plan, NO_FACTS, run, tuple(trials)))


def ended(fit):
    samples = {FIT: float(fit), READY_P50: 0.125, READY_P99: 0.5, MEMORY_EACH: 4.0 * MIB}
    made = parts(fit, Dense.metrics[0], 1.0)
    late = [replace(one, late_s=0.002 * (place == 1)) for place, one in enumerate(made)]
    return {"samples": samples, "reason": reason(fit), "parts": tuple(late)}


def table(found):
    (one,) = density_tables(found)
    return one


def shown(found, width):
    text = io.StringIO()
    Console(file=text, width=width).print(show(found))
    return text.getvalue()


def test_the_finding_names_how_many_fit_on_each_platform():
    said = "Instances that fit at once: 8 (8 to 9) of the host itself; 5 (4 to 6) of a Docker "
    assert density_finding(study()).startswith(said)
    assert density_finding(study()).endswith("not measured of a KVM virtual machine.")
    assert density_finding(study({"host": (3,) * 8, "host/docker": (2,) * 8})) == (
        "Instances that fit at once: 3 of the host itself; 2 of a Docker container."
    )
    assert "(spin)" in density_finding(study(workloads=("spin", "build")))


def test_a_line_has_the_number_what_ended_it_and_what_one_takes():
    one = table(study())
    assert one.title == TITLE
    assert "workload" not in one.columns
    assert one.lines[1] == (
        *("host/docker", "5 (4 to 6)", reason(5)),
        *("4 MiB", "125 ms", "500 ms"),
    )
    assert one.lines[2] == ("host/kvm", "not measured", GUEST[1], NONE, NONE, NONE)
    assert table(study(workloads=("spin", "build"))).columns[-1] == "workload"


def test_ended_by_is_of_a_trial_whose_number_is_the_median():
    assert DOCKER[-1] == 4, "the last trial is another one"
    assert table(study()).lines[1][2] == reason(5)


def test_a_trial_without_memory_each_has_no_part_in_its_median():
    found = study({"host": HOST, "host/docker": DOCKER})
    for trial in found.trials[fittings(found)[0].cell.id]:
        del trial.samples[MEMORY_EACH]
    assert table(found).lines[0][3] == NONE


@pytest.mark.parametrize("width", [60, 80, 120, 160])
def test_what_ended_it_is_shown_at_every_width(width):
    text = shown(study(), width)
    assert TITLE in text
    assert "ended by" in text
    line = next(line for line in text.split(TITLE)[1].splitlines() if "host/docker" in line)
    assert "5 (4 to 6)" in line
    assert "6 instances:" in line
    assert max(map(len, text.splitlines())) <= width


def test_platforms_are_worse_or_better_and_not_slower_or_faster():
    found = study()
    assert three_sentences(found)[1].startswith("Of 2 comparisons: 1 worse and 1 not measured")
    assert "slower" not in shown(found, 120)
    for text in (shown(found, 120), markdown(found), Pages(found).report({})):
        assert "host/docker is worse on spin" in text or "| worse |" in text
    better = study({"host": DOCKER, "host/docker": HOST})
    assert "1 better" in three_sentences(better)[1]
    assert "host/docker is better on spin" in shown(better, 120)


def test_that_fewer_fit_is_not_explained_by_counters():
    found = study()
    assert any(one.is_slower for one in found.explanations)
    assert slower(found) == []


def test_the_forest_says_of_what_its_costs_are_multiples():
    one = next(one for one in figures(study()) if one.name == "forest")
    assert one.caption.startswith("How many instances fit of the baseline, host, as a multiple of")
    assert_drawable(one)


def test_the_map_has_words_for_a_number():
    one = next(one for one in figures(study()) if one.name == "heat")
    assert "▲ is worse, ▼ better" in one.caption
    assert_drawable(one)


def test_the_page_compares_with_the_baseline_and_has_the_table():
    page = Pages(study()).report({})
    assert f"<h3>{TITLE}</h3>" in page
    assert "Against host, by each workload" in page
    assert ">Density</a>" in page
    assert ">Scale</a>" not in page
    assert f"## {TITLE}" in markdown(study())


def test_the_parts_of_trials_are_counted_from_the_fewest():
    found = study({"host": HOST, "host/docker": DOCKER})
    rows = as_json(found)["starts"]
    assert [(one["least_parts"], one["parts"]) for one in rows] == [(8, 9), (4, 6)]
    assert "the 4 to 6 parts of a trial start within 2 ms" in shown(found, 120)


def test_plain_data_has_each_trial_in_base_units():
    rows = as_json(study())["density"]
    assert [one["platform"] for one in rows] == ["host", "host/docker", "host/kvm"]
    assert rows[1] == {
        "workload": "spin",
        "platform": "host/docker",
        "fit": [float(one) for one in DOCKER],
        "ended_by": [reason(one) for one in DOCKER],
        "memory_each": [4.0 * MIB] * 8,
        "ready_p50": [0.125] * 8,
        "ready_p99": [0.5] * 8,
    }


def test_another_study_has_none_of_it():
    found = full(3)
    assert not is_density(found)
    assert fittings(found) == []
    assert list(density_tables(found)) == []
    assert density_finding(found) == ""
    assert "density" not in as_json(found)
