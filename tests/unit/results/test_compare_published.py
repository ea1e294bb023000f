"""Our results beside published ones: matching, golden differences, and nothing left out."""

import json
import math
from dataclasses import fields, replace

import pytest

from tare import cli
from tare.cli.compare import sorted_out
from tare.core.errors import ConfigError
from tare.core.model import (
    Better,
    Contrast,
    ContrastKind,
    Design,
    Metric,
    Neighbour,
    NeighbourCpus,
    Placement,
    Slot,
    Status,
    Unit,
    neighbour_of,
    path_of,
)
from tare.core.model.reservation import given
from tare.experiment.design import make_plan
from tare.experiment.scenarios.lifecycle import Lifecycle
from tare.experiment.study import load_study
from tare.present.view.reasons import why_text
from tare.results.published import Statistic, load, studies
from tare.results.published.by_study import cole2022, hpe2016, huang2019, laine2017
from tare.results.published.counterparts import (
    Measure,
    Stress,
    has_limits,
    made_of,
    platforms_for,
    words_of,
)
from tare.results.published.printed import PARTS, POINTS, Printed
from tare.results.published.study_comparison import (
    NO_COUNTERPART,
    UNKNOWN,
    Ours,
    by_likeness,
    compared_with,
    unpublished,
)
from tare.results.published.sums import PHASES
from tare.results.stats.signed_rank import Interval
from tare.results.store import facts_of
from tare.work import workload
from unit.makers import LIMITS, again, make_cell, make_trial, store
from unit.makers import make_plan as plan_of

RATE = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)
REQUESTS = Metric("requests", Unit.PER_SECOND, Better.HIGHER)
LATENCY = Metric("latency_mean", Unit.SECOND, Better.LOWER)
P90 = Metric("latency_p90", Unit.SECOND, Better.LOWER)
EVENTS = Metric("events", Unit.PER_SECOND, Better.HIGHER)
FLOPS = Metric("flops", Unit.PER_SECOND, Better.HIGHER)
METRICS = {
    "fio": (RATE, REQUESTS),
    "netperf_rr": (LATENCY, P90),
    "sysbench_cpu": (EVENTS,),
    "linpack": (FLOPS,),
}
STACKS = {
    "native": "host",
    "docker": "host/docker",
    "kvm": "host/kvm",
    "xen": "lab/xen",
    "qemu-tcg": "host/qemu-tcg",
}
WRITES = ("fio", {"pattern": "randwrite", "depth": 64})
PRIMES = ("sysbench_cpu", {"max_prime": 100, "threads": 1, "time_s": 1})
FACTS = {"host": {"cpu_model": "AMD EPYC", "os": "Debian 12", "hypervisor": "KVM"}}
BLOCKS = 8


def make_ours(work, costs, *, stacks=STACKS, unavailable=(), wobble=0.0, **repetition):
    """Results in which each platform has exactly its cost; the first of them is the baseline.

    ``wobble`` is by how much a pair's log ratio goes up in one block and down in the next.
    """
    workload_name, params = work
    cells = {
        name: make_cell(
            name, stack=stacks[name], workload=workload_name, params=tuple(params.items())
        )
        for name in costs
    }
    control = again(next(iter(cells.values())))
    plan = plan_of(
        *cells.values(),
        control,
        metrics={workload_name: METRICS[workload_name]},
        slots=tuple(
            Slot(block=block, slot=place, cell=cell.id, placements=(Placement(instance=0),))
            for block in range(BLOCKS)
            for place, cell in enumerate(cells.values())
        ),
        max_blocks=BLOCKS,
        instances=1,
        **repetition,
    )
    trials = [
        trial_of(cell, block, costs[name], wobble, name in unavailable)
        for block in range(BLOCKS)
        for name, cell in cells.items()
    ]
    return Ours(plan, trials, facts_of(FACTS))


