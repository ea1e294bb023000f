"""Docker's storage drivers: a daemon of Tare's own for each, and a reason where one cannot be."""

import pytest

from tare.core.errors import Unavailable
from tare.machines import layer
from tare.machines.backends import docker as engine
from tare.machines.backends import docker_storage
from tare.machines.machine import Host, check, text
from tare.machines.stack import open_stack

pytestmark = pytest.mark.needs("docker")


@pytest.fixture
def ours():
    if engine.answering(Host()) is not None:
        pytest.skip("the daemon of this host is not ours to start")


@pytest.mark.usefixtures("ours")
def test_daemons_of_two_drivers_serve_at_once_and_leave_nothing(own_place, traces, settles):
    stacks = [
        open_stack(Host(), [layer.load("docker", **settings)], own_place.site())
        for settings in ({"storage_driver": "vfs"}, {})
    ]
    vfs, usual = (stack.instances[-1].daemon for stack in stacks)
    assert vfs.client != usual.client
    docker_storage.check_taken(Host(), vfs.client, "vfs")
    for stack in stacks:
        check(stack.machine, ["sh", "-c", "echo here > /etc/changed"])
    # By vfs all of a container is a plain folder; by overlay2 its root is a mount of its own kind.
    roots = [text(stack.machine, ["stat", "-f", "-c", "%T", "/"]) for stack in stacks]
    assert roots[0] != "overlayfs"
    for stack in stacks:
        stack.close()
    own_place.services.close()

    assert settles(lambda: not traces(own_place.id + "-docker")), traces(own_place.id + "-docker")


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize("driver", ["btrfs", "zfs"])
def test_a_driver_of_another_file_system_is_unavailable_with_dockerds_reason(own_place, driver):
    place = own_place.site().folder
    if text(Host(), ["stat", "-f", "-c", "%T", place]) == driver:
        pytest.skip(f"{place} is on {driver}")
    with pytest.raises(Unavailable, match=f"does not take the storage driver {driver}: "):
        open_stack(Host(), [layer.load("docker", storage_driver=driver)], own_place.site())
