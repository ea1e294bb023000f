"""What of a trial's wall time is other work's."""

import pytest

from tare.experiment.probes.delay import (
    RECENT,
    SLACK_S,
    Track,
    closed_delay_s,
    foreign_delay_s,
    workers,
)

MS = 1_000_000


def track(cpu_s=0.0, delay_s=0.0, *, lasting=False):
    """A thread of which only sums are known, and which was never blocked."""
    return Track(lasting, last_cpu=round(cpu_s * 1e9), last_delay=round(delay_s * 1e9))


def told(*turns, every=5, lasting=False):
    """A thread that was read every 5 ms of a life of turns: (run, wait or block, ms).

    As the kernel does, a wait is told when it has ended, and here a run too.
    """
    history, now = [(0, 0, 0)], 0
    cpu = delay = 0
    for what, length in turns:
        now += length
        cpu += length if what == "run" else 0
        delay += length if what == "wait" else 0
        history.append((now, cpu, delay))
    found = Track(lasting)
    for at in range(0, now, every):
        _, cpu, delay = max(entry for entry in history if entry[0] <= at)
        found.read(at * MS, cpu * MS, delay * MS)
    return found


def test_only_threads_that_use_the_cpu_are_workers():
    starter, first, second = track(0.05, 0.8), track(0.1, 0.9), track(0.9)

    assert workers([starter, first, second]) == [first, second]
    assert workers([]) == []
    assert workers([track(), track()]) == []


def test_a_thread_that_was_there_before_counts_from_the_first_reading():
    found = Track(True, 3 * MS, 1 * MS)
    found.read(0, 3 * MS, 1 * MS)
    found.read(100 * MS, 43 * MS, 61 * MS)

    assert (found.cpu_s, found.delay_s, found.blocked_s) == (0.04, 0.06, 0.0)


def test_a_thread_that_always_wants_a_cpu_is_never_blocked():
    turns = [("run", 3), ("wait", 14)] * 40
    found = told(*turns)

    assert found.blocked_s == 0.0
    assert found.delay_s < 40 * 0.014  # the last wait is not told


def test_blocked_time_is_found_beside_waiting():
    turns = [("run", 3), ("wait", 4), ("block", 4)] * 60
    found = told(*turns)

    assert found.blocked_s == pytest.approx(60 * 0.004, abs=RECENT * 0.005 * 4 / 11 + 0.005)


def test_the_end_that_nobody_read_follows_from_the_sum():
    turns = [("run", 3), ("wait", 14)] * 40
    only = told(*turns)
    run_s, waited_s = 40 * 0.003, 40 * 0.014

    found = closed_delay_s([only], run_s - only.cpu_s, run_s + waited_s)
    assert found == pytest.approx(waited_s)
    assert closed_delay_s([only], 9.0, run_s + waited_s) == 0.0


def test_a_virtual_cpu_is_looked_at_in_its_tools_time_alone():
    before = [("block", 20), ("run", 10), ("wait", 90)] * 10  # the command is brought to it
    turns = [("run", 3), ("wait", 14)] * 40
    only = told(*before, *turns, lasting=True)

    found = closed_delay_s([only], 9.0, 40 * 0.017)
    assert found == pytest.approx(40 * 0.014, abs=0.02)  # a tick, and a turn at either end


def test_a_virtual_cpu_that_was_blocked_or_not_yet_there_tells_nothing():
    only = told(*[("run", 3), ("wait", 4), ("block", 4)] * 60, lasting=True)

    assert closed_delay_s([only], 0.0, 0.5) is None
    assert closed_delay_s([told(("run", 100), lasting=True)], 0.0, 0.5) is None
    assert closed_delay_s([Track(lasting=True)], 0.0, 0.5) is None


def test_the_sum_tells_nothing_of_blocked_or_several_threads_or_without_the_tools_time():
    blocked = told(*[("run", 3), ("wait", 4), ("block", 4)] * 60)
    busy = told(*[("run", 3), ("wait", 14)] * 40)

    assert closed_delay_s([blocked], 0.0, 60 * 0.011) is None
    assert closed_delay_s([busy, busy], 0.0, 1.0) is None
    assert closed_delay_s([busy], 0.0, None) is None
    assert closed_delay_s([], 0.0, 1.0) is None


def test_foreign_delay_is_what_one_worker_waited():
    assert foreign_delay_s(0.4, 0.0, 0.4, 1) == 0.4
    assert foreign_delay_s(0.4, 0.0, 0.4 - SLACK_S / 2, 1) == 0.4  # ticks are coarse


def test_waiting_that_the_platform_makes_is_not_foreign():
    assert foreign_delay_s(0.4, 0.3, 9.0, 1) == pytest.approx(0.1)  # its quota
    assert foreign_delay_s(0.4, 9.0, 9.0, 1) == 0.0
    assert foreign_delay_s(0.4, 0.0, 0.1, 1) == pytest.approx(0.1 + SLACK_S)  # its own threads
    assert foreign_delay_s(0.4, 0.0, 0.4, 4) == pytest.approx((0.4 + SLACK_S) / 4)


def test_a_platform_that_waits_for_itself_alone_keeps_its_wait():
    assert foreign_delay_s(0.025, 0.0, 0.0, 1) == 0.0
    assert foreign_delay_s(0.025, 0.0, 0.01, 1) == 0.01  # may be an error of counting
