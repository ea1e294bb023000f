"""The formats of the files in a results directory: which one this Tare writes, and which it reads.

What was stored is read forever: a format before today's is turned into today's when it is read,
and nothing on disk is changed. A newer one is refused, because what it adds is not known here. A
file that says nothing is of the first format.

The ledger alone has none: each of its lines has the command that removes what was made, and these
have to be carried out whatever a newer Tare has added to them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from tare.core.errors import ResultsError
from tare.core.model import (
    INJECTED,
    ComplaintKind,
    ContrastKind,
    Design,
    FileAccess,
    MetricRole,
    Replicates,
    Status,
    Unit,
)

PLAN = 3
"""1: the first; 2: cells have their id and the workload's access to files, contrasts say what with
what, slots have parts, metrics a role; 3: a slot may have parts of several cells, as a duet has.
Limits that say no kind of CPU limit and no swap are of a plan that knew only pinned CPUs and none.
"""
TRIALS = 3
"""1: the first; 2: a trial names its session, complaints are kinds; it may have parts; 3: parts may
be of several cells, and have warnings of their own. The two halves of a duet were trials of their
own before, each naming the other's cell as its partner, and are read as such."""
FACTS = RUN = RAW = SAMPLES = PROGRESS = CALIBRATIONS = 1
"""1: the first."""

Fields = dict[str, Any]
_TODAYS_PLAN, _SECOND_PLAN = (f'{{"format": {format_}, '.encode() for format_ in (PLAN, 2))
_FIRST_TRIAL, *_LATER_TRIALS = (f'{{"format":{format_},'.encode() for format_ in (1, 2, TRIALS))
_DUET = f'"design": "{Design.DUET}"'.encode()
_SUSPECT = f'"{Status.SUSPECT}"'.encode()

_FIRST_COMPLAINTS = (
    (ComplaintKind.STOLEN, "share", r"the hypervisor below stole (\d+) % of the CPU time"),
    (ComplaintKind.FOREIGN, "share", r"other work took (\d+) % of the trial's CPU time"),
    (ComplaintKind.MEMORY, "share", r"the host was short of memory in (\d+) % of the time"),
    (ComplaintKind.SWAPPED, "pages", r"the host swapped (\d+) pages"),
    (ComplaintKind.HEAT, "times", r"heat throttled its CPUs (\d+) times"),
    (ComplaintKind.SLOW_CLOCK, "ratio", r"its CPUs ran at (\d+) % of their base frequency"),
    (
        *(ComplaintKind.PEER_BUSY, "share"),
        r"the machine outside was busy for (\d+) % of the time: it may be the bottleneck, and not "
        "what is measured",
    ),
    (
        *(ComplaintKind.PEER_SHARED, ""),
        "the machine outside shares the trial's CPUs, for this host has no others",
    ),
)
"""The words of the first format's complaints, and the name of the number in each."""
_SCALES = {"share": 100, "ratio": 100}
"""What a number in these words is to be divided by."""


def refuse_newer(content: Mapping[str, Any], format_: int, where: object) -> None:
    """Raise ResultsError if something was written in a format that this Tare does not know."""
    found = content.get("format", 1)
    if not isinstance(found, int) or found < 1:
        raise ResultsError(f"{where} is not understood: its format is {found!r}")
    if found > format_:
        raise ResultsError(
            f"{where} was written by a newer Tare (format {found}, this one reads up to "
            f"{format_}): read it with that version or a later one"
        )


def todays_trial(line: bytes, where: object) -> bytes:
    """Turn a stored trial of any format into one of today's.

    Raises ResultsError if it is of a newer format; what else is wrong with it is left as it is.
    """
    if line.startswith(tuple(_LATER_TRIALS)):
        return line  # what was stored in the second format means the same in today's
    if line.startswith(_FIRST_TRIAL) and _SUSPECT not in line:
        return _with_session(line)  # a large study has a hundred thousand of these
    try:
        trial = from_json(line)
    except ValueError:
        return line  # what is wrong with it is said where it is read
    if not isinstance(trial, dict):
        return line
    refuse_newer(trial, TRIALS, where)
    if trial.get("format", 1) != 1:
        return line
    try:
        return json.dumps(_second_trial(trial)).encode()
    except (AttributeError, KeyError, TypeError):
        return line


def _with_session(line: bytes) -> bytes:
    """Add what alone other trials of the first format lack, without reading the whole of one."""
    instance = line.partition(b'"instance":"')[2].partition(b'"')[0]
    session, rest = instance.partition(b"-")[0], line.rstrip()
    if not rest.endswith(b"}") or (session and not session.isalnum()):
        return line
    return b'%s,"session":"%s"}\n' % (rest[:-1], session)


def _second_trial(trial: Fields) -> Fields:
    """Turn a trial of the first format into one of the second.

    There its session began the name of its instance. The complaints were sentences, those of the
    reason of a suspect one, and among the warnings once more.
    """
    trial = {**trial, "session": trial["instance"].partition("-")[0]}
    if trial.get("status") != Status.SUSPECT:
        return trial
    found = {part: _first_complaint(part) for part in trial["reason"].split("; ")}
    known = {part: complaint for part, complaint in found.items() if complaint}
    warnings = trial.get("warnings", [])
    more = [complaint for part, complaint in known.items() if part not in warnings]
    return {**trial, "warnings": [*(known.get(one, one) for one in warnings), *more]}


def _first_complaint(text: str) -> Fields | None:
    for kind, name, words in _FIRST_COMPLAINTS:
        if found := re.fullmatch(words, text):
            numbers = [int(number) / _SCALES.get(name, 1) for number in found.groups()]
            return {"kind": kind.value, "values": dict(zip([name], numbers, strict=False))}
    return None


