"""How bwrap is called, and how its sandbox is entered."""

from dataclasses import replace

import pytest

from tare.core.errors import LayerError, LayerTimedOut, Unavailable
from tare.machines import layer
from tare.machines.layers import bubblewrap
from unit import fakes


class Fake(fakes.Fake):
    """A machine where commands with some words in theirs fail, and say something."""

    def answer(self, argv):
        for word, why in self.answers.items():
            if any(word in given for given in argv):
                return 1, b"", why
        return 0, b"bubblewrap 1\n"


@pytest.fixture
def site(site):
    return replace(site, cpuset="1", deadline_s=0.1)


def started(site, **settings):
    return layer.load("bubblewrap", **settings).create(Fake(), site).start_argv


def follows(words, *these):
    """Say whether words stand together in a command."""
    return any(tuple(words[at : at + len(these)]) == these for at in range(len(words)))


def test_an_ordinary_user_makes_the_namespaces(site):
    words = started(site)

    at = words.index("setpriv")
    assert words[at : at + 4] == [
        "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
    ]  # fmt: skip
    assert words[at + 4] == "bwrap"
    assert {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"} <= set(words)


@pytest.mark.parametrize(("network", "own"), [("host", False), ("none", True)])
def test_the_network_is_the_outer_machines_or_none(site, network, own):
    assert ("--unshare-net" in started(site, network=network)) == own


def test_the_userland_cannot_be_written_and_the_workdir_can(site):
    words = started(site)

    assert words[:7] == [
        "unshare", "--mount", "sh", "-c", bubblewrap.STAGE, "/cache/tree",
        "/run/x/tare-x-0-0/data",
    ]  # fmt: skip
    for name in ("usr", "etc", "var", "opt"):
        assert follows(words, "--ro-bind", f"/mnt/tree/{name}", f"/{name}")
    assert follows(words, "--ro-bind", "/sys", "/sys")
    assert follows(words, "--bind", "/mnt/data", "/data")
    assert words.count("--bind") == 1
    assert follows(words, "--symlink", "usr/bin", "/bin")


def test_a_command_enters_without_privileges_and_in_the_group(site):
    machine = Fake()
    instance = layer.load("bubblewrap").create(machine, site)

    instance.machine.run(["-x", "a b"], timeout_s=7)

    words = machine.asked[-1]
    assert words[3] == "tare/tare-x-0-0"  # the argument of the script that enters a group
    assert "/run/x/tare-x-0-0/leader" in words
    at = words.index("setpriv")
    assert words[at:] == [
        "setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--",
        "timeout", "-s", "KILL", "7", "-x", "a b",
    ]  # fmt: skip


def test_the_workdir_belongs_to_the_user_of_the_sandbox(site):
    machine = Fake()
    layer.load("bubblewrap").create(machine, site)

    assert ["sh", "-c", bubblewrap.MAKE, "/run/x/tare-x-0-0", "65534"] in machine.asked
    assert [entry.what for entry in site.scope.entries] == ["folder", "cgroup"]


def test_a_workdir_that_cannot_be_made_is_an_error(site):
    with pytest.raises(LayerError, match="could not make /run/x/tare-x-0-0/data on host"):
        layer.load("bubblewrap").create(Fake(chown=b"full"), site)


def test_it_is_the_leader_that_is_told_to_end(site):
    machine = Fake()
    instance = layer.load("bubblewrap").create(machine, site)

    with pytest.raises(LayerTimedOut, match=r"tare-x-0-0 did not end within 0 s of .*TERM"):
        instance.stop()  # all that is asked here is answered as if it lived

    told = next(words for words in machine.asked if words[-1] == "TERM")
    assert told[-3:] == ["/run/x/tare-x-0-0/leader", "tare/tare-x-0-0", "TERM"]


def test_what_would_be_used_is_told():
    facts = layer.load("bubblewrap").probe(Fake(), None)

    assert facts == {"bubblewrap.version": "bubblewrap 1"}


@pytest.mark.parametrize(
    ("failing", "reason", "fix"),
    [
        ({"--version": b""}, "host has no bwrap", "apt-get install bubblewrap"),
        ({"/sys/fs/cgroup": b""}, "cgroups cannot be made on host", "root"),
        (
            {"--unshare-user": b"bwrap: No permissions"},
            "an ordinary user cannot make a sandbox on host: bwrap: No permissions",
            "sysctl user.max_user_namespaces",
        ),
    ],
)
def test_what_cannot_run_says_why_and_what_fixes_it(failing, reason, fix):
    with pytest.raises(Unavailable) as it:
        layer.load("bubblewrap").probe(Fake(**failing), None)

    assert it.value.reason == reason
    assert fix in it.value.fix
