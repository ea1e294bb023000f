"""What can happen to a container of systemd-nspawn only."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from contract.containers import Broken, assert_a_killed_init_ends_all
from tare.core.errors import LayerError
from tare.machines.machine import check, text

pytestmark = pytest.mark.needs("nspawn")


def leader_of(stack):
    return int(Path(stack.instances[-1].process.folder, "leader").read_text())


def test_a_container_whose_init_is_killed_ends_its_commands_and_is_left_like_any_other(
    place, layers_of, traces, settles
):
    assert_a_killed_init_ends_all(place, layers_of("host/nspawn"), leader_of, traces, settles)


def test_a_container_whose_nspawn_is_killed_is_left_like_any_other(
    place, layers_of, traces, settles
):
    site = place.site()
    stack = place.open(layers_of("host/nspawn"), site)
    nspawn = int(Path(stack.instances[-1].process.folder, "pid").read_text())
    os.kill(nspawn, signal.SIGKILL)

    stack.close()

    assert settles(lambda: not traces(site.name)), traces(site.name)
    place.undo_again(site.name)
    assert not Path("/run/systemd/nspawn/propagate", f"{site.name}-0").exists()


def test_a_userland_that_cannot_run_says_why_and_leaves_nothing(place, layers_of, traces, tmp_path):
    site = replace(place.site(), userland=Broken(tmp_path))

    with pytest.raises(LayerError, match=rf"{site.name}-0 ended .*/usr/ directory is missing"):
        place.open(layers_of("host/nspawn"), site)

    assert traces(site.name) == []


def test_a_command_out_of_its_callers_reach_ends_with_an_error(place, layers_of):
    stack = place.open(layers_of("host/nspawn"))
    try:
        # More words than can be handed over at once.
        done = stack.machine.run(["true", *["x" * 1000] * 1500])
        many = stack.machine.run(["sh", "-c", 'echo "$#"', *["x" * 1000] * 500])
    finally:
        stack.close()

    assert done.returncode not in (0, 137)
    assert many.stdout == b"499\n"


def test_commands_at_once_keep_their_words_and_streams_apart(place, layers_of):
    stack = place.open(layers_of("host/nspawn"))

    def run(word):
        script = 'cat; echo "$0" >&2; exit 3'
        done = stack.machine.run(["sh", "-c", script, word], stdin=f"in {word}".encode())
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    words = [str(number) for number in range(64)]
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(run, words))
    finally:
        stack.close()

    assert found == [(3, f"in {word}", f"{word}\n") for word in words]


@pytest.mark.parametrize(
    ("settings", "users", "alone"),
    [({}, "4294967295", False), ({"userns": True, "network": "none"}, "65536", True)],
)
def test_a_command_is_one_of_the_containers_own(place, layers_of, settings, users, alone):
    stack = place.open(layers_of("host/nspawn", nspawn=settings))
    try:
        own = text(stack.machine, ["cat", "/proc/self/status"])
        first = text(stack.machine, ["cat", "/proc/1/status"])
        map_of = text(stack.machine, ["cat", "/proc/self/uid_map"])
        links = text(stack.machine, ["ls", "/sys/class/net"]).split()
        check(stack.machine, ["touch", "/data/file", "/etc/file"])
    finally:
        stack.close()

    for line in ("Seccomp_filters:", "CapBnd:"):
        assert own.split(line)[1].split()[0] == first.split(line)[1].split()[0]
    assert own.split("Seccomp_filters:")[1].split()[0] != "0"
    assert map_of.split()[-1] == users
    assert (links == ["lo"]) == alone
