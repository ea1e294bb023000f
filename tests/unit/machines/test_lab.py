"""How a lab is booted, shared, left standing still, and removed whatever state it is in."""

import fcntl
import json
import subprocess
from pathlib import Path

import pytest

from tare import cli
from tare.core.completed import Completed
from tare.core.errors import LayerError, Unavailable
from tare.core.home import home
from tare.core.model import DiskCache, Limits
from tare.experiment.study import read_study
from tare.machines import layer
from tare.machines.backends import lab as engine
from tare.machines.backends.lab_boot import start_argv
from tare.machines.backends.lab_machine import HYPERVISORS, LIVES, UNDO, Lab
from tare.machines.cgroup import cgroup
from tare.machines.instance import Instance
from tare.machines.layers import lab as lab_layer
from tare.machines.ledger import Ledger, Scope, leftovers
from tare.machines.machine import Host
from tare.machines.network.tap import Tap
from tare.machines.stack import Stack
from tare.machines.userland import kvm
from tare.machines.userland.lab import Image

IMAGE = Image(Path("/cache/lab/1a2b"), {})
SHELVES = {"userland": "/cache/userland", "guest": "/cache/guest"}

CABLE = Tap("tarex", "198.18.128.0", "198.18.128.1")


def argv(hypervisor="kvm"):
    return start_argv(IMAGE, "/run/tare-x", hypervisor, 20022, "tarex", SHELVES)


def after(words, flag):
    return words[words.index(flag) + 1]


class Fake:
    """A host whose QEMU does what its monitor is told; the rest succeeds in silence."""

    name, ephemeral = "host", False

    def __init__(self, obeys=True, lives=True):
        self.obeys, self.lives, self.asked, self.status = obeys, lives, [], "running"

    def host_argv(self, argv):
        return ["on-host", *argv]

    def undo_argv(self, argv):
        return ["on-host", *argv]

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        out, code = b"", 0
        if argv[0] == "socat":
            told = [json.loads(line)["execute"] for line in stdin.splitlines()]
            for word in told:
                self.status = {"stop": "paused", "cont": "running"}.get(word, self.status)
            answers = [{"return": {"status": self.status if self.obeys else "odd"}} for _ in told]
            out = "".join(f"{json.dumps(line)}\n" for line in answers).encode()
        elif LIVES in argv:
            code = 0 if self.lives else 1
        else:
            self.asked.append((list(argv), self.status, timeout_s))
        return Completed(tuple(argv), code, out, b"", 0.0)


def lab_on(outer):
    return Lab(outer, "kvm", "/run/tare-x", "tare/tare-x", 20022, "/run/s.ssh", CABLE)


# --- how it is booted


def test_it_never_uses_the_kvm_of_the_host():
    assert after(argv(), "-accel").startswith("tcg,")
    assert "kvm" not in argv()


def test_its_cpu_offers_what_a_hypervisor_needs():
    for hypervisor in HYPERVISORS:
        assert {"+svm", "+npt"} <= set(after(argv(hypervisor), "-cpu").split(","))


def test_under_xen_the_cpu_lacks_what_qemu_emulates_wrongly():
    lacks = {"-smap", "-smep", "-monitor", "-rdtscp"}

    assert lacks <= set(after(argv("xen"), "-cpu").split(","))
    assert not lacks & set(after(argv("kvm"), "-cpu").split(","))


def test_linux_boots_itself_and_loads_kvm():
    words = argv("kvm")

    assert after(words, "-kernel") == "/cache/lab/1a2b/vmlinuz"
    assert after(words, "-initrd") == "/cache/lab/1a2b/initrd"
    assert {"console=ttyS0", "modules_load=kvm_amd"} <= set(after(words, "-append").split())


def test_xen_boots_with_linux_as_its_dom0():
    words = argv("xen")
    dom0, initrd = after(words, "-initrd").rsplit(",", 1)

    assert after(words, "-kernel") == "/cache/lab/1a2b/xen"
    assert dom0.split()[0] == "/cache/lab/1a2b/vmlinuz"
    assert "console=hvc0" in dom0.split()
    assert "," not in dom0, "a comma ends a multiboot module"
    assert initrd == "/cache/lab/1a2b/initrd"
    assert "dom0_mem=2048M,max:2048M" in after(words, "-append").split()


def test_a_panic_ends_it():
    for hypervisor in HYPERVISORS:
        words = argv(hypervisor)
        assert "-no-reboot" in words
        assert "panic=-1" in " ".join(words)


def test_it_reads_the_cache_of_the_host_and_can_change_nothing_there():
    shared = [word for word in argv() if word.startswith("local,")]

    assert [word.split(",")[2] for word in shared] == ["path=/cache/userland", "path=/cache/guest"]
    assert all(word.endswith("readonly=on") for word in shared)
    assert "virtio-9p-pci,fsdev=guest,mount_tag=guest" in argv()


def test_its_disk_is_no_second_cache():
    assert after(argv(), "-drive").endswith("cache=none")


def test_it_is_reached_on_the_loopback_only():
    assert after(argv(), "-nic").endswith("hostfwd=tcp:127.0.0.1:20022-:22")


