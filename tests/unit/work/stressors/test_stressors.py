"""Every stressor: its words, its dial, its bounds, and what it refuses."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.cli import main
from tare.core import plugins
from tare.core.errors import ConfigError
from tare.core.model import Resource, Source, resource_of
from tare.work import stressor, stressors
from tare.work.roles import COMMAND, OWN, PEER, Lifetime, Main, Roles, Succeeds
from tare.work.stressor import Dial, StressedResource, load, names

GIB = 2**30
FULL = {
    "disk": {"full_bytes_per_s": 400 * 2**20},
    "memory_bandwidth": {"full_bytes_per_s": 4 * GIB},
    "net_receive": {"full_bytes_per_s": GIB},
    "net_send": {"full_bytes_per_s": GIB},
}
"""What lets a stressor be dialled whose full is measured."""
DIALLED = {
    "cpu": r"--cpu-load (\d+)",
    "memory": r"--vm-bytes (\d+)",
    "memory_bandwidth": r"--memrate-rd-mbs (\d+)",
    "fork": r"--fork (\d+)",
    "cache": r"--cache (\d+)",
    "syscall": r"--dentry (\d+)",
    "disk": r"--rate=(\d+),",
    "net_send": r"-b (\d+)",
    "net_receive": r"-b (\d+)",
}
"""The word of a stressor's command that its level changes."""


def loaded(name, **params):
    return load(name, **(FULL.get(name, {}) | params))


def role_of(made, place=OWN):
    """The role at the place itself."""
    return next(role for role in made.roles("bomb", place) if role.name == "bomb")


def words(made):
    return " ".join(role_of(made).command)


def dialled(made):
    """The number that the level sets; what is not held goes as fast as it can."""
    found = re.search(DIALLED[made.name], words(made))
    number = int(found[1]) if found else 0
    return number or float("inf")


def test_there_is_a_stressor_for_every_resource():
    assert {stressor.kind(name).resource for name in names()} == set(StressedResource)
    assert sorted(DIALLED) == names()


@pytest.mark.parametrize("name", names())
def test_a_stressor_is_a_set_of_roles_that_end_with_the_trial(name):
    made = loaded(name, workers=3)
    roles = Roles(Main(OWN, ["work"]), tuple(made.roles("bomb", OWN)))

    assert list(roles.objections()) == []
    assert {role.lifetime for role in roles.others} == {Lifetime.TRIAL}
    assert all(role.packages == made.packages for role in roles.others)
    assert made.all_packages() == set(made.packages)
    assert made.uses_peer() == roles.at_peer() == name.startswith("net_")
    assert all(role.name.startswith("bomb") for role in roles.others)
    here = [role for role in roles.others if role.place == OWN]
    assert all(isinstance(role.ready, Succeeds) for role in here)
    assert len(here) == (3 if name.startswith("net_") else 1)


@pytest.mark.parametrize("name", names())
def test_a_stressor_can_share_the_instance_of_another(name):
    roles = Roles(Main(OWN, ["work"]), tuple(loaded(name).roles("bomb", COMMAND)))

    assert list(roles.objections()) == []
    assert roles.homes() == (COMMAND,)


@pytest.mark.parametrize("name", names())
def test_two_neighbours_of_a_kind_have_names_of_their_own(name):
    made = loaded(name, workers=2)
    both = (*made.roles("a", OWN), *made.roles("b", OWN))

    assert list(Roles(Main(OWN, ["work"]), both).objections()) == []


@pytest.mark.parametrize("name", names())
def test_what_it_achieved_is_read_from_its_group_or_the_host(name):
    readings = loaded(name).readings

    assert readings
    assert {reading.source for reading in readings} <= {Source.LAYER, Source.HOST}
    assert all(resource_of(reading.name) == reading for reading in readings)


def test_the_cpu_is_read_from_the_group():
    assert loaded("cpu").readings[0] == Resource(Source.LAYER, "cpu_s")


