"""The one thread that reads while trials run: what is due is called, and no more once it ended."""

import math
import os
import threading

import pytest

from tare.experiment.probes.scheduler import Scheduler

PATIENCE_S = 10.0


@pytest.fixture
def scheduler():
    return Scheduler()


class Calls:
    """Counts its calls, and lets a test wait for them."""

    def __init__(self, wait_s=0.0):
        self.count, self.wait_s, self.came = 0, wait_s, threading.Semaphore(0)

    def __call__(self):
        self.count += 1
        self.came.release()
        return self.wait_s

    def wait(self):
        assert self.came.acquire(timeout=PATIENCE_S), "it was not called"


def test_what_is_due_is_called_again_and_again_until_it_ends(scheduler):
    calls = Calls()
    scheduled = scheduler.begin(calls, 0.0)
    for _ in range(5):
        calls.wait()

    scheduler.end(scheduled)

    count = calls.count
    other = Calls()
    scheduler.begin(other, 0.0)
    other.wait()
    assert calls.count == count


def test_what_is_due_sooner_is_not_kept_waiting_by_what_came_first(scheduler):
    late, soon = Calls(), Calls(math.inf)
    scheduler.begin(late, 1e6)
    scheduler.begin(soon, 0.0)

    soon.wait()

    assert late.count == 0


def test_all_beats_share_one_thread_that_stays(scheduler):
    before = threading.active_count()
    for _ in range(3):
        calls = [Calls(), Calls()]
        scheduled_calls = [scheduler.begin(one, 0.0) for one in calls]
        for one in calls:
            one.wait()
        for scheduled in scheduled_calls:
            scheduler.end(scheduled)
    assert threading.active_count() == before + 1


def test_the_end_waits_for_a_call_that_is_under_way(scheduler):
    entered, leave, ended = (threading.Event() for _ in range(3))

    def slow():
        entered.set()
        leave.wait(PATIENCE_S)
        return math.inf

    scheduled = scheduler.begin(slow, 0.0)
    assert entered.wait(PATIENCE_S)
    ending = threading.Thread(target=lambda: (scheduler.end(scheduled), ended.set()))
    ending.start()

    assert not ended.is_set()
    leave.set()
    assert ended.wait(PATIENCE_S)
    ending.join()


def test_what_one_raises_is_raised_at_its_end_and_stops_no_other(scheduler):
    def fails():
        raise ZeroDivisionError

    other = Calls()
    broken, works = scheduler.begin(fails, 0.0), scheduler.begin(other, 0.0)
    other.wait()
    other.wait()

    with pytest.raises(ZeroDivisionError):
        scheduler.end(broken)
    scheduler.end(works)


def test_the_thread_runs_where_whoever_began_last_runs(scheduler):
    everything = os.sched_getaffinity(0)
    seen = []

    def looks():
        seen.append(os.sched_getaffinity(0))
        came.release()
        return math.inf

    came = threading.Semaphore(0)
    for cpus in (everything, {max(everything)}, everything):
        os.sched_setaffinity(0, cpus)
        try:
            scheduled = scheduler.begin(looks, 0.01)
            assert came.acquire(timeout=PATIENCE_S)
        finally:
            os.sched_setaffinity(0, everything)
        scheduler.end(scheduled)

    assert seen == [everything, {max(everything)}, everything]
