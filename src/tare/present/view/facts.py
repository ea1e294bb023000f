"""The facts of a study as lines of a page: its host, its layers' versions, its sessions.

Every fact may be missing: the study may still run, or was killed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tare.core.model import DetectedStack, EndedSession, NamedValue, Unit, neighbour_of
from tare.core.parameter import unit_of, word_of
from tare.present.view.findings import Findings
from tare.present.view.names import limits_text, platform_text
from tare.present.view.numbers import NONE, bytes_text, plain, scale_for
from tare.present.view.verdict_texts import VARIANTS

OF_THE_HOST = "is the host's own"
"""Said of what a platform has none of, such as a disk with a cache mode."""


@dataclass(frozen=True)
class Fact:
    """A heading with the lines below it: names and values."""

    title: str
    lines: Sequence[tuple[str, str]]


def facts(found: Findings) -> list[Fact]:
    """List the plan, the sessions, and all facts that were stored."""
    plan, run = found.plan, found.results.run
    rule = plan.repetition
    looks = f"{rule.min_blocks} to {rule.max_blocks} blocks, margin {100 * rule.margin:g} %"
    budget = "no budget" if rule.budget_s is None else f"a budget of {plain(rule.budget_s)} s"
    cells = f"{len(plan.cells):,} cells in {len(found.groups):,} groups, baseline {plan.reference}"
    listed = [
        Fact(
            "Plan",
            [
                ("cells", cells),
                ("repetition", f"{looks}, {rule.instances} instances, {budget}"),
                *(
                    (f"instances of {name}", str(count))
                    for name, count in rule.instances_of_platforms
                ),
                ("decided by", VARIANTS[rule.variant]),
                ("seed", str(plan.seed)),
                ("blocks begun", f"{found.blocks:,} of {rule.max_blocks:,}"),
                ("stopped", run.stop or "not ended"),
                ("results", str(found.results.folder)),
            ],
        )
    ]
    if run.sessions:
        lines = [(f"session {n}", _session(one)) for n, one in enumerate(run.sessions, 1)]
        listed.append(Fact("Sessions", lines))
    if levels := list(_levels(found)):
        listed.append(Fact("Levels of neighbours", levels))
    for section in found.results.facts.sections:
        lines = [line for value in section.values for line in _lines(value)]
        listed.append(Fact(section.name.replace("_", " ").capitalize(), lines))
    return listed


def _levels(found: Findings) -> Iterator[tuple[str, str]]:
    """Return how each cell was calibrated whose neighbours have a level to reach.

    Of those whose reservation rests on what the disk gives at most, what was measured of it.
    """

    def percent(share: float | None) -> str:
        return "an unknown part" if share is None else f"{100 * share:.1f} %"

    for cell in found.plan.cells:
        one = found.results.calibrations.get(cell.id)
        if one is None:
            continue
        if one.is_of_cpus:
            most, uses = "the CPUs' time", (percent(one.alone), percent(one.neighbours))
        else:
            rate = scale_for(Unit.BYTE_PER_SECOND, [one.maximum]).full
            most, uses = f"at most {rate(one.maximum)}", (rate(one.alone), rate(one.neighbours))
        neighbour = neighbour_of(cell.params)
        dialled = (
            f"{percent(one.reached)} of {most} reached by {percent(one.intensity)} of what the "
            "stressor takes at full"
        )
        has_level = neighbour is not None and neighbour.level is not None
        yield (
            f"{found.group_names[cell.id]} on {platform_text(cell)}",
            f"{dialled if has_level else most}; alone the workload took {uses[0]}, the neighbours "
            f"{uses[1]}",
        )


def limit_rows(found: Findings) -> Iterator[dict[str, object]]:
    """Return what each platform was to get, with what was read back inside it."""
    asked = dict.fromkeys(cell.limits for cell in found.plan.cells)
    for name in found.platforms:
        platform = found.results.facts.platform(name)
        yield {
            "platform": name,
            "asked": "; ".join(limits_text(limits) for limits in asked),
            "inside": "unavailable" if platform.unavailable else _inside(platform.inside),
            "known": [
                (what, text)
                for part in (platform.settings, platform.probe)
                for key, value in part.items()
                for what, text in _lines(NamedValue((key,), value))
                if text  # a setting that is not used is empty
            ]
            + ([("detected:", _stack(platform.detected))] if platform.detected.steps else []),
            "warnings": platform.warnings,
        }


def mismatch_rows(found: Findings) -> list[tuple[str, str, str]]:
    """List in what each platform was unlike the baseline, and which workloads that touches."""
    return [
        (name, one.said, ", ".join(one.workloads) or NONE)
        for name, platform in found.results.facts.platforms.items()
        for one in platform.mismatches
    ]


def selftest(found: Findings) -> list[str]:
    """Return what the host's last self-test before the study had shown that it can resolve."""
    said = [one for one in found.results.facts.selftest if one]
    if said:
        return said
    return [
        "No self-test of this host was known when the study began; what it can resolve is unknown.",
        "tare selftest tells: it injects overheads of known size and looks whether they come out.",
    ]


def version(found: Findings) -> str:
    """Return the version of Tare that ran the study, if it is known."""
    return _text(found.results.facts.tare.get("version"))


def _inside(inside: Sequence[NamedValue]) -> str:
    lines = [line for value in inside for line in _lines(value)]
    return ", ".join(f"{name} {text or OF_THE_HOST}" for name, text in lines) or "not read back"


def _session(one: EndedSession) -> str:
    until = f" to {one.ended}" if one.ended else ", not ended"
    reason = f": {one.reason}" if one.reason else ""
    return f"{one.started or NONE}{until}{reason}"


def _lines(fact: NamedValue) -> Iterator[tuple[str, str]]:
    """Write a fact as names and texts: a detected stack has a line for each of its steps too."""
    names, value = fact.names, fact.value
    if names and unit_of(names[-1]) is Unit.BYTE and isinstance(value, int):
        yield _titled((*names[:-1], word_of(names[-1]))), _size(value)
        return
    name = _titled(names)
    if isinstance(value, DetectedStack):
        yield name, _stack(value)
        for step in value.steps:
            yield f"{name}: {step.title}", "; ".join(step.evidence)
    else:
        yield name, _text(value)


def _titled(names: Sequence[str]) -> str:
    return ": ".join(names).replace("_", " ")


def _stack(detected: DetectedStack) -> str:
    return " > ".join(step.title for step in detected.steps)


def _size(value: int) -> str:
    exact = bytes_text(value)
    return exact if len(exact) <= 8 else f"{plain(value / 2**20)} MiB"


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value)
