"""Rules that find implausible results without knowing them: what should not be better, is.

``noise`` is a ratio minus one: a difference below it says nothing. Where a study prints no spread
and its tables show none in another way it is None, and then nothing is called implausible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tare.core.model import Better
from tare.results.published.finding import Finding, Sort
from tare.results.published.moments import Compared, Moments, cost
from tare.results.published.platforms import cpus, own_baseline, technology
from tare.results.stats.holm import holm

ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One thing measured on several platforms."""

    name: str
    unit: str
    better: Better
    platforms: dict[str, Moments]
    work_per_cpu: bool = False
    """Whether the work is done by CPUs alone, so that twice of them do at most twice as much."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Two platforms of which the first should not be better, and how they compare."""

    subject: Subject
    platform: str
    baseline: str
    compared: Compared
    should: str


def against_baselines(subjects: Sequence[Subject]) -> list[Suspicion]:
    """Pair every platform with the least virtualized one in the same setting."""
    return [
        Suspicion(subject, platform, baseline, compared, "which has fewer layers")
        for subject in subjects
        for platform in subject.platforms
        if (baseline := own_baseline(platform, subject.platforms)) is not None
        if (compared := _cost(subject, platform, baseline)) is not None
    ]


def against_fewer_cpus(subjects: Sequence[Subject]) -> list[Suspicion]:
    """Pair every platform with the same on fewer CPUs, at the work of each CPU."""
    return [
        Suspicion(subject, platform, fewer, compared, "for each CPU, although it has more of them")
        for subject in subjects
        if subject.work_per_cpu
        for fewer, platform, times in _more_cpus(subject)
        if (compared := _cost(subject, platform, fewer, times)) is not None
    ]


def implausible(pairs: Sequence[Suspicion], noise: float | None = None) -> Iterator[Finding]:
    """Return of which pairs the first is better by more than the noise; Holm over all with a p."""
    tested = [pair.compared.p for pair in pairs if pair.compared.p is not None]
    adjusted = iter(holm(tested))
    for pair in pairs:
        found = pair.compared
        p = None if found.p is None else next(adjusted)
        if found.cost >= 1:
            continue
        sort, evidence = _judged(found, p, noise)
        if sort is not None:
            yield Finding(
                sort,
                f"{pair.subject.name}: {pair.platform}",
                f"better than {pair.baseline}, {pair.should}: cost {found.cost:.3f}, {evidence}",
            )


def _judged(found: Compared, p: float | None, noise: float | None) -> tuple[Sort | None, str]:
    if p is not None and found.interval is not None:
        low, high = found.interval
        if p < ALPHA:
            shown = "< 0.0001" if p < 0.0001 else f"{p:.2g}"
            return Sort.IMPLAUSIBLE, f"95 % interval {low:.3f} to {high:.3f}, p (Holm) {shown}."
        return None, ""
    if found.apart is not None:
        return (
            (Sort.IMPLAUSIBLE, "the ranges of the runs do not meet.")
            if found.apart
            else (
                None,
                "",
            )
        )
    if noise is None:
        return Sort.NOT_JUDGED, "but the rows show no spread, so it may be chance."
    if 1 / found.cost - 1 > noise:
        return (
            Sort.IMPLAUSIBLE,
            f"by more than the {100 * noise:.1f} % that its rows show as noise.",
        )
    return None, ""


def _cost(subject: Subject, platform: str, baseline: str, scale: float = 1.0) -> Compared | None:
    own, base = subject.platforms[platform], subject.platforms[baseline]
    return cost(own, base, subject.better, scale)


def _more_cpus(subject: Subject) -> Iterator[tuple[str, str, float]]:
    """Return neighbours of one technology in order of their CPUs, and how many times as many."""
    by_technology: dict[str, list[tuple[int, str]]] = {}
    for platform in subject.platforms:
        count = cpus(platform)
        if count is not None:
            by_technology.setdefault(technology(platform), []).append((count, platform))
    for platforms in by_technology.values():
        platforms.sort()
        for (few, fewer), (many, more) in pairwise(platforms):
            if few < many:
                yield fewer, more, many / few
