"""In what comparisons with studies were not alike: from the set-ups as data and stored facts."""

import json
from dataclasses import replace
from importlib import import_module

import pytest

from tare import cli
from tare.core.model import Better, CpuLimit, Metric, Unit
from tare.core.parameter import word_of
from tare.experiment.design import make_plan
from tare.experiment.study import load_study
from tare.present.redrawn import figures
from tare.present.redrawn.own_values import OwnValues
from tare.present.terminal.published_numbers import grouped
from tare.results.published import load, setup_of
from tare.results.published.by_study import huang2019, laine2017
from tare.results.published.conditions_here import host_text, system_text
from tare.results.published.counterparts import Measure
from tare.results.published.setup_comparison import compare_setups, known_setup
from tare.results.published.setup_difference import (
    Topic,
    differences_of,
    experiment_of,
    level_text,
    silent_of,
)
from tare.results.published.significance import significance
from tare.results.published.study_comparison import by_likeness, compared_with
from tare.results.store import facts_of
from unit import makers
from unit.makers import LIMITS, make_cell, store
from unit.results.test_compare_published import FACTS, METRICS, STACKS, WRITES, make_ours
from unit.results.test_published_numbers import bridge, measured

RATE = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)
BANDWIDTH = Metric("bandwidth", Unit.BYTE_PER_SECOND, Better.HIGHER)
HERE = {
    "host": {
        "cpu_model": "AMD EPYC",
        "cpus": 2,
        "memory_bytes": 24 * 2**30,
        "hypervisor": "KVM",
        "os": "Debian 12",
        "kernel": "6.1",
    },
    "platforms": {
        "docker": {"probe": {"docker.version": "Docker version 26"}},
        "kvm": {"probe": {"qemu.version": "QEMU 7.2"}, "preconditions": {"kernel": "6.1-guest"}},
    },
    "userland": {"versions": {"sysbench": "1.0.20+ds-5", "libopenblas0-pthread": "0.3.21"}},
}
OPENED = {"name": "docker", "stack": "host/docker"}


def found(study, measure, cell, baseline=None):
    return {
        one.what: (one.ours, one.theirs)
        for one in differences_of(setup_of(study), measure, cell, baseline)
    }


# Parameters, limits and settings


def test_docker_of_huang2019_is_the_platform_with_its_storage_driver_where_that_ran():
    ways = {"docker devicemapper": "devicemapper", "docker default": None}
    settings = {
        name: (
            ("docker.network", "bridge"),
            *([("docker.storage_driver", driver)] if driver else []),
        )
        for name, driver in ways.items()
    }
    stacks = {**STACKS, **dict.fromkeys(ways, "host/docker")}
    costs = {"native": 1, "docker devicemapper": 1.1, "docker default": 1.2}

    def beside_docker(unavailable=()):
        ours = make_ours(WRITES, costs, stacks=stacks, unavailable=unavailable)
        cells = [
            replace(cell, settings=settings.get(cell.platform, ())) for cell in ours.plan.cells
        ]
        ours.plan = replace(ours.plan, cells=tuple(cells))
        pairs = [
            pair
            for pair in compared_with("huang2019", ours).pairs
            if pair.printed.row.platform == "docker" and pair.printed.row.table == "Table 4.1"
        ]
        return by_likeness(pairs)[0]

    (pair,) = beside_docker()
    assert pair.ours.cell.platform == "docker devicemapper"
    (pair,) = beside_docker(unavailable=["docker devicemapper"])
    assert pair.ours.cell.platform == "docker default"
    assert "docker.storage_driver default, there devicemapper" in pair.differs


def test_each_parameter_that_the_study_gives_is_compared():
    params = {"size_bytes": 2**30, "block_bytes": 2**14, "oper": "read", "direct": True}
    cell = make_cell("docker", workload="dd_disk", params=tuple(params.items()))

    assert found("laine2017", Measure("dd_disk", "throughput", {"oper": "read"}), cell) == {
        "size": ("1 GiB", "4,000 MiB"),
        "cpus": ("1", "4"),
        "cpu_limit": ("cpuset", "none"),
    }
    assert "direct" in silent_of(setup_of("laine2017").experiment("dd disk"))


