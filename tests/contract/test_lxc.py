"""What can happen to an LXC container only."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from contract.containers import Broken, assert_a_killed_init_ends_all
from tare.core.errors import LayerError
from tare.machines.machine import Host, check, text

pytestmark = pytest.mark.needs("lxc")


def init_of(stack):
    instance = stack.instances[-1]
    return int(text(Host(), ["lxc-info", *instance.client, "-p", "-H"]))


def test_a_container_whose_init_is_killed_ends_its_commands_and_is_left_like_any_other(
    place, layers_of, traces, settles
):
    assert_a_killed_init_ends_all(place, layers_of("host/lxc"), init_of, traces, settles)


def test_a_container_whose_monitor_is_killed_is_left_like_any_other(
    place, layers_of, traces, settles
):
    site = place.site()
    stack = place.open(layers_of("host/lxc"), site)
    status = Path(f"/proc/{init_of(stack)}/status").read_text()
    monitor = int(status.split("PPid:")[1].split()[0])
    os.kill(monitor, signal.SIGKILL)

    stack.close()

    assert settles(lambda: not traces(site.name)), traces(site.name)
    place.undo_again(site.name)


def test_a_userland_that_cannot_run_says_why_and_leaves_nothing(place, layers_of, traces, tmp_path):
    site = replace(place.site(), userland=Broken(tmp_path))

    with pytest.raises(LayerError, match=f"{site.name}-0 on host: .*(No such file|Failed to)"):
        place.open(layers_of("host/lxc"), site)

    assert traces(site.name) == []


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"filters": "1", "users": "4294967295", "alone": False}),
        ({"seccomp": False}, {"filters": "0", "users": "4294967295", "alone": False}),
        ({"userns": True, "network": "none"}, {"filters": "1", "users": "65536", "alone": True}),
    ],
)
def test_a_command_gets_the_protection_that_was_asked_for(place, layers_of, settings, expected):
    stack = place.open(layers_of("host/lxc", lxc=settings))
    try:
        status = text(stack.machine, ["cat", "/proc/self/status"])
        users = text(stack.machine, ["cat", "/proc/self/uid_map"])
        links = text(stack.machine, ["ls", "/sys/class/net"]).split()
        check(stack.machine, ["touch", "/data/file", "/etc/file"])
    finally:
        stack.close()

    assert status.split("Seccomp_filters:")[1].split()[0] == expected["filters"]
    assert users.split()[-1] == expected["users"]
    assert (links == ["lo"]) == expected["alone"]
