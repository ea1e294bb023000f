"""What the page is made of: three sentences, threats, trials as JSON, and the one script."""

import base64
import hashlib
import json
import math
import re
from collections import Counter
from dataclasses import replace
from urllib.parse import unquote

import pytest

from tare.core.model import Complaint, ComplaintKind, Status
from tare.present.charts.trials import point_text
from tare.present.page.html import Pages
from tare.present.page.render import write
from tare.present.page.trials_page import as_json, way
from tare.present.report import describe
from tare.present.view.summary import three_sentences
from tare.present.view.threats import threats
from tare.present.view.trial_records import MAX_TEXT
from tare.results.store.raw_output import raw_name
from unit.present.test_report import (
    control_differs,
    make_plan,
    make_results,
    make_trials,
)

EVIL = "</script><script>alert(1)</script>&\u2028"


def small(folder, change=lambda one: one):
    plan = make_plan(platforms=("host", "host/docker"), workloads=("fio",), blocks=2)
    trials = tuple(change(one) for one in make_trials(plan))
    return make_results(folder=folder, plan=plan, trials=trials)


def stored(text):
    """The trials in a page, by the names of their fields, as its script reads them."""
    data = json.loads(re.search(r'id="trials-data">(.*?)</script>', text, re.DOTALL)[1])
    rows, trials = Counter(), []

    def value(column, row):
        if isinstance(column, str) and data["parted"] in column:
            column = column.split(data["parted"])
        return column[row] if isinstance(column, list) else column

    for which in data["order"]:
        cell, row = data["cells"][which], rows[which]
        rows[which] += 1
        columns = zip(data["fields"], cell["columns"], strict=True)
        trial = {name: value(column, row) for name, column in columns}
        trial |= {name: data["texts"][trial[name]] for name in data["shared"]}
        trial |= {"cell": which, "samples": [value(one, row) for one in cell["samples"]]}
        read = ((data["texts"][said], value(one, row)) for said, one in cell["readings"])
        taken = ((data["texts"][said], unit, value(one, row)) for said, unit, one in cell["taken"])
        trial |= {"taken": {said: (number, unit) for said, unit, number in taken}}
        trials.append(trial | {"readings": {said: text for said, text in read if text}})
    return data, trials


def test_three_sentences_say_the_finding_the_counts_and_the_noise():
    said = three_sentences(describe(make_results()))
    assert len(said) == 3
    assert re.match(
        r"On this host an emulated virtual machine and a Docker container in an emulated virtual "
        r"machine are 2\.3 to 14 times slower; a Docker container is 9\.\d % slower on fio, the "
        r"same within 2 % on sysbench_cpu and undecided on sysbench_memory "
        r"\(at most 2\.\d % slower\); a KVM virtual machine cannot run here\.",
        said[0],
    )
    assert said[1].startswith("Of 12 comparisons: 7 slower, 1 the same within 2 %, 1 undecided and")
    assert "noise floor" in said[2]


def test_nothing_is_said_of_costs_before_there_is_a_verdict(tmp_path):
    said = three_sentences(describe(small(tmp_path)))
    assert said[0].startswith("On this host whether a Docker container costs anything is undecided")
    assert said[1] == "Of 1 comparison: 1 undecided."


def test_threats_name_what_limits_the_verdicts():
    facts = {
        "noise": ["one", "two"],
        "platforms": {
            "host/docker": {
                "warnings": ["it is not what was declared"],
                "mismatches": [{"said": "an older libc", "workloads": "fio"}],
            }
        },
    }
    said = threats(describe(make_results(facts=facts)))
    assert "The A/A control" in said[0]
    assert "1 of 165 (0.61 %); run again because of it: 0." in said[1]
    assert said[2].endswith("each the worst value there is: 2.")
    assert said[3].endswith("see below: host/docker.")
    assert said[4].endswith("see What ran where: host/docker.")
    assert said[5].endswith("2 of the things looked for.")


def test_a_control_that_differs_is_the_first_threat():
    plan = make_plan(workloads=("sysbench_cpu",))
    results = make_results(plan=plan, trials=control_differs(make_trials(plan), plan))
    assert threats(describe(results))[0].startswith("NOT TRUSTED")


