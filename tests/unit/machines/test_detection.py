"""What detection makes of what machines print: recorded, or made up from documentation."""

from pathlib import Path

import pytest

from tare.core.errors import CommandFailed
from tare.core.model import Limits
from tare.experiment.run.instance_checks import check
from tare.experiment.run.instance_set import InstanceSet, Member
from tare.experiment.study import Platform
from tare.machines import detection
from tare.machines.cgroup.readback import Inside
from tare.machines.detection import Declared, Detected, disagreements
from tare.machines.detection.script import CLOCKS, DMI
from tare.machines.machine import Host
from tare.machines.stack import Stack
from unit.fakes import Printing

RECORDED = Path(__file__).parent / "detection"
"""Printed by SCRIPT, on a Firecracker micro-VM and in what was started on it; only equal lines for
more controllers of the cgroup are left out."""

FLAG = "/proc/cpuinfo:hypervisor flag: yes\n"
NO_FLAG = "/proc/cpuinfo:hypervisor flag: no\n"
NS = "/proc/self/ns:"
FIRST = f"{NS}pid:[4026531836]\n{NS}user:[4026531837]\n{NS}uts:[4026531838]\n"
OWN = f"{NS}pid:[4026532181]\n{NS}user:[4026531837]\n{NS}uts:[4026532179]\n"
ID = "833626cde0990516de986ad39f24fce6c4a29fbb3dc87c0bdfa0b5feb6744cc0"


def recorded(name):
    return detection.read((RECORDED / f"{name}.txt").read_text())


def names(stack):
    return "/".join(step.layer for step in stack)


def evidence(stack):
    return "\n".join(said for step in stack for said in step.evidence)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("host", "unknown > KVM (Firecracker micro-VM)"),
        ("chroot", "unknown > KVM (Firecracker micro-VM) > chroot"),
        # Docker hides the ACPI tables; that there is no DMI table shows all the same.
        ("docker", "unknown > KVM (micro-VM) > Docker"),
        ("podman", "unknown > KVM (micro-VM) > Podman"),
        ("lxc", "unknown > KVM (Firecracker micro-VM) > LXC"),
        ("nspawn", "unknown > KVM (Firecracker micro-VM) > systemd-nspawn"),
        ("bubblewrap", "unknown > an unnamed hypervisor > bubblewrap"),  # without /sys
        ("bubblewrap-mounts-only",
         "unknown > an unnamed hypervisor > namespaces of its own (mnt)"),
        ("gvisor", "unknown > an unnamed hypervisor > gVisor"),
        ("docker-gvisor", "unknown > an unnamed hypervisor > gVisor (run by Docker)"),
        ("qemu-tcg-gvisor", "unknown > QEMU > gVisor"),
        ("uml", "unknown > an unnamed hypervisor > user-mode Linux"),
        ("qemu-tcg", "unknown > QEMU without KVM (TCG)"),
        ("qemu-tcg-docker", "unknown > QEMU without KVM (TCG) > Docker"),
        ("qemu-arm64", "unknown > QEMU"),  # where KVM would not show either
        ("qemu-tcg-lxc", "unknown > QEMU without KVM (TCG) > LXC"),
        # Its root is a copied image with /.dockerenv in it.
        ("unshare", "unknown > KVM (Firecracker micro-VM) > an unnamed engine"),
    ],
)  # fmt: skip
def test_a_recorded_machine_is_told_whole(name, expected):
    stack = recorded(name)
    assert detection.summary(stack) == expected
    assert all(step.evidence for step in stack)


def test_every_recording_is_tested():
    (mark,) = test_a_recorded_machine_is_told_whole.pytestmark
    assert {path.stem for path in RECORDED.iterdir()} == {case[0] for case in mark.args[1]}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("host", "cpuid: the hypervisor signs as KVMKVMKVM"),
        ("host", "ACPI tables made by: FIRECKFCVMFADT"),
        ("host", "no container: the namespaces are the kernel's first"),
        ("docker", "clock sources: tsc kvm-clock"),
        ("docker", "pid:[40265321"),
        ("docker", "root/overlay2/l/"),
        ("docker", "/.dockerenv is there"),
        ("docker", "system calls are filtered"),
        ("podman", "cgroup: /libpod_parent/libpod-"),
        ("lxc", "environment: container=lxc"),
        ("nspawn", "/run/host/container-manager: container=systemd-nspawn"),
        ("bubblewrap", "process 1 is bwrap"),
        ("gvisor", "as gVisor always has it: Linux version 4.4.0 #1 SMP Sun Jan 10"),
        ("uml", "User Mode Linux, on Linux vm 6.18"),
        ("qemu-tcg", "DMI: QEMU Standard PC (i440FX + PIIX, 1996)"),
    ],
)
def test_a_step_tells_what_it_rests_on(name, said):
    assert said in evidence(recorded(name))


