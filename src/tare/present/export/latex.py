"""results.tex: the summary, the verdicts and the warnings as LaTeX, for other documents.

All texts are escaped; the tables need the package booktabs only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tare.present.export.verdict_lines import (
    COLUMNS,
    NUMBERS,
    measured,
    one_line,
    reading,
    table_lines,
)
from tare.present.view import ladders
from tare.present.view.explanations import CAUTION, sentences
from tare.present.view.findings import CellGroup
from tare.present.view.numbers import MINUS, NONE, TIMES
from tare.present.view.study import CellRows, StudyView

FILE = "results.tex"


def write(found: StudyView, path: Path) -> None:
    """Write the file."""
    path.write_text(latex(found), encoding="utf-8")


def latex(found: StudyView) -> str:
    """Write everything as LaTeX, a table for each group of cells."""
    parts = [
        "% Made by Tare. Needs \\usepackage{booktabs}; put it into a document by \\input{results}.",
        f"\\section*{{{in_latex(found.plan.study)}}}",
        in_latex(found.finding),
        in_latex(f"{found.trial_counts}. Study {found.state}."),
        _latex_list([in_latex(sentence) for sentence in found.summary]),
        in_latex(reading(found)),
    ]
    parts += [
        _latex_table(group, cells, number)
        for number, (group, cells) in enumerate(found.verdicts, 1)
    ]
    if apart := [in_latex(one) for one in ladders.brief(found)]:
        parts += ["\\subsection*{Which switch costs what}", in_latex(ladders.READING)]
        parts.append(_latex_list(apart))
    if known := [in_latex(one) for one in sentences(found)]:
        parts += ["\\subsection*{Counters that changed with the degradation}", in_latex(CAUTION)]
        parts.append(_latex_list(known))
    noted = [f"{in_latex(one)} ({in_latex('; '.join(at))})" for one, at in found.warnings.items()]
    if noted:
        parts += ["\\subsection*{Warnings}", _latex_list(noted)]
    return "\n\n".join(parts) + "\n"


def in_latex(text: str) -> str:
    """Escape all that LaTeX would not set as it stands; what its fonts lack is named by its code.

    Without packages LaTeX knows ASCII and the accented letters of western languages.
    """
    return re.sub("-(?=-)", "-{}", "".join(map(_latex_character, one_line(text))))


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


def _latex_character(one: str) -> str:
    if one in _LATEX:
        return _LATEX[one]
    is_set = one.isascii() or ("À" <= one <= "ÿ" and one not in "ÐðÞþ÷")
    return one if is_set else f"{{[}}U+{ord(one):04X}{{]}}"


def _latex_table(group: CellGroup, cells: Sequence[CellRows], number: int) -> str:
    columns = "".join("r" if place in NUMBERS else "l" for place in range(len(COLUMNS)))
    lines = [[in_latex(cell) for cell in row] for row in (COLUMNS, *table_lines(cells))]
    head, *body = (f"{' & '.join(line)} \\\\" for line in lines)
    return "\n".join(
        [
            "\\begin{table}",
            "\\centering",
            f"\\caption{{{in_latex(f'{group.name}: {measured(group)}')}}}",
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
