"""Published results under our statistics: read, reproduced, and flagged by rule."""

import json
import math
from dataclasses import replace
from functools import cache

import pytest

from tare import cli
from tare.core.errors import ConfigError
from tare.core.model import Better
from tare.present.terminal.published_study import as_json
from tare.results.published import (
    Analysis,
    Column,
    Finding,
    Form,
    Sort,
    Statistic,
    Table,
    load,
    setup_of,
    studies,
)
from tare.results.published import analyse as analyse_afresh
from tare.results.published.analysis import as_printed
from tare.results.published.by_study import cole2022
from tare.results.published.costs import of_difference, of_rate_degradation, of_time_degradation
from tare.results.published.experiment import experiments, reproduced_by
from tare.results.published.moments import Moments, can_be_means, cost, least_n, least_n_of_spread
from tare.results.published.p_values import possible
from tare.results.published.platforms import cpus, depth, own_baseline, setting
from tare.results.published.plausibility import (
    Subject,
    against_baselines,
    against_fewer_cpus,
    implausible,
)
from tare.results.published.rows import COLUMNS, DATA, read
from tare.results.published.runs import compare, pair_up, smallest_p
from tare.results.stats.sequential import Verdict
from tare.results.stats.signed_rank import Interval

analyse = cache(analyse_afresh)
HEADER = ",".join(COLUMNS)
LINE = "made,Table 1,http,load,requests,docker,native,,,1,run,12.50,requests,higher,"


def findings(study, sort=None):
    return [one for one in analyse(study).findings if sort in (None, one.sort)]


def places(study, sort):
    return {one.where for one in findings(study, sort)}


def table(study, beginning):
    """Rows of one table as dictionaries."""
    found = next(one for one in analyse(study).tables if one.title.startswith(beginning))
    names = [column.name for column in found.columns]
    return [dict(zip(names, row, strict=True)) for row in found.rows]


# Reading


def test_every_study_is_read_whole():
    lines = {name: (DATA / f"{name}.csv").read_text().splitlines() for name in studies()}
    assert set(studies()) == {"aspernas2016", "cole2022", "hpe2016", "huang2019", "laine2017"}
    assert all(len(load(name)) == len(text) - 1 for name, text in lines.items())


def test_a_row_says_what_it_is_of(tmp_path):
    (tmp_path / "made.csv").write_text(f"{HEADER}\n{LINE}\n")
    (row,) = read(tmp_path / "made.csv")
    assert (row.platform, row.baseline, row.run, row.value) == ("docker", "native", 1, 12.5)
    assert (row.statistic, row.better) == (Statistic.RUN, Better.HIGHER)
    assert (row.text, row.resolution) == ("12.50", pytest.approx(0.01))


def test_what_did_not_respond_has_no_value():
    gone = [row for row in load("huang2019") if row.value is None]
    assert len(gone) == 4
    assert {row.text for row in gone} == {"DNR"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (LINE.replace("12.50,requests", "12.50,furlongs"), "made.csv:3: unit: .*'furlongs'"),
        (LINE.replace("12.50", ""), "made.csv:3: value: expected a finite number or DNR"),
        (LINE.replace("12.50", "twelve"), "made.csv:3: value: .*'twelve'"),
        (LINE.replace("12.50", "nan"), "made.csv:3: value: .*'nan'"),
        (LINE.replace("12.50", "inf"), "made.csv:3: value: .*'inf'"),
        (LINE.replace(",run,", ",median,"), "made.csv:3: statistic: .*'median'"),
        (LINE.replace(",higher,", ",more,"), "made.csv:3: better: .*'more'"),
        (LINE.replace(",1,run", ",,run"), "made.csv:3: run: "),
        (LINE.replace(",run,", ",mean,"), "made.csv:3: run: "),
        (LINE.replace("made", "other"), "made.csv:3: study: expected made, found 'other'"),
        (LINE.rpartition(",")[0], "made.csv:3: expected 15 columns"),
        (LINE + ",more", "made.csv:3: expected 15 columns"),
    ],
)
def test_a_damaged_line_is_an_error_that_names_it(tmp_path, line, said):
    (tmp_path / "made.csv").write_text(f"{HEADER}\n{LINE}\n{line}\n")
    with pytest.raises(ConfigError, match=said):
        read(tmp_path / "made.csv")