# None of these machines was at hand: the lines are MADE UP from the documentation of the kernel
# (Documentation/ABI/stable/sysfs-hypervisor-xen), of the products, and of systemd-detect-virt.
MADE_UP = {
    "bare": NO_FLAG + FIRST + f"{DMI}/sys_vendor:Dell Inc.\n{DMI}/product_name:PowerEdge R640\n",
    "bare in a cloud": NO_FLAG + f"{DMI}/sys_vendor:Amazon EC2\n{DMI}/product_name:c5.metal\n",
    "arm board": FIRST + "/proc/device-tree/compatible:raspberrypi,4-model-bbrcm,bcm2711\n",
    "nothing": "",
    "EC2": f"{FLAG}{CLOCKS}:kvm-clock tsc\n{DMI}/sys_vendor:Amazon EC2\n"
    f"{DMI}/product_name:m5.large\n",
    "QEMU with KVM": f"{FLAG}{CLOCKS}:kvm-clock tsc\n{DMI}/sys_vendor:QEMU\n"
    f"{DMI}/product_name:Standard PC (Q35 + ICH9, 2009)\n",
    "TCG by cpuid": f"{FLAG}/dev/cpu/0/cpuid:TCGTCGTCGTCG\n",
    "TCG of another CPU": f"{FLAG}{CLOCKS}:tsc hpet acpi_pm\n{DMI}/sys_vendor:QEMU\n",
    "arm64 guest": "/proc/device-tree/compatible:linux,dummy-virt\n",
    "arm64 KVM": "/proc/device-tree/hypervisor/compatible:linux,kvm\n",
    "Cloud Hypervisor": f"{FLAG}{CLOCKS}:kvm-clock tsc\n{DMI}/sys_vendor:Cloud Hypervisor\n"
    f"{DMI}/product_name:cloud-hypervisor\n",
    "old Firecracker": f"{FLAG}{CLOCKS}:kvm-clock tsc\n/sys/class:there\n"
    "/sys/bus/virtio/devices/virtio0:there\n",
    "Kata": f"{FLAG}{CLOCKS}:kvm-clock\n{OWN}mount:/{ID}/rootfs / rw - virtiofs kataShared rw\n"
    f"/proc/self/cgroup:0::/kubepods/besteffort/pod1/{ID}\n",
    "VMware": f"{FLAG}{DMI}/sys_vendor:VMware, Inc.\n{DMI}/product_name:VMware Virtual Platform\n",
    "VirtualBox": f"{FLAG}{DMI}/sys_vendor:innotek GmbH\n{DMI}/product_name:VirtualBox\n",
    "Hyper-V": f"{FLAG}/dev/cpu/0/cpuid:Microsoft Hv\n{CLOCKS}:hyperv_clocksource_tsc_page\n"
    f"{DMI}/sys_vendor:Microsoft Corporation\n{DMI}/product_name:Virtual Machine\n",
    "KVM that imitates Hyper-V": f"{FLAG}/dev/cpu/0/cpuid:Microsoft Hv\n"
    "/dev/cpu/0/cpuid:KVMKVMKVM\n",
    "Xen PV": f"{FLAG}/sys/hypervisor/type:xen\n/sys/hypervisor/guest_type:PV\n{CLOCKS}:xen tsc\n",
    "Xen HVM": f"{FLAG}/sys/hypervisor/type:xen\n/sys/hypervisor/guest_type:HVM\n"
    f"{DMI}/sys_vendor:Xen\n{DMI}/product_name:HVM domU\n",
    "Xen dom0": f"{FLAG}/sys/hypervisor/type:xen\n/sys/hypervisor/guest_type:PV\n"
    f"/sys/hypervisor/properties/features:00002f05\n{DMI}/sys_vendor:Dell Inc.\n",
    "Xen dom0 in QEMU": f"{FLAG}/sys/hypervisor/type:xen\n/proc/xen/capabilities:control_d\n"
    f"{DMI}/sys_vendor:QEMU\n",
    "WSL2": f"{FLAG}{OWN}/run/WSL:there\n"
    "/proc/version:Linux version 5.15.153.1-microsoft-standard-WSL2\n",
    "pod": f"{NO_FLAG}{OWN}/proc/self/cgroup:0::/kubepods.slice/cri-containerd-{ID}.scope\n"
    f"mount:/var/lib/kubelet/pods/1-2/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n",
    "docker by cgroup": f"{NO_FLAG}{OWN}/proc/self/cgroup:0::/docker/{ID}\n",
    "bubblewrap in docker": f"{NO_FLAG}{OWN}/proc/1/comm:bwrap\n"
    f"/proc/self/cgroup:0::/docker/{ID}\n",
    "docker in lxc": f"{NO_FLAG}{OWN}/proc/self/cgroup:0::/lxc.payload.box/docker/{ID}\n",
    "newer gVisor": "/proc/version:Linux version 4.19.0-gvisor #1 SMP\n",
    "OpenVZ": f"{NO_FLAG}/proc/1/comm:init\n/proc/vz:there\n",
    "copied root": f"{NO_FLAG}{FIRST}/.dockerenv:there\n/run/.containerenv:there\n",
    "no namespaces shown": f"{NO_FLAG}/proc/1/comm:sh\n/.dockerenv:there\n",
    "told by systemd": f"{NO_FLAG}/proc/1/comm:init\n/run/systemd/container:lxc\n",
    "told by somebody new": f"{NO_FLAG}{OWN}environment:container=newengine\n",
    "own users": f"{NO_FLAG}{FIRST.replace('4026531837', '4026532999')}",
    "chroot in docker": f"{NO_FLAG}{OWN}/proc/self/cgroup:0::/docker/{ID}\n/proc/1/root:other\n"
    f"{NS}mnt:[4026532178]\n/proc/1/ns:mnt:[4026532178]\n",
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bare", "hardware (Dell Inc. PowerEdge R640)"),
        ("bare in a cloud", "hardware (Amazon EC2 c5.metal)"),
        ("arm board", "unknown"),
        ("nothing", "unknown"),
        ("EC2", "unknown > KVM (Amazon EC2 m5.large)"),
        ("QEMU with KVM", "unknown > KVM (QEMU)"),
        ("TCG by cpuid", "unknown > QEMU without KVM (TCG)"),
        ("TCG of another CPU", "unknown > QEMU without KVM (TCG)"),
        ("arm64 guest", "unknown > QEMU"),
        ("arm64 KVM", "unknown > KVM"),
        ("Cloud Hypervisor", "unknown > KVM (Cloud Hypervisor micro-VM)"),
        ("old Firecracker", "unknown > KVM (micro-VM)"),
        ("Kata", "unknown > KVM (Kata Containers) > Kubernetes"),
        ("VMware", "unknown > VMware"),
        ("VirtualBox", "unknown > VirtualBox"),
        ("Hyper-V", "unknown > Hyper-V"),
        ("KVM that imitates Hyper-V", "unknown > KVM"),
        ("Xen PV", "unknown > Xen (PV domU)"),
        ("Xen HVM", "unknown > Xen (HVM domU)"),
        ("Xen dom0", "unknown > Xen (dom0)"),
        ("Xen dom0 in QEMU", "unknown > QEMU > Xen (dom0)"),
        ("WSL2", "unknown > Hyper-V (WSL2) > WSL"),
        ("pod", "hardware > Kubernetes"),
        ("docker by cgroup", "hardware > Docker"),
        ("bubblewrap in docker", "hardware > Docker > bubblewrap"),
        ("docker in lxc", "hardware > LXC > Docker"),
        ("newer gVisor", "unknown > gVisor"),
        ("OpenVZ", "hardware > OpenVZ"),
        ("copied root", "hardware"),
        ("no namespaces shown", "hardware > an unnamed engine"),
        ("told by systemd", "hardware > LXC"),
        ("told by somebody new", "hardware > an unnamed engine"),
        ("own users", "hardware > namespaces of its own (user)"),
        ("chroot in docker", "hardware > Docker > chroot"),
    ],
)
def test_a_machine_made_up_from_documentation(name, expected):
    stack = detection.read(MADE_UP[name])
    assert detection.summary(stack) == expected
    assert all(step.evidence for step in stack)


