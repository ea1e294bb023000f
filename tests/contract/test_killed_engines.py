"""An engine killed in the middle: the verb or the trial fails with the cause, nothing stays.

That nothing stays of the engine itself is checked where its place is closed.

No clock decides where the middle is: what the engine needs for the verb is stopped first, or never
answers, so that it cannot come to an end before it is killed.
"""

import os
import signal
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tare.core.errors import LayerError
from tare.core.model import Status
from tare.experiment.trial.measure import measure
from tare.experiment.trial.placed_part import PlacedPart
from tare.experiment.trial.role_placement import PlacedCommand, in_directory
from tare.experiment.trial.watch import WatchSettings
from tare.machines import layer
from tare.machines.backends import docker as engine
from tare.machines.cgroup.cgroup import Group
from tare.machines.machine import Host, await_true
from tare.machines.stack import open_stack
from tare.work.workload import load as load_workload

SEEN_S = 60


class Kills(Host):
    """This host, where something is stopped before a verb is run, and killed while it runs."""

    def __init__(self):
        super().__init__()
        self.verb, self.stops, self.kills, self.seen = None, None, None, None

    def during(self, verb, seen, kills, stops=None):
        self.verb, self.seen, self.kills, self.stops = verb, seen, kills, stops

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        if self.verb not in argv or self.verb in argv[:1]:
            return super().run(argv, stdin=stdin, timeout_s=timeout_s)
        if self.stops:
            os.kill(self.stops(), signal.SIGSTOP)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(super().run, argv, stdin=stdin, timeout_s=timeout_s)
            assert await_true(self.seen, timeout_s=SEEN_S, alive=lambda: not running.done())
            os.kill(self.kills(), signal.SIGKILL)
            return running.result()


def pids_of(*words, first=""):
    """Find the processes whose command line has all these words in it, and begins so."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if line.startswith(first) and all(word in line for word in words):
            yield int(path.parent.name)


def works():
    """See whether the workload itself runs, not only what was told to run it."""
    return any(pids_of("4321", first="sysbench "))


def seat_of(stack):
    return PlacedPart(
        part="", instance="", stack=stack, how=WatchSettings(cpus=[int(stack.cpuset)])
    )


@pytest.fixture
def host():
    return Kills()


@pytest.fixture
def daemon(host, own_place):
    """The folder of a daemon of Tare's own that runs, with the userland as an image."""
    site = own_place.site()
    made = engine.serving(host, site)
    if not made.own:
        pytest.skip("the daemon of this host is not ours to end")
    made.image(site.userland)
    return own_place.folder / f"tare-{own_place.id}-docker"


def pid_in(path):
    return lambda: int(path.read_text())


@pytest.mark.needs("docker")
def test_a_daemon_killed_while_it_creates_a_container(host, daemon, own_place, traces, settles):
    site = own_place.site()
    dockerd = pid_in(daemon / "pid")
    client = [f"unix://{daemon}/socket", "create"]
    host.during("create", lambda: any(pids_of(*client)), kills=dockerd, stops=dockerd)

    with pytest.raises(LayerError, match=f"docker did not create {site.name}.* on host: .*daemon"):
        open_stack(host, [layer.load("docker")], site)

    assert settles(lambda: not traces(site.name)), traces(site.name)


@pytest.mark.needs("docker")
def test_a_daemon_killed_while_it_starts_a_container(host, daemon, own_place, traces, settles):
    site = own_place.site()

    def mounted():
        return f"{daemon}/root/overlay2/" in Path("/proc/self/mountinfo").read_text()

    host.during(
        "start",
        mounted,
        kills=pid_in(daemon / "pid"),
        stops=lambda: next(pids_of(f"{daemon}/containerd.toml", first="containerd ")),
    )

    with pytest.raises(LayerError, match=f"docker start {site.name}-0 failed: .* on host: ."):
        open_stack(host, [layer.load("docker")], site)

    assert settles(lambda: not traces(site.name)), traces(site.name)


@pytest.mark.needs("docker")
def test_a_daemon_killed_while_a_workload_runs(host, daemon, own_place, traces, settles):
    site = own_place.site()
    stack = open_stack(host, [layer.load("docker")], site)
    stack.enter_anew()  # what an agent has started does not need the daemon
    workload = load_workload("sysbench_cpu", threads=1, time_s=4321)
    host.during("sysbench", works, kills=pid_in(daemon / "pid"))

    command = PlacedCommand(stack.machine, in_directory(stack.workdir, workload.command()))
    outcome = measure(seat_of(stack), workload, command, 60)
    with pytest.raises(LayerError, match=r"docker pause .* failed: .*daemon"):
        stack.pause()
    stack.close()

    assert settles(lambda: not traces(site.name)), traces(site.name)
    assert outcome.status is Status.FAILED
    assert "exit status" in outcome.reason


@pytest.mark.needs("podman")
def test_a_podman_killed_while_it_starts_a_container(host, own_place, traces, settles):
    site = own_place.site()
    instance = layer.load("podman").create(host, site)
    program = Path(instance.podman.runtime).parent / "program"
    never = program.with_name("never")
    never.write_text("#!/bin/sh\nsleep 4321\n")
    never.chmod(stat.S_IRWXU)
    program.unlink()
    program.symlink_to(never)
    run = instance.podman.run
    host.during(
        "start",
        lambda: any(pids_of(str(never))),
        kills=lambda: next(pids_of("podman ", f"{run}/storage", "start")),
    )

    try:
        with pytest.raises(LayerError, match="podman start failed"):
            instance.start()
    finally:
        site.scope.close()

    assert settles(lambda: not traces(site.name)), traces(site.name)


@pytest.mark.needs("podman")
def test_a_conmon_killed_while_a_workload_runs(own_place, traces, settles):
    site = own_place.site()
    stack = open_stack(Host(), [layer.load("podman")], site)
    workload = load_workload("sysbench_cpu", threads=1, time_s=4321)
    command = PlacedCommand(stack.machine, in_directory(stack.workdir, workload.command()))

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(measure, seat_of(stack), workload, command, 60)
        assert await_true(works, timeout_s=SEEN_S)
        Group(Host(), f"tare/{site.name}-0/conmon").kill()
        outcome = running.result()
    stack.close()

    assert settles(lambda: not traces(site.name)), traces(site.name)
    assert outcome.status is Status.FAILED
    assert "exit status" in outcome.reason
