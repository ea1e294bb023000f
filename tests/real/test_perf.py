"""Counters of a real control group beside what the process in it says of itself."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tare.experiment.probes.perf import place
from tare.experiment.probes.threads import ROOT
from tare.machines.cgroup import cgroup
from tare.machines.ledger import Ledger, Scope
from tare.machines.machine import Host

pytestmark = pytest.mark.needs("perf")

CALLS, SLEEPS, PAGES = 50_000, 500, 20_000
FEW = 100
"""What the worker does besides, between its own two looks at itself and the counters'."""

WORKER = f"""
import json, mmap, os, sys, time

def now():
    stat = open("/proc/self/stat").read().rpartition(")")[2].split()
    status = dict(line.split(":") for line in open("/proc/self/status") if "ctxt" in line)
    return {{"faults": int(stat[7]), "switches": sum(map(int, status.values()))}}

print("ready", flush=True)
sys.stdin.readline()
begin = now()
for _ in range({CALLS}):
    os.getppid()
for _ in range({SLEEPS}):
    time.sleep(0.0005)
with mmap.mmap(-1, {PAGES} * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE) as memory:
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range({PAGES}):
        memory[page * mmap.PAGESIZE] = 1
end = now()
print(json.dumps({{name: end[name] - begin[name] for name in end}}), flush=True)
sys.stdin.readline()
"""

COUNT = """
import json, subprocess, sys
from pathlib import Path
from tare.machines.instance import Threads
from tare.experiment.probes.perf import Counters
from tare.experiment.probes.threads import Sampler
from tare.experiment.probes.timeline import Timeline

worker, group, *folders = sys.argv[1:]
threads = Threads(cgroup=group)
with subprocess.Popen(
    [sys.executable, "-c", worker], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
) as process:
    for folder in folders:
        Path(folder, "cgroup.procs").write_text(str(process.pid))
    process.stdout.readline()
    counters = Counters(group)
    with counters, Timeline(threads, (0,)) as timeline, Sampler(threads) as sampler:
        process.stdin.write("go\\n")
        process.stdin.flush()
        own = json.loads(process.stdout.readline())
    timeline.add([sampler.timeslices, *counters.series(sampler.cost.all_cpu_s)], counters.cost_s)
    process.stdin.close()
lacks = {one.name: one.reason for one in timeline.series if one.source == "layer" and one.reason}
print(json.dumps({"own": own, "seen": timeline.metrics, "lacks": lacks}))
"""

IN_A_NAMESPACE = ["unshare", "--mount", "sh", "-c"]
WITH_TRACEFS = 'mount -t tracefs tracefs /sys/kernel/tracing && exec "$0" "$@"'
"""What is mounted in a namespace of its own is gone with it."""


@pytest.fixture
def group(tmp_path):
    """A group of Tare's in every hierarchy, the one that counts among them."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    scope = Scope(ledger)
    path = f"tare/test-perf-{os.getpid()}"
    cgroup.make(Host(), path, scope)
    # Tare limits nothing in the hierarchy that counts; an engine makes its group in that too.
    (place(".", ROOT) / path).mkdir(parents=True, exist_ok=True)
    yield path
    scope.close()
    ledger.close()
    assert not list(ROOT.glob(f"*/{path}"))
    assert not (ROOT / path).exists()


def folders(group):
    return [str(one) for one in (ROOT / group, *ROOT.glob(f"*/{group}")) if one.exists()]


def count(group, places, before=()):
    """Let a worker work in the folders given, and count it."""
    argv = [*before, sys.executable, "-c", COUNT, WORKER, group, *places]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_counts_of_a_group_are_those_of_the_process_in_it(group):
    found = count(group, folders(group))

    own, seen = found["own"], found["seen"]
    assert "context_switches" not in found["lacks"], found
    assert own["switches"] >= SLEEPS
    assert own["faults"] >= PAGES
    assert own["switches"] <= seen["layer_context_switches"] <= own["switches"] + FEW
    # The kernel adds up what each CPU has counted by 64, on its way up the tree once more.
    slack = FEW + 2 * 64 * os.cpu_count()
    assert abs(seen["layer_page_faults"] - own["faults"]) <= slack
    assert abs(seen["layer_timeslices"] - own["switches"]) <= FEW
    assert seen["layer_migrations"] <= seen["layer_context_switches"]
    for name in ("instructions", "cycles", "cache_misses"):
        assert (f"layer_{name}" in seen) != (name in found["lacks"])


def test_system_calls_are_counted_where_tracefs_is_mounted(group):
    mounted = Path("/proc/self/mounts").read_text()

    found = count(group, folders(group), [*IN_A_NAMESPACE, WITH_TRACEFS])

    assert "system_calls" not in found["lacks"], found
    assert CALLS + SLEEPS <= found["seen"]["layer_system_calls"] <= CALLS + 2 * SLEEPS + FEW
    assert Path("/proc/self/mounts").read_text() == mounted


@pytest.mark.needs("cgroup-v1")
def test_a_process_that_is_in_no_counted_group_is_noticed(group):
    counted = str(place(group, ROOT))

    found = count(group, [one for one in folders(group) if one != counted])

    assert "0.000 s were in the control group" in found["lacks"]["context_switches"]
    assert "layer_context_switches" not in found["seen"]
    assert found["seen"]["layer_page_faults"] >= PAGES / 2
