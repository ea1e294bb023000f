"""The first sentence: exact about what is decided and what is not, on invented results."""

from dataclasses import replace

import pytest

from tare.core.model import NO_RUN, Status
from tare.present.report import describe
from tare.present.view.finding import USEFUL_BOUND, finding
from tare.present.view.names import plain_names
from tare.present.view.speed import speed_text, standing_text
from tare.results.questions.allocation import Standing
from tare.results.stats.sequential import Verdict
from unit.invented import Study, noisy
from unit.makers import make_cell, make_plan

DOCKER, QEMU, NESTED = "host/docker", "host/qemu-tcg", "host/qemu-tcg/docker"


def said(noise=0.003, platforms=(DOCKER,), **costs):
    """The finding of a study with these costs of each platform by workload."""
    study = Study(["host", *platforms])
    for workload, of in costs.items():
        study.add(workload, noisy(dict(zip(platforms, of, strict=True)), noise=noise))
    return finding(study.found())


def test_a_container_that_is_the_same_costs_nothing_and_machines_are_times_slower():
    sentence = said(platforms=(DOCKER, QEMU, NESTED), cpu=(1, 3.1, 3.4), fio=(1, 14.6, 15.4))
    bound, rest = sentence.split(" %); ")
    before, _, most = bound.rpartition(" ")
    assert before == "On this host a Docker container costs nothing that can be measured (at most"
    assert 0 < float(most) < 2
    assert rest == (
        "an emulated virtual machine and a Docker container in an emulated virtual machine are "
        "3.1 to 15 times slower."
    )


def test_what_is_undecided_is_claimed_of_nothing_but_its_bound():
    sentence = said(noise=0.1, cpu=(1,), fio=(1,))
    assert sentence.startswith(
        "On this host whether a Docker container costs anything is undecided (at most "
    )
    assert sentence.endswith(" % slower).")
    assert sentence.count("slower") == 1
    assert "faster" not in sentence


def test_an_interval_that_bounds_nothing_is_not_printed_as_a_bound():
    """Three pairs that lie far apart had a container cost up to 47 thousand million times."""
    study = Study(["host", DOCKER], blocks=3).add("cpu", noisy({}, noise=3.0))
    row = next(one for one in study.found().headline if not one.is_control)
    assert row.high > USEFUL_BOUND

    assert finding(study.found()) == (
        "On this host whether a Docker container costs anything is undecided (too few pairs yet to "
        "bound it)."
    )


def test_without_an_interval_there_is_no_bound():
    study = Study(["host", DOCKER], blocks=2).add("cpu", noisy({}))
    assert finding(study.found()) == (
        "On this host whether a Docker container costs anything is undecided."
    )


def test_workloads_that_are_decided_are_named_where_others_are_not():
    quiet, loud = noisy({DOCKER: 1.3}, noise=0.003), noisy({}, noise=0.1)
    study = Study(["host", DOCKER]).add("fio", quiet).add("cpu", loud)
    sentence = finding(study.found())
    assert sentence.startswith(
        "On this host a Docker container is 30 % slower on fio and undecided on cpu (at most "
    )


def test_what_is_faster_is_said_to_be():
    assert said(cpu=(0.7,), fio=(0.9,)) == "On this host a Docker container is 10 to 30 % faster."
    assert said(cpu=(0.25,)) == "On this host a Docker container is 4 times faster."


def test_small_costs_and_large_ones_have_clauses_of_their_own():
    sentence = said(platforms=(DOCKER, QEMU), cpu=(1.05, 2.0), fio=(1.09, 14.6))
    assert sentence == (
        "On this host a Docker container is 4.9 to 8.9 % slower; "
        "an emulated virtual machine is 2 to 15 times slower."
    )


@pytest.mark.parametrize(
    ("given", "clause"),
    [
        ((Status.UNAVAILABLE, "no KVM"), "a KVM virtual machine cannot run here."),
        ((Status.FAILED, "exit 1"), "a KVM virtual machine failed and was not measured."),
        ((Status.DNR, "too late"), "a KVM virtual machine failed and was not measured."),
        (None, "a KVM virtual machine was not measured yet."),
    ],
)
def test_what_has_no_number_is_said_to_have_none_and_why(given, clause):
    values = noisy({DOCKER: 2.0}, noise=0.003)
    study = Study(["host", DOCKER, "host/kvm"])
    study.add("cpu", lambda name, block: given if name == "host/kvm" else values(name, block))
    assert finding(study.found()) == f"On this host a Docker container is 2 times slower; {clause}"


