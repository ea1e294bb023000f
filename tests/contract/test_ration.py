"""A quota of CPU time that is put on a running instance, cannot be exceeded, and is taken back."""

import time

import pytest

from contract.test_limits import BUSY_S, CONTAINERS, EVERY, GUESTS, LOOPS, share, used_s
from tare.core.model import Limits
from tare.core.model.reservation import CPUS, given
from tare.experiment.run.holding import holding
from tare.experiment.run.instance_set import Member
from tare.machines import layer
from tare.machines.machine import check

USUAL = Limits(cpus=1, memory_bytes=2**29)
CPU = str(max(EVERY))
QUOTA = 0.25
HELD = given({CPUS: QUOTA, "cpu_weight": 50})

pytestmark = pytest.mark.slow


def use(made):
    """Run loops that want more than there is; return the CPU time they got, and how long."""
    group = made.threads().cgroup
    before, begin = used_s(group), time.monotonic()
    check(made.machine, ["sh", "-c", LOOPS, "1", f"{BUSY_S:g}"], timeout_s=60)
    return used_s(group) - before, time.monotonic() - begin


@pytest.mark.parametrize("stack", [*CONTAINERS, *GUESTS])
def test_a_reservation_holds_while_it_is_there_and_not_after(opened, stack):
    made = opened(USUAL, *stack, cpuset=CPU)
    path, settings = stack
    names = path.split("/")[1:] or ["host"]
    layers = [layer.load(name, **settings.get(name, {})) for name in names]
    if why := next(filter(None, (one.lacks(HELD.over(USUAL)) for one in layers)), ""):
        pytest.skip(why)
    before = made.held()

    with holding([Member(index=0, stack=made)], layers, USUAL, HELD):
        held = made.held()
        used, lasted_s = use(made)
    after = made.held()
    free_used, free_s = use(made)

    assert (held.quota_cpus, held.cpu_weight) == (QUOTA, 50)
    assert share(used, lasted_s, QUOTA) <= 1.05
    assert used > 0.1
    assert after == before
    assert (before.quota_cpus, before.cpu_weight) == (None, 100)
    assert free_used / free_s > 1.2 * QUOTA