def trial_of(cell, block, cost, wobble, unavailable):
    given = {"instance": f"abc123-0-{cell.platform}", "duration_s": 1.0}
    if unavailable:
        return make_trial(cell, block, status=Status.UNAVAILABLE, reason="no /dev/kvm", **given)
    place = list(STACKS).index(cell.platform) if cell.platform in STACKS else 1
    cost *= math.exp(wobble * place * (1 if block % 2 else -1))
    samples = {
        one.name: cost if one.better is Better.LOWER else 1000 / cost
        for one in METRICS[cell.workload]
    }
    return make_trial(cell, block, samples=samples, **given)


@pytest.fixture
def folder(tmp_path):
    """Results of writes as a directory."""
    ours = make_ours(WRITES, {"native": 1, "docker": 1.25, "kvm": 2})
    return store(ours, tmp_path / "results", FACTS)


def by_platform(part):
    return {pair.printed.row.platform: pair for pair in part.pairs}


def reasons(part, **wanted):
    """Reasons of the rows that have these values."""
    return {
        why_text(one.reason)
        for one in part.missing
        if all(getattr(one.row, name) == value for name, value in wanted.items())
    }


def tare(*words):
    return cli.main([*map(str, words)])


# Numbers


def test_a_lost_part_of_a_rate_is_put_beside_ours_as_a_cost():
    part = compared_with("huang2019", make_ours(WRITES, {"native": 1, "docker": 1.25, "kvm": 2}))
    pairs = by_platform(part)

    assert set(pairs) == {"docker", "kvm"}
    assert pairs["kvm"].printed.cost == pytest.approx(1 / 0.55)  # 45 % of a rate are lost
    assert pairs["kvm"].ours.degradation_percent == pytest.approx(100)
    assert pairs["kvm"].difference_points == pytest.approx(100 - 81.818, abs=0.001)
    assert pairs["docker"].printed.cost == 1
    assert pairs["docker"].difference_points == pytest.approx(25)
    assert not pairs["kvm"].within


def test_in_its_own_words_a_study_has_the_differences_that_it_prints():
    pair = by_platform(compared_with("huang2019", make_ours(WRITES, {"native": 1, "kvm": 2})))[
        "kvm"
    ]

    assert pair.printed.as_the_study_says(pair.ours.cost) == pytest.approx(50)
    assert pair.printed.row.value == 45
    assert pair.printed_differences == {"difference from Felter et al. 2015": -2.0}


def test_added_time_is_a_cost_as_it_stands():
    work = ("netperf_rr", {"protocol": "tcp"})
    pair = by_platform(compared_with("huang2019", make_ours(work, {"native": 1, "kvm": 1.5})))[
        "kvm"
    ]

    assert pair.printed.cost == pytest.approx(1.72)
    assert pair.difference_points == pytest.approx(50 - 72)
    assert pair.printed.as_the_study_says(pair.ours.cost) == pytest.approx(50)
    assert pair.ours.metric.name == "latency_p90"  # the study's own: -o P90_LATENCY


def test_a_study_without_a_host_is_compared_with_its_own_baseline():
    ours = make_ours(PRIMES, {"native": 1, "docker": 1.25, "qemu-tcg": 5})
    part = compared_with("cole2022", ours)
    (pair,) = part.pairs

    assert pair.printed.row.platform == "qemu-tcg 1cpu/1024MiB"
    assert pair.ours.baseline.platform == "docker"
    assert pair.ours.cost == pytest.approx(4)
    assert pair.printed.cost == pytest.approx(136206.14 / 119463.49)
    assert pair.difference_points == pytest.approx(100 * (4 - 136206.14 / 119463.49))
    assert pair.printed.interval is not None
    assert pair.differs == (
        "threads 1, there 4",
        "time 1, there 30",
        "cpu_limit cpuset, there quota",
    )
    assert "follow from its spreads" in part.caveats[-1]
    assert reasons(
        part, platform="qemu-tcg 2cpu/2048MiB", table="6 prime 100", unit="events/s"
    ) == {"nothing in these results has the limits of qemu-tcg 2cpu/2048MiB"}
    assert reasons(part, platform="kvm 4cpu/4096MiB", table="6 prime 100", unit="events/s") == {
        "no platform in these results is kvm"
    }
    assert reasons(part, table="6 prime 100000", unit="events/s") == {
        "sysbench_cpu (max_prime 100,000) is not in these results"
    }


