"""Guests under QEMU: the hardware that settings choose, other systems, and QEMU killed at any time.

What every layer promises is in test_layer.py, test_leaving.py and test_verbs.py.
"""

import os
import shutil
import signal
import struct
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tare.core.errors import LayerError, LayerTimedOut, Unavailable
from tare.core.model import Limits
from tare.machines.ledger import Scope
from tare.machines.machine import await_true, check, put, text
from tare.machines.userland import foreign
from tare.machines.userland.cpio import archive

# Minutes of boots and kills: in `make test-real`; the promises themselves are in `make test`.
pytestmark = [pytest.mark.needs("qemu"), pytest.mark.slow]

LIMITS = Limits(cpus=1, memory_bytes=2**29)
START_S = 300.0


@contextmanager
def guest(place, layers_of, **settings):
    site = place.site(limits=LIMITS, deadline_s=START_S)
    stack = place.open(layers_of("host/qemu-tcg", **{"qemu-tcg": settings}), site)
    try:
        yield stack
    finally:
        stack.close()


def driver(machine, path):
    """Name the kernel's driver of a device."""
    return text(machine, ["sh", "-c", 'basename "$(readlink -f "$0/driver")"', path])


# --- hardware


def test_a_disk_of_another_size_is_all_file_system_and_stays_so(place, layers_of):
    wanted = 15 * 2**30
    with guest(place, layers_of, disk_size_bytes=wanted) as stack:
        machine, size = stack.machine, ["sh", "-c", "echo $(($(stat -f -c '%b * %S' /)))"]
        assert 0.9 * wanted < int(text(machine, size)) < wanted
        # It is sparse: what is not written takes no room.
        instance = stack.instances[-1]
        used = int(text(instance.outer, ["stat", "-c", "%b", f"{instance.folder}/disk"])) * 512
        assert used < 2**30
        instance.reboot(hard=True)
        instance.ready()
        assert 0.9 * wanted < int(text(machine, size)) < wanted


@pytest.mark.parametrize(
    ("settings", "of_disk", "disk", "of_network", "product"),
    [
        ({}, "virtio_blk", "vda", "virtio_net", "i440FX"),
        ({"machine": "q35", "disk": "sata", "network": "e1000"}, "sd", "sda", "e1000", "Q35"),
        ({"disk": "ide", "cpu": "Nehalem"}, "sd", "sda", "virtio_net", "i440FX"),
        ({"disk": "nvme"}, "nvme", "nvme0n1", "virtio_net", "i440FX"),
    ],
    ids=["default", "emulated", "ide", "nvme"],
)
def test_a_guest_sees_the_hardware_that_was_asked_for(
    place, layers_of, settings, of_disk, disk, of_network, product
):
    with guest(place, layers_of, **settings) as stack:
        machine = stack.machine
        device = "/sys/class/block/$0/device"
        if of_disk == "nvme":
            device += "/device"
        found = text(machine, ["sh", "-c", f'basename "$(readlink -f {device}/driver)"', disk])
        assert found == of_disk
        assert text(machine, ["awk", '$2 == "/" { print $1 }', "/proc/mounts"]) == f"/dev/{disk}"
        assert driver(machine, "/sys/class/net/eth0/device") == of_network
        shown = machine.run(["cat", "/sys/class/dmi/id/product_name"]).stdout.decode()
        assert product in shown
        if "cpu" in settings:
            assert "Nehalem" in get_cpu(machine)
        assert text(machine, ["sysbench", "--version"]).startswith("sysbench")
        before = text(machine, ["cat", "/proc/sys/kernel/random/boot_id"])
        stack.instances[-1].reboot(hard=True)
        stack.instances[-1].ready()
        assert text(machine, ["cat", "/proc/sys/kernel/random/boot_id"]) != before


def get_cpu(machine):
    return text(machine, ["grep", "-m1", "model name", "/proc/cpuinfo"])


def test_the_kernel_can_be_the_same_whatever_the_hardware(place, layers_of):
    with guest(place, layers_of, kernel="generic") as stack:
        assert "cloud" not in text(stack.machine, ["uname", "-r"])
        assert driver(stack.machine, "/sys/class/net/eth0/device") == "virtio_net"


