"""``tare advise``: which platform suits a mix of work, and how sure that is."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tare.cli.mix_file import read_mix, text_of
from tare.core.errors import ResultsError
from tare.core.model import ContrastKind, Replicates
from tare.experiment.run.record import SAME_HOST
from tare.present.terminal.advice import as_json, show
from tare.present.view.between import ends_text, what_text
from tare.present.view.findings import Findings
from tare.results.compare.result_set import ResultSet
from tare.results.questions.advice import advise
from tare.results.questions.fact_differences import Whose, host_differences
from tare.results.store import load
from tare.results.study import compare, result_set


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("results", type=Path, metavar="DIR", help="a results directory")
    parser.add_argument(
        "others",
        nargs="*",
        type=Path,
        metavar="OTHER",
        help="results of lifecycle studies of the same platforms on the same host, which say how "
        "fast they start and what memory they take, and of studies of neighbours, which say what "
        "they lose to these",
    )
    parser.add_argument(
        "--mix", type=Path, required=True, metavar="FILE", help="weights and constraints, in YAML"
    )
    parser.add_argument("--json", action="store_true", help="print facts for programs")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    results = load(options.results)
    if any(one.kind is ContrastKind.SCALING for one in results.plan.contrasts):
        raise ResultsError(
            f"{options.results} has a study of scale, which compares each platform with itself and "
            "none with another; name results of a study that compares platforms"
        )
    study = compare(results.plan, results.trials, results.facts)
    side = ResultSet(results.plan, results.trials, results.facts, study.comparisons)
    mix = read_mix(text_of(options.mix), str(options.mix), side)
    others = [_other(folder, side) for folder in options.others]
    found = advise(side, mix, others)
    groups = Findings(results, study).groups
    known = {(one.workload, one.params, one.limits): one.name for one in groups}
    if options.json:
        content = {"results": str(options.results), "study": side.plan.study}
        content |= as_json(found, mix, known.__getitem__)
        print(json.dumps(content, allow_nan=False))
    else:
        show(side, found, mix, known.__getitem__)
    return 0


def _other(folder: Path, side: ResultSet) -> ResultSet:
    """Read results of another study; those of another host say nothing of this one."""
    results = load(folder)
    unlike = [
        one
        for one in host_differences(side.facts, results.facts)
        if one.whose is Whose.HOST and one.changed.name in SAME_HOST
    ]
    if unlike:
        differences = ", ".join(
            f"{what_text(one)} {' and '.join(ends_text(one))}" for one in unlike
        )
        raise ResultsError(f"{folder} was measured on another host: {differences}; leave it out")
    plan = results.plan
    if any(one.kind is ContrastKind.ISOLATION for one in plan.contrasts):
        return result_set(plan, results.trials, results.facts)
    if plan.replicates is not Replicates.TRIALS:
        raise ResultsError(
            f"{folder} has no lifecycle in it, which says how platforms start and what memory they "
            "take, and no neighbours; leave it out, or name results of tare run lifecycle or "
            "isolation"
        )
    return ResultSet(plan, results.trials, results.facts)
