"""A ranking of platforms for a mix of work, as ``tare advise`` prints it and as facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from tare.core.model.group import Group
from tare.core.parameter import unit_of, word_of
from tare.present.terminal.tables import Field, plain, print_lines, print_table
from tare.present.view.names import neighbour_text
from tare.present.view.numbers import NONE, cost_text, costs_text, scale_for, share_text
from tare.present.view.reasons import reason_text
from tare.results.compare.result_set import ResultSet
from tare.results.questions.advice import Advice
from tare.results.questions.constraints import Constrained, Keeps, Lives, NextTo, Source
from tare.results.questions.mix_costs import Mix
from tare.results.questions.places import Place
from tare.results.questions.reversals import Gap, Swap

Names = Callable[["Group"], str]


def as_json(found: Advice, mix: Mix, names: Names) -> dict[str, Any]:
    """Return advice as plain data; ratios to the baseline, infinite ends as the text "inf"."""
    return {
        "mix": [
            {"workload": names(key), "params": dict(key[1]), "share": share}
            for key, share in mix.shares.items()
        ],
        "constraints": {k: v for k, v in asdict(mix.constraints).items() if v is not None},
        "first": list(found.first),
        "untrusted": [names(key) for key in found.untrusted],
        "platforms": [_place_json(place, names) for place in found.places],
        "swaps": [
            {**asdict(one), "workload": None if one.workload is None else names(one.workload)}
            for one in found.swaps
        ],
        "left_out": [
            {"workload": names(one.workload), "first": one.first} for one in found.left_out
        ],
        "missing": [_gap_json(one, names) for one in found.missing],
        "undecided": [_gap_json(one, names) for one in found.undecided],
    }


def _place_json(place: Place, names: Names) -> dict[str, Any]:
    worst, without = place.worst, place.without
    return {
        "platform": place.platform,
        "rank": place.rank,
        "excluded": place.is_excluded,
        "slowdown": plain(place.slowdown),
        "low": plain(place.low),
        "high": plain(place.high),
        "tied": place.letters,
        "geometric_index": plain(place.index),
        "worst": None if worst is None else {"workload": names(worst[0]), "cost": worst[1]},
        "leave_one_out": None if without is None else list(without),
        "workloads_with_a_cost": place.measured,
        "completed": place.completed,
        "trials": place.trials,
        "constraints": [_constraint_json(one) for one in place.constraints],
    }


def _constraint_json(one: Constrained) -> dict[str, Any]:
    return {
        "name": one.name,
        "limit": one.limit,
        "keeps": one.keeps.value,
        "value": plain(one.value),
        "low": plain(one.low),
        "high": plain(one.high),
        "n": one.n,
        "source": _source_text(one.source),
        "reason": reason_text(one.reason),
    }


def _source_text(source: Source | None) -> str:
    """Return where the values of a constraint are from."""
    if source is None:
        return ""
    if isinstance(source, NextTo):
        worst = f"{source.group[0]} with {neighbour_text(source.neighbour)}"
        return f"study of neighbours: {worst}, the worst of {source.rows}"
    if not isinstance(source, Lives):
        return "opening its instances in this study"
    metrics = " and ".join(source.metrics)
    return f"lifecycle study: {metrics}, {source.at_once} at once, cache {source.cache}"


def _gap_json(gap: Gap, names: Names) -> dict[str, Any]:
    workload = None if gap.workload is None else names(gap.workload)
    return {"platform": gap.platform, "workload": workload, "reason": reason_text(gap.reason)}


_LEGEND = (
    "Slowdown: how many times as long the mix takes as on {}, shares of time times costs, with an "
    "interval of 95 %. Platforms that share a letter are tied. Trials: those that ran to their end."
)

_LEGEND_EXTREMES = (
    "Worst: the largest cost in the mix. Left out: the least and the largest slowdown without one "
    "workload. Index: the weighted geometric mean of the costs, which is no time."
)

_LEGEND_CONSTRAINTS = (
    "Medians, which are held to the limit; with the least and the largest value. Of a loss to a "
    "neighbour the worst, whose interval is held to it."
)


def show(side: ResultSet, found: Advice, mix: Mix, names: Names) -> None:
    """Print the ranking, and what it rests on."""
    console = Console()
    parts = ", ".join(f"{share_text(share)} {names(key)}" for key, share in mix.shares.items())
    console.print(Text.assemble((f"{side.plan.study}: advice for a mix", "bold"), f" of {parts}"))
    for line in _first(found):
        console.print(Text(line))
    for key in found.untrusted:
        control = f"the A/A control of {names(key)} differs from its baseline."
        console.print(Text(f"NOT TRUSTED: {control}", "bold red"))
    console.print()
    _show_ranking(console, found)
    console.print(Text(_LEGEND.format(side.plan.reference), "dim"))
    console.print()
    _show_extremes(console, found, names)
    console.print(Text(_LEGEND_EXTREMES, "dim"))
    limited = mix.constraints.limits
    if limited:
        console.print()
        _show_constraints(console, found, limited)
        console.print(Text(_LEGEND_CONSTRAINTS, "dim"))
    print_lines(console, "WHAT WOULD CHANGE THE RANKING", _changes(found, names))
    print_lines(console, "MISSING MEASUREMENTS", _gaps(found.missing, names))
    print_lines(console, "UNDECIDED, AND IT MATTERS", _gaps(found.undecided, names))


def _first(found: Advice) -> Iterator[str]:
    ranked = [place for place in found.places if place.rank is not None]
    if not ranked:
        yield "No platform can be recommended: none has all costs and keeps the constraints."
        return
    best = ranked[0]
    numbers = " ".join(_slowdown(best))
    others = [name for name in found.first if name != best.platform]
    tied = f", tied with {', '.join(others)}" if others else ""
    yield f"{best.platform} comes first with {numbers}{tied}."
    unknown = " and ".join(word_of(one.name) for one in best.constraints if one.reason)
    if unknown:
        yield f"Whether it keeps {unknown} is not known: see the missing measurements."
    undecided = [word_of(one.name) for one in best.constraints if one.keeps is Keeps.UNDECIDED]
    if undecided:
        yield f"Whether it keeps {' and '.join(undecided)} is undecided: more blocks may tell."


def _slowdown(place: Place) -> tuple[str, str]:
    """Write a platform's slowdown and its interval."""
    ends = place.low, place.high
    return cost_text(place.slowdown, *ends), costs_text(*ends, place.slowdown)