def test_a_study_that_goes_on_says_so_far():
    found = Study(["host", DOCKER]).add("cpu", noisy({DOCKER: 2.0}, noise=0.003)).found()
    found = describe(replace(found.results, run=NO_RUN))
    assert finding(found) == "So far, on this host a Docker container is 2 times slower."


def test_numbers_that_are_not_trusted_begin_with_that():
    values = noisy({DOCKER: 2.0}, noise=0.003)
    study = Study(["host", DOCKER]).add("cpu", values)
    control = next(cell.id for cell in study.cells if cell.replica)
    study.trials = [
        replace(trial, samples={"events": trial.samples["events"] / 1.5})
        if trial.cell == control
        else trial
        for trial in study.trials
    ]
    assert finding(study.found()) == (
        "Not to be trusted, for the control differs from itself: on this host a Docker container "
        "is 2 times slower."
    )


def test_another_baseline_is_named():
    study = Study([DOCKER, "host"], baseline=DOCKER)
    study.add("cpu", noisy({DOCKER: 1.25}, noise=0.003))
    assert finding(study.found()) == (
        "Compared with a Docker container, the host itself is 20 % faster."
    )


def test_a_plan_that_compares_nothing_says_so():
    study = Study(["host"]).add("cpu", noisy({}))
    assert finding(study.found()).startswith("Nothing is compared")


def test_of_many_platforms_the_number_is_given():
    names = [f"host/docker/{n}" for n in range(6)]
    sentence = said(platforms=tuple(names), cpu=(2, 3, 4, 5, 6, 7))
    assert sentence == "On this host 6 platforms are 2 to 7 times slower."


def test_platforms_of_one_stack_and_of_unknown_layers_keep_their_names():
    cells = [
        make_cell("host"),
        make_cell("plain", stack="host/docker"),
        make_cell("volume", stack="host/docker"),
        make_cell("odd", stack="host/own"),
        make_cell("deep", stack="host/kvm/lxc"),
    ]
    assert plain_names(make_plan(*cells)) == {
        "host": "the host itself",
        "plain": "plain",
        "volume": "volume",
        "odd": "odd",
        "deep": "an LXC container in a KVM virtual machine",
    }


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (14.62, "15 times slower"), (3.14, "3.1 times slower"), (1.5, "1.5 times slower"),
        (1.49, "49 % slower"), (1.031, "3.1 % slower"), (0.9, "10 % faster"),
        (0.5, "2 times faster"), (1234.0, "1,234 times slower"),
    ],
)  # fmt: skip
def test_costs_are_said_with_two_digits(cost, text):
    assert speed_text(cost) == text


@pytest.mark.parametrize(
    ("verdict", "decided", "cost", "width", "text"),
    [
        (Verdict.SLOWER, True, 14.6, 0.5, "14.6x slower, decided"),
        (Verdict.FASTER, True, 0.5, 0.1, "2x faster, decided"),
        (Verdict.SLOWER, True, 1.09, 0.02, "9 % slower, decided"),
        (Verdict.SLOWER, False, 1.09, 0.02, "9 % slower, likely"),
        (Verdict.SAME, True, 1.001, 0.01, "no difference beyond 2 %, decided"),
        (Verdict.UNDECIDED, False, 1.01, 0.06, "1 % slower so far, undecided (known within 6.2 %)"),
        (Verdict.UNDECIDED, False, 0.5, 1.0,
         "2x faster so far, undecided after 4 pairs"),
        (Verdict.UNDECIDED, True, 1.01, 0.01,
         "1 % slower so far, precise enough (known within 1 %)"),
        (Verdict.SLOWER, True, None, None, "slower, decided"),
    ],
)  # fmt: skip
def test_progress_says_how_a_comparison_stands(verdict, decided, cost, width, text):
    standing = Standing(
        pairs=4, decided=decided, rests=decided, needed=8.0, half_width=width, verdict=verdict,
        cost=cost,
    )  # fmt: skip
    assert standing_text(standing, 0.02) == text
