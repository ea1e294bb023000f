"""Check whether a host has the CPUs and the disk space that a plan needs.

Only sums over the study and the plan; the caller passes what the host has.
"""

from __future__ import annotations

from dataclasses import dataclass

from tare.core.model import Limits, Plan, Unit
from tare.core.parameter import unit_of, word_of
from tare.experiment.design.admission import at_once_of, text
from tare.experiment.study.declaration import FixedWorkload, Study

ELSEWHERE = frozenset({"ssh", "vsphere"})
"""Layers behind which files are on the disk of another computer."""

SHOWN_BYTES = 2**20
"""Smaller sizes are blocks, and make no file large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskNeed:
    """The most that the files of workloads take of this host's disks at one moment.

    ``largest`` is the workload whose files are the largest in one instance, with how large.
    """

    total_bytes: int
    instances: int
    largest: str = ""
    largest_bytes: int = 0

    def too_large(self, free_bytes: int) -> str:
        """Return which number exceeds the free space; empty if it fits."""
        if self.total_bytes <= free_bytes:
            return ""
        return (
            f"{text(self.total_bytes)} in {self.instances} instances, {text(free_bytes)} are free "
            f"on this host; the largest is {self.largest}: {text(self.largest_bytes)} in each "
            "instance; expected smaller files, fewer workloads or fewer instances"
        )


def disk_need(study: Study, plan: Plan, *, by_blocks: bool = False) -> DiskNeed:
    """Sum the files of all instances that are open at once, or by blocks of one a platform.

    A duet has them twice, on each of its sets of CPUs.
    """
    made = {(one.name, one.params): one for one in study.workloads}
    there = {one.name for one in study.platforms if ELSEWHERE & set(one.stack.split("/"))}
    by_limits: dict[Limits, int] = {}
    instances: dict[tuple[str, int, Limits], int] = {}
    largest: tuple[int, FixedWorkload | None] = 0, None
    for cell in plan.cells:
        if cell.platform in there:
            continue
        one = made[cell.workload, cell.params]
        each_bytes = one.made.disk_bytes()
        count = 1 if by_blocks else plan.repetition.instances_of(cell.platform)
        count *= at_once_of(plan)
        by_limits[cell.limits] = by_limits.get(cell.limits, 0) + count * each_bytes
        instances[cell.platform, cell.replica, cell.limits] = count
        if each_bytes > largest[0]:
            largest = each_bytes, one
    totals = list(by_limits.values()) or [0]
    counts = [sum(n for (*_, under), n in instances.items() if under == one) for one in by_limits]
    size_bytes, workload = largest
    return DiskNeed(
        total_bytes=max(totals) if by_blocks else sum(totals),
        instances=max(counts, default=0) if by_blocks else sum(counts),
        largest=_label(workload) if workload else "",
        largest_bytes=size_bytes,
    )


def cpus_too_many(study: Study, cpus: int) -> str:
    """Return which limits have more CPUs than a host; empty if none has."""
    wanted = sorted({limits.cpus for limits in study.limits if limits.cpus > cpus})
    if not wanted:
        return ""
    listed = ", ".join(map(str, wanted))
    return f"limits of {listed} CPUs are unavailable: this host has {cpus}"


def _label(workload: FixedWorkload) -> str:
    """Return the name of a workload with what makes its files large."""
    sizes = [
        f"{word_of(name)} {text(value)}"
        for name, value in workload.params
        if unit_of(name) is Unit.BYTE and isinstance(value, int) and value >= SHOWN_BYTES
    ]
    jobs = dict(workload.params).get("jobs", 1)
    large = ", ".join([*sizes, *([f"jobs {jobs}"] if jobs != 1 else [])])
    return f"{workload.name} ({large})" if large else workload.name
