"""How podman is called."""

import pytest

from tare.core.errors import LayerError, Unavailable
from tare.machines import layer
from tare.machines.backends import podman as engine
from tare.machines.backends.podman import Podman
from tare.machines.cgroup.cgroup import Group
from tare.machines.layers.podman import Instance
from tare.machines.ledger import leftovers
from tare.machines.machine import Host
from unit.fakes import Fake


def podman(machine):
    return Podman(machine, Group(machine, "tare/n/podman"), "/f", "/run/n", "/f/runtime/crun")


def verbs(machine):
    """List what podman was asked, without its options that are always the same."""
    return [words[2:] for words in machine.calls("--runtime")]


def created(site, **settings):
    return layer.load("podman", **settings).create_argv("/run/x/f", site, "--ulimit=nofile=1:2")


def test_a_container_gets_its_limits_and_no_swap_in_our_group(site):
    words = created(site)

    assert words[:3] == ["create", "--name", "tare-x-0-0"]
    assert {"--cpuset-cpus=1,3", "--memory=1073741824", "--memory-swap=1073741824"} <= set(words)
    assert {"--cgroup-parent=/tare/tare-x-0-0", "--ulimit=nofile=1:2", "--rootfs"} <= set(words)
    assert words[-3:] == ["/run/x/f/root", "sleep", "infinity"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ["--network=host"]),
        ({"network": "none"}, ["--network=none"]),
        ({"storage": "volume"}, []),
        ({"storage": "tmpfs"}, ["--mount", "type=tmpfs,dst=/data"]),
        ({"seccomp": False}, ["--security-opt", "seccomp=unconfined"]),
        ({"apparmor": "off"}, ["--security-opt", "apparmor=unconfined"]),
        ({"privileged": True}, ["--privileged"]),
    ],
)
def test_settings_become_flags(site, settings, expected):
    words = created(site, **settings)

    assert all(word in words for word in expected)
    assert ("--mount" in words) == (settings.get("storage") == "tmpfs")
    assert ("--security-opt" in words) == bool({"seccomp", "apparmor"} & set(settings))
    assert ("--privileged" in words) == ("privileged" in settings)


def test_what_is_turned_off_is_not_asked_for(site):
    words = created(site, init="off", memory_limit="off")

    assert "--init" in created(site)
    assert not [word for word in words if word == "--init" or word.startswith("--memory")]


@pytest.mark.parametrize("storage", ["overlay", "volume"])
def test_data_is_the_roots_own_unless_it_is_a_volume(site, storage):
    machine = Fake()

    layer.load("podman", storage=storage).create(machine, site)

    umount = ["umount", "/run/x/tare-x-0-0/root/data"]
    assert (umount in machine.asked) == (storage == "overlay")


def test_nothing_of_the_users_podman_is_touched():
    words = podman(Fake()).argv("start", "n")

    # conmon leaves a file where it is called, so that is not where the user is.
    env = ["env", "-C", "/f", "CONTAINERS_CONF=/f/containers.conf", "podman"]
    assert words[3:9] == ["tare/n/podman", *env]
    places = ("--root", "--runroot", "--tmpdir", "--network-config-dir", "--runtime")
    paths = [words[words.index(place) + 1] for place in places]
    assert all(path.startswith(("/f/", "/run/n/")) for path in paths)
    assert b'lock_type = "file"' in engine.CONFIG


def test_all_that_is_made_is_in_the_ledger_before_podman_is_called(site):
    class Dies(Fake):
        def run(self, argv, *, stdin=b"", timeout_s=60.0):
            if "create" in argv:
                raise KeyboardInterrupt
            return super().run(argv, stdin=stdin, timeout_s=timeout_s)

    with pytest.raises(KeyboardInterrupt):
        layer.load("podman").create(Dies(), site)

    left = [(left.what, left.name) for left in leftovers(site.scope.ledger.path)]
    # The newest goes first: the groups, whose end is that of all processes.
    assert left == [
        ("cgroup", "tare/tare-x-0-0/podman"),
        ("cgroup", "tare/tare-x-0-0"),
        ("folder", "/run/tare-x-0-0"),
        ("folder", "/run/x/tare-x-0-0"),
    ]


@pytest.mark.parametrize(
    ("verb", "hard", "asked"),
    [
        ("stop", False, ["stop"]),
        ("stop", True, ["stop", "--time=0"]),
        ("reboot", False, ["restart"]),
        ("reboot", True, ["restart", "--time=0"]),
    ],
)
def test_a_container_is_stopped_in_order_or_hard(site, verb, hard, asked):
    machine = Fake()
    instance = Instance(machine, site, podman(machine))

    getattr(instance, verb)(hard=hard)

    assert verbs(machine) == [[*asked, "tare-x-0-0"]]


@pytest.mark.parametrize("verb", ["stop", "reboot"])
def test_what_is_paused_runs_on_before_it_is_ended(site, verb):
    machine = Fake()
    instance = Instance(machine, site, podman(machine))
    instance.pause()

    getattr(instance, verb)(hard=True)
    getattr(instance, verb)(hard=True)

    asked = [words[0] for words in verbs(machine)]
    assert asked[:2] == ["pause", "unpause"]
    assert "unpause" not in asked[2:]


def test_a_verb_that_fails_says_why(site):
    machine = Fake(pause=(125, b""))
    instance = Instance(machine, site, podman(machine))

    with pytest.raises(LayerError, match=r"podman pause failed: .* exited with 125 on host"):
        instance.pause()


@pytest.mark.parametrize(
    ("answers", "reason", "fix"),
    [
        ({"podman": (127, b"")}, "podman is not installed on host", "apt-get install podman"),
        ({engine.INIT: (1, b"")}, "no init for its containers", "apt-get install catatonit"),
        ({"crun": (127, b"")}, "crun is not installed on host", "apt-get install crun"),
        ({"/sys/fs/cgroup": (1, b"")}, "cgroups cannot be made on host", "run Tare as root"),
    ],
)
def test_what_is_missing_is_named_with_its_package(answers, reason, fix):
    with pytest.raises(Unavailable) as refused:
        layer.load("podman").probe(Fake(**answers), None)

    assert reason in refused.value.reason
    assert refused.value.fix == fix


def test_the_probe_tells_both_versions():
    machine = Fake(podman=(0, b"podman version 4\n"), crun=(0, b"crun version 1\ncommit: 2\n"))

    facts = layer.load("podman").probe(machine, None)

    assert facts == {"podman.version": "podman version 4", "podman.runtime": "crun version 1"}
    assert layer.load("podman", runtime="runc").needs() == ("podman", "catatonit", "runc")


def test_the_limits_are_those_of_any_command_and_numbers():
    words = dict(word.removeprefix("--ulimit=").split("=") for word in engine.ulimits(Host()))

    assert sorted(words) == ["nofile", "nproc"]
    for limits in words.values():
        soft, hard = map(int, limits.split(":"))
        assert 0 < soft <= hard
