"""Detect hypervisors and the hardware below them by CPU flags, DMI, ACPI and devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tare.machines.detection.script import CLOCKS, DMI, Seen, first, value
from tare.machines.detection.step import HARDWARE, UNKNOWN, Detected

# As the CPU answers leaves 0x40000000 and 0x40000100. Others imitate Hyper-V, so that comes last.
SIGNATURES = {
    "KVMKVMKVM": "kvm",
    "Linux KVM Hv": "kvm",
    "TCGTCGTCGTCG": "qemu-tcg",
    "XenVMMXenVMM": "xen",
    "VMwareVMware": "vmware",
    "VBoxVBoxVBox": "virtualbox",
    "bhyve bhyve": "bhyve",
    "lrpepyh": "parallels",
    "Microsoft Hv": "hyperv",
}
TREES = {"linux,kvm": "kvm", "xen,xen": "xen", "vmware": "vmware", "linux,dummy-virt": "qemu"}
# Words in DMI and in the ACPI tables: the hypervisor, and which product it is where that is more.
MAKERS = {
    "Firecracker": ("kvm", "Firecracker micro-VM"),
    "FIRECK": ("kvm", "Firecracker micro-VM"),
    "Cloud Hypervisor": ("", "Cloud Hypervisor micro-VM"),  # on KVM, or on Hyper-V
    "CLOUDH": ("", "Cloud Hypervisor micro-VM"),
    "CROSVM": ("kvm", "crosvm"),
    "crosvm": ("kvm", "crosvm"),
    "VMware": ("vmware", ""),
    "innotek": ("virtualbox", ""),
    "VirtualBox": ("virtualbox", ""),
    "VBOX": ("virtualbox", ""),
    "Microsoft Corporation Virtual Machine": ("hyperv", ""),
    "VRTUAL": ("hyperv", ""),
    "Xen": ("xen", ""),
    "BHYVE": ("bhyve", ""),
    "Parallels": ("parallels", ""),
    "QEMU": ("qemu", "QEMU"),
    "BOCHS": ("qemu", "QEMU"),
    "Standard PC (": ("qemu", "QEMU"),  # its product, which gVisor shows without the vendor
}
PCI_VENDORS = {
    "0x15ad": "vmware",
    "0x80ee": "virtualbox",
    "0x1414": "hyperv",
    "0x5853": "xen",
    "0x1b36": "qemu",
}
CLOCK_NAMES = {"kvm-clock": "kvm", "xen": "xen"}
XEN_DOM0 = 1 << 11
"""XENFEAT_dom0 in /sys/hypervisor/properties/features."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A piece of evidence; one without a layer only shows which product it is."""

    layer: str
    evidence: str
    product: str = ""


def machines(seen: Seen) -> list[Detected]:
    """Return the foot of the stack and the hypervisors above it, from the outside in."""
    flag = value(seen, "/proc/cpuinfo", "hypervisor flag")
    signs = list(_signs(seen))
    kinds = [sign.layer for sign in signs if sign.layer]
    if not kinds and flag != "yes":
        return [_foot(seen, flag)]
    kind = kinds[0] if kinds else "vm"
    flagged: tuple[str, ...] = ()
    if flag == "yes":
        flagged = ("the CPU has the hypervisor flag",)
    steps = [Detected(UNKNOWN, "", ("what a hypervisor runs on does not show in its guest",))]
    if kind == "uml":
        if flagged:
            steps.append(Detected("vm", "", ("the CPU of its host has the hypervisor flag",)))
        return [*steps, Detected("uml", "", tuple(s.evidence for s in signs if s.layer == "uml"))]
    if kind == "xen" and _is_dom0(seen):
        # Alone of all guests it sees the firmware of the machine that Xen was started on.
        below = [sign for sign in signs if sign.layer not in ("", "xen")]
        said = tuple(f"Xen's dom0 sees the firmware below Xen: {s.evidence}" for s in below)
        if below:
            steps.append(Detected(below[0].layer, "", said))
        mine = [sign.evidence for sign in signs if sign.layer == "xen" or not below]
        return [*steps, Detected("xen", "dom0", (*flagged, *mine))]
    if kind == "qemu" and flag and first(seen, CLOCKS) and "hyperv" not in first(seen, CLOCKS):
        kind = "qemu-tcg"
        flagged += (
            "KVM would offer its clock, and there is none, unless it was configured to hide",
        )
    products = dict.fromkeys(sign.product for sign in signs if sign.product)
    if kind.startswith("qemu"):
        products.pop("QEMU", None)
    if any(product.endswith(" micro-VM") for product in products):
        products.pop("micro-VM", None)
    mine = [s.evidence for s in signs if s.product or s.layer in (kind, "qemu", "")]
    others = [f"not in keeping with that: {s.evidence}" for s in signs if s.evidence not in mine]
    return [*steps, Detected(kind, ", ".join(products), (*flagged, *mine, *others))]


