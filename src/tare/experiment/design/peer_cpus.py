"""Find trials that leave no CPU to the peer (load generator), before anything is run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tare.experiment import scenario
from tare.experiment.study.declaration import Study

FIX = "fewer `cpus` in the limits, a `peer` on another computer, or a host with more CPUs"
FIX_UNPINNED = "`cpu_limit: cpuset`, or a `peer` on another computer"


@dataclass(frozen=True, slots=True)
class Crowded:
    """Workloads whose trials use all CPUs of the host: ``parts`` instances of ``cpus`` CPUs each.

    ``is_pinned``: the limits hold each part to ``cpus`` of them; if not, any part may use all.
    """

    workloads: tuple[str, ...]
    parts: int
    cpus: int
    host_cpus: int
    is_pinned: bool = True

    def says(self) -> str:
        """Write it in words."""
        parts = "1 part" if self.parts == 1 else f"{self.parts} parts"
        each = "1 CPU" if self.cpus == 1 else f"{self.cpus} CPUs"
        takes = f"{parts} of {each} {'takes' if self.parts == 1 else 'each take'}"
        have = "the 1 CPU" if self.host_cpus == 1 else f"all {self.host_cpus} CPUs"
        if not self.is_pinned:
            return (
                f"limits that pin nothing take {have} of this host and leave none to the peer, so "
                f"each trial of {', '.join(self.workloads)} will be suspect; "
                f"fix: {FIX_UNPINNED}"
            )
        return (
            f"{takes} {have} of this host and leave{'s' * (self.parts == 1)} none to the peer, so "
            f"each trial of {', '.join(self.workloads)} will be suspect; fix: {FIX}"
        )


def crowded(study: Study, host_cpus: int) -> Iterator[Crowded]:
    """List what leaves the peer no CPU, by the CPUs of the limits and the number of parts.

    Another computer has CPUs of its own. More CPUs than there are make cells unavailable instead.
    """
    outermost = study.peer.made[0]
    if not outermost.runs_userland and not outermost.shared:
        return
    chosen = scenario.load(study.scenario)
    names: dict[tuple[int, int, bool], dict[str, None]] = {}
    for one in study.workloads:
        if one.made.uses_peer():
            parts = len(set(chosen.cpu_sets(one.made)))
            for limits in study.limits:
                which = parts, limits.cpus, limits.is_pinned
                names.setdefault(which, {})[one.name] = None
    for (parts, cpus, is_pinned), found in names.items():
        sets = host_cpus // cpus
        if sets and (not is_pinned or min(parts, sets) * cpus == host_cpus):
            yield Crowded(tuple(found), parts, cpus, host_cpus, is_pinned)
