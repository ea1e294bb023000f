"""Whether a session lives: the kernel's list of locks, and where it tells nothing."""

import fcntl
import os
import subprocess
import sys
import time

import pytest

from tare.live.liveness import INITIAL, SILENT_S, Locks, has_news

ANOTHER = "pid:[4026532290]"


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.touch()
    return path


def proc(folder, *, namespace=INITIAL, locks="", mounts=""):
    """Make what a kernel shows in /proc."""
    place = folder / "proc"
    (place / "self/ns").mkdir(parents=True)
    (place / "self/ns/pid").symlink_to(namespace)
    (place / "self/mountinfo").write_text(mounts)
    if locks is not None:
        (place / "locks").write_text(locks)
    return place


def flock(inode):
    return f"7: FLOCK  ADVISORY  WRITE 26981 fe:00:{inode} 0 EOF\n"


def mount(path, kind):
    device = path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    return f"36 35 {number} / /data rw,noatime master:1 - {kind} server:/data rw\n"


def test_a_lock_is_seen_and_not_taken(tmp_path, ledger):
    assert not Locks().hold(tmp_path / "nothing")
    assert not Locks().hold(ledger)
    with ledger.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert Locks().hold(ledger) is True


def test_locks_are_told_apart_by_the_file(tmp_path, ledger):
    inode = ledger.stat().st_ino
    posix = flock(inode).replace("FLOCK", "POSIX")

    assert Locks(proc(tmp_path / "a", locks=flock(inode))).hold(ledger) is True
    assert Locks(proc(tmp_path / "b", locks=flock(inode + 1))).hold(ledger) is False
    assert Locks(proc(tmp_path / "c", locks=posix)).hold(ledger) is False


def test_no_lock_says_nothing_to_who_does_not_see_all_processes(tmp_path, ledger):
    inode = ledger.stat().st_ino
    shown = proc(tmp_path / "b", namespace=ANOTHER, locks=flock(inode))

    assert Locks(proc(tmp_path / "a", namespace=ANOTHER)).hold(ledger) is None
    assert Locks(shown).hold(ledger) is True
    assert Locks(proc(tmp_path / "c", locks=None)).hold(ledger) is None
    assert Locks(tmp_path / "nothing").hold(ledger) is None


@pytest.mark.parametrize(
    ("kind", "held"), [("nfs4", None), ("fuse.sshfs", None), ("ext4", False), ("btrfs", False)]
)
def test_no_lock_says_nothing_of_a_folder_that_other_hosts_share(tmp_path, ledger, kind, held):
    assert Locks(proc(tmp_path, mounts=mount(ledger, kind))).hold(ledger) is held


def test_news_are_of_a_session_that_has_not_said_that_it_ended():
    now = time.time_ns()
    long_ago = now - int((SILENT_S + 60) * 1e9)

    assert has_news([long_ago, now], None)
    assert has_news([now], long_ago)
    assert not has_news([long_ago], None)
    assert not has_news([now - 1], now)
    assert not has_news([], None)


@pytest.mark.needs("root")
def test_a_lock_held_outside_of_a_container_is_not_said_to_be_free(ledger):
    """The kernel shows it to nobody in another namespace of processes."""
    asked = (
        "import sys; from pathlib import Path; from tare.live.liveness import Locks;"
        "print(Locks().hold(Path(sys.argv[1])))"
    )
    apart = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", asked, ledger]
    with ledger.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert Locks().hold(ledger) is True
        done = subprocess.run(apart, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "None\n"
