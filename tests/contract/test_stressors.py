"""Every stressor for real, in a small instance: it disturbs as can be read back, and it ends.

The instances are held to 256 MiB, one CPU and few processes, whatever the stressor wants.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from contract.disturbing import (
    CELL,
    CPUS,
    MIB,
    files_in,
    group,
    has_own_kernel,
    left,
    peer_of,
    placed,
    processes,
    reaches_no_disk,
    userland_of,
)
from tare.core.errors import LayerError, LayerTimedOut
from tare.core.model import Limits
from tare.experiment.probes.timeline import Timeline
from tare.experiment.trial.placed_part import PlacedPart
from tare.experiment.trial.role_placement import RolePlacement
from tare.experiment.trial.watch import WatchSettings
from tare.machines import layer
from tare.machines.machine import check
from tare.work import stressor
from tare.work.roles import COMMAND, OWN, Main, Roles
from tare.work.stressor import load

pytestmark = pytest.mark.slow

LIMITS = Limits(cpus=1, memory_bytes=256 * MIB)
PROCESSES = 100
SECONDS = 1.0
COUNTED_BY_PMU = "cache_misses"
"""A timeline alone counts none; see tare.experiment.probes.perf."""

STACKS = [
    pytest.param("host", marks=pytest.mark.needs("root")),
    pytest.param("host/docker", marks=pytest.mark.needs("docker")),
    pytest.param("host/nspawn", marks=pytest.mark.needs("nspawn")),
    pytest.param("host/gvisor", marks=pytest.mark.needs("gvisor")),
]

CASES = {
    "cpu": ({}, {"layer_cpu_s": 0.05}),
    "memory": ({"worker_bytes": 64 * MIB}, {"layer_memory_bytes_most": 57 * MIB}),
    "memory-held": (
        {"worker_bytes": 32 * MIB, "access": "hold", "workers": 2},
        {"layer_memory_bytes_most": 57 * MIB},
    ),
    "memory_bandwidth": ({"worker_bytes": 64 * MIB}, {"layer_cpu_s": 0.05}),
    "fork": ({"children": 10}, {"layer_page_faults": 500, "host_forks": 50}),
    "cache": ({}, {"layer_cpu_s": 0.05}),
    "syscall": ({}, {"layer_cpu_system_s": 0.02}),
    "syscall-mmap": ({"method": "mmap"}, {"layer_cpu_system_s": 0.02}),
    "syscall-futex": ({"method": "futex"}, {"layer_cpu_s": 0.02}),
    "syscall-sync": ({"method": "sync"}, {"layer_cpu_s": 0.001}),
    "disk": (
        {"file_bytes": MIB},
        {"host_disk_read_bytes": MIB, "host_disk_written_bytes": MIB},
    ),
    "net_send": ({}, {"sent_bytes": 10 * MIB}),
    "net_receive": ({}, {"received_bytes": 10 * MIB}),
}
"""By a stressor's name, and a word for the variant: its parameters, and the least that is read.

Little, for the tests may have to share their CPU with others."""


@dataclass
class Disturbed:
    """What was read while a stressor ran, and which roles lived until they were ended."""

    metrics: dict
    missing: set
    ended: dict
    left: list


@pytest.fixture(scope="module")
def userland(place):
    return userland_of(place)


@pytest.fixture(scope="module")
def peer(place, userland):
    """A machine outside at the end of a cable, as a session makes it."""
    with peer_of(place, userland) as made:
        yield made


@pytest.fixture(scope="module", params=STACKS)
def instance(request, place, layers_of, userland):
    layers = layers_of(request.param)
    limits = replace(LIMITS, processes=PROCESSES)
    if any(one.lacks(limits) for one in layers):
        limits = LIMITS  # a kernel of its own: its processes are not the host's
    stack = place.open(layers, place.site(userland=userland, limits=limits, reached=True))
    check(stack.machine, ["mkdir", f"{stack.workdir}/{CELL}"])
    yield stack
    stack.close()


def within(made):
    """Whether a stressor's bounds are those that the instances have."""
    bounds = made.bounds()
    return bounds.process_limit <= PROCESSES and bounds.disk_bytes <= 64 * MIB


def forks():
    (line,) = (one for one in Path("/proc/stat").read_text().splitlines() if "processes" in one)
    return int(line.split()[1])


def growth(timeline, name):
    """The bytes on the devices of Tare, in one direction."""
    return sum(
        one.values[-1] - one.values[0]
        for one in timeline.series
        if one.name == name and one.source == "host" and one.device.startswith("tare")
    )


def disturb(stack, made, peer):
    """Run a stressor for a second, and read back what it did."""
    before = processes(stack)
    with placed(stack, made, ["sleep", str(SECONDS)], peer) as command:
        began = forks()
        with Timeline(stack.threads(), CPUS, hertz=5) as timeline:
            check(command.machine, command.argv)
        metrics = timeline.metrics | {
            "host_forks": forks() - began,
            "sent_bytes": growth(timeline, "network_sent_bytes"),
            "received_bytes": growth(timeline, "network_received_bytes"),
        }
        ended = command.conclude(False)
    files = files_in(stack)
    missing = {one.name for one in timeline.series if one.reason}
    others = [name for name in files if name != CELL]
    return Disturbed(metrics, missing, ended, [*left(stack, before), *others])