def test_a_trial_in_the_page_has_what_was_stored_of_it(tmp_path):
    def disturbed(one):
        noise = {"steal": 0.125, "psi_io_some": 0.0, "frequency_hz": 2.5e9, "disk_read_bytes": 4096}
        warnings = ("a text", Complaint(ComplaintKind.STOLEN, {"share": 0.125}))
        one = replace(one, noise=noise, status=Status.SUSPECT, reason="stolen", warnings=warnings)
        return replace(one, cpuset="1", instance="i #%;?")

    results = small(tmp_path, disturbed)
    raw = tmp_path / "raw" / raw_name(results.trials[3])
    raw.mkdir(parents=True)
    (raw / "stdout").touch()
    (raw / "command.json").write_text('{"argv": ["fio", "a b"]}')
    data, trials = stored(Pages(describe(results)).report({}))
    trial = trials[3]
    assert len(trials) == len(results.trials)
    assert (trial["status"], trial["reason"], trial["cpus"]) == ("suspect", "stolen", "1")
    assert trial["warnings"] == ["a text", "the hypervisor below stole 12 % of the CPU time"]
    assert trial["readings"].pop("waited for a CPU").endswith(" s")
    assert {said: text for said, text in trial["readings"].items() if "CPU" not in said} == {
        "stolen": "12 %",
        "clock rate after the trial": "2.50 GHz",
        "disk read bytes": "4 KiB",
        "I/O pressure": "0",
        "held back by its quota": "0",
    }
    assert trial["files"] == ["command.json", "stdout"]
    assert trial["command"] == "fio 'a b'"
    assert unquote(trial["raw"]) == raw_name(results.trials[3])
    assert trials[0]["files"] == []
    unit = data["cells"][trial["cell"]]["metrics"][0]
    assert unit == ["throughput", "MiB/s"]
    rate = float(trial["samples"][0])
    assert rate == pytest.approx(results.trials[3].samples["throughput"] / 2**20, rel=1e-5)


def test_what_a_trial_does_not_have_is_not_taken_from_another(tmp_path):
    results = small(tmp_path)

    def told(number, one):
        noise = [{"load": 1.5}, {"steal": 0.5, "load": 0.0}, {}][number % 3]
        samples = {} if number % 2 else {"throughput": 1000.0 + number}
        status = Status.DNR if number % 2 else Status.OK
        return replace(one, noise=noise, samples=samples, status=status, host=None)

    results = replace(
        results, trials=tuple(told(number, one) for number, one in enumerate(results.trials))
    )
    data, trials = stored(Pages(describe(results)).report({}))
    assert len(trials) > 3
    for number, (trial, one) in enumerate(zip(results.trials, trials, strict=True)):
        assert data["cells"][one["cell"]]["id"] == trial.cell
        assert (one["block"], one["slot"]) == (trial.block, trial.slot)
        assert one["status"] == trial.status
        assert one["samples"][0] == ("" if number % 2 else f"{1000 + number:,}")
        told = [{"load": "1.50"}, {"stolen": "50 %", "load": "0"}, {}]
        assert one["readings"] == told[number % 3]
    unread = data["untold"]["readings"]
    assert "other work" in unread  # a column of disturbances, and no trial has it
    assert "CPU time of the work" in unread
    assert "stolen" not in unread


def test_what_a_platform_took_of_the_host_is_told_and_zero_is_not_what_is_not_known(tmp_path):
    results = small(tmp_path)

    def took(number, one):
        some = {"layer_memory_peak_bytes": 51.3e6 + number, "layer_major_faults": 0.0}
        some |= {"layer_cpu_user_s": 0.2, "host_context_switches": 12_345.0}
        return replace(one, resources=[some, {}, some | {"layer_cpu_user_s": math.inf}][number % 3])

    results = replace(results, trials=tuple(map(took, range(99), results.trials)))
    data, trials = stored(Pages(describe(results)).report({}))
    for number, one in enumerate(trials):
        has = number % 3 != 1
        assert one["taken"] == {
            "CPU time in user mode": (200 if number % 3 == 0 else None, "ms"),
            "memory at its peak": (48.9 if has else None, "MiB"),
            "page faults that read from disk": (0 if has else None, ""),
            "context switches on the whole host": (12_345 if has else None, ""),
        }
    assert "energy on the whole host" in data["untold"]["taken"]
    assert not set(data["untold"]["taken"]) & set(trials[0]["taken"])


def test_what_is_read_of_another_cell_alone_is_available_here(tmp_path):
    results = small(tmp_path)
    cell = results.plan.cells[0].id
    noise = {True: {"steal": 0.5}, False: {"load": 1.5}}
    trials = tuple(replace(one, noise=noise[one.cell == cell]) for one in results.trials)
    data, _ = stored(Pages(describe(replace(results, trials=trials))).report({}))
    read = [{data["texts"][said]: one for said, one in cell["readings"]} for cell in data["cells"]]
    assert [one["stolen"] for one in read[:2]] == ["50 %", ""]
    assert "stolen" not in data["untold"]["readings"]


