"""What part of a trial's wall time each variant of a metric counts (METHOD.md 2.7).

A trial's metric gives the time per unit of work, tau (for a rate, 1/value), and T is how long the
tool took, so that T/tau units were done. The variants are::

    wall       tau
    corrected  tau * (T - foreign delay) / T
    host CPU   tau * CPU time of the platform / T, the CPU time per unit

Each is tau times the share of the wall time that it counts; the share is all that is computed here.
"""

from __future__ import annotations

from enum import Enum, auto

from tare.core.model import Better, HostCost, Metric, Trial, Variant

LEAST_COVERAGE = 0.9


class Unaccounted(Enum):
    """Why it is not known what part of a trial's wall time a variant counts."""

    NOT_READ = auto()
    """Its threads were not read on this host."""
    NO_DURATION = auto()
    """How long it took is not known."""
    NO_TIME_LEFT = auto()
    """All of its time is taken off."""
    ENDED_UNSEEN = auto()
    """Threads ended before they were read, with a delay that is not known."""
    NO_DELAY = auto()
    """No thread was seen at work, or an older Tare did not keep foreign delay apart."""


def value(
    trial: Trial, metric: Metric, variant: Variant, tool_duration: Metric | None
) -> float | None:
    """Return a trial's value in the metric's unit as if only the variant's time had passed.

    ``tool_duration`` is the workload's metric of that role. None if the trial does not have the
    metric, or the variant is not known for it.
    """
    found = trial.samples.get(metric.name)
    if found is None or variant is Variant.WALL:
        return found
    share = share_of_wall(trial, variant, tool_duration)
    if isinstance(share, Unaccounted):
        return None
    return found / share if metric.better is Better.HIGHER else found * share


def share_of_wall(
    trial: Trial, variant: Variant, tool_duration: Metric | None
) -> float | Unaccounted:
    """Return the part of the wall time that a variant counts, above 0, or why it is not known.

    It is above 1 where a platform ran on several CPUs at once, and host CPU time is counted.
    """
    if variant is Variant.WALL:
        return 1.0
    if trial.host is None:
        return Unaccounted.NOT_READ
    if variant is Variant.HOST_CPU:
        lasted_s = trial.lasted_s(tool_duration)
        counted_s = trial.host.all_cpu_s
    else:
        if trial.host.foreign_delay_s is None:
            return _without_delay(trial.host)
        lasted_s = _window_s(trial, trial.host, tool_duration)
        counted_s = lasted_s - trial.host.foreign_delay_s
    if not lasted_s > 0:
        return Unaccounted.NO_DURATION
    if not counted_s > 0:
        return Unaccounted.NO_TIME_LEFT
    return counted_s / lasted_s


def _window_s(trial: Trial, host: HostCost, tool_duration: Metric | None) -> float:
    """Return the time in which the delay was counted.

    A tool's threads live as long as the tool works. Virtual CPUs also wait while its command is
    brought to the guest, so that only the share of the whole command says what the tool lost.
    """
    return trial.duration_s if host.lasting else trial.lasted_s(tool_duration)


def _without_delay(host: HostCost) -> Unaccounted:
    seen = host.coverage >= LEAST_COVERAGE
    return Unaccounted.NO_DELAY if seen else Unaccounted.ENDED_UNSEEN
