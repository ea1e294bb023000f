import csv
import io
import json
import math
import os
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from rich.console import Console

from tare.core.errors import ResultsError
from tare.core.model import (
    NO_RUN,
    Better,
    EndedSession,
    HostCost,
    Kind,
    Metric,
    MetricRole,
    Placement,
    Plan,
    Repetition,
    Run,
    Slot,
    Status,
    Trial,
    Unit,
)
from tare.present.charts import vega
from tare.present.charts.catalogue import drawn, figures
from tare.present.charts.figure import MAX_POINTS
from tare.present.export import results_csv
from tare.present.page import render
from tare.present.report import as_json, describe, read_and_report, write_report
from tare.present.terminal.verdicts import show
from tare.present.view import theme
from tare.present.view.host_use import OVERHEAD_PHASES
from tare.present.view.numbers import bytes_text, cost_text, percent_text, plain, scale_for
from tare.present.view.verdict_texts import control_text, trials_text
from tare.results.stats.median import median_rank
from tare.results.store import Results, facts_of
from tare.results.store.run import run_of
from unit.drawing import assert_dark
from unit.invented import Study
from unit.makers import contrasts_of, make_cell, store

EVENTS = Metric("events", Unit.PER_SECOND, Better.HIGHER)
BANDWIDTH = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)
LATENCY = Metric("latency_mean", Unit.SECOND, Better.LOWER)
PLATFORMS = ("host", "host/docker", "host/qemu-tcg", "host/qemu-tcg/docker", "host/kvm")
WORKLOADS = {
    "sysbench_cpu": ((EVENTS, LATENCY), (("max_prime", 10000), ("threads", 1), ("time_s", 1))),
    "sysbench_memory": ((BANDWIDTH,), (("block_bytes", 2**20), ("threads", 1), ("time_s", 1))),
    "fio": (
        (BANDWIDTH, LATENCY),
        (("pattern", "randread"), ("block_bytes", 4096), ("direct", True), ("time_s", 1)),
    ),
}
BASE = {"sysbench_cpu": 1031.0, "sysbench_memory": 7.2e9, "fio": 88e6}
COSTS = {
    "sysbench_cpu": (1, 1.001, 14.2, 14.4),
    "sysbench_memory": (1, 1.004, 2.3, 2.31),
    "fio": (1, 1.12, 5.8, 9.1),
}
NOISE = {"sysbench_cpu": 0.004, "sysbench_memory": 0.02, "fio": 0.05}


def cell(platform, workload, *, replica=0):
    return make_cell(
        platform,
        settings=tuple((f"{layer}.image", "tare") for layer in platform.split("/")[1:]),
        workload=workload,
        params=WORKLOADS[workload][1],
        replica=replica,
    )


def make_plan(platforms=PLATFORMS, workloads=tuple(WORKLOADS), blocks=11):
    cells = tuple(
        cell(platform, workload, replica=int(control))
        for workload in workloads
        for platform, control in [*((name, False) for name in platforms), ("host", True)]
    )
    slots = tuple(
        Slot(block=block, slot=place, cell=one.id, placements=(Placement(instance=block % 2),))
        for block in range(blocks)
        for place, one in enumerate(cells)
    )
    return Plan(
        study="quick",
        seed=20241121,
        cells=cells,
        contrasts=contrasts_of(cells, "host"),
        metrics={name: WORKLOADS[name][0] for name in workloads},
        repetition=Repetition(max_blocks=blocks, instances=2, budget_s=150),
        slots=slots,
    )


