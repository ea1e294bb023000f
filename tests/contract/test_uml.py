"""User-mode Linux: what only it can lose, and how it may be killed."""

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from contract.test_leaving import Changed
from tare.core.errors import LayerError, LayerTimedOut
from tare.core.model import DiskCache, Limits
from tare.machines.machine import await_true, check, get, put, text

# Minutes of boots and kills: in `make test-real`; the promises themselves are in `make test`.
pytestmark = [pytest.mark.needs("uml"), pytest.mark.slow]


def links(place):
    """List the cables that are left; the bridge of the session's dockerd stays with that."""
    return [at.name for at in Path("/sys/class/net").glob(f"tare{place.id}t*")]


def killed(instance):
    os.kill(int(Path(instance.folder, "pid").read_text()), signal.SIGKILL)


def test_two_at_once_have_addresses_and_disks_of_their_own(place, layers_of, traces):
    sites = [place.site(), place.site()]
    stacks = [place.open(layers_of("host/uml"), site) for site in sites]
    try:
        for number, stack in enumerate(stacks):
            put(stack.machine, str(number).encode(), f"{stack.workdir}/which")
        said = [get(stack.machine, f"{stack.workdir}/which") for stack in stacks]
        addresses = {stack.instances[0].connection.address for stack in stacks}
    finally:
        for stack in stacks:
            stack.close()
    assert said == [b"0", b"1"]
    assert len(addresses) == 2
    assert [traces(site.name) for site in sites] == [[], []]
    assert links(place) == []


def test_its_disk_may_be_cached_by_the_host_where_the_limits_say_so(place, layers_of):
    limits = Limits(cpus=1, memory_bytes=2**29, disk_cache=DiskCache.WRITEBACK)
    stack = place.open(layers_of("host/uml"), place.site(limits=limits))
    try:
        instance = stack.instances[0]
        put(stack.machine, b"kept", "/data/kept")
        cache = stack.inside().disk_cache
        instance.stop()
        instance.start()
        instance.ready()
        kept = get(stack.machine, "/data/kept")
    finally:
        stack.close()
    assert cache is DiskCache.WRITEBACK
    assert kept == b"kept"


def test_it_can_be_paused_while_it_writes(place, layers_of):
    """Who waits for a file that is served cannot be frozen unless the server answers."""
    stack = place.open(layers_of("host/uml"))
    try:
        write = "while dd if=/dev/zero of=/data/x bs=1M count=8 conv=fsync 2> /dev/null; do :; done"
        check(stack.machine, ["sh", "-c", f"({write}) > /dev/null 2>&1 &"])
        for _ in range(5):
            stack.pause()
            stack.resume()
        assert stack.machine.run(["true"]).returncode == 0
    finally:
        stack.close()


def test_a_guest_without_a_system_shows_its_panic_and_leaves_nothing(
    place, layers_of, traces, tmp_path
):
    userland = Changed(place.userland, tmp_path, "disk.img", b"\0" * 2**20)
    site = place.site(userland=userland, deadline_s=20)

    with pytest.raises(LayerError, match=r"(?s)ended by itself; it said last: Kernel panic"):
        place.open(layers_of("host/uml"), site)

    assert traces(site.name) == []
    assert links(place) == []


def test_one_that_is_killed_while_it_boots_says_so_and_leaves_nothing(place, layers_of, traces):
    site = place.site()
    instance = layers_of("host/uml")[0].create(place.host, site)
    try:
        instance.start()
        assert await_true(instance.process.lives, timeout_s=5)
        killed(instance)
        with pytest.raises(LayerError, match="ended by itself") as it:
            instance.ready()
        assert not isinstance(it.value, LayerTimedOut)
    finally:
        site.scope.close()
    assert traces(site.name) == []
    assert links(place) == []


def test_one_that_is_killed_in_a_command_is_left_like_any_other(place, layers_of, traces, settles):
    site = place.site(deadline_s=5)
    stack = place.open(layers_of("host/uml"), replace(site, deadline_s=60))
    instance = stack.instances[0]
    instance.site = site
    timer = threading.Timer(1, killed, [instance])
    timer.start()

    done = stack.machine.run(["sleep", "20"], timeout_s=8)

    assert done.returncode != 0
    with pytest.raises(LayerError, match="ended by itself"):
        instance.stop()
    stack.close()
    assert settles(lambda: not traces(site.name)), traces(site.name)
    assert links(place) == []


def test_one_whose_disk_is_no_longer_served_is_left_like_any_other(
    place, layers_of, traces, settles
):
    site = place.site()
    stack = place.open(layers_of("host/uml"), site)
    os.kill(int(Path(stack.instances[0].folder, "server.pid").read_text()), signal.SIGKILL)

    assert stack.machine.run(["sh", "-c", "echo > /data/x; sync; ls /data/x"], timeout_s=8)
    stack.close()

    assert settles(lambda: not traces(site.name)), traces(site.name)


def test_much_comes_through_its_cable_both_ways(place, layers_of):
    """The host sends packets larger than a frame, which a driver may lose."""
    stack = place.open(layers_of("host/uml"))
    content = os.urandom(2**23)
    try:
        put(stack.machine, content, "/data/much")
        back = get(stack.machine, "/data/much")
        kernel = text(stack.machine, ["uname", "-r"])
    finally:
        stack.close()
    assert back == content
    assert kernel != os.uname().release
