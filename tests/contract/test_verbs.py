"""Stopping, starting and rebooting: what every layer promises that has a life of its own."""

import pytest

from contract.stacks import ALONE_PARAMS
from tare.core.model import Limits
from tare.machines.cgroup import readback
from tare.machines.machine import check, get, put, text

LIMITS = Limits(cpus=1, memory_bytes=2**29)
BACKGROUND = "setsid sleep 54321 > /dev/null 2>&1 < /dev/null &"


LIFELESS = {"host", "host/ssh"}
# Each of these boots six times; a container does it in a second.
BOOTS = {"host/libvirt", "host/qemu-tcg", "host/kvm", "host/uml", "host/vsphere", "host/xen"}
PARAMS = [
    pytest.param(*one.values, id=one.id, marks=[*one.marks, pytest.mark.slow])
    if one.values[0][0] in BOOTS
    else one
    for one in ALONE_PARAMS
]


@pytest.fixture(scope="module", params=PARAMS)
def stack(request, layers_of):
    path, settings = request.param
    place = request.getfixturevalue("remote_place" if "ssh" in path else "place")
    if path in LIFELESS:
        pytest.skip("it has no life of its own: a chroot, or somebody's machine")
    stack = place.open(layers_of(path, **settings), place.site(limits=LIMITS))
    yield stack
    stack.close()


@pytest.fixture(params=["in order", "hard"])
def hard(request):
    return request.param == "hard"


def runs_in_background(machine):
    lines = text(machine, ["sh", "-c", "cat /proc/[0-9]*/cmdline 2> /dev/null; true"])
    return "sleep\x0054321" in lines


def busy_with_a_file(stack):
    put(stack.machine, b"kept", f"{stack.workdir}/kept")
    check(stack.machine, ["sh", "-c", f"sync; {BACKGROUND}"])
    assert runs_in_background(stack.machine)


def is_new_and_has_the_file(stack):
    stack.machine = stack.instances[-1].machine
    assert get(stack.machine, f"{stack.workdir}/kept") == b"kept"
    assert not runs_in_background(stack.machine)
    assert readback.refusals(stack.instances[-1].site.limits, stack.inside()) == []


def test_what_was_stopped_does_not_answer_and_starts_with_its_disk(stack, hard):
    instance = stack.instances[-1]
    busy_with_a_file(stack)
    instance.stop(hard=hard)

    assert stack.machine.run(["true"], timeout_s=5).returncode != 0

    instance.start()
    instance.ready()
    instance.hold()
    is_new_and_has_the_file(stack)


def test_what_was_rebooted_is_new_and_has_its_disk(stack, hard):
    instance = stack.instances[-1]
    busy_with_a_file(stack)
    instance.reboot(hard=hard)

    instance.ready()
    instance.hold()
    is_new_and_has_the_file(stack)


def test_a_paused_one_can_be_left_hard(stack):
    instance = stack.instances[-1]
    instance.pause()
    instance.stop(hard=True)

    instance.start()
    instance.ready()
    assert stack.machine.run(["true"]).returncode == 0
