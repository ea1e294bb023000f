"""The variants of a trial's time: what each counts, and what comparisons make of them."""

import io
import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tare.core.errors import ConfigError
from tare.core.model import (
    NO_FACTS,
    NO_RUN,
    Better,
    HostCost,
    Metric,
    Repetition,
    Status,
    Unit,
    Variant,
)
from tare.experiment.study import read_study
from tare.present.report import describe, write_report
from tare.present.terminal.verdicts import show
from tare.present.view.flags import flag_texts
from tare.present.view.reasons import UNACCOUNTED, reason_text
from tare.results.compare.contention import Unaccounted, share_of_wall, value
from tare.results.compare.pairing import histories
from tare.results.stats.sequential import Verdict
from tare.results.store import Results
from tare.results.study import compare, decided
from tare.work.workload import TOOL_DURATION
from unit.makers import RATE, TIME, make_cell, make_plan, make_trial

OTHER = Metric("other", Unit.SECOND, Better.LOWER)
WORK_S = 0.7
HOST, CONTROL, DEAR = make_cell("host"), make_cell("host", replica=1), make_cell("host/dear")


def plan(variant=Variant.WALL, metrics=(TIME,), cells=(HOST, CONTROL, DEAR), **repetition):
    return make_plan(*cells, metrics=metrics, variant=variant, **repetition)


def host(cpu_s=1.0, **others):
    settled = {"all_cpu_s": cpu_s, "coverage": 1.0, "threads": 1, "workers": 1} | others
    return HostCost(cpu_s=cpu_s, run_delay_s=0.0, **settled)


def trial(of=HOST, block=0, *, duration_s=2.0, account=None, status=Status.OK, **samples):
    return make_trial(
        of, block, status=status, duration_s=duration_s, samples=samples, host=account
    )


def contended(of, cost, blocks=20, *, known=True, workers=1, queueing=0.0):
    """Trials that each lose a random part of their time to others, and are a little noisy."""
    rng = np.random.default_rng(int(of.id, 16))
    for block in range(blocks):
        cpu_s = WORK_S * cost * math.exp(rng.normal(0, 0.002))
        lost_s = WORK_S * (rng.uniform(0, 1.0) + queueing)
        account = host(
            cpu_s, foreign_delay_s=lost_s if known else None, foreign_cpu_s=lost_s, workers=workers
        )
        wall_s = cpu_s + lost_s
        yield trial(of, block, duration_s=wall_s, account=account, time=wall_s, rate=1 / wall_s)


def rows(of, found):
    return {row.variant: row for row in found.comparisons if row.cell == of and row.metric is TIME}


@pytest.mark.parametrize(("metric", "measured"), [(TIME, 4.0), (RATE, 0.25)])
def test_each_variant_is_the_time_of_a_unit_less_what_it_does_not_count(metric, measured):
    samples = {metric.name: measured, "tool_duration": 1.0}
    one = trial(account=host(0.5, foreign_delay_s=0.4), **samples)

    def unit_s(variant):
        found = value(one, metric, variant, TOOL_DURATION)
        return found if metric is TIME else 1 / found

    assert unit_s(Variant.WALL) == 4.0
    assert unit_s(Variant.CORRECTED) == pytest.approx(4.0 * (1.0 - 0.4) / 1.0)
    assert unit_s(Variant.HOST_CPU) == pytest.approx(4.0 * 0.5 / 1.0)


def test_without_the_tools_own_time_that_of_the_command_counts():
    one = trial(account=host(0.5, foreign_delay_s=0.4), duration_s=2.0, time=2.0)

    for tool_duration in (TOOL_DURATION, None):
        assert value(one, TIME, Variant.CORRECTED, tool_duration) == pytest.approx(1.6)
        assert value(one, TIME, Variant.HOST_CPU, tool_duration) == pytest.approx(0.5)


def test_the_tools_own_time_is_known_by_its_role_whatever_it_is_called():
    took = replace(TOOL_DURATION, name="took")
    account = host(0.5, foreign_delay_s=0.4)
    trials = [trial(of, account=account, duration_s=2.0, time=1.0, took=1.0) for of in (HOST, DEAR)]

    known = histories(plan(metrics=(TIME, took)), trials)[DEAR.id]

    assert known.columns(TIME, Variant.CORRECTED).values.tolist() == [pytest.approx(0.6)]


def test_virtual_cpus_waited_over_the_whole_command_and_the_tool_gets_its_share():
    account = host(1.0, foreign_delay_s=1.0, lasting=True)
    one = trial(account=account, duration_s=2.0, tool_duration=1.6, time=1.6)

    assert value(one, TIME, Variant.CORRECTED, TOOL_DURATION) == pytest.approx(0.8)