def todays_plan(content: bytes, where: object) -> bytes:
    """Turn a stored plan of any format into one of today's.

    Raises ResultsError if it is of a newer format; what else is wrong with it is left as it is.
    """
    if content.startswith(_TODAYS_PLAN):
        return content
    if content.startswith(_SECOND_PLAN) and _DUET not in content:
        return content  # the same in today's format, for no slot has a partner
    try:
        plan = from_json(content)
    except ValueError:
        return content
    if not isinstance(plan, dict):
        return content
    refuse_newer(plan, PLAN, where)
    try:
        second = _second_plan(plan) if plan.get("format", 1) == 1 else plan
        references = {contrast["reference"] for contrast in second["contrasts"]}
        slots = _third_slots(second["slots"], references)
        return json.dumps({**second, "slots": slots}).encode()
    except (AttributeError, KeyError, StopIteration, TypeError, ValueError):
        return content


def _second_plan(plan: Fields) -> Fields:
    """Turn a plan of the first format into the second.

    There a cell's id was the hash of all of its fields, the A/A control was marked in its cell, and
    all cells were compared with the one of the plan's baseline that had their work and limits. Of
    the scenarios lifecycle alone made instances in its trials. A metric was used by its name for
    what its role says now, and a workload on files was known by its parameter ``direct``.
    """
    cells = [_second_cell(cell) for cell in plan["cells"]]
    groups: dict[str, list[tuple[Fields, Fields]]] = {}
    for before, after in zip(plan["cells"], cells, strict=True):
        params = [pair for pair in before["params"] if pair[0] != INJECTED]
        group = json.dumps([before["workload"], params, before["limits"]], sort_keys=True)
        groups.setdefault(group, []).append((before, after))
    contrasts = [
        contrast
        for group in groups.values()
        for contrast in _contrasts(group, plan["baseline"], plan.get("ladders", ()))
    ]
    metrics = {
        workload: [{**metric, "role": _role(metric)} for metric in some]
        for workload, some in plan["metrics"].items()
    }
    is_lifecycle = any(cell["workload"] == "lifecycle" for cell in cells)
    replicates = Replicates.TRIALS if is_lifecycle else Replicates.INSTANCES
    added = {"contrasts": contrasts, "metrics": metrics, "replicates": replicates.value}
    return {**plan, "cells": cells, "slots": [*map(_second_slot, plan["slots"])], **added}


def _role(metric: Fields) -> MetricRole:
    """Return what a metric of the first format was used for by its name, and loss by its unit."""
    roles = {
        ("tool_duration", Unit.SECOND): MetricRole.TOOL_DURATION,
        ("loss", Unit.RATIO): MetricRole.LOSS,
        ("failed", Unit.RATIO): MetricRole.FAILED,
        ("capacity", Unit.PER_SECOND): MetricRole.SEARCHED,
    }
    return roles.get((metric["name"], metric["unit"]), MetricRole.PLAIN)


def _second_slot(slot: Fields) -> Fields:
    placement = {"instance": slot["instance"], "cores": slot.get("cores", 0)}
    return {**slot, "placements": [placement]}


def _third_slots(slots: Sequence[Fields], references: Collection[str]) -> list[Fields]:
    """Merge the slots of the second format that were measured at the same moment, two by two.

    There the halves of a duet had a slot each, one after the other, and each named the other's cell
    as its partner.
    """
    merged: list[Fields] = []
    first: Fields | None = None
    for slot in slots:
        if not slot.get("partner"):
            merged.append(slot)
        elif first is None:
            first = slot
        else:
            placements = [
                {
                    **half["placements"][0],
                    "cell": half["cell"],
                    "part": "reference" if half["cell"] in references else "subject",
                }
                for half in (first, slot)
            ]
            subject = next(one["cell"] for one in placements if one["part"] == "subject")
            merged.append({**first, "cell": subject, "placements": placements})
            first = None
    return merged


def _second_cell(cell: Fields) -> Fields:
    text = json.dumps(cell, sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:10]
    replica, access = int(cell.get("control", False)), FileAccess.NONE
    params = dict(cell["params"])
    if "direct" in params:
        access = FileAccess.DIRECT if params["direct"] is True else FileAccess.CACHED
    return {**cell, "id": name, "replica": replica, "file_access": access}


def _contrasts(
    group: Sequence[tuple[Fields, Fields]], baseline: str, ladders: Sequence[Fields]
) -> Iterator[Fields]:
    shares = {after["id"]: _injected(before) for before, after in group}
    plain = {
        after["platform"]: after["id"]
        for _, after in group
        if not after["replica"] and shares[after["id"]] is None
    }
    reference = plain.get(baseline)
    for _, after in group if reference else ():
        share = shares[after["id"]]
        kind = ContrastKind.OVERHEAD if share is None else ContrastKind.INJECTED
        kind = ContrastKind.CONTROL if after["replica"] else kind
        if after["id"] != reference:
            yield {"cell": after["id"], "reference": reference, "kind": kind.value, "known": share}
    for ladder in ladders:
        pairs = [(ladder["default"], ladder["bare"])]
        for switch in ladder["switches"]:
            pairs += [(ladder["default"], switch["without"]), (switch["only"], ladder["bare"])]
        for one, other in pairs:
            kind = ContrastKind.ATTRIBUTION
            yield {"cell": plain[one], "reference": plain[other], "kind": kind.value}


def _injected(cell: Fields) -> float | None:
    share = dict(cell["params"]).get(INJECTED)
    return share if isinstance(share, float) else None