def make_trial(plan, slot, rng, drift):
    of = plan.cells_by_id[slot.cell]
    common = {
        "cell": of.id,
        "block": slot.block,
        "slot": slot.slot,
        "instance": f"5e5510-{slot.instance}-{of.platform.rpartition('/')[2]}{'c' * of.replica}",
        "started_at": f"2024-11-21T10:{slot.block:02d}:{slot.slot % 60:02d}Z",
    }
    if of.platform == "host/kvm":
        return Trial(
            kind=Kind.MEASURED,
            status=Status.UNAVAILABLE,
            reason="/dev/kvm is there, but no guest came up in 30 s",
            **common,
        )
    cost = COSTS[of.workload][PLATFORMS.index(of.platform)]
    noise = NOISE[of.workload]
    rate = BASE[of.workload] / cost / math.exp(drift[slot.block] + rng.normal(0, noise))
    metrics = plan.metrics[of.workload]
    samples = {metrics[0].name: rate}
    if LATENCY in metrics:
        samples["latency_mean"] = 1 / rate if of.workload == "sysbench_cpu" else 4096 / rate
    return Trial(
        kind=Kind.MEASURED,
        status=Status.OK,
        duration_s=1.02 + 0.01 * rng.random(),
        samples=samples,
        host=HostCost(
            cpu_s=0.97,
            run_delay_s=0.02 * rng.random() * cost**0.5,
            all_cpu_s=1.0 + 0.05 * cost**0.5,
            coverage=1.0,
            threads=2,
        ),
        phases_s={
            "resume": 0.002 * cost**0.5,
            "setup": 0.001,
            "command": 1.02,
            "parse": 0.0004,
            "pause": 0.002,
            "store": 0.003,
        },
        **common,
    )


def make_trials(plan, seed=7):
    """Every slot's trial, warm-ups first; some failed, did not respond, or are suspect."""
    rng = np.random.default_rng(seed)
    blocks = plan.repetition.max_blocks
    drift = 0.03 * np.sin(np.linspace(0, 3, blocks))
    trials, warm = [], set()
    for slot in plan.slots:
        trial = make_trial(plan, slot, rng, drift)
        if trial.status is Status.OK and (slot.cell, trial.instance) not in warm:
            warm.add((slot.cell, trial.instance))
            slower = {name: value * 0.97 for name, value in trial.samples.items()}
            trials.append(replace(trial, kind=Kind.WARMUP, samples=slower))
        of = plan.cells_by_id[slot.cell]
        if trial.status is Status.OK and of.workload == "fio":
            trial = disturb(of, trial)
        trials.append(trial)
    return tuple(trials)


def disturb(of, trial):
    if of.platform == "host/docker" and trial.block == 3:
        return replace(
            trial,
            status=Status.SUSPECT,
            reason="the host was throttled for 0.2 s",
            warnings=("CPU throttled",),
        )
    if of.platform == "host/qemu-tcg/docker" and trial.block == 5:
        reason = 'fio exited with 1: <script>alert("no")</script>'
        return replace(trial, status=Status.FAILED, reason=reason, samples={})
    if of.platform == "host/qemu-tcg/docker" and trial.block == 9:
        return replace(trial, status=Status.DNR, reason="did not end within 60 s", samples={})
    return trial


FACTS = {
    "host": {
        "cpu": "Intel Xeon 8370C, 2 CPUs",
        "memory_bytes": 25277976576,
        "kernel": "6.1.0-26-amd64",
        "distribution": "Debian 12",
        "virtualized": "yes, in a virtual machine (kvm)",
    },
    "noise": [
        "The frequency governor is not known: this host is itself a virtual machine.",
        "The load was 1.4 before the study began.",
    ],
    "platforms": {
        "host": {
            "stack": "host",
            "settings": {},
            "probe": {},
            "inside": {"cpus": 1, "memory_bytes": 2**30, "disk_cache": "none"},
            "warnings": [],
        },
        "host/docker": {
            "stack": "host/docker",
            "settings": {"docker.network": "none"},
            "probe": {"docker": "20.10.24", "runtime": "runc 1.1.5"},
            "inside": {"cpus": 1, "memory_bytes": 2**30, "disk_cache": "none"},
            "warnings": ["The daemon is Tare's own: none answered."],
        },
        "host/qemu-tcg": {
            "stack": "host/qemu-tcg",
            "settings": {"qemu-tcg.accel": "tcg"},
            "probe": {"qemu": "7.2.13"},
            "inside": {"cpus": 1, "memory_bytes": 1021984768, "disk_cache": "none"},
            "warnings": [],
        },
        "host/qemu-tcg/docker": {"stack": "host/qemu-tcg/docker", "probe": {"qemu": "7.2.13"}},
        "host/kvm": {
            "stack": "host/kvm",
            "unavailable": "/dev/kvm is there, but no guest came up in 30 s",
        },
    },
    "userland": {
        "id": "bookworm-3f2a91c0de",
        "suite": "bookworm",
        "versions": {"sysbench": "1.0.20+ds-5", "fio": "3.33-3", "libc6": "2.36-9+deb12u8"},
        "kernel": "6.1.0-26-cloud-amd64",
    },
    "tare": {"version": "0.1.0", "python": "3.11.2"},
    "session": {"cpuset": "1", "controller_cpus": "0", "seed": 20241121},
}
RUN = {
    "sessions": [
        {
            "id": "a1",
            "started": "2024-11-21T10:00:00Z",
            "ended": "2024-11-21T10:04:31Z",
            "reason": "every cell is decided or at its last block",
        }
    ],
    "stop": "every cell is decided or at its last block",
}
STUDY = "name: quick\nquestion: What does each layer cost on this host?\n"


