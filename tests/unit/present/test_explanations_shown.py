"""How a report tells which counters moved: in words, with readable units, and never as a cause."""

import csv
import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tare.core.model import NO_FACTS, Better, Metric, Run, Unit, resource_of
from tare.experiment.probes.series import PER_WORK
from tare.present.export import explanations_csv, write_exports
from tare.present.export.latex import latex
from tare.present.export.markdown import markdown
from tare.present.page.html import Pages
from tare.present.report import as_json, describe
from tare.present.terminal.verdicts import show
from tare.present.view.counter_words import COUNTERS, amounts_text, counter_text, unit_of
from tare.present.view.explanations import sentences
from tare.results.questions.counters import Work
from tare.results.questions.explanation import Explanation
from tare.results.store import Results
from tare.work.workload import TOOL_DURATION
from unit.makers import make_cell, make_plan, make_trial

EVENTS = Metric("events", Unit.PER_SECOND, Better.HIGHER)
HOST, GUEST, DOCKER = (make_cell(name) for name in ("host", "host/<qemu>", "host/docker"))
COSTS = {HOST.id: 1.0, GUEST.id: 2.0, DOCKER.id: 1.0}


def taken(cell, rng):
    """A guest takes five times the page faults for each event, and its reads are of the host."""
    times = 5.0 if cell is GUEST else 1.0
    noisy = {
        "layer_page_faults": 4000 * times / COSTS[cell.id],
        "layer_cpu_s": 1.0,
        "layer_disk_written_bytes": 2.0**20,
    }
    counters = {name: value * math.exp(rng.normal(0, 0.01)) for name, value in noisy.items()}
    if cell is GUEST:
        counters |= {"layer_guest_exits": 123.0, "machine_disk_written_bytes": 2.0**19}
    else:
        counters |= {"layer_guest_exits": 0.0}
    return counters


def results(change=lambda one: one, cells=(HOST, GUEST, DOCKER), blocks=20, folder=Path("results")):
    rng = np.random.default_rng(3)
    trials = [
        make_trial(
            cell,
            block,
            instance=f"a-{block}",
            samples={
                "events": 1500 / COSTS[cell.id] * math.exp(rng.normal(0, 0.004)),
                "tool_duration": 1.0,
            },
            duration_s=1.1,
            resources=taken(cell, rng),
        )
        for block in range(blocks)
        for cell in cells
    ]
    plan = make_plan(*cells, metrics=(EVENTS, TOOL_DURATION), max_blocks=blocks)
    return Results(folder, "name: made\n", plan, NO_FACTS, Run(stop="all blocks were run"), tuple(
        change(one) for one in trials
    ))  # fmt: skip


def bare(one):
    return replace(one, resources={})


def text_of(markup):
    body = re.sub(r"<(style|svg|script).*?</\1>", " ", markup, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body)).replace("\xa0", " ")


def why(made):
    """What the page says under the heading."""
    (section,) = re.findall(
        r'<h2 id="why">.*?</section>', Pages(describe(made)).report({}), re.DOTALL
    )
    return section


def printed(made):
    file = io.StringIO()
    Console(file=file, width=150).print(show(describe(made)))
    return file.getvalue()


def test_every_counter_of_the_monitors_has_words():
    assert {resource_of(name).kind for name in PER_WORK} <= set(COUNTERS)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("layer_page_faults", "page faults"),
        ("host_context_switches", "context switches on the whole host"),
        ("machine_disk_reads", "disk reads inside the guest"),
        ("layer_new_things", "new things"),
        ("other_things", "other things"),
    ],
)
def test_a_counter_is_called_by_words(name, words):
    assert counter_text(resource_of(name)) == words


def rate(name, unit=Unit.PER_SECOND):
    return Work(Metric(name, unit, Better.HIGHER))


@pytest.mark.parametrize(
    ("work", "typical", "text"),
    [
        (Work(None), 1.0, "run"),
        (rate("events"), 12.0, "event"),
        (rate("events"), 1031.0, "1,000 events"),
        (rate("flops"), 3.2e10, "billion flops"),
        (rate("throughput"), 50.0, "request"),
        (rate("throughput"), 5e6, "million requests"),
        (rate("progress"), 5.0, "unit of progress"),
        (rate("progress"), 5e3, "1,000 units of progress"),
        (rate("throughput", Unit.BYTE_PER_SECOND), 5 * 2.0**30, "GiB"),
        (rate("throughput", Unit.BYTE_PER_SECOND), 5.0, "KiB"),
    ],
)
def test_numbers_are_of_as_much_work_as_a_trial_does(work, typical, text):
    found = describe(results()).explanations[0]
    amount = unit_of(Explanation(row=found.row, work=work, typical=typical))
    assert amount.text == text
    assert amount.factor <= max(typical, 1024)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("layer_page_faults", 12.5, "12.50"),
        ("layer_cpu_s", 0.0123, "12.30 ms"),
        ("host_disk_read_bytes", 2.0**21, "2 MiB"),
        ("layer_memory_byte_seconds", 2.0**31, "2 GiB·s"),
        ("host_energy_j", 3.0, "3 J"),
        ("layer_page_faults", 0.0, "0"),
        ("layer_instructions", 1.2345e10, "12.35 billion"),
        ("layer_instructions", 1.2345e6, "1.234 million"),
        ("layer_page_faults", None, "\N{EN DASH}"),
        ("layer_cpu_s", 0.0, "0"),
        ("layer_memory_byte_seconds", 0.0, "0"),
    ],
)
def test_amounts_have_units_and_what_is_not_known_is_no_zero(name, value, text):
    unit = unit_of(Explanation(row=describe(results()).explanations[0].row, work=Work(None)))
    assert amounts_text(resource_of(name), [value], unit) == [text]