def test_what_is_not_known_is_said_so():
    assert "does not show in its guest" in recorded("host")[0].evidence[0]
    assert "nothing that could be read shows a container" in evidence(detection.read(""))
    assert "might hide" in evidence(detection.read(MADE_UP["bare"]))


def test_evidence_to_the_contrary_is_not_kept_back():
    stack = detection.read(f"{FLAG}/dev/cpu/0/cpuid:KVMKVMKVM\n{DMI}/sys_vendor:VMware, Inc.\n")
    assert names(stack) == "unknown/kvm"
    assert "not in keeping with that: DMI: VMware, Inc." in evidence(stack)


def test_this_host_is_read_with_and_without_tools():
    done = Host().run(["env", "-i", "PATH=/nowhere", "/bin/sh", "-c", detection.SCRIPT])
    assert done.stderr == b""
    bare = detection.read(done.stdout.decode())
    assert names(detection.detect(Host())).startswith(names(bare[:1]))


def test_a_machine_on_which_the_shell_fails_is_an_error():
    with pytest.raises(CommandFailed, match="host/fake"):
        detection.detect(Printing(b"", returncode=127))


def test_it_is_stored_with_what_people_read():
    (_, step) = detection.table(detection.read(MADE_UP["EC2"]))
    assert (step["layer"], step["product"]) == ("kvm", "Amazon EC2 m5.large")
    assert step["title"] == "KVM (Amazon EC2 m5.large)"
    assert "the CPU has the hypervisor flag" in step["evidence"]


