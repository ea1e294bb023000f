"""Read the conditions inside a machine (CPU flags, clock, libc, ...) by one script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tare.core.model import Preconditions, Scalar
from tare.experiment.host.facts import FILES, mitigations, read_facts
from tare.machines.machine import Machine, check

READ_S = 30.0
SHARED = (
    *("kernel", "cpu_model", "cpus", "memory_bytes", "swap_bytes", "clocksource", "governor"),
    *("turbo", "smt", "thp", "ksm"),
)
"""The facts of a host that are part of a reading."""

# $0 is the directory of the workload's files, the arguments are the tools that will be measured.
# Every line is printed behind its source, as FILES does. Only built-ins where there are any: a
# process takes up to 50 ms in an emulated guest.
SCRIPT = (
    FILES
    + r"""
say() { printf '%s:%s\n' "$1" "$2"; }
{
    while IFS= read -r line; do
        case $line in Cpus_allowed_list:*) say affinity "${line#*:}" ;; esac
    done < /proc/self/status
    # What a container of cgroup v1 sees as the root of the tree is its own group.
    while IFS=: read -r id controllers group; do
        case ,$controllers, in
        ,,) for file in "/sys/fs/cgroup$group/cpu.max" /sys/fs/cgroup/cpu.max; do
                read -r line < "$file" && say quota "$line" && break
            done ;;
        *,cpu,*) for file in "/sys/fs/cgroup/cpu$group" /sys/fs/cgroup/cpu; do
                read -r line < "$file/cpu.cfs_quota_us" || continue
                read -r period < "$file/cpu.cfs_period_us"
                say quota "$line $period"
                break
            done ;;
        esac
    done < /proc/self/cgroup
    # The longest mount point above the directory is the one it lies in.
    best= found=
    while read -r id parent device root at line; do
        case $0/ in
        "${at%/}"/*) [ ${#at} -lt ${#best} ] || { best=$at; found="$device ${line#*- }"; } ;;
        esac
    done < /proc/self/mountinfo
    [ -z "$found" ] || say filesystem "$found"
    # A filesystem that cannot bypass its cache refuses; one that cannot be written says nothing.
    file=$0/.tare-direct
    if dd if=/dev/zero of="$file" bs=4096 count=1 oflag=direct; then say direct yes
    elif dd if=/dev/zero of="$file" bs=4096 count=1; then say direct no
    fi
    rm -f "$file"
    files=
    for tool; do files="$files $(command -v "$tool")"; done
    sha256sum $files /lib/*-linux-*/libc.so.6 /lib64/libc.so.6 | while read -r line file; do
        say sha256 "$line $file"
    done
    # Microseconds for 200 looks at the clock, and for as many rounds of the same loop with a look
    # at a variable that needs none; the least of many, for other work can only add.
    bash -c 'for i in 1 2 3 4 5 6 7 8 9 10; do
        a=${EPOCHREALTIME/[.,]/} n=0
        while ((n++ < 200)); do : "$EPOCHSECONDS"; done
        b=${EPOCHREALTIME/[.,]/} n=0
        while ((n++ < 200)); do : "$EPOCHREALTIME"; done
        c=${EPOCHREALTIME/[.,]/}
        echo "clock:$((b - a)) $((c - b))"
    done'
} 2> /dev/null
"""
)
LOOKS = 200


def read(machine: Machine, directory: str, tools: Sequence[str]) -> Preconditions:
    """Read a machine's preconditions for work in a directory with some tools.

    Sizes are in bytes, times in seconds; ``weaknesses_known`` is of how many of the CPU's
    weaknesses it says anything.

    Raises CommandFailed where no command can be run. The script's own status says nothing: its last
    part may be missing there.
    """
    argv = ["sh", "-c", f"{SCRIPT}\nexit 0", directory, *tools]
    return understand(check(machine, argv, timeout_s=READ_S).stdout.decode(errors="replace"))


def understand(printed: str) -> Preconditions:
    """Read what SCRIPT printed."""
    lines: dict[str, list[str]] = {}
    for source, _, line in (line.partition(":") for line in printed.splitlines()):
        lines.setdefault(source, []).append(line.strip())
    if not lines:
        return Preconditions()
    facts = read_facts(printed)
    found: dict[str, Scalar] = {name: facts[name] for name in SHARED if name in facts}
    if known := [source for source in lines if "/vulnerabilities/" in source]:
        found["weaknesses_known"] = len(known)
    if found.get("cpu_model") == "unknown":  # as gVisor says it
        del found["cpu_model"]
    found |= _cpu(lines) | _storage(lines) | _clock(lines)
    return Preconditions(
        values=found,
        files=_hashes(lines.get("sha256", ())),
        mitigations=mitigations(printed),
        cpu_flags=_cpu_flags(lines),
    )


def _cpu(lines: Mapping[str, Sequence[str]]) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {}
    if "affinity" in lines:
        found["affinity"] = lines["affinity"][0]
        found["cpus_allowed"] = count(lines["affinity"][0])
    if "quota" in lines:
        quota, _, period = lines["quota"][0].partition(" ")
        if quota not in ("max", "-1") and quota.isdigit() and period.isdigit():
            found["cpu_quota"] = int(quota) / int(period)
    return found


def _cpu_flags(lines: Mapping[str, Sequence[str]]) -> frozenset[str]:
    table = (line.partition(":") for line in lines.get("/proc/cpuinfo", ()))
    titles = ("flags", "Features")
    return frozenset(
        word for name, _, words in table if name.strip() in titles for word in words.split()
    )


def _storage(lines: Mapping[str, Sequence[str]]) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {}
    if "filesystem" in lines:
        device, _, rest = lines["filesystem"][0].partition(" ")
        found["filesystem"] = rest.split(" ")[0]
        found["filesystem_device"] = device
    if "direct" in lines:
        found["o_direct"] = lines["direct"][0] == "yes"
    for name, _, pages in (line.partition(":") for line in lines.get("/proc/meminfo", ())):
        if name.strip() == "HugePages_Total":
            found["huge_pages"] = int(pages)
    return found


def _hashes(lines: Sequence[str]) -> dict[str, str]:
    """Return each file's digest by its name, such as ``libc.so.6``."""
    split = (line.partition(" ") for line in lines)
    return {path.rpartition("/")[2]: digest for digest, _, path in split}


def _clock(lines: Mapping[str, Sequence[str]]) -> dict[str, Scalar]:
    """Return the cost of a look at the clock, and of the loop in which it was measured."""
    pairs = [tuple(map(int, line.split())) for line in lines.get("clock", ())]
    if not pairs:
        return {}
    loop, looking = (min(column) / LOOKS / 1e6 for column in zip(*pairs, strict=True))
    return {"loop_s": loop, "clock_read_s": max(0.0, looking - loop)}


def count(ranges: str) -> int:
    """Count the CPUs of a list such as ``0-3,8``."""
    ends = [part.split("-") for part in ranges.split(",") if part]
    return sum(int(end[-1]) - int(end[0]) + 1 for end in ends)