def test_another_baseline_has_an_interval_of_its_own_pairs():
    ours = make_ours(PRIMES, {"native": 1, "docker": 1.25, "qemu-tcg": 5}, wobble=0.01)
    (pair,) = compared_with("cole2022", ours).pairs

    # Docker wobbles by 0.01, the emulator by 0.04, together: their ratio goes 0.03 up and down.
    assert pair.ours.low == pytest.approx(4 * math.exp(-0.03), rel=1e-3)
    assert pair.ours.high == pytest.approx(4 * math.exp(0.03), rel=1e-3)


def test_a_published_cost_is_within_ours_where_it_meets_our_interval():
    # 40 % of a rate: 1.667
    work = ("fio", {"pattern": "randread"})
    near = make_ours(work, {"native": 1, "kvm": 1.66}, wobble=0.01)
    (pair,) = compared_with("huang2019", near).pairs
    low, high = pair.ours.low, pair.ours.high

    assert low < 1 / 0.6 < high
    assert pair.within
    above = replace(pair.printed, cost=high * 1.01)
    assert not replace(pair, printed=above).within
    assert replace(pair, printed=replace(above, interval=Interval(high * 0.99, 2))).within
    assert replace(pair, ours=replace(pair.ours, low=None)).within is None


def test_what_lost_everything_has_no_difference_to_what_did_too():
    (pair,) = compared_with("huang2019", make_ours(WRITES, {"native": 1, "kvm": 2})).pairs
    everything = replace(pair.printed, cost=math.inf)

    assert replace(pair, printed=everything).difference_points == -math.inf
    gone = replace(pair.ours, cost=math.inf)
    assert replace(pair, printed=everything, ours=gone).difference_points is None


# Platforms


def test_platforms_are_found_by_name_or_stack_and_a_wrong_name_is_not_believed():
    def found(name, **stacks):
        costs = dict.fromkeys(stacks, 1.0)
        cells = make_ours(WRITES, costs, stacks={**STACKS, **stacks}).cells
        return platforms_for(name, cells)

    plain = {"base": "host", "a": "host/docker", "b": "host/docker", "c": "lab/xen"}
    assert found("native", **plain) == ("base",)
    assert found("docker", **plain) == ("a", "b")
    assert found("docker", **plain, docker="host/docker") == ("docker",)
    assert found("docker 1cpu/1024MiB", docker="host/docker", other="host/docker") == ("docker",)
    assert found("docker volume", **{"Docker volume": "host/docker", **plain}) == ("Docker volume",)
    assert found("xen", **plain) == ("c",)
    assert found("kvm", kvm="host/qemu-tcg") == ()
    assert found("kvm", kvm="host/sim") == ("kvm",)  # a stack that studies have no word for
    assert found("esxi(CentOS)/docker", x="vsphere/docker") == ("x",)
    assert found("native(CentOS)/docker", **plain) == ("a", "b")


def test_a_stack_is_put_into_the_words_of_studies():
    assert made_of(path_of("host")) == "native"
    assert made_of(path_of("host/qemu-tcg/docker")) == "qemu-tcg/docker"
    assert made_of(path_of("lab/kvm")) == "kvm"
    assert made_of(path_of("host/gvisor")) == ""
    assert words_of("docker (RHEL 7.1)") == "docker"