SEEN_AS = {
    "host": ("chroot", ""),
    "ssh": ("*",),
    "qemu": ("kvm", "qemu-tcg"),
    "runsc": ("gvisor",),
    "namespace": ("namespace",),  # a layer from outside the tree, of a kind that nobody knows
}


def told(stack, inside, outside="host"):
    layers = stack.split("/")[1:] or ["host"]
    declared = [Declared(layer, SEEN_AS.get(layer, (layer,))) for layer in layers]
    outside = recorded(outside) if isinstance(outside, str) else outside
    return disagreements(declared, outside, recorded(inside) if isinstance(inside, str) else inside)


def stack_of(path):
    return tuple(Detected(layer, "", (f"sign of {layer}",)) for layer in path.split("/"))


@pytest.mark.parametrize(
    ("stack", "inside"),
    [
        ("host", "chroot"),
        ("host", "host"),
        ("host/docker", "docker"),
        ("host/podman", "podman"),
        ("host/lxc", "lxc"),
        ("host/nspawn", "nspawn"),
        ("host/bubblewrap", "bubblewrap"),
        ("host/gvisor", "gvisor"),
        ("host/runsc", "docker-gvisor"),
        ("host/uml", "uml"),
        ("host/qemu-tcg", "qemu-tcg"),
        ("host/qemu", "qemu-tcg"),
        ("host/qemu-tcg", "qemu-arm64"),
        ("host/qemu-tcg/lxc", "qemu-tcg-lxc"),
        ("host/qemu-tcg/docker", "qemu-tcg-docker"),
        ("host/qemu-tcg/gvisor", "qemu-tcg-gvisor"),
        ("host/qemu-tcg/gvisor", "gvisor"),  # the CPU's flag is that of the guest
        ("host/docker/bubblewrap", "bubblewrap"),  # which shows nothing of what is around it
        ("host/ssh", "qemu-tcg-docker"),
        ("host/ssh/docker", "qemu-tcg-docker"),
        ("host/ssh/docker", "docker"),
        ("host/namespace", "unshare"),
    ],
)
def test_a_stack_that_is_as_declared_is_not_warned_of(stack, inside):
    assert told(stack, inside) == []


@pytest.mark.parametrize(
    ("stack", "inside", "words"),
    [
        ("host/docker", "host", ["docker does not show", "Firecracker", "kernel's first"]),
        ("host/docker", "chroot", ["docker does not show", "root directory", "kernel's first"]),
        ("host/docker", "podman", ["docker does not show", "inside shows Podman", "libpod"]),
        ("host/docker", "gvisor", ["docker does not show", "inside shows gVisor", "4.4.0"]),
        ("host/runsc", "docker", ["runsc does not show", "inside shows Docker"]),
        ("host", "docker", ["inside shows Docker, which is not declared there", "overlay2"]),
        ("host/qemu-tcg", "host", ["qemu-tcg does not show"]),
        ("host/kvm", "qemu-tcg", ["kvm does not show", "QEMU without KVM (TCG)", "TCG CPU"]),
        ("host/qemu-tcg/docker", "qemu-tcg", ["docker does not show"]),
        ("host/qemu-tcg/docker", "docker", ["qemu-tcg does not show"]),
        ("host/docker", "qemu-tcg-docker", ["inside shows QEMU without KVM", "i440FX"]),
        ("host/qemu-tcg", "qemu-tcg-docker", ["inside shows Docker"]),
        ("host/bubblewrap", "bubblewrap-mounts-only", ["bubblewrap does not show"]),
        ("host/ssh/docker", "qemu-tcg", ["docker does not show"]),
        ("host/uml", "host", ["uml does not show"]),
    ],
)
def test_a_stack_that_is_not_as_declared_is_told_with_the_evidence(stack, inside, words):
    found = "\n".join(told(stack, inside))
    assert all(word in found for word in words), found
    assert all(line.startswith(f"{stack} is declared, but ") for line in found.splitlines())


