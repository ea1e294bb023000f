"""A lab that is up on purpose, and labs that died."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tare import cli
from tare.core.errors import LayerError
from tare.core.home import home
from tare.machines import layer
from tare.machines.backends import lab as engine
from tare.machines.backends.lab_machine import HYPERVISORS
from tare.machines.backends.qemu import tell
from tare.machines.ledger import LedgerEntry, leftovers
from tare.machines.machine import Host, text


@pytest.fixture
def kept():
    """A lab that is up; whatever becomes of it, it is taken down."""
    if any(engine.find(hypervisor) for hypervisor in HYPERVISORS):
        pytest.skip("a lab is up on this host, and is not ours to take down")
    assert cli.main(["lab", "up"]) == cli.DONE
    try:
        yield engine.find("kvm")
    finally:
        assert cli.main(["lab", "down"]) == cli.DONE


def tare(*words):
    argv = [sys.executable, "-m", "tare.cli", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)


def runs(lab):
    """Whether its CPUs run: QEMU is asked, past the lab's own book-keeping."""
    *_, state = tell(Host(), f"{lab.folder}/monitor", ("query-status", {}))
    return state["status"] == "running"


def test_a_kept_lab_is_used_by_sessions_and_left_as_it_was(
    kept, place, open_in_lab, traces, settles
):
    assert kept.lives()
    assert not runs(kept), "it stands still unless it is used"
    assert tare("lab", "shell", "--", "systemctl", "is-system-running").stdout == "running\n"
    assert not runs(kept)

    stack, _ = open_in_lab("lab")
    assert stack.instances[0].lab.folder == kept.folder
    assert runs(kept)
    stack.close()
    place.services.close()

    assert json.loads(tare("lab", "status", "--json").stdout) == {"kvm": "up", "xen": "none"}
    # `tare clean` itself is not run: it would remove what other runs on this host have left.
    assert not (home() / "ledgers/lab-kvm").exists(), "tare clean removes what has a ledger there"
    assert kept.lives()
    assert not runs(kept)
    left = tare("lab", "shell", "--", "ls", "/sys/fs/cgroup/tare", "/var/lib/tare/run")
    assert place.id not in left.stdout

    os.kill(int(Path(kept.folder, "pid").read_text()), signal.SIGKILL)
    assert settles(lambda: not kept.lives())
    assert json.loads(tare("lab", "status", "--json").stdout)["kvm"] == "dead"
    assert tare("lab", "down").returncode == 0
    assert traces("tare-lab-kvm") == []


def test_a_session_whose_lab_died_leaves_nothing(own_place, traces, settles):
    stack = own_place.open([layer.load("lab")])
    lab = stack.instances[0].lab
    assert text(lab.machine, ["hostname"]) == "tare-lab"

    os.kill(int(Path(lab.folder, "pid").read_text()), signal.SIGKILL)

    assert stack.machine.run(["true"]).returncode != 0
    with pytest.raises(LayerError, match="could not remove"):
        stack.close()
    own_place.services.close()
    for left in leftovers(own_place.path):  # as the end of a session does
        own_place.ledger.remove(LedgerEntry(left.id, left.what, left.name, Host(), left.undo))
    own = f"folder {own_place.path}"  # removed with the place
    assert settles(lambda: traces(own_place.id) == [own]), traces(own_place.id)
