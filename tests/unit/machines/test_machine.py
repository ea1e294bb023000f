"""Running commands: what comes back, what is killed, and how deadlines nest."""

import signal
import threading
import time

import pytest

from tare.core.completed import Completed
from tare.core.errors import CommandFailed, CommandTimedOut
from tare.machines.machine import Cancelled, Host, Inner, await_true, check, get, put, text


class Fake:
    """Answers as told and keeps what it was asked."""

    name, ephemeral = "host", False

    def __init__(self, returncode=0, duration_s=0.0, stderr=b""):
        self.answer, self.asked = (returncode, b"", stderr, duration_s), []

    def host_argv(self, argv):
        return ["outer", *argv]

    def undo_argv(self, argv):
        return ["later", *argv]

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.asked.append((list(argv), timeout_s))
        return Completed(tuple(argv), *self.answer)


def inside(outer, layer="x"):
    return Inner(outer, layer, lambda argv: ["enter", *argv])


def test_a_command_that_is_not_there_is_a_status():
    done = Host().run(["tare-no-such-command"])

    assert done.returncode == 127
    assert b"tare-no-such-command" in done.stderr


def test_a_death_by_signal_is_told_as_shells_tell_it():
    assert Host().run(["sh", "-c", "kill -TERM $$"]).returncode == 128 + signal.SIGTERM


def test_a_command_out_of_time_is_killed_with_what_it_started():
    done = Host().run(["sh", "-c", "echo begun; sleep 4321 & wait"], timeout_s=0.2)

    assert done.timed_out
    assert done.stdout == b"begun\n"
    assert 0.2 <= done.duration_s < 1


def test_a_daemon_that_holds_the_output_open_cannot_hold_up_the_caller():
    done = Host().run(["sh", "-c", "echo begun; setsid sleep 3 & wait"], timeout_s=0.2)

    assert done.timed_out
    assert done.stdout == b"begun\n"
    assert done.duration_s < 2.5


def test_cancel_ends_what_runs_and_what_would_begin():
    host, ended = Host(), []

    def wait():
        with pytest.raises(Cancelled):
            host.run(["sleep", "4321"])
        ended.append(True)

    thread = threading.Thread(target=wait)
    thread.start()
    assert await_true(lambda: bool(host._active), timeout_s=5, every_s=0.01)
    host.cancel()
    thread.join(timeout=5)

    assert ended
    with pytest.raises(Cancelled):
        host.run(["true"])
    host.restore()
    assert host.run(["true"]).returncode == 0


def test_the_deadline_is_kept_inside_and_grows_outwards():
    outer = Fake()

    inside(inside(outer), "y").run(["work"], timeout_s=2.5)

    limit = ["timeout", "-s", "KILL"]
    expected = ["enter", *limit, "8", "enter", *limit, "3", "work"]
    assert outer.asked == [(expected, 12.5)]


@pytest.mark.parametrize(
    ("returncode", "duration_s", "late"), [(137, 2.0, True), (0, 2.0, False), (137, 1.9, False)]
)
def test_late_is_what_failed_at_its_deadline(returncode, duration_s, late):
    assert inside(Fake(returncode, duration_s)).run(["work"], timeout_s=2).timed_out is late


def test_a_machine_is_named_by_the_way_to_it():
    machine = inside(inside(Fake()), "y")

    assert machine.name == "host/x/y"
    assert machine.host_argv(["a b"]) == ["outer", "enter", "enter", "a b"]
    assert machine.undo_argv(["a b"]) == ["later", "enter", "enter", "a b"]
    assert machine.ephemeral


def test_a_failure_says_what_where_and_why():
    with pytest.raises(CommandFailed, match=r"^work exited with 3 on host/x: it broke$"):
        check(inside(Fake(3, stderr=b"it broke\n")), ["work"])
    with pytest.raises(CommandFailed, match="nothing on stderr"):
        check(Fake(3), ["work"])


def test_a_command_out_of_time_says_so():
    with pytest.raises(CommandTimedOut, match=r"did not end within 2\.0 s on host/x"):
        check(inside(Fake(137, 2.0)), ["work"], timeout_s=2)


def test_a_file_put_is_the_file_got(tmp_path):
    path = f"{tmp_path}/a $file"

    put(Host(), b"\0\xff", path)

    assert get(Host(), path) == b"\0\xff"
    assert text(Host(), ["echo", "line"]) == "line"


def test_waiting_ends_at_the_deadline_or_when_nothing_is_alive():
    start = time.monotonic()

    assert await_true(lambda: True, timeout_s=0)
    assert not await_true(lambda: False, timeout_s=0.05, every_s=0.01)
    assert not await_true(lambda: False, timeout_s=60, alive=lambda: False)
    assert time.monotonic() - start < 5
