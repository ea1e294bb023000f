"""Reservations as commands, and what they give back as tables."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from tare.core.model import (
    NO_FACTS,
    Calibration,
    Contrast,
    ContrastKind,
    Neighbour,
    Reservation,
    Run,
    Use,
)
from tare.core.model.cell import OPTIONAL
from tare.core.model.reservation import CPUS, DISK_RATES, DerivedLimit, given
from tare.present.export.markdown import markdown
from tare.present.page.html import Pages
from tare.present.report import as_json, describe
from tare.present.terminal.verdicts import show
from tare.present.view.facts import facts
from tare.present.view.names import neighbour_text
from tare.present.view.reservation_commands import (
    KNOWN,
    SYSTEMS,
    commands,
    docker,
    kubernetes,
    libvirt,
    systemd,
)
from tare.present.view.reservation_words import derived_text
from tare.results.store import Results
from unit.invented import EVENTS
from unit.makers import make_cell, make_plan, make_trial

CPU = Neighbour(stressor="cpu", count=2)
HELD = replace(CPU, reservation=given({CPUS: 0.25, "cpu_weight": 30, "processes": 64}))
DERIVED = replace(CPU, reservation=Reservation(derived=Use.PEAK))
DISK = {
    "disk_read_bytes_per_s": 10_000_000,
    "disk_write_bytes_per_s": 20_000_000,
    "disk_reads_per_s": 100,
    "disk_writes_per_s": 200,
}
NETWORK = {"network_out_bytes_per_s": 12_500_000, "network_in_bytes_per_s": 25_000_000}
GROUP = {CPUS: 0.25, "cpu_weight": 30, "processes": 64}


# --- commands


def test_docker_changes_a_running_container_but_for_its_disks():
    assert docker(GROUP) == ["docker update --cpus 0.25 --cpu-shares 307 --pids-limit 64 NEIGHBOUR"]
    assert docker(DISK) == [
        "docker run --device-read-bps DEVICE:10000000 --device-write-bps DEVICE:20000000 "
        "--device-read-iops DEVICE:100 --device-write-iops DEVICE:200 IMAGE"
    ]


def test_systemd_sets_properties():
    assert systemd(GROUP) == [
        "systemctl set-property --runtime NEIGHBOUR.service CPUQuota=25% CPUWeight=30 TasksMax=64"
    ]
    assert systemd(DISK) == [
        "systemctl set-property --runtime NEIGHBOUR.service "
        'IOReadBandwidthMax="DEVICE 10000000" IOWriteBandwidthMax="DEVICE 20000000" '
        'IOReadIOPSMax="DEVICE 100" IOWriteIOPSMax="DEVICE 200"'
    ]


def test_libvirt_has_xml():
    assert libvirt(GROUP) == [
        "<cputune>",
        "  <shares>307</shares>",
        "  <global_period>100000</global_period>",
        "  <global_quota>25000</global_quota>",
        "</cputune>",
        "# libvirt has nothing that holds processes",
    ]
    assert libvirt(NETWORK) == [
        "<bandwidth>",
        "  <outbound average='12207'/>",
        "  <inbound average='24414'/>",
        "</bandwidth>",
    ]
    assert "    <read_bytes_sec>10000000</read_bytes_sec>" in libvirt(DISK)


def test_kubernetes_has_requests_and_limits():
    assert kubernetes({CPUS: 0.25}) == ["resources:", "  limits:", "    cpu: 250m"]
    assert yaml.safe_load("\n".join(kubernetes({**GROUP, **NETWORK}))) == {
        "resources": {"requests": {"cpu": "250m"}, "limits": {"cpu": "250m"}},
        "annotations": {
            "kubernetes.io/egress-bandwidth": 100_000_000,
            "kubernetes.io/ingress-bandwidth": 200_000_000,
        },
    }
    assert "# of the kubelet, for each pod: podPidsLimit: 64" in kubernetes(GROUP)
    assert "# Kubernetes has nothing that holds disk_reads_per_s" in kubernetes(DISK)


def test_links_are_shaped_where_a_system_does_not():
    for lines in (docker(NETWORK), systemd(NETWORK)):
        assert any("tbf rate 200000000bit" in line for line in lines)
        assert any("police rate 100000000bit" in line for line in lines)


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_limit_is_left_out_in_silence(system):
    for name in (CPUS, *OPTIONAL, "something_new"):
        lines = commands({name: 50})[system]
        assert lines
        if name not in KNOWN:
            assert lines == [f"# {system} has nothing that holds something_new"]


# --- what limits were derived from


def test_the_two_limits_of_a_disk_are_one_sentence():
    limits = [
        DerivedLimit(
            resource=name,
            used=10e6,
            readings=5,
            kept=11e6,
            capacity=91e6,
            neighbours=2,
            each=20e6,
        )
        for name in DISK_RATES
    ]
    assert derived_text(Reservation(derived=Use.PEAK), limits) == (
        "alone the workload takes 9.537 MiB/s of the disk (95th percentile of 5 seconds); of "
        "86.78 MiB/s, 10.49 MiB/s are kept for it, and each of the neighbours has disk read 19.07 "
        "MiB/s and disk write 19.07 MiB/s."
    )


def test_the_facts_have_the_maximum_of_a_disk_and_no_level_where_none_was_asked_for():
    one = found()
    cell = one.plan.cells[-1]
    measured = Calibration(
        resource="disk",
        level=1.0,
        maximum=2.0**30,
        alone=0.0,
        neighbours=2.0**30,
        intensity=1.0,
        reached=None,
    )
    one = describe(replace(one.results, calibrations={cell.id: measured}))

    (title,) = [fact for fact in facts(one) if fact.title == "Levels of neighbours"]
    ((_, text),) = title.lines
    assert text.startswith("at most 1 GiB/s; alone the workload took ")
    assert "reached" not in text


# --- tables


def found(*, facts=NO_FACTS):
    alone = make_cell("host")
    cells = [make_cell("host", params=one.params) for one in (CPU, HELD, DERIVED)]
    plan = make_plan(alone, *cells, metrics={alone.workload: (EVENTS,)}, max_blocks=11)
    contrasts = tuple(
        Contrast(cell=cell.id, reference=alone.id, kind=ContrastKind.ISOLATION) for cell in cells
    )
    derived = DerivedLimit(
        resource=CPUS, used=0.5, readings=9, kept=0.55, capacity=1.0, neighbours=2, each=0.225
    )
    facts = replace(facts, reservations={cells[2].id: (derived,)})
    trials = tuple(
        make_trial(cell, block, instance=f"a-{block}", samples={"events": rate})
        for cell, rate in zip((alone, *cells), (100.0, 25.0, 50.0, 80.0), strict=True)
        for block in range(11)
    )
    plan = replace(plan, contrasts=contrasts)
    return describe(Results(Path("r"), "name: n\n", plan, facts, Run(stop="done"), trials))


def test_a_neighbour_that_is_held_is_named_so():
    assert neighbour_text(HELD) == (
        "2 cpu neighbours, held to 0.25 CPUs, processes 64, CPU weight 30"
    )
    assert neighbour_text(DERIVED) == "2 cpu neighbours, held to what is left (peak + 10 %)"
    rates = replace(CPU, reservation=given({"network_out_bytes_per_s": 2**20}))
    assert neighbour_text(rates) == "2 cpu neighbours, held to network out 1 MiB/s"


def test_show_has_the_points_and_the_commands():
    console = Console(file=io.StringIO(), width=200)
    console.print(show(found()))
    text = " ".join(console.file.getvalue().split())

    assert "What reservations give back" in text
    assert "+200.0 [+200.0, +200.0] 11" in text
    assert "+275.0 [+275.0, +275.0] 11" in text
    assert "docker update --cpus 0.25 --cpu-shares 307 --pids-limit 64 NEIGHBOUR" in text
    assert (
        "Derived (spin, host): alone the workload takes 0.5 CPUs (95th percentile of 9 seconds); "
        "of 1, 0.55 are kept for it, and each of the neighbours has 0.225." in text
    )


def test_programs_get_the_numbers_and_the_commands():
    given_back, derived = as_json(found())["reservations"]

    assert given_back["regained_points"] == pytest.approx(200)
    assert given_back["limits"] == GROUP
    assert given_back["commands"]["systemd"][0].endswith("TasksMax=64")
    assert derived["limits"] == {CPUS: 0.225}
    assert "95th percentile of 9 seconds" in derived["derived"]
    json.dumps([given_back, derived])


def test_the_report_and_the_markdown_have_the_table(tmp_path):
    page = Pages(found(), tmp_path).report({})
    text = markdown(found())

    assert 'id="reservations"' in page
    assert "docker update --cpus 0.25" in page
    assert "## What reservations give back" in text
    assert "held to what is left" in text


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_narrow_terminal_keeps_the_points(width):
    console = Console(file=io.StringIO(), width=width)
    console.print(show(found()))
    text = console.file.getvalue()

    assert "+200.0" in text
    assert max(map(len, text.splitlines())) <= width


def test_why_there_are_no_points_stands_below():
    study = found()
    free = study.plan.cells[1].id
    others = tuple(one for one in study.plan.contrasts if one.cell != free)
    plan = replace(study.plan, contrasts=others)
    shown = describe(replace(study.results, plan=plan))

    console = Console(file=io.StringIO(), width=200)
    console.print(show(shown))
    text = " ".join(console.file.getvalue().split())

    assert "No points of host (2 cpu neighbours), 0.25 CPUs, processes 64, CPU weight 30" in text
    assert "the study does not measure it." in text


def test_studies_without_reservations_show_nothing_of_them():
    study = found()
    cells = [one for one in study.plan.cells if len(one.params) < 5]
    plan = replace(
        study.plan,
        cells=tuple(cells),
        contrasts=tuple(
            one for one in study.plan.contrasts if one.cell in {cell.id for cell in cells}
        ),
    )
    ids = {cell.id for cell in cells}
    trials = tuple(one for one in study.results.trials if one.cell in ids)
    plain = describe(replace(study.results, plan=plan, trials=trials))

    assert "reservations" not in as_json(plain)
    assert "reservations" not in markdown(plain)
