"""Read the comparison conditions in an instance of each platform, and make facts of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace

from tare.core.errors import CommandFailed
from tare.core.model import Preconditions, Scalar
from tare.experiment.host import preconditions
from tare.experiment.study import Study
from tare.machines.cgroup.readback import Inside
from tare.machines.stack import Stack
from tare.results.store import stored_preconditions


@dataclass
class Conditions:
    """What was read in one instance of a platform, with that instance's ``label``.

    ``problem`` says why it could not be asked. ``skew``, and by how many seconds its time of day
    was set (``set_s``), are there once its clock was watched at the end.
    """

    label: str = ""
    reading: Preconditions = field(default_factory=Preconditions)
    day_s: float | None = None
    skew: preconditions.Skew | None = None
    set_s: float | None = None
    problem: str = ""


def read(stack: Stack, label: str, inside: Inside, tools: Sequence[str]) -> Conditions:
    """Read an instance's preconditions, and add the limits that were read back."""
    try:
        reading = preconditions.read(stack.machine, stack.workdir, tools)
        day_s = preconditions.day_offset(stack.machine) if reading else None
    except CommandFailed as error:
        return Conditions(problem=f"its preconditions could not be read inside: {error}")
    if reading:
        cache = inside.disk_cache
        given: dict[str, Scalar] = {"disk_cache": cache.value} if cache is not None else {}
        if inside.quota_cpus is not None:  # of a guest it is on its process, and unseen inside
            given["cpu_quota"] = inside.quota_cpus
        values = {**reading.values, "memory_given_bytes": inside.memory_bytes, **given}
        reading = replace(reading, values=values)
    return Conditions(label, reading, day_s)


def watch_clock(known: Conditions, stack: Stack) -> None:
    """Compare an instance's clock with the host's for some seconds, if it could be read before."""
    if not known.reading:
        return
    with suppress(CommandFailed):
        now_s = preconditions.day_offset(stack.machine)
        if now_s is not None and known.day_s is not None:
            known.set_s = now_s - known.day_s
        known.skew = preconditions.bound(preconditions.watch(stack.machine))


def facts(study: Study, mine: Conditions, base: Conditions) -> dict[str, object]:
    """Return what was read, and how it differs from the baseline's, as facts to store.

    A mismatch names the workloads that it touches. Of the baseline itself only its clock can be
    wrong.
    """
    found = preconditions.clock_mismatches(mine.skew, mine.set_s)
    found += preconditions.mismatches(base.reading, mine.reading)
    every = {item.name: item.made.disk_bytes() > 0 for item in study.workloads if item.made.tools()}
    return {
        "preconditions": stored_preconditions(mine.reading),
        "clock": (asdict(mine.skew) if mine.skew else {})
        | ({} if mine.set_s is None else {"set_s": mine.set_s}),
        "mismatches": [
            {
                "about": one.about,
                "said": one.said,
                "workloads": [name for name, files in every.items() if files or not one.only_files],
            }
            for one in found
        ],
    }
