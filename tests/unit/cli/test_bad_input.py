"""What should not have been measured: a clear outcome in every file, never a crash or NaN."""

import csv
import json
import math
import re
from dataclasses import asdict, astuple, replace
from itertools import cycle
from pathlib import Path

import pytest

from tare import cli
from tare.core.model import (
    NO_FACTS,
    NO_RUN,
    Better,
    Contrast,
    ContrastKind,
    HostCost,
    Kind,
    Metric,
    Status,
    Unit,
    Variant,
)
from tare.present.charts.canvas import Canvas
from tare.present.charts.catalogue import figures
from tare.present.page.render import PHONE, WIDE
from tare.present.report import describe
from tare.present.view.flags import flag_texts
from tare.present.view.numbers import cost_text, percent_text, plain, scale_for
from tare.present.view.reasons import reason_text
from tare.results.stats.description import describe as describe_values
from tare.results.stats.sequential import Stop, Verdict
from tare.results.store import Results, Writer, load
from tare.results.study import compare, decided
from unit.makers import TIME, make_cell, make_plan, make_trial

RATE = Metric("rate", Unit.BYTE_PER_SECOND, Better.HIGHER)
LAYERS = ("host/docker", "host/qemu", "host/qemu/docker")
BLOCKS = 11
PLATFORMS = (
    *(("host", False), ("host", True), ("host/docker", False)),
    *(("host/qemu", False), ("host/qemu/docker", False)),
)
STUDY = "name: bad\nquestion: What if all goes wrong?\n"


def cells(workload):
    return [
        make_cell(platform, workload=workload, params=(("seconds", 1),), replica=int(control))
        for platform, control in PLATFORMS
    ]


def plan(*workloads):
    every = (cell for workload in workloads for cell in cells(workload))
    return make_plan(*every, metrics=(TIME, RATE), study="bad", max_blocks=BLOCKS)


def trial(cell, block, value, status=Status.OK):
    numbers = {} if value is None else {"time": value, "rate": value}
    return make_trial(
        cell,
        block,
        slot=PLATFORMS.index((cell.platform, cell.replica)),
        instance="one",
        status=status,
        reason="" if status is Status.OK else f"it was {status}",
        started_at=f"2026-01-02T03:04:{block:02d}Z",
        duration_s=1.0,
        samples=numbers,
        phases_s={"command": 1.0},
    )


def every(value, of_platform=None, blocks=BLOCKS):
    """The same value everywhere, or another on the platforms that are named."""
    other = of_platform or {}
    return lambda workload: [
        trial(cell, block, other.get(cell.platform, value))
        for cell in cells(workload)
        for block in range(blocks)
    ]


def turn(*values):
    """The values in turn, so that platforms and blocks differ."""
    return lambda workload: [
        trial(cell, block, values[(place * 5 + block) % len(values)])
        for place, cell in enumerate(cells(workload))
        for block in range(BLOCKS)
    ]


def ended(status, only=None):
    """Every trial, or every one of one platform, ended so."""
    return lambda workload: [
        trial(cell, block, None, status)
        if only in (None, cell.platform)
        else trial(cell, block, 1.0)
        for cell in cells(workload)
        for block in range(BLOCKS)
    ]


def baseline_missing(blocks):
    return lambda workload: [
        one
        for one in turn(1.0, 1.01, 0.99)(workload)
        if one.cell != cells(workload)[0].id or one.block not in blocks
    ]


def unknown_cells(workload):
    strange = replace(trial(cells("other")[0], 0, 1.0), cell="0123456789")
    return [strange, *turn(1.0, 1.01, 0.99)(workload), strange]


def twice(workload):
    return [one for one in turn(1.0, 1.01, 0.99)(workload) for _ in range(2)]