def test_limits_in_a_name_must_be_ours():
    assert has_limits("kvm", LIMITS)
    assert has_limits("docker 1cpu/1024MiB", LIMITS)
    assert not has_limits("docker 2cpu/2048MiB", LIMITS)
    assert not has_limits("docker 1cpu/2048MiB", LIMITS)


def test_one_platform_of_ours_does_not_stand_for_two():
    work = ("linpack", {"size": 4000})
    part = compared_with("hpe2016", make_ours(work, {"native": 1, "docker": 1.1, "kvm": 1.2}))
    large = [pair for pair in part.pairs if pair.printed.row.workload == "LINPACK size 39k"]

    assert [pair.printed.row.platform for pair in large] == ["docker (RHEL 7.1)", "docker (Atomic)"]
    assert [pair.ours.cost for pair in large] == pytest.approx([1.1 / 1.2, 1.1 / 1.2])
    assert large[0].printed.cost == pytest.approx(1 / 1.016)
    assert large[0].differs == (
        "there docker (RHEL 7.1) against kvm (RHEL 7.1)",
        "size 4,000, there 39,000",
    )
    assert reasons(part, baseline="docker (RHEL 7.1)") == {
        "docker (Atomic) and docker (RHEL 7.1) are the same platform here"
    }


# What has no counterpart


def test_what_is_not_measured_here_has_a_reason():
    ours = make_ours(WRITES, {"native": 1, "docker": 1.1, "kvm": 2}, unavailable=["kvm"])
    part = compared_with("huang2019", ours)

    assert set(by_platform(part)) == {"docker"}
    writes = {"metric": "random write", "table": "Table 4.1"}
    assert reasons(part, platform="kvm", **writes) == {"unavailable: no /dev/kvm"}
    assert reasons(part, platform="xen", **writes) == {"no platform in these results is xen"}
    assert reasons(part, metric="random mix", table="Table 4.1") == {
        "fio (pattern randrw) is not in these results"
    }
    assert reasons(part, workload="LINPACK", table="Table 4.1") == {
        "linpack or hpl is not in these results"
    }
    assert reasons(part, workload="LINPACK", table="Table 4.3") == {NO_COUNTERPART}
    assert "web_ab is not in these results" in reasons(part, table="Table 5.6")


def test_a_baseline_that_is_not_here_is_a_reason():
    part = compared_with("cole2022", make_ours(PRIMES, {"native": 1, "qemu-tcg": 5}))

    assert part.pairs == part.caveats == ()
    assert reasons(
        part, platform="qemu-tcg 1cpu/1024MiB", table="6 prime 100", unit="events/s"
    ) == {"no platform in these results is its baseline, docker"}


def test_a_duet_has_no_other_baseline():
    ours = make_ours(PRIMES, {"native": 1, "docker": 1.25, "qemu-tcg": 5}, design=Design.DUET)
    part = compared_with("cole2022", ours)

    assert not part.pairs
    assert "not comparable: in a duet each platform is compared with native alone" in reasons(part)


def test_a_metric_that_is_not_in_the_results_is_a_reason(monkeypatch):
    monkeypatch.setitem(METRICS, "fio", (REQUESTS,))
    part = compared_with("huang2019", make_ours(WRITES, {"native": 1, "kvm": 2}))

    assert reasons(part, metric="random write", platform="kvm", table="Table 4.1") == {
        "fio gave no throughput here"
    }


def test_a_disk_that_was_asked_in_another_way_than_by_huang2019_is_told():
    other = {"pattern": "randread", "engine": "libaio", "depth": 64, "jobs": 1, "block_bytes": 4096}
    like = {"pattern": "read", "engine": "psync", "depth": 1, "jobs": 20, "block_bytes": 2**15}
    parts = [
        compared_with("huang2019", make_ours(("fio", params), {"native": 1, "kvm": 2}))
        for params in (other, like)
    ]

    assert parts[0].pairs[0].differs == (
        "engine libaio, there psync",
        "depth 64, there 1",
        "jobs 1, there 20",
        "block 4 KiB, there 32 KiB",
        "cpus 1, there 4",
        "memory 1 GiB, there 10 GiB",
    )
    assert parts[1].pairs[0].differs == ("cpus 1, there 4", "memory 1 GiB, there 10 GiB")


