"""Whatever a session makes and removes, and wherever it is killed, its ledger has what is left."""

import contextlib
import resource
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.core.errors import LayerError
from tare.machines.ledger import Ledger, Scope, leftovers
from unit.fakes import Fake
from unit.properties import PROPERTY

STEPS = ("make", "make stuck", "make while the disk is full", "close", "close with a full disk")
KILLS = (0, 1, 20, 1000)
"""How many bytes of the last line a kill kept from the disk; a line that is shorter is lost."""


@contextlib.contextmanager
def full_disk(path):
    """Let no file grow beyond the size of this one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class Session:
    """A session in steps, and what its ledger must hold: lines of a name and whether it is made."""

    def __init__(self, path):
        self.path, self.lines, self.count = path, [], 0
        self.machine = Fake(stuck=(1, b""))
        self.begin()

    def begin(self):
        self.ledger = Ledger(self.path)
        self.scope = Scope(self.ledger)

    def take(self, step):
        if isinstance(step, int):
            self.kill(step)
        elif step.startswith("make"):
            self.make(step)
        else:
            self.close(full_disk(self.path) if "full" in step else contextlib.nullcontext())

    def make(self, step):
        self.count += 1
        name = f"{self.count}"
        undo = ["rm", name, *(["stuck"] if "stuck" in step else [])]
        if "full" in step:
            with full_disk(self.path), pytest.raises(OSError, match="File too large"):
                self.scope.about_to_make("thing", name, self.machine, undo)
        else:
            self.scope.about_to_make("thing", name, self.machine, undo)
            self.lines.append((name, True))

    def close(self, disk):
        entries = self.scope.entries[::-1]
        is_full = not isinstance(disk, contextlib.nullcontext)
        self.machine.asked = []
        with disk, contextlib.suppress(LayerError):
            self.scope.close()
        assert [argv[1] for argv in self.machine.asked] == [one.name for one in entries]
        gone = [one.name for one in entries if "stuck" not in one.undo]
        self.lines += [] if is_full else [(name, False) for name in gone]

    def kill(self, cut):
        self.ledger.close()
        *_, last = [b"", *self.path.read_bytes().splitlines(keepends=True)]
        kept = self.path.stat().st_size - min(cut, len(last))
        self.path.write_bytes(self.path.read_bytes()[:kept])
        self.lines = self.lines[:-1] if cut and last else self.lines
        self.begin()

    def left(self):
        """What is made and not removed, newest first."""
        made = {}
        for name, is_made in self.lines:
            made = made | {name: None} if is_made else {k: None for k in made if k != name}
        return list(made)[::-1]


@PROPERTY
@given(st.lists(st.sampled_from([*STEPS, *KILLS]), min_size=5, max_size=25))
def test_what_is_left_is_known_newest_first_after_every_step(steps):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        session = Session(Path(folder) / "ledger.jsonl")
        for step in steps:
            session.take(step)
            found = leftovers(session.path)
            assert [one.name for one in found] == session.left()
            assert all(one.undo[:2] == ("rm", one.name) for one in found)
        session.ledger.close()