@pytest.mark.parametrize(
    ("workload", "params"),
    [
        ("mbw", {"size_bytes": 2**26, "runs": 5}),
        ("integer_loop", {"iterations": 100_000}),
        ("sysbench_fileio", {"mode": "seqrd", "files": 128, "total_bytes": 2**26}),
        ("sysbench_cpu", {"max_prime": 20_000, "threads": 1}),
        ("iperf", {"direction": "send", "time_s": 1}),
    ],
)
def test_what_laine2017_tested_is_compared_with_its_parameters(workload, params):
    row = next(
        row
        for row in load("laine2017")
        for one in laine2017.tested_by(row)
        if one.workload == workload
        and one.needed.items() <= {**one.needed, **params}.items()
        and one.cpus in (None, 4)
    )
    (measure,) = laine2017.tested_by(row)
    params = {**params, **measure.needed}
    cell = make_cell("docker", workload=workload, params=tuple(params.items()),
                     limits=replace(LIMITS, cpus=4))  # fmt: skip

    assert set(found("laine2017", measure, cell)) >= {
        word_of(name) for name in params if name not in measure.needed
    }


def test_a_row_with_a_level_of_its_own_is_not_compared_with_all_levels():
    cell = make_cell("docker", workload="linpack", params=(("size", 79_000),))

    assert found("hpe2016", Measure("linpack", "flops"), cell) == {}
    own_level = Measure("linpack", "flops", {}, {"size": 39_000})
    assert found("hpe2016", own_level, cell) == {"size": ("79,000", "39,000")}


def test_a_level_of_cpus_is_that_of_the_row():
    cell = make_cell("kvm", workload="sysbench_cpu", limits=replace(LIMITS, cpus=2))

    assert "cpus" not in found("laine2017", Measure("sysbench_cpu", "events", cpus=2), cell)
    assert found("laine2017", Measure("sysbench_cpu", "events", cpus=3), cell)["cpus"] == ("2", "3")


def test_kinds_of_limits_are_compared():
    pinned = make_cell("docker", workload="sysbench_cpu")
    quota = replace(pinned, limits=replace(LIMITS, cpu_limit=CpuLimit.QUOTA, swap_bytes=2**30))
    measure = Measure("sysbench_cpu", "events")

    assert found("cole2022", measure, pinned)["cpu_limit"] == ("cpuset", "quota")
    assert "cpu_limit" not in found("cole2022", measure, quota)
    assert "swap" not in found("cole2022", measure, quota)


def test_settings_of_a_platform_and_of_its_baseline_are_compared():
    measure = Measure("fio", "throughput", {"pattern": "read"})
    host = make_cell("docker", stack="host/docker", workload="fio",
                     settings=(("docker.network", "host"),))  # fmt: skip
    like = replace(host, settings=(("docker.network", "bridge"),))
    native = make_cell("native", stack="host", workload="fio")

    assert found("huang2019", measure, host)["docker.network"] == ("host", "bridge")
    assert "docker.network" not in found("huang2019", measure, like)
    assert found("huang2019", measure, native, host)["docker.network"] == ("host", "bridge")
    named_otherwise = replace(host, platform="a container")
    assert "docker.network" in found("huang2019", measure, named_otherwise)
    unset = make_cell("kvm", stack="host/kvm", workload="sysbench_cpu", settings=(("kvm.cpu", ""),))
    assert found("cole2022", Measure("sysbench_cpu", "events"), unset)["kvm.cpu"] == (
        "default",
        "qemu64",
    )


def test_of_two_experiments_with_one_workload_that_with_the_rows_parameters_counts():
    setup = setup_of("aspernas2016")
    mix, read = (
        experiment_of(setup, Measure("fio", "throughput", {"pattern": pattern}))
        for pattern in ("randrw", "randread")
    )
    assert (mix.name, read.name) == ("prestudy fio mix", "prestudy fio")
    assert experiment_of(setup, Measure("fio", "throughput", {"pattern": "write"})) is None
    assert experiment_of(None, Measure("fio", "throughput")) is None


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("size_bytes", 2**31, "2 GiB"),
        ("size_bytes", 300 * 2**20, "300 MiB"),
        ("block_bytes", 16384, "16 KiB"),
        ("array_bytes", 80_000_000, "80,000,000 B"),
        ("datagram_bytes", 1470, "1,470 B"),
        ("swap_bytes", 0, "0 B"),
        ("threads", 1000, "1,000"),
        ("direct", True, "True"),
        ("kvm.cpu", "", "default"),
        ("engine", "psync", "psync"),
    ],
)
def test_levels_are_written_in_their_units(name, value, text):
    assert level_text(name, value) == text