@pytest.mark.parametrize(
    ("name", "values", "texts"),
    [
        ("layer_disk_written_bytes", (685 * 2.0**10, 1.5 * 2**20), ["685 KiB", "1,536 KiB"]),
        ("layer_cpu_s", (0.0009, 0.0123), ["900 µs", "12,300 µs"]),
        ("layer_cpu_s", (0.0, 0.0123), ["0", "12.30 ms"]),
        ("layer_cpu_s", (0.0009, 0.123), ["900 µs", "123 ms"]),
        ("layer_instructions", (2e6, 5e7), ["2 million", "50 million"]),
        ("layer_instructions", (2e3, 5e6), ["2,000", "5 million"]),
        ("layer_page_faults", (None, 12.5), ["\N{EN DASH}", "12.50"]),
    ],
)
def test_both_sides_have_one_unit_unless_they_lie_far_apart(name, values, texts):
    unit = unit_of(Explanation(row=describe(results()).explanations[0].row, work=Work(None)))
    assert amounts_text(resource_of(name), values, unit) == texts


def test_a_sentence_names_what_moved_and_claims_no_cause():
    (said,) = sentences(describe(results()))
    grew = r"spin on host/<qemu> is slower \((1\.99|2\.00)\d.\); per 1,000 events it took more "
    exits = r"guest exits: 16\d\.\d \(0 on host\)"
    faults = r"page faults: 13,\d\d\d \(2,6\d\d on host, (5\.0|4\.9)\d. \[[45].\d\d, [45].\d\d\]\)"
    written = (
        r"bytes written to disk: 1,3\d\d KiB "
        r"\(68\d\.\d KiB on host, (1\.99|2\.00)\d?. \[[\d., ]+\], as the cost\)"
    )
    assert re.fullmatch(rf"{grew}{exits}; {faults}; and {written}\.", said), said
    assert "because" not in said


def test_the_page_has_a_table_of_the_slower_platform_alone_and_escapes_it():
    section = why(results())
    text = text_of(section)
    assert section.count("<table ") == 1
    assert "<qemu>" not in section
    assert "host/docker" not in text
    assert "It is correlation" in text
    assert re.search(r"page faults 2,\d\d\d 13,\d\d\d [45]\.\d\d. \[", text)
    assert "per 1,000 events host here" in text
    assert "Bytes written to disk by the platform's processes for each inside the guest: 2." in (
        text.replace("&#39;", "'").replace("1.99", "2.")
    )


def test_where_nothing_is_slower_or_counted_the_page_says_so():
    assert "No platform is shown to be slower" in why(results(cells=(HOST, DOCKER)))
    assert "No trial has stored counters" in why(results(bare))


def test_where_nothing_moved_it_says_of_how_many():
    def still(one):
        counters = {f"layer_{name}": 10.0 * one.samples["events"] for name in "abc"}
        return replace(one, resources=counters)

    assert "none of 3 counters surely grew by more than 2 %" in text_of(why(results(still)))


def test_where_only_cpu_time_moved_it_says_that_this_explains_nothing():
    def busy(one):
        return replace(one, resources={"layer_cpu_s": 1.0})

    assert "explains nothing by itself" in text_of(why(results(busy)))


def test_a_cell_of_which_nothing_is_known_says_why():
    def unread(one):
        return bare(one) if one.cell == HOST.id else one

    assert "no counter was read on both sides" in text_of(why(results(unread)))


def test_the_terminal_has_a_line_for_each_slower_platform():
    lines = printed(results()).splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("What grew with"))
    assert "need not be why" in lines[at]
    assert lines[at + 1].startswith("  spin on host/<qemu>: guest exits from 0 to ")
    assert "host/docker" not in lines[at + 1]
    assert "What grew" not in printed(results(bare))


def test_all_numbers_are_exported_in_base_units(tmp_path):
    path = tmp_path / "explanations.csv"
    found = describe(results())
    explanations_csv.write(found, path)
    rows = {
        (row["platform"], row["counter"]): row
        for row in csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    }
    faults = rows["host/<qemu>", "layer_page_faults"]
    assert float(faults["on_baseline"]) == pytest.approx(4000 / 1500, rel=0.02)
    assert float(faults["ratio"]) == pytest.approx(5, rel=0.02)
    assert (faults["moved"], faults["named"], faults["n"]) == ("True", "True", "20")
    assert rows["host/docker", "layer_page_faults"]["moved"] == "False"
    assert rows["host/<qemu>", "layer_guest_exits"]["ratio"] == ""
    amplified = rows["host/<qemu>", "layer_disk_written_bytes/machine_disk_written_bytes"]
    assert float(amplified["ratio"]) == pytest.approx(2, rel=0.02)

    assert path not in write_exports(describe(results(bare)), tmp_path)
    assert not path.exists()  # what an earlier report wrote goes


def test_programs_get_them_too_without_infinite_numbers():
    told = as_json(describe(results()))["explanations"]
    json.dumps(told, allow_nan=False)
    (exits,) = (
        one
        for one in told
        if (one["platform"], one["counter"]) == ("host/<qemu>", "layer_guest_exits")
    )
    assert exits["low"] == "inf"
    assert exits["named"] is True


def test_the_tables_for_other_texts_have_the_sentences():
    found = describe(results())
    assert "## Counters that changed with the degradation" in markdown(found)
    assert r"spin on host/\&lt;qemu\&gt;" in markdown(found) or "&lt;qemu&gt;" in markdown(found)
    assert "\\subsection*{Counters that changed with the degradation}" in latex(found)
    assert "What moved" not in markdown(describe(results(bare)))
