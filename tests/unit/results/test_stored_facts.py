"""The facts stored with results are read into types, whatever of them is missing or damaged."""

import json
from dataclasses import fields

import pytest

from tare.core.model import (
    NO_FACTS,
    ClockSkew,
    DetectedStack,
    DetectedStep,
    NamedValue,
    PlatformFacts,
    Preconditions,
    StoredMismatch,
    UserlandFacts,
)
from tare.results.compare.result_set import ResultSet
from tare.results.store import facts_of, load, read_facts, stored_preconditions
from unit.makers import make_cell, make_plan, store

PLAN = make_plan(make_cell("host"))
DETECTED = [
    {"layer": "unknown", "product": "", "title": "unknown", "evidence": ["it does not show"]},
    {"layer": "docker", "product": "", "title": "Docker", "evidence": ["/.dockerenv", "cgroup"]},
]
STEPS = DetectedStack(
    (
        DetectedStep("unknown", ("it does not show",)),
        DetectedStep("Docker", ("/.dockerenv", "cgroup")),
    )
)
WHOLE = {
    "host": {"kernel": "6.1", "cpus": 2, "smt": False, "detected": DETECTED},
    "noise": ["the load is high"],
    "selftest": {"host": {"cpus": 2}, "said": ["It came out."], "table": [1]},
    "tare": {"version": "0.1.0", "python": "3.11.7"},
    "session": {"cpuset": "1", "seed": 7},
    "platforms": {
        "docker": {
            "stack": "host/docker",
            "settings": {"docker.image": "", "docker.seccomp": True},
            "probe": {"docker.version": "20.10"},
            "inside": {
                "memory_bytes": 1024,
                "disk_cache": None,
                "confinement": {"Seccomp": "2", "limit": 3},
            },
            "detected": DETECTED,
            "preconditions": {
                "clocksource": "tsc",
                "cpus_allowed": 1,
                "mitigation.meltdown": "Mitigation: PTI",
                "sha256.libc.so.6": "22bb",
                "cpu_flags": "fpu sse2",
            },
            "clock": {"low": -1e-6, "high": 0, "over_s": 3.0, "set_s": 0.1},
            "mismatches": [{"about": "clock", "said": "hpet", "workloads": ["fio", "mbw"]}],
            "start_s": [0.5, 1],
            "warnings": ["it is not what was declared"],
        },
        "kvm": {"unavailable": "no /dev/kvm"},
    },
    "userland": {"id": "0123", "versions": {"fio": "3.33"}, "kernel": "6.1", "lacking": {}},
}


def test_everything_that_is_written_is_read():
    facts = facts_of(WHOLE)

    assert facts.host == {"kernel": "6.1", "cpus": 2, "smt": False}
    assert facts.tare == {"version": "0.1.0", "python": "3.11.7"}
    assert (facts.cpuset, facts.noise, facts.selftest) == (
        "1",
        ("the load is high",),
        ("It came out.",),
    )
    assert facts.userland == UserlandFacts(id="0123", versions={"fio": "3.33"}, kernel="6.1")
    assert list(facts.platforms) == ["docker", "kvm"]
    assert facts.platform("kvm") == PlatformFacts(unavailable="no /dev/kvm")
    assert facts.platform("docker") == PlatformFacts(
        settings={"docker.image": "", "docker.seccomp": True},
        probe={"docker.version": "20.10"},
        inside=(
            NamedValue(("memory_bytes",), 1024),
            NamedValue(("disk_cache",), None),
            NamedValue(("confinement", "Seccomp"), "2"),
            NamedValue(("confinement", "limit"), 3),
        ),
        confinement={"Seccomp": "2", "limit": "3"},
        detected=STEPS,
        preconditions=Preconditions(
            values={"clocksource": "tsc", "cpus_allowed": 1},
            files={"libc.so.6": "22bb"},
            mitigations={"meltdown": "Mitigation: PTI"},
            cpu_flags=frozenset({"fpu", "sse2"}),
        ),
        clock=ClockSkew(-1e-6, 0.0),
        mismatches=(StoredMismatch("hpet", ("fio", "mbw")),),
        start_s=(0.5, 1.0),
        warnings=("it is not what was declared",),
    )


def test_preconditions_are_read_as_they_were_written():
    stored = WHOLE["platforms"]["docker"]["preconditions"]
    read = facts_of(WHOLE).platform("docker").preconditions

    assert stored_preconditions(read) == stored
    assert stored_preconditions(Preconditions()) == {}


