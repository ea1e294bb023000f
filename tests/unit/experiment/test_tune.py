"""What `tare tune` would set, sets, and takes back, on a fake tree of /sys and /proc."""

import fcntl
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tare.cli import main
from tare.core.errors import ResultsError, Unavailable
from tare.experiment.host.tuning import (
    Change,
    Journal,
    Left,
    apply,
    measuring_stopped,
    plan,
    restore,
)
from tare.experiment.host.tuning.journal import BOOT_ID, JournalEntry
from tare.experiment.host.tuning.plan import value

GOVERNOR = "sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"
THP = "sys/kernel/mm/transparent_hugepage/enabled"
KSM = "sys/kernel/mm/ksm/run"
SWAPPINESS = "proc/sys/vm/swappiness"
HOST = {
    BOOT_ID: "one\n",
    GOVERNOR.format(0): "schedutil\n",
    GOVERNOR.format(1): "performance\n",
    GOVERNOR.format(0).replace("governor", "available_governors"): "performance schedutil\n",
    GOVERNOR.format(1).replace("governor", "available_governors"): "performance schedutil\n",
    "sys/devices/system/cpu/cpufreq/boost": "1\n",
    THP: "always [madvise] never\n",
    KSM: "1\n",
    SWAPPINESS: "60\n",
}


@pytest.fixture
def root(tmp_path):
    for name, text in HOST.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "root"


@pytest.fixture
def journal(tmp_path, root):
    return Journal(tmp_path / "home" / "tune.json", root)


def changes(root):
    return [one for one in plan(root) if isinstance(one, Change)]


def texts(root):
    """Every file but the boot's: a fake one holds what was written, without brackets."""
    return {name: value((root / name).read_text()) for name in HOST if name != BOOT_ID}


def test_the_plan_says_what_would_be_set_and_what_not_and_why(root):
    planned = plan(root)
    told = {one.what: one.why for one in planned if isinstance(one, Left)}

    assert [(one.path.name, one.old, one.wanted) for one in changes(root)] == [
        ("scaling_governor", "schedutil", "performance"),
        ("boost", "1", "0"),
        ("enabled", "madvise", "always"),
        ("run", "1", "0"),
        ("swappiness", "60", "1"),
    ]
    assert "is performance already" in told["CPU frequency governor"]
    assert told["turbo (Intel)"] == "not here: there is no driver intel_pstate"
    assert told["NUMA balancing"] == "not here: this kernel has none"
    assert {name: value(text) for name, text in HOST.items() if name != BOOT_ID} == texts(root)


def test_what_treats_all_stacks_alike_is_left(root):
    (root / THP).write_text("always madvise [never]\n")

    assert "enabled" not in [one.path.name for one in changes(root)]


def test_a_governor_that_the_driver_does_not_offer_is_not_set(root):
    (root / GOVERNOR.format(0).replace("governor", "available_governors")).write_text("powersave\n")

    (told, _) = (one.why for one in plan(root) if isinstance(one, Left) and "governor" in one.what)
    assert told.startswith("cannot be performance; there are only: powersave")


def test_an_empty_tree_has_nothing_to_set(tmp_path):
    planned = plan(tmp_path)

    assert planned
    assert all(isinstance(one, Left) for one in planned)


def test_what_was_set_is_restored_exactly(root, journal):
    before = texts(root)
    results = list(apply(changes(root), journal))

    assert not any(one.is_problem for one in results)
    assert changes(root) == []
    assert texts(root)[SWAPPINESS] == "1"
    assert [one.said for one in restore(journal)] == [""] * 5
    assert texts(root) == before
    assert not journal.path.exists()


@pytest.mark.parametrize("reached", range(6))
def test_a_kill_at_any_moment_loses_no_old_value(root, journal, reached):
    before = texts(root)
    setting = apply(changes(root), journal)
    journal.add(changes(root))  # what apply does first
    for _ in range(reached):
        next(setting, None)
    del setting

    assert {one.said for one in restore(journal)} <= {"", "is as it was"}
    assert texts(root) == before
    assert not journal.path.exists()


def test_a_killed_process_has_noted_the_old_values(root, journal):
    script = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from tare.experiment.host.tuning import Change, Journal, apply, plan\n"
        "root, path = Path(sys.argv[1]), Path(sys.argv[2])\n"
        "changes = [one for one in plan(root) if isinstance(one, Change)]\n"
        "for done in apply(changes, Journal(path, root)):\n"
        "    if done.path.name == 'boost': os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    before = texts(root)
    done = subprocess.run([sys.executable, "-c", script, root, journal.path], check=False)

    assert done.returncode == -signal.SIGKILL
    assert texts(root) != before
    list(restore(journal))
    assert texts(root) == before


