"""Every file of results says its format: those before today's are understood, newer ones refused.

That results of earlier formats are read whole is held by test_stored_results.
"""

import json

import pyarrow.parquet as pq
import pytest

from tare import cli
from tare.core.errors import ResultsError
from tare.core.model import NO_RUN, Contrast, ContrastKind, Ladder, LadderSwitch, Replicates
from tare.core.model.cell import OPTIONAL
from tare.present.live.overview import OverviewReader
from tare.results.store import Writer, formats, load, raw_output, read_facts
from tare.results.store.reader import plan_of
from unit.makers import again, make_cell, make_plan, make_trial

HOST, DOCKER = make_cell("host"), make_cell("host/docker")
PLAN = make_plan(HOST, DOCKER, again(HOST))


@pytest.fixture
def folder(tmp_path):
    writer = Writer(tmp_path / "results")
    writer.start("name: made\n", PLAN)
    writer.facts({"host": {}})
    writer.run(NO_RUN)
    writer.trial(make_trial(HOST), None)
    writer.close()
    return tmp_path / "results"


def test_what_is_written_says_its_format_and_is_read_again(folder):
    found = load(folder)

    assert (found.plan, found.trials) == (PLAN, (make_trial(HOST),))
    assert (read_facts(folder), found.run) == ({"host": {}}, NO_RUN)
    for name, format_ in (
        ("plan.json", formats.PLAN),
        ("trials.jsonl", formats.TRIALS),
        ("facts.json", formats.FACTS),
        ("run.json", formats.RUN),
    ):
        assert json.loads((folder / name).read_text())["format"] == format_


def test_limits_from_before_there_were_kinds_were_pinned_and_had_no_swap(folder):
    path = folder / "plan.json"
    stored = json.loads(path.read_text())
    for cell in stored["cells"]:
        assert cell["limits"].pop("cpu_limit") == "cpuset"
        assert cell["limits"].pop("swap_bytes") == 0
        for name in OPTIONAL:
            assert cell["limits"].pop(name) is None
    path.write_text(json.dumps(stored))

    assert load(folder).plan == PLAN
    assert all(cell.limits.is_pinned for cell in load(folder).plan.cells)


@pytest.mark.parametrize("name", ["plan.json", "trials.jsonl", "facts.json", "run.json"])
@pytest.mark.parametrize("command", ["show", "report"])
def test_a_newer_file_is_refused_in_one_line_with_the_remedy(folder, capsys, name, command):
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}) + "\n")

    assert cli.main([command, str(folder)]) == cli.BAD_INPUT
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert name in line
    assert "was written by a newer Tare (format 99, this one reads up to" in line
    assert line.endswith("read it with that version or a later one")


@pytest.mark.parametrize("name", ["plan.json", "trials.jsonl", "run.json"])
def test_the_live_page_says_so_too(folder, name):
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}) + "\n")

    assert "was written by a newer Tare" in OverviewReader(folder, "made", folder).read().problem


@pytest.mark.parametrize("format_", ["two", 0, None, 1.5])
def test_a_format_that_is_none_is_not_understood(folder, format_):
    path = folder / "run.json"
    path.write_text(json.dumps({"format": format_}))

    with pytest.raises(ResultsError, match=r"run\.json is not understood: its format is"):
        load(folder)


def test_newer_raw_output_and_samples_are_refused(folder):
    one = folder / "raw" / "one"
    one.mkdir()
    (one / "command.json").write_text(json.dumps({"format": 2, "argv": ["true"]}))
    with pytest.raises(ResultsError, match=r"command\.json was written by a newer Tare"):
        raw_output.raw_of(folder, "one")


def first_plan(cells, **others):
    """A plan as the first format has it: no ids, no contrasts."""
    return {
        "format": 1,
        "study": "made",
        "seed": 1,
        "baseline": "host",
        "cells": cells,
        "metrics": {"spin": [{"name": "time", "unit": "s", "better": "lower"}]},
        "repetition": {},
        "slots": [],
        **others,
    }


def first_cell(platform, *, control=False, params=(), workload="spin"):
    return {
        "platform": platform,
        "stack": platform,
        "settings": [],
        "workload": workload,
        "params": list(params),
        "limits": {"cpus": 1, "memory_bytes": 2**30, "disk_cache": "none"},
        "control": control,
    }


def upgraded(*cells, **others):
    return plan_of(json.dumps(first_plan(cells, **others)).encode(), "plan.json")


def test_ids_of_the_first_format_are_those_its_trials_have():
    plan = upgraded(first_cell("host"), first_cell("host/docker"), first_cell("host", control=True))

    # As the version that wrote them computed them.
    assert [cell.id for cell in plan.cells] == ["d06b413b48", "3295afc55c", "2fcc98ab0b"]


