"""What is better than it can be, and each cause checked: shown, clean, or not known."""

from dataclasses import replace

import pytest

from tare.core.model import Better, DiskCache, FileAccess, HostCost, Limits, Metric, Unit, Variant
from tare.present.view.causes import _WORDS, LOOKS
from tare.present.view.flags import flag_texts
from tare.results.checks.causes import CauseKind, Look, cause
from tare.results.compare.flag import FlagKind
from tare.results.store import facts_of
from tare.results.study import compare
from tare.work.workload import TOOL_DURATION
from unit.makers import make_cell, make_plan, make_trial

THROUGHPUT = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)
LATENCY = Metric("latency", Unit.SECOND, Better.LOWER)
RATE = 100.0 * 2**20
ALIKE = {
    "sha256.fio": "1", "sha256.libc.so.6": "2", "cpu_flags": "aes fpu", "thp": "never",
    "huge_pages": 0, "cpus_allowed": 1, "governor": "performance", "weaknesses_known": 2,
    "mitigation.meltdown": "PTI", "filesystem": "ext4", "o_direct": True,
}  # fmt: skip
GOOD_CLOCK = {"low": -1e-5, "high": 1e-5, "over_s": 3.0}


def cell(platform, *, replica=0, access=FileAccess.DIRECT, cache=DiskCache.NONE):
    limits = Limits(cpus=1, memory_bytes=2**30, disk_cache=cache)
    return make_cell(platform, workload="fio", limits=limits, replica=replica, file_access=access)


HOST, CONTROL, VM = cell("host"), cell("host", replica=1), cell("host/qemu")
CELLS = (HOST, CONTROL, VM)


def plan(cells=CELLS, baseline="host", metrics=(THROUGHPUT, TOOL_DURATION)):
    return make_plan(*cells, baseline=baseline, metrics=metrics, max_blocks=11)


def trials(of, factor=1.0, *, moved=1.0, tool_s=1.0, wall_s=1.05, blocks=11, **samples):
    """Trials whose throughput is a factor of the usual, with a small regular wobble."""
    made = []
    for block in range(blocks):
        rate = factor * RATE * (1 + 0.001 * ((block * (2 if of.replica else 3)) % 5 - 2))
        disk = {} if moved is None else {"disk_read_bytes": moved * rate * tool_s}
        made.append(
            make_trial(
                of,
                block,
                duration_s=wall_s,
                samples={"throughput": rate, "tool_duration": tool_s, **samples},
                noise={**disk, "disk_written_bytes": 0.0} if disk else {},
            )
        )
    return made


def facts(here=None, there=None, clock=GOOD_CLOCK):
    return {
        "platforms": {
            "host": {"preconditions": ALIKE | (there or {}), "clock": {}},
            "host/qemu": {"preconditions": ALIKE | (here or {}), "clock": clock},
        }
    }


def verdict(
    vm, stored=None, host=None, control=None, cells=CELLS, metrics=(THROUGHPUT, TOOL_DURATION)
):
    """The sentence on the VM's row, empty if there is none."""
    every = [*(host or trials(cells[0])), *vm]
    every += trials(CONTROL) if control is None else control
    found = compare(plan(cells, metrics=metrics), every, facts_of(stored or {}))
    (row,) = (one for one in found.comparisons if one.cell is cells[-1] and one.primary)
    return next((flag for flag in flag_texts(row.flags) if flag.startswith("IMPLAUSIBLE")), "")


def test_what_nothing_explains_says_what_was_checked():
    said = verdict(trials(VM, 1.3), facts())

    assert said == (
        "IMPLAUSIBLE: faster than its baseline, and by more than the noise floor. UNEXPLAINED "
        "(checked: A/A control, clock inside, tool and library versions, CPU flags, page cache, "
        "O_DIRECT and cache mode, huge pages, CPUs and limits, mitigations, filesystem, work done)."
    )


def test_without_facts_little_is_known_and_that_is_said():
    said = verdict(trials(VM, 1.3, moved=None, wall_s=1.5), control=[])

    checked, unknown = said.split("not known here: ")
    assert "UNEXPLAINED" in checked
    assert unknown == (
        "A/A control, clock inside, tool and library versions, CPU flags, page cache, "
        "O_DIRECT and cache mode, huge pages, CPUs and limits, mitigations, filesystem)."
    )


def test_every_cause_and_every_look_has_words():
    assert set(_WORDS) == set(CauseKind)
    assert set(LOOKS) == set(Look)


def test_a_cause_is_a_kind_with_its_numbers():
    every = [*trials(HOST), *trials(VM, 1.3), *trials(CONTROL)]
    found = compare(plan(), every, facts_of(facts(here={"cpus_allowed": 2}))).comparisons
    row = next(one for one in found if one.cell is VM and one.primary)

    (implausible,) = (one for one in row.flags if one.kind is FlagKind.IMPLAUSIBLE)
    assert implausible.values["causes"] == (cause(CauseKind.OTHER_CPUS, here=2, there=1),)


