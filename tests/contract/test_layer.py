"""What every layer promises, alone and inside another layer; and that each check can fail.

A test of the first part is the check itself: those of the second part call it with a layer that
breaks the promise. What a layer promises about being left is in test_leaving.py.
"""

import os
import re
import secrets
import signal
import time
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from contract.stacks import PARAMS
from tare.core.errors import CommandFailed, Unavailable
from tare.core.model import DiskCache, Limits, Status
from tare.experiment.probes.threads import Sampler
from tare.experiment.trial.measure import measure
from tare.experiment.trial.placed_part import PlacedPart
from tare.experiment.trial.role_placement import PlacedCommand, in_directory
from tare.experiment.trial.watch import WatchSettings
from tare.machines import detection, instance, layer
from tare.machines.agent.client import GONE
from tare.machines.cgroup import readback
from tare.machines.cgroup.readback import Inside
from tare.machines.instance import Threads
from tare.machines.machine import Host, Inner, await_true, check, get, put, text
from tare.machines.stack import Stack
from tare.work.workload import load as load_workload

LIMITS = Limits(cpus=1, memory_bytes=2**30)
WORDS = ["a b", "'", '"', "$HOME", "`id`", "a\nb", "\\", "*", "", "é", "-x", "--", "~", "a;b", "%s"]
EVERY_BYTE = bytes(range(256)) * 4096
BUSY_S = 1.0
LOOP = "while :; do :; done"


@pytest.fixture(scope="module", params=PARAMS)
def opened_once(request, layers_of):
    """A stack's name and the stack, opened once for all tests on it."""
    path, settings = request.param
    place = request.getfixturevalue("remote_place" if "ssh" in path else "place")
    layers = layers_of(path, **settings)
    stack = place.open(layers, place.site_with_agents())
    yield path, stack, layers[-1], layers
    stack.close()


@pytest.fixture
def opened(opened_once):
    """The same, with commands that an agent starts."""
    stack = opened_once[1]
    assert stack.has_agent, stack.no_agent
    return opened_once


@pytest.fixture(params=["agent", "anew"])
def inside(request, opened):
    """The machine inside, whose commands an agent starts, or which they enter anew."""
    stack = opened[1]
    stack.enter_anew(request.param == "anew")
    yield stack.machine
    stack.enter_anew(False)


@pytest.fixture
def path(opened):
    return opened[0]


@pytest.fixture
def stack(opened):
    return opened[1]


@pytest.fixture
def innermost(opened):
    """The innermost layer."""
    return opened[2]


@pytest.fixture
def machine(stack):
    return stack.machine


@pytest.fixture
def userland(place, innermost):
    if innermost.own_system():
        pytest.skip(f"it runs {innermost.own_system()}, not the userland")
    return place.userland


# --- the machine inside


def test_a_status_is_a_result(inside):
    assert inside.run(["sh", "-c", "exit 7"]).returncode == 7
    assert inside.run(["true"]).returncode == 0


def test_a_death_by_signal_is_told_alike_everywhere(inside):
    assert inside.run(["sh", "-c", "kill -KILL $$"]).returncode == 128 + signal.SIGKILL


def test_streams_stay_apart(inside):
    done = inside.run(["sh", "-c", "echo out; echo err >&2"])

    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")


def test_words_arrive_as_they_were_given(inside):
    assert inside.run(["printf", "%s|", *WORDS]).stdout.decode() == "".join(f"{w}|" for w in WORDS)


def test_bytes_survive_stdin_and_stdout(inside):
    back = inside.run(["cat"], stdin=EVERY_BYTE).stdout
    # Digests, because in CI pytest makes a full diff of what differs, for minutes with a megabyte.
    assert (len(back), sha256(back).digest()) == (len(EVERY_BYTE), sha256(EVERY_BYTE).digest())


def test_a_failure_names_its_machine(inside):
    assert inside.name.startswith("host/")
    with pytest.raises(CommandFailed, match=re.escape(f"on {inside.name}: broken")):
        check(inside, ["sh", "-c", "echo broken >&2; exit 3"])


