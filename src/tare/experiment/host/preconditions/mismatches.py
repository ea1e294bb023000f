"""Find how a platform differs from the baseline in ways that can mislead, the worst first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tare.core.model import Preconditions, Scalar
from tare.experiment.host.preconditions.clock import Skew

SKEW_LIMIT = 500e-6
"""Beyond the rate error of any healthy clock, corrected or not (METHOD.md 4)."""
SET_LIMIT_S = 0.25
"""Both parts of an offset are read within much less."""
MEMORY_LIMIT = 0.15
"""A guest's kernel keeps some of its memory; the same slack as for what was asked."""
READ_RATIO = 2.0
READ_FLOOR = 0.2
"""The cost of reading the clock, as a part of a bash loop, below which it is ignored."""
MAX_NAMES = 6


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One difference: what is affected, in words a clause long, and whether only files are."""

    about: str
    said: str
    only_files: bool = False


def mismatches(base: Preconditions, mine: Preconditions) -> list[Mismatch]:
    """Compare a platform's reading with the baseline's; what either lacks is left out."""
    return [
        *_tools(base, mine),
        *_clock(base, mine),
        *_cpus(base, mine),
        *_memory(base, mine),
        *_files(base, mine),
        *_kernel(base, mine),
    ]


def clock_mismatches(skew: Skew | None, set_s: float | None) -> list[Mismatch]:
    """Judge how a machine's clock went, and how far its time of day was set during the session."""
    found: list[Mismatch] = []
    if skew is not None and (skew.low > SKEW_LIMIT or skew.high < -SKEW_LIMIT):
        least = min(abs(skew.low), abs(skew.high))
        way = "fast" if skew.low > 0 else "slow"
        said = (
            f"its clock runs at least {100 * least:.2g} % {way}, compared with the host's "
            f"for {skew.over_s:.0f} s"
        )
        found.append(Mismatch("clock rate", said))
    if set_s is not None and abs(set_s) > SET_LIMIT_S:
        found.append(Mismatch("clock set", f"its time of day was set by {set_s:+.1f} s"))
    return found


def _tools(base: Preconditions, mine: Preconditions) -> Iterator[Mismatch]:
    for name, digest in base.files.items():
        if name in mine.files and mine.files[name] != digest:
            yield Mismatch(f"version of {name}", f"{name} differs from the baseline's file")


def _clock(base: Preconditions, mine: Preconditions) -> Iterator[Mismatch]:
    yield from _differs(base, mine, "clocksource", "clock source")
    there, here = _look(base), _look(mine)
    if there is not None and here is not None and here[1] > READ_RATIO * max(there[1], READ_FLOOR):
        said = (
            f"reading the clock takes {1e6 * here[0]:.3g} µs ({1e6 * there[0]:.2g} µs on the "
            "baseline), more than its CPU is slower"
        )
        yield Mismatch("cost of reading the clock", said)


def _look(one: Preconditions) -> tuple[float, float] | None:
    """Return the cost of a look at the clock in seconds, and as a part of a round of the loop."""
    look, loop = one.values.get("clock_read_s"), one.values.get("loop_s")
    if look is None or not loop:
        return None
    return float(look), float(look) / float(loop)


def _cpus(base: Preconditions, mine: Preconditions) -> Iterator[Mismatch]:
    yield from _differs(base, mine, "cpus_allowed", "CPUs")
    there, here = (float(one.values.get("cpu_quota", 0)) for one in (base, mine))
    if base and mine and there != here:
        said = f"CPU quota {_quota(here)} ({_quota(there)} there)"
        yield Mismatch("CPU quota", said)
    yield from _differs(base, mine, "cpu_model", "CPU model")
    if base.cpu_flags and mine.cpu_flags:
        if lost := sorted(base.cpu_flags - mine.cpu_flags):
            yield Mismatch("CPU flags", f"{len(lost)} CPU flags missing ({_named(lost)})")
        if more := sorted(mine.cpu_flags - base.cpu_flags):
            yield Mismatch("CPU flags", f"{len(more)} CPU flags more ({_named(more)})")
    for name in ("governor", "turbo", "smt"):
        yield from _differs(base, mine, name, name.upper() if name == "smt" else name)


def _memory(base: Preconditions, mine: Preconditions) -> Iterator[Mismatch]:
    there, here = (int(one.values.get("memory_given_bytes", 0)) for one in (base, mine))
    if there and here and abs(here / there - 1) > MEMORY_LIMIT:
        said = f"{here / 2**20:.0f} MiB of memory ({there / 2**20:.0f} there)"
        yield Mismatch("memory", said)
    if "swap_bytes" in base.values and "swap_bytes" in mine.values:
        there_swap, here_swap = (bool(one.values["swap_bytes"]) for one in (base, mine))
        if there_swap != here_swap:
            said = "swap (none there)" if here_swap else "no swap (some there)"
            yield Mismatch("swap", said)
    yield from _differs(base, mine, "thp", "transparent huge pages")
    yield from _differs(base, mine, "huge_pages", "reserved huge pages")
    yield from _differs(base, mine, "ksm", "KSM")


def _files(base: Preconditions, mine: Preconditions) -> Iterator[Mismatch]:
    yield from _differs(base, mine, "disk_cache", "disk cache mode", only_files=True)
    yield from _differs(base, mine, "filesystem", "filesystem", only_files=True)
    here, there = (one.values.get("o_direct") for one in (mine, base))
    if here is False and there is not False:
        yield Mismatch("O_DIRECT", "its filesystem refuses O_DIRECT", only_files=True)
    if there is False and here:
        said = "it has O_DIRECT, which the baseline's filesystem refuses"
        yield Mismatch("O_DIRECT", said, only_files=True)


def _kernel(base: Preconditions, mine: Preconditions) -> Iterator[Mismatch]:
    yield from _differs(base, mine, "kernel", "kernel")
    names = {
        name
        for name in (*base.mitigations, *mine.mitigations)
        if base.mitigations.get(name) != mine.mitigations.get(name)
    }
    if names and all("weaknesses_known" in one.values for one in (base, mine)):
        listed = _named(sorted(names))
        yield Mismatch("mitigations", f"{len(names)} other mitigations ({listed})")


def _differs(
    base: Preconditions, mine: Preconditions, name: str, title: str, *, only_files: bool = False
) -> Iterator[Mismatch]:
    there, here = base.values.get(name), mine.values.get(name)
    if there is not None and here is not None and there != here:
        said = f"{title} {_text(here)} ({_text(there)} there)"
        yield Mismatch(title, said, only_files)


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _quota(cpus: float) -> str:
    return f"{cpus:g} CPUs" if cpus else "none"


def _named(names: list[str]) -> str:
    rest = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {rest} more" if rest > 0 else "")
