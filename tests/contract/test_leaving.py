"""Leaving a layer removes all that was made for it: whatever state it is in, and twice."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from contract.stacks import ALONE_PARAMS
from tare.core.errors import LayerError
from tare.core.model import DiskCache, Limits
from tare.machines import layer
from tare.machines.cgroup import cgroup
from tare.machines.ledger import Scope, clean
from tare.machines.machine import Host, check
from tare.machines.stack import open_stack


@pytest.fixture
def where(place, remote_place):
    """The place for a stack: what an sshd on this very host leads to must not meet the rest."""
    return lambda path: remote_place if "ssh" in path else place


@pytest.mark.parametrize("of", ALONE_PARAMS)
def test_leaving_removes_everything_also_while_paused_and_twice(
    of, where, layers_of, traces, settles
):
    path, _ = of
    site = where(path).site_with_agents(limits=Limits(cpus=1, memory_bytes=2**29))
    stack = where(path).open(layers_of(path), site)
    check(stack.machine, ["sh", "-c", f"setsid sleep 4321 > {stack.workdir}/file 2>&1 &"])
    assert traces(site.name), "what is there must be seen, or its absence shows nothing"
    stack.pause()

    stack.close()
    stack.close()

    assert settles(lambda: not traces(site.name)), traces(site.name)
    where(path).undo_again(site.name)
    assert traces(site.name) == []


PAUSES = """
import sys
from contract.conftest import Place
from tare.machines import layer

