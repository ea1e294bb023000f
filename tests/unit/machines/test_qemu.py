"""How QEMU is called, and what is made of what it and its tools answer."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from tare.core.completed import Completed
from tare.core.errors import ConfigError, LayerError, Unavailable
from tare.core.model import DiskCache, Limits
from tare.experiment.study import load_study
from tare.machines import layer
from tare.machines.backends import guest_disk as disk
from tare.machines.backends import qemu
from tare.machines.backends.qemu import Hardware
from tare.machines.layers._qemu_guest import Guest

LIMITS = Limits(cpus=2, memory_bytes=2**30)


def argv(accel="tcg", limits=LIMITS, **settings):
    return Hardware(**settings).argv("/run/tare-x", limits, accel, 20022)


def after(words, flag):
    return words[words.index(flag) + 1]


def devices(words):
    return [word for flag, word in pairwise(words) if flag == "-device"]


class Fake:
    """Answers by the first word, with success and silence for the rest."""

    name, ephemeral = "host", False

    def __init__(self, **answers):
        self.answers, self.asked = {"uname": (0, b"x86_64\n"), **answers}, []

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.asked.append((list(argv), stdin))
        word = argv[-1] if argv[0] == "sh" else argv[0]
        returncode, stdout = self.answers.get(word.replace("-", "_"), (0, b""))
        return Completed(tuple(argv), returncode, stdout, b"", 0.0)


@pytest.mark.parametrize(
    ("accel", "engine", "cpu"), [("tcg", "tcg,thread=multi", "max"), ("kvm", "kvm", "host")]
)
def test_the_accelerator_decides_the_cpu(accel, engine, cpu):
    assert (after(argv(accel), "-accel"), after(argv(accel), "-cpu")) == (engine, cpu)


def test_a_guest_gets_its_limits():
    words = argv(limits=Limits(cpus=3, memory_bytes=700 * 2**20))

    assert (after(words, "-smp"), after(words, "-m")) == ("3", "700M")


@pytest.mark.parametrize("mode", list(DiskCache))
def test_the_disk_is_cached_as_the_limits_say(mode):
    words = argv(limits=Limits(cpus=1, memory_bytes=2**30, disk_cache=mode))

    drive = f"if=none,id=disk,file=/run/tare-x/disk,format=qcow2,cache={mode}"
    assert after(words, "-drive") == drive


def test_a_guests_own_cache_takes_the_place_of_the_limits():
    limits = Limits(cpus=1, memory_bytes=2**30)

    assert layer.load("qemu-tcg").held_to(limits) == limits
    held = layer.load("qemu-tcg", cache="writeback").held_to(limits)
    assert held == replace(limits, disk_cache=DiskCache.WRITEBACK)


def test_nothing_of_the_user_or_of_qemu_is_added_to_the_guest():
    assert {"-nodefaults", "-no-user-config", "-daemonize"} <= set(argv())


def test_a_guest_that_resets_by_itself_ends_qemu_and_panics_reset_it():
    words = qemu.kernel_argv(Hardware(), "/k", "/i")

    assert after(words, "-action") == "reboot=shutdown"
    assert "panic=-1" in after(words, "-append").split()
    assert (after(words, "-kernel"), after(words, "-initrd")) == ("/k", "/i")


def test_the_guest_is_reached_on_the_loopback_only():
    assert after(argv(), "-netdev").endswith("hostfwd=tcp:127.0.0.1:20022-:22")


def test_all_files_lie_in_its_folder_and_bear_its_name():
    words = argv()

    assert after(words, "-pidfile") == "/run/tare-x/pid"
    assert "file,id=console,path=/run/tare-x/console,append=on" in words
    assert after(words, "-name") == "tare-x,debug-threads=on"


# --- hardware


@pytest.mark.parametrize(
    ("settings", "board", "shown", "root"),
    [
        ({}, "pc", ["virtio-blk-pci", "virtio-net-pci"], None),
        ({"machine": "q35", "network": "e1000"}, "q35", ["virtio-blk-pci", "e1000"], None),
        ({"machine": "microvm"}, "microvm", ["virtio-blk-device", "virtio-net-device"], None),
        ({"disk": "nvme"}, "pc", ["nvme", "virtio-net-pci"], "/dev/nvme0n1"),
        ({"disk": "ide"}, "pc", ["ide-hd", "virtio-net-pci"], "/dev/sda"),
        ({"disk": "sata"}, "pc", ["ahci", "ide-hd", "virtio-net-pci"], "/dev/sda"),
        ({"arch": "arm64"}, "virt", ["virtio-blk-pci", "virtio-net-pci"], None),
    ],
)
def test_settings_choose_the_devices_and_the_root(settings, board, shown, root):
    words = argv(**settings)
    append = Hardware(**settings).append.split()

    assert after(words, "-machine") == board
    assert [word.partition(",")[0] for word in devices(words)] == shown
    assert [w.partition("=")[2] for w in append if w.startswith("tare.root")] == [root] * bool(root)


def test_arm64_has_its_own_program_cpu_and_console():
    hardware = Hardware(arch="arm64")

    assert argv(arch="arm64")[0] == "qemu-system-aarch64"
    assert after(argv(arch="arm64"), "-cpu") == "max,pauth-impdef=on"
    assert {"console=ttyAMA0", "tare.console=/dev/ttyAMA0"} <= set(hardware.append.split())
    assert "tare.console" not in Hardware().append


def test_a_cpu_that_is_given_is_taken_under_any_accelerator():
    assert after(argv("tcg", cpu="Nehalem"), "-cpu") == "Nehalem"
    assert after(argv("kvm", cpu="host,-avx2"), "-cpu") == "host,-avx2"


def test_huge_pages_back_all_of_the_memory_and_are_taken_at_once():
    words = argv(hugepages=True)

    assert after(words, "-machine") == "pc,memory-backend=ram"
    backend = "memory-backend-memfd,id=ram,size=1024M,hugetlb=on,prealloc=on"
    assert after(words, "-object") == backend
    assert "-object" not in argv()


@pytest.mark.parametrize(
    ("settings", "flavour"),
    [
        ({}, "cloud"),
        ({"machine": "q35", "disk": "nvme"}, "cloud"),
        ({"kernel": "generic"}, "generic"),
        ({"network": "e1000"}, "generic"),
        ({"disk": "ide"}, "generic"),
        ({"disk": "sata"}, "generic"),
        ({"machine": "microvm"}, "generic"),
    ],
)
def test_the_kernel_has_the_drivers_for_the_hardware(settings, flavour):
    made = layer.load("kvm", **settings)

    assert made.system.kernel == flavour
    assert made.system.kernel_package == f"linux-image-{'cloud-' * (flavour == 'cloud')}amd64"


@pytest.mark.parametrize(
    ("name", "settings", "why"),
    [
        ("qemu-tcg", {"arch": "arm64", "machine": "q35"}, "machine: arm64"),
        ("qemu-tcg", {"disk": "ide", "machine": "q35"}, "disk: q35 has no IDE"),
        ("qemu-tcg", {"disk": "ide", "arch": "arm64"}, "disk: virt has no IDE"),
        ("kvm", {"disk": "nvme", "machine": "microvm"}, "microvm has no PCI"),
        ("qemu-tcg", {"machine": "microvm"}, "machine: .* no clock; expected pc or q35"),
        ("qemu-tcg", {"network": "e1000", "kernel": "cloud"}, "kernel: .* generic"),
        ("qemu-tcg", {"key": "/k"}, "image is missing"),
        ("qemu-tcg", {"image": "/i"}, "key is missing"),
        ("qemu-tcg", {"image": "i", "key": "/k"}, "image: .* path that begins with /"),
        ("kvm", {"image": "/i", "key": "/k", "machine": "microvm"}, "image: it boots by"),
        ("qemu-tcg", {"image": "/i", "key": "/k", "arch": "arm64"}, "image: it boots by"),
    ],
)
def test_hardware_that_cannot_be_is_refused_by_its_key(name, settings, why):
    with pytest.raises(ConfigError, match=why):
        layer.load(name, **settings)


@pytest.mark.parametrize(
    ("settings", "system"),
    [
        ({}, ""),
        ({"os": "trixie"}, "Debian trixie"),
        ({"arch": "arm64"}, ""),
        ({"image": "/a.img", "key": "/k"}, "the image /a.img"),
    ],
)
def test_another_system_is_named(settings, system):
    assert layer.load("qemu-tcg", **settings).own_system() == system


def test_another_architecture_is_told_whatever_is_nested_in_it():
    assert layer.load("qemu-tcg", arch="arm64").caveat().startswith("another architecture is com")
    assert layer.load("qemu-tcg").caveat() == ""


def test_the_packages_are_those_of_the_architecture():
    assert "qemu-system-x86" in layer.load("kvm").needs()
    arm = layer.load("qemu-tcg", arch="arm64", image="/i", key="/k", firmware="uefi").needs()
    assert {"qemu-system-arm", "qemu-efi-aarch64"} <= set(arm)
    assert "qemu-system-x86" not in arm


def test_the_study_of_the_host_os_compares_two_debians_under_one_userland():
    study = load_study("host-os")

    settings = [dict(dict(platform.layers)["qemu-tcg"]) for platform in study.platforms]
    assert [given["os"] for given in settings] == ["bookworm", "trixie"]
    assert {platform.stack for platform in study.platforms} == {"host/qemu-tcg/docker"}


MEMINFO = """MemTotal: 24000000 kB
HugePages_Total:     100
HugePages_Free:       80
HugePages_Rsvd:       30
Hugepagesize:       2048 kB
"""


def test_too_few_huge_pages_are_refused_with_the_number_that_is_enough():
    outer = Fake(cat=(0, MEMINFO.encode()))

    qemu.refuse_too_few_huge_pages(outer, 50 * 2**21)
    with pytest.raises(Unavailable, match="needs 51 huge pages, 50 are free on host") as refused:
        qemu.refuse_too_few_huge_pages(outer, 50 * 2**21 + 1)

    assert refused.value.fix == "sysctl vm.nr_hugepages=101"


def test_a_kernel_without_huge_pages_is_told():
    with pytest.raises(Unavailable, match="has no huge pages"):
        qemu.refuse_too_few_huge_pages(Fake(cat=(0, b"MemTotal: 1 kB\n")), 1)


# --- the monitor


def answers(*lines):
    greeting = {"QMP": {"version": {}}}
    event = {"event": "STOP"}
    said = [greeting, {"return": {}}, event, *lines]
    return Fake(socat=(0, "".join(f"{json.dumps(line)}\n" for line in said).encode()))


def instance(outer):
    made = object.__new__(Guest)
    made.outer, made.folder = outer, "/run/tare-x"
    made.site = type("Site", (), {"name": "tare-x"})
    return made


def test_commands_are_given_at_once_and_their_answers_waited_for():
    outer = answers({"return": {}}, {"return": {"status": "paused"}})

    found = qemu.tell(outer, "/m", ("set-action", {"reboot": "reset"}), ("query-status", {}))

    ((words, stdin),) = outer.asked
    assert [json.loads(line) for line in stdin.splitlines()] == [
        {"execute": "qmp_capabilities", "arguments": {}},
        {"execute": "set-action", "arguments": {"reboot": "reset"}},
        {"execute": "query-status", "arguments": {}},
    ]
    assert found == [{}, {"status": "paused"}]
    assert "-u" not in words, "QEMU drops what it has not read when the other end hangs up"


def test_pause_believes_the_status_alone():
    instance(answers({"return": {}}, {"return": {"status": "paused"}})).pause()
    with pytest.raises(LayerError, match="tare-x did not take 'cont': it is paused"):
        instance(answers({"return": {}}, {"return": {"status": "paused"}})).resume()


@pytest.mark.parametrize(
    ("outer", "why"),
    [
        (Fake(), "tare-x on host: QEMU did not take 'stop': it did not answer"),
        (Fake(socat=(1, b"")), "did not take 'stop"),
        (answers({"error": {"desc": "no such command"}}, {"return": {}}), "no such command"),
        (Fake(socat=(0, b"QEMU 7.2.22 monitor - type 'help'")), "it did not answer"),
    ],
)
def test_a_monitor_that_does_not_answer_is_an_error(outer, why):
    with pytest.raises(LayerError, match=why):
        instance(outer).pause()


# --- the probe


@pytest.mark.parametrize(
    ("missing", "fix"),
    [
        ("qemu_system_x86_64", "qemu-system-x86"),
        ("qemu_img", "qemu-utils"),
        ("socat", "apt-get install socat"),
    ],
)
def test_a_missing_tool_is_named_with_its_package(missing, fix):
    with pytest.raises(Unavailable) as refused:
        layer.load("qemu-tcg").probe(Fake(**{missing: (127, b"")}), None)

    assert missing.replace("_", "-").replace("x86-64", "x86_64") in refused.value.reason
    assert fix in refused.value.fix


def test_the_probe_tells_version_and_accelerator():
    outer = Fake(qemu_system_x86_64=(0, b"QEMU emulator version 7.2.22\nCopyright"))

    facts = layer.load("qemu-tcg").probe(outer, None)

    assert facts == {
        "qemu.version": "QEMU emulator version 7.2.22",
        "qemu.kernel": "linux-image-cloud-amd64",
        "qemu.accel": "tcg",
    }


def test_a_microvm_is_not_emulated_where_kvm_does_not_work():
    outer = Fake(qemu_system_x86_64=(0, b"QEMU 7\n"), test=(1, b""))

    with pytest.raises(Unavailable, match="no clock"):
        layer.load("qemu", machine="microvm").probe(outer, None)


def test_an_image_and_a_key_that_are_not_there_are_named():
    outer = Fake(qemu_system_x86_64=(0, b"QEMU 7\n"), test=(1, b""))

    with pytest.raises(Unavailable, match="there is no image /i on host") as refused:
        layer.load("qemu-tcg", image="/i", key="/k").probe(outer, None)

    assert refused.value.fix == "correct image: in the study"


def test_a_cpu_that_qemu_does_not_know_is_refused():
    outer = Fake(qemu_system_x86_64=(0, b"QEMU 7\nx86 Nehalem  Intel Core i7\n"))

    layer.load("qemu-tcg", cpu="Nehalem,+avx").probe(outer, None)
    with pytest.raises(Unavailable, match="knows no CPU Nehalen"):
        layer.load("qemu-tcg", cpu="Nehalen").probe(outer, None)


def test_without_kvm_auto_takes_emulation_and_kvm_refuses():
    outer = Fake(qemu_system_x86_64=(0, b"QEMU 7\n"), test=(1, b""))

    assert layer.load("qemu").probe(outer, None)["qemu.accel"] == "tcg"
    with pytest.raises(Unavailable, match="/dev/kvm is not there"):
        layer.load("kvm").probe(outer, None)


# --- the size of the disk

GIB = 2**30


def test_a_disk_of_another_size_is_made_above_the_image():
    outer = Fake()

    disk.make(outer, "/image", "/run/disk", 15 * GIB)
    disk.make(outer, "/image", "/run/disk", form="qcow2")

    (larger, _), (same, _) = outer.asked
    assert larger[-3:] == ["/image", "/run/disk", str(15 * GIB)]
    assert same[-2:] == ["/image", "/run/disk"]
    assert after(same, "-F") == "qcow2"


@pytest.mark.parametrize("name", ["kvm", "qemu-tcg", "qemu", "libvirt", "xen"])
def test_a_disk_is_no_smaller_than_the_image(name):
    assert layer.load(name, disk_size_bytes=15 * GIB).disk_size_bytes == 15 * GIB
    assert layer.load(name).disk_size_bytes is None
    with pytest.raises(ConfigError, match=r"disk_size_bytes: 4294967296 .* \(8GiB\) or more"):
        layer.load(name, disk_size_bytes=4 * GIB)


def test_only_what_is_made_here_has_a_size_to_choose():
    with pytest.raises(ConfigError, match="disk_size_bytes: the image has a size"):
        layer.load("qemu-tcg", image="/i", key="/k", disk_size_bytes=15 * GIB)
    with pytest.raises(ConfigError, match="disk_size_bytes: a container has no disk"):
        layer.load("libvirt", uri="lxc:///system", disk_size_bytes=15 * GIB)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((0, b"2064384 4096\n"), "has 7.9 GiB; disk_size asked for 15.0 GiB"),
        ((1, b""), "cannot grow its file system"),
        ((0, b""), "cannot grow its file system"),
    ],
)
def test_a_file_system_that_did_not_grow_is_told(answer, said):
    class Inside(Fake):
        def run(self, argv, **more):
            return Completed(tuple(argv), *answer, b"", 0.0)

    with pytest.raises(LayerError, match=said):
        disk.grow(Inside(), 15 * GIB, 10.0)


def test_a_file_system_that_grew_is_believed():
    class Inside(Fake):
        def run(self, argv, **more):
            return Completed(tuple(argv), 0, b"3870815 4096\n", b"", 0.0)

    disk.grow(Inside(), 15 * GIB, 10.0)


@pytest.mark.parametrize("name", ["kvm", "qemu-tcg"])
def test_what_cole2022_had_can_be_asked_for(name):
    made = layer.load(name, disk="ide", cpu="qemu64")

    assert (made.disk, made.cpu_model(made.accel)) == ("ide", "qemu64")
