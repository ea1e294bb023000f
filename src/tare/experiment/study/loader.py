"""Read a study from its YAML file; every problem is reported with its line and key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.resources import files
from pathlib import Path

from tare.core import parameter
from tare.core.errors import ConfigError
from tare.core.model import Design, Evidence, Limits, Repetition, Reservation, Unit
from tare.core.model.cell import DISK, NETWORK
from tare.experiment import scenario as scenarios
from tare.experiment.scenario import Scenario
from tare.experiment.study import duet, ladder, reservations
from tare.experiment.study.combinations import params_of, variants
from tare.experiment.study.declaration import CABLE, Deadlines, FixedWorkload, Platform, Study
from tare.experiment.study.item import Item, compose, one_of, refuse_unknown
from tare.experiment.study.measured import read_measured
from tare.experiment.study.platforms import Catalogue, read_peer, read_platforms
from tare.experiment.study.scale import DEFAULT, Scale, written_into
from tare.machines import layer
from tare.work import workload
from tare.work.workload import Measured

MAX_SLOTS = 1_000_000
"""A plan with more places than this is a mistake: it would take weeks and fill the memory."""

_PRESETS = files("tare.experiment.study") / "presets"
# It begins the name of a directory.
_STUDY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class _Head:
    """The keys of a study that hold a single value."""

    name: str
    question: str = ""
    scenario: str = "solo"
    baseline: str = "host"
    seed: int | None = None
    scale: Scale = DEFAULT
    readings_per_s: float = 1.0


_HEAD = [field.name for field in fields(_Head)]
SLOWEST_HZ, FASTEST_HZ = 1.0, 10.0
"""Equal to those of ``tare.experiment.probes.timeline``, which a test checks."""
LEAST_BYTES_PER_S = 10_000
"""With less even the commands that enter an instance would not come back in time."""
LEAST_PROCESSES = 16
"""Fewer do not suffice for what keeps a container up and one command in it."""
MOST_WEIGHT = 10_000
"""The largest `cpu.weight` of cgroup v2."""
ENOUGH_INSTANCES = 5
"""Equal to `tare.results.stats.hierarchy.ENOUGH_GROUPS`, which a test checks."""
_SECTIONS = ["platforms", "peer", ladder.KEY, "limits", "repetition", "deadlines"]


def preset_names() -> list[str]:
    """List the studies that come with Tare."""
    names = (preset.name for preset in _PRESETS.iterdir())
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


def load_study(path: Path | str, scale: Scale | None = None) -> Study:
    """Read a preset by its bare name, or else a study file; raise ConfigError if it is wrong.

    A ``scale`` counts before what the file says; a study that has but one refuses it.
    """
    presets = preset_names()
    source = _PRESETS / f"{path}.yaml" if str(path) in presets else Path(path)
    try:
        text = source.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8 text; expected a YAML file") from None
    except OSError as error:
        known = one_of(presets, str(path))
        raise ConfigError(f"{path}: {error.strerror}; expected a study file or {known}") from None
    return read_study(text, str(source), scale=scale)


def read_study(  # noqa: PLR0913 - what is only given by name is given by few
    text: str,
    file: str,
    layers: Catalogue = layer,
    workloads: Catalogue = workload,
    *,
    scale: Scale | None = None,
    options: Mapping[str, str] | None = None,
) -> Study:
    """Read a study from text; ``file`` is what errors call it. ConfigError lists all problems.

    ``options`` name what on the command line a path of keys was made of, where there is no file.
    """
    root = compose(text, file, scale, options)
    entries = root.entries()
    single = {key: entry for key, entry in entries.items() if key in _HEAD}
    heads = variants(_Head, root, single, factors=False, check=_check_head)
    chosen_scenario = scenarios.load(heads[0].made.scenario if heads else _named(entries))
    sections = [*_SECTIONS, chosen_scenario.section]
    if chosen_scenario.factor is not None:
        sections.append(chosen_scenario.factor[0])
    sections += [reservations.KEY] if chosen_scenario.takes_reservations else []
    refuse_unknown(entries, [*_HEAD, *sections])
    part = {name: entries.get(name) or root.without(name) for name in sections}

    taken_apart = ladder.read_ladders(part[ladder.KEY], layers) if ladder.KEY in entries else []
    platforms = _platforms(entries, part, taken_apart, layers)
    # A platform that could not be read may be the baseline: then there is nothing more to say.
    if heads and not root.problems.found:
        names, baseline = [platform.name for platform in platforms], heads[0].made.baseline
        if baseline not in names:
            at = entries.get("baseline") or root.without("baseline")
            at.wrong(f"{baseline!r} is not a platform; expected {one_of(names, baseline)}")
    peer = read_peer(entries["peer"], layers) if "peer" in entries else CABLE
    name = heads[0].made.scenario if heads else ""
    held = _reservations(entries, chosen_scenario)
    chosen = read_measured(
        name,
        chosen_scenario,
        part,
        workloads,
        lambda own: held if own is None else reservations.read_reservations(own, _check_limits),
    )
    _refuse_platforms(part, chosen_scenario, chosen, platforms)
    repetitions = variants(Repetition, part["repetition"], factors=False, check=_check_repetition)
    deadlines = variants(Deadlines, part["deadlines"], factors=False, check=_check_deadlines)
    if heads and repetitions:
        rule = repetitions[0].made
        for wrong in (
            *duet.objections(rule, heads[0].made.scenario, chosen_scenario, chosen),
            *chosen_scenario.objections(rule),
        ):
            part["repetition"].wrong(wrong)
    is_duet = bool(repetitions) and repetitions[0].made.design is Design.DUET
    _refuse_duet(part["repetition"], taken_apart if is_duet else ())
    limits = _limits(part["limits"], is_duet=is_duet)
    _refuse_limits(part["limits"], chosen_scenario, chosen, limits)
    few = tuple((one.name, one.instances) for one in platforms if one.instances is not None)
    repetitions = [
        replace(one, made=replace(one.made, instances_of_platforms=few)) for one in repetitions
    ]
    for one in repetitions:
        _check_evidence(part["platforms"], one.made)
    blocks = repetitions[0].made.max_blocks if repetitions else 0
    in_block = 2 * len(platforms) if is_duet else len(platforms) + 1
    slots = in_block * len(chosen) * len(limits) * blocks
    if slots > MAX_SLOTS:
        root.wrong(f"the plan has {slots} trials; expected at most {MAX_SLOTS}; shorten the lists")

    if not root.problems.found and not root.choice.was_made and (scale or "scale" in entries):
        (entries.get("scale") or root).wrong(
            f"the scale {scale or heads[0].made.scale} was asked for, but no value has the keys "
            "quick and full; expected one; leave the scale out"
        )
    root.problems.end()
    head = heads[0].made
    study = Study(
        name=head.name,
        question=head.question,
        scenario=head.scenario,
        platforms=tuple(platforms),
        baseline=head.baseline,
        limits=tuple(limits),
        workloads=tuple(chosen),
        repetition=repetitions[0].made,
        deadlines=deadlines[0].made,
        seed=head.seed,
        source=text,
        scale=root.choice.scale if root.choice.was_made else None,
        readings_per_s=head.readings_per_s,
        ladders=tuple(one.ladder for one in taken_apart),
        peer=peer,
    )
    if scale is None:
        return study
    return replace(study, source=_said(study, root, file, layers, workloads))


def _said(study: Study, root: Item, file: str, layers: Catalogue, workloads: Catalogue) -> str:
    """Write a study's scale into its text, or raise ConfigError if it would not be the same study.

    YAML can be written in more ways than the word is put in by.
    """
    scale = root.choice.scale
    source = written_into(study.source, root.node, scale)
    try:
        again = read_study(source, file, layers, workloads)
    except ConfigError:
        again = None
    if again is None or replace(again, source=study.source) != study:
        raise ConfigError(
            f"{file}:1: the scale {scale} was asked for and cannot be written into this text; "
            f"expected plain keys and values; write 'scale: {scale}' among its keys, and leave the "
            "scale out"
        )
    return source


def _platforms(
    entries: Mapping[str, Item],
    part: Mapping[str, Item],
    taken_apart: Sequence[ladder.Expanded],
    layers: Catalogue,
) -> list[Platform]:
    """Read the platforms and add those of ladders; a study of a ladder alone has `host` too."""
    if "platforms" in entries or ladder.KEY not in entries:
        platforms = read_platforms(part["platforms"], layers)
    else:
        host = params_of(layers.kind("host")())
        platforms = [Platform(name="host", stack="host", layers=(("host", host),))]
    for one in (platform for each in taken_apart for platform in each.platforms):
        if any(one.name == platform.name for platform in platforms):
            part[ladder.KEY].wrong(
                f"two platforms are called {one.name!r}; expected each name once; "
                "add a 'name' of its own"
            )
        platforms.append(one)
    return platforms


def _refuse_platforms(
    part: Mapping[str, Item],
    scenario: Scenario[Measured],
    chosen: Sequence[FixedWorkload],
    platforms: Sequence[Platform],
) -> None:
    """Refuse levels of a factor with parts on a platform that the study does not have."""
    names = [platform.name for platform in platforms]
    if scenario.factor is None or not names:
        return
    named = dict.fromkeys(name for one in chosen for name in scenario.platforms(one.made) if name)
    for name in named:
        if name not in names:
            part[scenario.factor[0]].wrong(
                f"platform: {name!r} is not a platform; expected {one_of(names, name)}"
            )


def _refuse_duet(item: Item, taken_apart: Sequence[ladder.Expanded]) -> None:
    if taken_apart:
        item.wrong(
            "the platforms of a ladder are compared with each other, and a duet compares each with "
            f"the baseline only; expected the design {Design.INTERLEAVED}"
        )


def _limits(item: Item, *, is_duet: bool) -> list[Limits]:
    """Read the limits: one mapping, or a list of them where they do not vary independently."""

    def check(limits: Limits) -> None:
        _check_limits(limits)
        if is_duet and (wrong := duet.objection_to(limits)):
            raise ValueError(wrong)

    found: list[Limits] = []
    for part in item.elements() if item.is_list else [item]:
        made = [variant.made for variant in variants(Limits, part, check=check)]
        if any(limits in found for limits in made):
            part.wrong("the same limits stand above; expected each once; remove one")
        found += made
    return found


def _named(entries: Mapping[str, Item]) -> str:
    """Return the scenario of a study whose head has a problem: its keys are known all the same."""
    item = entries.get("scenario")
    text = None if item is None or item.is_list or item.is_mapping else item.text()
    return text if text in scenarios.names() else "solo"


def _reservations(
    entries: Mapping[str, Item], scenario: Scenario[Measured]
) -> list[Reservation | None]:
    """Read what neighbours are held to; nothing where a study does not say."""
    if reservations.KEY not in entries or not scenario.takes_reservations:
        return [None]
    return reservations.read_reservations(entries[reservations.KEY], _check_limits)


def _refuse_limits(
    item: Item,
    scenario: Scenario[Measured],
    chosen: Sequence[FixedWorkload],
    limits: Sequence[Limits],
) -> None:
    """Note under which of the limits what is measured cannot run."""
    found = (
        wrong
        for one in chosen
        for held in limits
        for wrong in scenario.objections_to_limits(one.made, held)
    )
    for wrong in dict.fromkeys(found):
        item.wrong(wrong)


def _check_head(head: _Head) -> None:
    if not _STUDY_NAME.fullmatch(head.name):
        raise ValueError(
            f"name: {head.name!r} was given; expected letters, digits and ._- (at most 64), "
            "for it begins a directory's name"
        )
    if head.scenario not in scenarios.names():
        known = one_of(scenarios.names(), head.scenario)
        raise ValueError(f"scenario: found {head.scenario!r}; expected {known}")
    if head.seed is not None:
        _least("seed", head.seed, 0)
    if not SLOWEST_HZ <= head.readings_per_s <= FASTEST_HZ:
        raise ValueError(
            f"readings_per_s: {head.readings_per_s:g} was given; expected {SLOWEST_HZ:g} to "
            f"{FASTEST_HZ:g} readings a second of host, layer and machine"
        )


def _check_limits(limits: Limits) -> None:
    _least("cpus", limits.cpus, 1)
    _least("memory", limits.memory_bytes, 1)
    if limits.processes is not None:
        _least("processes", limits.processes, LEAST_PROCESSES)
    if limits.cpu_weight is not None and not 1 <= limits.cpu_weight <= MOST_WEIGHT:
        raise ValueError(
            f"cpu_weight: {limits.cpu_weight} was given; expected 1 to {MOST_WEIGHT}, where 100 is "
            "what each has otherwise"
        )
    for name, value in limits.optional:
        if name in (*DISK, *NETWORK):
            is_rate = parameter.unit_of(name) is Unit.BYTE_PER_SECOND
            _least(parameter.key_of(name), value, LEAST_BYTES_PER_S if is_rate else 1)


def _check_repetition(repetition: Repetition) -> None:
    _least("min_blocks", repetition.min_blocks, 1)
    _least("max_blocks", repetition.max_blocks, repetition.min_blocks)
    _least("instances", repetition.instances, 1)
    if repetition.evidence is Evidence.ESTABLISHED and repetition.instances < ENOUGH_INSTANCES:
        raise ValueError(
            f"instances: {repetition.instances} was given; expected {ENOUGH_INSTANCES} or more, "
            "because what fewer show can be their luck and is never established"
        )
    if repetition.blocks_per_instance != "auto":
        _least("blocks_per_instance", repetition.blocks_per_instance, 1)
    if repetition.warmup != "auto":
        _least("warmup", repetition.warmup, 0)
    for key, part in (("margin", repetition.margin), ("precision", repetition.precision)):
        if part is not None and not 0 < part < 1:
            raise ValueError(f"{key}: {part:g} was given; expected between 0 and 1, such as 2%")
    _positive("budget", repetition.budget_s)


def _check_evidence(item: Item, repetition: Repetition) -> None:
    """Refuse a platform of its own few instances where established verdicts are asked for."""
    for name, instances in repetition.instances_of_platforms:
        if repetition.evidence is Evidence.ESTABLISHED and instances < ENOUGH_INSTANCES:
            item.wrong(
                f"{name} has instances: {instances}; expected {ENOUGH_INSTANCES} or more, because "
                "what fewer show can be their luck and is never established"
            )


def _check_deadlines(deadlines: Deadlines) -> None:
    _positive("start", deadlines.start_s)
    _positive("trial", deadlines.trial_s)


def _least(key: str, number: int, least: int) -> None:
    if number < least:
        raise ValueError(f"{key}: {number} was given; expected {least} or more")


def _positive(key: str, seconds: float | None) -> None:
    if seconds is not None and seconds <= 0:
        raise ValueError(f"{key}: {seconds:g} s was given; expected more than 0 s")