def test_io_utilization_by_iotop_is_listed_as_another_thing():
    part = compared_with("cole2022", make_ours(WRITES, {"native": 1, "docker": 1}))
    (why,) = reasons(part, metric="I/O utilization (iotop)")
    assert "not compared: iotop tells" in why
    assert "disk_busy_share" in why


def test_a_loss_of_zero_and_a_p_value_are_no_costs():
    part = compared_with("laine2017", make_ours(WRITES, {"native": 1, "docker": 1}))

    assert "a value of zero has no ratio" in reasons(part, metric="datagram loss")
    assert reasons(part, table="Table 4") == {"a p value says no size"}


@pytest.mark.parametrize("study", studies())
def test_every_row_is_beside_ours_or_listed_or_a_part_of_one_that_is(study):
    rows = load(study)
    part = compared_with(study, make_ours(WRITES, {"native": 1, "docker": 1.25, "kvm": 2}))
    seen = [*(pair.printed.row for pair in part.pairs), *(one.row for one in part.missing)]
    beside_others = {pair.printed.row.platform for pair in part.pairs}

    rest = [row for row in rows if row not in seen and row.statistic not in PARTS]
    if study in ("hpe2016", "huang2019"):  # a printed difference stands beside the pair it is of
        assert all(row.unit == POINTS and row.platform in beside_others for row in rest)
    else:  # the baselines of others
        assert all(row.statistic is Statistic.MEAN for row in rest)
        assert {row.platform.partition(" ")[0].partition("(")[0] for row in rest} <= {
            "native",
            "docker",
        }
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("has_module", [True, False])
def test_a_study_that_is_only_data_is_listed_whole(monkeypatch, has_module):
    study = "hpe2016" if has_module else "nobody2030"
    rows = load("hpe2016")
    monkeypatch.delattr(hpe2016, "measures")  # it has an analysis alone
    monkeypatch.setattr("tare.results.published.study_comparison.load", lambda name: rows)
    part = compared_with(study, make_ours(WRITES, {"native": 1, "kvm": 2}))

    assert {one.reason for one in part.missing} == {UNKNOWN}
    assert len(part.missing) == len(rows)


def test_our_rows_that_nobody_published_are_listed():
    ours = make_ours(WRITES, {"native": 1, "kvm": 2, "qemu-tcg": 5})
    rest = unpublished([compared_with("huang2019", ours)], ours)

    assert [(row.cell.platform, row.metric.name) for row in rest] == [
        ("kvm", "requests"),
        ("qemu-tcg", "throughput"),
        ("qemu-tcg", "requests"),
    ]


@pytest.mark.parametrize("module", [cole2022, hpe2016, huang2019, laine2017])
def test_every_counterpart_exists_with_its_metric_and_parameters(module):
    rows = load(module.__name__.rpartition(".")[2])
    measures = {repr(one): one for row in rows for one in module.measures(row)}

    assert measures
    for one in measures.values():
        kind = Lifecycle if one.workload == "lifecycle" else workload.kind(one.workload)
        assert {*one.needed, *one.studied} <= {field.name for field in fields(kind)}
        assert one.metric in [*(metric.name for metric in kind(**one.needed).metrics), *PHASES]


MEASURED = {
    "cole2022": {"sysbench_cpu", "sysbench_fileio"},
    "hpe2016-pure": {"linpack", "fio", "netperf_rr", "netperf_stream"},
    "huang2019-isolation": {"web_ab", "sysbench_fileio", "multiuser"},
    "huang2019-performance": {"linpack", "stream", "netperf_rr", "netperf_stream", "fio"},
    "laine2017": {"iperf", "iperf_udp"},
}


