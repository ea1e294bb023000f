"""Two result sets of one study: changes worked out by hand, and what cannot be compared."""

import json
import math
import shutil
from dataclasses import replace
from itertools import count

import pytest

from tare import cli
from tare.core.model import Better, Design, Status, Variant
from tare.present.view.between import ends_text, what_text
from tare.present.view.flags import flag_texts
from tare.present.view.reasons import reason_text
from tare.results.questions.between import Word, between
from tare.results.stats.independent import weighted_sum
from tare.results.stats.signed_rank import Interval
from tare.results.stats.values import Estimated
from tare.results.store import facts_of
from tare.results.study import result_set
from unit.makers import LIMITS, RATE, TIME, again, make_cell, make_plan, make_trial, store

BLOCKS = 8
SESSIONS = count()


def cell_of(platform, **others):
    is_base = platform == "base"
    given = {
        "stack": "host" if is_base else "host/docker",
        "settings": () if is_base else (("docker.network", platform),),
        "params": (("size_bytes", 64),),
    }
    return make_cell(platform, **given | others)


BASE, DEAR = cell_of("base"), cell_of("dear")


def trial_of(cell, block, log, instance="abc-0", metric=TIME):
    """A trial whose cost is exp(log)."""
    value = math.exp(log if metric.better is Better.LOWER else -log)
    return make_trial(cell, block, instance=instance, duration_s=1.0, samples={metric.name: value})


def make_side(costs, *, wobble=0.0, host=0.0, metric=TIME, facts=None, blocks=BLOCKS, **repetition):
    """Results of a session, in which each cell has its cost: the log goes ``wobble`` up and down.

    The first cell is the baseline, which does not wobble; ``host`` is added to all logs.
    """
    cells = tuple(costs)
    repetition = {"max_blocks": BLOCKS, "instances": 1} | repetition
    plan = make_plan(*cells, metrics=(metric,), **repetition)
    instance = f"{next(SESSIONS):06x}-0"
    trials = [
        trial_of(
            cell,
            block,
            host + math.log(cost) + (cell.platform != cells[0].platform) * wobble * (-1) ** block,
            instance,
            metric,
        )
        for block in range(blocks)
        for cell, cost in costs.items()
    ]
    return result_set(
        plan, trials, facts_of({"host": {"kernel": "6.1"}} if facts is None else facts)
    )


def changed(results, **given):
    """Results with another plan or other trials, compared anew."""
    one = replace(results, **given)
    return result_set(one.plan, one.trials, one.facts)


def of(found, cell):
    return next(row for row in found.rows if row.cell == cell)


# Numbers


def refused(row):
    """Word why a cell cannot be compared."""
    return tuple(map(reason_text, row.refused))


def why_nothing(a, b):
    """Word why no cell of two sides can be compared."""
    return "; ".join(map(reason_text, between(a, b).why_nothing))


def test_arms_are_squared_and_added_each_way_by_itself():
    one, other = Estimated(10.0, Interval(9.0, 12.0)), Estimated(4.0, Interval(1.0, 8.0))

    found = weighted_sum(((1.0, one), (-1.0, other)))
    assert found.value == 6
    assert found.interval == pytest.approx((6 - math.hypot(1, 4), 6 + math.hypot(2, 3)))
    halves = weighted_sum(((0.5, one), (0.5, other), (0.0, Estimated(99.0, None))))
    assert halves.value == 7
    assert halves.interval == pytest.approx((7 - math.hypot(0.5, 1.5), 7 + math.hypot(1, 2)))
    assert weighted_sum(((1.0, one), (1.0, Estimated(1.0, None)))).interval is None


def test_the_change_of_a_cost_is_the_ratio_of_two_ratios():
    a = make_side({BASE: 1, DEAR: 1.25}, wobble=0.03)
    b = make_side({BASE: 1, DEAR: 1.5}, wobble=0.04)
    row = of(between(a, b), DEAR)

    # Eight pairs that go up and down by w have the interval -w to w; 3, 4, 5 are a right triangle.
    assert row.cost.ratio == pytest.approx(1.2)
    assert row.cost.low == pytest.approx(1.2 * math.exp(-0.05))
    assert row.cost.high == pytest.approx(1.2 * math.exp(0.05))
    assert row.word is row.cost.word is Word.WORSE
    assert 0 < row.cost.p < 0.01
    assert row.cost.holm_p == row.cost.p


