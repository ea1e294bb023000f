"""The summary, the verdicts and the warnings as Markdown and as LaTeX, to be put into other texts.

Names, reasons and warnings come from study files, tools and guests: all of it is escaped, so that
it stays text wherever the file is shown or set.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from tare.present.view import ladders
from tare.present.view.explanations import CAUTION, sentences
from tare.present.view.findings import Group
from tare.present.view.numbers import MINUS, NONE, TIMES
from tare.present.view.study import CellRows, StudyView

COLUMNS = (
    "platform",
    "cost",
    "degradation, 95 % interval",
    "verdict",
    "pairs",
    "p (Holm)",
    "floor",
)
NUMBERS = (1, 2, 4, 5, 6)
"""Which of the columns hold numbers."""

Lines = Sequence[Sequence[str]]


def write_markdown(found: StudyView, path: Path) -> None:
    """Write results.md: GitHub's Markdown, for an issue or a wiki."""
    path.write_text(markdown(found), encoding="utf-8")


def write_latex(found: StudyView, path: Path) -> None:
    """Write results.tex: tables to be read by \\input; they need the package booktabs only."""
    path.write_text(latex(found), encoding="utf-8")


def markdown(found: StudyView) -> str:
    """Write everything as Markdown."""
    parts = [
        f"# {in_markdown(found.plan.study)}",
        in_markdown(found.finding),
        in_markdown(f"{found.trial_counts}. Study {found.state}."),
        "\n".join(f"- {in_markdown(sentence)}" for sentence in found.summary),
        "## Verdicts",
        in_markdown(_reading(found)),
    ]
    for group, cells in found.verdicts:
        parts += [f"### {in_markdown(group.name)}", in_markdown(_measured(group))]
        parts.append(_markdown_table(_rows(cells)))
    if apart := list(ladders.brief(found)):
        parts += ["## Which switch costs what", in_markdown(ladders.READING)]
        parts.append("\n".join(f"- {in_markdown(one)}" for one in apart))
    if told := sentences(found):
        parts += ["## What moved with the degradation", in_markdown(CAUTION)]
        parts.append("\n".join(f"- {in_markdown(one)}" for one in told))
    if noted := found.warnings:
        parts.append("## Warnings")
        lines = [f"{in_markdown(one)} ({in_markdown('; '.join(at))})" for one, at in noted.items()]
        parts.append("\n".join(f"- {line}" for line in lines))
    return "\n\n".join(parts) + "\n"


def latex(found: StudyView) -> str:
    """Write everything as LaTeX, a table for each group of cells."""
    parts = [
        "% Made by Tare. Needs \\usepackage{booktabs}; put it into a document by \\input{results}.",
        f"\\section*{{{in_latex(found.plan.study)}}}",
        in_latex(found.finding),
        in_latex(f"{found.trial_counts}. Study {found.state}."),
        _latex_list([in_latex(sentence) for sentence in found.summary]),
        in_latex(_reading(found)),
    ]
    parts += [
        _latex_table(group, cells, number)
        for number, (group, cells) in enumerate(found.verdicts, 1)
    ]
    if apart := [in_latex(one) for one in ladders.brief(found)]:
        parts += ["\\subsection*{Which switch costs what}", in_latex(ladders.READING)]
        parts.append(_latex_list(apart))
    if told := [in_latex(one) for one in sentences(found)]:
        parts += ["\\subsection*{What moved with the degradation}", in_latex(CAUTION)]
        parts.append(_latex_list(told))
    noted = [f"{in_latex(one)} ({in_latex('; '.join(at))})" for one, at in found.warnings.items()]
    if noted:
        parts += ["\\subsection*{Warnings}", _latex_list(noted)]
    return "\n\n".join(parts) + "\n"


def in_markdown(text: str) -> str:
    """Escape all that GitHub's Markdown would not show as it stands; line ends become spaces."""
    text = _MARKED.sub(lambda one: _ENTITIES.get(one[0], f"\\{one[0]}"), _one_line(text))
    # What begins a list, a heading or a rule does so at the beginning only.
    return _BEGINS.sub(_first, text)