def make_results(folder=Path("results/quick-20241121"), **changes):
    plan = changes.pop("plan", None) or make_plan()
    trials = changes.pop("trials", None)
    facts = facts_of(changes.pop("facts", FACTS))
    content = {"study": STUDY, "facts": facts, "run": run_of(RUN), **changes}
    trials = make_trials(plan) if trials is None else trials
    return Results(folder=folder, plan=plan, trials=trials, **content)


def control_differs(trials, plan, factor=1.3):
    """The trials of a host that something else disturbs whenever the control runs."""
    controls = {one.id for one in plan.cells if one.replica}
    return tuple(
        replace(one, samples={name: value / factor for name, value in one.samples.items()})
        if one.cell in controls
        else one
        for one in trials
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return folder, write_report(make_results(), folder)


@pytest.fixture(scope="module")
def page(written):
    return (written[0] / "report.html").read_text()


def text_of(page):
    """What a reader sees: no markup, spaces as one."""
    body = re.sub(r"<(style|svg|script).*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body)).replace("\xa0", " ")


def printed(results, width):
    file = io.StringIO()
    Console(file=file, width=width).print(show(describe(results)))
    return file.getvalue()


def test_a_report_is_a_page_tables_and_three_pictures_of_each_chart(written):
    folder, files = written
    names = ["forest", "heat", "attribution"]
    kinds = ("points", "drift", "distribution", "matrix")
    names += [f"{kind}-{number:02d}" for number in (1, 2, 3) for kind in kinds]
    pictures = {f"figures/{name}.{kind}" for name in names for kind in ("svg", "png", "pdf")}
    assert {str(path.relative_to(folder)) for path in files} == {
        "report.html",
        "results.csv",
        "results.md",
        "results.tex",
        *pictures,
    }
    assert all(path.stat().st_size > 1000 for path in files)


def test_the_page_loads_nothing(page):
    assert not re.search(r"<(link|img|iframe|object|embed|base)\b", page)
    assert not re.search(r"@import|url\((?!#)", page)
    beside = re.compile(r"#|(?!/)[^:]*$")
    assert all(beside.match(target) for target in re.findall(r'href="([^"]*)"', page))
    assert not re.search(r"\bsrc\s*=", page)


def test_text_of_a_trial_or_a_study_stays_text(page, tmp_path):
    assert "&lt;script&gt;alert" in page
    evil = "<img src=x onerror=alert(1)>"
    plan = make_plan(platforms=("host", "host/docker"), workloads=("fio",))
    trials = [
        replace(one, reason=evil, instance=evil, warnings=(evil,), status=Status.SUSPECT)
        for one in make_trials(plan)
    ]
    facts = {"host": {evil: evil}, "noise": [evil], "platforms": {"host": {"warnings": [evil]}}}
    study = f"name: quick\nquestion: '{evil}'\n"
    run = Run(stop=evil, sessions=(EndedSession(started=evil),))
    results = make_results(plan=plan, trials=tuple(trials), facts=facts, study=study, run=run)
    write_report(results, tmp_path)
    assert "<img" not in (tmp_path / "report.html").read_text()


def test_every_comparison_has_its_numbers_verdict_and_warnings(page):
    text = text_of(page)
    assert "What does each layer cost on this host?" in text
    assert re.search(r"host/qemu-tcg 14\.\d. \+1,3\d\d %", text)
    assert "same within 2 %" in text
    assert "Failed in 2 of 11 pairs, which count as the worst value." in text
    assert "CPU throttled (1 of 11 trials)" in text
    assert text.count("host (A/A control)") >= 3


def test_what_failed_stands_with_its_reason_and_the_path_of_its_output(page):
    text = text_of(page)
    assert "host/kvm is unavailable: /dev/kvm is there, but no guest came up in 30 s" in text
    assert re.search(r"dnr fio, host/qemu-tcg/docker 9 5e5510-1-docker did not end", text)
    assert re.search(r"raw/0009-\d{4}-measured-5e5510-1-docker/", text)


def test_what_ran_where_and_what_tare_added_are_told(page):
    text = text_of(page)
    for said in ("20241121", "1.0.20+ds-5", "6.1.0-26-amd64", "974.6 MiB", "not read back"):
        assert said in text
    assert all(phase in text for phase in OVERHEAD_PHASES)
    assert "What makes this host noisy" in text


def test_a_control_that_differs_stamps_the_page_and_the_terminal(tmp_path):
    plan = make_plan(workloads=("sysbench_cpu",))
    results = make_results(plan=plan, trials=control_differs(make_trials(plan), plan))
    write_report(results, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert '<p class="alarm">NOT TRUSTED: the A/A control' in page
    assert '<p class="alarm">Below the noise floor' not in page
    text = text_of(page)
    assert "NOT TRUSTED. host measured twice differs from itself on sysbench_cpu" in text
    assert "NOT TRUSTED" in printed(results, 80)
    assert as_json(describe(results))["trusted"] is False


@pytest.mark.parametrize("study", ["", "{broken", "- a list", "question: [1]"])
def test_a_study_that_has_only_begun_has_a_page_that_says_so(tmp_path, study):
    results = make_results(trials=(), facts={}, run=NO_RUN, study=study)
    files = write_report(results, tmp_path)
    text = text_of((tmp_path / "report.html").read_text())
    assert "Not finished." in text
    assert "no trial has been measured yet" in text
    assert "No facts about this host have been stored" in text
    names = ["report.html", "results.csv", "results.md", "results.tex"]
    assert [path.name for path in files] == names
    assert "not ended" in printed(results, 80)


def test_what_is_to_be_known_of_a_platform_is_shown_in_the_terminal_too():
    plan = make_plan(workloads=("fio",), blocks=2)
    facts = {"platforms": {"host/docker": {"warnings": ["it is not what was declared"]}}}

    text = printed(make_results(plan=plan, facts=facts), 200)

    assert "* host/docker: it is not what was declared" in text


@pytest.mark.parametrize(
    "facts",
    [
        {"platforms": None, "host": "one", "noise": None, "tare": "0.1"},
        {"platforms": {"host": None}, "noise": "a sentence", "tare": {}},
        {"platforms": {"host": {"inside": {}, "settings": None, "warnings": "no list"}}},
    ],
)
def test_facts_of_any_shape_do_not_stop_the_page(tmp_path, facts):
    plan = make_plan(workloads=("fio",), blocks=2)
    write_report(make_results(plan=plan, facts=facts, run=run_of({"sessions": None})), tmp_path)


def test_values_of_zero_do_not_stop_the_page(tmp_path):
    plan = make_plan(platforms=("host", "host/docker"))
    trials = tuple(
        replace(one, samples=dict.fromkeys(one.samples, 0.0)) for one in make_trials(plan)
    )
    write_report(make_results(plan=plan, trials=trials), tmp_path)
    assert "no trial" not in text_of((tmp_path / "report.html").read_text())
    assert as_json(describe(make_results(plan=plan, trials=trials)))["rows"][0]["median"] == 0


def test_how_busy_the_hosts_disk_was_stands_with_work_on_files(tmp_path):
    def seen(one, plan):
        if plan.cells_by_id[one.cell].workload != "fio":
            return replace(one, noise={"psi_io_some": 0.01})
        busy = 0.25 if plan.cells_by_id[one.cell].platform == "host" else 0.75
        return replace(one, noise={"disk_busy_share": busy + one.block / 1e6, "psi_io_some": 0.5})

    plan = make_plan(platforms=("host", "host/docker"), workloads=("sysbench_cpu", "fio"))
    results = make_results(plan=plan, trials=tuple(seen(one, plan) for one in make_trials(plan)))
    write_report(results, tmp_path)
    page = (tmp_path / "report.html").read_text()

    assert page.count("disks meanwhile") == 1
    assert re.search(r"<td>host/docker</td><td class=\"n\">75 %</td><td class=\"n\">50 %", page)
    rows = [row for row in as_json(describe(results))["rows"] if row.get("primary") is not False]
    shares = {(one["workload"], one["platform"]): one["disk_busy_share"] for one in rows}
    assert shares["fio", "host/docker"] == pytest.approx(0.75, abs=1e-4)
    assert shares["sysbench_cpu", "host"] is None
    assert {one["psi_io_some"] for one in rows} == {0.01, 0.5}


def test_what_was_lost_stands_beside_the_number(tmp_path):
    def traffic(lost):
        loss = Metric("lost", Unit.RATIO, Better.LOWER, MetricRole.LOSS)
        plan = make_plan(platforms=("host", "host/docker"), workloads=("fio",))
        plan = replace(plan, metrics={"fio": (BANDWIDTH, loss)})
        trials = [
            replace(one, samples={**one.samples, "lost": lost[plan.cells_by_id[one.cell].platform]})
            if one.samples
            else one
            for one in make_trials(plan)
        ]
        return make_results(plan=plan, trials=tuple(trials))

    some = traffic({"host": 0.0, "host/docker": 0.65})
    for width in (60, 80, 120):
        said = " ".join(printed(some, width).split())
        assert "65 % lost" in said
        assert "baseline 0 %" not in said
    write_report(some, tmp_path)
    page = text_of((tmp_path / "report.html").read_text())
    assert "65 % lost, on average over its trials." in page
    assert "0 % lost, on average over its trials." in page
    both = " ".join(printed(traffic({"host": 0.02, "host/docker": 0.65}), 120).split())
    assert "host/docker: 65 % lost (baseline 2 % lost)" in both
    none = traffic({"host": 0.0, "host/docker": 0.0})
    assert "% lost" not in printed(none, 120)


def test_a_verdict_without_a_ratio_says_why_there_is_no_cost(tmp_path):
    loss = Metric("loss", Unit.RATIO, Better.LOWER)
    plan = make_plan(platforms=("host", "host/docker"), workloads=("fio",))
    plan = replace(plan, metrics={"fio": (loss,)})
    trials = tuple(
        replace(one, samples={"loss": 0.5 if "/" in plan.cells_by_id[one.cell].platform else 0.0})
        for one in make_trials(plan)
        if one.samples
    )
    results = make_results(plan=plan, trials=trials)
    write_report(results, tmp_path)
    said = " ".join(printed(results, 120).split())
    assert "no cost: in 11 of 11 pairs one side had 0, which has no ratio" in said
    assert "failed" not in said
    assert "∞" not in said
    row = next(one for one in as_json(describe(results))["rows"] if one["platform"] != "host")
    assert (row["verdict"], row["cost"], row["low"]) == ("slower", None, "inf")
    assert (row["pairs_failed"], row["pairs_baseline_zero"]) == (0, 11)
    json.dumps(as_json(describe(results)), allow_nan=False)


def test_charts_of_an_earlier_report_do_not_stay(tmp_path):
    write_report(make_results(), tmp_path)
    (tmp_path / "figures" / "mine.svg").touch()
    write_report(make_results(trials=()), tmp_path)
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["mine.svg"]


def test_results_csv_has_a_row_for_each_cell_and_metric_in_base_units(written):
    with (written[0] / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    whole = [one for one in rows if one["n"]]
    assert len(whole) == sum(6 * len(metrics) for metrics, _ in WORKLOADS.values())
    row, *others = (
        one
        for one in rows
        if one["workload"] == "fio"
        and one["platform"] == "host/docker"
        and one["metric"] == "throughput"
    )
    assert [one["variant"] for one in (row, *others)] == ["wall", "corrected", "host_cpu"]
    assert [one["primary"] for one in (row, *others)] == ["True", "False", "False"]
    assert row["unit"] == "B/s"
    assert 70e6 < float(row["median"]) < 90e6
    assert row["verdict"] == "slower"
    assert row["suspect"] == "1"
    assert row["param.block_bytes"] == "4096"
    assert row["setting.docker.image"] == "tare"
    assert float(row["degradation_percent"]) == pytest.approx(100 * (float(row["cost"]) - 1))
    base = next(one for one in rows if one["platform"] == "host" and one["control"] == "False")
    assert base["verdict"] == base["cost"] == ""


def test_results_csv_has_the_median_of_peak_memory_and_nothing_where_it_is_not_known(tmp_path):
    plan = make_plan(platforms=("host", "host/docker"), workloads=("sysbench_cpu",))
    docker = {cell.id for cell in plan.cells if cell.platform == "host/docker"}
    trials = [
        replace(one, resources={"layer_memory_peak_bytes": 100.0 + one.block})
        if one.cell in docker and one.block % 2
        else one
        for one in make_trials(plan)
    ]
    found = describe(make_results(plan=plan, trials=trials))
    peaks = [
        one.resources["layer_memory_peak_bytes"]
        for cell in docker
        for one in found.measured[cell]
        if one.resources
    ]
    assert len(peaks) > 3
    results_csv.write(found, tmp_path / "results.csv")
    with (tmp_path / "results.csv").open(newline="") as file:
        rows = [one for one in csv.DictReader(file) if one["n"]]
    told = {one["platform"]: one["memory_peak_bytes"] for one in rows}
    assert float(told["host/docker"]) == median(peaks)
    assert told["host"] == ""


def failing(status):
    study = Study(["host", "host/docker"]).add("cpu", lambda p, b: (status, "why"))
    return study.found()


def test_where_nothing_could_be_measured_it_is_not_said_that_all_went_well():
    found = failing(Status.UNAVAILABLE)
    assert trials_text(found).startswith("No trial could be measured: all were unavailable, 0 ")
    assert "no pair of numbers" in control_text(found)
    none = Study(["host", "host/docker"]).add("cpu", lambda p, b: None).found()
    assert trials_text(none).startswith("No trial has been measured, 0 warm-ups")
    assert "too few blocks" in control_text(none)


def test_a_control_that_always_failed_has_not_too_few_blocks():
    found = failing(Status.FAILED)
    assert trials_text(found).startswith("33 measured trials in 11 blocks (33 failed)")
    assert control_text(found) == (
        "The A/A control has no pair of numbers, so the noise of this host is not known."
    )


def test_json_is_strict_and_names_infinity():
    found = as_json(describe(make_results()))
    text = json.dumps(found, allow_nan=False)
    assert json.loads(text) == json.loads(json.dumps(found))
    stack = next(
        row
        for row in found["rows"]
        if row["platform"] == "host/qemu-tcg/docker" and row["metric"] == "throughput"
        if row["workload"] == "fio"
    )
    assert stack["high"] == "inf"
    assert stack["failed"] == stack["dnr"] == 1
    assert found["attributions"][0]["layers"].keys() == {"host/qemu-tcg", "host/docker"}


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_show_fits_its_terminal_and_loses_no_verdict(width):
    text = printed(make_results(), width)
    assert max(map(len, text.splitlines())) <= width
    assert len(re.findall("[0-9]\N{MULTIPLICATION SIGN}", text)) >= 9
    assert "control" in text


def test_text_in_square_brackets_is_no_style():
    plan = make_plan(platforms=("host", "host/docker"), workloads=("fio",))
    cells = tuple(
        replace(one, platform="[red]box" if one.platform == "host/docker" else "host")
        for one in plan.cells
    )
    renamed = {old.id: new.id for old, new in zip(plan.cells, cells, strict=True)}
    trials = tuple(replace(one, cell=renamed[one.cell]) for one in make_trials(plan))
    assert "[red]box" in printed(make_results(plan=replace(plan, cells=cells), trials=trials), 100)


def test_the_summary_says_every_platform_and_the_noise_floor():
    said = as_json(describe(make_results()))["summary"]
    assert len(said) == 6
    assert said[0].startswith("host/docker is slower on fio (+")
    assert "same within 2 % on sysbench_cpu" in said[0]
    assert re.search(r"host/qemu-tcg is slower on sysbench_cpu \(14\.\d.", said[1])
    assert said[3].startswith("host/kvm is not measured (/dev/kvm")
    assert "verdicts are likely, not established" in said[4]
    assert "noise floor" in said[-1]


def test_every_trial_with_a_number_is_a_point_and_those_without_stand_apart():
    found = describe(make_results())
    fio = next(one for one in figures(found) if one.name == "points-03")
    points, lost, _, medians, gaps = (layer["data"]["values"] for layer in fio.draw(900)["layer"])
    assert len(points) == 5 * 11 - 2
    assert {one["status"] for one in lost} == {"failed", "dnr"}
    assert [one["status"] for one in points].count("suspect") == 1
    assert len(medians) == 5
    assert all(one["low"] <= one["median"] <= one["high"] for one in medians)
    assert gaps == [{"platform": "host/kvm", "text": "unavailable"}]


def test_a_chart_with_too_many_points_says_how_many_it_draws():
    plan = make_plan(platforms=("host", "host/docker"), workloads=("sysbench_cpu",), blocks=250)
    found = describe(make_results(plan=plan))
    every = {one.name: one for one in figures(found)}
    again = {one.name: one for one in figures(found)}
    for name, there in (("points-01", 750), ("drift-01", 756)):
        assert f"{MAX_POINTS:,} of {there:,} points drawn" in every[name].caption
        assert every[name].draw(900) == again[name].draw(900)


def test_of_many_workloads_those_with_the_largest_costs_are_drawn(tmp_path):
    one = make_plan(platforms=("host", "host/docker"), workloads=("fio",))
    cells, trials = [], []
    for size in range(1, 11):
        for old in one.cells:
            new = replace(old, id=f"{old.id}-{size}", params=(("block_bytes", size * 512),))
            cells.append(new)
            slower = 1 + size / 10 if old.platform == "host/docker" else 1
            trials += [
                replace(t, cell=new.id, samples={n: v / slower for n, v in t.samples.items()})
                for t in make_trials(one)
                if t.cell == old.id
            ]
    found = describe(
        make_results(
            plan=replace(one, cells=tuple(cells), contrasts=contrasts_of(cells, "host")),
            trials=tuple(trials),
        )
    )
    names = [group.name for group in drawn(found)]
    assert names == [f"fio · block {bytes_text(512 * size)}" for size in range(5, 11)]
    forest = next(figures(found))
    assert "The 6 of 10 workloads with the largest costs are drawn" in forest.caption


def test_the_steps_of_a_waterfall_lead_from_one_to_the_cost_of_the_stack():
    found = describe(make_results())
    chart = next(one for one in figures(found) if one.name == "attribution")
    steps = chart.draw(900)["data"]["values"][:4]
    assert [one["step"] for one in steps] == [
        "1 qemu-tcg",
        "2 docker",
        "interaction",
        "whole stack",
    ]
    assert steps[0]["start"] == steps[3]["start"] == 1
    assert steps[1]["start"] == steps[0]["end"]
    assert steps[2]["start"] == pytest.approx(steps[1]["end"])
    assert steps[2]["end"] == steps[3]["end"]


def test_every_colour_of_a_chart_has_one_for_the_dark(page):
    charts = "".join(re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL))
    assert_dark(charts)


def test_ids_in_the_page_are_unique(page):
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (10000, "10,000"), (1031.04, "1,031"), (0.12345, "0.1235"), (math.inf, "∞")],
)
def test_numbers_keep_four_digits(value, text):
    assert plain(value) == text


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        (Unit.BYTE_PER_SECOND, 88e6, "83.92 MiB/s"),
        (Unit.SECOND, 0.00097, "970.0 µs"),
        (Unit.SECOND, 0.0123, "12.30 ms"),
        (Unit.PER_SECOND, 1031.0, "1,031 /s"),
        (Unit.RATIO, 0.5, "0.5000"),
    ],
)
def test_numbers_are_scaled_for_the_eye(unit, value, text):
    assert scale_for(unit, [value]).full(value) == text


