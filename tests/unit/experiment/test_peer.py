"""What a study says of its peer and of roles, and what is told where it is wrong."""

import json
import sys

import pytest

from tare.cli import main
from tare.core.errors import ConfigError
from tare.experiment.design import make_plan
from tare.experiment.design.peer_cpus import crowded
from tare.experiment.study import read_study
from tare.experiment.study.declaration import CABLE
from tare.work import workloads

TEXT = """
name: s
platforms: [host]
limits: {cpus: 1, memory: 64MiB}
workloads: [sysbench_cpu]
"""
RING = """
from dataclasses import dataclass
from tare.work import workload
from tare.work.roles import OWN, PEER, Role

@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    named: str = "server"
    waits: bool = False
    alone: bool = False

    metrics = ()
    packages = ("curl",)

    def command(self):
        return ["ask", f"{{{self.named}.port}}"]

    def place(self):
        return PEER

    def roles(self):
        back = ["{store.port}"] if self.waits else []
        server = Role(name="server", command=["serve", "{server.port}", *back])
        words = ["keep", "{store.port}", "{server.address}"]
        store = Role(name="store", command=words, packages=("redis-server",))
        return (server,) if self.alone else (server, store)

    def parse(self, output):
        return iter(())
"""


@pytest.fixture
def ring(tmp_path, monkeypatch):
    (tmp_path / "ring.py").write_text(RING)
    monkeypatch.setattr(workloads, "__path__", [*workloads.__path__, str(tmp_path)])
    yield
    sys.modules.pop("tare.work.workloads.ring", None)


def read(more, text=TEXT):
    return read_study(text + more, "s.yaml")


def wrong(more, text=TEXT):
    with pytest.raises(ConfigError) as refused:
        read(more, text)
    return str(refused.value)


def test_the_peer_is_at_the_end_of_a_cable_unless_another_is_declared():
    assert read("").peer is CABLE
    declared = read("peer: {stack: host/ssh, ssh: {address: 192.0.2.7}}\n").peer
    assert declared.stack == "host/ssh"
    assert dict(declared.layers[0][1])["address"] == "192.0.2.7"
    assert [one.name for one in CABLE.made] == ["host"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("peer: host/dokcer", "s.yaml:6:1: peer: no layer is called 'dokcer'"),
        ("peer: docker", "s.yaml:6:1: peer: the stack 'docker' begins with 'docker'"),
        ("peer: {stack: host/ssh}", "s.yaml:6:1: peer.ssh: address is missing"),
        (
            "peer: {stack: host/docker, docker: {network: [bridge, nat]}}",
            "s.yaml:6:1: peer: the lists make 2 peers; expected one",
        ),
    ],
)
def test_a_peer_that_cannot_be_is_told_with_its_line(line, told):
    assert told in wrong(f"{line}\n")


def with_ring(params):
    return TEXT.replace("[sysbench_cpu]", f"[{{ring: {params}}}]")


@pytest.mark.usefixtures("ring")
@pytest.mark.parametrize(
    ("params", "told"),
    [
        ("{waits: true}", "roles wait for each other: server names store names server"),
        ("{named: db}", "command names {db.port}; expected one of the roles server, store"),
    ],
)
def test_roles_that_cannot_be_are_told_with_the_line_of_the_workload(params, told):
    said = wrong("", with_ring(params))

    assert "s.yaml:5:" in said
    assert "the workload ring: " in said
    assert told in said


@pytest.mark.usefixtures("ring")
def test_each_role_of_its_own_is_a_part_and_brings_its_packages():
    study = read("", with_ring("{alone: [true, false]}"))
    plan = make_plan(study, 1)

    assert plan.most_parts == 2
    named = {len(slot.placements): [one.part for one in slot.placements] for slot in plan.slots}
    assert named == {1: [""], 2: ["server", "store"]}
    one, both = (chosen.made.all_packages() for chosen in study.workloads)
    assert (one, both) == ({"curl"}, {"curl", "redis-server"})


@pytest.mark.usefixtures("ring")
def test_a_plan_says_what_the_peer_is_and_which_parts_a_trial_has(tmp_path, capsys):
    study = tmp_path / "study.yaml"
    study.write_text(with_ring("{}") + "peer: host/docker\n")

    assert main(["plan", str(study)]) == 0
    said = capsys.readouterr().out
    assert "  peer       host/docker\n" in said
    assert "  parts      server, store of ring(" in said


def test_a_plan_without_either_does_not_speak_of_them(tmp_path, capsys):
    (tmp_path / "study.yaml").write_text(TEXT)

    assert main(["plan", str(tmp_path / "study.yaml")]) == 0
    said = capsys.readouterr().out
    assert "peer" not in said
    assert "parts" not in said


@pytest.mark.usefixtures("ring")
@pytest.mark.parametrize(
    ("host_cpus", "limits", "peer", "said"),
    [
        (2, "cpus: 1", "", "2 parts of 1 CPU each take all 2 CPUs of this host and leave none to"),
        (3, "cpus: 1", "", None),
        (2, "cpus: 2", "", "2 parts of 2 CPUs each take all 2 CPUs of this host and leave none"),
        (5, "cpus: 2", "", None),
        (1, "cpus: 2", "", None),
        (2, "cpus: 1", "peer: host/docker\n", "leave none to the peer, so each trial of ring"),
        (2, "cpus: 1", "peer: {stack: host/ssh, ssh: {address: 192.0.2.7}}\n", None),
    ],
)
def test_a_plan_says_beforehand_which_trials_leave_the_peer_no_cpu(
    tmp_path, capsys, monkeypatch, host_cpus, limits, peer, said
):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(host_cpus)))
    study = tmp_path / "study.yaml"
    study.write_text(with_ring("{}").replace("cpus: 1", limits) + peer)

    assert main(["plan", str(study)]) == 0
    told = capsys.readouterr().out
    assert main(["plan", str(study), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["crowded"]

    assert ("suspect" in told) is (said is not None)
    assert [(one["parts"], one["host_cpus"]) for one in found] == [(2, host_cpus)] * bool(said)
    if said:
        assert f"  suspect    {said}" in told or said in told
        assert "fix: fewer `cpus` in the limits, a `peer` on another computer" in told


@pytest.mark.usefixtures("ring")
def test_one_part_that_takes_all_cpus_is_said_too(tmp_path):
    study = read("", with_ring("{alone: true}").replace("cpus: 1", "cpus: [1, 2]"))

    (found,) = crowded(study, 2)
    assert found.says().startswith(
        "1 part of 2 CPUs takes all 2 CPUs of this host and leaves none to the peer, so each "
        "trial of ring will be suspect; "
    )
    assert [one.cpus for one in crowded(study, 1)] == [1]
    assert list(crowded(read(""), 1)) == []


@pytest.mark.usefixtures("ring")
def test_limits_that_pin_nothing_leave_the_peer_no_cpu_either():
    text = with_ring("{alone: true}")
    study = read("", text.replace("cpus: 1", "cpus: 1, cpu_limit: [cpuset, quota]"))

    (found,) = crowded(study, 4)
    assert found.says() == (
        "limits that pin nothing take all 4 CPUs of this host and leave none to the peer, so each "
        "trial of ring will be suspect; fix: `cpu_limit: cpuset`, or a `peer` on another "
        "computer"
    )
