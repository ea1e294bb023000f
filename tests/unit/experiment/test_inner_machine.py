"""What the machine inside did over a trial: by a real perl on a recorded guest, and on this host.

The stand-ins are commands of this host: who asks sees a pipe, whatever is behind it.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tare.experiment.probes import inner_machine as inside
from tare.experiment.probes.reader import Answer, Reader
from tare.experiment.probes.series import MACHINE, PER_WORK, summary
from tare.experiment.probes.timeline import Places, Timeline
from tare.experiment.run.instance_set import InstanceSet, Member
from tare.machines.instance import Threads
from tare.machines.layers import docker, gvisor, lxc, qemu_tcg
from tare.machines.machine import Host, Inner, await_true
from tare.machines.stack import Stack

RECORDED = Path(__file__).parent / "recorded_guest"
PATIENCE_S = 60.0
NOT_LONG_S = 0.1
EXPECTED = {
    # 761 ticks of user, 441 of system and 34 of softirq
    "machine_cpu_s": pytest.approx(12.36),
    "machine_cpu_user_s": pytest.approx(7.61),
    "machine_cpu_system_s": pytest.approx(4.75),
    "machine_cpu_steal_s": 0,
    "machine_context_switches": 5042,
    "machine_page_faults": 10486,
    "machine_major_faults": 0,
    "machine_disk_reads": 0,
    "machine_disk_writes": 10,
    "machine_disk_read_bytes": 0,
    "machine_disk_written_bytes": 16432 * 512,
    "machine_memory_used_bytes_mean": pytest.approx((119908 + 119900) / 2 * 1024),
    "machine_memory_used_bytes_most": 119908 * 1024,
}
"""Between the recordings a QEMU guest ran a hundred processes and wrote 8 MiB."""
GROUP = Threads(cgroup="tare/there-is-no-such-group")


@pytest.fixture
def root(tmp_path):
    """A guest of plain files: the recorded one, with one disk and one network device."""
    root = tmp_path / "guest"
    shutil.copytree(RECORDED / "first", root)
    (root / "sys/block/vda/device").mkdir(parents=True)
    (root / "sys/block/loop0").mkdir()
    (root / "sys/class/net/eth0/device").mkdir(parents=True)
    (root / "sys/class/net/lo").mkdir()
    return root


def goes_on(root):
    """Write the later recording into the same files, as the kernel would."""
    for new in (RECORDED / "second").rglob("*"):
        if new.is_file():
            (root / new.relative_to(RECORDED / "second")).write_bytes(new.read_bytes())


@pytest.fixture
def made():
    """Make readers that are closed at the end; their listeners have to end with them."""
    readers = []

    def make(root=inside.ROOT, machine=None, answer_s=PATIENCE_S, start_s=PATIENCE_S):
        paths = [source.path for source in inside.sources(root, (), ())]
        readers.append(Reader(machine or Host(), paths, root, start_s, answer_s))
        return readers[-1]

    yield make
    for reader in readers:
        reader.close()
    listening = [thread for thread in threading.enumerate() if thread.name == "inside"]
    for thread in listening:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def saying(script):
    """A machine in which every command is this script instead."""
    return Inner(Host(), "fake", lambda argv: ["sh", "-c", script, *argv])


def begun(reader):
    """Begin a trial, as a timeline does."""
    watch = inside.Listener(reader)
    watch.open()
    watch.first(time.monotonic())
    return watch


def told(watch, name, device=""):
    (one,) = [s for s in watch.series() if (s.name, s.device) == (name, device)]
    return one


def reasons(watch):
    return {one.reason for one in watch.series()}


def test_a_recorded_guest_gives_the_machines_part_of_a_trials_metrics(made, root):
    watch = begun(made(root))
    goes_on(root)
    watch.last()

    seen = summary(watch.series())
    assert seen == EXPECTED
    assert {one.source for one in watch.series()} == {MACHINE}
    assert all(name in PER_WORK for name in seen if "memory" not in name)


def test_what_is_asked_for_after_the_next_trial_is_still_of_its_own(made, root):
    reader = made(root)
    before = begun(reader)
    before.last()
    after = begun(reader)
    goes_on(root)
    after.last()

    assert summary(after.series()) == EXPECTED
    assert all(len(one.values) == 2 for one in before.series() if one.values)
    own = told(before, "context_switches").values
    assert own[0] == own[1] == told(after, "context_switches").values[0]


def test_counters_and_levels_stand_with_the_time_of_each_reading(made, root):
    watch = begun(made(root))
    watch._due_s = 0.0
    watch.tick()
    goes_on(root)
    watch.last()

    switches = told(watch, "context_switches")
    assert switches.is_counter
    assert len(switches.times_s) == len(switches.values) == 3
    assert 0 <= switches.times_s[0] < switches.times_s[1] < switches.times_s[2]
    assert not told(watch, "memory_used_bytes").is_counter
    assert told(watch, "disk_reads", "vda").values[-1] > 0
    assert told(watch, "network_received_bytes", "eth0").values[-1] > 0
    assert not [one for one in watch.series() if one.device in ("lo", "loop0")]


def test_what_others_take_from_a_machine_is_no_work_of_its_own(made, root):
    stat = "cpu  1 0 1 1 0 0 0 {} 1 0\nctxt 1\nprocs_running 1\nprocs_blocked 0\n"
    (root / "proc/stat").write_text(stat.format(3))
    watch = begun(made(root))
    (root / "proc/stat").write_text(stat.format(10))
    watch.last()

    seen = summary(watch.series())
    assert seen["machine_cpu_steal_s"] == pytest.approx(0.07)
    assert seen["machine_cpu_s"] == 0


def test_what_takes_longer_to_read_is_read_less_often(made, root):
    reader = made(root)
    watch = begun(reader)
    asked = []
    for took_s, elapsed_s in ((0.001, 0.1), (0.001, 0.9), (0.02, 5.0), (0.02, 20.0)):
        now_s = time.monotonic()
        watch._period_s = None
        watch._take(Answer(now_s - elapsed_s, took_s, 0.0, (b"",) * len(watch._tracks)))
        watch.tick()
        asked.append(reader.owes)
        if reader.owes:
            reader.answer()

    assert asked == [False, True, False, True]


def test_what_reading_costs_inside_is_counted(made, root):
    watch = begun(made(root))
    watch.last()

    assert 0 < watch.metrics["monitor_machine_cpu_s"] < PATIENCE_S


def test_a_timeline_has_the_machine_beside_host_and_layer(made, root, tmp_path):
    places = Places(tmp_path, tmp_path, tmp_path)
    with Timeline(GROUP, (), places=places, reader=made(root)) as timeline:
        goes_on(root)

    seen = timeline.metrics
    assert seen["machine_context_switches"] == EXPECTED["machine_context_switches"]
    assert seen["monitor_machine_cpu_s"] > 0
    assert {one.source for one in timeline.series} == {"host", "layer", "machine"}


def test_a_layer_without_a_kernel_of_its_own_lists_no_machine(tmp_path):
    with Timeline(GROUP, (), places=Places(tmp_path, tmp_path, tmp_path)) as timeline:
        pass

    assert {one.source for one in timeline.series} == {"host", "layer"}
    assert not [name for name in timeline.metrics if "machine" in name]


class At:
    """An instance of which only the machine is asked."""

    def __init__(self, name):
        self.machine = Inner(Host(), name, lambda argv: [name, *argv])


def test_the_innermost_machine_with_a_kernel_of_its_own_is_read():
    guest, container, sandbox = qemu_tcg.Layer(), docker.Layer(), gvisor.Layer()
    at = [At("one"), At("two"), At("three")]

    assert inside.reader_of([container, lxc.Layer()], at) is None
    assert inside.reader_of([guest, container], at)._machine.name == "host/one"
    assert inside.reader_of([guest, container, sandbox], at)._machine.name == "host/three"
    # A lifecycle study opens only what is around the innermost layer.
    assert inside.reader_of([container, guest], at[:1]) is None


def test_a_reader_is_started_at_the_first_trial_and_stays(made):
    reader = made()
    assert reader._process is None

    watch = begun(reader)
    first = reader._process.pid
    watch.last()
    begun(reader).last()

    assert reader._process.pid == first
    assert summary(watch.series())["machine_context_switches"] > 0


def test_what_a_guest_does_not_have_is_said_and_no_zero(made, root):
    shutil.rmtree(root / "proc/pressure")
    shutil.rmtree(root / "sys/block/vda")

    watch = begun(made(root))
    watch.last()

    assert told(watch, "psi_io_full_s").reason == (
        f"not available here: {root}/proc/pressure/io: No such file or directory"
    )
    assert told(watch, "disk_reads").reason.endswith("diskstats does not have it")
    seen = summary(watch.series())
    assert not [name for name in seen if "disk" in name]
    assert "machine_cpu_s" in seen


def test_a_kernel_that_fills_in_zeros_keeps_no_account(made, root):
    zeros = "cpu  0 0 0 0 0 0 0 0 0 0\nctxt 0\nprocs_running 0\nprocs_blocked 0\n"
    (root / "proc/stat").write_text(zeros)

    watch = begun(made(root))
    watch.last()

    assert "this kernel keeps no account of them" in told(watch, "context_switches").reason
    seen = summary(watch.series())
    assert "machine_cpu_s" not in seen
    assert "machine_context_switches" not in seen
    assert "machine_page_faults" in seen


def test_a_reader_that_dies_ends_this_trials_series_and_says_why_in_the_next(made):
    reader = made()
    watch = begun(reader)
    os.kill(reader._process.pid, signal.SIGKILL)
    watch.last()
    assert told(watch, "cpu_user_s").reason == "ended early: the reader inside ended"
    after = begun(reader)
    after.tick()
    after.last()

    assert len(told(watch, "cpu_user_s").values) == 1
    assert summary(watch.series()) == {}
    assert watch.metrics == {}
    assert {"not available here: the reader inside ended"} == reasons(after)


def test_a_silent_reader_holds_nobody_up_and_its_late_answer_is_no_other_trials(made, root):
    reader = made(root)
    watch = begun(reader)
    os.kill(reader._process.pid, signal.SIGSTOP)
    reader._answer_s, watch._due_s = NOT_LONG_S, 0.0
    watch.tick()
    assert reader.owes
    watch.tick()  # it owes one, and is not asked again
    watch.last()
    os.kill(reader._process.pid, signal.SIGCONT)
    reader._answer_s = PATIENCE_S
    goes_on(root)
    after = begun(reader)
    after.last()

    assert told(watch, "cpu_user_s").reason == (
        "ended early: the reader inside did not answer in time"
    )
    switches = told(after, "context_switches")
    assert len(switches.values) == 2
    assert switches.values[0] == switches.values[1]
    assert not switches.reason


def test_a_reader_that_stays_silent_is_given_up(made):
    reader = made()
    watch = begun(reader)
    os.kill(reader._process.pid, signal.SIGSTOP)
    reader._answer_s = NOT_LONG_S
    watch.last()
    for _ in range(2):
        after = begun(reader)
        after.last()

        assert reasons(after) == {
            "not available here: the reader inside has not answered since an earlier trial"
        }


def taken(timeline):
    """Count the readings of a figure of the host that were taken in so far."""
    track = timeline._files[0]._tracks.get(("cpu_idle_s", ""))
    return 0 if track is None else len(track.values)


def test_a_timeline_goes_on_reading_the_host_while_the_machine_is_silent(made, tmp_path):
    places = Places(groups=tmp_path)
    reader = made()
    deadline = time.monotonic() + PATIENCE_S
    with Timeline(GROUP, (), 10.0, places, reader) as timeline:
        os.kill(reader._process.pid, signal.SIGSTOP)
        while taken(timeline) < 4:
            assert time.monotonic() < deadline, "the host is read no more"
            time.sleep(0.01)
        reader._answer_s = NOT_LONG_S

    ended = [one for one in timeline.series if one.source == MACHINE and one.times_s]
    assert ended
    assert {one.reason for one in ended} == {
        "ended early: the reader inside did not answer in time"
    }


def test_an_interrupted_trial_waits_for_no_machine(made, tmp_path):
    reader = made(answer_s=10 * PATIENCE_S)
    begin = time.monotonic()
    timeline = Timeline(GROUP, (), places=Places(tmp_path, tmp_path, tmp_path), reader=reader)

    def interrupted():
        with timeline:
            os.kill(reader._process.pid, signal.SIGSTOP)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert time.monotonic() - begin < PATIENCE_S


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ("echo rubbish", "did not begin: rubbish"),
        ("echo 'env: perl: not found' >&2; exit 127", "did not begin: env: perl: not found"),
        ("exit 1", "did not begin: it printed nothing"),
        ("echo ready; echo rubbish; exec sleep 600", "printed what is not understood: b'rubbish'"),
        ("echo ready; echo 99999999999999999999; exec sleep 600", "printed what is not understood"),
        ("echo ready; echo -5; exec sleep 600", "printed what is not understood: b'-5'"),
        ("echo ready; yes", "printed what is not understood: b'y'"),
        ("echo ready; echo 10; echo short", "ended"),
        ("echo ready; yes '! no'", "printed what is not understood: b'! no'"),
    ],
)
def test_what_is_no_answer_is_a_reason(made, says, reason):
    watch = begun(made(machine=saying(says)))
    watch.last()

    (told,) = reasons(watch)
    assert told.startswith(f"not available here: the reader inside {reason}")


def test_what_a_login_says_first_is_passed_over(made, root):
    greeting = "echo 'Welcome! setlocale: cannot change locale' >&2; exec \"$@\""
    machine = Inner(Host(), "fake", lambda argv: ["sh", "-c", greeting, "sh", *argv])
    watch = begun(made(root, machine))
    watch.last()

    assert not told(watch, "cpu_user_s").reason


def test_a_machine_that_starts_nothing_is_a_reason(made):
    nowhere = Inner(Host(), "fake", lambda argv: ["/no/such/program", *argv])

    watch = begun(made(machine=nowhere))
    watch.last()

    (reason,) = reasons(watch)
    assert reason.startswith("not available here: no reader could be started: ")


def test_a_reader_that_does_not_come_up_is_given_up(made):
    reader = made(machine=saying("exec cat > /dev/null"), start_s=NOT_LONG_S)

    watch = begun(reader)

    assert reasons(watch) == {"not available here: no reader was up inside within 0 s"}


def gone(pid):
    """Whether a process has ended; a dead one that nobody has waited for has too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_reader_ends_when_it_is_closed(made):
    reader = made()
    begun(reader)
    pid = reader._process.pid
    reader.close()
    reader.close()

    assert gone(pid)
    assert not reader.owes
    assert reader.reason == "its instance was removed"


OWNER = """
import sys, time
from pathlib import Path
from tare.machines.machine import Host
from tare.experiment.probes import inner_machine as inside
reader = inside.reader_in(Host())
reader.start()
print(reader._process.pid, flush=True)
time.sleep(600)
"""


def test_a_reader_ends_with_tare_even_after_kill_9():
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE) as owner:
        pid = int(owner.stdout.readline())
        was_there = not gone(pid)
        owner.kill()

    assert was_there
    assert await_true(lambda: gone(pid), timeout_s=PATIENCE_S)


def test_a_member_that_is_removed_takes_its_reader_along(made):
    reader = made()
    begun(reader)
    pid = reader._process.pid
    member = Member(0, Stack(Host()), reader=reader)

    InstanceSet(None, None, "p0").remove(member)

    assert gone(pid)