@pytest.mark.parametrize("preset", MEASURED)
def test_every_preset_stands_beside_its_study(preset):
    plan = make_plan(load_study(preset, scale="quick"), seed=1)
    trials = [
        make_trial(
            cell,
            block,
            samples={metric.name: 1.0 for metric in plan.metrics[cell.workload]},
        )
        for block in range(3)
        for cell in plan.cells
    ]
    part = compared_with(preset.partition("-")[0], Ours(plan, trials, facts_of(FACTS)))

    assert {pair.ours.cell.workload for pair in part.pairs} == MEASURED[preset]
    assert {pair.ours.cost for pair in part.pairs} == {1.0}


def isolated_rows():
    return [row for row in load("huang2019") if row.table in ISOLATION_TABLES]


ISOLATION_TABLES = {f"Table 5.{number}" for number in range(6, 12)}


def test_every_cell_of_the_isolation_of_huang2019_is_one_of_the_preset():
    cells = make_plan(load_study("huang2019-isolation", scale="full"), seed=1).cells
    disturbed = {cell.id for cell in cells if neighbour_of(cell.params) is not None}
    fitting = {}
    for row in isolated_rows():
        (measure,) = huang2019.measures(row)
        own = [one for one in cells if one.platform == row.platform and measure.fits(one)]
        assert len(own) == 1, row
        assert "another victim" in measure.note
        fitting[own[0].id] = row

    assert len(fitting) == len(isolated_rows()) == 234
    assert set(fitting) == disturbed


def isolated(costs):
    """Results of a web server on docker, alone and next to a neighbour at full use of the CPU."""
    alone = make_cell("docker", stack="host/docker", workload="web_ab")
    held_by = {"free": None, "held": given({"cpus": 0.25})}
    disturbed = [
        replace(
            alone,
            id=name,
            params=Neighbour(stressor="cpu", level=1.0, reservation=reservation).params,
        )
        for name, reservation in held_by.items()
    ]
    cells = [alone, *disturbed]
    contrasts = tuple(
        Contrast(cell=one.id, reference=alone.id, kind=ContrastKind.ISOLATION) for one in disturbed
    )
    plan = replace(plan_of(*cells, metrics=(REQUESTS,)), contrasts=contrasts)
    trials = [
        make_trial(cell, block, samples={"requests": 1000 / cost})
        for block in range(6)
        for cell, cost in zip(cells, (1, *costs), strict=True)
    ]
    return Ours(plan, trials, facts_of(FACTS))


def test_a_degradation_next_to_a_neighbour_stands_beside_that_of_another_victim():
    part = compared_with("huang2019", isolated([2.0, 1.25]))

    found = {pair.printed.row.scenario: pair for pair in part.pairs}
    assert {(pair.printed.row.table, pair.printed.row.workload) for pair in part.pairs} == {
        ("Table 5.6", "SPECweb")
    }
    assert set(found) == {"FU", "FURR"}
    free, held = found["FU"], found["FURR"]
    assert (free.ours.cost, held.ours.cost) == (2.0, 1.25)
    assert free.printed.cost == pytest.approx(1.181)
    assert free.difference_points == pytest.approx(100 - 18.1)
    assert free.printed.as_the_study_says(free.ours.cost) == pytest.approx(100)
    for pair in found.values():
        assert "another victim: web_ab in place of SPECweb" in pair.differs
        assert any("taken as time that is added" in one for one in pair.differs)
    assert reasons(part, table="Table 5.6", workload="SPECweb", platform="kvm") == {
        "web_ab (next to cpu at level 90 %) is not in these results",
        "web_ab (next to cpu at level 90 %, held by a reservation) is not in these results",
        "no platform in these results is kvm",
    }


