"""How runsc is called, and what it is told of a container."""

import json
from dataclasses import replace

import pytest

from tare.core.errors import LayerError, Unavailable
from tare.core.model import Limits
from tare.machines import layer
from tare.machines.backends import bundle
from tare.machines.layers.gvisor import Instance
from tare.machines.network import link, netns
from unit import fakes


class Fake(fakes.Fake):
    """A machine that answers by what is in a command's words."""

    def __init__(self, *answers):
        super().__init__()
        self.answers = answers

    def answer(self, argv):
        for word, *said in self.answers:
            if any(word in given for given in argv):
                return said
        return 0, b""


VERSION = ("--version", 0, b"runsc version 1\nspec: 1\n", b"")
PLATFORMS = ("platforms", 0, b"ptrace\nkvm\n", b"")
PER_NAMESPACE = ("unshare --net", 0, b"", b"")
OWN_NAMESPACES = ("unshare --net", 1, b"", b"")


@pytest.fixture
def site(site):
    return replace(site, limits=Limits(cpus=2, memory_bytes=2**30), cpuset="2,3")


def written(machine):
    """The container as runsc is told of it."""
    return json.loads(machine.written)


def test_a_sandbox_is_kept_by_runsc_with_its_settings(site):
    machine = Fake(("rm", 0, b"", b""))
    instance = layer.load("gvisor", platform="kvm", network="none").create(machine, site)

    instance.start()

    words = machine.asked[-1]
    at = words.index("runsc")
    assert words[at:] == [
        "runsc", "--root=/run/x/tare-x-0-0/state", "--platform=kvm", "--network=none",
        "run", "--bundle=/run/x/tare-x-0-0", "tare-x-0-0",
    ]  # fmt: skip
    assert "tare/tare-x-0-0" in words[:at]  # it is started in its group
    assert machine.asked[-2] == ["rm", "-rf", "/run/x/tare-x-0-0/state"]


def test_a_command_is_executed_by_the_same_runsc(site):
    machine = Fake()
    instance = layer.load("gvisor").create(machine, site)

    instance.machine.run(["-x", "a b"], timeout_s=7)

    assert machine.asked[-1] == [
        "runsc", "--root=/run/x/tare-x-0-0/state", "--platform=ptrace", "--network=host",
        "exec", "tare-x-0-0", "timeout", "-s", "KILL", "7", "-x", "a b",
    ]  # fmt: skip


def test_the_cpus_inside_are_numbered_from_0(site):
    assert layer.load("gvisor").create(Fake(), site).cpuset == "0-1"


def test_the_container_is_in_the_group_that_has_the_limits(site):
    machine = Fake()
    layer.load("gvisor").create(machine, site)

    made = next(words for words in machine.asked if "make-cgroup" in words)
    told = written(machine)
    assert made[-5:] == ["tare/tare-x-0-0", "2,3", str(2**30), "0", ""]
    assert told["linux"]["cgroupsPath"] == "/tare/tare-x-0-0"
    assert "network" not in [one["type"] for one in told["linux"]["namespaces"]]
    data = next(mount for mount in told["mounts"] if mount["destination"] == "/data")
    assert data["source"] == "/run/x/tare-x-0-0/data"


def test_a_container_may_do_what_one_of_docker_may():
    capabilities = bundle.config("/f", "tare/x", ["true"])["process"]["capabilities"]

    assert len(capabilities["effective"]) == 14
    assert not {"CAP_SYS_ADMIN", "CAP_NET_ADMIN"} & set(capabilities["effective"])
    assert capabilities["bounding"] == capabilities["permitted"] == capabilities["effective"]


def test_a_network_stack_of_its_own_is_on_a_link_that_is_removed(site):
    machine = Fake((link.FILTERED, 1, b"", b""))
    layer.load("gvisor", network="sandbox").create(machine, site)

    namespaces = written(machine)["linux"]["namespaces"]
    assert {"type": "network", "path": "/run/netns/tare-x-0-0"} in namespaces
    made = [words for words in machine.asked if netns.MAKE in words]
    assert [words[3] for words in made] == ["tare-x-0-0"]
    removed = [entry for entry in site.scope.entries if entry.what == "network namespace"]
    assert [entry.undo[-1] for entry in removed] == ["tare-x-0-0"]
    what = [entry.what for entry in site.scope.entries]
    assert what == ["folder", "cgroup", "bridge", "network namespace"]


def test_a_network_that_cannot_be_made_is_an_error(site):
    machine = Fake((netns.MAKE, 1, b"", b"no veth"))

    with pytest.raises(LayerError, match=r"could not make a network on host: .*no veth"):
        layer.load("gvisor", network="sandbox").create(machine, site)


def test_the_packages_are_those_of_the_settings():
    assert layer.load("gvisor").needs() == ("runsc",)
    assert layer.load("gvisor", network="sandbox").needs() == ("runsc", "iproute2")


def test_what_would_be_used_is_told():
    facts = layer.load("gvisor").probe(Fake(VERSION, PLATFORMS), None)

    assert facts == {"gvisor.version": "runsc version 1", "gvisor.platform": "ptrace"}


@pytest.mark.parametrize(
    ("settings", "answers", "reason", "fix"),
    [
        ({}, [("--version", 127, b"", b"")], "runsc is not installed", "apt-get install runsc"),
        ({"platform": "systrap"}, [VERSION, PLATFORMS], "has no platform systrap", "ptrace"),
        (
            {"platform": "kvm"},
            [VERSION, PLATFORMS, ("mktemp", 137, b"", b"")],
            "on gVisor's platform kvm: it is not up after 45 s",
            "another `platform:`",
        ),
        (
            {},
            [VERSION, PLATFORMS, ("mktemp", 1, b"", b"first\nnot permitted\n")],
            "platform ptrace: not permitted",
            "run Tare as root",
        ),
        (
            {"network": "sandbox"},
            [PER_NAMESPACE, VERSION, PLATFORMS],
            "takes every network namespace for the host's",
            "network: none",
        ),
    ],
)
def test_what_cannot_run_says_why_and_what_fixes_it(settings, answers, reason, fix):
    with pytest.raises(Unavailable) as it:
        layer.load("gvisor", **settings).probe(Fake(*answers), None)

    assert reason in it.value.reason
    assert fix in it.value.fix


def test_a_network_stack_of_its_own_can_be_had_where_runsc_knows_the_hosts_namespace():
    made = layer.load("gvisor", network="sandbox")

    assert made.probe(Fake(OWN_NAMESPACES, VERSION, PLATFORMS), None)


def test_a_sandbox_is_told_to_end_by_its_runtime(site):
    gone = ("State", 1, b"", b"")  # the keeper's script that asks whether it lives
    machine = Fake(gone)
    instance = layer.load("gvisor").create(machine, site)
    assert isinstance(instance, Instance)

    instance.stop()

    told = [words[-3:] for words in machine.asked if words[0] == "runsc"]
    assert told == [["kill", "tare-x-0-0", "TERM"]]