def test_memory_comes_from_huge_pages_or_is_refused_with_what_fixes_it(
    place, layers_of, traces, settles
):
    known = Path("/proc/sys/vm/nr_hugepages")
    scope = Scope(place.ledger)
    restore = ["sh", "-c", 'echo "$0" > "$1"', known.read_text().strip(), str(known)]
    scope.about_to_make("huge pages", "nr_hugepages", place.host, restore)
    try:
        known.write_text("0")
        site = place.site(limits=LIMITS, deadline_s=START_S)
        layers = layers_of("host/qemu-tcg", **{"qemu-tcg": {"hugepages": True}})
        with pytest.raises(Unavailable, match="needs 256 huge pages, 0 are free") as refused:
            place.open(layers, site)
        assert traces(site.name) == []

        check(place.host, refused.value.fix.split())
        stack = place.open(layers, site)
        try:
            assert "HugePages_Free:        0" in Path("/proc/meminfo").read_text()
        finally:
            stack.close()
        assert settles(lambda: "HugePages_Free:      256" in Path("/proc/meminfo").read_text())
    finally:
        scope.close()


# --- other systems


@pytest.mark.slow
def test_another_debian_serves_containers_of_the_same_userland(place, layers_of):
    settings = {"qemu-tcg": {"os": "trixie"}}
    site = place.site(deadline_s=START_S)
    stack = place.open(layers_of("host/qemu-tcg/docker", **settings), site)
    try:
        host, container = stack.instances[0].machine, stack.machine
        release = ["sh", "-c", ". /etc/os-release && echo $VERSION_CODENAME"]
        assert (text(host, release), text(container, release)) == ("trixie", "bookworm")
        query = ["dpkg-query", "-W", "-f", "${Version}", "sysbench"]
        assert text(container, query) == place.userland.versions["sysbench"]
        assert text(host, query) != place.userland.versions["sysbench"]
        assert text(container, ["uname", "-r"]).startswith("6.12.")
    finally:
        stack.close()


@pytest.mark.slow
def test_another_architecture_runs_the_same_packages(place, layers_of):
    (of,) = layers_of("host/qemu-tcg", **{"qemu-tcg": {"arch": "arm64"}})
    try:
        of.probe(place.host, place.userland)
        foreign.able(place.host, "arm64")
    except Unavailable as error:
        pytest.skip(str(error))
    with guest(place, layers_of, arch="arm64") as stack:
        machine = stack.machine
        assert text(machine, ["uname", "-m"]) == "aarch64"
        query = ["dpkg-query", "-W", "-f", "${Architecture} ${Version}", "sysbench"]
        version = place.userland.versions["sysbench"].partition("+b")[0]
        assert text(machine, query).startswith(f"arm64 {version}")
        done = text(machine, ["sysbench", "cpu", "--events=5", "run"], timeout_s=120)
        assert "total number of events:              5" in done
        stack.instances[-1].stop()
        assert machine.run(["true"]).returncode != 0


# --- an image of one's own


SYSLINUX = """DEFAULT tare
LABEL tare
  KERNEL vmlinuz
  INITRD initrd
  APPEND console=ttyS0 quiet net.ifnames=0 tare.root=/dev/vda2
"""
MIB = 2**20
FAT_MIB = 64


def partition(flag, kind, start, count):
    """Make an entry of a partition table; what counts in it is in sectors."""
    return struct.pack("<B3xB3xII", flag, kind, start, count)