def test_a_command_out_of_time_leaves_no_process(inside, settles):
    marker = f"43{secrets.randbelow(10**6):06}"
    # A shell takes its time to start in an emulated guest, more so on a busy host.
    enough_s = 1 + 5 * inside.run(["sh", "-c", "true"]).duration_s

    done = inside.run(["sh", "-c", f"echo started; sleep {marker} & wait"], timeout_s=enough_s)

    assert done.timed_out
    assert done.stdout == b"started\n"
    assert settles(lambda: marker not in command_lines(inside))
    assert settles(lambda: marker not in command_lines(Host()))


def test_a_command_may_leave_a_process_on_purpose(inside, settles):
    with busy(inside) as pid:
        assert inside.run(["sh", "-c", 'kill -0 "$0"', pid]).returncode == 0


# --- the agent inside


# What the two ways may differ in: who called, and what the way in is made of.
SIGHT = r"""
echo "cwd $(pwd)"; umask; id
env | grep -v '^_=' | sort
sed 's/.*) //' /proc/$$/stat | awk '{ print "priority", $16, "nice", $17, "policy", $39 }'
grep -E '^(Cap|NoNewPrivs|Seccomp|Speculation|Cpus_allowed|Mems_allowed|Sig(Blk|Ign))' \
    /proc/self/status
sed 's/  */ /g' /proc/$$/limits
for file in oom_score_adj timerslack_ns personality coredump_filter cgroup; do
    echo "$file $(cat /proc/$$/$file 2> /dev/null)"
done
for name in /proc/$$/ns/*; do echo "$name" | sed 's/.*[/]//'; readlink "$name"; done
wc -l < /proc/$$/mountinfo
[ -t 0 ] || [ -t 1 ] || echo no terminal
"""


def test_a_command_sees_the_same_whichever_way_it_came_in(opened_once):
    stack = opened_once[1]
    seen = []
    for anew in (True, True, False):
        stack.enter_anew(anew)
        seen.append(text(stack.machine, ["sh", "-c", SIGHT]).splitlines())
    before, again, by_agent = seen

    # gVisor numbers a namespace anew for whoever looks.
    same = [line if line == also else "*" for line, also in zip(before, again, strict=True)]
    assert len(same) > 20
    assert same.count("*") <= 3
    assert [
        "*" if line == "*" else other for line, other in zip(same, by_agent, strict=True)
    ] == same


# --- what it is given


def test_limits_are_visible_inside(stack, path):
    inside = stack.inside()

    assert readback.refusals(LIMITS, inside) == []
    assert text(stack.machine, ["nproc"]) == "1"
    if path == "host/ssh":
        assert readback.warnings(LIMITS, inside), "nothing can hold it to that, and it is said"
    else:
        assert readback.warnings(LIMITS, inside) == []
    assert inside.disk_cache in (None, DiskCache.NONE)


def test_more_memory_than_the_limit_cannot_be_had(opened, machine, innermost):
    if any(each.own_kernel for each in opened[3]) or innermost.own_system():
        pytest.skip("it has the memory that its kernel sees: see the limits")
    # dd reads its block into memory of its own before it writes it.
    take = ["dd", "if=/dev/zero", "of=/dev/null", "count=1"]

    assert machine.run([*take, "bs=100M"]).returncode == 0
    assert machine.run([*take, "bs=1200M"]).returncode == 128 + signal.SIGKILL