@pytest.mark.parametrize(
    ("stack", "outside", "inside", "count"),
    [
        ("host/docker", "hardware", "hardware/docker", 0),
        ("host/docker", "hardware", "unknown/kvm/docker", 1),  # such as Kata
        ("host/docker", "unknown/kvm", "hardware/docker", 1),
        ("host/docker", "unknown/kvm", "unknown/docker", 0),  # nothing of the CPU could be read
        ("host/docker", "unknown/kvm", "unknown/vm/docker", 0),
        ("host/docker", "unknown/vm", "unknown/kvm/docker", 0),
        ("host/kvm", "hardware", "unknown/qemu", 0),  # arm64
        ("host/qemu-tcg", "hardware", "unknown/xen", 2),
        ("host/docker", "hardware/docker", "hardware/docker", 0),  # by a daemon outside
        ("host/docker", "hardware/chroot", "hardware/docker", 0),
        ("host/docker", "hardware", "hardware/docker/chroot", 0),
        ("host/docker", "hardware", "hardware/container", 0),
        ("host/docker", "hardware", "hardware/namespaces", 2),
        ("host/docker/bubblewrap", "hardware", "hardware/docker/bubblewrap", 0),
        ("host/docker/bubblewrap", "hardware", "hardware/bubblewrap/docker", 1),
        ("host/xen", "unknown/qemu/xen", "unknown/xen", 0),
        ("host", "unknown/xen", "unknown/xen/chroot", 0),
    ],
)
def test_only_what_shows_or_had_to_show_disagrees(stack, outside, inside, count):
    assert len(told(stack, stack_of(inside), stack_of(outside))) == count


class Opened(Stack):
    """A stack that was opened, of which only what it shows is asked."""

    def inside(self):
        return Inside(1, 2**30)


def checked(instances, number, machine):
    """Check an instance on a host whose own stack was recorded."""
    host = Printing((RECORDED / "host.txt").read_bytes())
    check(instances, Member(number, Opened(machine)), lambda: detection.detect(host))


@pytest.mark.parametrize(
    ("layers", "shows", "title", "warned"),
    [
        ((("docker", ()),), "docker", "Docker", []),
        ((("docker", ()),), "chroot", "chroot", ["host/docker is declared, but docker does not"]),
        ((("docker", (("runtime", "runsc"),)),), "docker-gvisor", "gVisor (run by Docker)", []),
        ((("host", ()),), "chroot", "chroot", []),
    ],
)
def test_the_first_instance_of_a_platform_is_looked_at_when_it_is_opened(
    layers, shows, title, warned
):
    limits = Limits(cpus=1, memory_bytes=2**30)
    instances = InstanceSet(Platform(name="p", stack="s", layers=layers), limits, "p0")
    checked(instances, 0, Printing((RECORDED / f"{shows}.txt").read_bytes()))
    checked(instances, 1, Printing(b"", returncode=1))  # is not asked again

    assert instances.detected[-1].title == title
    assert len(instances.warnings) == len(warned)
    assert all(map(str.startswith, instances.warnings, warned))


def test_an_instance_that_cannot_be_asked_is_warned_of():
    limits = Limits(cpus=1, memory_bytes=2**30)
    instances = InstanceSet(Platform(name="p", stack="s", layers=(("docker", ()),)), limits, "p0")
    checked(instances, 0, Printing(b"", returncode=127))
    (warning,) = instances.warnings
    assert warning.startswith("what it runs in could not be read inside: ")


def test_a_simulated_platform_is_not_asked():
    limits = Limits(cpus=1, memory_bytes=2**30)
    instances = InstanceSet(Platform(name="p", stack="s", layers=(("sim", ()),)), limits, "p0")
    checked(instances, 0, Printing(b"", returncode=127))
    assert (instances.detected, instances.warnings) == (None, [])
