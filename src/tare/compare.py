"""Stored trials become costs and verdicts; a pure function of the plan and the trials.

A cell is compared with the *baseline cell* that has its workload, parameters and limits, block by
block. A *cost* is a ratio that is above 1 if the cell is worse, whichever way the metric improves.

**Looks.** Pairs are taken in order of block. A comparison looks at its first 8, 11, 15, ... pairs
and never in between (``tare.stats.looks``); when the last planned block has been run, what there is
is the last look. The cost and the interval printed are those of the last look reached; later pairs
wait for the next one. All intervals of all looks hold together with 95 %. The verdict and the stop
reason are those of the first look at which the interval left out 1 or lay inside the margin, and
stay: the cell could leave the study then, so what comes later must not take it back.

**Failures.** A trial that failed or did not respond is the worst value there is: it keeps its rank
in the test, and no cost is given if a quarter of the pairs are such. A block whose baseline has no
number makes no pair. Both are counted and said beside the number.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tare.model import (
    Better,
    Cell,
    Kind,
    Limits,
    Metric,
    Params,
    Plan,
    Repetition,
    Scalar,
    Status,
    Trial,
)
from tare.stats.description import Description, describe, spread
from tare.stats.holm import holm
from tare.stats.power import detectable
from tare.stats.schedule import level
from tare.stats.sequential import Judgement, Rule, Stop, Verdict
from tare.stats.signed_rank import Array, Interval, estimate, interval

NO_COST_FROM = 0.25
"""The share of failed pairs from which on a cost would be made of the lucky trials only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One metric of one cell on its own.

    ``values`` describes the trials that gave a number, in the metric's unit. ``counts`` has one
    trial a block; ``repeated`` is how many others were measured in the same blocks and set aside.
    """

    cell: Cell
    metric: Metric
    values: Description | None
    counts: Mapping[Status, int]
    repeated: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One metric of one cell against its baseline.

    ``cost``, ``low`` and ``high`` are ratios, above 1 is worse; the interval is that of ``look``
    pairs, valid at every look together; either end can be infinite where trials failed. The
    ``fixed`` interval is an ordinary one of 95 % for the same pairs, too narrow for a number that
    was looked at repeatedly. Before the first look the cost is of all pairs and has no interval.
    ``spread`` is that of the pairs' log ratios; ``mde`` (what so many pairs would probably show)
    and ``noise_floor`` are ratios minus one.
    """

    cell: Cell
    baseline: Cell | None
    metric: Metric
    primary: bool
    level: float
    pairs: int = 0
    failed: int = 0
    left_out: int = 0
    suspect: int = 0
    look: int | None = None
    decided_at: int | None = None
    cost: float | None = None
    low: float | None = None
    high: float | None = None
    fixed_low: float | None = None
    fixed_high: float | None = None
    p: float | None = None
    holm_p: float | None = None
    verdict: Verdict = Verdict.NOT_MEASURED
    stop: Stop = Stop.NOT_YET
    reason: str = ""
    spread: float | None = None
    mde: float | None = None
    noise_floor: float | None = None
    flags: tuple[str, ...] = ()

    @property
    def degradation_percent(self) -> float | None:
        """How much worse than the baseline; positive is worse."""
        return None if self.cost is None else 100 * (self.cost - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """The cost of a stack beside the product of its layers' own costs.

    ``interaction`` is the stack's cost over that product: above 1, the layers hinder each other.
    Intervals hold at the level of the comparisons they are made of. Where something is missing,
    ``reason`` says what, and the numbers are None.
    """

    stack: Comparison
    layers: tuple[Comparison, ...] = ()
    product: float | None = None
    product_interval: Interval | None = None
    interaction: float | None = None
    interaction_interval: Interval | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparisons:
    """Everything that a study's trials say; in the order of the plan's cells and metrics.

    ``comparisons`` has a row for every cell but the baselines, A/A controls (``cell.control``) too.
    """

    summaries: tuple[Summary, ...]
    comparisons: tuple[Comparison, ...]
    attributions: tuple[Attribution, ...]


def compare(plan: Plan, trials: Iterable[Trial]) -> Comparisons:
    """Compare every cell with its baseline, on every metric of its workload."""
    histories = _histories(plan, trials)
    baselines = _baselines(plan)
    summaries, rows = [], []
    for cell in plan.cells:
        baseline = baselines.get(_group(cell))
        for metric in plan.metrics[cell.workload]:
            summaries.append(_summary(cell, metric, histories[cell.id]))
            if cell is not baseline:
                primary = metric == plan.metrics[cell.workload][0]
                row = Comparison(
                    cell=cell,
                    baseline=baseline,
                    metric=metric,
                    primary=primary,
                    level=level(plan.repetition.max_blocks),
                )
                rows.append(_measured(row, histories, plan.repetition))
    controls = {(_group(row.cell), row.metric.name): row for row in rows if row.cell.control}
    rows = [_beside(row, controls.get((_group(row.cell), row.metric.name))) for row in rows]
    rows = _with_holm(rows)
    return Comparisons(
        summaries=tuple(summaries),
        comparisons=tuple(rows),
        attributions=tuple(_attributions(rows)),
    )


def decided(plan: Plan, trials: Iterable[Trial]) -> set[str]:
    """List the ids of the cells that need no more blocks, by the primary metric of each.

    A cell is done when a stop reason other than "not yet" holds, and stays done. A cell that this
    host cannot run is done at once; one whose baseline cannot be run, or that has none, is done
    after ``min_blocks``. Baseline and control go on while any other cell of their workload,
    parameters and limits is open; a control that has only its baseline is a comparison as any.
    """
    histories = _histories(plan, trials)
    baselines = _baselines(plan)
    groups: dict[_Group, list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault(_group(cell), []).append(cell)
    done = set()
    for group, cells in groups.items():
        baseline = baselines.get(group)
        others = [cell for cell in cells if cell is not baseline]
        compared = [cell for cell in others if not cell.control] or others or cells
        closed = {cell.id for cell in compared if _is_done(cell, baseline, histories, plan)}
        done |= closed if len(closed) < len(compared) else {cell.id for cell in cells}
    return done


_Group = tuple[str, Params, Limits]


def _group(cell: Cell) -> _Group:
    """What two cells must share to be compared."""
    return cell.workload, cell.params, cell.limits


def _baselines(plan: Plan) -> dict[_Group, Cell]:
    return {
        _group(cell): cell
        for cell in plan.cells
        if cell.platform == plan.baseline and not cell.control
    }


@dataclass(slots=True)
class _History:
    """A cell's trials: by block, the measured one that counts."""

    trials: dict[int, Trial] = field(default_factory=dict)
    repeated: int = 0
    impossible: str | None = None

    @property
    def unavailable(self) -> str | None:
        """Why this host cannot do it, if it never could."""
        could = any(trial.status is not Status.UNAVAILABLE for trial in self.trials.values())
        return None if could else self.impossible


def _histories(plan: Plan, trials: Iterable[Trial]) -> dict[str, _History]:
    """Sort trials by cell and block; of several in one block the last good one counts."""
    histories = {cell.id: _History() for cell in plan.cells}
    for trial in trials:
        history = histories.get(trial.cell)
        if history is None:
            continue
        if trial.status is Status.UNAVAILABLE:
            history.impossible = trial.reason or "this host cannot do it"
        if trial.kind is not Kind.MEASURED:
            continue
        before = history.trials.get(trial.block)
        history.repeated += before is not None
        if before is None or trial.status is Status.OK or before.status is not Status.OK:
            history.trials[trial.block] = trial
    for history in histories.values():
        history.trials = dict(sorted(history.trials.items()))
    return histories


def _has_numbers(trial: Trial) -> bool:
    return trial.status is Status.OK or trial.status is Status.SUSPECT


def _summary(cell: Cell, metric: Metric, history: _History) -> Summary:
    numbers = [
        trial.samples[metric.name]
        for trial in history.trials.values()
        if _has_numbers(trial) and math.isfinite(trial.samples.get(metric.name, math.nan))
    ]
    return Summary(
        cell=cell,
        metric=metric,
        values=describe(numbers),
        counts=Counter(trial.status for trial in history.trials.values()),
        repeated=history.repeated,
    )


@dataclass(frozen=True, slots=True)
class _Pairs:
    """A cell's blocks beside its baseline's."""

    log_ratios: Array
    """In order of block; positive is worse, +inf failed."""
    suspect: int
    baseline_missing: int
    absent: int
    """Blocks left out because the cell's own trial has no number of this metric."""
    no_ratio: int
    """Values of the cell that are zero, negative or not finite; counted as failed."""


def _reading(trial: Trial, name: str) -> float:
    """Read a number of which a ratio can be made; +inf is the worst value, NaN is no value."""
    if trial.status is Status.FAILED or trial.status is Status.DNR:
        return math.inf
    value = trial.samples.get(name) if _has_numbers(trial) else None
    if value is None:
        return math.nan
    return value if 0 < value < math.inf else math.inf


def _pairs(mine: _History, theirs: _History, metric: Metric) -> _Pairs:
    values, bases = [], []
    suspect = baseline_missing = absent = no_ratio = 0
    for block, trial in mine.trials.items():
        other = theirs.trials.get(block)
        base = math.nan if other is None else _reading(other, metric.name)
        value = _reading(trial, metric.name)
        if other is None or not math.isfinite(base):
            baseline_missing += 1
        elif math.isnan(value):
            absent += 1
        else:
            values.append(value)
            bases.append(base)
            no_ratio += value == math.inf and _has_numbers(trial)
            suspect += trial.status is Status.SUSPECT or other.status is Status.SUSPECT
    # A failed trial is +inf whichever way the metric improves.
    ratios = np.log(np.array(values)) - np.log(np.array(bases))
    worse = -1.0 if metric.better is Better.HIGHER else 1.0
    log_ratios = np.where(np.isinf(ratios), ratios, worse * ratios)
    return _Pairs(log_ratios, suspect, baseline_missing, absent, no_ratio)


def _rule(repetition: Repetition) -> Rule:
    """Put the plan's ratios on the log scale."""
    precision = repetition.precision
    return Rule(
        cap=repetition.max_blocks,
        minimum=repetition.min_blocks,
        margin=math.log1p(repetition.margin),
        precision=None if precision is None else math.log1p(precision),
    )


def _judge(pairs: _Pairs, mine: _History, repetition: Repetition) -> Judgement:
    ended = len(mine.trials) >= repetition.max_blocks
    return _rule(repetition).judge(pairs.log_ratios, ended=ended)


def _is_done(
    cell: Cell, baseline: Cell | None, histories: Mapping[str, _History], plan: Plan
) -> bool:
    mine = histories[cell.id]
    if mine.unavailable is not None:
        return True
    if baseline is None or histories[baseline.id].unavailable is not None or cell is baseline:
        return len(mine.trials) >= plan.repetition.min_blocks
    pairs = _pairs(mine, histories[baseline.id], plan.metrics[cell.workload][0])
    return _judge(pairs, mine, plan.repetition).stop is not Stop.NOT_YET


def _measured(
    row: Comparison, histories: Mapping[str, _History], repetition: Repetition
) -> Comparison:
    """Fill in everything that the cell's and the baseline's trials say."""
    mine = histories[row.cell.id]
    if mine.unavailable is not None:
        return replace(row, stop=Stop.NOTHING, reason=mine.unavailable)
    if row.baseline is None:
        return replace(row, stop=Stop.NOTHING, reason="the plan has no baseline cell for it")
    theirs = histories[row.baseline.id]
    if theirs.unavailable is not None:
        reason = f"the baseline is unavailable: {theirs.unavailable}"
        return replace(row, stop=Stop.NOTHING, reason=reason)
    pairs = _pairs(mine, theirs, row.metric)
    n = len(pairs.log_ratios)
    judgement = _judge(pairs, mine, repetition)
    finite = pairs.log_ratios[np.isfinite(pairs.log_ratios)]
    row = replace(
        row,
        pairs=n,
        failed=n - len(finite),
        left_out=pairs.baseline_missing + pairs.absent,
        suspect=pairs.suspect,
        stop=judgement.stop,
        look=judgement.look,
        flags=tuple(_pair_flags(pairs, mine.repeated)),
    )
    if len(finite) == 0:
        never = judgement.stop is Stop.EXCLUDES_ONE
        stop = Stop.NOTHING if never else judgement.stop
        return replace(row, stop=stop, reason=_why_no_number(row, pairs, mine))
    used = pairs.log_ratios[: judgement.look or n]
    has_cost = float(np.isinf(used).mean()) < NO_COST_FROM
    if not has_cost:
        row = replace(row, flags=(*row.flags, "Too many pairs failed to give a cost."))
    noise = spread(finite) if has_cost and len(finite) > 1 else None
    low, high = _ratios(judgement.interval)
    fixed_low, fixed_high = _ratios(interval(used, 0.05))
    return replace(
        row,
        decided_at=judgement.decided_at,
        cost=_ratio(estimate(used)) if has_cost else None,
        low=low,
        high=high,
        fixed_low=fixed_low,
        fixed_high=fixed_high,
        p=judgement.p,
        verdict=judgement.verdict,
        spread=noise,
        mde=None if noise is None else _ratio(detectable(noise, len(used))) - 1,
    )


def _ratio(log_ratio: float) -> float:
    return math.exp(max(log_ratio, -700.0)) if log_ratio < 700 else math.inf


def _ratios(ends: Interval | None) -> tuple[float, float] | tuple[None, None]:
    return (None, None) if ends is None else (_ratio(ends.low), _ratio(ends.high))


def _why_no_number(row: Comparison, pairs: _Pairs, mine: _History) -> str:
    if not mine.trials:
        return "no trial has been measured yet"
    if row.failed:
        said = next((t.reason for t in reversed(mine.trials.values()) if t.reason), "")
        failed = f"it gave no number in any of {row.failed} blocks"
        return f"{failed}; the last reason: {said}" if said else failed
    if pairs.absent:
        return f"its trials do not have the metric {row.metric.name}"
    return f"the baseline has no number in any of its {pairs.baseline_missing} blocks"


def _pair_flags(pairs: _Pairs, repeated: int) -> Iterator[str]:
    n = len(pairs.log_ratios)
    failed = int(np.isinf(pairs.log_ratios).sum())
    if failed:
        yield f"Failed in {failed} of {n} pairs, which count as the worst value."
    if pairs.no_ratio:
        yield (
            f"{pairs.no_ratio} values are zero, negative or not finite and have no ratio: "
            "they count as failed."
        )
    if pairs.suspect:
        yield f"Suspect in {pairs.suspect} of {n} pairs: the host was disturbed."
    if pairs.baseline_missing:
        yield f"Left out {pairs.baseline_missing} blocks in which the baseline has no number."
    if failed and pairs.baseline_missing:
        # Identical platforms that both fail in 10 % of trials are told apart in 22 % of studies.
        yield "The baseline fails too and is left out there: the cell looks worse than it is."
    if pairs.absent:
        yield f"Left out {pairs.absent} blocks in which the cell has no number of this metric."
    if repeated:
        yield f"{repeated} trials were run again; the last good one of a block counts."


def _beside(row: Comparison, control: Comparison | None) -> Comparison:
    """Put a comparison beside the A/A control of its workload, parameters and limits."""
    floor = _noise_floor(control)
    return replace(
        row, noise_floor=floor, flags=row.flags + tuple(_context_flags(row, control, floor or 0.0))
    )


def _noise_floor(control: Comparison | None) -> float | None:
    """Give the larger end of the control's interval, as a ratio minus one."""
    if control is None or control.low is None or control.high is None:
        return None
    floor = max(control.high, 1 / control.low) - 1
    return floor if math.isfinite(floor) else None


def _context_flags(row: Comparison, control: Comparison | None, floor: float) -> Iterator[str]:
    if control is not None and control.verdict in (Verdict.SLOWER, Verdict.FASTER):
        yield (
            "NOT TRUSTED: the A/A control, the same platform measured twice, "
            "differs from its baseline."
        )
    claimed = row.verdict in (Verdict.SLOWER, Verdict.FASTER)
    if claimed and row.low is not None and row.high is not None:
        if row.low <= 1 <= row.high:
            yield (
                f"Decided at {row.decided_at} pairs; the interval of {row.look} pairs "
                "holds 1 again."
            )
        if not row.cell.control:
            if row.cost is not None and max(row.cost, 1 / row.cost) - 1 <= floor:
                yield f"Below the noise floor of {100 * floor:.2g} %."
            if row.verdict is Verdict.FASTER and row.high * (1 + floor) < 1:
                yield "IMPLAUSIBLE: faster than its baseline, and by more than the noise floor."


def _with_holm(rows: list[Comparison]) -> list[Comparison]:
    """Adjust the p values of the primary comparisons, which are one family; controls are not."""
    family = [i for i, r in enumerate(rows) if r.primary and not r.cell.control and r.p is not None]
    rows = rows.copy()
    for index, p in zip(family, holm([rows[i].p or 0.0 for i in family]), strict=True):
        rows[index] = replace(rows[index], holm_p=p)
    return rows


_ByStack = Mapping[tuple[_Group, str, str], list[Comparison]]


def _attributions(rows: list[Comparison]) -> Iterator[Attribution]:
    """Explain every stack that has two or more layers more than its baseline."""
    by_stack: dict[tuple[_Group, str, str], list[Comparison]] = {}
    for row in rows:
        by_stack.setdefault((_group(row.cell), row.metric.name, row.cell.stack), []).append(row)
    for row in rows:
        if row.baseline is None or row.cell.control or row.cell.stack.count("/") < 2:
            continue
        root = row.baseline.stack
        if not row.cell.stack.startswith(f"{root}/"):
            yield Attribution(stack=row, reason=f"it does not stand on the baseline, {root}")
            continue
        names = row.cell.stack.removeprefix(f"{root}/").split("/")
        if len(names) > 1:
            alone = [(f"{root}/{name}", _alone(row, root, name, by_stack)) for name in names]
            yield _attribution(row, alone)


def _alone(row: Comparison, root: str, layer: str, by_stack: _ByStack) -> Comparison | None:
    """Find one layer of a stack on its own, with the same settings."""
    shared = {*root.split("/"), layer}
    candidates = by_stack.get((_group(row.cell), row.metric.name, f"{root}/{layer}"), [])
    wanted = _settings(row.cell, shared)
    return next((one for one in candidates if _settings(one.cell, shared) == wanted), None)


def _settings(cell: Cell, layers: set[str]) -> set[tuple[str, Scalar]]:
    return {(key, value) for key, value in cell.settings if key.partition(".")[0] in layers}


def _attribution(stack: Comparison, alone: list[tuple[str, Comparison | None]]) -> Attribution:
    """Multiply the layers' costs, and divide the stack's by that.

    Half-widths of log intervals add up like standard errors. Costs over one baseline share its
    noise: two arms as noisy as the baseline correlate by 1/2, which widens the product. In the
    interaction that noise partly cancels; leaving this out only makes its interval wider.
    """
    layers = tuple(row for _, row in alone if row is not None)
    for name, row in alone:
        if row is None:
            reason = f"{name} with the same settings is not in the plan"
            return Attribution(stack=stack, layers=layers, reason=reason)
    logs = [_log_cost(row) for row in (stack, *layers)]
    known = [log for log in logs if log is not None]
    if len(known) < len(logs):
        name = (stack, *layers)[logs.index(None)].cell.platform
        return Attribution(
            stack=stack, layers=layers, reason=f"{name} has no cost with a finite interval"
        )
    (whole, whole_half), *parts = known
    product = sum(centre for centre, _ in parts)
    halves = [half for _, half in parts]
    product_half = math.sqrt((sum(half**2 for half in halves) + sum(halves) ** 2) / 2)
    half = math.hypot(whole_half, product_half)
    return Attribution(
        stack=stack,
        layers=layers,
        product=_ratio(product),
        product_interval=Interval(_ratio(product - product_half), _ratio(product + product_half)),
        interaction=_ratio(whole - product),
        interaction_interval=Interval(
            _ratio(whole - product - half), _ratio(whole - product + half)
        ),
    )


def _log_cost(row: Comparison) -> tuple[float, float] | None:
    """Give the log of a cost and half the width of its interval."""
    if row.cost is None or row.low is None or row.high is None or math.isinf(row.high):
        return None
    return math.log(row.cost), math.log(row.high / row.low) / 2
