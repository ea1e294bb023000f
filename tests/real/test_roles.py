"""Several programs of one workload, for real: in instances of their own, in one, at a peer."""

import os
import sys
from pathlib import Path
from threading import Thread

import pytest

from real.second import NAME, THERE, guest, second
from real.small import run, trials
from tare.cli import main
from tare.core.errors import LayerError
from tare.core.model import ComplaintKind, Status
from tare.machines.machine import Host, await_true
from tare.results.store import load
from tare.work import workloads

PAGE = Path(__file__).parents[2] / "docs/how-to/measure-several-programs.md"
MOST_LINES = 80
GOOD = {Status.OK, Status.SUSPECT}
BRIDGED = {"stack": "host/docker", "docker": {"network": "bridge"}}
GUEST = "host/qemu-tcg"
NESTED = {"stack": "host/qemu-tcg/docker", "docker": {"network": "host"}}


# A database that takes so long to load, and a second role that ends by itself, if it is to.
STORE = """
from dataclasses import dataclass
from tare.work import workload
from tare.core.model import Better, Metric, Sample, Unit
from tare.work.roles import OWN, PEER, Lifetime, Prints, Role
from tare.work.parsing import (number)

LOAD = 'sleep "$0"; exec redis-server --port "$1" --protected-mode no --save ""'

@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    loads_s: float = 0.0
    takes_s: float = 0.2
    ends_s: float = 600.0
    shows: str = "up"
    at: str = PEER

    metrics = (Metric("process", Unit.RATIO, Better.LOWER), Metric("up", Unit.SECOND, Better.LOWER))
    packages = ("redis-server", "redis-tools")

    def command(self):
        ask = 'sleep "$0"; redis-cli -h "$1" -p "$2" info server'
        return ["sh", "-c", ask, str(self.takes_s), "{db.address}", "{db.port}"]

    def place(self):
        return self.at

    def roles(self):
        words = ["sh", "-c", LOAD, str(self.loads_s), "{db.port}"]
        idle = ["sh", "-c", f"echo up; exec sleep {self.ends_s}"]
        return (
            Role(name="db", command=words, lifetime=Lifetime.INSTANCE, ready_s=self.loads_s + 60),
            Role(name="idle", command=idle, ready=Prints(self.shows), ready_s=2),
        )

    def parse(self, output):
        yield Sample(self.metrics[0], number(r"^process_id:(\\d+)", output.stdout))
        yield Sample(self.metrics[1], number(r"^uptime_in_seconds:(\\d+)", output.stdout))
"""


@pytest.fixture(autouse=True)
def plugins(tmp_path, monkeypatch):
    """The workload of the documentation as a plugin, and ``store``."""
    code = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
    assert code.count("\n") <= MOST_LINES
    folder = tmp_path / "workloads"
    folder.mkdir()
    (folder / "shop.py").write_text(code)
    (folder / "store.py").write_text(STORE)
    monkeypatch.setattr(workloads, "__path__", [*workloads.__path__, str(folder)])
    yield
    sys.modules.pop("tare.work.workloads.shop", None)
    sys.modules.pop("tare.work.workloads.store", None)


def hold(results, platforms):
    """Hold that on each platform the roles worked, each in its own instance and in one."""
    for together in (False, True):
        found = list(trials(results, together=together))
        assert {platform for platform, _ in found} == set(platforms)
        for platform, one in found:
            assert one.status in GOOD, f"{platform}: {one.reason}"
            assert one.samples["throughput"] > 0
            assert one.host.all_cpu_s > 0
            assert [part.name for part in one.parts] == ([] if together else ["proxy", "db"])
            assert len({part.instance for part in one.parts}) == len(one.parts)
            assert all(part.host.all_cpu_s > 0 for part in one.parts)
            assert "outside_cpu" in one.noise
            # The peer keeps off the CPUs of this trial's parts, where there are others.
            shares = ComplaintKind.PEER_SHARED in [told.kind for told in one.complaints]
            assert not shares or len(one.parts) >= len(os.sched_getaffinity(0))


@pytest.mark.needs("docker")
def test_three_roles_in_two_containers_and_in_one(tmp_path):
    results = run(tmp_path / "results", ["host", BRIDGED], [{"shop": {"together": [False, True]}}])

    hold(results, ["host", "host/docker"])


@pytest.mark.slow
@pytest.mark.needs("docker")
@pytest.mark.needs("qemu")
def test_three_roles_in_guests_and_in_containers_in_guests(tmp_path):
    shops = [{"shop": {"together": [False, True], "requests": 100, "rows": 100}}]
    results = run(tmp_path / "results", ["host", GUEST, NESTED], shops)

    hold(results, ["host", GUEST, "host/qemu-tcg/docker"])


def settings():
    """List what a session could leave changed on this host."""
    forwards = Path(f"/proc/sys/net/ipv4/conf/{NAME}/forwarding").read_text()
    rules = Host().run(["iptables", "-w", "-S"]).stdout.decode()
    routes = Host().run(["ip", "route"]).stdout.decode()
    return forwards, rules, routes


NETPERF = {"netperf_rr": {"time": "1 s", "under_test": ["server", "client"]}}
WEB = {"web_ab": {"server": "nginx", "clients": 4, "requests": 200}}


@pytest.fixture
def computer(tmp_path):
    """Another computer, at the end of a cable."""
    folder = tmp_path / "second"
    folder.mkdir()
    with second(folder) as made:
        yield made
        # Nothing stays over there.
        assert made.process.poll() is not None or made.left() == []


