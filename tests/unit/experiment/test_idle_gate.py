"""The gate between trials on a made-up /proc/meminfo, and the pauses of a plan."""

import pytest

from tare.experiment.run.idle_gate import (
    GIVE_UP_AFTER,
    JITTER_S,
    MEMORY_LIMIT,
    NEVER_SETTLES,
    STILL_WRITING,
    UNWRITTEN_LIMIT,
    IdleGate,
    jitter_s,
)

PATIENCE_S = 60.0
MIB = 2**20


class Host:
    """A /proc/meminfo, whose unwritten bytes are gone when asked for, unless the disk is slow."""

    def __init__(self, proc, *, slow=False):
        self.proc, self.slow, self.flushed = proc, slow, 0
        self.memory = self.dirty = 0
        self.set(memory=8 * 2**30, dirty=0)

    def set(self, *, memory=None, dirty=None):
        self.memory = self.memory if memory is None else memory
        self.dirty = self.dirty if dirty is None else dirty
        lines = {"MemTotal": 16 * 2**30, "MemAvailable": self.memory, "Dirty": self.dirty}
        lines["Writeback"] = 0
        text = "".join(f"{name}: {size // 1024} kB\n" for name, size in lines.items())
        (self.proc / "new").write_text(text)
        (self.proc / "new").rename(self.proc / "meminfo")

    def flush(self):
        self.flushed += 1
        if not self.slow:
            self.set(dirty=0)

    def gate(self):
        return IdleGate(self.proc, self.flush)


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def test_the_first_trial_does_not_wait_and_finds_what_rest_is(host):
    host.set(dirty=10 * UNWRITTEN_LIMIT)
    gate = host.gate()

    assert gate.wait(0) == ()
    assert gate.wait(0) == ()
    assert host.flushed == 0


def test_what_lies_within_the_limits_is_not_waited_for(host):
    gate = host.gate()
    gate.wait(0)
    host.set(dirty=UNWRITTEN_LIMIT, memory=8 * 2**30 - MEMORY_LIMIT)

    assert gate.wait(0) == ()
    assert host.flushed == 0


def test_what_is_unwritten_is_written_before_the_next_trial(host):
    gate = host.gate()
    gate.wait(0)
    host.set(dirty=2 * UNWRITTEN_LIMIT)

    assert gate.wait(PATIENCE_S) == ()
    assert (host.flushed, host.dirty) == (1, 0)


def test_a_disk_that_is_too_slow_is_a_warning_and_soon_not_waited_for(tmp_path):
    host = Host(tmp_path, slow=True)
    gate = host.gate()
    gate.wait(0)
    host.set(dirty=2 * UNWRITTEN_LIMIT)

    said = [gate.wait(0) for _ in range(GIVE_UP_AFTER + 2)]

    assert said == [(STILL_WRITING,)] * (GIVE_UP_AFTER - 1) + [(NEVER_SETTLES,), (), ()]


def test_memory_that_others_keep_is_the_new_rest(host):
    gate = host.gate()
    gate.wait(0)
    host.set(memory=2 * 2**30)

    assert gate.wait(PATIENCE_S) == ()  # it is not being given back, so there is nothing to await
    assert host.flushed == 0
    rest = gate._rest
    assert rest.available_bytes == 2 * 2**30


class Freeing(IdleGate):
    """Gives memory back while it is looked at, and holds its breath at a number of looks."""

    def __init__(self, host, step):
        super().__init__(host.proc, host.flush)
        self.host, self.step, self.looks = host, step, 0

    def _read(self):
        self.looks += 1
        self.host.set(memory=min(8 * 2**30, self.host.memory + self.step))
        return super()._read()


def test_memory_that_is_being_given_back_is_waited_for(host):
    gate = Freeing(host, 64 * MIB)
    gate.wait(0)
    host.set(memory=7 * 2**30)

    assert gate.wait(PATIENCE_S) == ()
    assert host.memory >= 8 * 2**30 - MEMORY_LIMIT
    assert gate.looks > 10


def test_the_pauses_are_those_of_the_plan_and_spread_over_the_whole_range():
    pauses = [jitter_s(7, block, slot) for block in range(40) for slot in range(5)]

    assert pauses == [jitter_s(7, block, slot) for block in range(40) for slot in range(5)]
    assert pauses != [jitter_s(8, block, slot) for block in range(40) for slot in range(5)]
    assert all(0 <= pause <= JITTER_S for pause in pauses)
    assert min(pauses) < 0.1 * JITTER_S
    assert max(pauses) > 0.9 * JITTER_S
    assert len(set(pauses)) == len(pauses)
