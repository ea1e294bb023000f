"""``kill -9`` at random moments; ``tare clean``; ``tare run --resume``."""

import random
import signal
import time

import pytest

from tare.core.model import Kind
from tare.results.store import load

WORKLOADS = [
    {"sysbench_cpu": {"max_prime": 2000, "threads": 1, "time": "1 s"}},
    {"fio": {"pattern": "randread", "size": "16MiB", "depth": 1, "jobs": 1, "time": "1 s"}},
    {"mbw": {"size": "16MiB", "runs": 2}},
    # With its other half on the machine outside, which has a bridge and a namespace.
    {
        "command": {
            "called": "asked",
            "run": "bash -c ': < /dev/tcp/{server}/{port} && sleep 0.5'",
            "serve": "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new("
            "LocalPort => $ARGV[0], Listen => 5) or die $!; while ($s->accept) {}' {port}",
        }
    },
]


def kill_clean_resume(lab, tmp_path, seed, platforms, delays_s, **declared):
    """Kill a run after each delay, clean up and check; then let it run to its end."""
    (tmp_path / "study.yaml").write_text(lab.declare(*platforms, workloads=WORKLOADS, **declared))
    folder = tmp_path / "results"
    first = ("run", tmp_path / "study.yaml", "--into", folder, "--seed", seed)
    before = []
    for delay_s in delays_s:
        again = ("run", "--resume", folder)
        with lab.start(*(again if (folder / "plan.json").exists() else first)) as process:
            _await_session(process, folder)
            time.sleep(delay_s)
            was_running = process.poll() is None
            process.send_signal(signal.SIGKILL)
        cleaned = lab.tare("clean")

        assert cleaned.returncode == 0, cleaned.stderr
        assert lab.leftovers(folder) == [], f"killed after {delay_s:.2f} s: {cleaned.stdout}"
        now = (folder / "trials.jsonl").read_bytes()
        whole = now[: now.rfind(b"\n") + 1].splitlines()
        assert whole[: len(before)] == before
        before = whole
        if not was_running:
            break

    done = lab.tare("run", "--resume", folder)
    assert done.returncode in (0, 1), done.stderr
    results = load(folder)
    measured = {(t.block, t.cell) for t in results.trials if t.kind is Kind.MEASURED}
    assert measured == {(slot.block, slot.cell) for slot in results.plan.slots}
    assert (folder / "trials.jsonl").read_bytes().splitlines()[: len(before)] == before
    assert lab.leftovers(folder) == []


def _await_session(process, folder):
    """Wait until something may have been made: before that a kill leaves nothing."""
    ledger = folder / "ledger.jsonl"
    size = ledger.stat().st_size if ledger.exists() else 0
    deadline = time.monotonic() + 60
    while process.poll() is None and (not ledger.exists() or ledger.stat().st_size <= size):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert process.poll() is None, process.stderr.read()


@pytest.mark.needs("docker")
@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3))])
def test_a_killed_run_is_cleaned_and_resumed(lab, tmp_path, seed):
    chance = random.Random(seed)  # noqa: S311 - a moment to kill at
    opening = [chance.uniform(0, 1.5) for _ in range(2)]
    measuring = [chance.uniform(2, 9) for _ in range(2)]
    kill_clean_resume(lab, tmp_path, seed, ("host", "host/docker"), opening + measuring)


@pytest.mark.slow
@pytest.mark.needs("docker")
@pytest.mark.needs("qemu")
def test_a_killed_run_with_guests_is_cleaned_and_resumed(lab, tmp_path):
    chance = random.Random(3)  # noqa: S311 - moments to kill at
    delays = [chance.uniform(0, limit) for limit in (2, 5, 15, 40, 70, 90)]
    stacks = ("host", "host/docker", "host/qemu-tcg", "host/qemu-tcg/docker")
    kill_clean_resume(lab, tmp_path, 3, stacks, delays)