def test_a_faster_host_changes_the_metric_and_not_the_cost():
    a = make_side({BASE: 1, DEAR: 1.25}, wobble=0.001)
    b = make_side({BASE: 1, DEAR: 1.25}, wobble=0.001, host=math.log(0.5))
    found = between(a, b)

    base, dear = of(found, BASE), of(found, DEAR)
    assert base.change.ratio == pytest.approx(0.5)
    assert base.cost is None
    assert base.word is Word.BETTER
    assert (dear.before, dear.after) == (pytest.approx(1.25, rel=1e-3), pytest.approx(0.625, 1e-3))
    assert dear.change.word is Word.BETTER
    assert dear.cost.ratio == pytest.approx(1)
    assert dear.word is Word.SAME


def test_a_rate_that_falls_is_worse():
    a = make_side({BASE: 1, DEAR: 1}, metric=RATE, wobble=0.01)
    b = make_side({BASE: 1, DEAR: 2}, metric=RATE, wobble=0.01)
    row = of(between(a, b), DEAR)

    assert row.after == pytest.approx(0.5, rel=0.02)
    assert row.change.ratio == pytest.approx(2)
    assert row.word is Word.WORSE


def test_what_is_surely_smaller_than_the_margin_is_the_same_and_what_may_be_larger_undecided():
    a = make_side({BASE: 1, DEAR: 1.25}, wobble=0.003)
    same = between(a, make_side({BASE: 1, DEAR: 1.25 * 1.01}, wobble=0.004))
    wide = between(a, make_side({BASE: 1, DEAR: 1.25 * 1.01}, wobble=0.04))
    strict = between(a, make_side({BASE: 1, DEAR: 1.25 * 1.01}, wobble=0.004, margin=0.005))

    # 1 % with arms of 0.5 %: inside 2 %, and surely above 0.
    assert of(same, DEAR).cost.p < 0.05
    assert of(same, DEAR).word is Word.SAME
    assert of(wide, DEAR).word is Word.UNDECIDED
    assert strict.margin == 0.005
    assert of(strict, DEAR).word is Word.WORSE


def test_p_reaches_five_percent_where_the_interval_reaches_zero():
    a = make_side({BASE: 1, DEAR: 1}, wobble=0.03)
    edge = make_side({BASE: 1, DEAR: math.exp(0.05)}, wobble=0.04)

    assert of(between(a, edge), DEAR).cost.p == pytest.approx(0.05)


def test_holm_allows_for_all_changes_of_a_column():
    other = cell_of("other")
    a = make_side({BASE: 1, DEAR: 1, other: 1}, wobble=0.03)
    b = make_side({BASE: 1, DEAR: math.exp(0.055), other: 1}, wobble=0.04)
    found = between(a, b)

    # Arms of 0.03 and 0.04 of eight pairs each have 12.98 degrees of freedom, whose t is 2.161; the
    # change is 1.1 of the arm's 0.05, and p that of t = 2.377.
    alone = of(found, DEAR).cost
    assert alone.p == pytest.approx(0.0335, abs=1e-4)
    assert alone.holm_p == pytest.approx(2 * alone.p)
    assert alone.p < 0.05 < alone.holm_p
    assert alone.word is Word.UNDECIDED
    assert of(found, other).cost.p == 1


def test_instances_that_differ_are_the_replicates():
    a, b = make_side({BASE: 1}), make_side({BASE: 1})
    trials = [trial_of(BASE, n, 0.2 * (n % 2), instance=f"abc-{n % 2}") for n in range(BLOCKS)]
    row = of(between(changed(a, trials=trials), b), BASE)

    # Two means, 0 and 0.2: Student's t of one degree of freedom is 12.706.
    half = 12.7062 * 0.1
    assert row.change.ratio == pytest.approx(math.exp(-0.1))
    assert row.change.low == pytest.approx(math.exp(-0.1 - half), rel=1e-4)
    assert row.change.word is Word.UNDECIDED