@pytest.fixture(scope="module")
def image(place, tmp_path_factory):
    """A disk with a bootloader of its own, and the key that opens it."""
    for tool, package in (("syslinux", "syslinux"), ("mformat", "mtools")):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed: apt-get install {package}")
    folder, known = tmp_path_factory.mktemp("image"), place.userland.guest(place.host)
    disk = folder / "own.img"

    def run(*argv, stdin=b""):
        check(place.host, [str(word) for word in argv], stdin=stdin, timeout_s=300)

    start, root = MIB // 512, (1 + FAT_MIB) * MIB // 512
    run("truncate", "-s", f"{1 + FAT_MIB + 8192 + 1}M", disk)
    fat = f"{disk}@@{MIB}"
    run("mformat", "-i", fat, "-T", FAT_MIB * MIB // 512, "-h", "255", "-s", "63", "-H", start)
    (folder / "syslinux.cfg").write_text(SYSLINUX)
    run("mcopy", "-i", fat, folder / "syslinux.cfg", known.kernel, known.initrd, "::")
    run("syslinux", "--offset", MIB, "--install", disk)
    with disk.open("r+b") as file:
        file.write(Path("/usr/lib/syslinux/mbr/mbr.bin").read_bytes()[:440])
        file.seek(446)
        file.write(partition(0x80, 0x0C, start, FAT_MIB * MIB // 512))
        file.write(partition(0, 0x83, root, 8192 * MIB // 512) + bytes(32) + b"\x55\xaa")
    run("dd", f"if={known.disk}", f"of={disk}", "bs=1M", f"seek={1 + FAT_MIB}",
        "conv=notrunc,sparse", "status=none")  # fmt: skip
    for name, its_signal in (("poweroff", "TERM"), ("reboot", "INT")):
        (folder / name).write_text(f"#!/bin/sh\nkill -{its_signal} 1\n")
        write = f"write {folder}/{name} /usr/sbin/{name}\nsif /usr/sbin/{name} mode 0100755\n"
        run("debugfs", "-w", f"{disk}?offset={root * 512}", stdin=write.encode())
    return {"image": str(disk), "key": str(known.key)}


@pytest.mark.slow  # a loader that reads through emulated devices takes a minute
def test_an_image_of_ones_own_boots_by_its_own_loader_and_takes_all_verbs(place, layers_of, image):
    before = Path(image["image"]).stat().st_mtime_ns
    with guest(place, layers_of, **image) as stack:
        (instance,), machine = stack.instances, stack.machine
        assert "BOOT_IMAGE=vmlinuz" in text(machine, ["cat", "/proc/cmdline"])
        assert text(machine, ["ls", "-A", stack.workdir]) == ""
        put(machine, b"kept", f"{stack.workdir}/kept")
        for again in (instance.reboot, lambda: instance.reboot(hard=True), instance.stop):
            check(machine, ["sync"])
            boot = text(machine, ["cat", "/proc/sys/kernel/random/boot_id"])
            again()
            if again == instance.stop:
                assert machine.run(["true"], timeout_s=5).returncode != 0
                instance.start()
            instance.ready()
            assert text(machine, ["cat", "/proc/sys/kernel/random/boot_id"]) != boot
            assert text(machine, ["cat", f"{instance.workdir}/kept"]) == "kept"
    assert Path(image["image"]).stat().st_mtime_ns == before, "the image itself is only read"


@pytest.mark.slow  # a loader that reads through emulated devices takes a minute
def test_an_image_that_does_not_know_the_key_says_so(place, layers_of, image, traces, tmp_path):
    key = str(tmp_path / "stranger")
    check(place.host, ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key])
    site = place.site(limits=LIMITS, deadline_s=START_S)

    with pytest.raises(LayerTimedOut, match=r"(?s)did not let root in .*Permission denied"):
        place.open(layers_of("host/qemu-tcg", **{"qemu-tcg": image | {"key": key}}), site)

    assert traces(site.name) == []


@pytest.mark.slow  # a loader that reads through emulated devices takes a minute
@pytest.mark.parametrize("size", [0, 2**21], ids=["empty", "blank"])
def test_an_image_without_a_system_is_given_up(place, layers_of, traces, tmp_path, size):
    disk, key = tmp_path / "disk", tmp_path / "key"
    disk.write_bytes(b"\0" * size)
    check(place.host, ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)])
    site = place.site(limits=LIMITS, deadline_s=3)
    settings = {"image": str(disk), "key": str(key)}

    with pytest.raises(LayerTimedOut, match="has no sshd that answers within 3 s"):
        place.open(layers_of("host/qemu-tcg", **{"qemu-tcg": settings}), site)

    assert traces(site.name) == []


def test_an_image_that_is_not_there_is_named(place, layers_of, traces, tmp_path):
    site = place.site()
    settings = {"image": f"{tmp_path}/nowhere.qcow2", "key": f"{tmp_path}/key"}

    with pytest.raises(Unavailable, match=r"there is no image .*/nowhere\.qcow2 on host"):
        place.open(layers_of("host/qemu-tcg", **{"qemu-tcg": settings}), site)

    assert traces(site.name) == []


# --- killed


def kill(instance):
    os.kill(int(Path(instance.folder, "pid").read_text()), signal.SIGKILL)


def killed_while(instance, verb, seen):
    """Kill QEMU as soon as something is seen while a verb is done; give what it raises."""

    def killer():
        assert await_true(seen, timeout_s=START_S, every_s=0.01)
        kill(instance)

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        with pytest.raises(LayerError) as raised:
            verb()
    finally:
        thread.join()
    return str(raised.value)


@pytest.fixture
def made(place, layers_of):
    """One instance, made and not yet started, and its name."""
    (of,) = layers_of("host/qemu-tcg")
    site = place.site(limits=LIMITS, deadline_s=START_S)
    yield of.create(place.host, site)
    site.scope.close()


def console(instance):
    at = Path(instance.folder, "console")
    return at.read_text(errors="replace") if at.exists() else ""


def test_qemu_killed_while_it_boots_is_told_at_once(made, traces, settles):
    made.start()

    why = killed_while(made, made.ready, lambda: made.process.lives())

    assert "ended while it booted; its console ends:" in why
    assert made.site.name in why
    made.site.scope.close()
    assert settles(lambda: not traces(made.site.name)), traces(made.site.name)


def test_qemu_killed_during_verbs_and_commands(made, traces, settles):
    made.start()
    made.ready()

    done = []
    command = threading.Thread(
        target=lambda: done.append(made.machine.run(["sleep", "600"], timeout_s=610))
    )
    command.start()
    busy = ["sh", "-c", "grep -lz '^600$' /proc/[0-9]*/cmdline"]
    assert await_true(lambda: made.machine.run(busy).returncode == 0, timeout_s=60)
    kill(made)
    command.join(timeout=60)
    assert not command.is_alive(), "a command in a guest that is gone is not waited for"
    assert done[0].returncode != 0
    assert not done[0].timed_out

    for verb in (made.pause, made.stop, made.reboot, lambda: made.reboot(hard=True)):
        with pytest.raises(LayerError, match=made.site.name):
            verb()
    made.stop(hard=True)  # what is gone needs no power

    made.start()
    made.ready()
    # The last command of a guest that powers itself off only says so, and waits.
    put(made.machine, b"#!/bin/sh\necho 'tare: ending' > /dev/ttyS0\nexec sleep 600\n", "/run/end")
    check(made.machine, ["sh", "-c", "chmod 755 /run/end && cp --remove-destination /run/end $0",
                         "/usr/bin/busybox"])  # fmt: skip
    why = killed_while(made, made.stop, lambda: "tare: ending" in console(made))
    assert "ended before the guest was off" in why
    made.site.scope.close()
    assert settles(lambda: not traces(made.site.name)), traces(made.site.name)


def test_a_guest_that_hangs_is_given_up_at_its_deadline(place, layers_of, traces, tmp_path):
    init = b"#!/bin/busybox sh\nwhile :; do /bin/busybox sleep 1; done\n"

    class Hangs:
        def guest(self, machine, *system):
            known = place.userland.guest(machine, *system)
            for path in known.folder.iterdir():
                (tmp_path / path.name).symlink_to(path)
            (tmp_path / "initrd").unlink()
            # Of two archives in a row the kernel takes the files of the later one.
            initrd = known.initrd.read_bytes() + archive({"init": init})
            (tmp_path / "initrd").write_bytes(initrd)
            return replace(known, folder=tmp_path)

    site = place.site(userland=Hangs(), deadline_s=5)
    with pytest.raises(LayerTimedOut, match="did not come up within 5 s"):
        place.open(layers_of("host/qemu-tcg"), site)
    assert traces(site.name) == []