def test_without_memory_for_it_there_is_none(tmp_path):
    class Small(Fake):
        def run(self, argv, **_):
            return Completed(tuple(argv), 0, b"1024\n", b"", 0.0)

    with pytest.raises(Unavailable, match="1024 MiB are available on host"):
        engine.boot(Small(), None, "kvm", "tare-x", "/run/tare-x", "tarex")


def test_a_lab_is_opened_on_this_host_only():
    with pytest.raises(Unavailable, match="on the controlling host, not on host/far"):
        layer.load("lab").probe(type("Far", (Fake,), {"name": "host/far"})(), None)


def test_reports_are_told():
    told = layer.load("lab").caveat()

    assert "emulated by QEMU TCG" in told
    assert "say nothing about hardware" in told
    assert layer.load("host").caveat() == ""


STUDY = """
name: small
platforms:
  - lab
  - lab/kvm/docker
  - { stack: lab/host, lab: { hypervisor: xen } }
baseline: lab
limits: { cpus: 1, memory: 1 GiB }
workloads: [sysbench_cpu]
"""


def test_a_stack_may_begin_with_it():
    read = read_study(STUDY, "study.yaml")

    assert [platform.stack for platform in read.platforms] == ["lab", "lab/kvm/docker", "lab/host"]
    names = [[name for name, _ in platform.layers] for platform in read.platforms]
    assert names == [["lab"], ["lab", "kvm", "docker"], ["lab", "host"]]
    hypervisors = [dict(platform.layers[0][1])["hypervisor"] for platform in read.platforms]
    assert hypervisors == ["kvm", "kvm", "xen"]


# --- how it is shared


def test_it_stands_still_unless_somebody_uses_it():
    outer = Fake()
    lab = lab_on(outer)

    lab.take("one")
    lab.take("two")
    lab.drop("one")
    assert outer.status == "running"
    lab.drop("two")
    assert outer.status == "paused"


def test_a_command_lets_it_go_on_for_as_long_as_it_runs():
    outer = Fake()
    lab = lab_on(outer)
    lab.drop("nobody")

    assert lab.machine.run(["true"]).returncode == 0

    ((ssh, status, _),) = outer.asked
    assert (ssh[0], status) == ("ssh", "running")
    assert outer.status == "paused"


def test_a_status_that_is_not_what_was_asked_for_is_an_error():
    with pytest.raises(LayerError, match="did not take 'stop': it is odd"):
        lab_on(Fake(obeys=False)).drop("nobody")


def test_a_lab_that_is_gone_answers_like_any_machine_that_is_gone():
    done = lab_on(Fake(obeys=False)).machine.run(["true"])

    assert done.returncode == 255
    assert b"the lab did not take" in done.stderr


def test_only_what_is_undone_later_leaves_the_lab_standing_still():
    machine = lab_on(Fake()).machine

    assert any("tell stop" in word for word in machine.undo_argv(["true"]))
    assert not any("tell stop" in word for word in machine.host_argv(["true"]))


def test_what_is_held_keeps_its_name_and_its_machine():
    lab = lab_on(Fake())

    held = lab.machine.held(cgroup.Group(lab.machine, "tare/y"))

    assert held.name == lab.machine.name == "host/lab"
    assert "tare/y" in held.undo_argv(["true"])[-1]


class Told(Instance):
    def __init__(self, name, shared, log):
        self.called, self.shared, self.log = name, shared, log

    start = ready = None

    def pause(self):
        self.log.append(f"pause {self.called}")

    def resume(self):
        self.log.append(f"resume {self.called}")


Told.__abstractmethods__ = frozenset()


@pytest.mark.parametrize(
    ("shared", "paused"),
    [
        ([True, False, False], ["pause 1", "pause 0"]),
        ([False, True, False], ["pause 0"]),
        ([True], ["pause 0"]),
    ],
)
def test_a_stack_in_a_shared_machine_is_held_by_the_layer_inside(shared, paused):
    log = []
    instances = [Told(str(depth), each, log) for depth, each in enumerate(shared)]
    stack = Stack(Fake(), instances=instances)

    stack.pause()
    assert log == paused
    log.clear()
    stack.resume()
    assert log == [line.replace("pause", "resume") for line in reversed(paused)]


# --- how it is undone


@pytest.mark.parametrize("pid", [None, "1", "999999999"])
def test_in_a_lab_that_is_gone_there_is_nothing_to_undo(tmp_path, pid):
    if pid:
        (tmp_path / "pid").write_text(pid)
    undo = ["sh", "-c", UNDO, str(tmp_path), "tare/no-such-group", "false"]

    assert subprocess.run(undo, check=False).returncode == 0