NO_COST = HostCost(cpu_s=0.0, run_delay_s=0.0, all_cpu_s=0.0, coverage=0.0, threads=0)
LARGEST = 1.7976931348623157e308
CASES = {
    "constant": every(1.0),
    "constant-apart": every(1.0, {"host/docker": 1.5}),
    "one-block": every(1.0, blocks=1),
    "one-trial": lambda workload: every(1.0)(workload)[:1],
    "one-value": lambda workload: [trial(cells(workload)[2], 0, 1.0)],
    "zeros": every(0.0),
    "zero-baseline": every(1.0, {"host": 0.0}),
    "some-zeros": turn(1.0, 0.0, 1.1, 0.9),
    "infinite": every(math.inf),
    "some-infinite": turn(1.0, math.inf, -math.inf, 1.1),
    "not-a-number": every(math.nan),
    "some-not-a-number": turn(1.0, math.nan, 1.1),
    "negative": every(-1.0),
    "some-negative": turn(1.0, -1.0, 1.1),
    "tiny": turn(1e-300, 1.01e-300, 0.99e-300),
    "huge": turn(1e300, 1.01e300, 0.99e300),
    "smallest": every(5e-324),
    "largest": every(LARGEST),
    "largest-and-smallest": turn(LARGEST, 5e-324),
    "beyond-floats": every(1e-300, dict.fromkeys(LAYERS, 1e300)),
    "below-floats": every(1e300, dict.fromkeys(LAYERS, 1e-300)),
    "failed": ended(Status.FAILED),
    "no-response": ended(Status.DNR),
    "unavailable": ended(Status.UNAVAILABLE),
    "baseline-failed": ended(Status.FAILED, "host"),
    "docker-failed": ended(Status.FAILED, "host/docker"),
    "suspect": ended(Status.SUSPECT),
    "no-baseline": baseline_missing(range(BLOCKS)),
    "some-baseline": baseline_missing(range(0, BLOCKS, 2)),
    "no-metric": lambda workload: [replace(one, samples={}) for one in every(1.0)(workload)],
    "other-metric": lambda workload: [
        replace(one, samples={"colour": 1.0}) for one in every(1.0)(workload)
    ],
    "second-metric-only": lambda workload: [
        replace(one, samples={"rate": 1.0}) for one in every(1.0)(workload)
    ],
    "twice": twice,
    "unknown-cells": unknown_cells,
    "no-host-cost": lambda workload: [
        replace(one, host=NO_COST) for one in turn(1.0, 1.01, 0.99)(workload)
    ],
    "delayed-for-ever": lambda workload: [
        replace(one, host=replace(NO_COST, run_delay_s=math.inf, cpu_s=math.nan, coverage=1.0))
        for one in turn(1.0, 1.01, 0.99)(workload)
    ],
    "longer-delayed-than-measured": lambda workload: [
        replace(one, host=replace(NO_COST, cpu_s=1.0, coverage=1.0, foreign_delay_s=9.0))
        for one in turn(1.0, 1.01, 0.99)(workload)
    ],
    "strange-noise": lambda workload: [
        replace(one, noise={"steal": value, "psi_cpu": value, "foreign": value, "swap": value})
        for one, value in zip(
            turn(1.0, 1.01, 5.0)(workload), cycle((math.nan, math.inf, -1.0, 1e300)), strict=False
        )
    ],
    "strange-durations": lambda workload: [
        replace(one, duration_s=value, started_at="yesterday", phases_s={"command": value})
        for one, value in zip(
            turn(1.0, 1.01, 5.0)(workload), cycle((math.nan, 0.0, -1.0, math.inf)), strict=False
        )
    ],
    "nothing": lambda workload: [],
    "warm-ups-only": lambda workload: [
        replace(one, kind=Kind.WARMUP) for one in every(1.0)(workload)
    ],
}
"""What is wrong, and the trials that are so for a workload."""

HOST_CASES = ("constant", "no-host-cost", "delayed-for-ever", "longer-delayed-than-measured")


