"""What holds for the looks at any comparison, however long it goes on."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tare.results.stats.schedule import all_looks, early_looks, level, looks, sequential_p
from tare.results.stats.sequential import Rule, Stop, Verdict
from unit.properties import PROPERTY

CAPS = st.integers(1, 2000)
RATIOS = st.one_of(st.floats(-0.5, 0.5), st.sampled_from([0.0, float("inf"), -float("inf")]))
P_VALUES = st.lists(st.floats(0, 1), max_size=12)


@st.composite
def courses(draw):
    """A rule, and the log ratios, instances and control of a comparison that grows."""
    cap = draw(st.integers(1, 40))
    size = draw(st.floats(-0.3, 0.3))
    ratios = draw(st.lists(st.floats(-0.05, 0.05).map(size.__add__) | RATIOS, max_size=cap))
    rule = Rule(
        cap=cap,
        minimum=draw(st.integers(1, cap)),
        margin=draw(st.floats(0.001, 0.2)),
        precision=draw(st.none() | st.floats(0.001, 0.2)),
    )
    of_all = {"min_size": len(ratios), "max_size": len(ratios)}
    groups = draw(st.just([]) | st.lists(st.sampled_from("abcdef"), **of_all))
    control = draw(st.none() | st.lists(st.floats(-0.02, 0.02), **of_all))
    return rule, np.array(ratios), groups, None if control is None else np.array(control)


def judge(course, pairs, *, ended=False):
    rule, ratios, groups, control = course
    known = None if control is None else control[:pairs]
    return rule.judge(ratios[:pairs], groups[:pairs], control=known, ended=ended)


def judgements(course):
    """What is known after each pair of a course."""
    return [judge(course, pairs) for pairs in range(len(course[1]) + 1)]


@PROPERTY
@given(CAPS)
def test_looks_grow_up_to_the_cap_and_early_ones_end_where_ranks_begin(cap):
    assert list(all_looks(cap)) == sorted({*early_looks(cap), *looks(cap)})
    assert all(look <= cap for look in all_looks(cap))
    assert looks(cap)[-1:] == ((cap,) if cap >= 8 else ())
    assert all(look <= 8 for look in early_looks(cap))
    assert all(look >= 8 for look in looks(cap))


@PROPERTY
@given(CAPS, CAPS)
def test_more_looks_are_never_less_strict(one, other):
    few, many = sorted((one, other))

    assert 0 < level(many) <= level(few) < 0.05


@PROPERTY
@given(CAPS, P_VALUES, P_VALUES)
def test_p_of_all_looks_is_a_probability_and_no_smaller_than_that_of_any(cap, ranks, early):
    p = sequential_p(ranks, cap, early)

    assert min([1.0, *ranks, *early]) <= p <= 1
    assert all(sequential_p([*ranks, more], cap, early) <= p for more in (0.0, 0.5, 1.0))


@PROPERTY
@given(courses())
def test_a_verdict_is_never_taken_back(course):
    for before, after in pairwise(judgements(course)):
        if before.verdict is not Verdict.UNDECIDED:
            assert (after.verdict, after.stop) == (before.verdict, before.stop)
            assert after.decided_at == before.decided_at
        if before.stop is not Stop.NOT_YET:
            assert after.stop is not Stop.NOT_YET


@PROPERTY
@given(courses())
def test_p_never_grows_while_the_pairs_are_the_replicates(course):
    for before, after in pairwise(judgements(course)):
        assert after.nested or after.p <= before.p
        assert after.nested >= before.nested


@PROPERTY
@given(courses())
def test_nothing_is_decided_before_the_minimum_or_between_looks(course):
    rule = course[0]
    for pairs, judged in enumerate(judgements(course)):
        if judged.decided_at is not None:
            assert min(rule.minimum, rule.cap) <= judged.decided_at <= pairs
            assert judged.decided_at in all_looks(rule.cap)


@PROPERTY
@given(courses())
def test_a_measuring_that_ended_has_a_reason_to_stop(course):
    assert judge(course, len(course[1]), ended=True).stop is not Stop.NOT_YET


@PROPERTY
@given(courses())
def test_the_other_way_round_slower_is_faster(course):
    rule, ratios, groups, control = course
    opposite = {Verdict.SLOWER: Verdict.FASTER, Verdict.FASTER: Verdict.SLOWER}

    there = judge(course, len(ratios))
    back = judge((rule, -ratios, groups, control), len(ratios))

    assert back.verdict == opposite.get(there.verdict, there.verdict)
    assert back.stop is there.stop
