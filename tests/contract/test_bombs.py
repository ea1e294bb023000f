"""Every stressor at full on every platform: the host answers, and the others are left alone.

Each neighbour has one CPU, 512 MiB and, where its layer counts them, 128 processes. The longest
answer of the host is printed (``pytest -rP``) and kept as a property of the test.
"""

import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from subprocess import DEVNULL, run

import pytest

from contract.disturbing import (
    CELL,
    MIB,
    files_in,
    left,
    peer_of,
    placed,
    processes,
    userland_of,
)
from tare.core.errors import LayerError, LayerTimedOut
from tare.core.model import Limits
from tare.machines.machine import check
from tare.work import stressor
from tare.work.stressor import load

pytestmark = pytest.mark.slow

LIMITS = Limits(cpus=1, memory_bytes=512 * MIB)
PROCESSES = 128
SECONDS = 2
START_S = 300.0
READY_S = 10.0
PERIOD_S = 0.1
LONGEST_S = 1.0
SMALL_FILES = {"disk": {"file_bytes": MIB}}
"""So that laying them takes no longer than the test; as many threads as ever use them."""
MAY_END_ITS_INSTANCE = {("host/gvisor", "cache"), ("host/gvisor", "memory")}
"""A kernel inside is in the group of its bomb, and is killed with it at the limit."""

PLATFORMS = [
    pytest.param("host", marks=pytest.mark.needs("root")),
    *(
        pytest.param(f"host/{name}", marks=pytest.mark.needs("qemu" if "qemu" in name else name))
        for name in (
            *("docker", "podman", "lxc", "nspawn", "bubblewrap", "gvisor", "uml", "qemu-tcg"),
        )
    ),
]
DAEMONS = ("dockerd", "containerd")


class Answers:
    """How long this host takes to run a tiny process, asked all the time from another thread."""

    def __init__(self):
        self.seen_s = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _ask(self):
        while not self._over.wait(PERIOD_S):
            began = time.monotonic()
            run(["/bin/true"], check=True, stdin=DEVNULL)
            self.seen_s.append(time.monotonic() - began)


@pytest.fixture(scope="module")
def userland(place):
    return userland_of(place)


@pytest.fixture(scope="module")
def peer(place, userland):
    with peer_of(place, userland) as made:
        yield made


class Pair:
    """A victim and its neighbour on one platform; a neighbour that died is opened anew."""

    def __init__(self, place, layers, userland, processes=PROCESSES):
        self.place, self.layers, self.userland = place, layers, userland
        limits = replace(LIMITS, processes=processes)
        self.limits = LIMITS if any(one.lacks(limits) for one in layers) else limits
        self.names = []
        self.victim = self._open()
        try:
            # It lives as long as nobody kills what is in the victim.
            check(self.victim.machine, ["sh", "-c", "setsid sleep 4321 > /dev/null 2>&1 &"])
            self.neighbour = self._open()
        except BaseException:
            self.victim.close()
            raise

    def _open(self):
        site = self.place.site_with_agents(
            userland=self.userland, limits=self.limits, reached=True, deadline_s=START_S
        )
        self.names.append(site.name)
        stack = self.place.open(self.layers, site)
        check(stack.machine, ["mkdir", f"{stack.workdir}/{CELL}"])
        return stack

    def renew(self):
        self.neighbour.close()
        self.neighbour = self._open()

    def close(self):
        try:
            self.neighbour.close()
        finally:
            self.victim.close()


@pytest.fixture(scope="module", params=PLATFORMS)
def pair(request, place, layers_of, userland, traces, settles):
    made = Pair(place, layers_of(request.param), userland)
    try:
        yield request.param, made
    finally:
        made.close()
    names = made.names
    assert settles(lambda: not any(traces(name) for name in names)), [*map(traces, names)]


def daemons(session):
    """Return the engine's daemons that serve a session, by their pids."""
    found = {}
    for file in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):  # gone by now
            name = file.read_text().strip()
            if name in DAEMONS and session in (file.parent / "cmdline").read_text():
                found[file.parent.name] = name
    return found


@contextmanager
def ended_with(platform, name):
    """Let a bomb end the instance that it is in, where that is all that a limit can do."""
    try:
        yield
    except LayerError:
        if (platform, name) not in MAY_END_ITS_INSTANCE:
            raise


@pytest.mark.parametrize("name", stressor.names())
def test_a_bomb_at_full_leaves_the_host_and_the_others_alone(pair, peer, name, record_property):
    platform, both = pair
    made = load(name, **SMALL_FILES.get(name, {}))
    victim, neighbour = both.victim, both.neighbour
    if platform == "host/docker":
        assert set(daemons(both.place.id).values()) == set(DAEMONS)
    served, before = daemons(both.place.id), processes(neighbour)
    of_victim = processes(victim)
    ran = False

    with Answers() as answers, ended_with(platform, name):
        with placed(neighbour, made, ["sleep", str(SECONDS)], peer) as command:
            check(command.machine, command.argv, timeout_s=60)
            check(victim.machine, ["true"], timeout_s=60)
            ended = command.conclude(False)
        ran = True

    longest_s = max(answers.seen_s)
    record_property("longest_answer_s", longest_s)
    print(f"{platform} {name}: {longest_s:.3f} s of {len(answers.seen_s)}; ended by itself: {ran}")  # noqa: T201
    assert longest_s < LONGEST_S
    assert "sleep" in processes(victim).values()
    assert {pid for pid, what in of_victim.items() if what == "sleep"} <= processes(victim).keys()
    assert served == daemons(both.place.id)
    if not ran:
        both.renew()
        return
    assert {role: one.lived for role, one in ended.items()} == dict.fromkeys(ended, True)
    assert left(neighbour, before) == []
    assert files_in(neighbour) == [CELL]


@pytest.mark.needs("docker")
@pytest.mark.parametrize("worker_mib", [4, 32])
def test_64_memory_threads_in_one_instance_leave_the_host_and_the_others_alone(
    place, layers_of, userland, worker_mib
):
    # 256 MiB fit; 2 GiB are four times what the instance has.
    made = load("memory", workers=64, worker_bytes=worker_mib * MIB)
    both = Pair(place, layers_of("host/docker"), userland, processes=256)
    try:
        served, before = daemons(place.id), processes(both.neighbour)
        ready = False
        with Answers() as answers, suppress(LayerTimedOut):
            with placed(both.neighbour, Soon(made), ["sleep", str(SECONDS)]) as command:
                ready = True
                check(command.machine, command.argv, timeout_s=60)
            check(both.victim.machine, ["true"], timeout_s=60)

        print(f"{worker_mib} MiB each: {max(answers.seen_s):.3f} s; ready: {ready}")  # noqa: T201
        assert max(answers.seen_s) < LONGEST_S
        assert ready or worker_mib > 4
        assert "sleep" in processes(both.victim).values()
        assert served == daemons(place.id)
        assert left(both.neighbour, before) == []
        assert files_in(both.neighbour) == [CELL]
    finally:
        both.close()


class Soon:
    """A stressor that has a few seconds to be ready."""

    def __init__(self, made):
        self.made = made

    def roles(self, name, place):
        return [replace(role, ready_s=READY_S) for role in self.made.roles(name, place)]
