"""The guard that ends neighbours where the host itself comes into danger."""

import errno

import pytest

from tare.experiment.probes.scheduler import Scheduler
from tare.experiment.trial.guard import Guard, Limits


@pytest.fixture
def proc(tmp_path):
    """A host at ease, as proc(5) shows it."""
    (tmp_path / "sys/kernel").mkdir(parents=True)
    (tmp_path / "sys/kernel/pid_max").write_text("32768\n")
    (tmp_path / "sys/kernel/threads-max").write_text("10000\n")
    (tmp_path / "loadavg").write_text("0.10 0.20 0.30 2/400 12345\n")
    (tmp_path / "meminfo").write_text("MemTotal: 8000000 kB\nMemAvailable:    6000000 kB\n")
    return tmp_path


@pytest.fixture
def killed():
    return []


@pytest.fixture
def guarding(proc, killed):
    """Makes a guard of two groups that notes what it kills."""

    def kill(groups):
        killed.extend(groups)
        return ["cgroup b: there are still processes in it after a kill"]

    def make(**limits):
        return Guard(["a", "b"], Limits(**limits), proc, Scheduler(), kill)

    return make


def test_nothing_is_ended_on_a_host_at_ease(guarding, killed):
    with guarding() as guard:
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
def test_all_groups_are_ended_once_the_host_is_in_danger(
    proc, guarding, killed, file, content, says
):
    with guarding() as guard:
        (proc / file).write_text(content)
        assert guard.ended.wait(10)

    assert killed == ["a", "b"]
    assert guard.danger == f"{says}; cgroup b: there are still processes in it after a kill"


def test_one_late_look_is_a_pause_of_the_host_and_two_in_a_row_are_a_danger(guarding, killed):
    with guarding(late_s=100.0) as guard:
        seen = [guard._seen(late_s) for late_s in (200.0, 0.0, 200.0, 200.0)]

    assert seen == ["", "", "", "Tare itself had to wait 200.0 s for a CPU"]
    assert killed == []


def test_a_host_that_cannot_be_looked_at_is_in_danger(guarding, killed, monkeypatch):
    guard = guarding()
    with guard:
        monkeypatch.setattr(guard, "_available_bytes", _too_many_files)
        assert guard.ended.wait(10)

    assert guard.danger.startswith("Tare could not look at the host any more (Too many open files)")
    assert killed == ["a", "b"]


def _too_many_files():
    raise OSError(errno.EMFILE, "Too many open files")