def in_latex(text: str) -> str:
    """Escape all that LaTeX would not set as it stands; what its fonts lack is named by its code.

    Without packages LaTeX knows ASCII and the accented letters of western languages.
    """
    return re.sub("-(?=-)", "-{}", "".join(map(_latex_character, _one_line(text))))


_MARKED = re.compile(r"[\\`*_{}\[\]<>#|~&@!$^]|:(?=/)")
_BEGINS = re.compile(r"^(?:[-+](?=\s|$)|[-=](?=[-=\s]*$)|\d+(?=[.)](?:\s|$)))")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;", ":": "&#58;"}
"""What a backslash does not keep from being a tag, a mention or a link."""

_LATEX = {
    "\\": "\\textbackslash{}",
    "^": "\\textasciicircum{}",
    "~": "\\textasciitilde{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    "`": "\\textasciigrave{}",
    '"': "{\\char34}",
    # After a line of a table these would be taken for an argument of the line's end.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    NONE: "\\textendash{}",
    "—": "\\textemdash{}",
    TIMES: "$\\times$",
    MINUS: "$-$",
    "∞": "$\\infty$",
    "±": "$\\pm$",
    "·": "$\\cdot$",
    "µ": "$\\mu$",
    "≤": "$\\leq$",
    "≥": "$\\geq$",
    "→": "$\\rightarrow$",
    "…": "\\ldots{}",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{NO-BREAK SPACE}": "~",
    **{one: f"\\{one}" for one in "{}$&#_%"},
}


def _one_line(text: str) -> str:
    """Make one line of a text, and drop what has no shape of its own."""
    text = re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", text.replace("\N{NO-BREAK SPACE}", " "))
    return "".join(
        one for one in text if unicodedata.category(one) not in ("Cf", "Cs", "Co")
    ).strip()


def _first(found: re.Match[str]) -> str:
    return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"


def _latex_character(one: str) -> str:
    if one in _LATEX:
        return _LATEX[one]
    is_set = one.isascii() or ("À" <= one <= "ÿ" and one not in "ÐðÞþ÷")
    return one if is_set else f"{{[}}U+{ord(one):04X}{{]}}"


def _reading(found: StudyView) -> str:
    return (
        f"Cost is a multiple of the baseline's, {found.plan.reference}, by each workload's first "
        "metric; above 1 is worse. Intervals hold at every look together. The control is the "
        "baseline measured a second time; its interval reaches as far as the noise floor."
    )


def _measured(group: Group) -> str:
    return f"{group.metrics[0].name}; {group.details}"


def _rows(cells: Sequence[CellRows]) -> Iterator[Sequence[str]]:
    """Yield the lines of a table: its baseline, then a line for each comparison and variant."""
    for rows in cells:
        for row in rows:
            name = f"{rows[0].name}: {row.name}" if row.is_variant else row.name
            yield name, row.cost, row.interval, row.verdict, row.pairs, row.p, row.floor


def _markdown_table(rows: Iterator[Sequence[str]]) -> str:
    rules = ["---:" if place in NUMBERS else "---" for place in range(len(COLUMNS))]
    lines = [COLUMNS, rules, *([in_markdown(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _latex_table(group: Group, cells: Sequence[CellRows], number: int) -> str:
    columns = "".join("r" if place in NUMBERS else "l" for place in range(len(COLUMNS)))
    lines = [[in_latex(cell) for cell in row] for row in (COLUMNS, *_rows(cells))]
    head, *body = (f"{' & '.join(line)} \\\\" for line in lines)
    return "\n".join(
        [
            "\\begin{table}",
            "\\centering",
            f"\\caption{{{in_latex(f'{group.name}: {_measured(group)}')}}}",
            f"\\label{{tab:tare-{number:02d}}}",
            f"\\begin{{tabular}}{{{columns}}}",
            "\\toprule",
            head,
            "\\midrule",
            *body,
            "\\bottomrule",
            "\\end{tabular}",
            "\\end{table}",
        ]
    )


def _latex_list(items: Sequence[str]) -> str:
    # In braces, because \item takes a bracket that follows it for its own.
    listed = "\n".join(f"\\item {{{item}}}" for item in items)
    return f"\\begin{{itemize}}\n{listed}\n\\end{{itemize}}"
