"""Why a workload suffers from a neighbour: which of its own counters grew, by mechanism."""

from dataclasses import replace

import numpy as np
import pytest

from tare.core.model import HostCost, Neighbour, Part, Status
from tare.present.report import describe
from tare.present.view.mechanisms import mechanism_lines, mechanism_rows
from tare.results.questions.explanation import explanations
from tare.results.questions.mechanism import Mechanism, suffered
from tare.results.questions.own_part import own_trials, waited_s
from tare.results.study import compare
from unit.disturbed import disturbed
from unit.makers import make_cell, make_trial

CPU = Neighbour(stressor="cpu")
HOST = HostCost(
    cpu_s=0.5, run_delay_s=0.01, all_cpu_s=0.5, coverage=1.0, threads=1, workers=1, throttled_s=0.0
)


def part(name, **resources):
    return Part(name=name, instance="a", status=Status.OK, resources=resources)


def met(noise=None, resources=None, cost=2.0, **host):
    """A study in which the workload met something next to its neighbour, as (alone, with) each.

    A unit of work takes the same CPU time unless another is given: of half the units half as much.
    """
    rng = np.random.default_rng(2)

    def pick(values, neighbour):
        value = values[neighbour is not None]
        return value * rng.normal(1, 0.01)

    def change(trial, neighbour):
        every = {"run_delay_s": (0.01, 0.01), "all_cpu_s": (0.5, 0.5 / cost), **host}
        found = replace(HOST, **{name: pick(both, neighbour) for name, both in every.items()})
        own = {name: pick(both, neighbour) for name, both in (resources or {}).items()}
        own.setdefault("layer_cpu_s", found.all_cpu_s)
        parts = () if neighbour is None else (part("command", **own), part("neighbour1", x=9.0))
        return replace(
            trial,
            host=found,
            noise={name: pick(both, neighbour) for name, both in (noise or {}).items()},
            resources=own if neighbour is None else {},
            parts=parts,
        )

    return disturbed({"host": {CPU: cost}}, change=change)


def mechanisms(results):
    found = compare(results.plan, results.trials)
    (one,) = suffered(explanations(found.estimates, found.comparisons))
    return [mechanism for mechanism, _ in one.found]


def test_waiting_for_a_cpu_that_the_neighbour_has_is_told():
    assert mechanisms(met(run_delay_s=(0.01, 0.5))) == [Mechanism.WAITED]


def test_a_quota_is_not_taken_for_the_neighbour():
    """The kernel counts throttled time as delay too: 0.5 s of 0.51 s of delay are the quota's."""
    found = met(run_delay_s=(0.0101, 0.51), throttled_s=(0.0, 0.5))
    assert mechanisms(found) == [Mechanism.THROTTLED]


def test_both_are_told_where_both_grew_the_larger_first():
    found = met(run_delay_s=(0.01, 0.6), throttled_s=(0.001, 0.2))
    assert mechanisms(found) == [Mechanism.WAITED, Mechanism.THROTTLED]


def test_more_cpu_time_for_the_same_work_is_what_shared_hardware_costs():
    assert mechanisms(met(all_cpu_s=(1.0, 0.5))) == []
    # A trial of the same length does half the work: the same CPU time is twice as much for each.
    found = met(all_cpu_s=(1.0, 1.0), resources={"layer_cache_misses": (100.0, 900.0)})
    assert mechanisms(found) == [Mechanism.SLOWED, Mechanism.CACHE]


def test_memory_and_device_are_told_by_pressure_faults_and_the_disk():
    found = met(noise={"psi_memory_some": (0.0001, 0.4)}, resources={"layer_major_faults": (1, 80)})
    assert mechanisms(found) == [Mechanism.MEMORY]
    assert mechanisms(met(noise={"disk_busy_share": (0.05, 0.9)})) == [Mechanism.DEVICE]


def test_what_grew_by_next_to_nothing_of_the_time_lost_is_no_mechanism():
    """From 1 us to 50 us a unit is fifty times as much, and nothing of 10 ms."""
    assert mechanisms(met(run_delay_s=(0.0001, 0.005))) == []


def test_where_nothing_is_slower_no_mechanism_is_told():
    assert mechanisms(met(cost=1.0, run_delay_s=(0.01, 0.5))) == []


def test_the_counters_of_the_neighbour_are_not_those_of_the_workload():
    cell = make_cell("host", params=CPU.params)
    parts = [
        part("client", layer_cpu_s=1.0, host_disk_reads=7.0),
        part("server", layer_cpu_s=2.0, host_disk_reads=7.0, layer_x=1.0),
        part("neighbour1", layer_cpu_s=100.0, host_disk_reads=7.0),
    ]
    (found,) = own_trials([make_trial(cell, parts=tuple(parts))], cell)
    # What only one of two parts has is not known of both.
    assert found.resources == {"layer_cpu_s": 3.0, "host_disk_reads": 7.0}


def test_waiting_leaves_out_a_quota_and_is_not_known_of_threads_that_ended_unseen():
    assert waited_s(replace(HOST, run_delay_s=0.6, throttled_s=0.2), 1) == pytest.approx(0.4)
    # Four threads on one CPU are each held for as long as it is, on four CPUs each by its own.
    held = replace(HOST, run_delay_s=20.0, throttled_s=3.0, workers=4)
    assert waited_s(held, 1) == pytest.approx(8.0)
    assert waited_s(replace(held, throttled_s=12.0), 4) == pytest.approx(8.0)
    assert waited_s(replace(HOST, run_delay_s=0.4, coverage=0.8), 1) == pytest.approx(0.5)
    cell = make_cell("host")
    (unseen,) = own_trials([make_trial(cell, host=replace(HOST, coverage=0.3))], cell)
    assert unseen.resources == {"layer_throttled_s": 0.0}


def test_it_is_said_in_plain_words_with_both_medians():
    found = describe(met(run_delay_s=(0.01, 0.5)))
    ((platform, neighbour, _, text, name),) = mechanism_lines(found)
    assert (platform, neighbour, name) == ("host", "cpu", "spin")
    assert text.startswith("waited for a CPU (")
    assert " → " in text
    (row,) = mechanism_rows(found)
    (one,) = row["mechanisms"]
    assert (one["mechanism"], one["counter"]) == ("waited", "layer_run_delay_s")
    assert one["with_neighbour"] / one["alone"] == pytest.approx(100, rel=0.1)


def test_where_nothing_was_ever_read_there_are_no_lines_and_the_data_say_why():
    found = describe(disturbed({"host": {CPU: 2.0}}))
    assert mechanism_lines(found) == []
    (row,) = mechanism_rows(found)
    assert row["text"].startswith("not known: ")
    assert row["mechanisms"] == row["watched"] == []
