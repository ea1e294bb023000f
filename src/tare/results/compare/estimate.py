"""The estimate of two cells: their pairs, the judgement of these, and the comparison they make."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tare.core.model import Evidence, Repetition
from tare.results.compare.comparison import Comparison, Subject, why_no_ratio
from tare.results.compare.evidence import DECIDED, evidence
from tare.results.compare.flag import Flag, FlagKind, flag
from tare.results.compare.instances import instance_flags, instance_pairs
from tare.results.compare.pair_flags import accounting_flags, pair_flags
from tare.results.compare.pairing import NO_PAIRS, History, Pairs, aligned, pair
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.stats.description import spread
from tare.results.stats.hierarchy import ENOUGH_GROUPS, means, nested_interval, numbered, t_interval
from tare.results.stats.power import detectable
from tare.results.stats.ratio import ratio, ratios
from tare.results.stats.schedule import FIRST_LOOK
from tare.results.stats.sequential import Judgement, LookKind, Rule, Stop, Verdict, has_size
from tare.results.stats.signed_rank import Array, Interval, estimate, estimate_and_interval


@dataclass(eq=False)
class Estimate:
    """The estimate of two cells; each of its parts is made when it is first asked for, and once.

    ``own`` and ``reference`` are the trials of both; in a duet the reference has others too.
    ``control`` is the estimate of the A/A control of the same work, by the same metric.
    """

    subject: Subject
    own: History
    reference: History | None
    repetition: Repetition
    control: Estimate | None = None

    @cached_property
    def base(self) -> History:
        """The trials of the baseline that the cell's are compared with; none without a baseline."""
        return self.reference.compared_with(self.subject.cell.id) if self.reference else History()

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs that the comparison rests on; none without a baseline."""
        if self.reference is None:
            return NO_PAIRS
        return pair(self.own, self.base, self.subject.metric, self.subject.variant)

    @cached_property
    def groups(self) -> NDArray[np.intp]:
        """The number of the instances that each pair was measured in."""
        return numbered(instance_pairs(self.own, self.base, self.pairs.blocks))

    @cached_property
    def judgement(self) -> Judgement:
        """What the plan's rule makes of the pairs."""
        pairs, control = self.pairs, None
        if self.control is not None:
            control = aligned(self.control.pairs, pairs.blocks[:FIRST_LOOK])
        ended = len(self.own.trials) >= self.repetition.max_blocks
        rule = rule_of(self.repetition)
        return rule.judge(pairs.log_ratios, self.groups, control=control, ended=ended)

    @property
    def is_done(self) -> bool:
        """Whether the cell needs no more blocks, by its workload's primary metric.

        What can be compared with nothing is measured so often that a look by ranks could be taken.
        """
        if self.own.unavailable is not None:
            return True
        never = self.reference is None or self.reference.unavailable is not None
        if never or (self.pairs.unknown and not len(self.pairs.log_ratios)):
            return len(self.own.trials) >= max(self.repetition.min_blocks, FIRST_LOOK)
        return self.judgement.stop is not Stop.NOT_YET

    @cached_property
    def row(self) -> Comparison:
        """The comparison that the pairs and their judgement make."""
        if (never := self._why_never()) is not None:
            return self._composed(stop=Stop.NOTHING, reason=never)
        pairs, judgement, n = self.pairs, self.judgement, len(self.pairs.log_ratios)
        counted: dict[str, Any] = {
            "pairs": n,
            "failed": pairs.failed,
            "baseline_failed": pairs.baseline_failed,
            "zeros": pairs.zeros,
            "baseline_zeros": pairs.baseline_zeros,
            "left_out": pairs.left_out,
            "both_failed": pairs.both_failed,
            "suspect": pairs.suspect,
            "look": judgement.look,
        }
        flags = [
            *pair_flags(pairs, self.subject.metric, self.own.repeated),
            *accounting_flags(pairs, self.subject.variant),
        ]
        if pairs.failed + pairs.baseline_failed == n:
            open_ = judgement.stop in (Stop.NOT_YET, Stop.MAXIMUM)
            stop = judgement.stop if open_ else Stop.NOTHING
            reason = self._why_no_number()
            return self._composed(**counted, stop=stop, reason=reason, flags=tuple(flags))
        low, high = _ends(judgement.interval)
        verdict, instances = judgement.verdict, int(self._shared.max(initial=-1)) + 1 or None
        if not self._is_sized:
            failed, zeros = pairs.failed + pairs.baseline_failed, pairs.zeros + pairs.baseline_zeros
            flags.append(flag(FlagKind.NO_COST, why=why_no_ratio(failed, zeros, n)))
        flags += instance_flags(judgement, instances, n, self._planned_instances)
        if _is_refuted(verdict, low, high, self.repetition.margin):
            flags.append(self._refuted)
            verdict = Verdict.UNDECIDED
        if verdict in DECIDED and judgement.interval_by is LookKind.EARLY:
            flags.append(flag(FlagKind.DECIDED_EARLY))
        return self._composed(
            **counted,
            **self._sizes(),
            stop=judgement.stop,
            decided_at=judgement.decided_at,
            decided_by=judgement.decided_by,
            interval_by=judgement.interval_by,
            low=low,
            high=high,
            p=judgement.p,
            verdict=verdict,
            evidence=self._evidence(verdict, instances),
            instances=instances,
            icc=judgement.parts.icc if judgement.parts else None,
            flags=tuple(flags),
        )

    def _composed(self, **found: Any) -> Comparison:  # noqa: ANN401 - fields of a Comparison
        subject = {one.name: getattr(self.subject, one.name) for one in fields(Subject)}
        return Comparison(**subject, **found)

    def _why_never(self) -> Reason | None:
        """Return why these two can never be compared on this host, if so."""
        if self.own.unavailable is not None:
            return self.own.why_unavailable
        if self.reference is None:
            return reason_of(ReasonKind.NO_BASELINE)
        if self.base.unavailable is not None:
            return reason_of(ReasonKind.BASELINE_UNAVAILABLE, why=self.base.why_unavailable)
        return None

    @property
    def _used(self) -> Array:
        """The log ratios of the last look, or all before the first."""
        return self.pairs.log_ratios[: self.judgement.look or len(self.pairs.log_ratios)]

    @property
    def _shared(self) -> NDArray[np.intp]:
        return self.groups[: len(self._used)]

    @property
    def _is_early(self) -> bool:
        return self.judgement.interval_by is LookKind.EARLY

    @property
    def _is_sized(self) -> bool:
        # An early look is of the first pairs, which may be the lucky ones of those that failed.
        return has_size(self.pairs.log_ratios if self._is_early else self._used)

    @property
    def _planned_instances(self) -> int:
        both = self.subject.cell, self.subject.baseline or self.subject.cell
        return self.repetition.instances_of(*(cell.platform for cell in both))

    def _sizes(self) -> dict[str, Any]:
        """Return the cost with its ordinary interval, the scatter, and what it rests on."""
        used, shared = self._used, self._shared
        is_nested = self.judgement.nested and not self._is_early
        replicates = means(used, shared) if is_nested else used
        if self._is_early:
            middle, fixed = float(used.mean()), t_interval(used, 0.05)
        elif is_nested:
            middle, fixed = estimate(replicates), nested_interval(used, shared, 0.05)
        else:
            middle, fixed = estimate_and_interval(used, 0.05)
        fixed_low, fixed_high = _ends(fixed)
        found = {
            "fixed_low": fixed_low,
            "fixed_high": fixed_high,
            "replicates": len(replicates),
        }
        if not self._is_sized:
            return found
        finite = self.pairs.log_ratios[np.isfinite(self.pairs.log_ratios)]
        return found | {
            "cost": ratio(middle),
            "spread": spread(finite) if len(finite) > 1 else None,
            "mde": self._detectable(replicates),
        }

    def _detectable(self, replicates: Array) -> float | None:
        """Return the smallest cost that they would show, minus 1; None if that is not known."""
        if self._is_early and self.judgement.interval is not None:
            low, high = self.judgement.interval
            return ratio((high - low) / 2 + math.log1p(self.repetition.margin)) - 1
        known = replicates[np.isfinite(replicates)]
        return ratio(detectable(spread(known), len(replicates))) - 1 if len(known) > 1 else None

    def _evidence(self, verdict: Verdict, instances: int | None) -> Evidence | None:
        """Weigh a verdict alone; what can be luck of so few instances is likely at the most.

        Where instances differ their means are too few for the e-process. Interval and p are then
        those of pairs and of means together, which is the stricter rule; p, which Holm's correction
        asks for, leaves out the early looks, which know nothing of instances.
        """
        if verdict not in DECIDED:
            return None
        few = instances is not None and instances < min(ENOUGH_GROUPS, len(self.pairs.log_ratios))
        if few or self._is_early:
            return Evidence.LIKELY
        if self.judgement.nested:
            return Evidence.ESTABLISHED
        return evidence(self.pairs.log_ratios, verdict, math.log1p(self.repetition.margin))

    @property
    def _refuted(self) -> Flag:
        return flag(
            FlagKind.REFUTED,
            verdict=self.judgement.verdict.value,
            decided_at=self.judgement.decided_at,
            look=self.judgement.look,
            early=self.judgement.decided_by is LookKind.EARLY,
        )

    def _why_no_number(self) -> Reason:
        """Return who gave no number, and the last that its trials said of how they ended."""
        pairs, own, base = self.pairs, self.own, self.base
        if not own.trials:
            return reason_of(ReasonKind.NOT_STARTED)
        blocks = pairs.failed + pairs.both_failed
        if pairs.failed and pairs.baseline_failed:
            return reason_of(ReasonKind.NO_COMMON_NUMBER, said=own.last_reason)
        if pairs.baseline_failed:
            of_base, kind = pairs.baseline_failed + pairs.both_failed, ReasonKind.BASELINE_GAVE_NONE
            return reason_of(kind, blocks=of_base, said=base.last_reason)
        if pairs.failed:
            return reason_of(ReasonKind.GAVE_NONE, blocks=blocks, said=own.last_reason)
        if pairs.both_failed:
            return reason_of(ReasonKind.BOTH_FAILED, blocks=blocks, said=own.last_reason)
        if pairs.unknown:
            unknown, variant = tuple(pairs.unknown.items()), self.subject.variant
            return reason_of(ReasonKind.VARIANT_UNKNOWN, variant=variant, unknown=unknown)
        if pairs.absent:
            return reason_of(ReasonKind.NO_METRIC, metric=self.subject.metric.name)
        return reason_of(ReasonKind.BASELINE_MISSING, blocks=pairs.baseline_missing)


def rule_of(repetition: Repetition) -> Rule:
    """Return the plan's rule, whose ratios are put on the log scale."""
    precision = repetition.precision
    return Rule(
        cap=repetition.max_blocks,
        minimum=repetition.min_blocks,
        margin=math.log1p(repetition.margin),
        precision=None if precision is None else math.log1p(precision),
    )


def _is_refuted(verdict: Verdict, low: float | None, high: float | None, margin: float) -> bool:
    """Whether the interval of later pairs, in a row that went on, leaves a verdict out."""
    if low is None or high is None:
        return False
    refuted = {
        Verdict.SLOWER: high < 1,
        Verdict.FASTER: low > 1,
        Verdict.SAME: low > 1 + margin or high < 1 / (1 + margin),
    }
    return refuted.get(verdict, False)


def _ends(log_ends: Interval | None) -> tuple[float, float] | tuple[None, None]:
    return (None, None) if log_ends is None else ratios(log_ends)
