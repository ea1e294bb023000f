"""The words for what is to be known with a number: a sentence for each kind of flag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tare.core.model import Variant
from tare.present.view.causes import LOOKS, cause_text
from tare.present.view.reasons import UNACCOUNTED, reason_text
from tare.results.checks.causes import Cause, Look
from tare.results.checks.outliers import SHARES
from tare.results.compare.contention import Unaccounted
from tare.results.compare.flag import Flag, FlagKind
from tare.results.compare.reason import Reason
from tare.results.stats.ratio import ratio

SEEN = {
    "steal": "stolen CPU time",
    "foreign": "other work on its CPUs",
    "run_delay": "waiting for a CPU",
    "throttled": "throttled by its quota",
    "psi_memory_some": "memory pressure",
    "psi_io_some": "I/O pressure",
    "swapped_pages": "swapped pages",
    "major_faults": "major faults",
    "heat_throttles": "heat throttlings",
}
"""What the host saw during an outlier, by the names of ``tare.results.checks.outliers``."""

_NOT_TRUSTED = (
    "NOT TRUSTED: the A/A control, the same platform measured twice, differs from its baseline."
)
_STEADY = "pairs are of one block and in random order, so the cost does not follow it"
_SWAPPED = "it is swapped between blocks, so this widens the interval and moves nothing."


def flag_texts(flags: Iterable[Flag]) -> tuple[str, ...]:
    """Word flags."""
    return tuple(map(flag_text, flags))


def flag_text(flag: Flag) -> str:
    """Word a flag."""
    words = _WORDS[flag.kind]
    return words.format(**flag.values) if isinstance(words, str) else words(**flag.values)


def size(log: float) -> str:
    """Return how large a difference is, whichever way it goes."""
    return f"{100 * (ratio(abs(log)) - 1):.2g} %"


def percent(log: float) -> str:
    """Return a difference with its sign; from 100 % on in full, not as a power of ten."""
    change = 100 * (ratio(log) - 1)
    text = f"{change:+,.0f}" if 100 <= abs(change) < 1e6 else f"{change:+.2g}"
    return f"{text} %".replace("-", "\N{MINUS SIGN}")


def chance(p: float) -> str:
    """Return a p value."""
    return f"p {p:.1g}" if p >= 0.001 else "p < 0.001"


def _no_ratio(values: int, *, zero: bool) -> str:
    impossible = "zero, negative" if zero else "negative"
    return (
        f"{values} values are {impossible} or not finite and have no ratio: they count as failed."
    )


def _run_again(trials: int) -> str:
    counted = "1 trial was" if trials == 1 else f"{trials} trials were"
    return f"{counted} run again; the last good one of a block counts."


def _variant_unknown(variant: Variant, trials: int, why: Unaccounted) -> str:
    return f"The {variant.value} variant of {trials} trials is not known: {UNACCOUNTED[why]}."


def _no_cost(why: Reason | None) -> str:
    return f"No cost is given: {reason_text(why)}."


def _instances_differ(icc: float, p: float, instances: int, blocks: int, *, sure: bool) -> str:
    differ = "differ" if sure else "may differ"
    return (
        f"Instances {differ} (ICC {icc:.2f}, p {p:.2g}): {instances} instances "
        f"are the replicates, not {blocks} blocks."
    )


def _few_instances(instances: int) -> str:
    each = "one instance" if instances == 1 else f"{instances} instances"
    return (
        f"Measured in {each} of each platform, too few to tell whether instances differ; if "
        "they do, the interval is too narrow."
    )


def _single_instance(sides: Sequence[str]) -> str:
    return (
        f"One instance of each platform in {' and '.join(sides)}: if instances differ, what "
        "looks like a change may be the luck of one."
    )


def _refuted(verdict: str, decided_at: int, look: int, *, early: bool) -> str:
    by_chance = ", or so few pairs were chance" if early else ""
    return (
        f"Called {verdict} at {decided_at} pairs, which the interval of {look} pairs refutes: the "
        f"cost changed in between{by_chance}."
    )


def _below_floor(floor: float) -> str:
    return f"Below the noise floor of {100 * floor:.2g} %."


def _unlike(said: Sequence[str]) -> str:
    return f"Unlike its baseline: {'; '.join(said)}."


def _baseline_unlike(said: Sequence[str]) -> str:
    return f"The baseline: {'; '.join(said)}."


def _not_direct(share: float, *, of_baseline: bool) -> str:
    whose = "The baseline's " if of_baseline else ""
    return (
        f"{whose}O_DIRECT was not direct: the host's disks moved {100 * share:.0f} % of the bytes "
        "that the tool claims (median of the trials)."
    )


def _implausible(
    causes: Sequence[Cause], hints: Sequence[Cause], clean: Sequence[Look], unknown: Sequence[Look]
) -> str:
    parts = [
        ("differs and may be why", "; ".join(map(cause_text, hints))),
        ("checked", ", ".join(LOOKS[one] for one in clean)),
        ("not known here", ", ".join(LOOKS[one] for one in unknown)),
    ]
    texts = "; ".join(f"{title}: {text}" for title, text in parts if text)
    explained = "; ".join(map(cause_text, causes))
    found = f"EXPLAINED ({explained})." if causes else f"UNEXPLAINED ({texts})."
    return f"IMPLAUSIBLE: faster than its baseline, and by more than the noise floor. {found}"


def _not_steady(declared: int, cut: int, speedup: float, p: float, later: int | None) -> str:
    trials = "trial" if declared == 1 else "trials"
    became = "faster" if speedup > 0 else "slower"
    more = "" if later is None else f" Later instances have {later} warm-ups."
    return (
        f"Not steady: after {declared} warm-up {trials} they still became "
        f"{100 * abs(speedup):.2g} % {became} ({cut} more in each instance, p {p:.2g}); they are "
        f"all counted.{more}"
    )


def _cost_drift(change: float, tau: float, p: float) -> str:
    return (
        f"Drift: the cost itself {'rose' if change > 0 else 'fell'} by {size(change)} from the "
        f"first third of the pairs to the last (tau {tau:.2f}, {chance(p)}); what is given is a "
        "middle of that."
    )


def _cost_regimes(levels: Sequence[tuple[int, float]]) -> str:
    return f"The cost differs by regime: {_levels(levels)}."


def _baseline_drift(change: float, tau: float, p: float) -> str:
    return (
        f"Drift: the baseline became {size(change)} {'worse' if change > 0 else 'better'} from the "
        f"first third of the session to the last (tau {tau:.2f}, {chance(p)}); {_STEADY}."
    )


def _baseline_regimes(levels: Sequence[tuple[int, float]]) -> str:
    return (
        f"Measured across {len(levels) + 1} regimes of the host: against its beginning, the "
        f"baseline cost {_levels(levels)}; {_STEADY}."
    )


def _levels(levels: Sequence[tuple[int, float]]) -> str:
    return ", ".join(f"{percent(level)} from block {at}" for at, level in levels)


def _neighbours(correlation: float, p: float) -> str:
    return (
        f"Neighbouring pairs are not independent (lag-1 autocorrelation {correlation:.2f}, "
        f"{chance(p)}): another session may differ by more than the interval says."
    )


def _two_modes(gap: float, lower: int, upper: int, p: float, *, of_baseline: bool) -> str:
    what = "the baseline's values" if of_baseline else "the pairs"
    return (
        f"Two modes: {what} lie around two levels, {size(gap)} apart, {lower} at the lower and "
        f"{upper} at the upper (dip test, {chance(p)})."
    )


def _order(worst: int, best: int, gap: float, p: float) -> str:
    return (
        f"Order matters: what is measured in place {worst + 1} of its block costs {size(gap)} more "
        f"than in place {best + 1} (permutation test, {chance(p)}); the order is random, so this "
        "widens the interval and moves nothing."
    )


def _outliers(outliers: int, pairs: int, far: float, listed: Sequence[Mapping[str, Any]]) -> str:
    texts = [f"block {one['block']}, {percent(one['change'])} ({_seen(one)})" for one in listed]
    more = f"; and {outliers - len(listed)} more" if outliers > len(listed) else ""
    return (
        f"{outliers} of {pairs} pairs are outliers, more than {far:g} deviations from the cost, "
        f"and are kept: {'; '.join(texts)}{more}."
    )


def _seen(outlier: Mapping[str, Any]) -> str:
    """Return what the host saw during either trial of an outlier that stands out."""
    own = [_unusual(*one) for one in outlier["own"].items()]
    base = [f"baseline: {_unusual(*one)}" for one in outlier["baseline"].items()]
    nothing = "the host shows no cause" if outlier["read"] else "nothing was read on the host"
    return ", ".join([*own, *base]) or nothing


def _unusual(name: str, value: float) -> str:
    words = SEEN[name]
    return f"{words} {100 * value:.0f} %" if name in SHARES else f"{value:.0f} {words}"


def _effect(effect: Mapping[str, Any]) -> str:
    """Return how two ways of measuring a pair differ, by the effect on each half."""
    more = "more" if effect["shift"] > 0 else "less"
    counts = f"{effect['ones']} and {effect['others']} pairs"
    return f"{size(effect['shift'])} {more} ({chance(effect['p'])}, {counts})"


def _cores(first: str, second: str, effect: Mapping[str, Any]) -> str:
    return f"Cores differ: CPUs {first} against CPUs {second} cost {_effect(effect)}; {_SWAPPED}"


def _start_order(effect: Mapping[str, Any]) -> str:
    return f"Start order matters: what is started first costs {_effect(effect)}; {_SWAPPED}"


def _control_by_cores(sides: Sequence[tuple[str, float, float]]) -> str:
    texts = " and ".join(f"{percent(log)} on CPUs {name} ({chance(p)})" for name, log, p in sides)
    return f"By cores, the A/A control is not its baseline: {texts}."


def _not_together(share: float) -> str:
    return (
        f"The halves ran together for only {100 * share:.0f} % of the longer one's time: noise of "
        "the rest is not common to both."
    )


def _no_common_noise(tau: float | None, p: float | None) -> str:
    known = tau is not None and p is not None
    texts = f"tau {tau:.2f}, {chance(p or 0.0)}" if known else "they do not vary"
    return (
        f"Noise that is common to both halves is not shown ({texts}): without it a duet is no more "
        "exact than interleaving."
    )


_WORDS: Mapping[FlagKind, str | Callable[..., str]] = {
    FlagKind.FAILED: "Failed in {failed} of {pairs} pairs, which count as the worst value.",
    FlagKind.BASELINE_FAILED: (
        "The baseline failed in {failed} of {pairs} pairs, which count as the best value."
    ),
    FlagKind.BOTH_FAILED: ("Left out {blocks} blocks in which both failed: they favour neither."),
    FlagKind.NO_RATIO: _no_ratio,
    FlagKind.ZERO: (
        "It had 0 in {zeros} of {pairs} pairs, which has no ratio: it is better in them."
    ),
    FlagKind.BASELINE_ZERO: (
        "The baseline had 0 in {zeros} of {pairs} pairs, which has no ratio: it is better in them."
    ),
    FlagKind.BOTH_ZERO: "Both had 0 in {zeros} of {pairs} pairs, which count as equal.",
    FlagKind.DISTURBED: "Suspect in {suspect} of {pairs} pairs: the host was disturbed.",
    FlagKind.LIMITED_OUTSIDE: (
        "Limited by the machine outside in {suspect} of {pairs} pairs: it was busy, and what is "
        "compared may be its own number on both sides."
    ),
    FlagKind.SHARED_WITH_OUTSIDE: (
        "The machine outside shared the trial's CPUs in {suspect} of {pairs} pairs."
    ),
    FlagKind.OFF_LEVEL: (
        "In {suspect} of {pairs} pairs the neighbours' resource was used more or less than the "
        "level asks for."
    ),
    FlagKind.BASELINE_MISSING: (
        "Left out {blocks} blocks in which the baseline has no number and did not fail."
    ),
    FlagKind.OTHER_SESSION: (
        "Left out {blocks} blocks whose two trials are of different sessions."
    ),
    FlagKind.OTHER_ENTRY: (
        "Left out {blocks} blocks in which a command entered its machine in another way (anew, or "
        "by an agent) than in most."
    ),
    FlagKind.NO_METRIC: (
        "Left out {blocks} blocks in which the cell has no number of this metric."
    ),
    FlagKind.RUN_AGAIN: _run_again,
    FlagKind.VARIANT_UNKNOWN: _variant_unknown,
    FlagKind.PARALLEL_DELAY: (
        "Foreign delay is the mean of up to {threads} threads at once, which assumes that they "
        "work independently."
    ),
    FlagKind.REFUTED: _refuted,
    FlagKind.DECIDED_EARLY: (
        "Decided early, by few pairs: the direction is sure, the size may be off by a factor; the "
        "interval says by how much."
    ),
    FlagKind.NO_COST: _no_cost,
    FlagKind.HOLDS_ONE_AGAIN: (
        "Decided at {decided_at} pairs; the interval of {look} pairs holds 1 again."
    ),
    FlagKind.INSTANCES_DIFFER: _instances_differ,
    FlagKind.FEW_INSTANCES: _few_instances,
    FlagKind.NOT_TRUSTED: _NOT_TRUSTED,
    FlagKind.BELOW_FLOOR: _below_floor,
    FlagKind.QUEUEING: (
        "The platform causes queueing: {wall} by wall time, {corrected} less foreign delay; with "
        "the same other work it waits for a CPU in another way than its baseline."
    ),
    FlagKind.UNLIKE_BASELINE: _unlike,
    FlagKind.BASELINE_UNLIKE: _baseline_unlike,
    FlagKind.NOT_DIRECT: _not_direct,
    FlagKind.IMPLAUSIBLE: _implausible,
    FlagKind.NOT_STEADY: _not_steady,
    FlagKind.COST_DRIFT: _cost_drift,
    FlagKind.COST_REGIMES: _cost_regimes,
    FlagKind.BASELINE_DRIFT: _baseline_drift,
    FlagKind.BASELINE_REGIMES: _baseline_regimes,
    FlagKind.NEIGHBOURS_ALIKE: _neighbours,
    FlagKind.TWO_MODES: _two_modes,
    FlagKind.ORDER_MATTERS: _order,
    FlagKind.OUTLIERS: _outliers,
    FlagKind.WITHOUT_OUTLIERS: "Without them the cost is {without:.4g} instead of {cost:.4g}.",
    FlagKind.CORES_DIFFER: _cores,
    FlagKind.START_ORDER_MATTERS: _start_order,
    FlagKind.CONTROL_BY_CORES: _control_by_cores,
    FlagKind.NOT_TOGETHER: _not_together,
    FlagKind.NO_COMMON_NOISE: _no_common_noise,
    FlagKind.SIDE_NOT_TRUSTED: "In {side}: " + _NOT_TRUSTED,
    FlagKind.SIDE_FAILED: "In {side}: {failed} of {trials} trials failed.",
    FlagKind.OTHER_STUDY: "The studies are called {before} (A) and {after} (B).",
    FlagKind.HOST_NOT_STORED: "{side} says nothing of its host: what changed there is not known.",
    FlagKind.USERLAND_NOT_STORED: (
        "{side} does not say which userland it ran, so that the tools may be others."
    ),
    FlagKind.SINGLE_INSTANCE: _single_instance,
}