@pytest.mark.parametrize("name", names())
@given(low=st.floats(0.01, 1), high=st.floats(0.01, 1), workers=st.integers(1, 64))
def test_a_higher_intensity_is_never_less_stress(name, low, high, workers):
    low, high = sorted((low, high))
    made = loaded(name, workers=workers)

    assert dialled(made.at(low)) <= dialled(made.at(high)) <= dialled(made.at(1.0))
    less, more = made.at(low).bounds(), made.at(high).bounds()
    assert less.memory_bytes <= more.memory_bytes
    assert less.processes <= more.processes
    assert made.at(low).at(1.0) == made.at(1.0)
    assert made.at(low).level == low


@pytest.mark.parametrize("name", names())
@given(few=st.integers(1, 64), many=st.integers(1, 64))
def test_more_workers_may_take_more(name, few, many):
    few, many = sorted((few, many))
    less, more = (loaded(name).scaled(count).bounds() for count in (few, many))

    assert loaded(name).scaled(few).workers == few
    assert 0 < less.memory_bytes <= more.memory_bytes
    assert 1 < less.processes <= more.processes
    assert 0 <= less.disk_bytes <= more.disk_bytes


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("level", [0, -0.5, 1.01, float("nan")])
def test_a_level_that_is_no_share_is_refused(name, level):
    with pytest.raises(ConfigError, match=rf"^stressor {name}: level: {level} was given; expected"):
        loaded(name).at(level)


REFUSED = [
    ("cpu", {"workers": 0}, "workers: 0 was given; expected 1 or more"),
    ("cpu", {"level": 0.001}, "level: 0.001 was given; expected 0.01 or more"),
    ("cpu", {"method": "all"}, "method: 'all' was given; expected one of int64double"),
    ("cpu", {"cpus": 1}, "unexpected keyword argument 'cpus'"),
    ("memory", {"worker_bytes": 4096}, "worker_bytes: 4096 was given; expected 4194304 or more"),
    ("memory", {"access": "free"}, "access: 'free' was given; expected one of touch, hold"),
    ("memory_bandwidth", {"level": 0.5}, "0.5 was given; without full_bytes_per_s it expects 1"),
    ("memory_bandwidth", {"worker_bytes": 0}, "worker_bytes: 0 was given; expected 4194304"),
    ("fork", {"children": 0}, "children: 0 was given; expected 1 or more"),
    ("fork", {"children": 16_001}, "children: 16001 was given; expected 16000 at most"),
    ("syscall", {"method": "getpid"}, "method: 'getpid' was given; expected one of dentry"),
    ("disk", {"level": 0.9}, "level: 0.9 was given; without full_bytes_per_s it expects 1"),
    ("disk", {"block_bytes": 1000}, "block_bytes: 1000 was given; expected a multiple of 512"),
    ("disk", {"file_bytes": 512}, "file_bytes: 512 was given; expected 32768 or more"),
    ("disk", {"threads": 0}, "threads: 0 was given; expected 1 or more"),
    ("disk", {"full_bytes_per_s": -1}, "full_bytes_per_s: -1 was given; expected 0 or more"),
    ("net_send", {"level": 0.9}, "level: 0.9 was given; without full_bytes_per_s it expects 1"),
    ("net_send", {"datagram_bytes": 65508}, "65508 was given; expected 65507 at most"),
    ("net_receive", {"streams": 129}, "streams: 129 was given; expected 128 at most"),
]


@pytest.mark.parametrize(("name", "params", "sentence"), REFUSED)
def test_a_bad_parameter_is_refused_with_a_sentence(name, params, sentence):
    with pytest.raises(ConfigError, match=sentence) as refused:
        load(name, **params)

    assert str(refused.value).startswith(f"stressor {name}: ")


def test_an_unknown_stressor_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match="no stressor is called 'gpu'; there are: cache, cpu, di"):
        load("gpu")


def test_a_stressor_cannot_have_no_workers():
    with pytest.raises(ConfigError, match="stressor cpu: workers: 0 was given; expected 1 or more"):
        load("cpu").scaled(0)


# The words, as the study's bombs are defined (huang2019, and RECIPES.md C and N).


def test_a_cpu_bomb_is_dialled_by_the_share_of_time():
    assert words(load("cpu", workers=2).at(0.3)) == (
        "stress-ng --timeout 0 --no-rand-seed --cpu 2 --cpu-method int64double --cpu-load 30"
    )