def test_a_page_is_as_large_as_its_bytes(tmp_path, monkeypatch):
    found = describe(small(tmp_path, lambda one: replace(one, reason="漢" * 1000)))
    text = Pages(found).report({})
    inside = re.search(r'id="trials-data">(.*?)</script>', text, re.DOTALL)[1]
    monkeypatch.setattr("tare.present.page.trials_page.MAX_BYTES", len(inside))
    assert len(list(Pages(found).of_trials())) == len(found.plan.cells)


def test_a_tool_tip_says_the_beginning_of_a_long_reason(tmp_path):
    results = small(tmp_path, lambda one: replace(one, status=Status.SUSPECT, reason="long " * 99))
    cell = results.plan.cells[0]
    said = point_text(cell, results.trials[0], "5")
    assert "suspect: long long" in said
    assert said.endswith(" […]")
    assert len(said) < 150
    assert point_text(cell, replace(results.trials[0], reason="why"), "5").endswith("suspect: why")


@pytest.mark.parametrize("study", ["question: 2024-99-99\n", "[" * 5000, "question: [", "\x00"])
def test_a_study_that_is_broken_by_now_has_no_question(tmp_path, study):
    text = Pages(describe(replace(small(tmp_path), study=study))).report({})
    assert 'class="question"' not in text


def test_output_that_no_disk_could_have_is_not_linked(tmp_path):
    (tmp_path / "raw").mkdir()
    failed = {"status": Status.FAILED, "samples": {}, "instance": "i" * 300}
    text = Pages(describe(small(tmp_path, lambda one: replace(one, **failed)))).report({})
    assert "no reason was stored" in text
    assert "/stdout" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def test_no_list_is_announced_where_there_is_none(tmp_path):
    assert "The numbers this rests on" in Pages(describe(small(tmp_path))).report({})
    plan = make_plan(platforms=("host",), workloads=("fio",), blocks=2)
    alone = make_results(folder=tmp_path, plan=plan, trials=make_trials(plan))
    assert "The numbers this rests on" not in Pages(describe(alone)).report({})


def test_a_text_with_what_parts_texts_stays_whole(tmp_path):
    begun = iter("a;b" if number % 2 else f"c{number};;" for number in range(99))
    expected = []

    def change(one):
        expected.append(next(begun))
        return replace(one, started_at=expected[-1], reason="x;y", instance=";")

    _, trials = stored(Pages(describe(small(tmp_path, change))).report({}))
    assert [one["started"] for one in trials] == expected
    assert {(one["reason"], one["instance"]) for one in trials} == {("x;y", ";")}
    _, trials = stored(
        Pages(describe(small(tmp_path, lambda one: replace(one, started_at="a;b")))).report({})
    )
    assert {one["started"] for one in trials} == {"a;b"}


@pytest.mark.parametrize("damaged", ["", "{", "[]", '{"argv": 1}', "\xff", '{"argv": ["\\udc80"]}'])
def test_a_damaged_command_is_no_command(tmp_path, damaged):
    results = small(tmp_path)
    raw = tmp_path / "raw" / raw_name(results.trials[0])
    raw.mkdir(parents=True)
    (raw / "command.json").write_bytes(damaged.encode("latin-1"))
    _, trials = stored(Pages(describe(results)).report({}))
    assert trials[0]["command"] == ""


def test_no_text_of_a_trial_leaves_its_json(tmp_path):
    change = {"reason": EVIL, "instance": EVIL, "warnings": (EVIL,), "cpuset": EVIL}
    text = Pages(describe(small(tmp_path, lambda one: replace(one, **change)))).report({})
    _, trials = stored(text)
    assert {one["reason"] for one in trials} == {EVIL}
    assert text.count("<script") == 2
    inside = re.search(r'id="trials-data">(.*?)</script>', text, re.DOTALL)[1]
    assert not set("<>&\u2028") & set(inside)
    assert json.loads(as_json({"a": EVIL}, ""))["a"] == EVIL


def test_a_name_of_an_instance_leads_nowhere_else(tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "stdout").touch()
    results = small(tmp_path / "results", lambda one: replace(one, instance="/../../../secret"))
    text = Pages(describe(results)).report({})
    _, trials = stored(text)
    assert all(one["files"] == [] for one in trials)
    assert all(one["raw"] == "" for one in trials)
    assert not re.search(r'href="[^"]*secret', text)