@pytest.mark.needs("docker")
@pytest.mark.needs("sshd")
def test_another_computer_is_the_peer(tmp_path, computer):
    before = settings()
    results = run(
        tmp_path / "results",
        ["host", BRIDGED],
        [NETPERF, WEB, {"shop": {"together": [False, True]}}],
        peer=computer.stack,
    )

    hold(results, ["host", "host/docker"])
    assert (results.facts.peer["stack"], results.facts.peer["ssh.address"]) == ("host/ssh", THERE)
    for platform, one in trials(results):
        assert one.status in GOOD, f"{platform}: {one.reason}"
        assert one.noise["outside_cpu"] > 0
    assert settings() == before


@pytest.mark.needs("sshd")
def test_another_computer_is_measured(tmp_path, computer):
    before = settings()
    results = run(
        tmp_path / "results",
        ["host", computer.stack],
        [NETPERF, WEB, {"shop": {"together": [False, True]}}],
    )

    every = list(trials(results))
    assert {platform for platform, _ in every} == {"host", "host/ssh"}
    # Blocks; platforms and the control; workloads. A suspect one is run again.
    assert len({(one.block, one.cell) for _, one in every}) == 2 * 3 * 5
    for platform, one in every:
        assert one.status in GOOD, f"{platform}: {one.reason}"
    assert settings() == before


@pytest.mark.slow
@pytest.mark.needs("qemu")
def test_a_guest_that_is_reached_by_ssh_is_the_peer_and_is_measured(tmp_path):
    shops = [{"shop": {"together": [False, True], "requests": 100, "rows": 100}}]
    (tmp_path / "second").mkdir()
    with guest(tmp_path / "second") as stack:
        peer = run(tmp_path / "peer", ["host", BRIDGED], [NETPERF, WEB, *shops], peer=stack)
        measured = run(tmp_path / "measured", ["host", stack], [NETPERF, WEB, *shops])

    for platform, one in (*trials(peer), *trials(measured)):
        assert one.status in GOOD, f"{platform}: {one.reason}"
    assert {platform for platform, _ in trials(measured)} == {"host", "host/ssh"}
    hold(peer, ["host", "host/docker"])


@pytest.mark.needs("docker")
@pytest.mark.parametrize("loads_s", [3, pytest.param(120, marks=pytest.mark.slow)])
def test_what_takes_long_to_load_is_loaded_once_an_instance(tmp_path, loads_s):
    results = run(
        tmp_path / "results",
        [BRIDGED],
        [{"store": {"loads_s": loads_s, "takes_s": [0.2, 0.3]}}],
        blocks=3,
        baseline="host/docker",
    )

    loaded = {}
    for _, one in trials(results):
        assert one.status in GOOD, one.reason
        by = loaded.setdefault((one.cell, one.parts[0].instance), set())
        by.add(one.samples["process"])
    cells = len(results.plan.cells)
    assert cells == 4  # with a control each
    assert len(loaded) == cells
    assert all(len(processes) == 1 for processes in loaded.values())


def test_a_role_that_never_gets_ready_is_no_response(tmp_path, lab):
    results = run(tmp_path / "results", ["host"], [{"store": {"shows": "never"}}])

    statuses = {(one.status, one.reason) for _, one in trials(results)}
    assert statuses == {(Status.DNR, "the role idle (sh) was not ready within 2 s; it said: up")}
    assert lab.leftovers(results.folder) == []


def test_a_part_that_dies_while_others_run_is_told_and_the_others_go_on(tmp_path, lab):
    rows = [{"store": {"takes_s": 2, "ends_s": [0.5, 600.0]}}]
    results = run(tmp_path / "results", ["host"], rows)

    bad, good = list(trials(results, ends_s=0.5)), list(trials(results, ends_s=600.0))
    assert {one.status for _, one in bad} == {Status.FAILED}
    assert all("the role idle ended while it was measured" in one.reason for _, one in bad)
    assert {one.status for _, one in good} <= GOOD
    assert len(good) == 4
    assert lab.leftovers(results.folder) == []


@pytest.mark.needs("sshd")
@pytest.mark.parametrize("silently", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_peer_that_dies_in_a_trial_ends_that_trial_and_what_needs_it(
    tmp_path, computer, silently
):
    rows = [{"store": {"takes_s": [0.2, 30.0], "at": "peer"}}, {"store": {"at": "own"}}]

    def dies():
        asks = ["pgrep", "--ns", str(computer.process.pid), "--nslist", "net", "-fx", "sleep 30.0"]
        assert await_true(lambda: Host().run(asks).returncode == 0, timeout_s=120, every_s=0.1)
        computer.die(silently=silently)

    killer = Thread(target=dies)
    killer.start()
    with pytest.raises(LayerError, match=r"could not remove folder .*/var/tmp/"):
        run(tmp_path / "results", ["host"], rows, peer=computer.stack)
    killer.join()
    assert main(["clean"]) == 1
    assert main(["clean", "--forget"]) == 0
    assert main(["clean"]) == 0

    results = load(tmp_path / "results")
    lost = list(trials(results, takes_s=30.0))
    assert lost
    assert {one.status for _, one in lost} <= {Status.FAILED, Status.UNAVAILABLE}
    assert all("no longer answers" in one.reason for _, one in lost)
    assert {one.status for _, one in trials(results, at="own")} <= GOOD
