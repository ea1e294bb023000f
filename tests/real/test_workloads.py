"""Every workload for real, on a host, in a container and in a guest, with small parameters."""

import pytest

from tare.cli import DONE, NOT_ALL_OK
from tare.core.model import Kind, Status
from tare.results.store import load
from tare.work import workload

GOOD = (Status.OK, Status.SUSPECT)
BRIDGED = {"stack": "host/docker", "name": "docker", "docker": {"network": "bridge"}}
TRANSLATED = {"stack": "host/docker", "name": "nat", "docker": {"network": "nat"}}
APART = {"stack": "host/docker", "name": "apart", "docker": {"network": "none"}}
GUEST = {"stack": "host/qemu-tcg", "name": "qemu-tcg"}
PROXIED = {"stack": "host/qemu-tcg", "name": "user", "qemu-tcg": {"netdev": "user"}}
JOB = "[a]\nrw=randread\nbs=4k\nsize=8m\ntime_based\nruntime=1\n"

# A list is a factor: both sides of a network, and every server.
LOCAL = {
    "linpack": {"size": 300, "time": "0.2 s"},
    "hpl": {"size": 300},
    "compile": {"jobs": 2, "modules": "none"},
    "integer_loop": {"iterations": 100_000},
    "sysbench_cpu": {"max_prime": 2000, "threads": [1, 2], "time": "1 s"},
    "stream": {"array": "128MiB", "runs": 2},
    "mbw": {"method": ["memcpy", "dumb", "mcblock"], "size": "16MiB", "runs": 2},
    "dd_memory": {"direction": ["write", "read"], "size": "16MiB", "runs": 2},
    "sysbench_memory": {"time": "1 s"},
    "fio": {"pattern": ["randread", "write"], "size": "16MiB", "depth": 4, "time": "1 s"},
    "fio_jobs": {"job": JOB, "size": "8MiB", "time": "1 s"},
    "ioping": {"requests": 20, "size": "16MiB"},
    "sysbench_fileio": {"total": "16MiB", "files": 4, "threads": 1, "time": "1 s"},
    "dd_disk": {"oper": ["write", "read"], "direct": [True, False], "size": "16MiB"},
    "multiuser": {"users": 2, "user_jobs": 20},
    "command": {"run": "sysbench --version", "called": "version", "install": "sysbench"},
}
NETWORK = {
    "iperf": {"direction": ["send", "receive"], "time": "2 s"},
    "iperf_udp": {"direction": ["send", "receive"], "rate_bits_per_s": 10_000_000, "time": "2 s"},
    "netperf_rr": {"protocol": ["tcp", "udp"], "under_test": ["server", "client"], "time": "2 s"},
    "netperf_stream": {
        "protocol": ["tcp", "udp"],
        "direction": ["send", "receive"],
        # A slow guest loses every larger datagram, for it loses one of its fragments.
        "message": 1472,
        "time": "2 s",
    },
    "sockperf": {"rate_per_s": 1000, "under_test": ["server", "client"], "time": "2 s"},
    "kv": {"operation": ["get", "set"], "requests": 2000, "keys": 1000, "pipeline": [1, 4]},
    "web_ab": {"server": ["apache", "lighttpd", "nginx"], "clients": 4, "requests": 200},
    "web_rate": {"rate": 50, "time": "2 s"},
    "oltp": {
        "database": ["mariadb", "postgresql"],
        "threads": 2,
        "tables": 1,
        "rows": 1000,
        "time": "2 s",
        "warm_up": "1 s",
        "buffer": "64MiB",
    },
    "php_sql": {"operation": ["select", "insert"], "count": 20},
    "web_capacity": {"low_rate": 5, "high_rate": 50_000, "steps": 4, "time": "1 s"},
}
ALL = LOCAL | NETWORK
SHORT = {
    "integer_loop": {"iterations": 100_000},
    "command": ALL["command"],
    "iperf": {"direction": "receive", "time": "1 s"},
    "netperf_rr": {"time": "1 s"},
    "web_ab": ALL["web_ab"],
    "web_rate": {"rate": 50, "time": "1 s"},
    "oltp": ALL["oltp"],
}


def test_every_workload_has_a_small_version():
    assert sorted(ALL) == workload.names()


def check(results, platforms):
    """Hold that every row has a good trial with its primary metric, on each of the platforms."""
    plan = results.plan
    bad = []
    chosen = [cell for cell in plan.cells if cell.platform in platforms]
    for cell in chosen:
        found = [t for t in results.trials if t.cell == cell.id and t.kind is Kind.MEASURED]
        good = [t for t in found if t.status in GOOD]
        if not good or any(plan.metrics[cell.workload][0].name not in t.samples for t in good):
            why = found[-1].reason if found else "no trial"
            bad.append(f"{cell.platform}: {cell.workload} {dict(cell.params)}: {why}")
    assert {cell.platform for cell in chosen} == set(platforms)
    assert bad == []


def measure(lab, tmp_path, platforms, workloads):
    rows = [{name: params} for name, params in workloads.items()]
    text = lab.declare(*platforms, blocks=1, workloads=rows, start="600 s")
    study = tmp_path / "study.yaml"
    text = text.replace("memory: 512MiB", "memory: 1GiB")
    # An emulated guest builds the server in minutes; what hangs is ended all the same.
    study.write_text(text.replace("start: 600 s", "start: 600 s\n  trial: 1800 s"))
    folder = tmp_path / "results"
    done = lab.tare("run", study, "--into", folder, "--seed", 1)

    assert done.returncode in (DONE, NOT_ALL_OK), done.stderr
    assert lab.leftovers(folder) == []
    return load(folder)


@pytest.mark.needs("docker")
def test_some_workloads_run_on_every_network_and_without_one_it_is_said(lab, tmp_path):
    results = measure(lab, tmp_path, ["host", BRIDGED, TRANSLATED, APART], SHORT)

    check(results, ["host", "docker", "nat"])
    loaded = [t for t in results.trials if "outside_cpu" in t.noise]
    assert loaded
    assert all(trial.noise["outside_cpu"] > 0 for trial in loaded)
    cells = results.plan.cells_by_id
    apart = {
        cells[t.cell].workload: t.status
        for t in results.trials
        if cells[t.cell].platform == "apart" and t.kind is Kind.MEASURED
    }
    assert {apart.pop(name) for name in ("integer_loop", "command:version")} <= set(GOOD)
    assert set(apart.values()) == {Status.UNAVAILABLE}


@pytest.mark.slow
@pytest.mark.needs("docker")
@pytest.mark.needs("qemu")
@pytest.mark.parametrize("part", [LOCAL, NETWORK], ids=["local", "network"])
def test_every_workload_runs_on_the_host_in_a_container_and_in_a_guest(lab, tmp_path, part):
    results = measure(lab, tmp_path, ["host", BRIDGED, GUEST], part)

    check(results, ["host", "docker", "qemu-tcg"])


@pytest.mark.slow
@pytest.mark.needs("qemu")
def test_a_guest_is_loaded_through_the_network_of_qemu_itself(lab, tmp_path):
    results = measure(lab, tmp_path, ["host", PROXIED], NETWORK)

    check(results, ["host", "user"])