def test_what_is_written_in_a_ledger_can_be_run_without_the_lab(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    Scope(ledger).about_to_make("thing", "x", lab_on(Fake()).machine, ["rm", "x"])
    ledger.close()

    (left,) = leftovers(tmp_path / "ledger")

    assert left.undo[:4] == ("on-host", "sh", "-c", UNDO)
    assert left.undo[4:6] == ("/run/tare-x", "tare/tare-x")


# --- labs that are up on purpose


@pytest.fixture
def at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("TARE_HOME", str(tmp_path))
    return tmp_path


def refusing(*_):
    raise LayerError("it will not")


def booting(made):
    def boot(outer, scope, hypervisor, name, folder, device):
        remove = ["rm", "-rf", folder]
        scope.about_to_make("folder", folder, outer, remove)
        Path(folder).mkdir()
        made.append((home() / "ledgers" / "lab-kvm").exists())
        cable = Tap(device, "198.18.128.0", "198.18.128.1")
        return Lab(Fake(), hypervisor, folder, f"tare/{name}", 20022, f"{folder}/ssh", cable)

    return boot


def test_nothing_is_up_at_first(at_home, capsys):
    assert engine.find("kvm") is None
    assert cli.main(["lab", "status"]) == cli.NOT_ALL_OK
    assert capsys.readouterr().out == "kvm: none\nxen: none\n"
    assert cli.main(["lab", "down"]) == cli.DONE


def test_a_lab_that_is_half_made_is_for_tare_clean_and_one_that_is_up_is_not(at_home, monkeypatch):
    made = []
    monkeypatch.setattr(engine, "boot", booting(made))

    kept = engine.keep("kvm")

    assert made == [True]
    assert list((at_home / "ledgers").iterdir()) == []
    found = engine.find("kvm")
    assert (found.folder, found.group, found.port) == (kept.folder, kept.group, kept.port)


def test_a_lab_that_does_not_come_up_leaves_nothing(at_home, monkeypatch):
    monkeypatch.setattr(engine, "boot", refusing)

    with pytest.raises(LayerError, match="it will not"):
        engine.keep("kvm")

    assert engine.find("kvm") is None
    assert list((at_home / "ledgers").iterdir()) == []


def test_down_removes_a_lab_that_died_and_twice(at_home, monkeypatch, capsys):
    monkeypatch.setattr(engine, "boot", booting([]))
    folder = Path(engine.keep("kvm").folder)
    assert cli.main(["lab", "status", "--json"]) == cli.NOT_ALL_OK
    assert json.loads(capsys.readouterr().out) == {"kvm": "dead", "xen": "none"}

    assert cli.main(["lab", "down"]) == cli.DONE
    assert cli.main(["lab", "down"]) == cli.DONE

    assert not folder.exists()
    assert list((at_home / "labs").iterdir()) == []
    assert capsys.readouterr().out == f"removed folder {folder}\n"


def test_nobody_takes_it_down_while_a_session_measures(at_home, capsys):
    with (at_home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert cli.main(["lab", "down"]) == cli.CANNOT
    assert "it may be using the lab" in capsys.readouterr().err


def test_there_is_no_shell_without_a_lab(at_home, capsys):
    assert cli.main(["lab", "shell"]) == cli.CANNOT
    assert "no lab is up; fix: tare lab up" in capsys.readouterr().err


def test_a_person_gets_a_terminal_and_a_command_gets_none():
    connection = lab_on(Host()).connection

    assert "-t" in connection.shell_argv([])
    assert connection.shell_argv(["xl", "a b"])[-2:] == ["--", "xl 'a b'"]
    assert "-t" not in connection.shell_argv(["true"])


# --- KVM is tried there


class WithGuest:
    def guest(self, machine, system):
        return type("Guest", (), {"kernel": "vmlinuz", "initrd": "initrd"})


class Kvm(Fake):
    def __init__(self, boot_id):
        super().__init__()
        self.boot_id, self.tried = boot_id, []

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        if argv[0].startswith("qemu"):
            self.tried.append(timeout_s)
        out = {"cat": self.boot_id, "uname": b"x86_64\n"}.get(argv[0], b"tare: probe ok\n")
        return Completed(tuple(argv), 0, out, b"", 0.0)


def test_a_machine_that_may_be_emulated_has_longer_to_show_its_kvm_and_is_asked_once():
    outer = Kvm(b"one boot")

    assert kvm.usable(outer, WithGuest()) is None
    assert kvm.usable(outer, WithGuest()) is None

    assert outer.tried == [kvm.NESTED_PROBE_S]
    assert kvm.NESTED_PROBE_S > kvm.PROBE_S


def test_whoever_has_a_deadline_can_give_it():
    outer = Kvm(b"another boot")

    kvm.usable(outer, WithGuest(), 300.0)

    assert outer.tried == [300.0]


# --- limits


@pytest.mark.parametrize(
    ("hypervisor", "cpus", "cpuset"),
    [("kvm", 1, "1"), ("kvm", 2, "0,1"), ("xen", 1, "0"), ("xen", 2, "0")],
)
def test_it_gives_the_last_of_its_cpus(hypervisor, cpus, cpuset):
    lab = lab_on(Fake())
    lab.hypervisor = hypervisor
    site = type("Site", (), {"limits": Limits(cpus=cpus, memory_bytes=2**30), "name": "tare-x"})
    instance = lab_layer.Instance(lab, site)

    assert instance.cpuset == cpuset
    assert instance.disk_cache() is DiskCache.NONE
    assert instance.threads().cgroup == "tare/tare-x"