@pytest.mark.parametrize("factor", [1.0, 0.8])
def test_nothing_is_said_of_what_is_not_faster(factor):
    assert verdict(trials(VM, factor), facts()) == ""


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"here": {"sha256.fio": "9"}}, "fio inside is not the baseline's"),
        ({"here": {"o_direct": False}}, "its filesystem refuses O_DIRECT"),
        ({"here": {"cpus_allowed": 2}}, "it may use 2 CPUs, the baseline 1"),
        ({"there": {"cpu_quota": 0.5}}, "its CPU quota is none, the baseline's 0.5"),
        ({"here": {"filesystem": "tmpfs"}}, "its files lie in memory (tmpfs)"),
        ({"clock": {"low": -0.31, "high": -0.22}}, "its clock runs at least 22 % slow"),
    ],
)
def test_what_the_facts_show_explains(change, cause):
    said = verdict(trials(VM, 1.3), facts(**change))

    assert said.endswith(f"EXPLAINED ({cause}).")


@pytest.mark.parametrize(
    ("here", "hint"),
    [
        ({"thp": "always"}, "thp always (never there)"),
        ({"cpu_flags": "aes avx2 fpu"}, "CPU flags only here: avx2"),
        ({"mitigation.meltdown": "Vulnerable"}, "other mitigations (meltdown)"),
        ({"governor": "schedutil"}, "governor schedutil (performance there)"),
        ({"filesystem": "xfs"}, "filesystem xfs (ext4 there)"),
        ({"disk_cache": "writeback"}, "the host caches its disk (writeback)"),
    ],
)
def test_what_only_differs_is_no_explanation(here, hint):
    said = verdict(trials(VM, 1.3), facts(here=here))

    assert f"UNEXPLAINED (differs and may be why: {hint}; checked: " in said


def test_bytes_that_no_disk_moved_explain():
    said = verdict(trials(VM, 1.3, moved=0.11), facts())

    moved = "the host's disks moved 11 % of the bytes claimed, of the baseline's 100 %"
    assert said.endswith(f"EXPLAINED ({moved}).")


def test_a_baseline_that_was_cached_as_well_explains_nothing():
    cached = trials(HOST, moved=0.1)

    assert "page cache" in verdict(trials(VM, 1.3, moved=0.1), facts(), cached).split("checked")[1]


def test_a_control_that_differs_explains():
    control = trials(CONTROL, 0.9)  # its cost makes a floor of its own, so the gain is larger

    assert "EXPLAINED (the baseline differs from itself: its control has 1.11 times" in verdict(
        trials(VM, 1.5), facts(), control=control
    )


def test_a_clock_is_clean_by_the_trials_where_the_session_was_too_short():
    short = {"low": -0.5, "high": 0.5, "over_s": 1.0}

    said = verdict(trials(VM, 1.3), facts(clock=short))
    assert "clock inside" in said.split("checked: ")[1].split("not known")[0]
    said = verdict(trials(VM, 1.3, wall_s=1.5), facts(clock=short))
    assert "not known here: clock inside" in said


def test_a_clock_that_is_a_little_slow_explains_no_large_gain():
    said = verdict(trials(VM, 1.3), facts(clock={"low": -0.02, "high": -0.01}))

    assert "UNEXPLAINED" in said


def test_a_trial_that_ended_early_explains():
    said = verdict(trials(VM, 1.3, tool_s=0.3, wall_s=0.32), facts())

    assert "EXPLAINED (its trials did 39 % of the baseline's work)" in said


def test_work_that_is_not_on_files_needs_no_disk():
    host, vm = (cell(name, access=FileAccess.NONE) for name in ("host", "host/qemu"))
    said = verdict(trials(vm, 1.3, moved=None), facts(), trials(host, moved=None), [], (host, vm))

    assert "not known here: A/A control)" in said


def test_latency_is_judged_too_and_has_no_work():
    host = trials(HOST, latency=1.0)
    vm = trials(VM, latency=0.5)
    control = trials(CONTROL, latency=1.0)

    said = verdict(vm, facts(), host, control, metrics=(LATENCY, THROUGHPUT, TOOL_DURATION))
    assert said.endswith("not known here: work done).")


def test_fewer_layers_may_be_faster():
    docker, qemu, host = cell("host/docker"), cell("host/qemu"), cell("host")
    cells = (docker, qemu, host)
    every = [*trials(docker), *trials(qemu, 1.3), *trials(host, 1.3)]
    found = compare(plan(cells, baseline="host/docker"), every).comparisons
    flagged = {
        row.cell.stack: "IMPLAUSIBLE" in " ".join(flag_texts(row.flags))
        for row in found
        if row.primary
    }

    assert flagged == {"host/qemu": True, "host": False}


def test_every_variant_of_a_metric_is_judged_beside_its_own_control():
    cost = HostCost(cpu_s=1.0, run_delay_s=0.0, all_cpu_s=1.0, coverage=1.0, threads=1)

    def accounted(of, factor=1.0):
        return [replace(one, duration_s=1.05, noise={}, host=cost) for one in trials(of, factor)]

    every = [*accounted(HOST), *accounted(CONTROL), *accounted(VM, 1.3)]
    rows = [one for one in compare(plan(), every, facts_of(facts())).comparisons if one.cell is VM]

    assert {row.variant for row in rows} >= {Variant.WALL, Variant.HOST_CPU}
    assert all(
        "not known here: A/A control" not in flag for row in rows for flag in flag_texts(row.flags)
    )


@pytest.mark.parametrize(
    "broken", [{"preconditions": 3, "clock": []}, {"preconditions": {"cpus_allowed": "x"}}, 7]
)
def test_facts_of_any_shape_are_only_not_known(broken):
    said = verdict(trials(VM, 1.3), {"platforms": {"host/qemu": broken, "host": broken}})

    assert "UNEXPLAINED" in said
