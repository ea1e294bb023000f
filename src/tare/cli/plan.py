"""``tare plan``: what a study would do, without doing it."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict

from tare.core.errors import Unavailable
from tare.core.home import home
from tare.core.model import Design, Limits, Plan
from tare.core.parameter import word_of
from tare.experiment import scenario
from tare.experiment.design import PlanEstimate, estimate, make_plan
from tare.experiment.design.admission import Sum, admit, at_once_of, needs
from tare.experiment.design.host_demand import cpus_too_many, disk_need
from tare.experiment.design.peer_cpus import Crowded, crowded
from tare.experiment.host.facts import available_bytes
from tare.experiment.study import Study, duet, load_study
from tare.experiment.study.declaration import CABLE
from tare.experiment.study.scale import SCALES

BY_BLOCKS = "by blocks"
FEW = 4
"""The most parts of a trial that are named one by one."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("study", help="a study file, or the name of a preset (tare list studies)")
    parser.add_argument("--seed", type=int, help="the seed of the random order; else drawn")
    parser.add_argument("--json", action="store_true", help="print facts for programs")
    scale_argument(parser)


def scale_argument(parser: argparse.ArgumentParser) -> None:
    """Declare what chooses between the two scales of a study."""
    parser.add_argument("--scale", choices=SCALES, help="of a study at two scales; else its own")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    study = load_study(options.study, options.scale)
    seed = next((s for s in (options.seed, study.seed) if s is not None), secrets.randbits(31))
    plan = make_plan(study, seed)
    expected = estimated(study, plan)
    both: dict[str, PlanEstimate] = {}
    for scale in SCALES if study.scale and not options.scale else ():
        one = load_study(options.study, scale)
        both[scale] = estimated(one, make_plan(one, seed))
    if options.json:
        content: dict[str, object] = {"plan": asdict(plan), "estimate": asdict(expected)}
        content |= {"scale": study.scale, "memory": memory(study, plan)}
        content |= {"crowded": [asdict(one) for one in crowded_here(study)]}
        content |= {"room": room(study, plan)}
        print(json.dumps(content | {"scales": {scale: asdict(one) for scale, one in both.items()}}))
        return 0
    show(study, plan, both or {"": expected})
    print(f"  memory     {memory(study, plan)['says']}")
    for title, says in room(study, plan).items():
        print(f"  {title:<10} {says}")
    return 0


def estimated(study: Study, plan: Plan) -> PlanEstimate:
    """Estimate what a plan will take, as its instances fit the memory of this host."""
    return estimate(plan, study, by_blocks=memory(study, plan)["fits"] == BY_BLOCKS)


def room(study: Study, plan: Plan) -> Mapping[str, str]:
    """Return of CPUs and disk whether this host, on which it need not be run, has them."""
    folder = next(path for path in (home(), *home().absolute().parents) if path.exists())
    free, blocks = shutil.disk_usage(folder).free, memory(study, plan)["fits"] == BY_BLOCKS
    need = disk_need(study, plan, by_blocks=blocks)
    too_large = need.too_large(free)
    fits = f"{_bytes(free)} here, for up to {_bytes(need.total_bytes)} of workload files"
    says = {"free disk": f"does not fit: {too_large}" if too_large else fits}
    too_many = cpus_too_many(study, len(os.sched_getaffinity(0)))
    return says | ({"CPUs": too_many} if too_many else {})


def memory(study: Study, plan: Plan) -> Mapping[str, object]:
    """Return whether a plan fits the memory of this host, on which it need not be run."""
    found, at_once = needs(study, plan), at_once_of(plan)
    total, available = Sum(found, at_once).total_bytes, available_bytes()
    says = f"up to {_bytes(total)}, of {_bytes(available)} available here"
    try:
        fits = "at once" if admit(found, at_once, available) else BY_BLOCKS
    except Unavailable as error:
        fits, says = "not", f"does not fit: {error}"
    if fits == BY_BLOCKS:
        says += ": instances are opened by blocks, one of each platform; the time includes that"
    return {"needs_bytes": total, "available_bytes": available, "fits": fits, "says": says}


