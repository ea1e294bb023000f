"""What ran where, as lines of a page.

Every fact may be missing: the study may still run, or was killed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tare import resolution
from tare.report.findings import Findings
from tare.report.names import limits_text
from tare.report.numbers import NONE, bytes_text, plain
from tare.report.words import VARIANTS

_SEPARATE = ("platforms", "noise", "selftest")

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
                ("stopped", _text(run.get("stop")) or "not ended"),
                ("results", str(found.results.folder)),
            ],
        )
    ]
    sessions = run.get("sessions")
    if isinstance(sessions, list) and sessions:
        lines = [(f"session {n}", _session(one)) for n, one in enumerate(sessions, 1)]
        listed.append(Fact("Sessions", lines))
    for name, about in found.results.facts.items():
        if name not in _SEPARATE and about:
            lines = list(_lines(about))
            listed.append(Fact(name.replace("_", " ").capitalize(), lines))
    return listed


def platform_warnings(found: Findings) -> Mapping[str, Sequence[str]]:
    """List what is to be known about each platform beside its numbers."""
    platforms = found.results.facts.get("platforms")
    told: dict[str, list[str]] = {}
    for name, about in platforms.items() if isinstance(platforms, Mapping) else ():
        warnings = about.get("warnings") if isinstance(about, Mapping) else None
        told[name] = [str(one) for one in warnings] if isinstance(warnings, list) else []
    return told


def limit_rows(found: Findings) -> Iterator[dict[str, object]]:
    """Set what each platform was to get beside what was read back inside it."""
    platforms = found.results.facts.get("platforms")
    known = platforms if isinstance(platforms, Mapping) else {}
    asked = dict.fromkeys(cell.limits for cell in found.plan.cells)
    for name in found.platforms:
        about = known.get(name)
        about = about if isinstance(about, Mapping) else {}
        inside = about.get("inside")
        unavailable = about.get("unavailable")
        detected = _steps(about.get("detected"))
        yield {
            "platform": name,
            "asked": "; ".join(limits_text(limits) for limits in asked),
            "inside": "unavailable" if unavailable else _inside(inside),
            "known": [
                (name, value)
                for part in ("settings", "probe")
                for name, value in _lines(about.get(part) or {})
                if value  # a setting that is not used is empty
            ]
            + ([("detected:", _stack(detected))] if detected else []),
            "warnings": platform_warnings(found).get(name, []),
        }


def mismatch_rows(found: Findings) -> list[tuple[str, str, str]]:
    """List in what each platform was unlike the baseline, and which workloads that touches."""
    platforms = found.results.facts.get("platforms")
    listed = []
    for name, stored in platforms.items() if isinstance(platforms, Mapping) else ():
        mismatches = stored.get("mismatches") if isinstance(stored, Mapping) else None
        for one in mismatches if isinstance(mismatches, list) else ():
            if isinstance(one, Mapping):
                touched = _text(one.get("workloads")) or NONE
                listed.append((str(name), _text(one.get("said")), touched))
    return listed


def noise(found: Findings) -> list[str]:
    """List what makes the host noisy."""
    sentences = found.results.facts.get("noise")
    return [_text(one) for one in sentences] if isinstance(sentences, list) else []


def selftest(found: Findings) -> list[str]:
    """Say what the host's last self-test has shown that it can resolve.

    It is the one that is stored on this machine, if the host is this machine, else the one that was
    known when the study began.
    """
    host = found.results.facts.get("host")
    result = resolution.last(host) if isinstance(host, Mapping) else {}
    known = result or found.results.facts.get("selftest")
    said = known.get("said") if isinstance(known, Mapping) else None
    if isinstance(said, list) and said:
        return [_text(one) for one in said if one]
    return [
        "No self-test of this host is known, so nobody has seen what it can resolve.",
        "tare selftest tells: it injects overheads of known size and looks whether they come out.",
    ]


def version(found: Findings) -> str:
    """Give the version of Tare that ran the study, if it is known."""
    about = found.results.facts.get("tare")
    return _text(about.get("version")) if isinstance(about, Mapping) else ""


def _inside(inside: object) -> str:
    if not isinstance(inside, Mapping) or not inside:
        return "not read back"
    return ", ".join(f"{name} {value or OF_THE_HOST}" for name, value in _lines(inside))


def _session(one: object) -> str:
    if not isinstance(one, Mapping):
        return _text(one)
    ended = one.get("ended")
    until = f" to {_text(ended)}" if ended else ", not ended"
    reason = f": {_text(one['reason'])}" if one.get("reason") else ""
    return f"{_text(one.get('started')) or NONE}{until}{reason}"


def _lines(about: object, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Flatten nested facts into names and values."""
    if isinstance(about, Mapping):
        for key, value in about.items():
            name = f"{prefix}{key}".replace("_", " ")
            if isinstance(value, Mapping):
                yield from _lines(value, f"{name}: ")
            elif steps := _steps(value):
                yield name, _stack(steps)
                for step in steps:
                    evidence = step.get("evidence")
                    said = evidence if isinstance(evidence, list) else []
                    yield f"{name}: {_text(step['title'])}", "; ".join(map(_text, said))
            elif name.endswith(" bytes") and isinstance(value, int):
                yield name.removesuffix(" bytes"), _size(value)
            else:
                yield name, _text(value)
    else:
        yield prefix.removesuffix(": "), _text(about)


def _steps(value: object) -> list[Mapping[str, object]]:
    """Take a list for the steps of a detected stack if it is one."""
    steps = value if isinstance(value, list) else []
    return [step for step in steps if isinstance(step, Mapping) and "title" in step]


def _stack(steps: Sequence[Mapping[str, object]]) -> str:
    return " > ".join(_text(step["title"]) for step in steps)


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