def test_several_cpus_at_once_cost_more_than_the_wall_time():
    one = trial(account=host(6.0, workers=4), duration_s=2.0, time=2.0)

    assert value(one, TIME, Variant.HOST_CPU, TOOL_DURATION) == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("account", "variant", "why"),
    [
        (None, Variant.CORRECTED, "not read on this host"),
        (None, Variant.HOST_CPU, "not read on this host"),
        (host(coverage=0.5), Variant.CORRECTED, "ended unseen"),
        (host(), Variant.CORRECTED, "no thread was seen at work"),
        (host(foreign_delay_s=2.0), Variant.CORRECTED, "no time is left"),
        (host(foreign_delay_s=9.0), Variant.CORRECTED, "no time is left"),
        (host(0.0), Variant.HOST_CPU, "no time is left"),
    ],
)
def test_a_variant_that_is_not_known_says_why(account, variant, why):
    one = trial(account=account, time=2.0)

    assert why in UNACCOUNTED[share_of_wall(one, variant, TOOL_DURATION)]
    assert value(one, TIME, variant, TOOL_DURATION) is None
    assert value(one, TIME, Variant.WALL, TOOL_DURATION) == 2.0


def test_a_trial_of_no_length_has_no_share_of_it():
    one = trial(account=host(), duration_s=0.0)

    assert share_of_wall(one, Variant.HOST_CPU, TOOL_DURATION) is Unaccounted.NO_DURATION


def test_the_primary_metric_has_three_rows_and_the_plan_says_which_decides():
    trials = [*contended(HOST, 1.0), *contended(CONTROL, 1.0), *contended(DEAR, 1.03)]
    for variant in Variant:
        found = compare(plan(variant), trials)
        of = rows(DEAR, found)
        assert set(of) == set(Variant)
        assert [one.variant for one in found.comparisons if one.primary] == [variant, variant]
        assert [one.holm_p is not None for one in of.values()] == [
            one.variant is variant for one in of.values()
        ]
        # Each has its own control, and a floor of its own.
        assert of[Variant.CORRECTED].noise_floor < 0.01 < of[Variant.WALL].noise_floor


def test_an_overhead_that_foreign_load_hides_is_found_without_the_load():
    trials = [*contended(HOST, 1.0), *contended(CONTROL, 1.0), *contended(DEAR, 1.03)]
    of = rows(DEAR, compare(plan(), trials))

    assert of[Variant.WALL].verdict is Verdict.UNDECIDED
    for variant in (Variant.CORRECTED, Variant.HOST_CPU):
        assert of[variant].verdict is Verdict.SLOWER
        assert of[variant].cost == pytest.approx(1.03, abs=0.003)
        assert of[variant].low < 1.03 < of[variant].high
        assert of[variant].high - of[variant].low < 0.01


def test_stopping_follows_the_variant_of_the_plan():
    trials = [*contended(HOST, 1.0, 8), *contended(CONTROL, 1.0, 8), *contended(DEAR, 1.1, 8)]

    assert DEAR.id not in decided(plan(), trials)
    assert DEAR.id in decided(plan(Variant.CORRECTED), trials)


def test_only_the_first_metric_has_variants():
    trials = [
        replace(one, samples={**one.samples, "other": 1.0})
        for one in [*contended(HOST, 1.0), *contended(DEAR, 1.0)]
    ]
    found = compare(plan(metrics=(TIME, OTHER), cells=(HOST, DEAR)), trials).comparisons

    assert [(row.metric.name, row.variant) for row in found] == [
        ("time", Variant.WALL), ("time", Variant.CORRECTED), ("time", Variant.HOST_CPU),
        ("other", Variant.WALL),
    ]  # fmt: skip


def test_without_an_account_on_the_host_there_is_wall_time_alone():
    trials = [replace(one, host=None) for one in [*contended(HOST, 1.0), *contended(DEAR, 1.1)]]

    assert set(rows(DEAR, compare(plan(), trials))) == {Variant.WALL}
    chosen = rows(DEAR, compare(plan(Variant.CORRECTED), trials))
    assert set(chosen) == {Variant.WALL, Variant.CORRECTED}
    assert chosen[Variant.CORRECTED].verdict is Verdict.NOT_MEASURED
    assert "not read on this host (40 trials)" in reason_text(chosen[Variant.CORRECTED].reason)


def test_trials_whose_delay_is_not_known_are_counted_and_said():
    trials = [*contended(HOST, 1.0), *contended(DEAR, 1.1)]
    dark = host(coverage=0.5)
    trials = [replace(one, host=dark) if one.block < 3 and one.cell == DEAR.id else one
              for one in trials]  # fmt: skip
    row = rows(DEAR, compare(plan(cells=(HOST, DEAR)), trials))[Variant.CORRECTED]

    assert (row.pairs, row.left_out) == (17, 3)
    assert any("corrected variant of 3 trials is not known: threads ended" in flag
               for flag in flag_texts(row.flags))  # fmt: skip