def test_every_field_of_a_platform_is_read_from_somewhere():
    read = [facts_of(WHOLE).platform(name) for name in WHOLE["platforms"]]

    for field in fields(PlatformFacts):
        nothing = getattr(PlatformFacts(), field.name)
        assert any(getattr(one, field.name) != nothing for one in read), field.name


def test_what_has_no_place_of_its_own_is_kept_to_be_shown_in_the_order_of_the_file():
    stored = {
        "later": {"deep": {"size_bytes": 3}, "empty": {}},
        "session": {"cpus": ["1", None, {"odd": 2}]},
        "plain": "text",
        "nothing": {},
        **{name: WHOLE[name] for name in ("platforms", "noise", "selftest", "host")},
    }
    sections = facts_of(stored).sections

    assert [section.name for section in sections] == ["later", "session", "plain", "host"]
    assert [section.values for section in sections[:3]] == [
        (NamedValue(("deep", "size_bytes"), 3),),
        (NamedValue(("cpus",), ("1", None, "{'odd': 2}")),),
        (NamedValue((), "text"),),
    ]
    assert sections[3].values[-1] == NamedValue(("detected",), STEPS)


def test_where_nothing_is_stored_nothing_is_known(tmp_path):
    assert facts_of({}) == NO_FACTS
    assert NO_FACTS.platform("docker") == PlatformFacts()
    folder = store(ResultSet(PLAN, (), NO_FACTS), tmp_path)
    (folder / "facts.json").unlink()
    assert load(folder).facts == NO_FACTS


@pytest.mark.parametrize("part", WHOLE)
@pytest.mark.parametrize("damaged", [None, 3, 0.5, True, "text", [], [1, None, []], {"x": None}])
def test_a_part_of_another_type_is_not_known_and_the_others_are(part, damaged):
    facts = facts_of({**WHOLE, part: damaged})
    without = facts_of({name: one for name, one in WHOLE.items() if name != part})

    for field in fields(facts):
        if field.name not in ("sections", "platforms", part):
            assert getattr(facts, field.name) == getattr(without, field.name), field.name
    assert facts.platform("docker") == without.platform("docker")


@pytest.mark.parametrize("key", WHOLE["platforms"]["docker"])
@pytest.mark.parametrize("damaged", [None, 3, 0.5, True, "text", [], [1, None, []], {"x": []}])
def test_a_part_of_a_platform_of_another_type_is_not_known(key, damaged):
    docker = WHOLE["platforms"]["docker"]
    read = facts_of({"platforms": {"docker": {**docker, key: damaged}}}).platform("docker")
    without = {name: one for name, one in docker.items() if name != key}
    expected = facts_of({"platforms": {"docker": without}}).platform("docker")

    for field in fields(read):
        if (key, field.name) not in {("inside", "inside"), ("start_s", "start_s")}:
            assert getattr(read, field.name) == getattr(expected, field.name), field.name


def test_of_lists_what_is_not_understood_is_left_out():
    platform = {
        "start_s": ["soon", None, True, float("inf"), float("nan"), 10**400, 2],
        "warnings": ["one", 2, None],
        "mismatches": [1, {}, {"workloads": "fio"}, {"said": "x", "workloads": ["fio", 3]}],
        "detected": [{"layer": "docker"}, {"title": "Docker", "evidence": "none"}],
        "clock": {"low": 10**400, "high": "x"},
    }
    read = facts_of({"platforms": {"vm": platform, "gone": None}}).platform("vm")

    assert (read.start_s, read.warnings) == ((2.0,), ("one",))
    assert read.mismatches == (StoredMismatch("", ()), StoredMismatch("x", ("fio",)))
    assert read.detected == DetectedStack((DetectedStep("Docker"),))
    assert read.clock == ClockSkew()


def test_an_older_file_that_lacks_what_was_added_since_is_read():
    older = {
        "host": {"kernel": "5.10"},
        "platforms": {"docker": {"settings": {}, "warnings": ["old"]}},
        "tare": {"version": "0.0.1"},
    }
    facts = facts_of(older)

    assert facts.platform("docker") == PlatformFacts(warnings=("old",))
    assert (facts.userland, facts.cpuset, facts.selftest) == (UserlandFacts(), "", ())


def test_a_session_that_goes_on_finds_the_file_as_it_was_stored(tmp_path):
    folder = store(
        ResultSet(PLAN, (), NO_FACTS), tmp_path, {**WHOLE, "of a later Tare": {"kept": [1]}}
    )

    assert read_facts(folder) == {**WHOLE, "of a later Tare": {"kept": [1]}}
    assert json.loads((folder / "facts.json").read_text())["format"] == 1
    assert load(folder).facts.platform("docker") == facts_of(WHOLE).platform("docker")
