"""A role is up before the clock starts, and gone afterwards; run for real on this machine."""

import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from tare.core.errors import LayerError, LayerTimedOut, Unavailable
from tare.experiment.trial.port import free_port
from tare.experiment.trial.service import ProgramEnd, Server
from tare.machines.ledger import Ledger, leftovers
from tare.machines.machine import Host, await_true, check
from tare.work.roles import Listens, Prints, Role, Succeeds

MIB = 2**20
PORT = "{server.port}"
TCP = f"""
import socket, time
with socket.socket() as server:
    server.bind(("127.0.0.1", {PORT}))
    server.listen()
    print("said", flush=True)
    peer, _ = server.accept()
    peer.sendall(b"{PORT}")
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


def role(*command, **more):
    return Role(name="server", command=command or [sys.executable, "serve.py"], **more)


def python(text, **more):
    return role(files={"serve.py": text}, **more)


def server(of, directory, ledger=None):
    port = free_port(Host())
    fill = lambda text: text.replace(PORT, str(port))  # noqa: E731
    return Server(of, Host(), str(directory), fill, {"port": port}, ledger)


@contextmanager
def up(one):
    one.start()
    try:
        yield one.ports["port"]
    finally:
        one.end()


def is_open(protocol, port):
    kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
    with socket.socket(type=kind) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def test_a_port_is_free_for_both_protocols():
    port = free_port(Host())

    assert not is_open("tcp", port)
    assert not is_open("udp", port)


def test_it_listens_once_it_is_started_and_is_gone_when_it_was_ended(tmp_path):
    one = server(python(TCP), tmp_path / "made")

    with up(one) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as peer:
            told = peer.recv(100).decode()
        assert one.end() == ProgramEnd(lived=True, said="said")
        assert one.end() == ProgramEnd(lived=True, said="said")

    assert told == str(port)
    assert not (tmp_path / "made").exists()
    assert not is_open("tcp", port)


def test_udp_is_awaited_too(tmp_path):
    with up(server(python(UDP, ready=Listens("udp")), tmp_path / "made")) as port:
        assert is_open("udp", port)

    assert not is_open("udp", port)


def test_what_is_set_up_is_there_before_it_starts(tmp_path):
    one = server(
        role(
            "sh", "-c", f'cat page; exec {sys.executable} -c "$0"', TCP,
            setup=["sh", "-c", f"echo {PORT} > page"],
        ),
        tmp_path / "made",
    )  # fmt: skip

    with up(one) as port:
        assert one.end().said.startswith(str(port))


@pytest.mark.parametrize(
    "ready", [Prints("^loaded [0-9]+ rows$"), Succeeds(["test", "-e", "a b/$done"])], ids=repr
)
def test_a_line_or_a_command_tells_that_it_is_ready(tmp_path, ready):
    loads = 'mkdir "a b"; sleep 0.1; touch "a b/\\$done"; echo "loaded 12 rows"; exec sleep 60'
    one = server(role("sh", "-c", loads, ready=ready), tmp_path / "made")

    with up(one):
        assert (tmp_path / "made/a b/$done").exists()
        assert one.lives()


@pytest.mark.parametrize("ready", [Listens(), Prints("never"), Succeeds(["false"])], ids=repr)
def test_one_that_never_gets_ready_is_ended_and_told(tmp_path, ready):
    one = server(role("sh", "-c", "exec sleep 61.7", ready=ready, ready_s=0.5), tmp_path / "made")

    with pytest.raises(LayerTimedOut, match=r"the role server \(sh\) was not ready within 0.5 s"):
        one.start()

    assert not (tmp_path / "made").exists()
    assert not running("61.7")


def test_one_that_ends_at_once_is_told_with_its_last_words(tmp_path):
    one = server(role("sh", "-c", "echo no such page >&2; exit 7"), tmp_path)

    with pytest.raises(LayerError, match=r"role server \(sh\) ended at once: no such page"):
        one.start()


def test_one_that_ends_at_once_is_not_up_because_another_listens_there(tmp_path):
    one = server(role("echo", "the port is taken"), tmp_path)
    with (
        socket.create_server(("127.0.0.1", one.ports["port"])),
        pytest.raises(LayerError, match="ended at once: the port is taken"),
    ):
        one.start()


def test_who_got_its_pid_afterwards_is_left_alone(tmp_path):
    one = server(python(TCP), tmp_path / "made")
    with up(one):
        own = (tmp_path / "made/service.pid").read_text()
        with subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True
        ) as other:
            (tmp_path / "made/service.pid").write_text(f"{other.pid} 1\n")
            assert not one.end().lived
            assert other.poll() is None
            other.kill()
        os.kill(int(own.split()[0]), signal.SIGKILL)


def test_files_of_any_size_are_written_into_folders_of_their_own(tmp_path):
    text = "%s é'\\\n" * 50_000
    files = {"conf/a/large": text, "conf/small": "'", "-n": "x", "empty": ""}
    one = server(role("sleep", "60", files=files, ready=Succeeds(["true"])), tmp_path / "made")

    with up(one):
        read = {name: (tmp_path / "made" / name).read_text() for name in files}

    assert read == files


def test_one_that_never_gets_ready_is_told_with_what_it_and_the_check_said(tmp_path):
    ask = Succeeds(["sh", "-c", "echo still loading; exit 1"])
    one = server(role("sh", "-c", "echo on; exec sleep 61", ready=ask, ready_s=0.5), tmp_path)

    with pytest.raises(LayerTimedOut, match=r"within 0.5 s; it said: on\nstill loading"):
        one.start()


def test_files_are_written_nowhere_else_if_the_directory_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(LayerError, match="its files"):
        server(python(TCP), tmp_path / "file/made").start()


def test_a_missing_program_is_told_as_missing(tmp_path):
    with pytest.raises(Unavailable, match=r"no-such-server.*lacks the tool"):
        server(role("no-such-server"), tmp_path).start()


def test_a_failing_setup_starts_nothing(tmp_path):
    with pytest.raises(LayerError, match=r"role server \(false\)"):
        server(role("touch", "../started", setup=["false"]), tmp_path / "made").start()

    assert list(tmp_path.iterdir()) == []


def test_a_child_that_outlives_it_is_killed(tmp_path):
    one = server(python(STUBBORN), tmp_path / "made")

    with up(one) as port:
        pid = int((tmp_path / "made/service.pid").read_text().split()[0])
        with socket.create_connection(("127.0.0.1", port), timeout=5) as peer:
            assert peer.recv(100)
        assert not one.end().lived

    assert await_true(lambda: not list(members(pid)), timeout_s=5, every_s=0.01)


def test_one_that_stands_still_goes_on_or_is_ended(tmp_path):
    one = server(python(TCP), tmp_path / "made")

    with up(one) as port:
        pid = int((tmp_path / "made/service.pid").read_text().split()[0])
        assert one.pause()
        assert await_true(lambda: _state(pid) == "T", timeout_s=5, every_s=0.01)
        assert one.resume()
        with socket.create_connection(("127.0.0.1", port), timeout=5) as peer:
            assert peer.recv(100)
        assert one.pause()
        assert one.end().lived

    assert not one.resume()
    assert not list(members(pid))


def test_what_nothing_else_would_end_is_written_down_first(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    one = server(python(TCP), tmp_path / "made", ledger)

    with up(one) as port:
        (left,) = leftovers(ledger.path)
        assert (left.what, left.name) == ("program", str(tmp_path / "made"))
        subprocess.run(left.undo, check=True)
        assert not is_open("tcp", port)
        subprocess.run(left.undo, check=True)

    assert leftovers(ledger.path) == []
    ledger.close()


def _state(pid):
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[0]


def running(word):
    """List the processes that have a word in their command lines."""
    return Host().run(["pgrep", "-f", word]).stdout.split()


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


def test_a_readiness_command_that_is_not_there_is_told_as_missing_at_once(tmp_path):
    one = server(role("sh", "-c", "exec sleep 61.8", ready=Succeeds(["no-such-tool"])), tmp_path)

    with pytest.raises(Unavailable, match=r"no-such-tool.*lacks the tool"):
        one.start()

    assert not running("61.8")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 4 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    check(Host(), ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)])
    yield folder
    check(Host(), ["umount", "--lazy", str(folder)])


@pytest.mark.needs("root")
def test_a_role_that_prints_without_end_cannot_fill_the_disk(small_disk):
    words = ["sh", "-c", "head -c 1000 /dev/zero; while :; do cat /dev/zero; sleep 0.05; done"]
    one = server(Role(name="server", command=words, ready=Succeeds(["true"])), small_disk / "made")
    log = small_disk / "made/service.log"

    one.start()
    try:
        assert await_true(lambda: log.stat().st_size >= 2 * MIB - 8192, timeout_s=10)
        time.sleep(0.3)  # it goes on trying
        assert one.lives()
        assert 2 * MIB - 8192 <= log.stat().st_size <= 2 * MIB
        (small_disk / "another").write_bytes(bytes(MIB))
    finally:
        assert one.end().lived


def test_only_the_role_is_bound_and_no_signal_ends_it(tmp_path):
    shows = ["sh", "-c", "cat /proc/self/limits; grep SigIgn /proc/self/status; exec sleep 60"]
    one = server(Role(name="server", command=shows, ready=Prints("^SigIgn")), tmp_path / "made")
    room = os.statvfs(tmp_path)

    one.start()
    try:
        said = (tmp_path / "made/service.log").read_text()
    finally:
        one.end()

    (bound,) = re.findall(r"^Max file size +([0-9]+) +([0-9]+)", said, re.MULTILINE)
    assert bound[0] == bound[1]
    assert int(bound[0]) == pytest.approx(room.f_bavail * room.f_frsize / 2, rel=0.05)
    ignored = int(re.search(r"SigIgn:\s+([0-9a-f]+)", said)[1], 16)
    assert ignored & 1 << (signal.SIGXFSZ - 1)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


LOAD = "echo loaded >> ../loads; mkdir data; echo 1 > data/rows"
GROW = f"[ $(cat data/rows) = 1 ] && echo 2 > data/rows && exec {sys.executable} serve.py"


def loaded(*words, **more):
    files = {"serve.py": TCP}
    return role("sh", "-c", GROW, files=files, snapshot=words or ["sh", "-c", LOAD], **more)


def test_every_start_begins_with_the_snapshot_that_was_made_once(tmp_path):
    for name in ("a", "b", "a"):  # two cells in one instance share it
        one = server(loaded(), tmp_path / name)
        one.start()
        assert (tmp_path / name / "data/rows").read_text() == "2\n"
        assert one.end().lived

    assert (tmp_path / "loads").read_text() == "loaded\n"
    assert len([*tmp_path.glob("snapshot-*")]) == 2  # and its lock


def test_other_words_make_another_snapshot(tmp_path):
    for words in (["sh", "-c", LOAD], ["sh", "-c", f"{LOAD} && true"]):
        one = server(loaded(*words), tmp_path / "a")
        one.start()
        one.end()

    assert (tmp_path / "loads").read_text() == "loaded\nloaded\n"


@pytest.mark.parametrize(
    ("words", "snapshot_s", "error", "sentence"),
    [
        ("echo half > half; echo no room >&2; exit 9", 60, LayerError, "snapshot.*: no room"),
        ("echo half > half; exec sleep 60", 0.5, LayerTimedOut, "its snapshot.* within 0.5 s"),
    ],
)
def test_what_was_cut_short_is_no_snapshot(tmp_path, words, snapshot_s, error, sentence):
    bad = loaded("sh", "-c", words, snapshot_s=snapshot_s)
    with pytest.raises(error, match=sentence):
        server(bad, tmp_path / "a").start()
    (tmp_path / "again").touch()
    again = f"[ -e ../again ] || {{ {words}; }}; {LOAD}; test ! -e half"

    assert not [one for one in tmp_path.glob("snapshot-*") if one.suffix == "" and one.is_dir()]
    one = server(loaded("sh", "-c", again), tmp_path / "a")
    one.start()
    one.end()