def case(name):
    params, least = CASES[name]
    return load(name.partition("-")[0], **params), least


def test_every_stressor_has_a_small_version():
    assert {name.partition("-")[0] for name in CASES} == set(stressor.names())
    assert all(within(case(name)[0]) for name in CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_stressor_disturbs_as_is_read_back_and_ends(instance, peer, name):
    made, least = case(name)

    seen = disturb(instance, made, peer)

    assert {name: one.lived for name, one in seen.ended.items()} == dict.fromkeys(seen.ended, True)
    assert set(seen.ended) == {role.name for role in made.roles("bomb", COMMAND)}
    if name == "disk" and reaches_no_disk(instance):
        least, readings = {}, ()
    else:
        readings = made.readings
    for reading in readings:
        # What cannot be read here has a reason: v1 counts a chroot's disk in no group.
        if reading.kind not in {COUNTED_BY_PMU, *seen.missing}:
            assert seen.metrics[reading.name] > 0, reading.name
    for metric, low in least.items():
        assert seen.metrics[metric] >= low, metric
    assert seen.left == []


def test_the_cpu_is_dialled(instance, peer):
    seen = disturb(instance, load("cpu").at(0.2), peer)

    assert 0.02 < seen.metrics["layer_cpus_mean"] < 0.35


def test_the_disk_is_dialled(instance, peer):
    if why := reaches_no_disk(instance):
        pytest.skip(why)
    made = load("disk", file_bytes=MIB, full_bytes_per_s=64 * MIB).at(0.25)

    seen = disturb(instance, made, peer)

    # By the host's disks, which others use too.
    moved = sum(seen.metrics[f"host_disk_{way}_bytes"] for way in ("read", "written"))
    assert 4 * MIB < moved < 48 * MIB


@pytest.mark.parametrize(("name", "way"), [("net_send", "sent"), ("net_receive", "received")])
def test_the_network_is_dialled(instance, peer, name, way):
    made = load(name, full_bytes_per_s=40 * MIB).at(0.5)

    seen = disturb(instance, made, peer)

    # On this host every byte passes a link and the bridge that it is in, and no third device.
    assert 10 * MIB < seen.metrics[f"{way}_bytes"] < 100 * MIB
    assert seen.metrics["layer_cpu_s"] > 0


@pytest.mark.needs("root")
def test_a_limit_holds_a_fork_bomb_that_wants_more_and_its_instance_ends_it(own_place):
    userland = userland_of(own_place)
    limits = replace(LIMITS, processes=24)
    stack = own_place.open([layer.load("host")], own_place.site(userland=userland, limits=limits))
    made = load("fork", children=200)
    assert made.bounds().process_limit > 24
    began = forks()
    try:
        # What looks whether it is ready has no process left, nor has what would end it.
        never_ready(stack, made)
        most = int((group(stack, "pids") / "pids.current").read_text())
    finally:
        stack.close()

    assert most <= 24
    assert forks() - began > 50


def test_a_memory_bomb_beyond_its_limit_is_never_ready_and_leaves_nothing(instance):
    if has_own_kernel(instance):
        pytest.skip("the kernel inside is in the same group, and is killed with it")
    before = processes(instance)

    never_ready(instance, load("memory", worker_bytes=512 * MIB))

    assert left(instance, before) == []
    assert files_in(instance) == [CELL]


@pytest.mark.needs("gvisor")
def test_a_memory_bomb_beyond_its_limit_ends_its_sandbox_and_nothing_else(
    own_place, layers_of, traces
):
    userland = userland_of(own_place)
    site = own_place.site(userland=userland, limits=LIMITS)
    stack = own_place.open(layers_of("host/gvisor"), site)
    try:
        part = PlacedPart(part="", instance="n", stack=stack, how=WatchSettings(cpus=CPUS))
        roles = Roles(
            Main(OWN, ["true"]),
            tuple(load("memory", worker_bytes=512 * MIB).roles("bomb", COMMAND)),
        )
        with (
            pytest.raises(LayerError, match=r"the role bomb \(stress-ng\) ended at once"),
            RolePlacement(roles, CELL, [part]).up(),
        ):
            pytest.fail("it cannot be ready")
    finally:
        stack.close()

    assert traces(site.name) == []


def never_ready(stack, made):
    """Start a stressor that cannot become ready within 3 s."""
    part = PlacedPart(part="", instance="n", stack=stack, how=WatchSettings(cpus=CPUS))
    role = replace(made.roles("bomb", COMMAND)[0], ready_s=3.0)
    with (
        pytest.raises(LayerTimedOut, match=r"the role bomb \(stress-ng\) was not ready within 3 s"),
        RolePlacement(Roles(Main(OWN, ["true"]), (role,)), CELL, [part]).up(),
    ):
        pytest.fail("it cannot be ready")