place = Place()
site = place.site_with_agents()
stack = place.open([layer.load(sys.argv[1])], site)
stack.pause()
print(place.path, site.name, stack.threads().cgroup, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("docker", marks=pytest.mark.needs("docker")),
        pytest.param("podman", marks=pytest.mark.needs("podman")),
    ],
)
def test_what_a_killed_session_left_frozen_is_removed(name, traces, settles):
    with subprocess.Popen(
        [sys.executable, "-c", PAUSES, name],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as session:
        ledger, site, group = session.stdout.readline().split()
        session.kill()
    assert is_frozen(group)
    assert traces(site)

    problems = [problem for _, problem in clean(Path(ledger)) if problem]

    assert problems == []
    assert settles(lambda: not traces(site)), traces(site)
    Path(ledger).unlink()


def is_frozen(group):
    v1, v2 = (Path("/sys/fs/cgroup", at) for at in (f"freezer/{group}", group))
    if (v1 / "freezer.state").exists():
        return (v1 / "freezer.state").read_text() == "FROZEN\n"
    return "frozen 1" in (v2 / "cgroup.events").read_text()


@pytest.mark.needs("docker")
@pytest.mark.parametrize("runtime", ["tare-none", "io.containerd.tare-none.v1"])
def test_a_container_that_does_not_start_leaves_nothing(place, layers_of, traces, runtime):
    site = place.site_with_agents()

    with pytest.raises(LayerError, match="tare-none"):
        place.open(layers_of("host/docker", docker={"runtime": runtime}), site)

    assert traces(site.name) == []


@pytest.mark.needs("sshd")
def test_a_connection_that_is_refused_leaves_nothing(place, sshd, traces, tmp_path):
    site = place.site_with_agents()
    check(Host(), ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{tmp_path}/stranger"])
    stranger = layer.load("ssh", **(sshd.settings | {"key": f"{tmp_path}/stranger"}))

    with pytest.raises(LayerError, match=f"root@127.0.0.1:{sshd.port}: .*Permission denied"):
        place.open([stranger], site)

    assert traces(site.name) == []


class Changed:
    """The userland, with one file of its guest replaced by something that does not boot."""

    def __init__(self, userland, folder, file, content):
        self.userland, self.folder = userland, folder
        for path in userland.guest(Host()).folder.iterdir():
            (folder / path.name).symlink_to(path)
        (folder / file).unlink()
        (folder / file).write_bytes(content)

    def guest(self, machine, *system):
        return replace(self.userland.guest(machine, *system), folder=self.folder)


@pytest.mark.needs("qemu")
def test_a_guest_without_a_kernel_leaves_nothing(place, layers_of, traces, tmp_path):
    userland = Changed(place.userland, tmp_path, "vmlinuz", b"no kernel" * 1000)
    site = place.site(userland=userland, deadline_s=3)

    with pytest.raises(LayerError):
        place.open(layers_of("host/qemu-tcg"), site)

    assert traces(site.name) == []


@pytest.mark.needs("qemu")
def test_a_guest_that_panics_shows_its_console_and_leaves_nothing(
    place, layers_of, traces, tmp_path
):
    userland = Changed(place.userland, tmp_path, "initrd", b"no initrd" * 1000)
    site = place.site(userland=userland)

    with pytest.raises(
        LayerError, match=r"(?s)ended while it booted; its console ends: .*Kernel panic"
    ) as it:
        place.open(layers_of("host/qemu-tcg"), site)

    assert site.name in str(it.value)
    assert traces(site.name) == []


@pytest.mark.needs("qemu")
def test_a_guest_that_died_is_left_like_any_other(place, layers_of, traces, settles):
    limits = Limits(cpus=1, memory_bytes=2**29, disk_cache=DiskCache.WRITEBACK)
    site = place.site(limits=limits)
    stack = place.open(layers_of("host/qemu-tcg"), site)
    assert stack.inside().disk_cache is DiskCache.WRITEBACK
    pid = int(Path(stack.instances[0].folder, "pid").read_text())

    os.kill(pid, signal.SIGKILL)

    assert stack.machine.run(["true"]).returncode != 0
    with pytest.raises(LayerError, match="did not take 'stop'"):
        stack.pause()
    stack.close()
    assert settles(lambda: not traces(site.name)), traces(site.name)


@pytest.mark.needs("docker")
def test_a_session_whose_daemon_died_leaves_nothing(own_place, layers_of, traces, settles):
    site = own_place.site_with_agents()
    stack = own_place.open(layers_of("host/docker", docker={"storage": "volume"}), site)
    pid_file = own_place.folder / f"tare-{own_place.id}-docker" / "pid"
    if not pid_file.exists():
        stack.close()
        pytest.skip("the daemon of this host is not ours to end")
    assert re.search("bridge|link", " ".join(traces(own_place.id)))

    os.kill(int(pid_file.read_text()), signal.SIGKILL)

    stack.close()
    assert settles(lambda: not traces(site.name)), traces(site.name)
    own_place.services.close()
    assert traces(f"{own_place.id}-docker") == []
    own_place.undo_again(own_place.id)


@pytest.mark.needs("root")
def test_an_inner_layer_that_does_not_start_takes_the_outer_ones_along(place, traces):
    class Refuses(layer.Layer):
        def probe(self, outer, userland):
            return {}

        def create(self, outer, site):
            path = f"tare/{site.name}"
            cgroup.make(outer, path, site.scope)
            raise LayerError("it will not")

    site = place.site_with_agents()

    with pytest.raises(LayerError, match="it will not"):
        open_stack(place.host, [layer.load("host"), Refuses()], site)

    assert traces(site.name) == []


@pytest.mark.needs("root")
def test_a_simulated_stack_keeps_the_promises_that_make_sense(place, layers_of, traces):
    site = place.site_with_agents()
    stack = place.open(layers_of("host/sim"), site)

    assert stack.inside().cpus == 1
    assert stack.threads() is None
    assert stack.machine.run(["no-such-tool"]).returncode == 127
    stack.pause()
    stack.close()
    stack.close()

    assert traces(site.name) == []


# --- the eyes see each kind of thing


@pytest.mark.needs("root")
@pytest.mark.parametrize(
    ("kind", "make", "undo"),
    [
        (
            "process",
            "setsid sh -c 'sleep 4321; :' $0 > /dev/null 2>&1 & echo $! > $1/pid",
            "kill -- -$(cat $1/pid); rm $1/pid",
        ),
        ("mount", "mkdir $1/$0; mount -t tmpfs $0 $1/$0", "umount $1/$0; rmdir $1/$0"),
        ("cgroup", "mkdir -p $2/tare/$0", "rmdir $2/tare/$0; rmdir $2/tare || true"),
        ("folder", "mkdir $1/$0", "rmdir $1/$0"),
        ("folder", "mkdir /var/tmp/$0", "rmdir /var/tmp/$0"),
        (
            "link",
            "ip link add $(echo $0 | tr -d -) type bridge",
            "ip link del $(echo $0 | tr -d -)",
        ),
    ],
)
def test_what_is_left_is_seen(place, traces, kind, make, undo):
    name = place.site_with_agents().name
    arguments = [name, str(place.folder), f"/sys/fs/cgroup/{tree()}"]
    scope = Scope(place.ledger)
    scope.about_to_make(kind, name, place.host, ["sh", "-c", undo, *arguments])

    check(place.host, ["sh", "-c", make, *arguments])

    assert any(found.startswith(kind) for found in traces(name))
    scope.close()


@pytest.mark.needs("docker")
def test_a_container_that_is_left_is_seen(place, layers_of, traces):
    site = place.site_with_agents()
    stack = place.open(layers_of("host/docker"), site)

    found = traces(site.name)
    stack.close()

    assert any(line.startswith("container") for line in found)


def tree():
    return "." if Path("/sys/fs/cgroup/cgroup.controllers").exists() else "pids"
