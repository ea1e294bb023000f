"""Domains under libvirt: a container's verbs, and who may be killed."""

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from contract.test_verbs import busy_with_a_file
from tare.core.errors import LayerError
from tare.core.model import DiskCache, Limits
from tare.machines.machine import await_true, check

# Minutes of boots and kills: in `make test-real`; the promises themselves are in `make test`.
pytestmark = [pytest.mark.needs("libvirt"), pytest.mark.slow]

LXC = {"uri": "lxc:///system"}
LIMITS = Limits(cpus=1, memory_bytes=2**29)
FOLDERS = [Path("/var", name, "libvirt") for name in ("lib", "log", "cache")]


def daemon_pid(place):
    """Give the pid of the daemon that Tare started, or skip: another's is not ours to end."""
    path = place.folder / f"tare-{place.id}-libvirt" / "pid"
    if not path.exists():
        pytest.skip("the libvirtd of this host is not ours to end")
    return int(path.read_text())


def groups(name):
    found = Path("/sys/fs/cgroup").rglob(f"*{name}*")
    return [str(path) for path in found if path.is_dir()]


@pytest.fixture
def container(place, layers_of):
    stack = place.open(layers_of("host/libvirt", libvirt=LXC), place.site(limits=LIMITS))
    yield stack
    stack.close()


@pytest.mark.parametrize("hard", [False, True])
def test_a_container_stops_and_starts_with_its_files(container, hard):
    instance = container.instances[0]
    busy_with_a_file(container)

    instance.stop(hard=hard)

    assert container.machine.run(["true"], timeout_s=5).returncode != 0
    instance.start()
    instance.ready()
    container.machine = instance.machine
    assert "54321" not in container.machine.run(["sh", "-c", "cat /proc/*/cmdline"]).stdout.decode(
        errors="replace"
    )
    assert check(container.machine, ["cat", "/data/kept"]).stdout == b"kept"


@pytest.mark.parametrize("hard", [False, True])
def test_a_container_reboots_with_its_files(container, hard):
    instance = container.instances[0]
    busy_with_a_file(container)

    instance.reboot(hard=hard)
    instance.ready()

    assert check(container.machine, ["cat", "/data/kept"]).stdout == b"kept"


def test_a_container_is_removed_while_it_is_paused(place, layers_of, traces, settles):
    site = place.site(limits=LIMITS)
    stack = place.open(layers_of("host/libvirt", libvirt=LXC), site)
    assert traces(site.name)
    assert groups(site.name)
    stack.pause()

    stack.close()
    stack.close()

    assert settles(lambda: not traces(site.name)), traces(site.name)
    assert groups(site.name) == []
    place.undo_again(site.name)


def test_a_guest_is_cached_as_the_limits_say(place, layers_of):
    limits = replace(LIMITS, disk_cache=DiskCache.WRITEBACK)
    stack = place.open(layers_of("host/libvirt"), place.site(limits=limits))
    try:
        assert stack.inside().disk_cache is DiskCache.WRITEBACK
    finally:
        stack.close()


def test_a_guests_disk_of_another_size_is_all_file_system(place, layers_of):
    wanted = 15 * 2**30
    layers = layers_of("host/libvirt", libvirt={"type": "qemu", "disk_size_bytes": wanted})
    stack = place.open(layers, place.site(limits=LIMITS, deadline_s=300.0))

    size = check(stack.machine, ["stat", "-f", "-c", "%b %S", "/"]).stdout.split()
    stack.close()

    assert 0.9 * wanted < int(size[0]) * int(size[1]) < wanted


def test_a_guest_that_is_killed_while_it_boots_says_so_and_leaves_nothing(
    place, layers_of, traces, settles
):
    site = place.site(limits=LIMITS)
    instance = layers_of("host/libvirt")[0].create(place.host, site)
    try:
        instance.start()
        os.kill(int(Path(instance.daemon.pid_file(site.name)).read_text()), signal.SIGKILL)
        with pytest.raises(LayerError, match=r"did not come up, libvirt says shut off \(crashed\)"):
            instance.ready()
        with pytest.raises(LayerError, match=r"does not run: it is shut off \(crashed\)"):
            instance.stop()
    finally:
        site.scope.close()
    assert settles(lambda: not traces(site.name)), traces(site.name)
    assert groups(site.name) == []


@pytest.mark.parametrize("uri", ["qemu:///system", "lxc:///system"])
def test_what_a_dead_daemon_ran_is_left_like_any_other(own_place, layers_of, traces, settles, uri):
    site = own_place.site(limits=LIMITS)
    stack = own_place.open(layers_of("host/libvirt", libvirt={"uri": uri}), site)
    instance = stack.instances[0]
    pid = daemon_pid(own_place)
    threading.Timer(1, os.kill, [pid, signal.SIGKILL]).start()

    assert stack.machine.run(["sleep", "2"]).returncode == 0, "it needs no daemon to run"

    for verb in (instance.pause, instance.stop, instance.start):
        with pytest.raises(LayerError, match="failed to connect"):
            verb()
    stack.close()
    assert settles(lambda: not traces(site.name)), traces(site.name)
    assert groups(site.name) == []
    own_place.undo_again(own_place.id)
    own_place.services.close()
    assert settles(lambda: not traces(own_place.id + "-libvirt"))
    assert groups(own_place.id) == []


def test_a_session_whose_daemon_died_gets_another(own_place, layers_of, settles):
    layers = layers_of("host/libvirt", libvirt=LXC)
    own_place.open(layers).close()
    first = daemon_pid(own_place)
    os.kill(first, signal.SIGKILL)
    assert settles(lambda: not Path(f"/proc/{first}/cwd").exists())

    own_place.open(layers).close()

    assert daemon_pid(own_place) != first


def test_a_daemon_leaves_no_folder_of_libvirt(own_place, layers_of):
    """Folders that its package brings, or another session uses, stay."""
    before = [path.exists() for path in FOLDERS]
    own_place.open(layers_of("host/libvirt", libvirt=LXC)).close()
    daemon_pid(own_place)

    assert all(path.exists() for path in FOLDERS)
    own_place.services.close()

    assert [path.exists() for path in FOLDERS] == before


def test_a_container_whose_first_process_is_killed_is_told(place, layers_of, traces, settles):
    site = place.site(limits=LIMITS)
    stack = place.open(layers_of("host/libvirt", libvirt=LXC), site)
    instance = stack.instances[0]
    os.kill(int(Path(instance.folder, "leader").read_text()), signal.SIGKILL)
    try:
        assert await_true(lambda: stack.machine.run(["true"]).returncode == 125, timeout_s=5)
        with pytest.raises(LayerError, match="not running"):
            instance.stop()
    finally:
        stack.close()
    assert settles(lambda: not traces(site.name)), traces(site.name)
