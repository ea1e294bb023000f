"""Why there is no number, no verdict or no comparison: a kind with its values, and no words.

``tare.present.view.reasons`` words them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class ReasonKind(StrEnum):
    """What the reason is; what its values are is said where it is made."""

    # What trials say of themselves.
    NOT_STARTED = "not_started"
    UNAVAILABLE = "unavailable"
    """``said`` is what was stored with the trial that could not be, and may be empty."""
    TRIAL_SAID = "trial_said"
    # Of one comparison.
    NO_BASELINE = "no_baseline"
    BASELINE_UNAVAILABLE = "baseline_unavailable"
    NO_COMMON_NUMBER = "no_common_number"
    BASELINE_GAVE_NONE = "baseline_gave_none"
    GAVE_NONE = "gave_none"
    BOTH_FAILED = "both_failed"
    VARIANT_UNKNOWN = "variant_unknown"
    NO_METRIC = "no_metric"
    BASELINE_MISSING = "baseline_missing"
    NO_RATIO = "no_ratio"
    NO_SIZE = "no_size"
    # Of sums of costs: ladders, attributions, mixes.
    NO_SWITCH = "no_switch"
    PLATFORM_UNAVAILABLE = "platform_unavailable"
    BLOCKS_FAILED = "blocks_failed"
    NO_COMMON_BLOCK = "no_common_block"
    FEW_BLOCKS = "few_blocks"
    NOT_ON_BASELINE = "not_on_baseline"
    LAYER_NOT_IN_PLAN = "layer_not_in_plan"
    NO_FINITE_INTERVAL = "no_finite_interval"
    NOT_IN_STUDY = "not_in_study"
    BASELINE_WITHOUT_NUMBER = "baseline_without_number"
    CONSTRAINT = "constraint"
    STARTUP_NOT_MEASURED = "startup_not_measured"
    MEMORY_NOT_MEASURED = "memory_not_measured"
    ISOLATION_NOT_MEASURED = "isolation_not_measured"
    NO_INTERVAL_YET = "no_interval_yet"
    MAY_OVERTAKE = "may_overtake"
    # Of counters.
    SEARCHED_RATE = "searched_rate"
    NO_AMOUNT = "no_amount"
    NO_WORK = "no_work"
    NO_COUNTERS = "no_counters"
    NOT_READ_TOGETHER = "not_read_together"
    NOT_READ_ON_BASELINE = "not_read_on_baseline"
    NOT_READ_HERE = "not_read_here"
    ZERO_ON_BOTH = "zero_on_both"
    ZERO_TOO_OFTEN = "zero_too_often"
    # Of two result sets.
    BASELINE_IN_ONE = "baseline_in_one"
    OTHER_BASELINES = "other_baselines"
    TRIALS_WITHOUT_NUMBER = "trials_without_number"
    TRIALS_FAILED = "trials_failed"
    OF_SIDES = "of_sides"
    NO_RATIO_OF_TRIALS = "no_ratio_of_trials"
    FEW_TRIALS = "few_trials"
    NO_CELL = "no_cell"
    NO_PARTNER = "no_partner"
    MEASURED_OTHERWISE = "measured_otherwise"
    SAME_SESSION = "same_session"
    OTHER_DESIGN = "other_design"
    OTHER_VARIANT = "other_variant"
    OTHER_USERLAND = "other_userland"
    OTHER_METRIC = "other_metric"
    OTHER_FILES = "other_files"
    # Of a self-test, and of published numbers.
    FEW_PAIRS = "few_pairs"
    VARIANT_UNKNOWN_HERE = "variant_unknown_here"
    NO_COST_HERE = "no_cost_here"
    NOT_IN_DUET = "not_in_duet"
    NO_METRIC_OF = "no_metric_of"
    NO_PLATFORM = "no_platform"
    """``platform`` is what a study calls the one that no result is of."""
    NO_BASELINE_PLATFORM = "no_baseline_platform"
    SEVERAL = "several"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason, with its numbers and names by name."""

    kind: ReasonKind
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)


def reason_of(kind: ReasonKind, **values: Any) -> Reason:  # noqa: ANN401 - numbers and names
    """Make a reason of a kind with its values."""
    return Reason(kind, values)