def stored(folder, study, trials):
    writer = Writer(folder)
    writer.start(STUDY, study)
    writer.close()
    # Not by the writer, which makes every line durable before the next.
    lines = [json.dumps(asdict(replace(one, slot=slot))) for slot, one in enumerate(trials)]
    (folder / "trials.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def numbers_of(value):
    """Every float in nested tuples."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from numbers_of(part)


def place_of(row):
    return tuple(str(row[name]) for name in ("workload", "platform", "control", "metric"))


def no_nan(text):
    return not re.search(r"(?i)(?<![a-z])nan(?![a-z])", text)


@pytest.mark.parametrize(
    ("case", "variant"),
    [
        *((case, Variant.WALL) for case in CASES),
        *((case, Variant.CORRECTED) for case in HOST_CASES),
        *((case, Variant.HOST_CPU) for case in HOST_CASES),
    ],
)
def test_every_comparison_has_a_verdict_and_no_nan(case, variant):
    study = plan(case)
    study = replace(study, repetition=replace(study.repetition, variant=variant))
    trials = CASES[case](case)

    found = compare(study, trials)

    for row in found.comparisons:
        assert not any(map(math.isnan, numbers_of(astuple(replace(row, cell=None, baseline=None)))))
        assert row.verdict is not Verdict.NOT_MEASURED or row.reason
        if row.low is not None:
            assert 0 <= row.low <= row.high
    for one in found.summaries:
        assert one.values is None or not any(map(math.isnan, numbers_of(astuple(one.values))))
    for one in found.attributions:
        assert one.reason or not math.isnan(one.product)
    assert decided(study, trials) <= {cell.id for cell in study.cells}


def verdicts(case):
    rows = compare(plan(case), CASES[case](case)).comparisons
    return {row.cell.platform: row for row in rows if row.primary and not row.is_control}


@pytest.mark.parametrize(
    ("case", "verdict", "stop"),
    [
        ("constant", Verdict.SAME, Stop.INSIDE_MARGIN),
        ("constant-apart", Verdict.SLOWER, Stop.EXCLUDES_ONE),
        ("smallest", Verdict.SAME, Stop.INSIDE_MARGIN),
        ("largest", Verdict.SAME, Stop.INSIDE_MARGIN),
        ("beyond-floats", Verdict.SLOWER, Stop.EXCLUDES_ONE),
        ("below-floats", Verdict.FASTER, Stop.EXCLUDES_ONE),
        ("one-block", Verdict.UNDECIDED, Stop.NOT_YET),
        ("zeros", Verdict.NOT_MEASURED, Stop.MAXIMUM),
        ("failed", Verdict.NOT_MEASURED, Stop.MAXIMUM),
        ("unavailable", Verdict.NOT_MEASURED, Stop.NOTHING),
        ("nothing", Verdict.NOT_MEASURED, Stop.NOT_YET),
        ("suspect", Verdict.NOT_MEASURED, Stop.MAXIMUM),
    ],
)
def test_the_outcome_is_the_documented_one(case, verdict, stop):
    row = verdicts(case)["host/docker"]
    assert (row.verdict, row.stop) == (verdict, stop)


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("zeros", "it and the baseline failed in all 11 blocks of both"),
        ("not-a-number", "it and the baseline failed in all 11 blocks of both"),
        ("no-baseline", "the baseline has no number in any of its 11 blocks"),
        ("no-metric", "the baseline has no number in any of its 11 blocks"),
        ("failed", "it and the baseline failed in all 11 blocks of both; the last reason: it was"),
        ("warm-ups-only", "no trial has been measured yet"),
        ("unavailable", "it was unavailable"),
    ],
)
def test_what_gave_no_number_says_why(case, said):
    assert reason_text(verdicts(case)["host/docker"].reason).startswith(said)


def test_missing_baselines_are_counted_beside_the_number():
    row = verdicts("some-baseline")["host/docker"]
    assert (row.pairs, row.left_out) == (5, 6)
    assert any("baseline has no number" in flag for flag in flag_texts(row.flags))


def test_trials_that_stand_twice_count_once_and_are_said():
    row = verdicts("twice")["host/docker"]
    assert row.pairs == BLOCKS
    assert any(flag.startswith("11 trials were run again") for flag in flag_texts(row.flags))


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """One study in which every workload is one of the cases."""
    trials = [one for name, case in CASES.items() for one in case(name)]
    return stored(tmp_path_factory.mktemp("bad") / "results", plan(*CASES), trials)


def test_show_prints_every_case(everything, capsys, monkeypatch):
    for width in ("60", "160"):
        monkeypatch.setenv("COLUMNS", width)
        assert cli.main(["show", str(everything)]) == cli.DONE
        text = capsys.readouterr().out
        assert no_nan(text.replace("not-a-number", ""))
    assert all(name in text for name in CASES)


def test_json_of_every_case_is_strict(everything, capsys):
    assert cli.main(["show", "--json", str(everything)]) == cli.DONE
    text = capsys.readouterr().out
    assert no_nan(text)
    told = json.loads(text, parse_constant=pytest.fail)
    assert len({place_of(row) for row in told["rows"]}) == 2 * len(PLATFORMS) * len(CASES)


def test_the_report_of_every_case_has_no_nan(everything, capsys):
    assert cli.main(["report", str(everything)]) == cli.DONE
    files = [everything / line for line in capsys.readouterr().out.split()]
    for path in files:
        if path.suffix not in (".png", ".pdf"):
            # What the page sorts by is for its script, which knows the word; data is not code.
            text = re.sub(r' data-\w+="Infinity"', "", path.read_text())
            text = re.sub(r"(?s)<(style|script)>.*?</\1>", "", text)
            assert no_nan(text), path.name
            assert "Infinity" not in text, path.name
    with (everything / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({place_of(row) for row in rows}) == 2 * len(PLATFORMS) * len(CASES)


@pytest.mark.parametrize("cut", [1, 20, -1])
def test_a_last_line_cut_short_is_no_trial(tmp_path, capsys, cut):
    folder = stored(tmp_path / "results", plan("work"), every(1.0)("work"))
    path = folder / "trials.jsonl"
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    path.write_bytes(whole + last[:cut])
    assert len(load(folder).trials) == len(every(1.0)("work"))
    assert cli.main(["show", str(folder)]) == cli.DONE
    assert "work" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "trials.jsonl",
            "{}\n",
            "trials.jsonl:1: not a trial: instance: Field required (and 5 more)",
        ),
        ("trials.jsonl", "\n", "trials.jsonl:1: not a trial: Invalid JSON: "),
        ("trials.jsonl", "\0\0\0\n", "trials.jsonl:1: not a trial: Invalid JSON: "),
        ("plan.json", "", "plan.json is not understood: Invalid JSON: "),
        ("plan.json", '{"cells": 1}', "plan.json is not understood: study: Field required (and 6"),
        (
            "trials.jsonl",
            '{"cell":"","block":0,"slot":0,"kind":"measured","instance":"","status":"ok",'
            '"samples":{"\\u001b[2J":"x"}}\n',
            r"trials.jsonl:1: not a trial: samples.\x1b[2J: Input should be a valid number",
        ),
        ("run.json", "{", "run.json:1: not JSON: "),
        ("facts.json", "[]", "facts.json is not understood: expected an object"),
        ("facts.json", '{"a": ' * 9000, "facts.json is not understood: it is nested too deep"),
        ("facts.json", b"\xff", "facts.json is not UTF-8 (byte 0)"),
        ("study.yaml", b"name: \xff", "study.yaml is not UTF-8 (byte 6)"),
    ],
)
@pytest.mark.parametrize("command", ["show", "report"])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path, capsys, command, name, content, said):
    folder = stored(tmp_path / "results", plan("work"), [])
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert cli.main([command, str(folder)]) == cli.BAD_INPUT
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert line.startswith(f"tare: {folder / name}")
    assert "pydantic" not in line
    assert "from a copy of the results" in line


@pytest.mark.parametrize("missing", ["trials.jsonl", "study.yaml", "plan.json"])
def test_a_missing_file_is_an_error_that_names_it(tmp_path, capsys, missing):
    folder = stored(tmp_path / "results", plan("work"), [])
    (folder / missing).unlink()
    assert cli.main(["show", str(folder)]) == cli.BAD_INPUT
    said = capsys.readouterr().err
    assert f"{folder}/{missing} cannot be read: No such file or directory; restore" in said or (
        f"{folder} is no results directory: it has no {missing}" in said
    )


COMMANDS_A_TERMINAL = "\x1b[2J"


def contrast_of(cell):
    return Contrast(cell=cell, reference=cell, kind=ContrastKind.OVERHEAD)


@pytest.mark.parametrize(
    ("of_plan", "field"),
    [
        ({"study": COMMANDS_A_TERMINAL}, "study"),
        ({"study": "a\x9b2J"}, "study"),
        ({"contrasts": (contrast_of(COMMANDS_A_TERMINAL),)}, "contrasts.0.cell"),
        ({"cells": (make_cell("a"), make_cell(COMMANDS_A_TERMINAL))}, "cells.1.platform"),
        ({"cells": (make_cell("a", params=(("b", "\x1b"),)),)}, "cells.0.params.0.1"),
        ({"metrics": {COMMANDS_A_TERMINAL: (TIME,)}}, "a name in metrics"),
        ({"metrics": {"work": (replace(TIME, name="\x1b"),)}}, "metrics.work.0.name"),
    ],
)
@pytest.mark.parametrize("command", ["show", "report", "compare", "advise"])
def test_a_plan_that_commands_the_terminal_is_refused(tmp_path, capsys, command, of_plan, field):
    folder = stored(tmp_path / "results", replace(plan("work"), **of_plan), every(1.0)("work"))
    (tmp_path / "mix").write_text("work: 1\n")
    more = {
        "compare": [str(stored(tmp_path / "other", plan("work"), every(1.0)("work")))],
        "advise": ["--mix", str(tmp_path / "mix")],
    }
    assert cli.main([command, str(folder), *more.get(command, ())]) == cli.BAD_INPUT
    captured = capsys.readouterr()
    assert f"{folder / 'plan.json'} is not understood: {field} is '" in captured.err
    assert re.search(r"[\x1b\x80-\x9f]", captured.out + captured.err) is None


def test_lines_and_tabs_in_a_plan_command_nothing(tmp_path):
    cell = make_cell(
        "a", params=(("run", "sh -c 'GET\r\n\t\N{LATIN SMALL LETTER U WITH DIAERESIS}'"),)
    )
    made = make_plan(cell)

    assert load(stored(tmp_path / "results", made, [])).plan == made


def test_what_a_tool_or_host_said_in_colour_is_printed_without(tmp_path, capsys):
    red = "\x1b[31mno such file\x1b[0m\x9b2J"
    trials = [
        replace(one, reason=red, warnings=(red,)) if one.reason else one
        for one in ended(Status.FAILED, "host/docker")("work")
    ]
    folder = stored(tmp_path / "results", plan("work"), trials)
    (folder / "facts.json").write_text(json.dumps({"host": {"model": red, red: [red]}}))
    # As others may write it: not in ASCII.
    text = (folder / "trials.jsonl").read_text().replace(r"\u009b", "\x9b")
    (folder / "trials.jsonl").write_text(text)
    # Of another session.
    other = [replace(one, instance="two") for one in every(1.0)("work")]
    beside = stored(tmp_path / "beside", plan("work"), other)
    (beside / "facts.json").write_text('{"host": {"model": "x"}}')

    assert load(folder).trials[-1].status is trials[-1].status
    for words in (["show", folder], ["compare", folder, beside]):
        assert cli.main([*map(str, words)]) == cli.DONE
        said = capsys.readouterr()
        assert re.search(r"[\x1b\x80-\x9f]", said.out + said.err) is None
        assert r"\x1b[31mno" in said.out


def test_an_empty_file_of_trials_says_that_nothing_was_measured(tmp_path, capsys):
    folder = stored(tmp_path / "results", plan("work"), [])
    assert cli.main(["show", str(folder)]) == cli.DONE
    assert "not measured" in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.parametrize("case", CASES)
def test_every_chart_of_every_case_is_drawn_from_numbers(case):
    study = plan(case)
    results = Results(Path("results"), STUDY, study, NO_FACTS, NO_RUN, tuple(CASES[case](case)))
    for figure in figures(describe(results)):
        pictures = [figure.draw(WIDE), figure.draw(PHONE)]
        text = "".join(
            one.svg() if isinstance(one, Canvas) else json.dumps(one, allow_nan=False)
            for one in pictures
        )
        assert no_nan(text.replace("not-a-number", ""))
        assert not re.search(r"[0-9]{40}", text)


@pytest.mark.parametrize("case", ["infinite", "not-a-number", "no-metric", "failed", "nothing"])
def test_where_no_trial_gave_a_number_no_chart_is_drawn(case):
    results = Results(
        Path("results"), STUDY, plan(case), NO_FACTS, NO_RUN, tuple(CASES[case](case))
    )
    assert list(figures(describe(results))) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (plain(1e300), "1e+300"),
        (plain(-1e300), "\N{MINUS SIGN}1e+300"),
        (cost_text(1e300), "1e+300\N{MULTIPLICATION SIGN}"),
        (percent_text(1e300), "+1e+302 %"),
        (
            scale_for(Unit.SECOND, [1e-300]).full(2e-300),
            "2 \N{MULTIPLICATION SIGN} 1e\N{MINUS SIGN}300 s",
        ),
        (scale_for(Unit.SECOND, [5e-324]).unit, "\N{MULTIPLICATION SIGN} 1e\N{MINUS SIGN}307 s"),
        (scale_for(Unit.SECOND, [0.002]).full(0.002), "2 ms"),
    ],
)
def test_absurd_numbers_are_short(text, expected):
    assert text == expected


@pytest.mark.parametrize(
    ("values", "mean", "sd"),
    [
        ([1e308] * 3, 1e308, 0.0),
        ([LARGEST, LARGEST / 2], 0.75 * LARGEST, LARGEST / 2 / math.sqrt(2)),
        ([1e-300, 3e-300], 2e-300, math.sqrt(2) * 1e-300),
        ([5e-324, 5e-324], 5e-324, 0.0),
        ([0.0, 0.0], 0.0, 0.0),
    ],
)
def test_values_at_the_ends_of_a_double_are_described(values, mean, sd):
    found = describe_values(values)
    assert found.mean == pytest.approx(mean, rel=1e-12, abs=0)
    assert found.sd == pytest.approx(sd, rel=1e-12, abs=0)
    assert found.minimum <= found.median <= found.maximum
