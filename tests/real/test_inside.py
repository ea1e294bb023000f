"""The machine inside, read in a real guest: its account is its own, and the reader ends with it."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path

import pytest

from contract.conftest import LIMITS, _place
from tare.experiment.probes.inner_machine import Listener, reader_of
from tare.experiment.probes.series import HOST, MACHINE
from tare.experiment.probes.timeline import Timeline
from tare.machines import layer
from tare.machines.machine import await_true, check
from tare.results.store import load
from tare.results.store.samples import read

pytestmark = pytest.mark.needs("uml")

PATIENCE_S = 60.0
PROCESSES = 100
WRITTEN = 8 * 2**20
WORK = (
    f"i=0; while [ $i -lt {PROCESSES} ]; do i=$((i + 1)); /bin/true; done; "
    f"dd if=/dev/zero of=/data/x bs=1M count={WRITTEN // 2**20} conv=fsync 2> /dev/null"
)


class Guest:
    """A guest of user-mode Linux, and the reader in it."""

    def __init__(self, place, *, has_agent):
        layers = [layer.load("uml")]
        site = place.site_with_agents() if has_agent else place.site()
        self.stack = place.open(layers, site)
        self.machine, self.instance = self.stack.machine, self.stack.instances[0]
        self.reader = reader_of(layers, self.stack.instances)

    def timeline(self):
        return Timeline(self.stack.threads(), (), reader=self.reader)

    def readers(self):
        """Count the readers that run inside."""
        names = self.machine.run(["sh", "-c", "cat /proc/[0-9]*/comm"]).stdout
        return names.split().count(b"perl")


@contextmanager
def opened(*, has_agent):
    with _place() as place:
        made = Guest(place, has_agent=has_agent)
        try:
            yield made
        finally:
            made.reader.close()
            made.stack.close()


@pytest.fixture
def guest():
    """A guest without an agent, in which a process of its own reads."""
    with opened(has_agent=False) as made:
        yield made


@pytest.fixture(params=["agent", "anew"])
def either(request):
    """A guest that its agent reads, or a process of its own."""
    with opened(has_agent=request.param == "agent") as made:
        yield made


def readings(timeline, source, name):
    return next(s.values for s in timeline.series if (s.source, s.name) == (source, name))


def test_the_account_of_the_machine_is_its_own_and_grows_with_the_work_done_inside(either):
    guest = either
    with guest.timeline() as idle:
        pass
    with guest.timeline() as timeline:
        check(guest.machine, ["sh", "-c", WORK])

    before, seen = idle.metrics, timeline.metrics
    assert seen["machine_disk_written_bytes"] >= WRITTEN > before["machine_disk_written_bytes"]
    assert seen["machine_disk_writes"] > before["machine_disk_writes"]
    assert seen["machine_page_faults"] > before["machine_page_faults"] + PROCESSES
    assert seen["machine_context_switches"] > before["machine_context_switches"]
    assert seen["machine_cpu_s"] > 0
    assert seen["machine_memory_used_bytes_most"] < LIMITS.memory_bytes
    assert seen["monitor_machine_cpu_s"] >= 0  # this kernel counts CPU time in ticks
    for name in ("context_switches", "page_faults"):
        assert readings(timeline, MACHINE, name)[-1] < readings(timeline, HOST, name)[0]
    assert list(readings(timeline, MACHINE, "cpu_idle_s")) != []
    assert not [s for s in timeline.series if s.source == MACHINE and s.reason.startswith("ended")]
    assert guest.readers() == (0 if guest.stack.has_agent else 1)


def test_one_reader_stays_over_trials_and_pauses_and_ends_when_it_is_closed(guest):
    seen = []
    for _ in range(2):
        with guest.timeline() as timeline:
            pass
        guest.stack.pause()
        guest.stack.resume()
        seen.append((timeline.metrics["machine_context_switches"], guest.readers()))
    guest.reader.close()

    assert [count for _, count in seen] == [1, 1]
    assert await_true(lambda: guest.readers() == 0, timeout_s=PATIENCE_S)


OWNER = """
import json, sys, time
from tare.machines.machine import Host, Inner
from tare.experiment.probes.inner_machine import reader_in
from tare.machines.ssh import Connection
reader = reader_in(Inner(Host(), "uml", Connection(*json.loads(sys.argv[1])).wrap))
reader.start()
print(reader.reason or "reads", flush=True)
time.sleep(600)
"""


def test_the_reader_ends_with_tare_even_after_kill_9(guest):
    there = json.dumps(astuple(guest.instance.connection))
    with subprocess.Popen([sys.executable, "-c", OWNER, there], stdout=subprocess.PIPE) as owner:
        said = owner.stdout.readline()
        before = guest.readers()
        owner.kill()

    assert said == b"reads\n"
    assert before == 1
    assert await_true(lambda: guest.readers() == 0, timeout_s=PATIENCE_S)


def test_a_reader_in_a_guest_that_died_says_so_in_the_next_trial(guest):
    with guest.timeline() as timeline:
        os.kill(int(Path(guest.instance.folder, "pid").read_text()), signal.SIGKILL)
        guest.instance.stop(hard=True)  # which hangs the connection up, as its clean-up does
    after = Listener(guest.reader)
    after.open()
    after.first(0.0)

    assert "machine_context_switches" not in timeline.metrics
    ended = {s.reason for s in timeline.series if s.source == MACHINE and s.times_s}
    assert all(reason.startswith("ended early: ") for reason in ended)
    assert ended
    assert all(one.reason.startswith("not available here: ") for one in after.series())


@pytest.mark.slow
def test_a_study_stores_what_the_machine_inside_did(lab, tmp_path):
    stacks = ("host", "host/uml")
    (tmp_path / "study.yaml").write_text(lab.declare(*stacks, blocks=1))
    folder = tmp_path / "results"
    done = lab.tare("run", tmp_path / "study.yaml", "--into", folder, "--seed", 1)

    assert done.returncode in (0, 1), done.stderr
    results = load(folder)
    cells = results.plan.cells_by_id
    for trial in results.trials:
        is_guest = cells[trial.cell].platform == "host/uml"
        assert ("machine_cpu_s" in trial.resources) == is_guest
        assert ("monitor_machine_cpu_s" in trial.resources) == is_guest
        sources = {kept.source for kept in read(folder, cell=trial.cell, block=trial.block)}
        assert (MACHINE in sources) == is_guest
    assert lab.leftovers(folder) == []
