"""Replace instances that no longer answer."""

from __future__ import annotations

from collections.abc import Sequence

from tare.core.model import Status
from tare.experiment.run.cell_run import answers
from tare.experiment.run.instance_set import InstanceSet, Member
from tare.experiment.run.pool import Pool


def replace_dead(pool: Pool, homes: Sequence[InstanceSet], members: Sequence[Member]) -> bool:
    """Replace the instances of a cell that are dead, each in its set; return whether any was."""
    both = zip(homes, members, strict=bool(members))
    replaced = [_replaced(pool, instances, member) for instances, member in both]
    return any(replaced)


def _replaced(pool: Pool, instances: InstanceSet, member: Member) -> bool:
    """Replace an instance if it no longer answers, and all others that went down with it."""
    if member not in instances.members:  # it went down with another part's, and was seen to
        return True
    if answers(member):
        return False
    pool.progress.says(f"{instances.platform.name} no longer answers and is started again")
    others = [other for other in instances.members if other is not member]
    pool.reopen(instances, member)
    for other in others:
        if instances.status is Status.OK and not answers(other):
            pool.reopen(instances, other)
    return True