def test_a_memory_bomb_keeps_what_each_worker_takes():
    made = load("memory", workers=4, worker_bytes=64 * 2**20)

    assert "--vm 4 --vm-bytes 268435456 --vm-keep --vm-method write64" in words(made)
    assert "--vm-hang" not in words(made)
    assert words(load("memory", access="hold")).endswith("--vm-hang 0")
    assert made.bounds().memory_bytes >= 256 * 2**20
    assert made.at(0.5).bounds().memory_bytes < 256 * 2**20


def test_a_memory_bomb_is_ready_when_its_bytes_are_resident():
    made = load("memory", workers=2, worker_bytes=100 * 2**20).at(0.5)

    assert role_of(made).ready.command[3:] == ["0", str(int(0.9 * 100 * 2**20)), "0"]


def test_a_disk_bomb_is_that_of_the_study():
    role = role_of(load("disk"))

    assert role.setup[-1] == "--create_only=1"
    for word in (
        *("--numjobs=20", "--thread", "--rw=randrw", "--rwmixread=50", "--bs=32768"),
        *("--ioengine=psync", "--direct=1", "--time_based"),
    ):
        assert word in role.command
    assert not [word for word in role.command if word.startswith("--rate")]


def test_a_disk_bomb_is_held_to_a_share_of_the_rate_of_a_worker():
    made = load("disk", workers=2, full_bytes_per_s=400 * 10**6).at(0.5)

    # Each of 20 threads reads and writes half of its part.
    assert f"--rate={5 * 10**6},{5 * 10**6}" in role_of(made).command
    assert "--numjobs=40" in role_of(made).command
    assert made.bounds().disk_bytes == 40 * made.file_bytes


@pytest.mark.parametrize(("name", "flag"), [("net_send", False), ("net_receive", True)])
def test_a_network_bomb_is_that_of_the_study(name, flag):
    peer, client = load(name).roles("bomb", OWN)

    assert (peer.name, peer.place) == ("bomb_peer", PEER)
    assert (client.name, client.place) == ("bomb", OWN)
    assert "-u -l 60000 -P 4 -b 0 -t 0" in " ".join(client.command)
    assert ("-R" in client.command) == flag
    assert client.command[2] == "{bomb_peer.address}"


def test_the_rate_of_a_network_bomb_is_divided_among_its_streams():
    made = load("net_send", full_bytes_per_s=10**9).at(0.25)

    assert "-b 500000000" in words(made)  # 2 Gbit/s


def test_a_fork_bomb_says_how_many_processes_it_may_have():
    made = load("fork", workers=4, children=10)

    assert made.bounds().processes == 1 + 4 * 11
    assert "--fork 4 --fork-max 10" in words(made)


def test_where_workers_are_the_dial_one_always_runs():
    made = load("cache", workers=4)

    assert [made.at(level).running for level in (0.01, 0.4, 0.6, 1.0)] == [1, 2, 2, 4]
    assert {stressor.kind(name).dial for name in ("fork", "cache", "syscall")} == {Dial.WORKERS}


@pytest.mark.parametrize("method", ["dentry", "mmap", "futex", "sync"])
def test_a_kernel_bomb_has_its_method(method):
    made = load("syscall", method=method, workers=2)

    assert f"{'--io' if method == 'sync' else f'--{method}'} 2" in words(made)
    assert bool(made.bounds().disk_bytes) == (method == "dentry")


# Plug-ins and the list.

PLUGGED = "from tare.work.stressors.cpu import Stressor"


@pytest.fixture
def plugged(tmp_path, monkeypatch):
    monkeypatch.setattr(stressors, "__path__", list(stressors.__path__))
    (tmp_path / "stressors").mkdir()
    (tmp_path / "stressors" / "plugged.py").write_text(PLUGGED)
    yield str(tmp_path)
    sys.modules.pop("tare.work.stressors.plugged", None)


def test_a_stressor_in_a_folder_is_found(plugged):
    assert list(plugins.use([plugged])) == []

    assert "plugged" in names()
    assert load("plugged", workers=2).workers == 2


def test_stressors_are_listed_with_their_parameters(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("TARE_HOME", str(tmp_path))

    assert main(["list", "stressors"]) == 0

    text = capsys.readouterr().out
    assert all(re.search(rf"^ +{name} +{name}: ", text, re.MULTILINE) for name in names())
    assert "file: 16MiB" in text
