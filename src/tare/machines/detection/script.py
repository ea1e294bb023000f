"""The shell script that collects evidence for detection, and its output by source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Built-ins of every POSIX shell; of what may be missing (readlink, tr, dd) as few calls as
# can be, for one costs 50 ms in an emulated guest. Each line is what was read, behind its source.
SCRIPT = r"""
gvisor=
dmi=/sys/class/dmi/id
ns=/proc/self/ns
say() { printf '%s:%s\n' "$1" "$2"; }
{
    for file in \
        /proc/version /proc/1/comm /proc/2/comm \
        /sys/hypervisor/type /sys/hypervisor/guest_type /sys/hypervisor/properties/features \
        /proc/device-tree/hypervisor/compatible /proc/device-tree/compatible \
        /proc/xen/capabilities $dmi/sys_vendor $dmi/product_name $dmi/bios_vendor \
        /sys/devices/system/clocksource/clocksource0/available_clocksource \
        /run/systemd/container /run/host/container-manager
    do
        line=
        IFS= read -r line < "$file"
        [ -z "$line" ] || say "$file" "$line"
        case $line in *'Sun Jan 10 15:06:54 PST 2016'* | *[Gg][Vv]isor*) gvisor=yes ;; esac
    done
    while IFS= read -r line && [ -n "$line" ]; do
        case $line in
        flags*)
            case "$line " in *' hypervisor '*) line=yes ;; *) line=no ;; esac
            say /proc/cpuinfo "hypervisor flag: $line" ;;
        vendor_id* | model\ name* | host*) say /proc/cpuinfo "$line" ;;
        esac
    done < /proc/cpuinfo
    while IFS= read -r line; do
        case $line in Seccomp:*) say /proc/self/status "$line" ;; esac
    done < /proc/self/status
    # All other mounts are as well those of others that only show here.
    while IFS=' ' read -r id parent device root at line; do
        case $at in
        / | /etc/hostname | /etc/hosts | /etc/resolv.conf | /run/.containerenv | /run/host/* | \
            /proc/cpuinfo | /proc/sys/kernel/random/boot_id) say mount "$root $at $line" ;;
        esac
    done < /proc/self/mountinfo
    for file in /proc/self/cgroup /proc/1/cgroup; do
        while IFS= read -r line; do say $file "$line"; done < $file
    done
    for file in \
        /.dockerenv /run/.containerenv /proc/vz /proc/bc /run/WSL /sys/class /sys/class/dmi \
        /var/run/secrets/kubernetes.io/serviceaccount \
        /sys/bus/acpi/devices/QEMU* /sys/bus/vmbus/devices/* /sys/bus/virtio/devices/virtio0
    do
        [ ! -e "$file" ] || say "$file" there
    done
    [ -z "$container" ] || say environment "container=$container"
    seen=
    for file in /sys/bus/pci/devices/*/vendor; do
        IFS= read -r line < "$file" || continue
        case $seen in *$line*) continue ;; esac
        seen="$seen $line"
        say /sys/bus/pci "$line"
    done
    for file in /proc/1/root /proc/2/root; do
        if [ ! / -ef / ] || [ ! -e $file/. ]; then continue; fi
        if [ / -ef $file/. ]; then line=same; else line=other; fi
        say $file $line
    done
    # gVisor is recognized by now, and a call costs even more there.
    if [ -z "$gvisor" ]; then
        for line in $(readlink $ns/cgroup $ns/ipc $ns/mnt $ns/pid $ns/user $ns/uts); do
            say $ns "$line"
        done
        line=$(readlink /proc/1/ns/mnt) && say /proc/1/ns "$line"
        [ ! -r /proc/1/environ ] || tr '\0' '\n' < /proc/1/environ | while IFS= read -r line; do
            case $line in container=*) say /proc/1/environ "$line" ;; esac
        done
    fi
    # The CPU's answer to leaf N is read at offset N: a number of 4 bytes, and 12 bytes of text.
    file=/dev/cpu/0/cpuid
    for block in 67108864 67108880; do
        [ -r $file ] || continue
        line=$(dd if=$file bs=16 skip=$block count=1 | dd bs=4 skip=1 | tr -cd '[:print:]')
        [ -z "$line" ] || say $file "$line"
    done
    file=/sys/firmware/acpi/tables/FACP
    [ ! -r $file ] || say $file "$(dd if=$file bs=2 skip=5 count=7 | tr -cd '[:print:]')"
} 2> /dev/null
"""

Seen = Mapping[str, Sequence[str]]
"""The lines that were read from each source."""

CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
DMI = "/sys/class/dmi/id"


def sort(printed: str) -> Seen:
    """Sort what SCRIPT printed by its sources."""
    seen: dict[str, list[str]] = {}
    for source, _, line in (line.partition(":") for line in printed.splitlines()):
        seen.setdefault(source, []).append(line.strip())
    return seen


def first(seen: Seen, source: str) -> str:
    """Return the first line of a source; empty where there is none."""
    return seen.get(source, [""])[0]


def value(seen: Seen, source: str, name: str) -> str:
    """Return the value in a line such as ``name : value``; empty where there is none."""
    for line in seen.get(source, ()):
        found, _, text = line.partition(":")
        if found.strip() == name:
            return text.strip()
    return ""
