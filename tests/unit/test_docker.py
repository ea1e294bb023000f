"""How docker and dockerd are called."""

import pytest

from tare import layer
from tare.engines import docker as engine
from tare.engines.docker import Daemon
from tare.errors import Unavailable
from tare.ledger import Ledger, Scope, Services, leftovers
from tare.machine import Completed
from tare.model import Limits

LIMITS = Limits(cpus=1, memory_bytes=2**30)


class Userland:
    id = "1a2b"

    def tar(self, machine):
        return "/cache/tree.tar"


class Fake:
    """A machine with a docker whose answers are chosen by the words in a command."""

    name, ephemeral = "host", False

    def __init__(self, **answers):
        self.answers, self.asked = answers, []

    def host_argv(self, argv):
        return list(argv)

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.asked.append(list(argv))
        found = [self.answers[word] for word in argv if word in self.answers]
        returncode, stdout = found[0] if found else (0, b"")
        return Completed(tuple(argv), returncode, stdout, b"", 0.0)


@pytest.fixture
def site(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    yield layer.Site(
        name="tare-x-0-0",
        session="x",
        folder="/run/x",
        limits=LIMITS,
        cpuset="1,3",
        scope=Scope(ledger),
        services=Services(ledger),
        userland=Userland(),
    )
    ledger.close()


def created(site, own=True, **settings):
    daemon = Daemon(Fake(), ("docker", "--host", "unix://s"), own=own)
    return layer.load("docker", **settings).create_argv(daemon, "image:1", site)


def test_a_container_gets_its_limits_and_no_swap(site):
    words = created(site)

    assert words[:6] == ["docker", "--host", "unix://s", "create", "--name", "tare-x-0-0"]
    assert {"--cpuset-cpus=1,3", "--memory=1073741824", "--memory-swap=1073741824"} <= set(words)
    assert words[-3:] == ["image:1", "sleep", "infinity"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ["--runtime=runc", "--network=host"]),
        ({"runtime": "runsc"}, ["--runtime=runsc"]),
        ({"network": "none"}, ["--network=none"]),
        ({"storage": "volume"}, ["--mount", "type=volume,dst=/data"]),
        ({"storage": "tmpfs"}, ["--mount", "type=tmpfs,dst=/data"]),
    ],
)
def test_settings_become_flags(site, settings, expected):
    words = created(site, **settings)

    assert all(word in words for word in expected)
    assert ("--mount" in words) == ("storage" in settings)


def test_only_with_a_daemon_of_ours_the_group_is_ours_to_choose(site):
    assert "--cgroup-parent=/tare/tare-x-0-0" in created(site)
    assert not any("cgroup-parent" in word for word in created(site, own=False))


def test_our_daemon_leaves_the_machine_alone():
    words = engine.daemon_argv("/run/x/d", "/run/x/d/root", "tarex")

    assert {"--iptables=false", "--ip-forward=false", "--ip-masq=false"} <= set(words)
    assert [words[words.index(flag) + 1] for flag in ("--host", "--pidfile", "--bridge")] == [
        "unix:///run/x/d/socket",
        "/run/x/d/pid",
        "tarex",
    ]


def test_a_daemon_that_answers_is_used_and_keeps_no_image_of_ours(site):
    machine = Fake(inspect=(1, b""))

    daemon = engine.serving(machine, site)
    name = daemon.image(site.userland)
    site.services.close()

    assert not daemon.own
    assert ["docker", "import", "/cache/tree.tar", name] in machine.asked
    assert machine.asked[-1][-3:] == [engine.REMOVE_IMAGE, "tare-userland:1a2b", "docker"]
    assert leftovers(site.scope.ledger.path) == []


def test_an_image_that_was_there_before_stays(site):
    machine = Fake()

    engine.serving(machine, site).image(site.userland)
    site.services.close()

    assert not any("import" in argv or engine.REMOVE_IMAGE in argv for argv in machine.asked)


def test_no_docker_is_unavailable_with_its_package(site):
    machine = Fake(docker=(127, b""))

    with pytest.raises(Unavailable, match=r"apt-get install docker\.io"):
        layer.load("docker").probe(machine, None)
    with pytest.raises(Unavailable, match=r"dockerd is not installed on host"):
        engine.serving(machine, site)


def test_the_probe_tells_the_version_and_the_runtime():
    machine = Fake(version=(0, b"28.2.2\n"))

    facts = layer.load("docker", runtime="runsc").probe(machine, None)

    assert facts == {"docker.version": "28.2.2", "docker.runtime": "runsc"}


def test_a_container_is_in_the_ledger_before_it_is_made(site):
    class Dies(Fake):
        def run(self, argv, *, stdin=b"", timeout_s=60.0):
            if "create" in argv:
                raise KeyboardInterrupt
            return super().run(argv, stdin=stdin, timeout_s=timeout_s)

    with pytest.raises(KeyboardInterrupt):
        layer.load("docker").create(Dies(), site)

    assert [left.what for left in leftovers(site.scope.ledger.path)] == ["container"]