DEVIATIONS = {
    "cole2022": set(),
    "hpe2016-pure": {"size"},
    "huang2019-performance": {"docker.storage_driver", "kvm.disk_size", "xen.disk_size", "array"},
    "laine2017": {"memory"},
    "laine2017-cpus": {"cpu_limit"},
}
"""What the data say that a preset has otherwise or besides, at full scale."""


@pytest.mark.parametrize("preset", DEVIATIONS)
def test_a_preset_at_full_scale_differs_in_what_its_data_say_alone(preset):
    study = preset.partition("-")[0]
    module = import_module(f"tare.results.published.by_study.{study}")
    plan = make_plan(load_study(preset, scale="full"), seed=1)
    tested = getattr(module, "tested_by", lambda _: ())
    measures = {
        repr(one): one for row in load(study) for one in (*module.measures(row), *tested(row))
    }
    differing = {
        one.what
        for measure in measures.values()
        for cell in plan.cells
        if measure.fits(cell)
        for one in differences_of(setup_of(study), measure, cell)
    }
    assert differing == DEVIATIONS[preset]


# Hardware, software and repetition


def around(study, measure, cell, *, workload="", facts=HERE):
    row = next(row for row in load(study) if not workload or row.workload == workload)
    return {
        (one.topic, one.what): one.ours
        for one in compare_setups(row, measure, cell, facts_of(facts)).differences
        if one.topic in (Topic.HARDWARE, Topic.SOFTWARE)
    }


def test_hardware_and_software_are_by_the_stored_facts():
    measure = Measure("linpack", "flops")
    docker = make_cell("docker", stack="host/docker", workload="linpack")
    said = around("huang2019", measure, docker)

    assert said == {
        (Topic.HARDWARE, "node"): "AMD EPYC, 2 CPUs, 24.0 GiB, itself a guest of KVM",
        (Topic.SOFTWARE, "host"): "Debian 12, kernel 6.1",
        (Topic.SOFTWARE, "Docker"): "Docker version 26",
        (Topic.SOFTWARE, "LINPACK"): "libopenblas0-pthread 0.3.21",
    }


def test_only_what_a_row_has_to_do_with_is_listed():
    kvm = make_cell("kvm", stack="host/kvm", workload="netperf_rr")
    said = around("huang2019", Measure("netperf_rr", "latency_p90"), kvm)

    assert said[Topic.SOFTWARE, "KVM"] == "QEMU 7.2"
    assert said[Topic.HARDWARE, "network"] == "not recorded"
    assert not {what for _, what in said} & {"Docker", "Xen", "LINPACK", "STREAM"}
    guests = around("laine2017", Measure("mbw", "bandwidth"), replace(kvm, workload="mbw"))
    assert guests[Topic.SOFTWARE, "guests"] == "kernel 6.1-guest"
    assert guests[Topic.SOFTWARE, "virtual machines"] == "QEMU 7.2"
    assert (Topic.HARDWARE, "network") not in guests


def test_a_tool_in_a_platform_is_compared_there():
    measure = Measure("sysbench_cpu", "events")
    docker = make_cell("docker", stack="host/docker", workload="sysbench_cpu")
    kvm = make_cell("kvm", stack="host/kvm", workload="sysbench_cpu")

    # The container had 1.0.20, as the userland here.
    assert not any("sysbench" in what for _, what in around("cole2022", measure, docker))
    assert around("cole2022", measure, kvm)[
        Topic.SOFTWARE, "sysbench in the virtual machine"
    ] == "sysbench 1.0.20+ds-5"  # fmt: skip


def test_a_host_of_one_experiment_is_compared_with_that_alone():
    cell = make_cell("docker", stack="host/docker", workload="netperf_rr")
    network = around("hpe2016", Measure("netperf_rr", "requests"), cell,
                     workload="netperf TCP_RR")  # fmt: skip
    cpu = around("hpe2016", Measure("sysbench_cpu", "events"), cell, workload="sysbench cpu")

    assert {what for topic, what in network if topic is Topic.HARDWARE} == {"hosts"}
    assert {what for topic, what in cpu if topic is Topic.HARDWARE} == {
        "hosts",
        "host of sysbench cpu",
    }


