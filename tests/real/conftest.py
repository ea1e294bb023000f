"""Real studies on this host: waiting for its lock, running the command line, finding leftovers."""

import contextlib
import fcntl
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tare.core.errors import Unavailable
from tare.core.home import home
from tare.machines.machine import Host

OTHER_SESSION_S = 120.0
# All packages of the tests' one userland, so that it is built once for all of them.
WORKLOADS = [
    {"sysbench_cpu": {"max_prime": 2000, "threads": 1, "time": "1 s"}},
    {"sysbench_memory": {"block": "1MiB", "threads": 1, "time": "1 s"}},
    {"fio": {"pattern": "randread", "size": "16MiB", "depth": 1, "jobs": 1, "time": "1 s"}},
    {"mbw": {"size": "16MiB", "runs": 2}},
]


def declare(*platforms, blocks=2, instances=1, workloads=WORKLOADS, start="300 s"):
    """Write a small real study; its first platform is the baseline."""
    return yaml.safe_dump(
        {
            "name": "real",
            "platforms": list(platforms),
            "baseline": platforms[0],
            "limits": {"cpus": 1, "memory": "512MiB", "disk_cache": "none"},
            "workloads": workloads,
            "repetition": {"min_blocks": blocks, "max_blocks": blocks, "instances": instances},
            "deadlines": {"start": start},
        }
    )


def alone():
    """Wait until no other session runs on this host."""
    home().mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + OTHER_SESSION_S
    with (home() / "lock").open("w") as file:
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            if time.monotonic() > deadline:
                pytest.fail("another Tare session has been running for two minutes")
            time.sleep(0.5)


def patiently(act):
    """Do what may be refused as long as another session runs."""
    deadline = time.monotonic() + OTHER_SESSION_S
    while True:
        alone()
        try:
            return act()
        except Unavailable as error:
            if "another Tare session" not in str(error) or time.monotonic() > deadline:
                raise


def start(*words, **options):
    """Start the command line in a process of its own."""
    alone()
    argv = [sys.executable, "-m", "tare.cli", *map(str, words)]
    return subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def tare(*words):
    """Run the command line to its end."""
    deadline = time.monotonic() + OTHER_SESSION_S
    while True:
        with start(*words) as process:
            out, err = process.communicate()
        if "another Tare session" not in err or time.monotonic() > deadline:
            return subprocess.CompletedProcess(words, process.returncode, out, err)


def leftovers(folder):
    """Find everything on this host that bears the name of a session of these results."""
    ledger = (folder / "ledger.jsonl").read_text().splitlines()
    with_folder = [json.loads(line).get("name", "") for line in ledger if '"folder"' in line]
    ids = {found[1] for name in with_folder if (found := re.search(r"/run/([0-9a-f]{6})$", name))}
    assert ids, "the ledger names no session"
    found = []
    for one in sorted(ids):
        name = f"tare-{one}"
        found += [str(path) for path in (home() / "run" / one, home() / "ledgers" / one)
                  if path.exists() or path.is_symlink()]  # fmt: skip
        found += _processes(name)
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        found += [f"mount {line.split()[4]}" for line in mounts if f"/run/{one}" in line]
        groups = Host().run(["find", "/sys/fs/cgroup", "-depth", "-type", "d", "-name", f"*{one}*"])
        found += [f"cgroup {line}" for line in groups.stdout.decode().splitlines()]
        found += [f"link {path.name}" for path in Path("/sys/class/net").glob(f"tare{one}*")]
        listed = Host().run(["docker", "ps", "-aq", "--filter", f"name={name}"])
        if listed.returncode == 0:
            found += [f"container {line}" for line in listed.stdout.decode().split()]
    for shelf in ("userland", "guest"):
        found += [str(path) for path in (home() / shelf).glob("building-*")]
    return found


def _processes(name):
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if name in command or name in (process / "cgroup").read_text():
                found.append(f"process {process.name}: {command[:120]}")
    return found


class Lab:
    """What a real test needs."""

    declare = staticmethod(declare)
    leftovers = staticmethod(leftovers)
    patiently = staticmethod(patiently)
    start = staticmethod(start)
    tare = staticmethod(tare)


@pytest.fixture
def lab():
    alone()
    return Lab()
