"""The formats of the files in a results directory: which one this Tare writes, and which it reads.

What was stored is read for ever: a format before today's is turned into today's when it is read,
and nothing on disk is changed. A newer one is refused, because what it adds is not known here. A
file that says nothing is of the first format.

The ledger alone has none: each of its lines has the command that removes what was made, and these
have to be carried out whatever a newer Tare has added to them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from tare.errors import ResultsError
from tare.model import INJECTED, ContrastKind, FileAccess, MetricRole, Unit

PLAN = 2
"""1: the first; 2: cells have their id, contrasts say what is compared with what, metrics have a
role, cells the workload's access to files."""
TRIALS = FACTS = RUN = RAW = SAMPLES = 1
"""1: the first."""

Fields = dict[str, Any]
_TODAYS_PLAN = f'{{"format": {PLAN}, '.encode()
_TODAYS_TRIAL = f'{{"format":{TRIALS},'.encode()


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


def refuse_newer_trial(line: bytes, where: object) -> None:
    """Raise ResultsError if a line of trials is of a newer format; others are not looked at."""
    if line.startswith(_TODAYS_TRIAL):
        return
    try:
        content = from_json(line)
    except ValueError:
        return  # what is wrong with it is said where it is read
    if isinstance(content, dict):
        refuse_newer(content, TRIALS, where)


def todays_plan(content: bytes, where: object) -> bytes:
    """Turn a stored plan of any format into one of today's.

    Raises ResultsError if it is of a newer format; what else is wrong with it is left as it is.
    """
    if content.startswith(_TODAYS_PLAN):
        return content
    try:
        plan = from_json(content)
    except ValueError:
        return content
    if not isinstance(plan, dict):
        return content
    refuse_newer(plan, PLAN, where)
    try:
        upgraded = _second_plan(plan) if plan.get("format", 1) == 1 else plan
        return json.dumps(upgraded).encode()
    except (AttributeError, KeyError, TypeError, ValueError):
        return content


def _second_plan(plan: Fields) -> Fields:
    """Turn a plan of the first format into the second.

    There a cell's id was the hash of all of its fields, the A/A control was marked in its cell, and
    all cells were compared with the one of the plan's baseline that had their work and limits. A
    metric was used by its name for what its role says now, and a workload on files was known by its
    parameter ``direct``.
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
    return {**plan, "cells": cells, "contrasts": contrasts, "metrics": metrics}


def _role(metric: Fields) -> MetricRole:
    """Return what a metric of the first format was used for by its name, and loss by its unit."""
    roles = {
        ("tool_duration", Unit.SECOND): MetricRole.TOOL_DURATION,
        ("loss", Unit.RATIO): MetricRole.LOSS,
        ("failed", Unit.RATIO): MetricRole.FAILED,
        ("capacity", Unit.PER_SECOND): MetricRole.SEARCHED,
    }
    return roles.get((metric["name"], metric["unit"]), MetricRole.PLAIN)


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