def test_the_command_names_the_neighbour_and_what_it_is_compared_with(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "200")
    folder = store(isolated([2.0, 1.25]), tmp_path / "results", FACTS)

    assert tare("compare", folder, "huang2019") == 0
    said = capsys.readouterr().out
    assert "web_ab next to cpu at level 100 %, held to 0.25 CPUs: requests" in said
    assert "Against the same platform alone." in said
    assert "another victim: web_ab in place of SPECweb" in said
    assert "As the study counts: of a time what is added" in said


def test_what_has_a_neighbour_is_no_counterpart_of_what_has_none():
    _, disturbed, _ = isolated([2.0, 1.25]).plan.cells

    assert not Measure("web_ab", "requests").fits(disturbed)
    assert Measure("web_ab", "requests", stress=Stress(stressor="cpu", level=1.0)).fits(disturbed)
    for other in (
        Stress(stressor="disk", level=1.0),
        Stress(stressor="cpu", level=0.9),
        Stress(stressor="cpu", count=1),
        Stress(stressor="cpu", level=1.0, held=True),
    ):
        assert not Measure("web_ab", "requests", stress=other).fits(disturbed)
    for elsewhere in ({"cpus": NeighbourCpus.APART}, {"platform": "kvm"}):
        neighbour = Neighbour(stressor="cpu", level=1.0, **elsewhere)
        assert not Stress(stressor="cpu", level=1.0).fits(neighbour)


def test_a_parameter_that_a_cell_does_not_have_does_not_fit():
    (cell, *_) = make_ours(WRITES, {"native": 1}).cells

    assert Measure("fio", "throughput").fits(cell)
    assert not Measure("fio", "throughput", {"engine": "psync"}).fits(cell)
    assert Measure("fio", "throughput", cpus=1).fits(cell)
    assert not Measure("fio", "throughput", cpus=2).fits(cell)


def test_a_time_that_vanished_is_no_division_by_zero():
    (row, *_) = load("huang2019")

    assert Printed(row=row, of_rate=True).as_the_study_says(0.0) == -math.inf
    assert Printed(row=row, of_rate=False).as_the_study_says(0.0) == -100


# The command


