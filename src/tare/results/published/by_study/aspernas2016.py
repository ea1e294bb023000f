"""Aspernäs and Nensén 2016: five runs in a row on each of five container hosts, all printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from tare.core.model import Better
from tare.results.published.analysis import Column, Form, Table, Value
from tare.results.published.counterparts import Measure
from tare.results.published.experiment import ALL, Experiment, experiments, reproduced_by
from tare.results.published.finding import Finding, Sort
from tare.results.published.moments import Compared, Moments
from tare.results.published.platforms import own_baseline
from tare.results.published.plausibility import Subject, Suspicion, implausible
from tare.results.published.printed import Printed, from_means
from tare.results.published.rows import Row
from tare.results.published.runs import ALPHA, Pair, compare, pair_up, smallest_p
from tare.results.stats.outliers import modified_z
from tare.results.stats.sequential import Verdict

_AVERAGES = (
    *(Column("platform"), Column("runs", Form.NUMBER, weight=0), Column("average", Form.NUMBER)),
    *(
        Column("printed", Form.NUMBER),
        Column("printed is that of", weight=1),
        Column("stands apart", weight=4),
    ),
    *(Column("own baseline", weight=5), Column("difference printed", Form.PERCENT)),
    Column("difference of all runs", Form.PERCENT, weight=2),
)
_PAIRS = (
    *(Column("platform"), Column("against"), Column("cost", Form.COST)),
    *(Column("log-t 95 %", Form.INTERVAL, weight=8), Column("ranks 95 %", Form.INTERVAL, weight=2)),
    *(
        Column("p Welch", Form.P, weight=0),
        Column("p Holm", Form.P, weight=7),
        Column("p exchange", Form.P, weight=1),
    ),
    *(
        Column("p ranks", Form.P, weight=2),
        Column("study's averages", weight=0),
        Column("runs show", weight=5),
    ),
    Column("agreement", weight=6),
)

_NOTE = "the study ran MySQL, of a version that it does not give"
_MEASURES = {
    f"sql-{operation}": (
        Measure(
            "php_sql",
            "tool_duration",
            {"operation": operation},
            {"count": count},
            note=_NOTE,
            experiment=f"sql-{operation}",
        ),
    )
    for operation, count in (("select", 1), ("insert", 10_000))
}


def analysis(rows: Sequence[Row]) -> tuple[list[Table], list[Finding]]:
    """Compute averages, percentages, outliers and all pairs from the raw runs."""
    tables, found = [], []
    for experiment in experiments(rows):
        pairs = pair_up({name: experiment.values(name) for name in experiment.runs},
                        experiment.better)  # fmt: skip
        tables += [_averages(experiment), _all_pairs(experiment, pairs)]
        found += [*_apart(experiment), *_verdicts(experiment, pairs)]
        if any(experiment.apart(platform) for platform in experiment.runs):
            left = {name: experiment.without(name) for name in experiment.runs}
            rest = pair_up(left, experiment.better)
            tables.append(_sensitivity(experiment, rest))
            found += _changed(experiment, pairs, rest)
    suspicions = [pair for one in experiments(rows) for pair in _suspicions(one)]
    return tables, [*found, *implausible(suspicions), *_caveats()]


def printed(rows: Sequence[Row]) -> Iterator[Printed]:
    """Return the costs of the averages as they are printed."""
    return from_means(rows)


def measures(row: Row) -> tuple[Measure, ...]:
    """Return what of our results measures a row: of the web test nothing yet."""
    return _MEASURES.get(row.experiment, ())


def _averages(experiment: Experiment) -> Table:
    printed: list[tuple[Value, ...]] = []
    for platform in experiment.runs:
        values, mean = experiment.values(platform), experiment.printed.get(platform)
        base = own_baseline(platform, experiment.runs)
        printed.append(
            (
                *(platform, len(values), fmean(values), mean.value if mean else None),
                reproduced_by(experiment, platform),
                ", ".join(f"run {place + 1}" for place in experiment.apart(platform)),
                base or "none in the data",
                _percent(mean, experiment.printed.get(base)) if base else None,
                100 * (fmean(values) / fmean(experiment.values(base)) - 1) if base else None,
            )
        )
    return Table(
        f"{experiment.title}, {experiment.unit}, {experiment.better.value} is better",
        _AVERAGES,
        tuple(printed),
        ("Differences are those of the averages, in per cent of the own baseline's.",),
    )


def _percent(own: Row | None, base: Row | None) -> float | None:
    if own is None or base is None or own.value is None or not base.value:
        return None
    return 100 * (own.value / base.value - 1)


def _all_pairs(experiment: Experiment, pairs: Sequence[Pair]) -> Table:
    n = len(next(iter(experiment.runs.values())))
    least = smallest_p(n, n)
    return Table(
        f"{experiment.title}: every pair, all runs",
        _PAIRS,
        tuple(_pair(experiment, pair) for pair in pairs),
        (
            f"With {n} runs each no test by exchange or ranks can have p below {least:.4f}, after "
            f"Holm over {len(pairs)} pairs {min(1.0, least * len(pairs)):.3f}: they are shown "
            "next to the verdict, which is Welch's on logs after Holm.",
            "The study states no verdict here: the data hold its averages, and their order stands "
            "for one.",
        ),
    )


def _sensitivity(experiment: Experiment, rest: Sequence[Pair]) -> Table:
    touched = [p for p in rest if experiment.apart(p.platform) or experiment.apart(p.baseline)]
    return Table(
        f"{experiment.title}: pairs without the runs that stand apart, for sensitivity only",
        _PAIRS,
        tuple(_pair(experiment, pair) for pair in touched),
    )


def _pair(experiment: Experiment, pair: Pair) -> tuple[Value, ...]:
    claimed = _claimed(experiment, pair)
    return (
        *(pair.platform, pair.baseline, pair.cost, pair.interval, pair.by_ranks),
        *(pair.welch_p, pair.holm_p, pair.permutation_p, pair.mann_whitney_p),
        claimed.value if claimed else "not printed",
        "not shown" if pair.verdict is Verdict.UNDECIDED else pair.verdict.value,
        _agreement(claimed, pair.verdict),
    )


def _claimed(experiment: Experiment, pair: Pair) -> Verdict | None:
    """Return the order of the printed averages."""
    own, base = experiment.printed.get(pair.platform), experiment.printed.get(pair.baseline)
    if own is None or base is None or own.value is None or base.value is None:
        return None
    if own.value == base.value:
        return Verdict.SAME
    slower = (own.value > base.value) == (experiment.better is Better.LOWER)
    return Verdict.SLOWER if slower else Verdict.FASTER


def _agreement(claimed: Verdict | None, shown: Verdict) -> str:
    if claimed is None:
        return ""
    if shown is Verdict.UNDECIDED:
        return "not shown"
    return "agrees" if shown is claimed else "contradicts"


def _apart(experiment: Experiment) -> Iterator[Finding]:
    for platform, rows in experiment.runs.items():
        values = experiment.values(platform)
        z = modified_z(values)
        for place in experiment.apart(platform):
            row = rows[place]
            did = "left it out of its average" if row.note else "kept it"
            yield Finding(
                Sort.OUTLIER,
                f"{experiment.title}: {platform}",
                f"run {row.run} ({row.text} {experiment.unit}) stands apart from the others, "
                f"modified z {z[place]:.1f} and by the generalized ESD. It is kept: the average is "
                f"{fmean(values):.6g} with it, {fmean(experiment.without(platform)):.6g} without. "
                f"The study {did}.",
            )


def _verdicts(experiment: Experiment, pairs: Sequence[Pair]) -> Iterator[Finding]:
    words = [_agreement(_claimed(experiment, pair), pair.verdict) for pair in pairs]
    open_pairs = [
        f"{pair.platform} {claimed.value} than {pair.baseline}"
        for pair, word in zip(pairs, words, strict=True)
        if word == "not shown" and (claimed := _claimed(experiment, pair)) is not None
    ]
    named = f" Not shown: {'; '.join(open_pairs)}." if open_pairs else ""
    yield Finding(
        Sort.VERDICT,
        experiment.title,
        f"Of the {len(pairs)} orders of the study's averages, {words.count('agrees')} agree with "
        f"what the runs show (p < {ALPHA} after Holm), {words.count('not shown')} are not shown "
        f"and {words.count('contradicts')} are contradicted.{named}",
    )
    for platform in experiment.runs:
        if reproduced_by(experiment, platform) != ALL:
            yield Finding(
                Sort.VERDICT,
                f"{experiment.title}: {platform}",
                f"The printed average is that of {reproduced_by(experiment, platform)}; we agree "
                "that the run stands apart, not that it may be left out.",
            )


def _changed(
    experiment: Experiment, pairs: Sequence[Pair], rest: Sequence[Pair]
) -> Iterator[Finding]:
    changed = [
        f"{before.platform} against {before.baseline} ({_word(before)} with, {_word(after)} "
        "without)"
        for before, after in zip(pairs, rest, strict=True)
        if before.verdict is not after.verdict
    ]
    yield Finding(
        Sort.VERDICT,
        experiment.title,
        "What the runs that stand apart change: " + ("; ".join(changed) or "no verdict") + ".",
    )


def _word(pair: Pair) -> str:
    return "not shown" if pair.verdict is Verdict.UNDECIDED else pair.verdict.value


def _suspicions(experiment: Experiment) -> Iterator[Suspicion]:
    moments = {name: Moments(mean=fmean(experiment.values(name))) for name in experiment.runs}
    subject = Subject(
        name=experiment.title, unit=experiment.unit, better=experiment.better, platforms=moments
    )
    runs = {name: experiment.values(name) for name in experiment.runs}
    for platform in runs:
        base = own_baseline(platform, runs)
        if base is None:
            continue
        found = compare(platform, base, runs, experiment.better)
        if found.cost is not None:
            compared = Compared(cost=found.cost, interval=found.interval, p=found.welch_p)
            yield Suspicion(subject, platform, base, compared, "which has fewer layers")


def _caveats() -> Iterator[Finding]:
    yield Finding(
        Sort.CAVEAT,
        "all tables",
        "Each platform was measured on its own, in a row. What the machine did in between counts "
        "as a difference of the platforms, and no test repairs that: in our replay of real noise "
        "such designs called identical platforms different in 31 to 58 % of studies (METHOD 3.8).",
    )
    yield Finding(
        Sort.CAVEAT,
        "all tables",
        "The data hold no percentages of the study: differences are computed from its averages.",
    )
