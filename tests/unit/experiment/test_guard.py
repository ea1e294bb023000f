"""The guard that ends neighbours where the host itself comes into danger."""

import pytest

from tare.core.errors import LayerError
from tare.experiment.probes.scheduler import Scheduler
from tare.experiment.trial.guard import Guard, Limits

MIB = 2**20


@pytest.fixture
def proc(tmp_path):
    """A host at ease, as proc(5) shows it."""
    (tmp_path / "sys/kernel").mkdir(parents=True)
    (tmp_path / "sys/kernel/pid_max").write_text("32768\n")
    (tmp_path / "sys/kernel/threads-max").write_text("10000\n")
    (tmp_path / "loadavg").write_text("0.10 0.20 0.30 2/400 12345\n")
    (tmp_path / "meminfo").write_text("MemTotal: 8000000 kB\nMemAvailable:    6000000 kB\n")
    return tmp_path


def test_nothing_is_ended_on_a_host_at_ease(proc):
    killed = []
    guard = Guard(["a"], proc=proc, scheduler=Scheduler(), kill=killed.append)

    with guard:
        assert not guard.ended.wait(0.5)

    assert (guard.danger, killed) == ("", [])


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        (
            "meminfo",
            "MemAvailable: 102400 kB\n",
            "100 MiB of the host's memory were left, less than 256 MiB",
        ),
        (
            "loadavg",
            "0.10 0.20 0.30 2/9001 12345\n",
            "9001 processes and threads ran on the host, of at most 10000",
        ),
    ],
)
def test_all_groups_are_ended_once_the_host_is_in_danger(proc, file, content, says):
    killed = []
    guard = Guard(["a", "b"], proc=proc, scheduler=Scheduler(), kill=killed.append)

    with guard:
        (proc / file).write_text(content)
        assert guard.ended.wait(10)

    assert (guard.danger, killed) == (says, ["a", "b"])


def test_a_controller_that_comes_late_is_a_danger(proc):
    killed = []
    limits = Limits(late_s=-1.0)  # whatever its wait was, it was longer

    with Guard(["a"], limits, proc, Scheduler(), killed.append) as guard:
        assert guard.ended.wait(10)

    assert guard.danger.startswith("Tare itself had to wait")
    assert killed == ["a"]


def test_a_group_that_stays_leaves_the_others_their_end(proc):
    killed = []

    def kill(group):
        if group == "a":
            raise LayerError("cgroup a: 1 processes are still there after a kill")
        killed.append(group)

    (proc / "meminfo").write_text("MemAvailable: 0 kB\n")
    with Guard(["a", "b"], proc=proc, scheduler=Scheduler(), kill=kill) as guard:
        assert guard.ended.wait(10)

    assert killed == ["b"]
    assert "0 MiB of the host's memory were left" in guard.danger
    assert guard.danger.endswith("still there after a kill")