def test_a_value_beyond_all_bounds_and_a_long_text_are_written(tmp_path):
    results = small(
        tmp_path,
        lambda one: replace(one, samples={"throughput": float("inf")}, reason="x" * 9999),
    )
    _, trials = stored(Pages(describe(results)).report({}))
    assert trials[0]["samples"][0] == "∞"
    assert trials[0]["samples"][1] == ""
    assert trials[0]["reason"] == f"{'x' * MAX_TEXT} […]"


def test_links_lead_from_where_the_report_is_written_to_the_results(tmp_path):
    found = describe(small(tmp_path / "some results"))
    assert way(found, None) == ""
    assert way(found, tmp_path / "some results") == ""
    assert way(found, tmp_path / "reports" / "one") == "../../some%20results/"
    pages = Pages(found, tmp_path)
    assert list(pages.of_trials()) == []
    text = pages.report({})
    assert 'href="some%20results/trials.jsonl"' in text


@pytest.mark.parametrize("bound", ["MAX_TRIALS", "MAX_BYTES"])
def test_what_is_too_much_for_one_file_is_beside_it(tmp_path, monkeypatch, bound):
    monkeypatch.setattr(f"tare.present.page.trials_page.{bound}", 5)
    found = describe(small(tmp_path))
    pages = Pages(found)
    beside, text = list(pages.of_trials()), pages.report({})
    cells = [one.id for one in found.plan.cells]
    assert [name for name, _ in beside] == [f"report-trials/{one}.html" for one in cells]
    assert 'id="trials-data"' not in text
    assert all(f'href="report-trials/{one}.html"' in text for one in cells)
    data, trials = stored(beside[0][1])
    assert data["results"] == "../"
    assert len(trials) == len(found.trials[cells[0]])


def test_pages_of_an_earlier_and_larger_report_do_not_stay(tmp_path, monkeypatch):
    results = small(tmp_path)
    with monkeypatch.context() as bounds:
        bounds.setattr("tare.present.page.trials_page.MAX_TRIALS", 5)
        write(results, tmp_path)
        folder = tmp_path / "report-trials"
        assert len(list(folder.iterdir())) == len(results.plan.cells)
        (folder / "mine.html").touch()
        write(results, tmp_path)
        assert len(list(folder.iterdir())) == len(results.plan.cells) + 1
    write(results, tmp_path)
    assert [path.name for path in folder.iterdir()] == ["mine.html"]


def test_every_file_beside_the_page_is_linked_and_every_link_leads_to_one(tmp_path):
    def counted(one):
        return replace(one, resources={"layer_page_faults": 5.0})

    for change, csv in ((counted, True), (lambda one: one, False)):
        paths = write(small(tmp_path / "results", change), tmp_path)
        text = (tmp_path / "report.html").read_text()
        links = {unquote(one) for one in re.findall(r'href="([^"#]+)"', text)}
        linked = {tmp_path / one for one in links if not one.startswith("results/")}
        assert linked == {one for one in paths if one.name != "report.html"}
        assert all(one.is_file() for one in linked)
        assert (tmp_path / "explanations.csv" in linked) is csv
        assert {".csv", ".md", ".tex", ".svg", ".png", ".pdf"} == {one.suffix for one in linked}


def test_the_page_allows_its_own_script_and_no_other(tmp_path):
    text = Pages(describe(small(tmp_path))).report({})
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in text
    assert "default-src 'none'" in text
    assert "innerHTML" not in script
    assert not re.search(r"fetch\(|XMLHttp|localStorage|eval\(|document\.cookie|import\(", script)


def test_output_that_was_stored_after_the_others_was_read_is_found(tmp_path):
    results = small(tmp_path)
    raw = tmp_path / "raw" / raw_name(results.trials[0])
    raw.mkdir(parents=True)
    (raw / "command.json").write_text('{"argv": ["fio", "a b"]}')
    _, trials = stored(Pages(replace(describe(results), read_raw=dict)).report({}))
    assert (trials[0]["files"], trials[0]["command"]) == (["command.json"], "fio 'a b'")
    assert not trials[1]["files"]


def test_every_colour_that_the_page_uses_is_defined_in_it(tmp_path):
    write(make_results(), tmp_path)
    page = (tmp_path / "report.html").read_text()
    used = set(re.findall(r"var\((--[\w-]+)", page))

    assert used
    assert used <= set(re.findall(r"(--[\w-]+):", page))
