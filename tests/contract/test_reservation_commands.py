"""The commands that a report prints for Docker hold a container as they say."""

import pytest

from tare.core.errors import Unavailable
from tare.core.model import Limits
from tare.core.model.reservation import CPUS
from tare.machines.cgroup import disk
from tare.machines.cgroup.cgroup import of_process
from tare.machines.cgroup.group_limits import read_group
from tare.machines.machine import check, text
from tare.present.view.reservation_commands import DISK, commands

USUAL = Limits(cpus=1, memory_bytes=2**29)
LIVE = {CPUS: 0.25, "cpu_weight": 50, "processes": 64}
FROM_START = {name: 1000 * number for number, name in enumerate(DISK, start=5000)}


@pytest.fixture
def container(opened):
    """A container of Tare's; the others are made of its image by its engine."""
    return opened(USUAL, "host/docker", {})


def words(limits):
    (line,) = commands(limits)["Docker"]
    engine, *words = line.split()
    assert engine == "docker"
    return words


@pytest.mark.needs("docker")
def test_a_running_container_is_held_by_the_update_that_is_printed(container):
    made = container.instances[-1]
    argv = [made.site.name if word == "NEIGHBOUR" else word for word in words(LIVE)]

    check(made.outer, [*made.daemon.client, *argv])

    held = container.held()
    assert (held.quota_cpus, held.processes) == (0.25, 64)
    group = made.holding_group(made.outer)
    shares = text(made.outer, ["sh", "-c", SHARES, group.path])
    # v2 has weights of its own, which engines compute in several ways.
    assert shares in ("512", "") or 1 <= int(shares) <= 100


NAME_OF_DISK = '. "/sys/dev/block/$0/uevent"; echo "/dev/$DEVNAME"'
SHARES = "cat /sys/fs/cgroup/cpu/$0/cpu.shares /sys/fs/cgroup/$0/cpu.weight 2> /dev/null || :"


@pytest.mark.needs("docker")
def test_a_container_is_held_to_its_disk_by_the_options_that_are_printed(container):
    made = container.instances[-1]
    outer, client, name = made.outer, made.daemon.client, f"{made.site.name}-held"
    try:
        number = disk.find(outer, made.files_at)
    except Unavailable as error:
        pytest.skip(str(error))
    device = text(outer, ["sh", "-c", NAME_OF_DISK, number])
    image = text(outer, [*client, "inspect", "--format", "{{.Image}}", made.site.name])
    run, *options, _ = words(FROM_START)
    options = [word.replace("DEVICE", device) for word in options]

    try:
        argv = [run, "--detach", "--name", name, "--entrypoint", "sleep", *options, image, "600"]
        check(outer, [*client, *argv], timeout_s=120)
        pid = text(outer, [*client, "inspect", "--format", "{{.State.Pid}}", name])
        held = read_group(outer, of_process(outer, pid, "blkio"))
    finally:
        outer.run([*client, "rm", "--force", name], timeout_s=60)

    assert {one: getattr(held, one) for one in DISK} == FROM_START