def _show_ranking(console: Console, found: Advice) -> None:
    fields = (
        *map(Field, ("rank", "platform")),
        *(Field("slowdown", number=True), Field("95 %", number=True, weight=2)),
        *(Field("tied", number=True), Field("trials", number=True, weight=1)),
    )
    lines = []
    for place in found.places:
        texts = (
            NONE if place.rank is None else str(place.rank),
            place.platform,
            *(*_slowdown(place), place.letters),
            f"{place.completed} of {place.trials}",
        )
        lines.append([Text(text, "dim" if place.rank is None else "") for text in texts])
    print_table(console, fields, lines)


def _show_extremes(console: Console, found: Advice, names: Names) -> None:
    fields = (
        *map(Field, ("platform", "worst")),
        *(Field("left out", number=True, weight=2), Field("index", number=True, weight=1)),
    )
    lines = []
    for place in found.places:
        worst = NONE
        if place.worst is not None:
            worst = f"{cost_text(place.worst[1])} {names(place.worst[0])}"
        left_out = costs_text(*(place.without or (None, None)))
        lines.append((place.platform, worst, left_out, cost_text(place.index)))
    print_table(console, fields, lines)


def _show_constraints(console: Console, found: Advice, limited: Mapping[str, float]) -> None:
    most = [f"{word_of(name)}, at most {_amount(name, limit)}" for name, limit in limited.items()]
    lines = [
        [Text(place.platform), *map(_constrained, place.constraints)] for place in found.places
    ]
    print_table(console, [*map(Field, ("platform", *most))], lines)


def _constrained(one: Constrained) -> Text:
    if one.value is None:
        return Text(one.keeps.value, "yellow")
    spread = "1 value"
    if isinstance(one.source, NextTo):
        ends = [_amount(one.name, end) for end in (one.low, one.high) if end is not None]
        worst = f"{one.source.group[0]}, {neighbour_text(one.source.neighbour)}"
        text = f"{_amount(one.name, one.value)} [{' to '.join(ends)}] ({worst}), {one.keeps.value}"
        return Text(text, _STYLES[one.keeps])
    if one.low is not None and one.high is not None and one.n > 1:
        spread = f"{_amount(one.name, one.low)} to {_amount(one.name, one.high)} of {one.n}"
    return Text(f"{_amount(one.name, one.value)} ({spread}), {one.keeps.value}", _STYLES[one.keeps])


_STYLES = {Keeps.BROKEN: "red", Keeps.KEPT: "green", Keeps.UNDECIDED: "yellow"}


def _amount(name: str, value: float) -> str:
    unit = unit_of(name)
    return share_text(value) if unit is None else scale_for(unit, [value]).full(value)


def _changes(found: Advice, names: Names) -> Iterator[str]:
    yield from _of_weights(found, names)
    for place in found.places:
        if place.is_excluded and place.slowdown is not None:
            needed = " and ".join(
                f"{word_of(one.name)} might be {_amount(one.name, one.value)} "
                f"instead of {_amount(one.name, one.limit)}"
                for one in place.constraints
                if one.keeps == "broken" and one.value is not None
            )
            yield f"{place.platform} would be ranked, with {_slowdown(place)[0]}, if {needed}."


def _of_weights(found: Advice, names: Names) -> Iterator[str]:
    """Return which weights would change it."""
    ranked = [place.platform for place in found.places if place.rank is not None]
    if len(ranked) < 2:
        yield "No weight: there are no two platforms to be ranked."
        return
    if found.places[0].without is None:
        yield "No weight: the mix is of one workload."
        return
    for one in found.swaps:
        yield _swap(one, names)
    for left in found.left_out:
        yield f"Without {names(left.workload)}, {left.first} would be first: it drives the ranking."
    if not found.left_out:
        tied = ", or tied with the first," if len(found.first) > 1 else ""
        yield f"{ranked[0]} stays first{tied} whichever workload is left out."


def _swap(one: Swap, names: Names) -> str:
    if one.workload is None:
        return (
            f"No change of a single weight: whatever share one workload has, {one.before} stays "
            f"before {one.behind}."
        )
    return (
        f"{one.before} and {one.behind} would be equal if {names(one.workload)} had "
        f"{share_text(one.needed)} of the time instead of {share_text(one.share)}."
    )


def _gaps(gaps: Iterable[Gap], names: Names) -> Iterator[str]:
    """Return what is missing, one line for each reason."""

    grouped: dict[tuple[str, str], list[str]] = {}
    for gap in gaps:
        where = "" if gap.workload is None else names(gap.workload)
        grouped.setdefault((where, reason_text(gap.reason)), []).append(gap.platform)
    for (where, reason), platforms in grouped.items():
        on = f"{where} on {', '.join(platforms)}" if where else ", ".join(platforms)
        yield f"{on}: {reason}"