def crowded_here(study: Study) -> list[Crowded]:
    """List what leaves the peer none of the CPUs of this host."""
    return list(crowded(study, len(os.sched_getaffinity(0))))


def show(study: Study, plan: Plan, estimates: Mapping[str, PlanEstimate]) -> None:
    """Print what a plan would run, with an estimate for each scale."""
    rule = plan.repetition
    print(f"{study.name}: {study.question}" if study.question else study.name)
    if study.scale:
        print(f"  scale      {study.scale}")
    print(f"  baseline   {study.baseline}, measured twice in every block (A/A control)")
    for title, names in (
        ("platforms", [platform.name for platform in study.platforms]),
        ("peer", [study.peer.name] if study.peer is not CABLE else []),
        ("ladders", [f"{one.default}: {', '.join(switch.name for switch in one.switches)}"
                     for one in study.ladders]),
        ("workloads", [_label(w.name, dict(w.params)) for w in study.workloads]),
        ("limits", [_limits(limits) for limits in study.limits]),
        ("parts", list(_parts(study))),
        ("suspect", [one.says() for one in crowded_here(study)]),
    ):  # fmt: skip
        for name in names:
            print(f"  {title:<10} {name}")
            title = ""
    print(f"  blocks     {rule.min_blocks} to {rule.max_blocks}, order by seed {plan.seed}")
    if rule.design is Design.DUET:
        print("  design     duet: each platform and the baseline at the same moment, on CPUs of")
        print("             their own, swapped between blocks. It assumes:")
        for assumption in duet.ASSUMES:
            print(f"             - {assumption}")
    sides = " on each set of CPUs" if rule.design is Design.DUET else ""
    own = [f"{count} of {name}" for name, count in rule.instances_of_platforms]
    print("\n             ".join([f"  instances  {rule.instances} a platform{sides}", *own]))
    if rule.budget_s is not None:
        print(f"  budget     {_time(rule.budget_s)} of measuring")
    print("  estimated")
    for line in _side_by_side(estimates):
        print(f"  {line}")


def _parts(study: Study) -> Iterator[str]:
    """Return of which workloads a trial has several parts, each in an instance of its own."""
    chosen = scenario.load(study.scenario)
    for one in study.workloads:
        parts = chosen.parts(one.made)
        if len(parts) > 1:
            listed = ", ".join(parts) if len(parts) <= FEW else f"{parts[0]} to {parts[-1]}"
            yield f"{listed} of {_label(one.name, dict(one.params))}"


def _limits(limits: Limits) -> str:
    usual = f"{limits.cpus} CPU, {_bytes(limits.memory_bytes)}, disk cache {limits.disk_cache}"
    kind = "" if limits.is_pinned else f", CPU limit {limits.cpu_limit}"
    swap = f", swap {_bytes(limits.swap_bytes)}" if limits.swap_bytes else ""
    # The words of present would import numpy.
    more = "".join(f", {word_of(name)} {value}" for name, value in limits.optional)
    return f"{usual}{kind}{swap}{more}"


def _label(name: str, params: Mapping[str, object]) -> str:
    flat = {key: " ".join(str(value).split()) for key, value in params.items()}
    return f"{name}({', '.join(f'{key}={value}' for key, value in flat.items())})"


def _side_by_side(estimates: Mapping[str, PlanEstimate]) -> Iterator[str]:
    """Write estimates in columns, each below its scale; one alone has no heading."""
    columns = [
        (
            scale,
            f"{one.cells}",
            f"{one.trials_min} to {one.trials_max}",
            f"{_time(one.duration_min_s)} to {_time(one.duration_max_s)}",
            f"{_bytes(sum(one.disk_bytes.values()))} of workload files",
        )
        for scale, one in estimates.items()
    ]
    for title, *cells in zip(("scale", "cells", "trials", "time", "disk"), *columns, strict=True):
        if any(cells):
            yield f"{title:<10} {''.join(f'{cell:<30}' for cell in cells)}".rstrip()


def _time(seconds: float) -> str:
    if seconds >= 3 * 3600:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _bytes(count: float) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
