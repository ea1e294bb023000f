"""results.md and results.tex: all that is said, and nothing in it that is more than text."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tare.core.model import Status
from tare.present import export
from tare.present.export.latex import in_latex, latex
from tare.present.export.markdown import in_markdown, markdown
from tare.present.page.render import write
from tare.present.view.numbers import NONE, TIMES
from unit.invented import HOSTILE, LATENCY, Study, full, names, noisy


def cells(line):
    """Split a line of a GitHub table as GitHub does: at pipes that are not escaped."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def tables(text):
    """Give each table as lists of cells, its rule left out."""
    found = []
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if lines and lines[0].startswith("| "):
            found.append([cells(line) for line in [lines[0], *lines[2:]]])
    return found


def hostile():
    study = Study(["host", HOSTILE])
    study.add(HOSTILE, noisy({HOSTILE: 2.0}), params=((HOSTILE, HOSTILE),))
    study.trials = [
        replace(one, status=Status.SUSPECT, reason=HOSTILE, warnings=(HOSTILE,))
        for one in study.trials
    ]
    return study.found()


def unescaped(text, marks):
    """Find marks that have no backslash before them, or an even number of them."""
    return re.findall(rf"(?<!\\)(?:\\\\)*[{re.escape(marks)}]", text)


def check_latex(text):
    """Read LaTeX as far as it can go wrong: braces, environments, mathematics, rows, marks."""
    text = re.sub(r"^%.*$", "", text, flags=re.MULTILINE)
    plain = re.sub(r"\\[\\{}$&#_%]", "", text)
    depth = 0
    for one in plain:
        depth += {"{": 1, "}": -1}.get(one, 0)
        assert depth >= 0
    assert depth == 0
    opened = []
    for verb, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if verb == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert opened == []
    assert plain.count("$") % 2 == 0
    assert not re.search(r"[#_%^~\"<>|`]", re.sub(r"\$[^$]*\$", "", plain))
    for body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        rows = [line for line in body[1].splitlines() if line.endswith("\\\\")]
        assert rows
        assert all(len(re.findall(r"(?<!\\)&", row)) == len(body[0]) - 1 for row in rows)
        # A bracket or a star after a row's end would be taken for its argument.
        assert not any(row.startswith(("[", "*")) for row in rows)
    commands = set(re.findall(r"\\([a-zA-Z]+)", text))
    assert commands <= {
        *("section", "subsection", "begin", "end", "item", "centering", "caption", "label"),
        *("toprule", "midrule", "bottomrule", "times", "infty", "pm", "cdot", "mu", "leq", "geq"),
        *("textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater"),
        *("textbar", "textasciigrave", "char", "ldots", "textendash", "textemdash"),
    }
    assert all(one.isascii() or "À" <= one <= "ÿ" for one in text)


def test_markdown_has_the_summary_a_table_for_each_group_and_the_warnings():
    found = full(6)
    text = markdown(found)
    assert text.startswith("# invented\n")
    assert "- host/docker is slower on " in text
    assert "NOT TRUSTED" not in text
    every = tables(text)
    assert len(every) == len(found.groups)
    fio = every[1]
    assert fio[0][:4] == ["platform", "cost", "degradation, 95 % interval", "verdict"]
    assert all(len(row) == 7 for table in every for row in table)
    rows = {row[0]: row for row in fio[1:]}
    assert rows["host"][1:4] == [f"1{TIMES}", "", "baseline"]
    assert rows["host/kvm"][3] == "not measured"
    assert re.fullmatch(rf"(2\.9|3\.0)\d\d{TIMES}", rows["host/gvisor"][1])
    assert rows["host (A/A control)"][5] == NONE  # a control has no p of Holm
    assert "Failed in 1 of 11 pairs, which count as the worst value." in text
    assert "there is no /dev/kvm (fio on host/kvm; scales · threads 1 on host/kvm" in text


def test_latex_has_a_table_for_each_group_and_needs_booktabs_only():
    found = full(6)
    text = latex(found)
    check_latex(text)
    assert text.count("\\toprule") == text.count("\\bottomrule") == len(found.groups)
    assert "usepackage{booktabs}" in text.splitlines()[0]
    assert text.count("usepackage") == 1
    assert "scales $\\cdot$ threads 16" in text
    assert "sysbench\\_cpu" in text
    assert re.search(r"host/gvisor & 3\.0\d\d\$\\times\$ & \{\[\}\+\d", text)


@pytest.mark.parametrize("count", [1, 3, 12])
def test_any_number_of_platforms_makes_whole_tables(count):
    found = full(count)
    check_latex(latex(found))
    assert all(len(row) == 7 for table in tables(markdown(found)) for row in table)
    for name in names(count):
        assert in_markdown(name) in markdown(found)


