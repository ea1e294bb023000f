"""A service is up before the clock starts, and gone afterwards; run for real on this machine."""

import os
import signal
import socket
import subprocess
import sys

import pytest

from tare.errors import LayerError, Unavailable
from tare.machine import Host, await_true
from tare.trial.service import Ended, Endpoint, free_ports, serving
from tare.workload import DATA_PORT, PORT, SERVER, Service

TCP = f"""
import socket, time
with socket.socket() as server:
    server.bind(("127.0.0.1", {PORT}))
    server.listen()
    print("said", flush=True)
    peer, _ = server.accept()
    peer.sendall(b"{SERVER} {DATA_PORT}")
    time.sleep(60)
"""
UDP = f"""
import socket, time
with socket.socket(type=socket.SOCK_DGRAM) as server:
    server.bind(("127.0.0.1", {PORT}))
    time.sleep(60)
"""
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    time.sleep(60)
""" + TCP.replace("time.sleep(60)", "os._exit(0)")


def endpoint():
    return Endpoint("127.0.0.1", free_ports())


def python(**texts):
    return Service(command=[sys.executable, "serve.py"], files={"serve.py": texts["text"]})


def is_open(protocol, port):
    kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
    with socket.socket(type=kind) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def test_two_ports_are_free_and_different():
    first, second = free_ports()

    assert first != second
    assert not is_open("tcp", first)
    assert not is_open("udp", second)


def test_it_listens_when_the_block_begins_and_is_gone_when_it_ends(tmp_path):
    at = endpoint()

    with serving(Host(), python(text=TCP), at, str(tmp_path / "made")) as server:
        with socket.create_connection((at.address, at.ports[0]), timeout=5) as peer:
            told = peer.recv(100).decode()
        assert server.end() == Ended(lived=True, said="said")
        assert server.end() == Ended(lived=True, said="said")

    assert told == f"127.0.0.1 {at.ports[1]}"
    assert not (tmp_path / "made").exists()
    assert not is_open("tcp", at.ports[0])


def test_udp_is_awaited_too(tmp_path):
    at = endpoint()
    service = Service(command=[sys.executable, "serve.py"], files={"serve.py": UDP}, protocol="udp")

    with serving(Host(), service, at, str(tmp_path / "made")):
        assert is_open("udp", at.ports[0])

    assert not is_open("udp", at.ports[0])


def test_what_is_set_up_is_there_before_it_starts(tmp_path):
    service = Service(
        command=["sh", "-c", f'cat page; exec {sys.executable} -c "$0"', TCP],
        setup=["sh", "-c", f"echo {PORT} > page"],
    )
    at = endpoint()

    with serving(Host(), service, at, str(tmp_path / "made")) as server:
        assert server.end().said.startswith(str(at.ports[0]))


def test_one_that_ends_at_once_is_told_with_its_last_words(tmp_path):
    service = Service(command=["sh", "-c", "echo no such page >&2; exit 7"])

    with (
        pytest.raises(LayerError, match=r"service \(sh\) ended at once: no such page"),
        serving(Host(), service, endpoint(), str(tmp_path)),
    ):
        pytest.fail("it never was up")


def test_one_that_ends_at_once_is_not_up_because_another_listens_there(tmp_path):
    at = endpoint()
    with (
        socket.create_server((at.address, at.ports[0])),
        pytest.raises(LayerError, match="ended at once: the port is taken"),
        serving(Host(), Service(command=["echo", "the port is taken"]), at, str(tmp_path)),
    ):
        pytest.fail("it never was up")


def test_who_got_its_pid_afterwards_is_left_alone(tmp_path):
    at = endpoint()
    with serving(Host(), python(text=TCP), at, str(tmp_path / "made")) as server:
        own = (tmp_path / "made/service.pid").read_text()
        with subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True
        ) as other:
            (tmp_path / "made/service.pid").write_text(f"{other.pid} 1\n")
            assert not server.end().lived
            assert other.poll() is None
            other.kill()
        os.kill(int(own.split()[0]), signal.SIGKILL)


def test_files_are_written_nowhere_else_if_the_directory_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()

    with (
        pytest.raises(LayerError, match="its files"),
        serving(Host(), python(text=TCP), endpoint(), str(tmp_path / "file/made")),
    ):
        pytest.fail("it never was up")


def test_a_missing_program_is_told_as_missing(tmp_path):
    service = Service(command=["no-such-server"])

    with (
        pytest.raises(Unavailable, match=r"no-such-server.*lacks the tool"),
        serving(Host(), service, endpoint(), str(tmp_path)),
    ):
        pytest.fail("it never was up")


def test_a_failing_setup_starts_nothing(tmp_path):
    service = Service(command=["touch", "started"], setup=["false"])

    with (
        pytest.raises(LayerError, match=r"service \(false\)"),
        serving(Host(), service, endpoint(), str(tmp_path)),
    ):
        pytest.fail("it never was up")

    assert not (tmp_path / "started").exists()


def test_a_child_that_outlives_it_is_killed(tmp_path):
    at = endpoint()

    with serving(Host(), python(text=STUBBORN), at, str(tmp_path / "made")) as server:
        pid = int((tmp_path / "made/service.pid").read_text().split()[0])
        with socket.create_connection((at.address, at.ports[0]), timeout=5) as peer:
            assert peer.recv(100)
        assert not server.end().lived

    assert await_true(lambda: not list(members(pid)), timeout_s=5, every_s=0.01)


def members(group):
    """List the processes of a group that live."""
    for entry in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        if _group(int(entry)) == group and not _is_zombie(int(entry)):
            yield entry


def _group(pid):
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def _is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
