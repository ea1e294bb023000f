"""Write the libvirt XML of a domain, one function for each hypervisor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from tare.core.model import Limits
from tare.machines.userland.architecture import HERE, NAMES, Arch

if TYPE_CHECKING:
    from tare.machines.layer import Site
    from tare.machines.userland import Guest


def qemu(site: Site, kind: str, guest: Guest, tap: str, append: str) -> str:
    """Describe a QEMU guest, ``kind`` is kvm or qemu: ``disk`` and ``console`` are in its folder.

    A CPU that is the host's own, or all that can be emulated; no device that nobody asked for.
    """
    domain = _domain(kind, site)
    system = _add(domain, "os")
    _add(system, "type", "hvm", arch=NAMES[guest.arch], machine=MACHINES[guest.arch])
    _boot(system, guest, append)
    # On arm64 libvirt allows it with UEFI only; a kernel that is booted without has a device tree.
    if guest.arch == "amd64":
        _add(_add(domain, "features"), "acpi")
    _add(domain, "cpu", mode="host-passthrough" if kind == "kvm" else "maximum")
    devices = _add(domain, "devices")
    _add(devices, "emulator", f"/usr/bin/qemu-system-{NAMES[guest.arch]}")
    _disk(devices, site.limits, f"{_folder(site)}/disk", "vda", "virtio")
    _add(devices, "controller", type="usb", model="none")
    interface = _add(devices, "interface", type="ethernet")
    _add(interface, "target", dev=tap, managed="no")
    _add(interface, "model", type="virtio")
    # Appended to, so that it can be emptied before a reboot.
    serial = _add(devices, "serial", type="file")
    _add(serial, "source", path=f"{_folder(site)}/console", append="on")
    _add(devices, "memballoon", model="none")
    # As root, since the folder is root's: another user's daemon would run it as nobody else.
    label = _add(domain, "seclabel", type="static", model="dac", relabel="no")
    _add(label, "label", "+0:+0")
    return ET.tostring(domain, encoding="unicode")


def xen(site: Site, kind: str, guest: Guest, bridge: str, append: str) -> str:
    """Describe a Xen domain, ``kind`` is xenpv or xenpvh, with its disk in its folder."""
    domain = _domain("xen", site)
    system = _add(domain, "os")
    _add(system, "type", "linux" if kind == "xenpv" else "xenpvh", machine=kind)
    _boot(system, guest, append)
    devices = _add(domain, "devices")
    _disk(devices, site.limits, f"{_folder(site)}/disk", "xvda", "xen")
    _add(_add(devices, "interface", type="bridge"), "source", bridge=bridge)
    _add(_add(devices, "console", type="pty"), "target", type="xen", port="0")
    return ET.tostring(domain, encoding="unicode")


def lxc(site: Site, root: str, init: Sequence[str], arch: Arch = HERE) -> str:
    """Describe a system container of a directory; it has the network of the host."""
    domain = _domain("lxc", site)
    system = _add(domain, "os")
    _add(system, "type", "exe", arch=NAMES[arch])
    _add(system, "init", init[0])
    for word in init[1:]:
        _add(system, "initarg", word)
    devices = _add(domain, "devices")
    _add(devices, "emulator", "/usr/lib/libvirt/libvirt_lxc")
    filesystem = _add(devices, "filesystem", type="mount", accessmode="passthrough")
    _add(filesystem, "source", dir=root)
    _add(filesystem, "target", dir="/")
    _add(devices, "console", type="pty")
    return ET.tostring(domain, encoding="unicode")


def _domain(kind: str, site: Site) -> ET.Element:
    domain = ET.Element("domain", type=kind)
    _add(domain, "name", site.name)
    _add(domain, "memory", str(site.limits.memory_bytes), unit="b")
    held = {"cpuset": site.cpuset} if kind == "lxc" else {}  # a guest is, once it has booted
    _add(domain, "vcpu", str(site.limits.cpus), placement="static", **held)
    if kind == "lxc":
        _hold(domain, site.limits)
    for event, then in LIFECYCLE.items():
        _add(domain, f"on_{event}", then)
    return domain


def _hold(domain: ET.Element, limits: Limits) -> None:
    """Add the quota and the swap of a container, which has them as a whole."""
    if limits.quota_cpus is not None:
        tune = _add(domain, "cputune")
        _add(tune, "period", str(PERIOD_US))
        _add(tune, "quota", str(limits.quota_cpus * PERIOD_US))
    if limits.swap_bytes:
        both = limits.memory_bytes + limits.swap_bytes
        _add(_add(domain, "memtune"), "swap_hard_limit", str(both), unit="b")


def _folder(site: Site) -> str:
    return f"{site.folder}/{site.name}"


PERIOD_US = 100_000
"""The time in which a quota is given, the kernel's own."""
MACHINES: Mapping[Arch, str] = {"amd64": "pc", "arm64": "virt"}
LIFECYCLE: Mapping[str, str] = {"poweroff": "destroy", "reboot": "restart", "crash": "destroy"}


def _boot(system: ET.Element, guest: Guest, append: str) -> None:
    _add(system, "kernel", str(guest.kernel))
    _add(system, "initrd", str(guest.initrd))
    _add(system, "cmdline", append)


def _disk(devices: ET.Element, limits: Limits, path: str, name: str, bus: str) -> None:
    disk = _add(devices, "disk", type="file", device="disk")
    # With none the disk is open with O_DIRECT: the host's memory is no second cache for the guest.
    _add(disk, "driver", name="qemu", type="qcow2", cache=limits.disk_cache)
    _add(disk, "source", file=path)
    _add(disk, "target", dev=name, bus=bus)


def _add(parent: ET.Element, tag: str, text: str = "", **attributes: str) -> ET.Element:
    made = ET.SubElement(parent, tag, attributes)
    made.text = text or None
    return made
