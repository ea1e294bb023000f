"""The claims of ``make prove``, each on fewer paths, and the tools it makes them with."""

import gzip
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from proof import designs, fresh
from proof.designs import RIVALS, RULE, Rival, blocks, holds, measured, pairs_until
from proof.figures import Obvious, Share, families, obvious, rivals, tares
from proof.noise import MODELS, Recorded, recorded, scatter
from proof.targets import Evidence, targets
from tare.cli import BAD_INPUT, main
from tare.cli.record_noise import PAIRS_A_ROUND, RUN, arranged, rows_of
from tare.core.errors import ConfigError
from tare.core.model import NO_FACTS, NO_RUN, HostCost, Kind, Status, Trial
from tare.experiment.design import make_plan
from tare.experiment.study import read_study
from tare.machines.simulation.trace import Row, Trace, log_deviations, read, write
from tare.results.stats.sequential import Verdict
from tare.results.store.reader import Results

NOISE = {model.name: model for model in MODELS}
FIVE, LONG, PHORONIX, HYPERFINE, _ = RIVALS
TRACES = Path(__file__).parents[2] / "benchmarks/traces"


def alarms(rival, noise, paths=2000):
    return rivals(rival, NOISE[noise], 1, paths).alarms.value


# The models are the noise that METHOD.md 3.5 describes.


@pytest.mark.parametrize(
    ("name", "trial", "pair"),
    [
        ("quiet", 0.008, 0.0044),
        ("cloud", 0.041, 0.015),
        ("harsh", 0.44, 0.066),
        ("harsh, corrected", 0.011, 0.0067),
    ],
)
def test_models_scatter_as_the_method_says(name, trial, pair):
    trial_sd, pair_sd = scatter(NOISE[name], np.random.default_rng(1))

    assert trial_sd == pytest.approx(trial, rel=0.1)
    assert pair_sd == pytest.approx(pair, rel=0.1)


@pytest.mark.parametrize(("name", "rate"), [("quiet", 0.12), ("cloud", 0.40), ("harsh", 0.68)])
def test_five_in_a_row_alarms_as_often_as_the_method_says(name, rate):
    assert alarms(FIVE, name) == pytest.approx(rate, abs=0.1)


# What Tare's design finds where the truth is known.


@pytest.mark.parametrize("name", NOISE)
def test_ordinary_intervals_hold_the_truth_in_93_to_97_percent(name):
    errors = blocks(NOISE[name], np.random.default_rng(2), 3000, 1, cap=20).pairs

    assert 0.93 <= np.mean([holds(one, 20, designs.ORDINARY) for one, _ in errors]) <= 0.97


def test_printed_intervals_hold_the_truth_at_all_looks_together_in_95_percent():
    every = [
        pair for noise in MODELS for pair in blocks(noise, np.random.default_rng(3), 250, 1).pairs
    ]
    held = [designs.holds_always(one, control) for one, control in every]

    assert np.mean(held) >= 0.95 - 2 * math.sqrt(0.05 * 0.95 / len(held))


def test_few_studies_of_30_equal_comparisons_alarm_after_holm():
    found = families(NOISE["bursts"], 4, 25)

    assert found.familywise.value <= 0.05
    assert found.alarms.value <= 0.06
    assert found.uncorrected.value > 0.3  # the verdicts alone are not corrected for their number


def test_three_percent_in_cloud_noise_are_found_within_11_pairs():
    found = tares(NOISE["cloud"], 5, 60)

    assert found.power[0.03].pairs <= 11
    assert found.power[0.03].right.value >= 0.95
    assert found.power[0.03].wrong.value == 0


@pytest.mark.parametrize("name", ["quiet", "cloud"])
def test_a_true_zero_ends_as_the_same(name):
    pairs = blocks(NOISE[name], np.random.default_rng(6), 60, 1).pairs

    assert np.mean([measured(one, c).verdict is Verdict.SAME for one, c in pairs]) >= 0.9


def test_what_comes_after_the_stop_is_not_looked_at():
    pairs = np.full(100, 0.5) + 0.01 * np.arange(100)
    other = np.concatenate([pairs[:8], -pairs[8:]])

    assert measured(pairs).pairs == 8
    assert measured(pairs) == measured(other)


def test_constant_and_infinite_pairs_have_an_outcome():
    assert measured(np.zeros(100)).verdict is Verdict.SAME
    assert measured(np.full(100, np.inf)).verdict is Verdict.SLOWER
    assert pairs_until(np.zeros(100), np.zeros(100), 0.05) == RULE.cap + 1