def test_too_few_trials_have_a_change_without_an_interval():
    a = make_side({BASE: 1, DEAR: 1.25}, blocks=2)
    b = make_side({BASE: 1, DEAR: 1.5}, blocks=2)
    row = of(between(a, b), DEAR)

    assert row.cost.ratio == pytest.approx(1.2)
    assert (row.cost.low, row.cost.p, row.word) == (None, None, Word.UNDECIDED)
    assert reason_text(row.cost.reason) == "too few trials for an interval"


def test_equal_values_without_any_noise_are_the_same():
    row = of(between(make_side({BASE: 1, DEAR: 2}), make_side({BASE: 1, DEAR: 2})), DEAR)

    assert (row.cost.ratio, row.cost.p, row.word) == (1, 1, Word.SAME)


def test_what_failed_on_one_side_has_no_change_and_is_counted():
    a, b = make_side({BASE: 1, DEAR: 1.25}), make_side({BASE: 1, DEAR: 1.25})
    broken = [
        replace(one, status=Status.FAILED, reason="<script>", samples={})
        if one.cell == DEAR.id
        else one
        for one in b.trials
    ]
    row = of(between(a, changed(b, trials=broken)), DEAR)

    assert row.word is Word.NOT_COMPARABLE
    assert reason_text(row.change.reason) == "B: too many of its trials failed"
    assert "<script>" in reason_text(row.cost.reason)
    assert flag_texts(row.flags) == ("In B: 8 of 8 trials failed.",)
    assert row.refused == (row.change.reason, row.cost.reason)


def test_what_was_unavailable_says_why():
    a, b = make_side({BASE: 1, DEAR: 1.25}), make_side({BASE: 1, DEAR: 1.25})
    never = [
        replace(one, status=Status.UNAVAILABLE, reason="no /dev/kvm", samples={})
        if one.cell == DEAR.id
        else one
        for one in a.trials
    ]
    row = of(between(changed(a, trials=never), b), DEAR)

    assert row.change.reason == row.cost.reason
    assert reason_text(row.cost.reason) == "A: no /dev/kvm"
    assert row.refused == (row.cost.reason,)


def test_a_control_that_differs_takes_the_trust():
    control = again(BASE)
    good = make_side({BASE: 1, DEAR: 1.25})
    bad = make_side({BASE: 1, DEAR: 1.25, control: 1.25})
    found = between(good, bad)

    assert [row.cell for row in found.rows] == [BASE, DEAR]
    assert found.only_in_b == ()
    assert flag_texts(of(found, DEAR).flags)[0].startswith("In B: NOT TRUSTED")


# What is the same, and what cannot be compared


def test_a_platform_is_what_it_is_made_of_and_not_what_it_is_called():
    renamed = replace(DEAR, platform="other name")
    found = between(make_side({BASE: 1, DEAR: 1.25}), make_side({BASE: 1, renamed: 1.25}))

    assert of(found, DEAR).platform_in_b == "other name"
    assert of(found, DEAR).word is Word.SAME


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"params": (("size_bytes", 2**21),)}, "parameter size 64 B in A, 2 MiB in B"),
        (
            {"params": (("size_bytes", 64), ("time_s", 0.5))},
            "parameter time not reported in A, 0.5 s in B",
        ),
        ({"limits": replace(LIMITS, cpus=2)}, "limit cpus 1 in A, 2 in B"),
        (
            {"limits": replace(LIMITS, memory_bytes=3 * 2**29)},
            "limit memory 1 GiB in A, 1,536 MiB in B",
        ),
        ({"settings": ()}, "setting docker.network dear in A, not reported in B"),
        ({"stack": "host/podman"}, "stack host/docker in A, host/podman in B"),
    ],
)
def test_a_cell_that_was_measured_otherwise_is_refused(other, why):
    unlike = replace(DEAR, **other)
    found = between(make_side({BASE: 1, DEAR: 1}), make_side({BASE: 1, unlike: 1}))

    assert refused(of(found, DEAR)) == (f"B measured it otherwise: {why}",)
    assert of(found, DEAR).word is Word.NOT_COMPARABLE
    assert of(found, BASE).refused == ()
    assert found.only_in_b == (unlike,)


