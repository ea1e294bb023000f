"""What is said to a QEMU over its socket, and what of its answers is waited for."""

import json
import socket
import threading

import pytest

from tare.core.errors import LayerError
from tare.machines.backends import qemu, qmp
from tare.machines.machine import Host

GREETING = {"QMP": {"version": {}, "capabilities": []}}


class Qemu:
    """A socket behind which a command is read, then answered, as QEMU does it."""

    def __init__(self, path, answers):
        self.heard, self._answers = [], answers
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen(1)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        connection, _ = self._listening.accept()
        with connection, connection.makefile("rwb", buffering=0) as stream:
            self._say(stream, GREETING)
            for said in self._answers:
                line = stream.readline()
                if not line:
                    return
                self.heard.append(json.loads(line)["execute"])
                for one in said:
                    self._say(stream, one)

    def _say(self, stream, line):
        stream.write(json.dumps(line).encode() + b"\r\n")

    def close(self):
        self._thread.join(5)
        self._listening.close()


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Makes a QEMU whose socket has a path too long for an address, and returns both."""
    folder = tmp_path / ("long" * 20) / ("longer" * 20)
    folder.mkdir(parents=True)
    made = []

    def start(*answers):
        monkeypatch.chdir(folder)  # to bind there; no client can do the same for others
        made.append(Qemu("monitor", answers))
        monkeypatch.undo()
        return made[-1], f"{folder}/monitor"

    yield start
    for one in made:
        one.close()


def test_commands_are_answered_one_by_one_and_events_are_no_answers(serve):
    event = {"timestamp": {"seconds": 1}, "event": "STOP"}
    there, path = serve([{"return": {}}], [event, {"return": {}}], [{"return": {"status": "on"}}])

    found = qemu.tell(Host(), path, ("stop", {}), ("query-status", {}))

    assert found == [{}, {"status": "on"}]
    assert there.heard == ["qmp_capabilities", "stop", "query-status"]


def test_a_refusal_is_an_error_with_its_reason(serve):
    _, path = serve([{"return": {}}], [{"error": {"class": "X", "desc": "no such command"}}])

    with pytest.raises(LayerError, match="QEMU did not take 'fly': no such command"):
        qemu.tell(Host(), path, ("fly", {}))


def test_one_that_hangs_up_did_not_answer(serve):
    _, path = serve([{"return": {}}])

    with pytest.raises(
        LayerError, match=r"did not take .stop.: (it did not answer|Connection reset)"
    ):
        qemu.tell(Host(), path, ("stop", {}))


def test_one_that_says_nothing_is_given_up(serve):
    _, path = serve([{"return": {}}], [], [{"return": {}}])

    with pytest.raises(TimeoutError):
        qmp.converse(path, b'{"execute": "qmp_capabilities"}\n{"execute": "stop"}\n', 2, 0.05)


def test_a_socket_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(LayerError, match=r"did not take 'stop': No such file"):
        qemu.tell(Host(), f"{tmp_path}/none/monitor", ("stop", {}))
