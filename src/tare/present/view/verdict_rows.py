"""What a platform costs by one metric, as every table, page and file writes it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tare.core.model import Cell, Metric
from tare.present.view import numbers, verdict_texts
from tare.present.view.flags import flag_texts
from tare.present.view.host_use import Usage
from tare.present.view.marks import MARKS
from tare.present.view.names import platform_text
from tare.present.view.numbers import NONE, TIMES
from tare.results.compare.comparison import Comparison
from tare.results.compare.flag import Flag, FlagKind
from tare.results.stats.sequential import Verdict

ALARMS = (FlagKind.NOT_TRUSTED, FlagKind.IMPLAUSIBLE)
LOW_COVERAGE = 0.9
"""Below this share of a platform's CPU time, its waiting is known of part of its work only."""


@dataclass(frozen=True, slots=True)
class Note:
    """What concerns a number; ``is_alarm`` where the number is not to be used before it is read."""

    text: str
    is_alarm: bool = False


@dataclass(frozen=True, kw_only=True)
class VerdictRow:
    """A cell by one metric: its comparison with the baseline, in words and rounded numbers.

    Without a comparison it is the baseline. A row of another variant of the metric stands below the
    row that decides. ``lost`` is what part of its traffic it lost, ``warnings`` are those of its
    trials, ``cell_with_trials`` is the id that a link to its trials needs, empty without trials.
    """

    cell: Cell
    metric: Metric
    comparison: Comparison | None
    margin: float
    is_variant: bool = False
    usage: Usage | None = None
    lost: str = ""
    warnings: Sequence[str] = ()
    cell_with_trials: str = ""

    @property
    def name(self) -> str:
        """The platform, or the variant."""
        if self.is_variant and self.comparison:
            return verdict_texts.variant_text(self.comparison)
        return platform_text(self.cell)

    @property
    def kind(self) -> str:
        """Which of the kinds of rows that are drawn apart it is; empty: a platform."""
        if self.is_variant:
            return "variant"
        if self.comparison is None:
            return "baseline"
        return "control" if self.comparison.is_control else ""

    @property
    def cost(self) -> str:
        """The multiple of the baseline's cost."""
        return numbers.cost_text(self.comparison.cost) if self.comparison else f"1{TIMES}"

    @property
    def degradation(self) -> str:
        """The cost as a difference in per cent, with no more digits than its interval allows."""
        row = self.comparison
        return numbers.percent_text(row.cost, row.low, row.high) if row else ""

    @property
    def interval(self) -> str:
        """The interval of the degradation."""
        row = self.comparison
        return numbers.percents_text(row.low, row.high, row.cost) if row else ""

    @property
    def verdict(self) -> str:
        """The verdict."""
        row = self.comparison
        return verdict_texts.verdict_text(row, self.margin) if row else "baseline"

    @property
    def word(self) -> str:
        """The verdict without its margin, as style sheets and scripts name it."""
        row = self.comparison
        return row.verdict.value.replace(" ", "-") if row else "baseline"

    @property
    def mark(self) -> str:
        """The shape of the verdict."""
        return MARKS[self.comparison.verdict] if self.comparison else ""

    @property
    def pairs(self) -> str:
        """The pairs, and the instances where those are the replicates."""
        return verdict_texts.pairs_text(self.comparison) if self.comparison else ""

    @property
    def looked_at(self) -> str:
        """The pairs, of which those of the last look where more have ended since."""
        row = self.comparison
        if row is None or row.look in (None, row.pairs):
            return self.pairs
        return f"{row.look} of {self.pairs}"

    @property
    def p(self) -> str:
        """The p value after Holm."""
        return numbers.p_text(self.comparison.holm_p) if self.comparison else ""

    @property
    def floor(self) -> str:
        """The noise floor."""
        return numbers.share_text(self.comparison.noise_floor) if self.comparison else ""

    @property
    def cpu(self) -> str:
        """The CPU time of the host that a trial took."""
        if self.is_variant:
            return ""
        return f"{numbers.plain(self.usage.cpu_s, 3)} s" if self.usage else NONE

    @property
    def waiting(self) -> str:
        """The share of its time for which it waited for a CPU."""
        if self.is_variant:
            return ""
        return numbers.share_text(self.usage.run_delay_share) if self.usage else NONE

    @property
    def has_notes(self) -> bool:
        """Whether something is to be read with its number."""
        return bool(self.warnings or (self.comparison and self.comparison.flags))

    @property
    def notes(self) -> list[Note]:
        """What concerns its number: what was lost, flags, warnings, why it is not there."""
        row, usage = self.comparison, self.usage
        lost = f"{self.lost[:1].upper()}{self.lost[1:]}, on average over its trials."
        flags = row.flags if row else ()
        alarms = [isinstance(one, Flag) and one.kind in ALARMS for one in flags]
        noted = [*([Note(lost)] if self.lost else []), *map(Note, flag_texts(flags), alarms)]
        texts = list(self.warnings)
        if usage and usage.coverage < LOW_COVERAGE:
            seen = numbers.share_text(usage.coverage)
            texts.append(f"Waiting is known of {seen} of the CPU time only: threads ended unseen.")
        if row and row.verdict in (Verdict.UNDECIDED, Verdict.NOT_MEASURED):
            why = verdict_texts.stop_text(row)
            texts.append(f"{why[:1].upper()}{why[1:]}.")
            bound = [abs(end - 1) for end in (row.low, row.high) if end is not None]
            if row.verdict is Verdict.UNDECIDED and bound and math.isfinite(max(bound)):
                texts.append(f"Any difference is smaller than {numbers.share_text(max(bound))}.")
        return [*noted, *map(Note, texts)]

    @property
    def order(self) -> Mapping[str, str]:
        """The bare number behind each column, as a script reads it; variants have none."""
        if self.is_variant:
            return {}
        row, usage = self.comparison, self.usage
        known: dict[str, float | None] = {"cost": 1.0, "verdict": len(MARKS)}
        if row is not None:
            known = {
                "cost": row.cost,
                "interval": row.low,
                "verdict": list(MARKS).index(row.verdict),
                "pairs": row.pairs,
                "p": row.holm_p,
                "floor": row.noise_floor,
            }
        if usage is not None:
            known |= {"cpu": usage.cpu_s, "waiting": usage.run_delay_share}
        return {name: _bare(value) for name, value in known.items()}


def _bare(value: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return f"{value:.9g}"
