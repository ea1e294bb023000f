"""A userland whose building is killed: nothing of it is taken for good, nothing stays."""

import contextlib
import json
import os
import random
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest

from tare.machines.userland.cache import MANIFEST

CPU = [{"sysbench_cpu": {"max_prime": 2000, "threads": 1, "time": "1 s"}}]


@pytest.fixture
def empty_home(monkeypatch):
    """A home of its own in which nothing has been built, on a disk that takes no time."""
    folder = Path(tempfile.mkdtemp(prefix="tare-build-", dir="/dev/shm"))
    monkeypatch.setenv("TARE_HOME", str(folder / "home"))
    yield folder
    shutil.rmtree(folder)


def left(home):
    """What runs, is mounted or lies half built below a home."""
    found = [str(path) for path in home.glob("userland/building-*")]
    found += [str(path) for path in (*home.glob("run/*"), *home.glob("ledgers/*"))]
    found += [line for line in Path("/proc/self/mounts").read_text().splitlines()
              if str(home) in line]  # fmt: skip
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            root = str((process / "root").readlink())
            if str(home) in command or str(home) in root:
                found.append(f"process {process.name}: {command[:100]}")
    return found


@pytest.mark.slow
@pytest.mark.needs("root")
def test_a_killed_build_leaves_nothing_and_the_next_one_is_whole(empty_home, lab, tmp_path):
    home = Path(os.environ["TARE_HOME"])
    (tmp_path / "study.yaml").write_text(lab.declare("host", blocks=1, workloads=CPU))
    folder = tmp_path / "results"
    chance = random.Random(5)  # noqa: S311 - moments to kill at
    words = ("run", tmp_path / "study.yaml", "--into", folder)
    for limit_s in (1, 4, 15):
        with lab.start(*words) as process:
            deadline = time.monotonic() + 60
            while not list(home.glob("userland/building-*")):
                assert time.monotonic() < deadline
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.02)
            time.sleep(chance.uniform(0, limit_s))
            process.send_signal(signal.SIGKILL)
        words = ("run", "--resume", folder)
        cleaned = lab.tare("clean")

        assert cleaned.returncode == 0, cleaned.stderr
        assert left(home) == []
        assert list(home.glob("userland/*.built")) == []

    done = lab.tare("run", "--resume", folder)
    assert done.returncode == 0, done.stderr
    (built,) = home.glob("userland/*.built")
    userland = home / "userland" / built.read_text()
    assert "sysbench" in json.loads((userland / MANIFEST).read_text())["versions"]
    assert (userland / "tree" / "usr" / "bin" / "sysbench").exists()
    assert left(home) == []