@pytest.mark.parametrize(
    ("cost", "text"),
    [(4.0, "+300 %"), (1.0, "0.00 %"), (0.975, "\N{MINUS SIGN}2.5 %"), (math.inf, "+∞ %")],
)
def test_degradation_is_cost_minus_one_with_its_sign(cost, text):
    assert percent_text(cost) == text


@pytest.mark.parametrize(
    ("cost", "text"),
    [(0.0366, "0.037"), (0.5, "0.500"), (1.0412, "1.041"), (36.61, "36.6"), (1234.5, "1,234")],
)
def test_a_cost_keeps_its_digits_however_small(cost, text):
    assert cost_text(cost)[:-1] == text


@pytest.mark.parametrize(("n", "rank"), [(5, None), (6, 0), (11, 1), (25, 7), (100, 39)])
def test_the_interval_of_a_median_is_that_of_the_sign_test(n, rank):
    assert median_rank(n) == rank


def test_show_imports_nothing_that_only_charts_need():
    code = (
        "import sys, tare.present.report; "
        "print([m for m in ('vl_convert', 'jinja2', 'scipy', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_that_a_process_that_draws_was_killed_is_told_with_what_to_do(monkeypatch, tmp_path):
    def doomed(_folder):
        return ProcessPoolExecutor(1, get_context("fork"), os._exit, (9,))

    monkeypatch.setattr(render, "_artists", doomed)
    with pytest.raises(ResultsError, match=r"was killed.*make memory free, then tare report"):
        read_and_report(store(make_results(), tmp_path, FACTS), tmp_path)


LARGE = """
import sys
from pathlib import Path
from unittest.mock import patch
from tare.present.report import read_and_report
from tare.present.page import render
with patch.object(render, "LARGE_BYTES", 0), patch.object(render, "ThreadPoolExecutor", None):
    read_and_report(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_a_large_report_is_drawn_by_processes_and_is_the_same(tmp_path):
    folder = store(make_results(), tmp_path / "results", FACTS)
    small, large = tmp_path / "small", tmp_path / "large"
    read_and_report(folder, small)
    # Of its own, because processes are made only where nothing was drawn before.
    argv = [sys.executable, "-c", LARGE, str(folder), str(large)]
    subprocess.run(argv, check=True, timeout=300)
    for path in (one for one in small.rglob("*") if one.suffix in (".html", ".csv", ".svg")):
        assert (large / path.relative_to(small)).read_text() == path.read_text(), path.name


def test_where_vega_was_awake_before_no_process_is_made_that_would_wait_for_it(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(render, "LARGE_BYTES", 0)
    vega.svg({"data": {"values": []}, "mark": "point"})
    with render._artists(store(make_results(), tmp_path, FACTS)) as artists:
        assert isinstance(artists, ThreadPoolExecutor)


TEXT = """<svg xmlns="http://www.w3.org/2000/svg" width="90" height="20">
<text y="15" font-family="{}">Layers</text></svg>"""


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("red: \x1b[31merror", "red: \ufffd[31merror"),
        ("\0\x07\x08\x1f", "\ufffd" * 4),
        ("a\u2028b\u2029c", "a\ufffdb\ufffdc"),
        ("\ufffe\uffff\ud800", "\ufffd" * 3),
        ("\\\x1b", "\\\ufffd"),
        ("\\u001b \\\\u0000 \\u2028", "\\u001b \\\\u0000 \\u2028"),
        ("é \N{DOG FACE} \x7f", "é \N{DOG FACE} \x7f"),
    ],
)
def test_characters_that_no_drawing_can_have_do_not_break_a_chart(tmp_path, text, drawn):
    spec = {
        "data": {"values": [{"said": text, "x": 1}]},
        "mark": "point",
        "title": text,
        "encoding": {"description": {"field": "said"}, "x": {"field": "x"}},
    }
    picture = vega.svg(spec)

    assert f'aria-label="{drawn}"' in picture
    assert all(path.stat().st_size for path in vega.write_figure(picture, tmp_path / "figure"))


def test_a_report_that_cannot_be_written_is_told_with_what_to_do(tmp_path):
    folder = store(make_results(), tmp_path / "results", FACTS)
    (tmp_path / "file").write_text("mine")

    with pytest.raises(ResultsError, match=r"cannot write the report: .*file.*the trials are unt"):
        read_and_report(folder, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_charts_have_the_fonts_that_vega_brings_and_none_of_the_host(monkeypatch, tmp_path):
    monkeypatch.setenv("FONTCONFIG_FILE", "the host's")
    vega.svg({"data": {"values": []}, "mark": "point"})
    assert os.environ["FONTCONFIG_FILE"] == "the host's"
    drawn = {}
    for family in (theme.FONT, "DejaVu Sans", "no such font"):
        files = vega.write_figure(TEXT.format(family), tmp_path / "v1.2")
        assert [one.name for one in files] == ["v1.2.svg", "v1.2.png", "v1.2.pdf"]
        drawn[family] = files[1].read_bytes()
    # Debian's usual font is on most hosts; text in a font that is not known is left out.
    assert drawn["DejaVu Sans"] == drawn["no such font"] != drawn[theme.FONT]
