"""What is to be known of a comparison's number: a kind with its values, and no words.

``tare.present.view.flags`` words them; what a flag means to other parts is asked of its kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class FlagKind(StrEnum):
    """What there is to be known of a comparison; what its values are is said where it is made."""

    # Of its pairs.
    FAILED = "failed"
    BASELINE_FAILED = "baseline_failed"
    BOTH_FAILED = "both_failed"
    NO_RATIO = "no_ratio"
    ZERO = "zero"
    BASELINE_ZERO = "baseline_zero"
    BOTH_ZERO = "both_zero"
    DISTURBED = "disturbed"
    LIMITED_OUTSIDE = "limited_outside"
    SHARED_WITH_OUTSIDE = "shared_with_outside"
    OFF_LEVEL = "off_level"
    BASELINE_MISSING = "baseline_missing"
    OTHER_SESSION = "other_session"
    OTHER_ENTRY = "other_entry"
    NO_METRIC = "no_metric"
    RUN_AGAIN = "run_again"
    VARIANT_UNKNOWN = "variant_unknown"
    PARALLEL_DELAY = "parallel_delay"
    # Of its verdict and its cost.
    REFUTED = "refuted"
    DECIDED_EARLY = "decided_early"
    NO_COST = "no_cost"
    HOLDS_ONE_AGAIN = "holds_one_again"
    INSTANCES_DIFFER = "instances_differ"
    FEW_INSTANCES = "few_instances"
    # Of other comparisons: the A/A control and the other variants.
    NOT_TRUSTED = "not_trusted"
    BELOW_FLOOR = "below_floor"
    QUEUEING = "queueing"
    # Of the platforms and their conditions.
    UNLIKE_BASELINE = "unlike_baseline"
    BASELINE_UNLIKE = "baseline_unlike"
    NOT_DIRECT = "not_direct"
    IMPLAUSIBLE = "implausible"
    # Of its course.
    NOT_STEADY = "not_steady"
    COST_DRIFT = "cost_drift"
    COST_REGIMES = "cost_regimes"
    BASELINE_DRIFT = "baseline_drift"
    BASELINE_REGIMES = "baseline_regimes"
    NEIGHBOURS_ALIKE = "neighbours_alike"
    TWO_MODES = "two_modes"
    ORDER_MATTERS = "order_matters"
    OUTLIERS = "outliers"
    WITHOUT_OUTLIERS = "without_outliers"
    # Of a duet.
    CORES_DIFFER = "cores_differ"
    START_ORDER_MATTERS = "start_order_matters"
    CONTROL_BY_CORES = "control_by_cores"
    NOT_TOGETHER = "not_together"
    NO_COMMON_NOISE = "no_common_noise"
    # Of one of two result sets that are compared.
    SIDE_NOT_TRUSTED = "side_not_trusted"
    SIDE_FAILED = "side_failed"
    OTHER_STUDY = "other_study"
    HOST_NOT_STORED = "host_not_stored"
    USERLAND_NOT_STORED = "userland_not_stored"
    SINGLE_INSTANCE = "single_instance"


@dataclass(frozen=True, slots=True)
class Flag:
    """One thing to be known, with its numbers and names by name."""

    kind: FlagKind
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)


def flag(kind: FlagKind, **values: Any) -> Flag:  # noqa: ANN401 - numbers, names and lists of them
    """Make a flag of a kind with its values."""
    return Flag(kind, values)
