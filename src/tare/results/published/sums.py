"""Sums of phases that studies print and that no trial stores: made for comparisons alone.

OpenStack Rally reports the total of a scenario's actions; a trial of a lifecycle stores each phase
and the total of all of them, which is another sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tare.core.model import Better, Metric, Plan, Trial, Unit

LIFECYCLE = "lifecycle"
BOOT_DELETE, REBOOT_STOP_START = "boot+delete", "soft_reboot+stop+start"
PHASES: Mapping[str, tuple[str, ...]] = {
    BOOT_DELETE: ("boot", "delete"),
    REBOOT_STOP_START: ("soft_reboot", "stop", "start"),
}
"""The phases of each sum, by the sum's name."""


def with_sums(plan: Plan, trials: Iterable[Trial]) -> tuple[Plan, tuple[Trial, ...]]:
    """Return a plan and its trials with the sums as metrics of their lifecycles.

    A trial without one of the phases has no sum; a plan without lifecycles is returned as it is.
    """
    trials = tuple(trials)
    metrics = plan.metrics.get(LIFECYCLE)
    if metrics is None:
        return plan, trials
    missing = [name for name in PHASES if name not in {metric.name for metric in metrics}]
    sums = tuple(Metric(name, Unit.SECOND, Better.LOWER) for name in missing)
    lives = {cell.id for cell in plan.cells if cell.workload == LIFECYCLE}
    summed = tuple(_summed(trial) if trial.cell in lives else trial for trial in trials)
    return replace(plan, metrics={**plan.metrics, LIFECYCLE: (*metrics, *sums)}), summed


def _summed(trial: Trial) -> Trial:
    known = trial.samples
    sums = {
        name: sum(known[phase] for phase in phases)
        for name, phases in PHASES.items()
        if all(phase in known for phase in phases)
    }
    return replace(trial, samples={**known, **sums}) if sums else trial