def test_the_control_of_simulated_blocks_shares_their_baseline():
    made = blocks(NOISE["independent"], np.random.default_rng(13), 400, 2)

    assert made.platforms.shape == (400, 2, 100)
    assert made.control.shape == (400, 100)
    for platform in (0, 1):
        alike = np.corrcoef(made.platforms[:, platform].ravel(), made.control.ravel())[0, 1]
        assert alike == pytest.approx(0.5, abs=0.02)


def test_an_interval_of_an_early_look_that_misses_the_truth_is_counted():
    errors, calm = np.concatenate([np.full(3, 1.0), np.tile([-1.0, 1.0], 49)]), np.zeros(101)

    assert designs.holds_always(np.tile([-1.0, 1.0], 50), calm)
    assert not designs.holds_always(errors, calm)
    assert designs.holds_always(errors, np.full(101, 3.0))


def test_obvious_costs_are_decided_in_the_pairs_that_are_asked_for():
    for one in obvious(14, 200):
        assert one.pairs <= one.asked, one


def test_p_is_small_as_soon_as_an_early_look_says_so():
    assert pairs_until(np.full(100, 1.0), np.zeros(100), 0.05) == 3
    assert pairs_until(np.full(100, 1.0), np.full(100, 9.0), 0.05) == 11


# What others do.


@pytest.mark.parametrize(("test", "equal"), [("student", True), ("welch", False)])
def test_rivals_tests_are_those_of_scipy(test, equal):
    rival = Rival("x", 7, 7, apart=False, test=test)
    noise = NOISE["bursts"]
    found = designs.tested(rival, noise, np.random.default_rng(7), 20, (0.1,))[0.1]
    a, b = (np.exp(x) for x in noise.arms(np.random.default_rng(7), 20, 7, apart=False))

    assert found.p == pytest.approx(stats.ttest_ind(a, 1.1 * b, axis=1, equal_var=equal).pvalue)
    assert found.ratio == pytest.approx(1.1 * b.mean(axis=1) / a.mean(axis=1))


@pytest.mark.parametrize(("sd", "trials"), [(0.0001, 6), (1.0, 24)])
def test_phoronix_stops_at_3_trials_or_goes_on_to_12(sd, trials):
    noise = replace(NOISE["independent"], white=sd)

    assert rivals(PHORONIX, noise, 8, 50).trials == trials


def test_drift_deceives_those_who_measure_one_platform_after_the_other():
    assert alarms(FIVE, "drift", 200) > 0.9
    assert alarms(PHORONIX, "drift", 200) > 0.9
    assert alarms(FIVE, "independent") == pytest.approx(0.05, abs=0.02)
    assert alarms(HYPERFINE, "independent") == pytest.approx(0.05, abs=0.02)


def test_ten_minutes_in_a_row_hardly_see_three_percent_in_a_cloud():
    assert rivals(LONG, NOISE["cloud"], 9, 500).calibrated[0.03] < 0.4


# Recorded noise.


def trial_row(number, **changes):
    row = Row(
        start_s=float(number), workload="cpu", part="pairs", arm="A", block=number, slot=0,
        wall_s=0.6, unit_s=1e-4 * (1 + 0.1 * (number % 3)), tool_s=0.5, cpu_s=0.4, all_cpu_s=0.4,
        run_delay_s=0.1, foreign_delay_s=0.1, coverage=0.99,
    )  # fmt: skip
    return replace(row, **changes)


@pytest.fixture
def trace(tmp_path):
    """A trace of 48 trials in pairs and two rounds of 12 and 12 in a row."""
    rows = [trial_row(n) for n in range(48)]
    for _ in range(2):
        for arm in "AB":
            rows += [trial_row(len(rows) + n, part="runs", arm=arm) for n in range(12)]
        rows.append(trial_row(len(rows)))
    path = tmp_path / "noise.csv.gz"
    write(path, Trace(("made by a test",), tuple(rows)))
    return path


def test_a_trace_is_read_as_it_was_written(trace, tmp_path):
    found = read(trace)
    again = tmp_path / "again.csv"
    write(again, found)

    assert found.about == ("made by a test",)
    assert len(found.rows) == 98
    assert found.rows[1] == trial_row(1)
    assert read(again) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "cannot be read"),
        ("a,b\n1,2\n", "is no noise trace"),
        ("HEAD\n", "holds no trial"),
        ("HEAD\nx,cpu,pairs,A,0,0,1,1,1,1,1,1,,1\n", ":2: not a trial"),
        ("HEAD\n0,cpu,pairs,A,0,0,1,0,1,1,1,1,,1\n", "above 0"),
        ("HEAD\n0,cpu\n", ":2: not a trial"),
    ],
)
def test_a_bad_trace_is_told(tmp_path, text, why):
    path = tmp_path / "bad.csv"
    if text is not None:
        path.write_text(text.replace("HEAD", ",".join(Row.__dataclass_fields__)))

    with pytest.raises(ValueError, match=why):
        read(path)