def test_that_the_delay_of_several_threads_is_a_mean_is_said():
    trials = [*contended(HOST, 1.0, workers=4), *contended(DEAR, 1.1, workers=4)]
    of = rows(DEAR, compare(plan(cells=(HOST, DEAR)), trials))

    assert any(
        "mean of up to 4 threads" in flag for flag in flag_texts(of[Variant.CORRECTED].flags)
    )
    assert not any("threads at once" in flag for flag in flag_texts(of[Variant.WALL].flags))


def test_a_verdict_that_changes_without_foreign_delay_is_called_queueing():
    trials = [*contended(HOST, 1.0), *contended(DEAR, 1.0, queueing=2.0)]
    of = rows(DEAR, compare(plan(cells=(HOST, DEAR)), trials))

    assert of[Variant.WALL].verdict is Verdict.SLOWER
    assert of[Variant.CORRECTED].verdict is Verdict.SAME
    assert (
        "The platform causes queueing: slower by wall time, same"
        in flag_texts(of[Variant.WALL].flags)[-1]
    )
    assert not any("queueing" in flag for flag in flag_texts(of[Variant.CORRECTED].flags))


def test_failures_count_in_every_variant():
    trials = [*contended(HOST, 1.0), *contended(DEAR, 1.1)]
    bad = {"status": Status.DNR, "host": None, "samples": {}}
    trials = [
        replace(one, **bad) if one.cell == DEAR.id and one.block in (3, 5) else one
        for one in trials
    ]
    of = rows(DEAR, compare(plan(cells=(HOST, DEAR)), trials))

    assert [row.failed for row in of.values()] == [2, 2, 2]
    assert not any("not known" in flag for row in of.values() for flag in flag_texts(row.flags))


@pytest.mark.parametrize("number", [0.0, -1.0, math.inf, math.nan, 1e300, 1e-300])
def test_absurd_accounts_give_no_nan(number):
    trials = [
        replace(one, host=replace(one.host, all_cpu_s=number, foreign_delay_s=number))
        for one in [*contended(HOST, 1.0), *contended(DEAR, 1.1)]
    ]
    for row in compare(plan(cells=(HOST, DEAR)), trials).comparisons:
        for found in (row.cost, row.low, row.high, row.p, row.mde):
            assert found is None or not math.isnan(found)


def test_a_result_of_before_is_read_and_its_plan_decides_by_wall_time():
    old = asdict(host())
    for name in ("workers", "lasting", "throttled_s", "foreign_cpu_s", "foreign_delay_s"):
        del old[name]

    assert HostCost(**json.loads(json.dumps(old))).foreign_delay_s is None
    assert Repetition().variant is Variant.WALL


def results(variant=Variant.WALL):
    trials = [*contended(HOST, 1.0), *contended(CONTROL, 1.0), *contended(DEAR, 1.03)]
    return Results(
        Path("results"), "", plan(variant), facts=NO_FACTS, run=NO_RUN, trials=tuple(trials)
    )


def printed(variant):
    console = Console(width=130, record=True, file=io.StringIO())
    console.print(show(describe(results(variant))))
    return console.export_text()


def test_the_other_variants_stand_below_the_one_that_decides(tmp_path):
    lines = [line.strip() for line in printed(Variant.CORRECTED).splitlines()]
    at = max(i for i, line in enumerate(lines) if line.startswith("host/dear  "))
    assert "slower" in lines[at]
    assert lines[at + 1].startswith("time, wall time")
    assert lines[at + 2].startswith("time, host CPU")

    write_report(results(Variant.CORRECTED), tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert page.count("time, wall time") == page.count("time, host CPU") == 2  # the control has too


def test_the_summary_says_by_what_was_decided_unless_it_is_wall_time():
    assert "Decided by" not in printed(Variant.WALL)
    assert "Decided by wall time less foreign delay" in printed(Variant.CORRECTED)
    assert "Decided by host CPU time" in printed(Variant.HOST_CPU)


STUDY = """
name: variants
platforms: [host/docker]
baseline: host/docker
limits: {cpus: 1, memory: 1GiB}
"""


def test_a_study_fixes_the_variant():
    solo = STUDY + "workloads: [sysbench_cpu]\nrepetition: {variant: host_cpu}\n"
    assert read_study(solo, "my.yaml").repetition.variant is Variant.HOST_CPU
    with pytest.raises(ConfigError, match=r"repetition.variant: found 'cpu'; expected one of wall"):
        read_study(solo.replace("host_cpu", "cpu"), "my.yaml")


def test_a_lifecycle_has_wall_times_only():
    text = STUDY + "scenario: lifecycle\nrepetition: {variant: corrected}\n"
    with pytest.raises(ConfigError, match="variant: corrected was given; a lifecycle has wall"):
        read_study(text, "my.yaml")