@pytest.mark.parametrize(
    ("settings", "preconditions", "said"),
    [
        ((("docker.storage_driver", "btrfs"),), {"filesystem": "overlay"}, "btrfs"),
        ((), {"filesystem": "overlay"}, "filesystem overlay"),
        ((), {}, "not recorded"),
    ],
)
def test_the_storage_of_containers_is_what_was_asked_or_seen(settings, preconditions, said):
    cell = make_cell("docker", stack="host/docker", workload="fio", settings=settings)
    facts = {"platforms": {"docker": {"preconditions": preconditions}}}
    found = around("hpe2016", Measure("fio", "throughput"), cell, facts=facts)

    assert found[Topic.SOFTWARE, "Docker's storage"] == said


def test_what_was_not_stored_is_not_made_up():
    cell = make_cell("docker", stack="host/docker", workload="fio")
    said = around("huang2019", Measure("fio", "throughput"), cell, facts={})

    assert set(said.values()) == {"not recorded"}
    assert host_text(facts_of({})) == system_text(facts_of({})) == ""


def test_the_number_of_runs_is_compared():
    ours = make_ours(WRITES, {"native": 1, "kvm": 2})
    (pair,) = compared_with("huang2019", ours).pairs
    (runs,) = [one for one in pair.setup.differences if one.topic is Topic.REPETITION]

    assert (runs.ours, runs.theirs, runs.section) == ("8", "5", "4.1")
    assert "runs 8, there 5" not in pair.differs  # it makes no cell more alike than another


def test_a_study_of_numbers_alone_has_a_caveat_and_no_differences(monkeypatch):
    assert known_setup("nobody2030") is None
    monkeypatch.setattr("tare.results.published.setup_comparison.known_setup", lambda study: None)
    part = compared_with("huang2019", make_ours(WRITES, {"native": 1, "kvm": 2}))

    assert part.pairs[0].setup.differences == ()
    assert "the set-up of huang2019 is not in its data" in part.caveats[0]


def test_no_study_is_said_not_to_give_what_its_data_have():
    assert not hasattr(huang2019, "UNTOLD")
    caveats = " ".join(
        compared_with("huang2019", make_ours(WRITES, {"native": 1, "kvm": 2})).caveats
    )

    assert "do not say theirs" not in caveats
    assert "there 16 hyper-threaded cores of 2.4 GHz Xeon, 60 GB" in caveats
    assert "LINPACK's library (Debian has OpenBLAS" in caveats
    assert "fio: read_percent, time_s" in caveats  # about these it is silent


# Where it is shown


def test_what_holds_of_all_rows_is_printed_once():
    rows = [("a", ("x 1, there 2", "y 1, there 3")), ("b", ("x 1, there 2",))]

    assert list(grouped(iter(rows))) == ["In all rows: x 1, there 2.", "y 1, there 3: a."]
    assert list(grouped(iter(rows[:1]))) == ["x 1, there 2; y 1, there 3: a."]
    assert list(grouped(iter([("a", ()), ("b", ())]))) == list(grouped(iter([]))) == []


def test_the_json_of_a_comparison_has_the_set_up_of_each_row(tmp_path, capsys):
    ours = make_ours(WRITES, {"native": 1, "kvm": 2})
    folder = store(ours, tmp_path / "results", FACTS)

    assert cli.main(["compare", str(folder), "huang2019", "--json"]) == 0
    (part,) = json.loads(capsys.readouterr().out)["studies"]
    (row,) = part["rows"]
    by = {one["what"]: one for one in row["setup"]}
    assert by["depth"] == {
        "topic": "parameter",
        "what": "depth",
        "ours": "64",
        "published": "1",
        "section": "Table A.2",
    }
    assert by["node"]["ours"] == "AMD EPYC, itself a guest of KVM"