def test_the_variants_of_a_trial():
    row = trial_row(0)

    assert row.cost("wall") == 1e-4
    assert row.cost("corrected") == pytest.approx(1e-4 * 0.4 / 0.5)
    assert row.cost("host_cpu") == pytest.approx(1e-4 * 0.4 / 0.5)
    assert math.isnan(replace(row, foreign_delay_s=None).cost("corrected"))
    assert math.isnan(replace(row, foreign_delay_s=0.5).cost("corrected"))
    assert log_deviations([replace(row, foreign_delay_s=None)], "corrected") == []


def test_a_recording_is_resampled_in_order_of_time(trace):
    found = recorded(read(trace), "cpu", "wall", "x")
    made = found.series(np.random.default_rng(1), 5, 200)

    assert isinstance(found, Recorded)
    assert [(len(a), len(b)) for a, b in found.runs] == [(12, 12), (12, 12)]
    assert made[0, :98] == pytest.approx(made[0, 98:196])  # after the last comes the first
    assert found.arms(np.random.default_rng(1), 3, 12, apart=True)[0].shape == (3, 12)
    assert found.arms(np.random.default_rng(1), 3, 13, apart=True) is None
    assert recorded(read(trace), "disk", "wall", "x") is None


def test_a_trace_is_replayed_by_the_simulated_layer(lab, trace):
    deviations = log_deviations(read(trace).of("cpu"), "wall")
    sim = {"noise": 0, "trace": str(trace), "seed": 3}
    results = lab.run(lab.text({"base": {"sim": sim}}))
    measured_ones = [trial for trial in results.trials if "events" in trial.samples]
    logs = [-math.log(trial.samples["events"] / 10_000) for trial in measured_ones]
    begin = next(
        at for at in range(len(deviations))
        if np.roll(deviations, -at)[: len(logs)] == pytest.approx(logs, abs=1e-4)
    )  # fmt: skip

    assert 0 <= begin < len(deviations)
    assert len(logs) == 18  # two cells, each a warm-up and eight blocks


def test_a_trace_that_is_not_there_is_told(lab):
    with pytest.raises(ConfigError, match=r"no\.csv cannot be read"):
        read_study(lab.text({"base": {"sim": {"trace": "no.csv"}}}), "study.yaml")


def test_a_recording_goes_in_rounds_of_pairs_and_of_trials_in_a_row(lab):
    blocks_of_pairs = 2 * PAIRS_A_ROUND
    repetition = {"min_blocks": blocks_of_pairs, "max_blocks": blocks_of_pairs, "instances": 1}
    study = read_study(lab.text({"base": {"sim": {}}}, repetition=repetition), "study.yaml")
    plan = arranged(make_plan(study, 1), 2)
    control = {cell.id: bool(cell.replica) for cell in plan.cells}
    sizes = {}
    for slot in plan.slots:
        sizes.setdefault(slot.block, []).append(control[slot.cell])

    order = [sizes[block] for block in sorted(sizes)]
    turn = PAIRS_A_ROUND + 2 * RUN
    assert len(order) == 2 * turn == plan.repetition.min_blocks
    assert all(sorted(pair) == [False, True] for pair in order[:PAIRS_A_ROUND])
    assert order[PAIRS_A_ROUND:turn] == RUN * [[False]] + RUN * [[True]]


def test_a_recording_is_made_of_the_trials_that_have_numbers(lab):
    study = read_study(lab.text({"base": {"sim": {}}}), "study.yaml")
    plan = make_plan(study, 1)
    cost = HostCost(cpu_s=0.4, run_delay_s=0.1, all_cpu_s=0.4, coverage=0.99, threads=1)
    good = Trial(
        cell=plan.cells[0].id, block=0, slot=1, kind=Kind.MEASURED, instance="0", status=Status.OK,
        started_at="2026-11-21T10:00:01.500+00:00", duration_s=0.6, host=cost,
        samples={"events": 2000.0, "tool_duration": 0.5},
    )  # fmt: skip
    others = [
        replace(good, kind=Kind.WARMUP), replace(good, status=Status.FAILED, samples={}),
        replace(good, host=None), replace(good, samples={"events": 0.0}),
        replace(good, block=1, started_at="2026-11-21T10:00:03.500+00:00"),
    ]  # fmt: skip
    rows = rows_of(Results(Path(), "", plan, NO_FACTS, NO_RUN, (good, *others)))

    assert [row.start_s for row in rows] == [0.0, 2.0]
    assert rows[0].unit_s == 1 / 2000
    assert rows[0].foreign_delay_s == 0.1
    assert rows[0].part == "pairs"


