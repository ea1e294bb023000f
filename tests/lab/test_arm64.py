"""The promises of layers on a host that is arm64, reached by ssh; its KVM runs guests of arm64.

All of it is emulated, and a guest in a guest is slow: see docs/how-to/use-the-lab.md.
"""

import pytest

from contract import test_verbs as verbs
from lab import arm64
from lab.promises import PROMISES
from tare.machines import layer
from tare.machines.machine import Host, text

pytestmark = pytest.mark.slow

KVM = "host/ssh/kvm"
STACKS = [
    "host/ssh",
    KVM,
    *(f"host/ssh/{one}" for one in ("bubblewrap", "docker", "nspawn", "podman")),
]

globals().update(PROMISES)


@pytest.fixture(scope="module")
def settings(place):
    """What the layers need that are opened on the host; it is up as long as this module runs."""
    with arm64.booted(place) as ssh:
        yield {"ssh": ssh, "kvm": {"arch": arm64.ARCH}}


@pytest.fixture(scope="module", params=STACKS)
def opened(request, place, settings):
    """See test_contract."""
    _, *names = request.param.split("/")
    layers = [layer.load(name, **settings.get(name, {})) for name in names]
    stack = place.open(layers, place.site_with_agents(deadline_s=arm64.BOOT_S))
    yield request.param, stack, layers[-1], layers
    stack.close()


@pytest.fixture
def userland(place, machine, innermost):
    if innermost.own_system():
        pytest.skip(f"it runs {innermost.own_system()}, not the userland")
    return place.userland.of(machine)


def test_it_is_an_arm64_under_an_amd64(machine):
    assert text(Host(), ["uname", "-m"]) == "x86_64"
    assert text(machine, ["uname", "-m"]) == "aarch64"


def test_commands_enter_anew_because_the_agent_is_a_program_for_this_host(stack):
    assert not stack.has_agent
    assert "agent" in stack.no_agent


def test_a_guest_runs_on_kvm_and_is_rebooted(stack, path):
    if path != KVM:
        pytest.skip("there is no guest")
    outer = stack.instances[-1].outer
    accel = ["sh", "-c", 'tr "\\0" " " < /proc/$(cat "$0/pid")/cmdline', stack.instances[-1].folder]
    assert "-accel kvm" in text(outer, accel)

    verbs.test_what_was_rebooted_is_new_and_has_its_disk(stack, hard=False)