def test_controls_arms_and_switches_of_the_first_format_are_contrasts():
    switch = {"name": "a", "about": "a", "on": "on", "off": "off", "without": "b", "only": "c"}
    plan = upgraded(
        *(first_cell(name) for name in ("host", "a", "b", "c", "d")),
        first_cell("host", control=True),
        first_cell("host", params=[["injected", 0.03]]),
        ladders=[{"default": "a", "bare": "d", "switches": [switch]}],
    )
    names = {cell.id: cell.platform + "'" * cell.replica for cell in plan.cells}
    assert [(names[c.cell], names[c.reference], c.kind.value, c.known) for c in plan.contrasts] == [
        ("a", "host", "overhead", None),
        ("b", "host", "overhead", None),
        ("c", "host", "overhead", None),
        ("d", "host", "overhead", None),
        ("host'", "host", "control", None),
        ("host", "host", "injected", 0.03),
        ("a", "d", "attribution", None),
        ("a", "b", "attribution", None),
        ("c", "d", "attribution", None),
    ]
    assert plan.ladders == (Ladder(default="a", bare="d", switches=(LadderSwitch(**switch),)),)


def test_cells_of_other_work_are_compared_apart_and_without_a_baseline_not_at_all():
    plan = upgraded(
        first_cell("host"),
        first_cell("a"),
        first_cell("a", params=[["n", 1]]),
        first_cell("b", params=[["n", 1]]),
    )
    host, one, *_ = plan.cells

    assert plan.contrasts == (Contrast(cell=one.id, reference=host.id, kind=ContrastKind.OVERHEAD),)


@pytest.mark.parametrize(
    ("workload", "replicates"),
    [("lifecycle", Replicates.TRIALS), ("spin", Replicates.INSTANCES)],
)
def test_what_a_plan_of_the_first_format_repeats_is_known_by_its_scenario(workload, replicates):
    cells = [first_cell(name, workload=workload) for name in ("host", "a")]

    assert upgraded(*cells).replicates is replicates


def test_a_trial_of_the_first_format_has_its_session_from_its_instance():
    line = json.dumps({"format": 1, "instance": "abc123-c-0"}).encode()

    assert json.loads(formats.todays_trial(line, "here"))["session"] == "abc123"


def test_a_usual_trial_of_the_first_format_is_not_read_whole_for_that():
    line = b'{"format":1,"cell":"a","instance":"abc123-0","status":"ok","samples":{"t":1}}\n'

    assert formats.todays_trial(line, "here") == (
        b'{"format":1,"cell":"a","instance":"abc123-0","status":"ok","samples":{"t":1},'
        b'"session":"abc123"}\n'
    )


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"format": 1}', b'{"cells": 3}'])
def test_what_is_no_plan_at_all_stays_for_the_reader_to_refuse(content):
    assert formats.todays_plan(content, "here") == content
    assert json.loads(formats.todays_trial(b'{"format": 1}', "here")) == {"format": 1}


def test_samples_say_their_format(tmp_path):
    from tare.results.store import samples

    session = samples.Samples(tmp_path)
    session.add(make_trial(HOST), ())
    session.close()
    (path,) = (tmp_path / "samples").iterdir()
    assert pq.read_schema(path).metadata[b"tare_format"] == str(formats.SAMPLES).encode()


def test_the_slots_of_a_duet_of_the_second_format_are_one_of_two_parts():
    halves = [
        {"block": 0, "slot": 0, "cell": "base", "partner": "dear",
         "placements": [{"instance": 1, "part": "", "cores": 1}]},
        {"block": 0, "slot": 1, "cell": "dear", "partner": "base",
         "placements": [{"instance": 1, "part": "", "cores": 0}]},
    ]  # fmt: skip
    second = {
        "format": 2, "repetition": {"design": "duet"}, "slots": halves,
        "contrasts": [{"cell": "dear", "reference": "base", "kind": "overhead"}],
    }  # fmt: skip

    (slot,) = json.loads(formats.todays_plan(json.dumps(second).encode(), "here"))["slots"]

    assert (slot["block"], slot["slot"], slot["cell"]) == (0, 0, "dear")
    assert slot["placements"] == [
        {"instance": 1, "part": "reference", "cores": 1, "cell": "base"},
        {"instance": 1, "part": "subject", "cores": 0, "cell": "dear"},
    ]  # fmt: skip


def test_a_plan_of_the_second_format_that_is_no_duet_is_not_read_for_that():
    content = b'{"format": 2, "repetition": {"design": "interleaved"}, "slots": [{}]}'

    assert formats.todays_plan(content, "here") is content
