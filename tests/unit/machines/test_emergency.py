"""Killing all that is in control groups: on a made-up hierarchy with real processes."""

import os
import signal
import subprocess

import pytest

from tare.machines.cgroup import emergency
from tare.machines.cgroup.emergency import kill_all


@pytest.fixture
def sleepers():
    """Two processes, which are ended whatever a test did."""
    made = [subprocess.Popen(["sleep", "60"]) for _ in range(2)]  # noqa: S607 - any sleep
    yield made
    for one in made:
        one.kill()
        one.wait()


def group(root, path, *processes):
    (root / "freezer" / path).mkdir(parents=True, exist_ok=True)
    text = "".join(f"{one.pid}\n" for one in processes)
    (root / "freezer" / path / "cgroup.procs").write_text(text)


def test_all_in_a_group_and_below_are_killed(tmp_path, sleepers):
    first, second = sleepers
    group(tmp_path, "tare/x", first)
    group(tmp_path, "tare/x/below", second)

    assert kill_all(["tare/x"], tmp_path) == []

    assert [one.wait(10) for one in sleepers] == [-signal.SIGKILL] * 2


def test_what_is_not_there_holds_nothing(tmp_path):
    (tmp_path / "freezer").mkdir()

    assert kill_all(["tare/gone"], tmp_path) == []


def test_the_whole_host_and_ones_own_group_are_refused_and_others_have_their_turn(
    tmp_path, sleepers
):
    first, second = sleepers
    group(tmp_path, "", first)
    group(tmp_path, "own", first)
    (tmp_path / "freezer/own/cgroup.procs").write_text(f"{first.pid}\n{os.getpid()}\n")
    group(tmp_path, "tare/x", second)

    failed = kill_all(["", "own", "tare/x"], tmp_path)

    assert [one.partition(":")[0] for one in failed] == ["cgroup /", "cgroup own"]
    assert all("nothing in it is killed" in one for one in failed)
    assert second.wait(10) == -signal.SIGKILL
    assert first.poll() is None


def test_what_cannot_be_killed_is_said_and_others_have_their_turn(tmp_path, sleepers, monkeypatch):
    first, second = sleepers
    group(tmp_path, "a", first)
    group(tmp_path, "b", second)
    kill = os.kill

    def refused(pid, number):
        if pid == first.pid:
            raise PermissionError(1, "Operation not permitted")
        kill(pid, number)

    monkeypatch.setattr(emergency.os, "kill", refused)
    failed = kill_all(["a", "b"], tmp_path)
    monkeypatch.undo()

    assert failed == ["cgroup a: [Errno 1] Operation not permitted"]
    assert second.wait(10) == -signal.SIGKILL


def test_a_group_of_v2_is_killed_by_its_file_and_what_stays_is_said(
    tmp_path, sleepers, monkeypatch
):
    monkeypatch.setattr(emergency, "TIMEOUT_S", 0.05)
    (tmp_path / "cgroup.controllers").touch()
    (tmp_path / "x").mkdir()
    (tmp_path / "x/cgroup.procs").write_text(f"{sleepers[0].pid}\n")
    (tmp_path / "x/cgroup.kill").touch()

    failed = kill_all(["x"], tmp_path)

    assert (tmp_path / "x/cgroup.kill").read_text() == "1"  # which no kernel reads here
    assert failed == ["cgroup x: there are still processes in it after a kill"]
