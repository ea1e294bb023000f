"""Guests that do not fit the host's memory at once, for real: opened by blocks, none refused."""

import json
import os
import re
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from real.small import run, trials
from tare.core.home import home
from tare.core.model import Kind, Status
from tare.experiment.design.admission import RESERVE_BYTES

GUEST = "host/qemu-tcg"
GOOD = {Status.OK, Status.SUSPECT}
MIB, PAGE = 2**20, os.sysconf("SC_PAGESIZE")


def guests():
    """Return the resident bytes of each guest of this home's session, by its name."""
    found, folder = {}, re.compile(f"{re.escape(str(home()))}/run/[0-9a-f]{{6}}/(tare-[\\w-]+)/")
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode()
            pages = int((process / "statm").read_text().split()[1])
        except OSError:  # it has ended
            continue
        if "qemu-system" in words and (named := folder.search(words)):
            # A QEMU that becomes a daemon is two processes for a moment.
            found[named[1]] = max(found.get(named[1], 0), pages * PAGE)
    return found


@contextmanager
def watched():
    """List the guests that are there at once, twice a second."""
    counts, ended = [], Event()

    def watch():
        while not ended.wait(0.5):
            counts.append(guests())

    thread = Thread(target=watch)
    thread.start()
    try:
        yield counts
    finally:
        ended.set()
        thread.join()


def host_of(total_bytes):
    """Read the memory of a host that has so much, and nothing on it but guests of sessions."""
    return lambda: total_bytes - sum(guests().values())


@pytest.mark.slow
@pytest.mark.needs("qemu")
def test_guests_that_do_not_fit_at_once_are_opened_for_their_block_and_closed_after(tmp_path, lab):
    # Two instances of the guest and two of its control are 2 GiB; one of each is half of that, and
    # QEMU itself took 200 MiB more for each when it had translated a boot.
    memory = host_of(1024 * MIB + 600 * MIB + RESERVE_BYTES)
    with watched() as counts:
        results = run(
            tmp_path / "results",
            [GUEST],
            [{"sysbench_cpu": {"max_prime": 2000, "threads": 1, "time": "1 s"}}],
            blocks=3,
            baseline=GUEST,
            memory=memory,
            repetition={"min_blocks": 3, "max_blocks": 3, "instances": 2},
        )

    measured = list(trials(results))
    assert {one.status for _, one in measured} <= GOOD, [one.reason for _, one in measured]
    assert len({(one.cell, one.block) for _, one in measured}) == 2 * 3
    served = {(one.cell, one.instance, one.block) for _, one in measured}
    assert len({(cell, instance) for cell, instance, _ in served}) == 6  # each one block
    warmed = [one for one in results.trials if one.kind is Kind.WARMUP]
    assert {(one.cell, one.instance) for one in warmed} == {
        (cell, instance) for cell, instance, _ in served
    }
    assert max(map(len, counts)) == 2
    session = json.loads((results.folder / "run.json").read_text())["sessions"][0]
    assert session["blocks_per_instance"] == 1
    assert session["replaced_instances"] == 4  # two more blocks of two guests
    assert guests() == {}
    assert lab.leftovers(results.folder) == []


def storm(folder, memory):
    return run(
        folder,
        [GUEST],
        None,
        blocks=1,
        baseline=GUEST,
        memory=memory,
        scenario="lifecycle",
        lifecycle={"count": 2, "reboots": False},
        limits={"cpus": 1, "memory": "256MiB"},
    )


@pytest.mark.slow
@pytest.mark.needs("qemu")
def test_a_storm_of_guests_that_fit_only_without_what_qemu_itself_takes_is_not_begun(tmp_path, lab):
    with watched() as counts:
        refused = storm(tmp_path / "refused", host_of(2 * 256 * MIB + RESERVE_BYTES))
    assert max(map(len, counts)) == 1
    assert {one.status for one in refused.trials} == {Status.UNAVAILABLE}
    assert all("a trial makes 2 x host/qemu-tcg of" in one.reason for one in refused.trials)

    with watched() as counts:
        begun = storm(tmp_path / "begun", host_of(2 * 512 * MIB + RESERVE_BYTES))
    assert max(map(len, counts)) == 2
    assert {one.status for one in begun.trials} <= GOOD, [one.reason for one in begun.trials]
    most = max(sum(one.values()) for one in counts)
    assert most < 2 * 512 * MIB
    assert guests() == {}
    for results in (refused, begun):
        assert lab.leftovers(results.folder) == []
