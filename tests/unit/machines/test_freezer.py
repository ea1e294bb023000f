"""The freezer of a group, written for real where a hierarchy is there to make a group in."""

import os
import secrets
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tare.core.completed import Completed
from tare.core.errors import LayerError
from tare.machines.cgroup import cgroup, freezer
from tare.machines.machine import Host

GROUPS = Path("/sys/fs/cgroup")
ROOTS = {
    "v1": (GROUPS, GROUPS / "freezer"),
    "v2": (GROUPS, GROUPS),
    "v2 beside v1": (GROUPS / "unified", GROUPS / "unified"),
}


@pytest.fixture(params=ROOTS)
def group(request):
    """A group with a process that is busy: its root and its path."""
    root, tree = ROOTS[request.param]
    is_v2 = (root / "cgroup.controllers").exists()
    if is_v2 is (request.param == "v1") or not os.access(tree / "cgroup.procs", os.W_OK):
        pytest.skip(f"no {request.param} here that can be written")
    path = f"tare-test-{secrets.token_hex(3)}"
    (tree / path).mkdir()
    busy = subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"])
    (tree / path / "cgroup.procs").write_text(str(busy.pid))
    yield root, path, busy.pid
    for file, content in (("freezer.state", "THAWED"), ("cgroup.freeze", "0")):
        if (tree / path / file).exists():
            (tree / path / file).write_text(content)
    busy.send_signal(signal.SIGKILL)
    busy.wait()
    (tree / path).rmdir()


def cpu_ns(pid):
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def grows(pid, begin):
    """Wait until a process has used more CPU time; False where it does not within 5 s."""
    deadline = time.monotonic() + 5
    while cpu_ns(pid) == begin:
        if time.monotonic() > deadline:
            return False
    return True


def test_a_frozen_group_takes_no_cpu_time_and_a_thawed_one_does_again(group):
    root, path, pid = group
    assert freezer.is_there(path, root)
    assert grows(pid, cpu_ns(pid))

    freezer.switch(path, frozen=True, root=root)
    begin = cpu_ns(pid)
    for _ in range(1000):
        os.sched_yield()
    assert cpu_ns(pid) == begin

    freezer.switch(path, frozen=False, root=root)
    assert grows(pid, begin)


def test_freezing_and_thawing_twice_changes_nothing(group):
    root, path, pid = group
    for frozen in (True, True, False, False):
        freezer.switch(path, frozen=frozen, root=root)
    assert grows(pid, cpu_ns(pid))


def test_a_group_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(LayerError, match=r"cgroup tare/none: .* No such file"):
        freezer.switch("tare/none", frozen=True, root=tmp_path)
    assert not freezer.is_there("tare/none", tmp_path)


@pytest.fixture
def stubborn(tmp_path, monkeypatch):
    """A v2 group that never says that it is frozen."""
    monkeypatch.setattr(freezer, "TIMEOUT_S", 0.0)
    (tmp_path / "cgroup.controllers").touch()
    folder = tmp_path / "tare"
    folder.mkdir()
    (folder / "cgroup.events").write_text("populated 1\nfrozen 0\n")
    (folder / "cgroup.freeze").touch()
    return tmp_path


def test_a_group_that_does_not_freeze_is_thawed_again(stubborn):
    with pytest.raises(LayerError, match="does not freeze within"):
        freezer.switch("tare", frozen=True, root=stubborn)
    assert (stubborn / "tare/cgroup.freeze").read_text() == "0"


class Elsewhere:
    """A machine that is not the controlling host."""

    name, ephemeral = "host/qemu", False

    def __init__(self, stdout=b""):
        self.stdout, self.asked = stdout, []

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.asked.append(list(argv))
        return Completed(tuple(argv), 0, self.stdout, b"", 0.0)


def test_a_group_on_another_machine_is_frozen_by_a_script_there():
    machine = Elsewhere()

    cgroup.Group(machine, "tare/x").freeze()
    cgroup.Group(machine, "tare/x").thaw()

    assert [argv[2:] for argv in machine.asked] == [
        [cgroup.FREEZE, "tare/x", "1"],
        [cgroup.FREEZE, "tare/x", "0"],
    ]


def test_a_group_of_this_host_is_frozen_without_a_command():
    class NoCommands(Host):
        def run(self, argv, *, stdin=b"", timeout_s=60.0):
            raise AssertionError(argv)

    with pytest.raises(LayerError, match="cgroup tare/there-is-none"):
        cgroup.Group(NoCommands(), "tare/there-is-none").freeze()


class Listing(Host):
    """The controlling host, with an engine that gives a container's pid, whose groups are told."""

    def __init__(self, listing, told=b"12 abc"):
        super().__init__()
        self.said = {"inspect": told, "cat": listing}

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        said = self.said[argv[0]]
        return Completed(tuple(argv), 0 if said else 1, said, b"", 0.0)


@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(Elsewhere(b"9:freezer:/docker/abc\n"), id="a daemon in a guest"),
        pytest.param(Listing(b"9:freezer:/user/shell\n"), id="a daemon on another host"),
        pytest.param(Listing(b"9:freezer:/../no/abc\n"), id="a group that is not seen here"),
        pytest.param(Listing(b""), id="a process that has ended"),
        pytest.param(Listing(b"", told=b""), id="a container that is unknown"),
        pytest.param(Listing(b"", told=b"12"), id="a container without an id"),
    ],
)
def test_what_cannot_be_frozen_directly_is_left_to_the_engine(machine):
    assert cgroup.freezer_of(machine, ["inspect"]) is None


def test_the_freezer_of_a_container_is_found(group):
    root, path, _ = group
    if root != GROUPS:
        pytest.skip("v2 beside v1 is no hierarchy that layers are frozen in")
    is_v2 = (root / "cgroup.controllers").exists()
    listing = f"0::/{path}\n" if is_v2 else f"9:cpuacct:/other\n7:freezer:/{path}\n"
    machine = Listing(listing.encode(), told=f"12 {path}".encode())

    found = cgroup.freezer_of(machine, ["inspect"])

    assert found == cgroup.Group(machine, path)


def test_what_is_frozen_is_thawed_by_a_command_too_and_gone_is_thawed(group):
    root, path, pid = group
    if root != GROUPS:
        pytest.skip("v2 beside v1 is no hierarchy that layers are frozen in")
    freezer.switch(path, frozen=True)

    for each in (path, "tare/there-is-none"):
        assert Host().run(["sh", "-c", cgroup.THAW, each]).returncode == 0

    assert grows(pid, cpu_ns(pid))