def test_a_file_of_another_form_or_none_is_an_error(tmp_path):
    (tmp_path / "made.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ConfigError, match=r"made\.csv:1: expected the columns study,table"):
        read(tmp_path / "made.csv")
    with pytest.raises(ConfigError, match="cannot be read"):
        read(tmp_path / "none.csv")
    with pytest.raises(ConfigError, match="no published study is called 'x'; there are aspernas"):
        analyse("x")


# Aspernäs and Nensén 2016


def test_every_average_of_aspernas_is_reproduced_also_the_one_without_a_run():
    by = {
        (one.title.partition(",")[0], platform): reproduced_by(one, platform)
        for one in experiments(load("aspernas2016"))
        for platform in one.runs
    }
    excluded = ("Table 2.2", "esxi(CoreOS)/docker")
    assert len(by) == 15
    assert by.pop(excluded) == "all but run 1"
    assert set(by.values()) == {"all runs"}


def test_both_averages_and_percentages_of_the_excluded_run_are_shown():
    rows = {row["platform"]: row for row in table("aspernas2016", "Table 2.2, http")}
    row = rows["esxi(CoreOS)/docker"]
    assert row["average"] == pytest.approx((35783 + 57263 + 58398 + 56835 + 58116) / 5)
    assert row["printed"] == 57653
    assert row["stands apart"] == "run 1"
    assert row["difference printed"] == pytest.approx(100 * (57653 / 67908 - 1))
    assert row["difference of all runs"] == pytest.approx(100 * (53279 / 67907.6 - 1))
    assert rows["esxi(CentOS)/docker"]["difference printed"] == pytest.approx(-17.24, abs=0.005)


def test_run_1_of_the_virtual_coreos_is_an_outlier_that_is_kept():
    (said,) = [
        one.says
        for one in findings("aspernas2016", Sort.OUTLIER)
        if "Table 2.2" in one.where and "esxi(CoreOS)" in one.where
    ]
    assert said.startswith("run 1 (35783 requests) stands apart")
    assert "It is kept: the average is 53279 with it, 57653 without." in said
    assert "The study left it out" in said
    pairs = table("aspernas2016", "Table 2.2, http: successful requests: every pair")
    (with_it,) = [
        row
        for row in pairs
        if (row["platform"], row["against"]) == ("esxi(CoreOS)/docker", "native(CoreOS)/docker")
    ]
    assert with_it["runs show"] == "not shown"


def test_agreement_with_the_order_of_the_averages_is_counted_pair_by_pair():
    for beginning in ("Table 2.2", "Table 3.3", "Table 3.4"):
        whole = next(
            one.title for one in analyse("aspernas2016").tables
            if one.title.startswith(beginning) and one.title.endswith("all runs")
        )  # fmt: skip
        words = [row["agreement"] for row in table("aspernas2016", whole)]
        said = next(
            one.says
            for one in findings("aspernas2016", Sort.VERDICT)
            if one.where.startswith(beginning) and one.says.startswith("Of the 10")
        )
        assert len(words) == 10
        assert "contradicts" not in words
        assert f"{words.count('agrees')} agree" in said
        assert f"{words.count('not shown')} are not shown" in said
    assert words == ["agrees"] * 10


def test_a_study_without_verdicts_is_given_none():
    notes = [note for one in analyse("aspernas2016").tables for note in one.notes]
    assert any("The study states no verdict here" in note for note in notes)
    assert any("31 to 58 %" in one.says for one in findings("aspernas2016", Sort.CAVEAT))


def test_the_guest_that_inserts_faster_than_its_own_host_system_is_implausible():
    assert places("aspernas2016", Sort.IMPLAUSIBLE) == {
        "Table 3.4, sql-insert: time: esxi(CentOS)/docker"
    }


# Cole 2022


def test_only_the_small_primes_of_the_kvm_guest_and_the_scaling_of_docker_are_implausible():
    found = places("cole2022", Sort.IMPLAUSIBLE)
    small = "sysbench cpu --cpu-max-prime=100 4 threads 30 s, events per second"
    large = "sysbench cpu --cpu-max-prime=100000 4 threads 30 s, events per second"
    assert found == {
        f"{small}: kvm 4cpu/4096MiB",
        *(f"{one}: docker {size}" for one in (small, large) for size in ("2cpu/2048MiB",
                                                                         "4cpu/4096MiB")),
    }  # fmt: skip


def test_the_number_of_runs_of_cole_is_its_own_and_what_its_digits_allow():
    (said,) = [one.says for one in findings("cole2022") if "Repetition:" in one.says]
    assert "The digits do allow that" in said
    assert "none below 5 (GRIM)" in said
    # With two runs by the study, its means could not have these decimals.
    rows = load("cole2022")
    setup = setup_of("cole2022")
    few = replace(setup.presets[0].repetition[0], values=(2,))
    two = replace(setup, presets=(replace(setup.presets[0], repetition=(few,)),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tare.results.published.by_study.cole2022.setup_of", lambda _: two)
        _, found = cole2022.analysis(rows)
    assert any("The digits do not allow that" in one.says for one in found)


# Laine 2017


def test_the_implausible_results_of_laine_are_found_by_rule():
    found = places("laine2017", Sort.IMPLAUSIBLE)
    assert {
        "dd disk read, 1 GB: docker against native",
        "dd disk write, 1 GB: docker against native",
        "dd disk read, 2 GB: docker against native",
        "integer loop (time), 4 CPU: docker against native",
        "iperf udp -b, throughput, receive, 999 Mbit/s offered: kvm",
    } <= found
    assert not any("sysbench" in one or "mbw memcpy" in one for one in found)
    (said,) = [one.says for one in findings("laine2017") if one.where.startswith("dd disk read, 2")
               and "docker" in one.where]  # fmt: skip
    assert (
        "sysbench fileio read, on the same disk or memory, finds no difference (p = 0.304)" in said
    )


def test_a_guest_told_apart_by_a_p_value_alone_has_no_direction():
    unjudged = [one for one in findings("laine2017", Sort.NOT_JUDGED) if "dd disk" in one.where]
    assert {one.where for one in unjudged} == {
        f"dd disk {what}, {size} GB: kvm against native"
        for what in ("read", "write")
        for size in (1, 2)
    }
    assert all("Which of them is faster is not in the data" in one.says for one in unjudged)


def test_a_p_value_of_one_beside_different_means_is_a_contradiction():
    (found,) = [one for one in findings("laine2017", Sort.CONTRADICTION) if "p = 1" in one.says]
    assert found.where == "network receive (iperf tcp): docker against native"
    assert "the two rows look exchanged" in found.says


def test_holm_over_all_of_laines_tests_leaves_fewer():
    (said,) = [one.says for one in findings("laine2017", Sort.VERDICT)]
    rows = table("laine2017", "Table 4")
    assert len(rows) == 63
    words = [row["differs"] for row in rows]
    kept, alone = words.count("yes"), words.count("yes") + words.count("no longer")
    assert kept < alone
    assert said.startswith(f"{alone} of 63 tests have p < 0.05; {kept} keep it after Holm.")


# Huang 2019 and Hewlett Packard Enterprise 2016


def test_degradations_of_rates_become_costs_that_multiply():
    rows = table("huang2019", "Table 4.1")
    kvm = next(row for row in rows if "LINPACK" in row["what"] and row["platform"] == "kvm")
    assert kvm["cost if a rate"] == pytest.approx(1 / 0.71)
    assert kvm["cost if a time"] is None
    latency = next(row for row in rows if "TCP RR latency" in row["what"])
    assert latency["cost if a time"] == pytest.approx(1.72)


def test_a_degradation_over_100_percent_is_a_time_and_what_is_not_said_stays_open():
    assert any(one.where == "TeraSort" for one in findings("huang2019", Sort.CAVEAT))
    unjudged = [one for one in findings("huang2019", Sort.NOT_JUDGED) if "a rate or a" in one.says]
    assert [one.where for one in unjudged] == ["SPECweb"]
    rows = table("huang2019", "Table 5.11")
    queries = next(row for row in rows if row["what"].startswith("TPC-DS"))
    assert queries["cost if a rate"] is None  # section 5.1.2: its result is an elapsed time
    assert queries["cost if a time"] >= 1
    gone = [row for row in rows if row["note"] == "did not respond"]
    assert len(gone) == 3
    assert all(row["cost if a rate"] is row["cost if a time"] is None for row in gone)


def test_differences_become_costs_and_small_ones_are_held_against_the_spread():
    rows = table("hpe2016", "Java summary")
    assert rows[0]["cost"] == pytest.approx(1 / 1.09)
    assert rows[1]["cost"] == pytest.approx(0.94)
    boot = next(
        row for row in table("hpe2016", "OpenStack/Rally") if row["what"].startswith("boot")
    )
    assert boot["cost"] == pytest.approx(1 - 0.2821)
    ahead = [one for one in findings("hpe2016", Sort.NOT_JUDGED) if "shows nothing" in one.says]
    assert len(ahead) == 1
    assert "TCP_STREAM" in ahead[0].where


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (of_rate_degradation(75), 4),
        (of_rate_degradation(0), 1),
        (of_rate_degradation(100), math.inf),
        (of_time_degradation(300), 4),
        (of_difference(25, Better.HIGHER), 0.8),
        (of_difference(-100, Better.HIGHER), math.inf),
        (of_difference(25, Better.LOWER), 1.25),
    ],
)
def test_percentages_as_costs(found, expected):
    assert found == pytest.approx(expected)


# The rules themselves


def test_names_of_platforms_say_depth_setting_and_cpus():
    names = ("native(CentOS)/docker", "esxi(CentOS)/docker", "esxi(Photon OS)/docker")
    assert [depth(name) for name in names] == [1, 3, 3]
    assert own_baseline(names[1], names) == names[0]
    assert own_baseline(names[2], names) is None
    assert own_baseline(names[0], names) is None
    assert own_baseline("qemu-tcg", ["kvm", "docker", "native", "xen"]) == "native"
    assert setting("qemu-tcg 2cpu/2048MiB") == setting("docker 2cpu/2048MiB")
    assert cpus("docker 2cpu/2048MiB") == 2
    assert depth("a teapot") is cpus("a teapot") is None


def test_grim_finds_the_fewest_runs_that_decimals_allow():
    # Brown and Heathers (2017), their example: 28 whole numbers cannot have a mean of 5.19, as
    # 145 / 28 = 5.18 and 146 / 28 = 5.21.
    assert not can_be_means(["5.19"], 0, 28)
    assert can_be_means(["5.18", "5.21"], 0, 28)
    assert least_n(["5.19"], 0) == 16  # 83 / 16 = 5.1875
    assert least_n(["39.522", "134.078", "202.394"], 2) == 5
    assert least_n(["39.5", "12.0"], 1) == 1
    assert least_n([], 2) == 1


def test_a_spread_needs_values_to_be_as_narrow_as_the_standard_deviation():
    assert least_n_of_spread(2.0, math.sqrt(2.0)) == 2
    assert least_n_of_spread(2.0, 1.0) == 3
    assert least_n_of_spread(2.0, 0.0) == 2


def subject(better=Better.LOWER, **platforms):
    named = {name.replace("_", " "): moments for name, moments in platforms.items()}
    return Subject(name="work", unit="s", better=better, platforms=named, work_per_cpu=True)


def judged(one, noise=None):
    found = implausible([*against_baselines([one]), *against_fewer_cpus([one])], noise)
    return [(finding.sort, finding.where) for finding in found]


def test_a_guest_better_than_its_baseline_is_judged_by_what_its_rows_show():
    native, kvm = Moments(mean=10.0), Moments(mean=9.0)
    assert judged(subject(native=native, kvm=kvm)) == [(Sort.NOT_JUDGED, "work: kvm")]
    assert judged(subject(native=native, kvm=kvm), 0.11) == [(Sort.IMPLAUSIBLE, "work: kvm")]
    assert judged(subject(native=native, kvm=kvm), 0.112) == []
    assert judged(subject(native=kvm, kvm=native), 0.05) == []
    tight = {"sd": 0.1, "n": 5}
    found = judged(subject(native=Moments(mean=10.0, **tight), kvm=Moments(mean=9.0, **tight)))
    assert found == [(Sort.IMPLAUSIBLE, "work: kvm")]
    wide = {"sd": 2.0, "n": 5}
    assert judged(subject(native=Moments(mean=10.0, **wide), kvm=Moments(mean=9.0, **wide))) == []
    apart = {"native": Moments(mean=10.0, minimum=9.5, maximum=10.5)}
    apart["kvm"] = Moments(mean=9.0, minimum=8.5, maximum=9.4)
    assert judged(subject(**apart)) == [(Sort.IMPLAUSIBLE, "work: kvm")]


def test_more_than_twice_the_work_on_twice_the_cpus_is_implausible():
    one = {"docker_1cpu": Moments(mean=100.0, sd=1.0, n=5)}
    two = Moments(mean=220.0, sd=1.0, n=5)
    assert judged(subject(Better.HIGHER, **one, docker_2cpu=two)) == [
        (Sort.IMPLAUSIBLE, "work: docker 2cpu")
    ]
    two = Moments(mean=190.0, sd=1.0, n=5)
    assert judged(subject(Better.HIGHER, **one, docker_2cpu=two)) == []


def test_of_many_comparisons_one_that_is_barely_better_is_not_implausible():
    # Its own p is 0.03; among ten like it that is expected.
    base, barely = Moments(mean=10.0, sd=0.5, n=5), Moments(mean=9.22, sd=0.46, n=5)
    alone = subject(native=base, kvm=barely)
    others = [subject(native=base, kvm=base)] * 9
    assert judged(alone) == [(Sort.IMPLAUSIBLE, "work: kvm")]
    assert list(implausible(against_baselines([alone, *others]))) == []


def test_means_without_a_ratio_are_not_compared():
    assert cost(Moments(mean=0.0), Moments(mean=1.0), Better.LOWER) is None
    assert judged(subject(native=Moments(mean=1.0), kvm=Moments(mean=0.0))) == []


def test_no_printed_spread_gives_no_interval():
    none = cost(Moments(mean=1.0, sd=0.0, n=5), Moments(mean=1.0, sd=0.0, n=5), Better.LOWER)
    assert none.cost == 1
    assert none.interval is none.p is None


def test_the_ratio_of_means_is_that_of_welch():
    # With one spread far larger than the other the freedom is that of the one sample: t(0.975, 4).
    found = cost(Moments(mean=1.0, sd=0.1, n=5), Moments(mean=1.0, sd=1e-9, n=5), Better.LOWER)
    assert math.log(found.interval.high) == pytest.approx(2.776 * 0.1 / math.sqrt(5), abs=1e-4)
    assert found.p == pytest.approx(1)


def test_a_p_of_one_needs_equal_means():
    assert possible(0.0001, 900, 0.9995)
    assert not possible(5, 900, 0.9995)
    assert possible(5, 900, 0.9)
    assert possible(5, 900, 0.0)


def test_five_and_five_runs_cannot_pass_holm_by_ranks():
    assert smallest_p(5, 5) == pytest.approx(2 / 252)
    found = compare("b", "a", {"a": [1, 2, 3, 4, 5], "b": [6, 7, 8, 9, 10]}, Better.LOWER)
    assert found.permutation_p == found.mann_whitney_p == pytest.approx(2 / 252)


def test_the_p_of_a_pair_allows_for_the_table():
    runs = {name: [mean + 0.1 * place for place in range(5)] for name, mean in
            (("a", 1.0), ("b", 1.3), ("c", 9.0))}  # fmt: skip
    pairs = {(one.baseline, one.platform): one for one in pair_up(runs, Better.LOWER)}
    assert len(pairs) == 3
    barely = pairs["a", "b"]
    assert barely.holm_p == barely.welch_p  # the largest
    assert pairs["a", "c"].holm_p == pytest.approx(
        max(2 * pairs["a", "c"].welch_p, 3 * pairs["b", "c"].welch_p)
    )


def test_an_average_that_no_choice_of_runs_gives_is_said(tmp_path):
    mean = LINE.replace(",1,run,12.50", ",,mean,12.6")
    (tmp_path / "made.csv").write_text(f"{HEADER}\n{LINE}\n{mean}\n")
    (one,) = experiments(read(tmp_path / "made.csv"))
    assert reproduced_by(one, "docker") == "no choice of runs"


def test_a_pair_turned_round_has_the_reciprocal_cost():
    runs = {"a": [1.0, 1.1, 0.9, 1.05, 0.97], "b": [2.0, 2.1, 1.9, 2.2, 1.8]}
    one, other = compare("a", "b", runs, Better.LOWER), compare("b", "a", runs, Better.LOWER)
    rate = compare("a", "b", runs, Better.HIGHER)
    assert one.cost == pytest.approx(1 / other.cost)
    assert one.interval.low == pytest.approx(1 / other.interval.high)
    assert one.welch_p == pytest.approx(other.welch_p)
    assert rate.cost == pytest.approx(other.cost)


@pytest.mark.parametrize("values", [[1.0] * 5, [1.0], []])
def test_runs_without_a_spread_or_none_have_no_verdict(values):
    (found,) = pair_up({"a": values, "b": values}, Better.LOWER)
    assert found.verdict is Verdict.UNDECIDED
    assert found.cost is None


# The command


def test_the_command_lists_prints_and_is_strict_json(capsys):
    assert cli.main(["published"]) == 0
    assert capsys.readouterr().out.count("\n") == len(studies())
    for study in studies():
        assert cli.main(["published", study, "--json"]) == 0
        told = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
        assert told["study"] == study
        assert told["tables"]
        assert told["findings"]


@pytest.mark.parametrize("width", ["60", "120"])
def test_the_command_prints_what_was_found_and_no_nan(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    for study in studies():
        assert cli.main(["published", study]) == 0
        text = capsys.readouterr().out
        assert "nan" not in text.lower().split()
        assert max(map(len, text.splitlines())) <= int(width)
    cli.main(["published", "cole2022"])
    text = " ".join(capsys.readouterr().out.split())
    assert "IMPLAUSIBLE" in text
    assert "kvm 4cpu/4096MiB: better than docker 4cpu/4096MiB" in text


def test_json_names_infinity():
    lost = Table("t", (Column("cost", Form.COST),), ((math.inf,), (Interval(0.5, math.inf),)))
    rows = as_json(Analysis("s", "", (lost,)))["tables"][0]["rows"]
    assert rows == [{"cost": "inf"}, {"cost": [0.5, "inf"]}]


def test_an_unknown_study_is_bad_input(capsys):
    assert cli.main(["published", "nobody1999"]) == cli.BAD_INPUT
    assert "there are aspernas2016" in capsys.readouterr().err


def test_a_study_without_an_analysis_is_printed_as_it_is():
    printed = as_printed(load("hpe2016"))
    assert sum(len(one.rows) for one in printed) == len(load("hpe2016"))
    assert Finding(Sort.CAVEAT, "x", "y").sort is Sort.CAVEAT
