"""The words for why there is no number: a clause for each kind of reason, for any sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tare.core.model import Limits, Metric, Variant
from tare.core.parameter import word_of
from tare.present.view.values import as_read, few, value_text, whole_limits
from tare.results.compare.contention import Unaccounted
from tare.results.compare.reason import Reason, ReasonKind
from tare.results.questions.fact_differences import Changed
from tare.results.questions.matching import Unlike

CANNOT = "this host cannot do it"
"""What is said of a trial that was unavailable and stored no reason."""

UNACCOUNTED = {
    Unaccounted.NOT_READ: "its threads were not read on this host",
    Unaccounted.NO_DURATION: "how long it took is not known",
    Unaccounted.NO_TIME_LEFT: "no time is left of it",
    Unaccounted.ENDED_UNSEEN: "threads ended unseen, with a delay nobody knows",
    Unaccounted.NO_DELAY: (
        "no thread was seen at work, or an older Tare did not tell foreign delay from other"
    ),
}


def reason_text(reason: Reason | None) -> str:
    """Word a reason; nothing where there is none."""
    if reason is None:
        return ""
    words = _WORDS[reason.kind]
    return words.format(**reason.values) if isinstance(words, str) else words(**reason.values)


def why_text(why: str | Reason) -> str:
    """Word a reason of ``tare.results.published``, whose studies give theirs as texts."""
    return why if isinstance(why, str) else reason_text(why)


def unlike_text(one: Unlike) -> str:
    """Word one thing in which two cells differ."""
    changed = one.changed
    values = [as_read(changed.name, value) for value in (changed.before, changed.after)]
    # A cell has one stack, but many settings, parameters and limits.
    named = (
        one.aspect.value if changed.name == one.aspect else f"{one.aspect} {word_of(changed.name)}"
    )
    return f"{named} {values[0]} in A, {values[1]} in B"


def _unavailable(said: str) -> str:
    return said or CANNOT


def _baseline_unavailable(why: Reason) -> str:
    return f"the baseline is unavailable: {reason_text(why)}"


def _platform_unavailable(platform: str, why: Reason) -> str:
    return f"{platform} is unavailable: {reason_text(why)}"


def _last(said: str) -> str:
    return f"; the last reason: {said}" if said else ""


def _no_common_number(said: str) -> str:
    return f"no block has a number of both it and the baseline{_last(said)}"


def _baseline_gave_none(blocks: int, said: str) -> str:
    return f"the baseline has no number in any of {blocks} blocks{_last(said)}"


def _gave_none(blocks: int, said: str) -> str:
    return f"it gave no number in any of {blocks} blocks{_last(said)}"


def _both_failed(blocks: int, said: str) -> str:
    return f"it and the baseline failed in all {blocks} blocks of both{_last(said)}"


def _variant_unknown(variant: Variant, unknown: Sequence[tuple[Unaccounted, int]]) -> str:
    reasons = ", ".join(f"{UNACCOUNTED[why]} ({trials} trials)" for why, trials in unknown)
    return f"its {variant.value} variant is not known: {reasons}"


def _no_ratio(failed: int, zeros: int, pairs: int) -> str:
    whys = ["too many pairs failed"] if failed else []
    if zeros:
        whys.append(f"in {zeros} of {pairs} pairs one side had 0, which has no ratio")
    return " and ".join(whys)


def _not_on_baseline(path: Sequence[str]) -> str:
    return f"it does not stand on the baseline, {'/'.join(path)}"


def _layer_not_in_plan(path: Sequence[str]) -> str:
    return f"{'/'.join(path)} with the same settings is not in the plan"


def _constraint(name: str, why: Reason) -> str:
    return f"{word_of(name)}: {reason_text(why)}"


def _startup(limits: Limits, elsewhere: Sequence[Limits]) -> str:
    return _of_lifecycle("how long it starts", limits, elsewhere)


def _memory(limits: Limits, elsewhere: Sequence[Limits]) -> str:
    return _of_lifecycle("what it takes of its host", limits, elsewhere)


def _of_lifecycle(what: str, limits: Limits, elsewhere: Sequence[Limits]) -> str:
    named = " and ".join(map(whole_limits, elsewhere))
    other = (
        f"; the named ones have it with {named}, this study has {whole_limits(limits)}: run one so"
    )
    asked = f"{what}: name results of a lifecycle study of it as well"
    return asked + (other if elsewhere else "")


def _isolation(workloads: Sequence[str], stressor: str | None) -> str:
    neighbour = f"a neighbour {stressor}" if stressor else "a neighbour"
    return (
        f"what {', '.join(workloads)} loses next to {neighbour}: name results of a study of "
        "neighbours (scenario: isolation) of it under the same limits as well"
    )


def _may_pass(low: float, high: float, platforms: Sequence[str]) -> str:
    return (
        f"its cost is anywhere from {low:.3f} to {high:.3f}, which alone can move "
        f"it past {', '.join(platforms)}"
    )


def _other_baselines(unlike: Sequence[Unlike]) -> str:
    return f"the baselines are not the same: {', '.join(map(unlike_text, unlike))}"


def _of_sides(sides: Sequence[tuple[str, Reason]]) -> str:
    return "; ".join(f"{name}: {reason_text(why)}" for name, why in sides)


def _otherwise(unlike: Sequence[Unlike]) -> str:
    return f"B measured it otherwise: {few(map(unlike_text, unlike), ', ')}"


def _same_session(before: tuple[int, int], after: tuple[int, int]) -> str:
    sides = [f"{n} of {name}'s {of} trials" for name, (n, of) in (("A", before), ("B", after))]
    return (
        f"{sides[0]} and {sides[1]} were measured in the same session: one is a copy or an "
        "earlier state of the other, or both go on from one"
    )


def _other_userland(versions: Sequence[Changed]) -> str:
    each = [f"{v.name} {value_text(v.before)} and {value_text(v.after)}" for v in versions]
    packages = f" ({few(each, ', ')})" if each else ""
    return f"the userland inside is another{packages}"


def _other_metric(before: Metric, after: Metric) -> str:
    each = [f"{one.name} ({one.unit.value}, {one.better.value})" for one in (before, after)]
    return f"its first metric is {each[0]} in A and {each[1]} in B"


def _other_files(names: Sequence[str]) -> str:
    return f"the files inside that it measures with are others: {few(names, ', ')}"


def _no_cost_here(why: Reason, *, unavailable: bool) -> str:
    return f"{'unavailable' if unavailable else 'no cost'}: {reason_text(why)}"


def _several(reasons: Sequence[Reason]) -> str:
    return "; ".join(dict.fromkeys(map(reason_text, reasons)))


_WORDS: Mapping[ReasonKind, str | Callable[..., str]] = {
    ReasonKind.NOT_STARTED: "no trial has been measured yet",
    ReasonKind.UNAVAILABLE: _unavailable,
    ReasonKind.TRIAL_SAID: "{said}",
    ReasonKind.NO_BASELINE: "the plan has no baseline cell for it",
    ReasonKind.BASELINE_UNAVAILABLE: _baseline_unavailable,
    ReasonKind.NO_COMMON_NUMBER: _no_common_number,
    ReasonKind.BASELINE_GAVE_NONE: _baseline_gave_none,
    ReasonKind.GAVE_NONE: _gave_none,
    ReasonKind.BOTH_FAILED: _both_failed,
    ReasonKind.VARIANT_UNKNOWN: _variant_unknown,
    ReasonKind.NO_METRIC: "its trials do not have the metric {metric}",
    ReasonKind.BASELINE_MISSING: "the baseline has no number in any of its {blocks} blocks",
    ReasonKind.NO_RATIO: _no_ratio,
    ReasonKind.NO_SIZE: "its cost has no size",
    ReasonKind.NO_SWITCH: "no switch had an effect",
    ReasonKind.PLATFORM_UNAVAILABLE: _platform_unavailable,
    ReasonKind.BLOCKS_FAILED: "too many of its blocks failed",
    ReasonKind.NO_COMMON_BLOCK: "no block has all its platforms",
    ReasonKind.FEW_BLOCKS: "too few blocks for an interval",
    ReasonKind.NOT_ON_BASELINE: _not_on_baseline,
    ReasonKind.LAYER_NOT_IN_PLAN: _layer_not_in_plan,
    ReasonKind.NO_FINITE_INTERVAL: "{platform} has no cost with a finite interval",
    ReasonKind.NOT_IN_STUDY: "the study does not measure it",
    ReasonKind.BASELINE_WITHOUT_NUMBER: "no trial of the baseline has a number",
    ReasonKind.CONSTRAINT: _constraint,
    ReasonKind.STARTUP_NOT_MEASURED: _startup,
    ReasonKind.MEMORY_NOT_MEASURED: _memory,
    ReasonKind.ISOLATION_NOT_MEASURED: _isolation,
    ReasonKind.NO_INTERVAL_YET: "its cost of {cost:.3f} has no interval yet",
    ReasonKind.MAY_OVERTAKE: _may_pass,
    ReasonKind.SEARCHED_RATE: (
        "its trials look for a rate, and how much they do meanwhile is not reported"
    ),
    ReasonKind.NO_AMOUNT: "its first metric, {metric}, does not say how much work a trial did",
    ReasonKind.NO_WORK: "no two trials of a block say what they did",
    ReasonKind.NO_COUNTERS: "no trial has stored counters",
    ReasonKind.NOT_READ_TOGETHER: "not read on both in the same block",
    ReasonKind.NOT_READ_ON_BASELINE: "not read on the baseline",
    ReasonKind.NOT_READ_HERE: "not read here",
    ReasonKind.ZERO_ON_BOTH: "0 on both sides",
    ReasonKind.ZERO_TOO_OFTEN: "one side has 0 too often for a ratio",
    ReasonKind.BASELINE_IN_ONE: "it is the baseline in {side} alone",
    ReasonKind.OTHER_BASELINES: _other_baselines,
    ReasonKind.TRIALS_WITHOUT_NUMBER: "none of its trials has a number",
    ReasonKind.TRIALS_FAILED: "too many of its trials failed",
    ReasonKind.OF_SIDES: _of_sides,
    ReasonKind.NO_RATIO_OF_TRIALS: "too many trials have no ratio",
    ReasonKind.FEW_TRIALS: "too few trials for an interval",
    ReasonKind.NO_CELL: "A has no cell",
    ReasonKind.NO_PARTNER: "B has no {workload} on {platform}",
    ReasonKind.MEASURED_OTHERWISE: _otherwise,
    ReasonKind.SAME_SESSION: _same_session,
    ReasonKind.OTHER_DESIGN: "the design is {before.value} in A and {after.value} in B",
    ReasonKind.OTHER_VARIANT: "A decides by the variant {before.value}, B by {after.value}",
    ReasonKind.OTHER_USERLAND: _other_userland,
    ReasonKind.OTHER_METRIC: _other_metric,
    ReasonKind.OTHER_FILES: _other_files,
    ReasonKind.FEW_PAIRS: "{pairs} pairs are too few",
    ReasonKind.VARIANT_UNKNOWN_HERE: "the {variant.value} variant is not known here",
    ReasonKind.NO_COST_HERE: _no_cost_here,
    ReasonKind.NOT_IN_DUET: (
        "not comparable: in a duet each platform is compared with {reference} alone"
    ),
    ReasonKind.NO_METRIC_OF: "{workload} gave no {metric} here",
    ReasonKind.NO_PLATFORM: "no platform in these results is {platform}",
    ReasonKind.NO_BASELINE_PLATFORM: "no platform in these results is its baseline, {platform}",
    ReasonKind.SEVERAL: _several,
}