def test_a_cell_that_the_other_has_not_is_refused():
    found = between(make_side({BASE: 1, DEAR: 1}), make_side({BASE: 1}))

    assert refused(of(found, DEAR)) == ("B has no spin on dear",)


@pytest.mark.parametrize(
    ("side", "why"),
    [
        (make_side({BASE: 1}, metric=RATE), "its first metric is time (s, lower) in A and rate"),
        (make_side({BASE: 1}, design=Design.DUET), "the design is interleaved in A and duet in B"),
        (make_side({BASE: 1}, variant=Variant.CORRECTED), "A decides by the variant wall, B by"),
        (make_side({cell_of("else"): 1}), "B has no spin on base"),
    ],
)
def test_where_nothing_can_be_compared_the_reason_is_known(side, why):
    assert why in why_nothing(make_side({BASE: 1}), side)


@pytest.mark.parametrize("side", ["a", "b"])
def test_where_no_cell_has_a_number_on_both_sides_the_reason_is_known(side):
    sides = {"a": make_side({BASE: 1, DEAR: 1.25}), "b": make_side({BASE: 1, DEAR: 1.25})}
    sides[side] = changed(sides[side], trials=[])

    assert why_nothing(**sides) == f"{side.upper()}: no trial has been measured yet"


def test_trials_of_a_session_that_is_in_both_are_refused():
    a, b = make_side({BASE: 1, DEAR: 1.25}), make_side({BASE: 1, DEAR: 1.5})
    earlier = changed(a, trials=a.trials[:6])
    resumed = changed(a, trials=[*a.trials, *b.trials])

    of_copy, of_earlier = why_nothing(a, changed(a)), why_nothing(earlier, resumed)
    assert "16 of A's 16 trials and 16 of B's 16 trials were measured in the same" in of_copy
    assert of_copy.endswith(
        "one is a copy or an earlier state of the other, or both go on from one"
    )
    assert of_earlier.startswith("6 of A's 6 trials and 16 of B's 32 trials ")
    assert why_nothing(resumed, b).startswith("16 of A's 32 trials and 16 of B's 16 trials ")


def test_trials_of_which_no_session_is_known_are_not_the_same():
    gone = [
        make_trial(DEAR, block, instance="", status=Status.UNAVAILABLE, reason="no /dev/kvm")
        for block in range(BLOCKS)
    ]
    a, b = make_side({BASE: 1}), make_side({BASE: 1})
    plan = make_side({BASE: 1, DEAR: 1}).plan
    sides = [changed(one, plan=plan, trials=[*one.trials, *gone]) for one in (a, b)]

    assert of(between(*sides), BASE).word is Word.SAME


def test_a_plan_without_cells_is_told():
    empty = make_side({BASE: 1})
    empty = changed(empty, plan=replace(empty.plan, cells=()), trials=[])

    assert why_nothing(empty, make_side({BASE: 1})) == "A has no cell"
    assert why_nothing(make_side({BASE: 1}), empty) == "B has no spin on base"


def inside(userland="u1", fio="aa", **host):
    return {
        "host": {"kernel": "6.1", "load": 0.1, **host},
        "userland": {"id": userland, "versions": {"fio": f"3.{userland}"}, "kernel": "6.1"},
        "platforms": {
            "dear": {
                "probe": {"docker.version": "20.10"},
                "preconditions": {
                    "sha256.fio": fio,
                    "kernel": host.get("kernel", "6.1"),
                    "cpu_flags": "avx sse",
                    "loop_s": 1e-6,
                },
            }
        },
    }


def test_another_userland_is_refused_with_the_packages_that_differ():
    a = make_side({BASE: 1}, facts=inside("33"))

    why = why_nothing(a, make_side({BASE: 1}, facts=inside("36")))
    assert why == "the userland inside is another (fio 3.33 and 3.36)"