def test_numbers_that_are_no_costs_are_printed_with_what_differs(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    ours = measured(bridge(), 90.0, 100.0, metric=RATE)
    folder = store(ours, tmp_path / "results", HERE)

    assert cli.main(["compare", str(folder), "hpe2016"]) == 0
    said = capsys.readouterr().out
    (line,) = [one for one in said.splitlines() if one.startswith("netperf TCP_STREAM, bridge")]
    assert line.split()[-3:] == ["10", "14.1", "%"]
    assert "Other hardware: hosts: AMD EPYC" in said
    _, _, missing = said.partition("PUBLISHED, BUT NOT HERE")
    assert "TCP_STREAM, bridge" not in missing
    assert cli.main(["compare", str(folder), "hpe2016", "--json"]) == 0
    (number,) = json.loads(capsys.readouterr().out)["studies"][0]["numbers"]
    assert (number["ours"], number["published"]) == (pytest.approx(10), 14.1)
    assert "hosts" in {one["what"] for one in number["setup"]}


def made_of_mbw(monkeypatch, memory_bytes):
    monkeypatch.setitem(METRICS, "mbw", (BANDWIDTH,))
    monkeypatch.setattr(makers, "LIMITS", replace(LIMITS, memory_bytes=memory_bytes))
    work = ("mbw", {"method": "dumb", "size_bytes": 2**26, "runs": 10})
    return make_ours(work, {"native": 1, "docker": 1.25, "kvm": 2}, wobble=0.01)


def test_p_values_stand_beside_our_comparisons_with_what_differs(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    ours = made_of_mbw(monkeypatch, 2**30)
    folder = store(ours, tmp_path / "results", HERE)

    assert cli.main(["compare", str(folder), "laine2017"]) == 0
    said = capsys.readouterr().out
    (line,) = [one for one in said.splitlines() if one.startswith("mbw dumb, 1 GB  kvm against n")]
    assert "0.264" in line
    assert "slower" in line
    assert "In all rows: size 64 MiB, there 300 MiB; cpus 1, there 4; cpu_limit cpuset, th" in said
    assert cli.main(["compare", str(folder), "laine2017", "--json"]) == 0
    (part,) = json.loads(capsys.readouterr().out)["studies"]
    tests = {(one["what"], one["platform"], one["baseline"]): one for one in part["tests"]}
    assert len(tests) == 3
    assert all("1 GB" in what for what, _, _ in tests)
    rows = {(one["what"], one["platform"]) for one in part["not_measured"]}
    assert not {(what, platform) for what, platform, _ in tests} & rows


def test_a_tested_pair_says_in_what_it_differs(monkeypatch):
    ours = made_of_mbw(monkeypatch, 2**31)
    (one,) = [
        one
        for one in significance(load("laine2017"), "laine2017", ours)
        if (one.row.workload, one.row.platform, one.row.baseline, one.row.level)
        == ("mbw dumb", "kvm", "native", "2 GB")
    ]
    (pair,) = one.pairs
    assert pair.differs == (
        "size 64 MiB, there 300 MiB",
        "cpus 1, there 4",
        "cpu_limit cpuset, there none",
    )


def test_the_page_of_a_study_lists_in_what_the_set_ups_differ(tmp_path, capsys):
    ours = make_ours(WRITES, {"native": 1, "kvm": 2})
    folder = store(ours, tmp_path / "results", FACTS)

    assert cli.main(["compare", str(folder), "huang2019", "--figures", str(tmp_path / "f")]) == 0
    capsys.readouterr()
    page = (tmp_path / "f" / "huang2019.html").read_text()
    assert "Other hardware: node: AMD EPYC" in page
    assert "Other repetition: runs: 8, there 5" in page
    assert cli.main(["published", "huang2019", "--figures", str(tmp_path / "g")]) == 0
    assert "Other hardware" not in (tmp_path / "g" / "huang2019.html").read_text()


def test_a_spread_of_ours_is_drawn_beside_the_studys():
    ours = measured(bridge(), 90.0, 100.0, metric=RATE)
    (row,) = [one for one in load("hpe2016") if one.workload == "netperf TCP_STREAM, bridge"]
    (side,) = OwnValues("hpe2016", ours).sides(row)

    assert side.value == pytest.approx(10)
    assert "largest less smallest run, of the largest" in side.tip
    assert "(2 trials)" in side.tip
    (spread,) = [one for one in figures("hpe2016", ours) if one.name == "hpe2016-spread"]
    assert "the study is silent on what its percentage is of" in spread.caption