def test_the_userland_is_the_same_inside(machine, userland):
    names = ("fio", "mbw", "sysbench")
    query = ["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *names]

    found = machine.run(query).stdout.decode().splitlines()

    assert found == [f"{name} {userland.versions[name]}" for name in names]


def test_the_tools_run_inside(machine, userland):
    version = userland.versions["sysbench"].partition("+")[0]
    said = machine.run(["sysbench", "--version"]).stdout.decode()

    assert said.startswith(f"sysbench {version}")


def test_the_workdir_is_empty_and_can_be_written(stack):
    machine, at = stack.machine, stack.workdir
    # Not ls, which asks an old gVisor for more than it knows.
    listed = machine.run(["find", at, "-mindepth", "1"])
    assert (listed.returncode, listed.stdout) == (0, b"")
    assert machine.run(["test", "-d", at]).returncode == 0

    put(machine, b"\x00\xff\n", f"{at}/a file")

    assert get(machine, f"{at}/a file") == b"\x00\xff\n"
    check(machine, ["rm", f"{at}/a file"])


def test_a_workload_is_measured_inside(stack):
    workload = load_workload("sysbench_cpu", max_prime=2000, threads=1, time_s=1)

    command = PlacedCommand(stack.machine, in_directory(stack.workdir, workload.command()))
    how = WatchSettings(cpus=[int(stack.cpuset.split("-")[0])])
    outcome = measure(PlacedPart(part="", instance="", stack=stack, how=how), workload, command, 60)

    assert outcome.status in (Status.OK, Status.SUSPECT), outcome.reason
    assert outcome.samples["events"] > 0


def test_what_shows_inside_is_what_was_declared(opened):
    _, stack, *_ = opened
    layers = opened[3]
    declared = [detection.Declared(made.name, made.detected_as()) for made in layers]
    if not all(one.seen_as for one in declared):
        pytest.skip("nothing inside can be asked")

    inside = detection.detect(stack.machine)

    assert detection.disagreements(declared, detection.detect(Host()), inside) == []


# --- what is seen of it on the host


def test_pause_takes_the_cpu_time_away(stack):
    threads = stack.threads()
    if threads is None:
        pytest.skip("it has no threads on this host")
    if type(stack.instances[0]).pause is instance.Instance.pause:
        pytest.skip("it has no processes of its own to pause")

    stands_still_when_paused(stack, threads)


def stands_still_when_paused(stack, threads):
    with busy(stack.machine):
        assert grows(threads)
        stack.pause()
        try:
            # The guest stands still at once; the hypervisor around it may have a disk to flush.
            assert await_true(lambda: growth_s(threads) < 0.02, timeout_s=20)
        finally:
            stack.resume()
        assert grows(threads)


def test_threads_name_the_group_that_does_the_work(stack):
    threads = stack.threads()
    if threads is None:
        pytest.skip("it has no threads on this host")
    start = time.monotonic()

    with Sampler(threads) as sampler:
        stack.machine.run(["timeout", str(BUSY_S), "sh", "-c", LOOP])

    took_s, cost = time.monotonic() - start, sampler.cost
    assert cost.coverage > 0.8
    assert cost.all_cpu_s >= 0.9 * cost.cpu_s
    # What it did not run, it waited to run, several threads of it at once: others may be busy here.
    assert cost.cpu_s + cost.run_delay_s > 0.8 * BUSY_S
    assert cost.cpu_s < took_s + 0.3


# --- at the end, because an instance whose main program is the agent ends with it


def test_an_agent_that_is_killed_in_the_middle_takes_nothing_along(opened_once, settles):
    stack = opened_once[1]
    stack.enter_anew(False)
    machine, marker = stack.machine, f"44{secrets.randbelow(10**6):06}"

    script = f"sleep {marker} & kill -KILL $PPID; wait"
    done = machine.run(["sh", "-c", script], timeout_s=120)

    assert done.returncode == GONE
    assert f"the agent in {machine.name} is gone" in done.stderr.decode()
    assert not done.timed_out
    assert settles(lambda: marker not in command_lines(Host()))
    again = machine.run(["echo", "again"])
    if again.returncode == 0:
        assert again.stdout == b"again\n"
        is_gone = settles(lambda: marker not in command_lines(machine))
        assert is_gone or stack.may_hold_orphans
    else:  # whoever opened it sees that it no longer answers, and replaces it
        assert again.returncode == GONE
        assert machine.name.endswith("docker")


# --- helpers


@contextmanager
def busy(machine):
    """Keep a CPU busy in the background inside a machine."""
    start = f"setsid sh -c '{LOOP}' > /dev/null 2>&1 < /dev/null & echo $!"
    pid = text(machine, ["sh", "-c", start])
    try:
        yield pid
    finally:
        check(machine, ["sh", "-c", 'kill -KILL "$0"', pid])


def command_lines(machine):
    script = "cat /proc/[0-9]*/cmdline 2> /dev/null; true"
    return text(machine, ["sh", "-c", script]).replace("\0", " ")


def grows(threads):
    """Wait until a group has taken some CPU time; others may be busy on its CPU."""
    before = group_cpu_s(threads)
    return await_true(lambda: group_cpu_s(threads) > before + 0.05, timeout_s=20)


def growth_s(threads, during_s=0.3):
    """Read how much CPU time a group takes."""
    before = group_cpu_s(threads)
    time.sleep(during_s)
    return group_cpu_s(threads) - before


def group_cpu_s(threads):
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        stat = (root / threads.cgroup / "cpu.stat").read_text()
        return int(stat.split("usage_usec ")[1].split()[0]) / 1e6
    return int((root / "cpuacct" / threads.cgroup / "cpuacct.usage").read_text()) / 1e9


# --- settings of one layer


@pytest.mark.needs("docker")
@pytest.mark.parametrize(
    ("network", "storage", "interfaces"),
    [
        ("host", "overlay", None),
        ("bridge", "volume", {"lo", "eth0"}),
        ("none", "tmpfs", {"lo"}),
    ],
)
def test_a_container_has_the_network_and_storage_that_were_asked_for(
    place, layers_of, network, storage, interfaces
):
    if interfaces is None:
        interfaces = {"lo", "eth0"} & {link.name for link in Path("/sys/class/net").iterdir()}
    stack = place.open(layers_of("host/docker", docker={"network": network, "storage": storage}))
    try:
        links = text(stack.machine, ["ls", "/sys/class/net"]).split()
        mounts = text(stack.machine, ["cat", "/proc/mounts"]).splitlines()
    finally:
        stack.close()
    kinds = {line.split()[1]: line.split()[2] for line in mounts}
    assert interfaces <= set(links)
    assert network == "host" or set(links) == interfaces
    assert (storage == "overlay") == ("/data" not in kinds)
    assert (storage == "tmpfs") == (kinds.get("/data") == "tmpfs")


@pytest.mark.needs("qemu")
def test_a_kvm_that_starts_no_guest_is_unavailable_with_what_would_fix_it(place):
    kvm = layer.load("kvm")
    try:
        facts = kvm.probe(Host(), place.userland)
    except Unavailable as error:
        refused = error
    else:
        pytest.skip(f"a guest comes up with {facts['qemu.accel']} here")
    assert "kvm" in refused.reason
    assert refused.fix
    assert layer.load("qemu").probe(Host(), place.userland)["qemu.accel"] == "tcg"


# --- each check can fail


def broken(wrap, name="broken"):
    """Make a machine on this host whose commands are changed on their way."""
    return Inner(Host(), name, wrap)


def script(text):
    return broken(lambda argv: ["sh", "-c", text, "sh", *argv])


class Unattended:
    """Waits no longer than it is told, and kills nothing."""

    name, ephemeral = "host/unattended", True

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        return Host().run(["setsid", *argv], stdin=stdin, timeout_s=timeout_s)


class Outside:
    """Says that it is the host."""

    name = "host"
    run = Host().run


NO_STATUS = script('"$@"; exit 0')
BREAKS = {
    "loses the status": (test_a_status_is_a_result, NO_STATUS),
    "fails always": (test_a_status_is_a_result, script("exit 7")),
    "merges streams": (test_streams_stay_apart, script('exec "$@" 2>&1')),
    "joins words": (test_words_arrive_as_they_were_given, script('exec sh -c "$*"')),
    "drops empty words": (
        test_words_arrive_as_they_were_given,
        broken(lambda argv: [word for word in argv if word]),
    ),
    "translates bytes": (test_bytes_survive_stdin_and_stdout, script("\"$@\" | tr -d '\\r'")),
    "has no stdin": (test_bytes_survive_stdin_and_stdout, script('exec "$@" < /dev/null')),
    "hides where it is": (test_a_failure_names_its_machine, Outside()),
}


@pytest.mark.parametrize("how", BREAKS)
def test_a_machine_that_breaks_a_promise_is_found(how):
    promise, machine = BREAKS[how]

    with pytest.raises(AssertionError):
        promise(machine)


def test_a_failure_without_its_status_is_found():
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_a_failure_names_its_machine(NO_STATUS)


def test_a_process_that_is_left_is_found():
    def at_once(condition):
        return condition()

    try:
        with pytest.raises(AssertionError):
            test_a_command_out_of_time_leaves_no_process(Unattended(), at_once)
    finally:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            if re.fullmatch(rb"sleep\x0043\d{6}\x00", path.read_bytes()):
                os.kill(int(path.parent.name), signal.SIGKILL)


class Instance(instance.Instance):
    """Says what it is told to say."""

    cpuset = "0"

    def __init__(self, inside, disk_cache):
        self.given, self.cache = inside, disk_cache

    def start(self):
        pass

    def ready(self):
        pass

    def inside(self):
        return self.given

    def disk_cache(self):
        return self.cache


ONE = script("echo 1")


def saying(cpus, memory_bytes, disk_cache=None, machine=ONE):
    return Stack(machine, "/", [Instance(Inside(cpus, memory_bytes), disk_cache)])


@pytest.mark.parametrize(
    "stack",
    [
        pytest.param(saying(2, 2**30), id="more CPUs"),
        pytest.param(saying(1, 2**30, machine=script("echo 2")), id="more CPUs than it says"),
        pytest.param(saying(1, 2**31), id="more memory"),
        pytest.param(saying(1, 2**29), id="less memory"),
        pytest.param(saying(1, 2**30, DiskCache.WRITEBACK), id="a disk that the host caches"),
    ],
)
def test_limits_that_are_not_kept_are_found(stack):
    with pytest.raises(AssertionError):
        test_limits_are_visible_inside(stack, "host")


def test_limits_that_are_kept_are_not_complained_about():
    test_limits_are_visible_inside(saying(1, 2**30), "host")
    test_limits_are_visible_inside(saying(1, 2**30, DiskCache.NONE), "host/qemu-tcg")


def test_memory_without_a_limit_is_found():
    with pytest.raises(AssertionError):
        test_more_memory_than_the_limit_cannot_be_had(
            ("host", None, None, []), script("exit 0"), layer.load("host")
        )


class Versions:
    versions = dict.fromkeys(("fio", "mbw", "sysbench"), "2")


def test_another_userland_is_found():
    with pytest.raises(AssertionError):
        test_the_userland_is_the_same_inside(script("echo fio 1"), Versions)
    with pytest.raises(AssertionError):
        test_the_tools_run_inside(script("echo sysbench 1"), Versions)


@pytest.mark.parametrize("workdir", ["/etc", "/nowhere", "/proc/self/task"])
def test_a_workdir_that_is_no_good_is_found(workdir):
    with pytest.raises((AssertionError, CommandFailed)):
        test_the_workdir_is_empty_and_can_be_written(Stack(Host(), workdir))


@pytest.mark.needs("root")
def test_a_pause_that_does_nothing_is_found(place, layers_of):
    stack = place.open(layers_of("host"))
    stack.instances[0].pause = lambda: None
    try:
        with pytest.raises(AssertionError):
            stands_still_when_paused(stack, stack.threads())
    finally:
        stack.close()


@pytest.mark.needs("root")
def test_threads_of_another_group_are_found(place, layers_of):
    stack = place.open(layers_of("host"))
    named = stack.threads()
    stack.instances[0].threads = lambda: Threads(cgroup=f"{named.cgroup}-other")
    try:
        with pytest.raises(AssertionError):
            test_threads_name_the_group_that_does_the_work(stack)
    finally:
        stack.close()