def test_another_tool_inside_is_refused_on_its_platform_alone():
    a = make_side({BASE: 1, DEAR: 1}, facts=inside())
    found = between(a, make_side({BASE: 1, DEAR: 1}, facts=inside(fio="bb")))

    assert refused(of(found, DEAR)) == ("the files inside that it measures with are others: fio",)
    assert of(found, BASE).refused == ()


def test_other_baselines_leave_the_metric():
    small, large = cell_of("base"), replace(cell_of("base"), stack="host/podman")
    a = make_side({small: 1, DEAR: 1}, wobble=0.001)
    row = of(between(a, make_side({large: 1, DEAR: 1}, wobble=0.001)), DEAR)

    assert row.change.word is Word.SAME
    assert (
        reason_text(row.cost.reason)
        == "the baselines are not the same: stack host in A, host/podman in B"
    )


def test_what_changed_on_the_host_is_listed_once_and_what_passes_is_not():
    facts = inside(kernel="6.12", smt=True)
    facts["host"]["load"] = 9.0
    facts["platforms"]["dear"]["probe"] = {"docker.version": "24.0"}
    facts["platforms"]["dear"]["preconditions"]["cpu_flags"] = "avx vmx"
    facts["platforms"]["dear"]["preconditions"]["loop_s"] = 2e-6
    a = make_side({BASE: 1, DEAR: 1}, facts=inside())
    found = between(a, make_side({BASE: 1, DEAR: 1}, facts=facts))

    assert [(what_text(one), *ends_text(one)) for one in found.differences] == [
        ("kernel", "6.1", "6.12"),
        ("smt", "not reported", "on"),
        ("dear: docker.version", "20.10", "24.0"),
        ("dear: CPU flags only there", "sse", "vmx"),
    ]
    assert of(found, DEAR).word is Word.SAME


def test_another_peer_is_among_what_differs_where_both_are_known():
    cable, remote = ({"peer": {"stack": stack}} for stack in ("host", "host/ssh"))
    a, b = (make_side({BASE: 1, DEAR: 1}, facts=inside() | peer) for peer in (cable, remote))

    (told,) = between(a, b).differences
    assert (what_text(told), *ends_text(told)) == ("the peer's stack", "host", "host/ssh")
    assert between(a, make_side({BASE: 1, DEAR: 1}, facts=inside())).differences == ()


@pytest.mark.parametrize("facts", [{}, {"host": "x", "platforms": [1], "userland": 3}])
def test_facts_that_are_missing_or_damaged_are_not_known(facts):
    found = between(make_side({BASE: 1}, facts=inside()), make_side({BASE: 1}, facts=facts))

    assert found.differences == ()
    assert "B does not say which userland it ran, so that the tools may be others." in flag_texts(
        found.notes
    )


# The command


def tare(*words):
    return cli.main([*map(str, words)])


@pytest.fixture
def folders(tmp_path):
    gone = cell_of("<script>")
    a = make_side({BASE: 1, DEAR: 1.25, gone: 1}, wobble=0.03, facts=inside())
    b = make_side({BASE: 1, DEAR: 1.5}, wobble=0.04, facts=inside(kernel="6.12"))
    return (
        store(a, tmp_path / "a", inside()),
        store(b, tmp_path / "b", inside(kernel="6.12")),
    )


