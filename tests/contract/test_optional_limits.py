"""Optional limits: each is exceeded on purpose, and holds; what it is then is read back."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from contract.test_limits import CONTAINERS, EVERY, GUESTS, used_s
from tare.core.errors import Unavailable
from tare.core.model import Limits
from tare.machines.cgroup import readback
from tare.machines.machine import Host

pytestmark = pytest.mark.slow

ROOT = Path("/sys/fs/cgroup")
IS_V2 = (ROOT / "cgroup.controllers").exists()
CPU = str(max(EVERY))
USUAL = Limits(cpus=1, memory_bytes=2**29)

PROCESSES = 64
# libvirt's groups of containers have no such controller in v1.
COUNTED = [
    one for one in CONTAINERS if one.id != "host-gvisor" and (IS_V2 or "libvirt" not in one.id)
]
# Each of them ends by itself, also without a limit.
FORKS = r"""
begun=0
while [ $begun -lt "$0" ]; do
    sleep 3 > /dev/null 2>&1 &
    begun=$((begun + 1))
    echo $begun
done
"""


def file_of(made, controller, name):
    """Find a file of the group on this host that holds a stack."""
    group = made.instances[-1].holding_group(Host()).path
    return (ROOT if IS_V2 else ROOT / controller) / group / name


def tasks(made):
    """Count the processes and threads of a stack."""
    return int(file_of(made, "pids", "pids.current").read_text())


@pytest.mark.parametrize("stack", COUNTED)
def test_more_forks_than_processes_are_allowed_fail(opened, stack, settles):
    limits = replace(USUAL, processes=PROCESSES)
    made = opened(limits, *stack, cpuset=CPU)
    inside = made.inside()

    done = made.machine.run(["sh", "-c", FORKS, str(PROCESSES + 20)], timeout_s=60)
    now = tasks(made)

    assert inside.group.processes == PROCESSES
    assert readback.refusals(limits, inside, made.cpuset) == []
    assert done.returncode != 0
    assert b"ork" in done.stderr
    begun = int(done.stdout.split()[-1])
    assert PROCESSES / 2 < begun < PROCESSES
    assert now <= PROCESSES
    events = file_of(made, "pids", "pids.events").read_text().split()
    assert int(events[events.index("max") + 1]) > 0
    # It is as usable as before once there are fewer.
    assert settles(lambda: tasks(made) < PROCESSES / 2, timeout_s=10)
    assert made.machine.run(["true"]).returncode == 0


@pytest.mark.skipif(IS_V2, reason="in v2 libvirt's groups have the controller")
@pytest.mark.needs("libvirt")
def test_a_group_without_the_controller_is_refused_and_nothing_stays(place, layers_of, traces):
    site = place.site(limits=replace(USUAL, processes=PROCESSES), cpuset=CPU)

    with pytest.raises(Unavailable, match="it is no group of the pids controller; fix: leave"):
        place.open(layers_of("host/libvirt", libvirt={"uri": "lxc:///system"}), site)

    assert traces(site.name) == []


# --- the share of contended CPUs

WEIGHTS = (300, 100)
WEIGHED = [one for one in (*CONTAINERS, *GUESTS) if "libvirt" not in one.id]
BUSY = ["timeout", "6", "sh", "-c", "while :; do :; done"]


@pytest.mark.parametrize("stack", WEIGHED)
def test_two_busy_instances_share_a_cpu_as_their_weights_say(opened, stack):
    made = [opened(replace(USUAL, cpu_weight=one), *stack, cpuset=CPU) for one in WEIGHTS]
    groups = [one.threads().cgroup for one in made]
    for one, weight in zip(made, WEIGHTS, strict=True):
        inside = one.inside()
        assert inside.group.cpu_weight == weight
        assert readback.refusals(replace(USUAL, cpu_weight=weight), inside, one.cpuset) == []

    with ThreadPoolExecutor() as threads:
        running = [threads.submit(one.machine.run, BUSY, timeout_s=60) for one in made]
        time.sleep(1)
        before = [used_s(group) for group in groups]
        time.sleep(4)  # many times the slices of a CPU that others use as well
        used = [used_s(group) - start for group, start in zip(groups, before, strict=True)]
        assert [one.result().returncode for one in running] == [124, 124]

    assert sum(used) > 0.5, "the loops ran outside the groups, or had no CPU"
    assert used[0] / used[1] == pytest.approx(3, rel=0.1)