def test_hostile_names_and_reasons_stay_text():
    found = hostile()
    text = markdown(found)
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert not unescaped(re.sub(r"\| ?-*:? ?(?=\|)|^\||\|$| \| ", "", text, flags=re.M), "`[]*_$~")
    assert all(len(row) == 7 for table in tables(text) for row in table)
    check_latex(latex(found))
    assert "\\textbackslash{}textbf\\{no\\} new line" in latex(found)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", "a\\|b"),
        ("two\nlines\r\nor\x0bthree", "two lines or three"),
        ("<b>&amp;", "&lt;b&gt;&amp;amp;"),
        ("[x](javascript:alert)", "\\[x\\](javascript:alert)"),
        ("a_b *c* `d` ~e~ $f$", "a\\_b \\*c\\* \\`d\\` \\~e\\~ \\$f\\$"),
        ("- item", "\\- item"),
        ("+3.1 %", "+3.1 %"),
        ("+ item", "\\+ item"),
        ("---", "\\---"),
        ("1. first", "1\\. first"),
        ("12.5", "12.5"),
        ("# head", "\\# head"),
        ("back\\slash|", "back\\\\slash\\|"),
        ("@someone http://x", "&#64;someone http&#58;//x"),
        ("\u202eturned\x00", "turned"),
        ("", ""),
    ],
)
def test_markdown_escapes_what_would_not_stay_text(text, escaped):
    assert in_markdown(text) == escaped


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b&c%d#e$f{g}", "a\\_b\\&c\\%d\\#e\\$f\\{g\\}"),
        ("\\input{x}", "\\textbackslash{}input\\{x\\}"),
        ("~^", "\\textasciitilde{}\\textasciicircum{}"),
        ("<|>", "\\textless{}\\textbar{}\\textgreater{}"),
        ("--network", "-{}-network"),
        ("---", "-{}-{}-"),
        (f"1{NONE}2 — 3", "1\\textendash{}2 \\textemdash{} 3"),
        ("[red]*", "{[}red{]}{*}"),
        ('say "it"', "say {\\char34}it{\\char34}"),
        ("µs ± ∞ é", "$\\mu$s $\\pm$ $\\infty$ é"),
        ("中\u200b", "{[}U+4E2D{]}"),
        ("a\nb\x00c", "a b c"),
    ],
)
def test_latex_escapes_what_would_not_stay_text(text, escaped):
    assert in_latex(text) == escaped


def test_a_study_without_trials_is_exported_and_says_so():
    study = Study(["host", "host/docker"]).add("cpu", lambda p, b: None, metrics=(LATENCY,))
    found = study.found()
    check_latex(latex(found))
    rows = {row[0]: row for row in tables(markdown(found))[0]}
    assert rows["host/docker"][3] == "not measured"
    assert "no trial has been measured yet" in markdown(found)


def test_a_plan_that_compares_nothing_is_exported():
    found = Study([]).found()
    check_latex(latex(found))
    assert "The plan compares nothing" in markdown(found)


def test_infinite_ends_are_written(tmp_path):
    study = Study(["host", "host/docker"])
    study.add("cpu", lambda p, b: (Status.FAILED, "no") if p != "host" and b % 4 else 5.0 + b)
    found = study.found()
    assert "$\\infty$" in latex(found) or "no cost" in latex(found)
    check_latex(latex(found))


def test_a_report_has_the_exports_and_three_files_of_each_chart(tmp_path):
    study = Study(["host", "host/docker", "host/gvisor"])
    study.add("cpu", noisy({"host/docker": 1.1, "host/gvisor": 2.0}))
    results = study.found().results
    files = {str(path.relative_to(tmp_path)) for path in write(results, tmp_path)}
    kinds = ("forest", "heat", "points-01", "drift-01", "distribution-01", "matrix-01")
    assert files == {
        *("report.html", "results.csv", "results.md", "results.tex"),
        *(f"figures/{kind}.{suffix}" for kind in kinds for suffix in ("svg", "png", "pdf")),
    }
    pdf = (tmp_path / "figures" / "matrix-01.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert (tmp_path / "results.md").read_text() == markdown(study.found())
    again = write(replace(results, trials=()), tmp_path)
    assert len(again) == 4
    assert list((tmp_path / "figures").iterdir()) == []


def test_an_export_is_added_by_following_its_page_alone(tmp_path, monkeypatch):
    page = (Path(__file__).parents[3] / "docs/how-to/add-an-export.md").read_text()
    (module,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (file,) = re.findall(r'^FILE = "(.*)"$', module, re.MULTILINE)
    (tmp_path / "verdicts_txt.py").write_text(module)
    monkeypatch.setattr(export, "__path__", [*export.__path__, str(tmp_path)])
    found = Study(["host", "slow"])
    found.add("fio", noisy({"slow": 2.0}))

    assert tmp_path / file in export.write_exports(found.found(), tmp_path)
    first, baseline, *_ = (tmp_path / file).read_text().splitlines()
    assert "2 times slower" in first
    assert baseline == f"fio, host: 1{TIMES}  baseline"
    del sys.modules["tare.present.export.verdicts_txt"]
