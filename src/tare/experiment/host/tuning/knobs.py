"""The host settings that ``tare tune`` changes: only what is safe and can be restored.

SMT, the clock source, offline CPUs and swap are left alone: the first three change what the host
is to others on it, and ``swapoff`` can run it out of memory.
"""

from __future__ import annotations

from dataclasses import dataclass

CPU = "sys/devices/system/cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """A setting: files below the root that match ``files`` shall hold ``wanted``.

    ``instead_of`` are the only values that are changed, empty means all others; ``choices`` is the
    file next to it that lists the possible values; ``absent`` says why there may be none.
    """

    what: str
    files: str
    wanted: str
    why: str
    absent: str
    instead_of: tuple[str, ...] = ()
    choices: str = ""


_NO_FREQUENCY = "the frequency is not controlled here, as in most guests"

KNOBS = (
    Knob(
        what="CPU frequency governor",
        files=f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor",
        wanted="performance",
        why="with others the clock rate follows the load, so stacks may run at different rates",
        absent=_NO_FREQUENCY,
        choices="scaling_available_governors",
    ),
    Knob(
        what="turbo (Intel)",
        files=f"{CPU}/intel_pstate/no_turbo",
        wanted="1",
        why="the rate of turbo depends on temperature and on how many CPUs are busy",
        absent="there is no driver intel_pstate",
    ),
    Knob(
        what="turbo",
        files=f"{CPU}/cpufreq/boost",
        wanted="0",
        why="the rate of turbo depends on temperature and on how many CPUs are busy",
        absent=_NO_FREQUENCY,
    ),
    Knob(
        what="transparent huge pages",
        files="sys/kernel/mm/transparent_hugepage/enabled",
        wanted="always",
        # `always` and `never` treat all stacks alike, and are left as they are.
        instead_of=("madvise",),
        why="with madvise QEMU, which asks for them, gets huge pages; work on the host does not",
        absent="this kernel has none",
    ),
    Knob(
        what="KSM",
        files="sys/kernel/mm/ksm/run",
        wanted="0",
        why="its scanning for equal pages takes CPU time",
        absent="this kernel has none",
    ),
    Knob(
        what="NUMA balancing",
        files="proc/sys/kernel/numa_balancing",
        wanted="0",
        why="it unmaps pages to see who uses them, and moves them while a trial runs",
        absent="this kernel has none",
    ),
    Knob(
        what="swappiness",
        files="proc/sys/vm/swappiness",
        wanted="1",
        why="a trial that touches a swapped page waits for the disk",
        absent="this kernel has none",
    ),
)
