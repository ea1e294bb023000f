"""``tare compare``: one's results with a published study's, or with one's earlier ones."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from tare.cli.published import add_figures, show_paths, write_all
from tare.core.errors import ConfigError, ResultsError
from tare.present.redrawn import own_figures
from tare.present.report import describe
from tare.present.terminal import own_figures as ours_alone
from tare.present.terminal import two_results
from tare.present.terminal.published_comparison import as_json, our_json, show
from tare.present.view.findings import Findings
from tare.present.view.reasons import reason_text
from tare.present.view.values import few
from tare.results.compare.result_set import ResultSet
from tare.results.published import load as published_rows
from tare.results.published import studies
from tare.results.published.significance import significance
from tare.results.published.study_comparison import Ours, compared_with, unpublished
from tare.results.questions.between import between
from tare.results.store import load
from tare.results.study import compare


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "what",
        nargs="+",
        metavar="RESULTS|STUDY",
        help="a results directory, and published studies by name (tare published lists them); or "
        "two results directories of one study, the earlier first",
    )
    parser.add_argument("--json", action="store_true", help="print facts for programs")
    add_figures(parser, "the studies' figures, each next to the same from the results,")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    folders, names = sorted_out(options.what, studies())
    if len(folders) == 2 and not names and options.figures is None:
        return _two_results(*folders, as_facts=options.json)
    if len(folders) != 1 or not names:
        two = "" if options.figures else ", or two results directories"
        raise ConfigError(
            f"expected one results directory and at least one published study{two}; "
            f"found {len(folders)} and {len(names)}"
        )
    found = describe(load(folders[0]))
    ours = Ours(found.plan, found.results.trials, found.results.facts)
    parts = [compared_with(name, ours) for name in names]
    tests = {name: significance(published_rows(name), name, ours) for name in names}
    rest = unpublished(parts, ours)
    alone = [figure for name in names for figure in own_figures(name, ours)]
    paths = write_all(names, options.figures, ours)
    if options.json:
        content = {
            "results": str(folders[0]),
            "study": found.plan.study,
            "studies": [as_json(part, tests[part.study]) for part in parts],
            "not_published": [our_json(row) for row in rest],
            "ours_alone": ours_alone.as_json(alone),
            **({"figures": paths} if paths else {}),
        }
        print(json.dumps(content, allow_nan=False))
    else:
        show(found.plan.study, parts, rest, found.group_names, tests)
        ours_alone.show(alone)
        show_paths(paths)
    return 0


def _two_results(first: Path, second: Path, *, as_facts: bool) -> int:
    """Compare the second directory's results with the first's."""
    if first.resolve() == second.resolve():
        raise ConfigError(f"{first} and {second} are the same directory; expected two")
    results = [load(first), load(second)]
    studies_of = [compare(one.plan, one.trials, one.facts) for one in results]
    a, b = (
        ResultSet(one.plan, one.trials, one.facts, study.comparisons)
        for one, study in zip(results, studies_of, strict=True)
    )
    found = between(a, b)
    if found.why_nothing:
        why = few(dict.fromkeys(map(reason_text, found.why_nothing)), "; ")
        raise ResultsError(
            f"{first} (A) and {second} (B): nothing in the two can be compared: {why}. Expected "
            "two runs of one study: run its file anew with the same Tare (tare run STUDY --into "
            "DIR), or finish the one that lacks trials (tare run --resume DIR)"
        )
    names = {
        key: name
        for one, study in zip(reversed(results), reversed(studies_of), strict=True)
        for key, name in Findings(one, study).group_names.items()
    }
    if as_facts:
        facts = {"a": str(first), "b": str(second), "study": a.plan.study}
        print(json.dumps({**facts, **two_results.as_json(found)}, allow_nan=False))
    else:
        two_results.show(f"{a.plan.study}: {second} (B) compared with {first} (A)", found, names)
    return 0


def sorted_out(words: Iterable[str], known: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Return the directories and the names of studies; raise ConfigError for both, or neither."""
    folders: list[Path] = []
    names: list[str] = []
    for word in dict.fromkeys(words):
        is_folder, is_study = Path(word).is_dir(), word in known
        if is_folder and is_study:
            raise ConfigError(
                f"{word!r} is a published study and a directory here: write ./{word} for the "
                "directory, or run it elsewhere for the study"
            )
        if not is_folder and not is_study:
            raise ConfigError(
                f"{word!r} is neither a results directory nor a published study; the studies are "
                f"{', '.join(known)}"
            )
        if is_folder:
            folders.append(Path(word))
        else:
            names.append(word)
    return folders, names
