"""What holds for the pairs of any trials, in whatever order and however they ended."""

from dataclasses import fields, replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tare.core.model import Entry, Kind, Status
from tare.results.compare.pairing import histories, pair
from unit.makers import LOSS, RATE, TIME, make_cell, make_plan, make_trial
from unit.properties import PROPERTY

HOST, DOCKER = make_cell("host"), make_cell("host/docker")
CELLS = [HOST, DOCKER]
METRICS = [TIME, RATE, LOSS]
NAMES = st.sampled_from([one.name for one in METRICS])
PLAN = make_plan(*CELLS, metrics=tuple(METRICS))
VALUES = st.one_of(st.sampled_from([0.0, -1.0, float("inf"), float("nan")]), st.floats(1e-9, 1e9))


@st.composite
def trials(draw):
    """Trials of which no two are of one cell, block and kind."""
    places = st.tuples(st.sampled_from(CELLS), st.integers(0, 9), st.sampled_from(Kind))
    return [
        make_trial(
            cell,
            block,
            kind=kind,
            status=draw(st.sampled_from(Status)),
            samples=draw(st.dictionaries(NAMES, VALUES)),
            session=draw(st.sampled_from("12")),
            entry=draw(st.sampled_from([None, *Entry])),
        )
        for cell, block, kind in draw(st.lists(places, unique=True, max_size=30))
    ]


def pairs_of(found, metric, mine=DOCKER, theirs=HOST):
    sides = histories(PLAN, found)
    return pair(sides[mine.id], sides[theirs.id], metric)


def as_text(pairs):
    return {one.name: repr(getattr(pairs, one.name)) for one in fields(pairs)}


@PROPERTY
@given(st.data(), trials(), st.sampled_from(METRICS))
def test_the_order_in_which_trials_were_stored_changes_no_pair(data, found, metric):
    shuffled = data.draw(st.permutations(found))

    assert as_text(pairs_of(shuffled, metric)) == as_text(pairs_of(found, metric))


@PROPERTY
@given(trials(), st.sampled_from(METRICS))
def test_each_block_is_in_one_pair_at_most_and_every_block_is_accounted_for(found, metric):
    pairs = pairs_of(found, metric)
    measured = {
        cell.id: {one.block for one in found if one.cell == cell.id and one.kind is Kind.MEASURED}
        for cell in CELLS
    }

    assert list(pairs.blocks) == sorted(set(pairs.blocks))
    assert set(pairs.blocks) <= measured[HOST.id] & measured[DOCKER.id]
    assert len(pairs.blocks) == len(pairs.log_ratios)
    assert not np.isnan(pairs.log_ratios).any()
    without = (pairs.both_failed, pairs.baseline_missing, pairs.absent)
    counts = (len(pairs.blocks), *without, pairs.apart, pairs.other_entry)
    assert sum(counts) == len(measured[DOCKER.id])


@PROPERTY
@given(trials(), st.sampled_from(METRICS))
def test_the_two_trials_of_a_pair_are_of_one_session_and_all_are_entered_alike(found, metric):
    at = {(one.cell, one.block): one for one in found if one.kind is Kind.MEASURED}
    pairs = [(at[DOCKER.id, block], at[HOST.id, block]) for block in pairs_of(found, metric).blocks]

    assert all(own.session == base.session for own, base in pairs)
    assert len({one.entry is Entry.AGENT for pair in pairs for one in pair}) <= 1


@PROPERTY
@given(trials(), st.sampled_from(METRICS))
def test_the_other_way_round_every_ratio_is_the_inverse(found, metric):
    there, back = pairs_of(found, metric), pairs_of(found, metric, HOST, DOCKER)

    assert there.blocks == back.blocks
    assert np.array_equal(there.log_ratios, -back.log_ratios)
    assert (there.failed, there.zeros) == (back.baseline_failed, back.baseline_zeros)


@PROPERTY
@given(trials(), st.sampled_from(METRICS))
def test_a_block_that_failed_when_it_was_measured_again_counts_as_before(found, metric):
    good = [one for one in found if one.status is Status.OK]
    again = [replace(one, status=Status.FAILED, samples={}) for one in good]

    assert as_text(pairs_of([*found, *again], metric)) == as_text(pairs_of(found, metric))