@pytest.mark.parametrize("variant", ["corrected", "host_cpu"])
def test_recorded_load_hides_three_percent_from_wall_time_but_not_from_accounting(variant):
    trace = read(TRACES / "loaded.csv.gz")
    power = {
        kind: tares(recorded(trace, "cpu", kind, kind), 12, 25).power[0.03]
        for kind in ("wall", variant)
    }

    assert power[variant].pairs <= 11
    assert power[variant].right.value >= 0.9
    assert power["wall"].pairs > 50


# Targets.


@pytest.fixture(scope="module")
def figures():
    names = ("independent", "quiet", "cloud", "harsh, corrected")
    few = {name: tares(NOISE[name], 10, 30) for name in names}
    others = [rivals(rival, NOISE[n], 11, 300) for rival in RIVALS for n in ("quiet", "cloud")]
    return Evidence(few, others)


def test_targets_without_a_recording_are_open_and_not_met(figures):
    judged = {target.name: target for target in targets(figures)}

    assert judged["T3"].met
    assert judged["T4"].met is None
    assert judged["T7"].met is None


def test_fresh_comparisons_are_judged_when_there_are_enough(figures):
    for count, of, met in ((20, 400, True), (60, 400, False), (20, 399, None)):
        found = replace(figures, fresh={"wall time": Share(count, of)})
        judged = {target.name: target for target in targets(found)}
        assert judged["T1, fresh"].met is met
        assert f"{count} of {of}" in judged["T1, fresh"].found
    assert {t.name: t.met for t in targets(figures)}["T1, fresh"] is None


def write_fresh(path, costs):
    """Write comparisons of 30 pairs, of which arm b costs so much by the wall and nothing else."""
    rng = np.random.default_rng(4)
    with gzip.open(path, "wt", newline="") as file:
        print("began,kind,pair,arm,place,wall_s,cpu_s,delay_s", file=file)
        for number, cost in enumerate(costs):
            for pair in range(30):
                for place, arm in enumerate("ab"):
                    cpu_s = 0.1 * math.exp(rng.normal(0, 0.01))
                    delay_s = 0.1 * (cost - 1) if arm == "b" else 0.0
                    row = (number, "cpu", pair, arm, place, cpu_s + delay_s, cpu_s, delay_s)
                    print(*row, sep=",", file=file)


def test_alarms_of_fresh_comparisons_are_counted_by_variant(tmp_path):
    write_fresh(tmp_path / "f.csv.gz", [1.0, 1.0, 1.5, 1.5, 1.5])

    found = fresh.alarms(tmp_path / "f.csv.gz")

    assert found["wall time"] == Share(3, 5)
    assert found["less foreign delay"].count <= 1
    assert found["CPU time"] == found["less foreign delay"]


def test_a_fresh_comparison_without_all_its_pairs_is_refused(tmp_path):
    write_fresh(tmp_path / "f.csv.gz", [1.0])
    lines = gzip.decompress((tmp_path / "f.csv.gz").read_bytes()).decode().splitlines(True)
    with gzip.open(tmp_path / "f.csv.gz", "wt") as file:
        file.writelines(lines[:-1])

    with pytest.raises(ValueError, match="has not 30 pairs"):
        fresh.alarms(tmp_path / "f.csv.gz")


def test_a_missed_target_is_told(figures):
    cloud = figures.tares["cloud"]
    slow = replace(cloud, power={e: replace(p, pairs=50.0) for e, p in cloud.power.items()},
                   always=Share(0, 1000))  # fmt: skip
    missed = replace(figures, tares={**figures.tares, "cloud": slow})
    judged = {target.name: target.met for target in targets(missed)}

    assert judged["T3"] is False
    assert judged["T2"] is False


def test_an_obvious_cost_that_is_called_faster_or_takes_long_is_told(figures):
    cloud = figures.tares["cloud"]
    wrong = replace(cloud.power[0.5], wrong=Share(1, 5000))
    missed = replace(
        figures,
        tares={**figures.tares, "cloud": replace(cloud, power=cloud.power | {0.5: wrong})},
        obvious=[Obvious(14.0, 0.2, 4, 5.0)],
    )
    judged = {target.name: target for target in targets(missed)}

    assert judged["direction"].met is False
    assert "cloud, 50 %: 1 of 5000" in judged["direction"].found
    assert judged["obvious"].met is False
    assert "14 times at a pair SD of 20 %: 5 (asked: 4)" in judged["obvious"].found
    few = {target.name: target.met for target in targets(figures)}
    assert few["direction"] is None  # among so few paths it is not known


@pytest.mark.parametrize("words", [["no/such/folder/x.csv"], ["x.csv", "--minutes", "0"]])
def test_record_noise_refuses_what_cannot_be(words, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    assert main(["record-noise", *words]) == BAD_INPUT
    assert capsys.readouterr().err.startswith("tare: ")
    assert list(tmp_path.iterdir()) == []