def test_a_value_that_somebody_else_set_since_stays_and_is_said(root, journal):
    list(apply(changes(root), journal))
    (root / SWAPPINESS).write_text("10\n")

    (said,) = [one.said for one in restore(journal) if one.said]
    assert "somebody else has set it to 10 since; before tare tune it was 60" in said
    assert texts(root)[SWAPPINESS] == "10"
    assert texts(root)[KSM] == "1"
    assert not journal.path.exists()


def test_setting_twice_keeps_the_oldest_value(root, journal):
    before = texts(root)
    list(apply(changes(root), journal))
    (root / KSM).write_text("1\n")  # somebody has set back what it was
    list(apply(changes(root), journal))
    list(restore(journal))

    assert texts(root) == before


def test_setting_again_restores_what_somebody_else_chose_in_between(root, journal):
    list(apply(changes(root), journal))
    (root / SWAPPINESS).write_text("10\n")
    list(apply(changes(root), journal))
    list(restore(journal))

    assert texts(root)[SWAPPINESS] == "10"


def test_a_reboot_has_restored_everything(root, journal):
    list(apply(changes(root), journal))
    (root / BOOT_ID).write_text("two\n")

    assert list(restore(journal)) == []
    assert not journal.path.exists()


def test_what_cannot_be_restored_now_stays_noted(journal):
    version = Path("/proc/version")  # nobody can write it
    journal.keep({version: JournalEntry(old="60", wanted=value(version.read_text()))})

    (result,) = restore(journal)
    assert result.is_problem
    assert result.said.startswith("could not be set to 60")
    assert journal.entries()[version].old == "60"


def test_what_is_gone_is_said_once(root, journal):
    list(apply(changes(root), journal))
    (root / KSM).unlink()

    (said,) = [one.said for one in restore(journal) if one.said]
    assert "cannot be read any more" in said
    assert said.endswith("it was 1")
    assert not journal.path.exists()


def test_a_value_that_does_not_take_is_a_problem_and_stays_noted(root, journal):
    null = root / "null"
    null.symlink_to("/dev/null")  # takes everything and stays empty
    (result,) = apply([Change("x", null, "", "1", "")], journal)

    assert result.is_problem
    assert result.said == "was set to 1 and is "
    assert null in journal.entries()


def test_without_a_journal_nothing_is_set(root, tmp_path):
    (tmp_path / "file").write_text("")
    before = texts(root)

    with pytest.raises(Unavailable, match="so none is changed"):
        list(apply(changes(root), Journal(tmp_path / "file" / "tune.json", root)))
    assert texts(root) == before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"boot": "one"}', '{"boot":"one","entries":[]}'])
def test_a_broken_journal_is_an_error_that_says_what_to_do(root, journal, text):
    journal.path.parent.mkdir()
    journal.path.write_text(text)

    with pytest.raises(ResultsError, match="restore by hand or reboot"):
        journal.entries()


def test_nothing_is_set_while_a_session_measures(tmp_path):
    lock = tmp_path / "lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Unavailable, match="a Tare session is running"), measuring_stopped(lock):
            pass
    with measuring_stopped(lock):
        pass


def test_the_command_only_says_what_it_would_do(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TARE_HOME", str(tmp_path))

    assert main(["tune"]) == 0
    assert "swappiness" in capsys.readouterr().out
    assert main(["tune", "--restore"]) == 0
    assert capsys.readouterr().out == "nothing is to be restored\n"
    assert list(tmp_path.iterdir()) == []


def test_clean_restores_too_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TARE_HOME", str(tmp_path))
    file = tmp_path / "setting"
    file.write_text("1\n")
    Journal(tmp_path / "tune.json").add([Change("x", file, "60", "1", "")])

    assert main(["clean"]) == 0
    assert f"{file} is again 60" in capsys.readouterr().out
    assert file.read_text() == "60\n"
    assert not (tmp_path / "tune.json").exists()


def test_the_journal_can_be_read_by_people(root, journal):
    journal.add(changes(root))

    stored = json.loads(journal.path.read_text())
    assert stored["entries"][str(root / KSM)] == {"old": "1", "wanted": "0"}
