"""The words for what explains a result that is better than it can be, and where it is sought."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tare.results.checks.causes import Cause, CauseKind, Look

LOOKS = {
    Look.CONTROL: "A/A control",
    Look.CLOCK: "clock inside",
    Look.VERSIONS: "tool and library versions",
    Look.CPU_FLAGS: "CPU flags",
    Look.PAGE_CACHE: "page cache",
    Look.CACHE_MODE: "O_DIRECT and cache mode",
    Look.HUGE_PAGES: "huge pages",
    Look.RESOURCES: "CPUs and limits",
    Look.MITIGATIONS: "mitigations",
    Look.FILESYSTEM: "filesystem",
    Look.WORK: "work done",
}


def cause_text(cause: Cause) -> str:
    """Word a cause, to stand within a sentence."""
    words = _WORDS[cause.kind]
    return words.format(**cause.values) if isinstance(words, str) else words(**cause.values)


def _slow_clock(by: float) -> str:
    return f"its clock runs at least {100 * by:.2g} % slow"


def _other_files(names: Sequence[str]) -> str:
    return f"{', '.join(names)} inside is not the baseline's"


def _more_cpu_flags(names: Sequence[str]) -> str:
    return f"CPU flags only here: {', '.join(names)}"


def _cached(moved: float, baseline_moved: float) -> str:
    return (
        f"the host's disks moved {100 * moved:.0f} % of the bytes claimed, of the baseline's "
        f"{100 * baseline_moved:.0f} %"
    )


def _other_quota(here: object, there: object) -> str:
    own, base = ("none" if one is None else one for one in (here, there))
    return f"its CPU quota is {own}, the baseline's {base}"


def _other_mitigations(names: Sequence[str]) -> str:
    return f"other mitigations ({', '.join(names)})"


def _less_work(share: float) -> str:
    return f"its trials did {100 * share:.0f} % of the baseline's work"


def _other_readings(readings: Sequence[tuple[str, object, object]]) -> str:
    texts = (f"{name} {here} ({there} there)" for name, here, there in readings)
    return ", ".join(texts).replace("_", " ")


_WORDS: Mapping[CauseKind, str | Callable[..., str]] = {
    CauseKind.CONTROL_DIFFERS: (
        "the baseline differs from itself: its control has {cost:.3g} times its cost"
    ),
    CauseKind.SLOW_CLOCK: _slow_clock,
    CauseKind.OTHER_FILES: _other_files,
    CauseKind.MORE_CPU_FLAGS: _more_cpu_flags,
    CauseKind.CACHED: _cached,
    CauseKind.NO_O_DIRECT: "its filesystem refuses O_DIRECT",
    CauseKind.HOST_CACHES_DISK: "the host caches its disk (writeback)",
    CauseKind.OTHER_CPUS: "it may use {here} CPUs, the baseline {there}",
    CauseKind.OTHER_QUOTA: _other_quota,
    CauseKind.OTHER_MITIGATIONS: _other_mitigations,
    CauseKind.FILES_IN_MEMORY: "its files lie in memory (tmpfs)",
    CauseKind.LESS_WORK: _less_work,
    CauseKind.OTHER_READINGS: _other_readings,
}
