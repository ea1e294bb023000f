"""The resident agent: the real program on this host, started as the child of a test."""

import os
import shutil
import signal
import struct
import subprocess
import threading
import time
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from tare.core.errors import LayerError
from tare.core.model import Status
from tare.experiment.trial.measure import Outcome
from tare.experiment.trial.placed_part import PlacedPart
from tare.experiment.trial.rendezvous import run_together
from tare.experiment.trial.watch import WatchSettings
from tare.machines.agent import AgentMachine, Agents, NoAgent, release, wire
from tare.machines.agent.client import GONE, Client, LostAgent
from tare.machines.agent.placement import can_connect
from tare.machines.agent.streams import AgentStream, Relay, Socket
from tare.machines.machine import Cancelled, Host, Inner, await_true

SOURCE = Path(__file__).parents[3] / "src/tare/machines/agent/agent.c"
EVERY_BYTE = bytes(range(256)) * 4096
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    compiler = shutil.which("musl-gcc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    made = tmp_path_factory.mktemp("agent") / "agent"
    warnings = ["-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, "-static", "-Os", *warnings, "-o", made, SOURCE], check=True)
    return made


@pytest.fixture
def host():
    return Host()


@pytest.fixture
def open_agent(program, tmp_path, host):
    """Enter this host; every agent is another process."""
    opened = []

    def enter(limit_s=PATIENCE_S):
        copy = tmp_path / f"agent{len(opened)}"  # it removes its own file
        shutil.copy(program, copy)
        return Client("host/here", AgentStream([str(copy)]), limit_s)

    def make():
        opened.append(AgentMachine(host, host, enter, PATIENCE_S))
        return opened[-1]

    yield make
    for machine in opened:
        machine.close()


@pytest.fixture
def machine(open_agent):
    return open_agent()


# --- the protocol


def test_frames_are_found_however_they_are_cut():
    sent = wire.frame("O", 7, b"abc") + wire.frame("X", 8) + wire.frame("E", 9, b"d" * 300)
    data, found = bytearray(), []
    for at in range(0, len(sent), 5):
        data += sent[at : at + 5]
        found += wire.frames(data)

    assert found == [("O", 7, b"abc"), ("X", 8, b""), ("E", 9, b"d" * 300)]
    assert not data


def test_an_agent_of_another_version_is_refused():
    other = struct.pack("<IIIIII", wire.VERSION + 1, 1, 64, 1, 1, 0)
    with pytest.raises(ValueError, match=f"version {wire.VERSION + 1} .* expected {wire.VERSION}"):
        wire.hello(other)


def test_words_that_no_process_can_have_are_refused():
    with pytest.raises(ValueError, match="null"):
        wire.order(["a\0b"], wire.Order.PLAIN, 1)
    with pytest.raises(OSError, match="Argument list too long"):
        wire.order(["x" * wire.MOST_BYTES], wire.Order.PLAIN, 1)


# --- commands


def test_a_command_ends_as_it_would_elsewhere(machine):
    done = machine.run(["sh", "-c", "echo out; echo err >&2; exit 7"])

    assert (done.returncode, done.stdout, done.stderr) == (7, b"out\n", b"err\n")
    assert not done.timed_out
    assert machine.run(["sh", "-c", "kill -KILL $$"]).returncode == 128 + signal.SIGKILL


def test_what_it_took_is_told_by_the_kernel(machine):
    done = machine.run(["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"])

    assert done.usage.user_s > 0
    assert done.usage.max_rss_bytes > 100_000
    assert 0 < done.usage.end_ns - done.usage.start_ns < done.duration_s * 1e9


def test_bytes_survive_in_both_directions_again_and_again(machine):
    for _ in range(3):
        back = machine.run(["cat"], stdin=EVERY_BYTE).stdout
        assert (len(back), sha256(back).digest()) == (1 << 20, sha256(EVERY_BYTE).digest())


def test_input_that_is_not_read_is_dropped(machine):
    assert machine.run(["true"], stdin=EVERY_BYTE).returncode == 0


def test_many_commands_run_at_once(machine):
    done = {}

    def run(number):
        done[number] = machine.run(["sh", "-c", f"cat; exit {number}"], stdin=b"%d" % number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [(n, done[n].returncode, done[n].stdout) for n in range(20)] == [
        (n, n, b"%d" % n) for n in range(20)
    ]


def test_more_than_its_slots_are_refused_and_not_lost(machine):
    slots = machine.client._hello.slots
    held = [machine.arm(["true"]) for _ in range(slots)]
    for command in held:
        command.await_armed()

    refused = machine.run(["true"])
    release(held)

    assert refused.returncode == GONE
    assert b"could not be started" in refused.stderr
    assert [command.wait().returncode for command in held] == [0] * slots


def test_a_program_that_is_not_there_is_said_as_a_shell_says_it(machine):
    done = machine.run(["no-such-program"])

    assert done.returncode == 127
    assert b"no-such-program: No such file" in done.stderr
    assert machine.run(["/etc/passwd"]).returncode == 126


def test_words_that_are_too_many_are_a_result(machine):
    assert machine.run(["x" * (wire.MOST_BYTES + 1)]).returncode == 126
    assert machine.run(["true"]).returncode == 0


def test_a_deadline_ends_a_whole_group(machine, tmp_path):
    pid_file = tmp_path / "pid"
    script = 'sleep 600 & echo $! > "$0"; echo started; wait'

    done = machine.run(["sh", "-c", script, str(pid_file)], timeout_s=0.5)

    assert (done.timed_out, done.returncode, done.stdout) == (True, 137, b"started\n")
    assert await_true(lambda: not is_running(int(pid_file.read_text())), timeout_s=PATIENCE_S)


def test_a_daemon_that_keeps_the_streams_does_not_keep_the_command(machine):
    done = machine.run(["sh", "-c", "sleep 600 & echo left"])

    assert (done.returncode, done.stdout) == (0, b"left\n")


def test_a_background_process_lives_until_the_agent_ends(machine):
    start = "setsid sleep 600 > /dev/null 2>&1 < /dev/null & echo $!"
    pid = int(machine.run(["sh", "-c", start]).stdout)
    assert is_running(pid)

    machine.close()

    assert await_true(lambda: not is_running(pid), timeout_s=PATIENCE_S)


def test_a_command_has_nothing_of_the_agents(machine):
    script = (
        "ls -l /proc/self/fd | wc -l; grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status; "
        "[ $(ps -o sid= -p $$) -eq $$ ] && echo leads its session"
    )
    done = machine.run(["bash", "-c", script])

    lines = done.stdout.decode().split("\n")
    assert lines[0].strip() == "5"  # total, three streams, and that of ls itself
    # Signals 32 and 33 are the C library's own, and may come from whoever runs the tests.
    masks = {name: int(mask, 16) & 0x7FFFFFFF for name, _, mask in map(parted, lines[1:3])}
    assert masks == {"SigBlk": 0, "SigIgn": 0}
    assert "leads its session" in lines


def test_what_env_would_do_needs_no_process(machine, tmp_path):
    script = 'echo "$PWD $A_SIGN $LC_ALL $HOME"; readlink /proc/$$/exe; exec cat /proc/$$/comm'
    words = ["env", "-C", str(tmp_path), "A_SIGN=a b=c", "LC_ALL=C", "sh", "-c", script]

    by_agent, by_env = machine.run(words), Host().run(words)

    assert by_agent.stdout == by_env.stdout
    assert by_agent.stdout.startswith(f"{tmp_path} a b=c C ".encode())


@pytest.mark.parametrize(
    "words",
    [
        ["env"],
        ["env", "-C", "/"],
        ["env", "-i", "true"],
        ["env", "-C", "/", "-i", "true"],
        ["env", "-C", "/", "A=b"],
        ["true", "-C", "/", "x"],
    ],
)
def test_what_only_env_can_do_is_left_to_it(words):
    assert wire.without_env(words) == (words, "", [])


def test_a_directory_that_is_not_there_is_said_as_env_says_it(machine):
    done = machine.run(["env", "-C", "/no/such", "true"])

    assert done.returncode == Host().run(["env", "-C", "/no/such", "true"]).returncode == 125
    assert b"cannot change directory to /no/such: No such file" in done.stderr


# --- armed commands


@pytest.mark.parametrize("after_exec", [False, True])
def test_armed_commands_wait_until_they_are_released(machine, tmp_path, after_exec):
    traces = [tmp_path / str(number) for number in range(4)]
    armed = [machine.arm(["touch", str(trace)], after_exec=after_exec) for trace in traces]
    for command in armed:
        command.await_armed()
    assert not any(trace.exists() for trace in traces)

    released_ns = machine.client.ping()[1].monotonic_ns
    release(armed)
    done = [command.wait() for command in armed]

    assert [one.returncode for one in done] == [0] * 4
    assert all(trace.exists() for trace in traces)
    assert all(one.usage.start_ns > released_ns for one in done)


class Part:
    """A run that is watched by nobody; one that is ``bad`` cannot be watched."""

    deadline_s = PATIENCE_S
    cpu_s = 0.0

    def __init__(self, machine, argv, *, bad=False):
        self.command, self.bad = SimpleNamespace(machine=machine, argv=argv), bad
        self.placed = PlacedPart(part="", instance="", stack=None, how=WatchSettings(cpus=[0]))

    def go(self, execute):
        if self.bad:
            raise OSError("it cannot be watched")
        self.done = execute()

    def outcome(self, others_s):
        return Outcome(instance="", status=Status.OK, completed=self.done)


def test_parts_of_several_machines_start_together_and_one_that_is_lost_is_lost_alone(open_agent):
    machines = [open_agent() for _ in range(3)]
    runs = [Part(machine, ["true"]) for machine in machines[:2]]
    runs.append(Part(machines[2], ["sh", "-c", "kill -KILL $PPID"]))

    *good, lost = run_together(runs, print)

    assert [part.completed.returncode for part in good] == [0, 0]
    assert min(part.late_s for part in good) == 0
    assert (lost.completed.returncode, lost.late_s) == (GONE, None)


def test_what_is_held_for_a_meeting_that_broke_is_ended(machine, tmp_path):
    trace = tmp_path / "trace"
    good, bad = Part(machine, ["touch", str(trace)]), Part(machine, ["true"], bad=True)

    with pytest.raises(OSError, match="it cannot be watched"):
        run_together([good, bad], print)

    assert await_true(lambda: not children_of(machine), timeout_s=PATIENCE_S)
    assert not trace.exists()
    assert machine.client._commands == {}


def test_a_part_whose_layer_fails_before_its_release_leaves_the_others_theirs(open_agent, tmp_path):
    class Refused(Part):
        def go(self, execute):
            raise LayerError("it cannot be watched")

    machine, trace = open_agent(), tmp_path / "trace"
    bad, good = Refused(machine, ["touch", str(trace)]), Part(open_agent(), ["true"])

    lost, fine = run_together([bad, good], print, 0.001)

    assert (lost.status, lost.reason) == (Status.FAILED, "it cannot be watched")
    assert (lost.late_s, lost.completed) == (None, None)
    assert (fine.status, fine.late_s, fine.completed.returncode) == (Status.OK, 0.0, 0)
    assert await_true(lambda: not children_of(machine), timeout_s=PATIENCE_S)
    assert not trace.exists()


def children_of(machine):
    pid = machine.run(["sh", "-c", "echo $PPID"]).stdout.decode().strip()
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_a_release_at_a_moment_is_not_before_it(machine):
    at_ns = machine.client.ping()[1].monotonic_ns + 50_000_000
    armed = machine.arm(["true"])
    armed.await_armed()

    armed.go(at_ns)

    assert armed.wait().usage.start_ns >= at_ns


def test_the_clock_inside_is_known_within_the_time_of_a_question(machine):
    ahead_ns, within_ns = machine.clock_offset_ns()

    assert abs(ahead_ns) <= within_ns  # it is this host's own clock
    assert within_ns > 0


# --- what goes wrong


def test_an_agent_that_is_killed_is_entered_again(machine):
    pid = machine.client.pid

    done = machine.run(["sh", "-c", "echo begun; kill -KILL $PPID; sleep 600"])

    assert done.returncode == GONE
    assert done.stdout in (b"", b"begun\n")
    assert b"the agent in host/here is gone: its streams ended" in done.stderr
    assert not done.timed_out
    assert machine.run(["echo", "again"]).stdout == b"again\n"
    assert machine.client.pid != pid


def test_what_ran_under_a_killed_agent_dies_with_it(machine, tmp_path):
    pid_file = tmp_path / "pid"
    script = 'setsid sleep 600 & echo $! > "$0"; kill -KILL $PPID; wait'

    machine.run(["sh", "-c", script, str(pid_file)])

    assert not is_running(int(pid_file.read_text())), "its streams end after what it left"


def test_what_is_said_at_the_end_waits_for_a_slow_client(program, tmp_path):
    copy = tmp_path / "agent"
    shutil.copy(program, copy)
    agent = subprocess.Popen([copy], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    size = 400_000  # more than the agent holds and a pipe beside
    words = ["head", "-c", str(size), "/dev/zero"]
    agent.stdin.write(wire.frame("R", 1, wire.order(words, wire.Order.PLAIN, 600)))
    agent.stdin.flush()
    time.sleep(1.5)  # longer than a daemon may hold the streams of a command that has ended

    data, found = bytearray(), []
    while not any(kind == "X" for kind, _, _ in found):
        data += os.read(agent.stdout.fileno(), 1 << 16)
        found += wire.frames(data)
    agent.stdin.close()
    agent.wait(PATIENCE_S)
    agent.stdout.close()

    assert sum(len(payload) for kind, _, payload in found if kind == "O") == size


def test_a_frame_that_cannot_be_read_loses_one_agent_and_not_all(open_agent):
    one, other = open_agent(), open_agent()
    one.run(["true"])

    one.client._receive(wire.frame("X", 1, b"short"))
    armed = one.arm(["true"])
    one.client._receive(wire.frame("X", armed.number, b"short"))

    assert armed.wait().returncode == GONE
    assert other.run(["true"]).returncode == 0
    assert one.run(["true"]).returncode == 0


def test_killing_the_first_process_and_its_group_leaves_nothing(program, tmp_path):
    copy, pid_file = tmp_path / "agent", tmp_path / "pid"
    shutil.copy(program, copy)
    agent = subprocess.Popen(
        [copy], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    start = ["sh", "-c", 'setsid sleep 600 & echo $! > "$0"; wait', str(pid_file)]
    agent.stdin.write(wire.frame("R", 1, wire.order(start, wire.Order.PLAIN, 600)))
    agent.stdin.flush()
    assert await_true(lambda: pid_file.exists() and pid_file.read_text(), timeout_s=PATIENCE_S)

    os.killpg(agent.pid, signal.SIGKILL)
    agent.wait()

    assert await_true(lambda: not is_running(int(pid_file.read_text())), timeout_s=PATIENCE_S)
    agent.stdin.close()
    agent.stdout.close()


def test_an_agent_whose_client_dies_leaves_nothing(program, tmp_path):
    copy = tmp_path / "agent"
    shutil.copy(program, copy)
    agent = subprocess.Popen([copy], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    order = wire.order(["sleep", "600"], wire.Order.PLAIN, 600)
    agent.stdin.write(wire.frame("R", 1, order))
    agent.stdin.flush()
    children = Path(f"/proc/{agent.pid}/task/{agent.pid}/children")
    assert await_true(lambda: children.read_text().split(), timeout_s=PATIENCE_S)
    (pid,) = map(int, children.read_text().split())

    agent.stdin.close()

    assert agent.wait(PATIENCE_S) == 0
    assert not is_running(pid)
    assert not copy.exists(), "it removes its own file when it starts"
    agent.stdout.close()


@pytest.mark.parametrize(
    "garbage", [b"\xff" * 64, wire.frame("R", 1, b"\0"), b"GET / HTTP/1.1\r\n\r\n"]
)
def test_garbage_ends_an_agent(program, tmp_path, garbage):
    copy = tmp_path / "agent"
    shutil.copy(program, copy)
    agent = subprocess.Popen([copy], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    agent.communicate(garbage, timeout=PATIENCE_S)

    assert agent.returncode in (0, 4)


def test_what_does_not_greet_is_no_agent():
    with pytest.raises(
        LostAgent, match=r"no agent in there: .* 'l' bytes|did not greet|streams ended"
    ):
        Client("there", AgentStream(["sh", "-c", "echo login: password; echo more"]), PATIENCE_S)


def test_why_a_machine_has_no_agent_is_what_it_said():
    with pytest.raises(LostAgent, match="its streams ended: no such container"):
        Client("there", AgentStream(["sh", "-c", "echo no such container >&2; exit 1"]), PATIENCE_S)


def test_an_interrupt_leaves_no_command_running(machine, host):
    marker = "600.0731"
    failures = []

    def run():
        try:
            machine.run(["sleep", marker], timeout_s=600)
        except BaseException as error:  # noqa: BLE001 - it is what is looked at
            failures.append(type(error))

    thread = threading.Thread(target=run)
    thread.start()
    assert await_true(lambda: marker in command_lines(), timeout_s=PATIENCE_S)

    host.cancel()
    thread.join(PATIENCE_S)

    assert failures == [Cancelled]
    assert await_true(lambda: marker not in command_lines(), timeout_s=PATIENCE_S)
    with pytest.raises(Cancelled):
        machine.run(["true"])
    host.restore()
    assert machine.run(["true"]).returncode == 0


def test_a_machine_that_is_closed_is_entered_anew_to_clean_up(machine):
    machine.close()

    done = machine.run(["echo", "still here"])

    assert (done.stdout, done.usage) == (b"still here\n", None)


# --- other ways to an agent


def test_files_are_read_without_a_process(machine, tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 3000)
    (tmp_path / "large").write_bytes(b"x" * 200_000)
    names = [str(tmp_path / name) for name in ("a", "none", "large")] + ["/proc/self/comm"]

    payload = machine.ask_for_files(wire.paths(names)).answer(PATIENCE_S)

    cpu_s, (a, none, large, comm) = wire.contents(payload)
    assert a == b"x" * 3000
    assert none == "No such file or directory"
    assert large == "File too large", "a part of a file is not taken for the whole"
    assert comm.startswith(b"agent")
    assert cpu_s >= 0


def test_files_of_the_kernel_stay_open_and_others_are_opened_anew(machine, tmp_path):
    (tmp_path / "a").write_bytes(b"before")
    (tmp_path / "b").write_bytes(b"after")
    kernels = [f"/proc/sys/kernel/random/{name}" for name in ("uuid", "boot_id")]
    descriptors = Path(f"/proc/{machine.client.pid}/fd")

    def contents(*names):
        return wire.contents(machine.ask_for_files(wire.paths(names)).answer(PATIENCE_S))[1]

    uuid, boot_id, before = contents(*kernels, str(tmp_path / "a"))
    (tmp_path / "b").replace(tmp_path / "a")
    another, same, after = contents(*kernels, str(tmp_path / "a"))
    contents(*(f"/proc/self/fdinfo/../{'./' * count}stat" for count in range(40)))
    opened = [str(one.readlink()) for one in descriptors.iterdir()]

    assert uuid != another, "what stays open is read from its beginning"
    assert (boot_id, before, after) == (same, b"before", b"after")
    assert set(kernels) < set(opened)
    assert str(tmp_path / "a") not in opened
    assert len(opened) < 40, "only so many stay open"


@pytest.fixture
def listening(program, tmp_path):
    """An agent that waits at a socket, whose path is longer than an address can be."""
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    path = folder / "socket"
    process = subprocess.Popen([program, "socket"], cwd=folder, stdin=subprocess.DEVNULL)
    assert await_true(path.exists, timeout_s=PATIENCE_S)
    yield str(path)
    process.wait(PATIENCE_S)


def test_an_agent_is_reached_by_its_socket(host, listening):
    machine = AgentMachine(host, host, lambda s: Client("there", Socket(listening), s), PATIENCE_S)

    back = machine.run(["cat"], stdin=EVERY_BYTE).stdout
    machine.close()

    assert sha256(back).digest() == sha256(EVERY_BYTE).digest()
    assert not Path(listening).exists(), "nobody else is let in"


def test_an_agent_is_reached_through_another_one(host, program, tmp_path, open_agent):
    outer, path = open_agent(), tmp_path / "socket"
    inner = subprocess.Popen([program, path], stdin=subprocess.DEVNULL)
    assert await_true(path.exists, timeout_s=PATIENCE_S)

    def enter(limit_s):
        return Client("inside", Relay(lambda sink: outer.client.relay(str(path), sink)), limit_s)

    machine = AgentMachine(host, host, enter, PATIENCE_S)
    for _ in range(5):  # what is sent in small pieces uses up no more credit than its bytes
        back = machine.run(["cat"], stdin=EVERY_BYTE).stdout
        assert sha256(back).digest() == sha256(EVERY_BYTE).digest()
    assert outer.run(["true"]).returncode == 0
    machine.close()

    assert inner.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("path", ["/nowhere", "/" + "long" * 30])
def test_a_relay_to_nowhere_is_no_agent_and_leaves_nothing_open(open_agent, path):
    outer = open_agent()
    files = Path(f"/proc/{outer.client.pid}/fd")
    before = len(list(files.iterdir()))

    for _ in range(5):
        with pytest.raises(LostAgent, match="its streams ended"):
            Client("inside", Relay(lambda sink: outer.client.relay(path, sink)), PATIENCE_S)

    assert len(list(files.iterdir())) == before


def test_only_what_can_relay_leads_further(host, open_agent):
    short, long = "/run/socket", "/run/" + "long" * 30 + "/socket"
    assert can_connect(host, long)
    assert can_connect(open_agent(), short)
    assert not can_connect(open_agent(), long)
    assert not can_connect(Inner(host, "docker", lambda argv: argv), short)


# --- how it gets there


class Placed(Agents):
    """Puts a program that is there already."""

    def __init__(self, host, content):
        super().__init__(host, None)
        self._program = content


def test_it_is_pushed_through_a_shell_into_the_first_folder_that_can_be_written(
    host, program, tmp_path
):
    shell = Inner(host, "shell", lambda argv: ["env", "A_SIGN=here", *argv])
    folders = ["/proc", str(tmp_path / "none"), str(tmp_path)]

    machine = Placed(host, program.read_bytes()).push(shell, "tare-x-1", folders, PATIENCE_S)

    assert machine.name == "host/shell"
    assert machine.run(["sh", "-c", "echo $A_SIGN"]).stdout == b"here\n"
    assert list(tmp_path.iterdir()) == [], "its file is gone as soon as it runs"
    machine.close()


def test_a_machine_without_a_folder_for_it_has_no_agent(host, program):
    with pytest.raises(NoAgent, match="none of these folders can be written: /proc"):
        Placed(host, program.read_bytes()).push(host, "tare-x-1", ["/proc"], PATIENCE_S)


def test_a_machine_without_a_shell_has_no_agent(host, program):
    nowhere = Inner(host, "x", lambda argv: ["/no/such/client", *argv])
    with pytest.raises(NoAgent, match="/no/such/client"):
        Placed(host, program.read_bytes()).push(nowhere, "tare-x-1", ["/run"], PATIENCE_S)


def test_a_program_of_another_architecture_is_no_agent(host, tmp_path):
    foreign = b"\x7fELF" + bytes(60)
    with pytest.raises(NoAgent, match="no agent in host"):
        Placed(host, foreign).push(host, "tare-x-1", [str(tmp_path)], PATIENCE_S)
    assert list(tmp_path.iterdir()) == []


def parted(line):
    return line.partition(":\t")


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def command_lines():
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return os.linesep.join(found)
