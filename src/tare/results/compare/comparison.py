"""One cell against its baseline: what is compared, and the record of what was found."""

from __future__ import annotations

from dataclasses import dataclass

from tare.core.model import Cell, ContrastKind, Evidence, Metric, Variant
from tare.results.compare.flag import Flag
from tare.results.compare.reason import Reason, ReasonKind, reason_of
from tare.results.stats.sequential import LookKind, Stop, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is compared: one metric of one cell with its baseline's, by one variant of its time.

    ``primary`` says that the plan decides by it; ``kind`` and ``known`` are those of its contrast.
    """

    cell: Cell
    baseline: Cell | None
    kind: ContrastKind = ContrastKind.OVERHEAD
    known: float | None = None
    metric: Metric
    primary: bool
    level: float
    variant: Variant = Variant.WALL

    @property
    def is_control(self) -> bool:
        """Whether it is the A/A control: the reference, measured a second time."""
        return self.kind is ContrastKind.CONTROL


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Subject):
    """What was found of a subject.

    A workload's first metric has one for every variant that is known.

    ``pairs`` are those of the test; in ``failed`` of them only the cell failed, in
    ``baseline_failed`` only the baseline. In ``zeros`` of them the cell alone had 0 of what is
    better when lower, in ``baseline_zeros`` the baseline: one is better, by no ratio. ``left_out``
    blocks make no pair; in ``both_failed`` of them both failed.

    ``cost``, ``low`` and ``high`` are ratios, above 1 is worse; the interval is that of ``look``
    pairs, valid at every look together; an end is 0 or infinite where too many trials failed, or
    had 0, to bound it. The ``fixed`` interval is an ordinary one of 95 % for the same pairs, too
    narrow for a number that was looked at repeatedly. Before the first look the cost is of all
    pairs and has no interval. ``spread`` is that of the pairs' log ratios; ``mde`` (what that many
    pairs would probably show) and ``noise_floor`` are ratios minus one.

    ``decided_by`` is the kind of look that decided, ``interval_by`` that of the look whose cost and
    interval these are: an early one (``tare.results.stats.early``) gives the mean of the log ratios
    and Student's interval of 99.9 %, one by ranks the Hodges-Lehmann estimate and the interval of
    ``level``.

    ``instances`` is in how many pairs of instances those of the last look were measured, ``icc``
    the part of their variance that lies between these, where it is known. ``replicates`` is how
    many independent values cost and interval rest on: pairs, or instance pairs if those differ.
    """

    pairs: int = 0
    failed: int = 0
    baseline_failed: int = 0
    zeros: int = 0
    baseline_zeros: int = 0
    left_out: int = 0
    both_failed: int = 0
    suspect: int = 0
    look: int | None = None
    decided_at: int | None = None
    decided_by: LookKind | None = None
    interval_by: LookKind | None = None
    cost: float | None = None
    low: float | None = None
    high: float | None = None
    fixed_low: float | None = None
    fixed_high: float | None = None
    p: float | None = None
    holm_p: float | None = None
    verdict: Verdict = Verdict.NOT_MEASURED
    evidence: Evidence | None = None
    stop: Stop = Stop.NOT_YET
    reason: Reason | None = None
    spread: float | None = None
    mde: float | None = None
    noise_floor: float | None = None
    instances: int | None = None
    replicates: int | None = None
    icc: float | None = None
    flags: tuple[Flag, ...] = ()

    @property
    def degradation_percent(self) -> float | None:
        """How much worse than the baseline; positive is worse."""
        return None if self.cost is None else 100 * (self.cost - 1)

    @property
    def why_no_ratio(self) -> Reason | None:
        """Why there is a verdict and no cost, where pairs have no ratio."""
        zeros = self.zeros + self.baseline_zeros
        return why_no_ratio(self.failed + self.baseline_failed, zeros, self.pairs)

    @property
    def why_no_cost(self) -> Reason:
        """Why there is no cost, or none with a size."""
        return self.reason or self.why_no_ratio or reason_of(ReasonKind.NO_SIZE)


def why_no_ratio(failed: int, zeros: int, pairs: int) -> Reason | None:
    """Return the reason if any of the pairs has no ratio.

    Of ``failed`` pairs one side failed, of ``zeros`` one had 0.
    """
    if not failed and not zeros:
        return None
    return reason_of(ReasonKind.NO_RATIO, failed=failed, zeros=zeros, pairs=pairs)
