"""Check a fresh instance: its limits, its stack, and what must be alike for a fair comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tare.core.errors import CommandFailed, LayerError
from tare.experiment.run import conditions
from tare.experiment.run.instance_set import InstanceSet, Member
from tare.machines import detection
from tare.machines.cgroup import readback


def check(
    instances: InstanceSet,
    member: Member,
    detected_here: Callable[[], Sequence[detection.Detected]],
) -> None:
    """Read back the limits inside, and check in a platform's first instance what stack it is.

    Stores both with the instance set, with warnings. ``detected_here`` returns the stack that the
    host itself runs in. Raises LayerError where the instance does not have its resources.
    """
    try:
        inside = member.stack.inside()
    except CommandFailed as error:
        raise LayerError(f"its limits could not be read back inside: {error}") from error
    instances.inside = inside
    limits = instances.limits
    for made in instances.platform.made:
        limits = made.held_to(limits)
    refusals = readback.refusals(limits, inside, member.stack.cpuset)
    if refusals:
        raise LayerError(f"it does not get the same resources: {'; '.join(refusals)}")
    for warning in readback.warnings(instances.limits, inside):
        if warning not in instances.warnings:
            instances.warnings.append(warning)
    _check_stack(instances, member, detected_here)


def read_conditions(instances: InstanceSet, member: Member, tools: Sequence[str]) -> None:
    """Read the comparison conditions in a platform's first instance.

    ``tools`` are the programs whose versions have to agree.
    """
    if instances.conditions is not None or instances.inside is None or not member.is_first:
        return
    found = conditions.read(member.stack, member.label, instances.inside, tools)
    instances.conditions = found
    instances.warnings += [found.problem] if found.problem else []


def _check_stack(
    instances: InstanceSet,
    member: Member,
    detected_here: Callable[[], Sequence[detection.Detected]],
) -> None:
    layers = instances.platform.made
    declared = [detection.Declared(made.name, made.detected_as()) for made in layers]
    asked = all(one.seen_as for one in declared)
    if instances.detected is not None or not member.is_first or not asked:
        return
    instances.detected = ()
    try:
        instances.detected = detection.detect(member.stack.machine)
    except CommandFailed as error:
        instances.warnings.append(f"what it runs in could not be read inside: {error}")
        return
    instances.warnings += detection.disagreements(declared, detected_here(), instances.detected)