def test_the_command_prints_what_changed_and_a_verdict_for_each_cell(folders, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert tare("compare", *folders) == 0
    said = capsys.readouterr().out

    assert "kernel: 6.1 \N{RIGHTWARDS ARROW} 6.12" in said
    assert said.index("WHAT CHANGED") < said.index("verdict")
    (line,) = [line for line in said.splitlines() if line.startswith("spin: time  dear")]
    assert line.split()[-1] == "worse"
    assert "+20.0 %" in line
    assert "[+14.1, +26.2] %" in line
    assert "spin on <script>: B has no spin on <script>" in said


def test_a_narrow_terminal_has_the_verdicts_whole(folders, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert tare("compare", *folders) == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if " dear " in one]

    numbers = ["+20.0", "%", "[+14.1,", "+26.2]", "%", "<", "0.001"]
    assert line.split()[-8:] == [*numbers, "worse"]
    assert "\N{HORIZONTAL ELLIPSIS}" not in line


def test_the_command_gives_facts_for_programs(folders, capsys):
    assert tare("compare", *folders, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    base, dear, gone = told["rows"]

    assert base["cost_change"] is None
    assert dear["cost_change"]["ratio"] == pytest.approx(1.2)
    assert dear["verdict"] == "worse"
    assert gone["verdict"] == "not comparable"
    assert gone["refused"] == ["B has no spin on <script>"]
    assert told["differences"] == [{"what": "kernel", "a": "6.1", "b": "6.12"}]


def test_what_is_no_second_result_set_has_status_2(folders, tmp_path, capsys):
    a, b = folders
    (tmp_path / "link").symlink_to(a)
    (tmp_path / "empty").mkdir()
    (b / "plan.json").write_text("{")

    assert tare("compare", a, tmp_path / "link") == 2
    assert "are the same directory" in capsys.readouterr().err
    assert tare("compare", a, tmp_path / "empty") == 2
    assert "is no results directory" in capsys.readouterr().err
    assert tare("compare", a, b) == 2
    assert "plan.json is not understood" in capsys.readouterr().err


def test_what_has_no_number_is_listed_among_what_is_not_comparable(folders, capsys):
    (folders[1] / "trials.jsonl").write_text(
        "".join(
            line
            for line in (folders[1] / "trials.jsonl").read_text().splitlines(keepends=True)
            if DEAR.id not in line
        )
    )
    assert tare("compare", *folders) == 0
    listed = capsys.readouterr().out.partition("NOT COMPARABLE")[2]

    assert "spin on dear: B: no trial has been measured yet\n" in listed.partition("TO BE READ")[0]


def test_where_nothing_is_left_the_directories_and_what_fixes_it_are_named(folders, capsys):
    a, b = folders
    shutil.copytree(a, a.parent / "copy")
    (b / "trials.jsonl").write_text("")

    assert tare("compare", a, a.parent / "copy") == 2
    said = capsys.readouterr().err
    assert f"{a} (A) and {a.parent / 'copy'} (B): nothing in the two can be compared: " in said
    assert "24 of A's 24 trials" in said
    assert "tare run STUDY --into DIR" in said
    assert tare("compare", a, b) == 2
    said = capsys.readouterr().err
    assert f"{a} (A) and {b} (B): " in said
    assert "compared: B: no trial has been measured yet; B has no spin on <script>. " in said
    assert "tare run --resume DIR" in said


# A study that is run


def test_a_study_that_is_run_again_is_the_same_and_a_slower_platform_is_found(lab):
    shared = {"noise": 0.004, "seed": 1}
    platforms = {"base": {"sim": shared}, "dear": {"sim": {**shared, "cost": 1.1}}}
    text = lab.text(platforms, repetition={"min_blocks": 27, "max_blocks": 27, "instances": 5})
    first, again = lab.run(text, seed=1), lab.run(text, seed=2)
    a = result_set(first.plan, first.trials, first.facts)

    def beside(of_dear):
        """The second run on a host that is twice as fast, with another cost of one platform."""
        ids = {cell.id for cell in again.plan.cells if cell.platform == "dear"}
        trials = [
            replace(
                one,
                samples={
                    name: value * 2 / (of_dear if one.cell in ids else 1)
                    for name, value in one.samples.items()
                },
            )
            for one in again.trials
        ]
        return between(a, result_set(again.plan, trials, again.facts))

    base, dear = beside(1.0).rows
    assert (base.word, dear.change.word, dear.word) == (Word.BETTER, Word.BETTER, Word.SAME)
    assert base.change.ratio == pytest.approx(0.5, rel=0.01)
    _, dear = beside(1.05).rows
    assert dear.word is Word.WORSE
    assert dear.cost.low < 1.05 < dear.cost.high