def _foot(seen: Seen, flag: str) -> Detected:
    dmi = _dmi(seen)
    said = (f"DMI: {dmi}",) if dmi else ()
    if flag == "no":
        no_flag = "the CPU has no hypervisor flag, and nothing else shows one that might hide it"
        return Detected(HARDWARE, dmi, (no_flag, *said))
    return Detected(UNKNOWN, "", ("nothing that could be read shows a hypervisor", *said))


def _signs(seen: Seen) -> Iterator[Sign]:
    """Return the signs of hypervisors, the most trustworthy first."""
    yield from _own_words(seen)
    yield from _clocks_and_kernel(seen)
    yield from _firmware(seen)
    yield from _devices(seen)
    if "hyperv" in first(seen, CLOCKS):  # KVM offers this too where it imitates Hyper-V
        yield Sign("hyperv", f"clock sources: {first(seen, CLOCKS)}")


def _own_words(seen: Seen) -> Iterator[Sign]:
    """Return what hypervisors say of themselves by the means made for that."""
    if value(seen, "/proc/cpuinfo", "vendor_id") == "User Mode Linux":
        host = value(seen, "/proc/cpuinfo", "host")
        yield Sign("uml", f"/proc/cpuinfo: User Mode Linux, on {host or 'a host without a name'}")
    signed = " ".join(seen.get("/dev/cpu/0/cpuid", ()))
    signature = next((signature for signature in SIGNATURES if signature in signed), "")
    if signature:
        yield Sign(SIGNATURES[signature], f"cpuid: the hypervisor signs as {signature}")
    if first(seen, "/sys/hypervisor/type") == "xen":
        guest = first(seen, "/sys/hypervisor/guest_type")
        which = "dom0" if _is_dom0(seen) else f"{guest} domU" if guest else ""
        yield Sign("xen", f"/sys/hypervisor: {f'xen {which}'.strip()}", which)
    for source in ("/proc/device-tree/hypervisor/compatible", "/proc/device-tree/compatible"):
        for word, kind in TREES.items():
            if word in first(seen, source):
                product = "QEMU" if kind == "qemu" else ""
                yield Sign(kind, f"device tree: {first(seen, source)}", product)


def _clocks_and_kernel(seen: Seen) -> Iterator[Sign]:
    clocks, model = first(seen, CLOCKS), value(seen, "/proc/cpuinfo", "model name")
    for name, kind in CLOCK_NAMES.items():
        if name in clocks.split():
            yield Sign(kind, f"clock sources: {clocks}")
    if "QEMU TCG" in model:
        yield Sign("qemu-tcg", f"CPU model: {model}")
    if "microsoft-standard" in first(seen, "/proc/version"):
        yield Sign("hyperv", f"/proc/version: {first(seen, '/proc/version')}", "WSL2")


def _firmware(seen: Seen) -> Iterator[Sign]:
    for source, text in (("DMI", _dmi(seen)), ("ACPI tables made by", _acpi(seen))):
        maker = next((maker for word, maker in MAKERS.items() if word in text), None)
        if maker:
            yield Sign(maker[0], f"{source}: {text}", maker[1])
        elif text and source == "DMI":  # a cloud's machines; its bare ones have its name too
            yield Sign("", f"DMI: {text}", text)
    if any(source.startswith("/sys/bus/acpi/devices/QEMU") for source in seen):
        yield Sign("qemu", "ACPI: a device of QEMU's", "QEMU")


def _devices(seen: Seen) -> Iterator[Sign]:
    if any(source.startswith("/sys/bus/vmbus/") for source in seen):
        yield Sign("hyperv", "devices on Hyper-V's VMBus")
    for vendor in seen.get("/sys/bus/pci", ()):
        if kind := PCI_VENDORS.get(vendor, ""):
            yield Sign(kind, f"PCI: a device of vendor {vendor}", "QEMU" if kind == "qemu" else "")
    is_x86_guest = value(seen, "/proc/cpuinfo", "hypervisor flag") == "yes"
    has_virtio = "/sys/bus/virtio/devices/virtio0" in seen
    has_dmi = "/sys/class/dmi" in seen or "/sys/class" not in seen
    if is_x86_guest and has_virtio and not has_dmi:
        yield Sign("", "virtio devices, but no DMI table: no firmware was emulated", "micro-VM")
    if any("kataShared" in mount for mount in seen.get("mount", ())):
        yield Sign("", "the root is shared by Kata Containers", "Kata Containers")


def _is_dom0(seen: Seen) -> bool:
    features = first(seen, "/sys/hypervisor/properties/features")
    by_feature = bool(int(features, 16) & XEN_DOM0) if features else False
    return by_feature or "control_d" in first(seen, "/proc/xen/capabilities")


def _dmi(seen: Seen) -> str:
    parts = (first(seen, f"{DMI}/{name}") for name in ("sys_vendor", "product_name"))
    return " ".join(filter(None, parts))


def _acpi(seen: Seen) -> str:
    return first(seen, "/sys/firmware/acpi/tables/FACP")