def test_the_command_prints_tables_and_what_is_missing(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert tare("compare", folder, "huang2019", "laine2017") == 0
    said = capsys.readouterr().out
    lines = said.splitlines()

    kvm, in_its_words = [line for line in lines if line.startswith("fio: throughput  kvm")]
    assert kvm.split()[-5:] == ["+100]", "%", "+81.8", "%", "+18.2"]
    assert in_its_words.split()[-4:] == ["+50.0", "+45.0", "+5.0", "\N{MINUS SIGN}2.0"]
    assert "Against native. 0 of 2 published numbers lie within our interval." in said
    assert "Other hardware: node: AMD EPYC, itself a guest of KVM, there 16 hyper-thr" in said
    assert [line for line in lines if line.startswith("Table 5.6")] == [
        "Table 5.6, isolation: cpu stress: 12 rows of SPECweb on kvm, xen, docker: "
        "web_ab is not in these results",
        "Table 5.6, isolation: cpu stress: 12 rows of TPC-DS on kvm, xen, docker: "
        "sysbench_fileio is not in these results",
        "Table 5.6, isolation: cpu stress: 12 rows of TeraSort on kvm, xen, docker: "
        "multiuser is not in these results",
    ]
    assert "made compared with laine2017" in said
    assert "fio: requests on docker, kvm" in said


def test_the_command_prints_facts_for_programs(folder, capsys):
    assert tare("compare", folder, "huang2019", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    (part,) = told["studies"]
    (row,) = [one for one in part["rows"] if one["published"]["platform"] == "kvm"]

    assert row["ours"]["stack"] == "host/kvm"
    assert row["ours"]["baseline"] == row["published"]["baseline"] == "native"
    assert row["difference_points"] == pytest.approx(18.18, abs=0.01)
    assert row["published"]["differences"] == {"difference from Felter et al. 2015": -2}
    rows = len(load("huang2019"))
    assert len(part["not_measured"]) + len(part["rows"]) == rows - 1 - 1  # Felter's kvm and docker
    assert [one["metric"] for one in told["not_published"]] == ["requests", "requests"]


def two_sizes():
    """Results in which two cells of each platform measure what a row is of, one of them closer."""
    near, far = (
        make_ours(("linpack", {"size": size}), {"native": 1, "docker": 1.1, "kvm": cost})
        for size, cost in ((39_000, 1.2), (4_000, 1.5))
    )
    near.plan = replace(
        near.plan,
        cells=(*near.plan.cells, *far.plan.cells),
        slots=(*near.plan.slots, *far.plan.slots),
    )
    near.trials = [*near.trials, *far.trials]
    return near


def test_of_several_cells_that_measure_the_same_the_most_alike_stands_beside():
    part = compared_with("hpe2016", two_sizes())
    alike, others = by_likeness(part.pairs)
    stands, left_out = (
        {pair.ours.cell.params[0][1] for pair in some if "39k" in pair.printed.row.workload}
        for some in (alike, others)
    )

    assert (stands, left_out) == ({39_000}, {4_000})
    assert len(alike) + len(others) == len(part.pairs)
    # Of the row of another size both differ in one thing.
    both = {pair.ours.cell.params for pair in alike if "79k" in pair.printed.row.workload}
    assert len(both) == 2


def test_the_table_has_what_the_figures_have_and_names_the_rest(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "220")
    folder = store(two_sizes(), tmp_path / "results", FACTS)
    assert tare("compare", folder, "hpe2016") == 0
    said = capsys.readouterr().out
    table, _, rest = said.partition("LESS LIKE THE STUDY")
    lines = [line for line in table.splitlines() if line.startswith("linpack")]
    others = [line for line in rest.splitlines() if ": linpack · size 4,000: flops on " in line]

    assert tare("compare", folder, "hpe2016", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["studies"][0]["rows"]
    assert len(lines) == sum(row["most_alike"] for row in rows) < len(rows)
    assert others
    assert all("size 39k" in line and "size 4,000, there 39,000)" in line for line in others)


def test_what_is_undecided_or_not_as_in_the_study_is_told(tmp_path, capsys):
    ours = make_ours(PRIMES, {"native": 1, "docker": 1.25, "qemu-tcg": 1.26}, wobble=0.01)
    assert tare("compare", store(ours, tmp_path / "results", FACTS), "cole2022") == 0
    said = " ".join(capsys.readouterr().out.split())

    assert "Against docker." in said
    assert "Undecided here: sysbench_cpu: events on qemu-tcg." in said
    differs = "threads 1, there 4; time 1, there 30; cpu_limit cpuset, there quota"
    assert f"{differs}: sysbench_cpu: events." in said
    assert "5; mean, min, max" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{folder}"], "expected one results directory and at least one published study"),
        (["huang2019"], "found 0 and 1"),
        (["{folder}", "{parent}", "huang2019"], "found 2 and 1"),
        (["{folder}", "huang2020"], "'huang2020' is neither a results directory nor a published"),
        (["{parent}", "huang2019"], "is no results directory"),
    ],
)
def test_what_cannot_be_compared_has_status_2(folder, words, said, capsys):
    given = [word.format(folder=folder, parent=folder.parent) for word in words]

    assert tare("compare", *given) == 2
    assert said in capsys.readouterr().err


def test_a_name_that_is_a_directory_too_is_told_clearly(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cole2022").mkdir()

    with pytest.raises(ConfigError, match=r"write \./cole2022 for the directory"):
        sorted_out(["cole2022"], studies())
    folders, names = sorted_out(["./cole2022", "hpe2016", "hpe2016"], studies())
    assert ([str(one) for one in folders], names) == (["cole2022"], ["hpe2016"])
