"""The file that ``tare advise`` is asked with: weights of workloads, and constraints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tare.core.errors import ConfigError
from tare.core.model import Scalar
from tare.core.model.group import Group, group
from tare.experiment.study.combinations import dimension_of, key_of, variants
from tare.experiment.study.item import Item, compose, one_of, refuse_unknown
from tare.experiment.study.quantity import PURE, parse
from tare.results.compare.result_set import ResultSet
from tare.results.questions.constraints import Constraints
from tare.results.questions.mix_costs import Mix, has_time
from tare.work import stressor

WEIGHT = "weight"
"""The key of a selector that is no parameter."""

MOST = 8
"""The most values of a parameter that are named; the rest are counted."""


def text_of(path: Path) -> str:
    """Read the file, or raise ConfigError if it is no text or not there."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8 text; expected a YAML file") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; expected a mix file") from None


def read_mix(text: str, file: str, side: ResultSet) -> Mix:
    """Read weights and constraints; raise ConfigError with everything that is wrong."""
    if not any(line.partition("#")[0].strip() for line in text.splitlines()):
        raise ConfigError(f"{file}:1: the file is empty; expected weights and constraints")
    root = compose(text, file)
    entries = root.entries()
    refuse_unknown(entries, ("weights", "constraints"))
    if root.is_mapping and "weights" not in entries:
        root.wrong("missing weights; expected workloads with their shares of time")
    weights = _weights(entries["weights"], side) if "weights" in entries else {}
    limits = entries.get("constraints") or root.without("constraints")
    constraints = variants(Constraints, limits, factors=False, check=_check)
    total = math.fsum(weights.values())
    if weights and not root.problems.found and total <= 0:
        entries["weights"].wrong("all weights are 0; expected at least one above 0")
    root.problems.end()
    return Mix({key: weight / total for key, weight in weights.items()}, constraints[0].made)


def _check(constraints: Constraints) -> None:
    loss = constraints.isolation_loss
    if loss is not None and loss < 0:
        raise ValueError(f"isolation_loss: {loss:g} was given; expected 0 or more")
    named = constraints.neighbour
    if named is None:
        return
    if loss is None:
        raise ValueError("neighbour: it says whose isolation_loss counts; expected that as well")
    if named not in stressor.names():
        raise ValueError(
            f"neighbour: no stressor is called {named!r}; expected one of "
            f"{', '.join(stressor.names())}"
        )


def _weights(item: Item, side: ResultSet) -> dict[Group, float]:
    """Read the weights of all parts of the mix, as they are written."""

    rows: dict[str, list[Group]] = {}
    for key in dict.fromkeys(map(group, side.plan.platform_cells)):
        rows.setdefault(key[0], []).append(key)
    weights: dict[Group, float] = {}
    entries = item.entries()
    if item.is_mapping and not entries:
        item.wrong(f"found no workload; expected {one_of(rows, '')}")
    for name, entry in entries.items():
        if name not in rows:
            entry.wrong(
                f"no workload of the study is called {name!r}; expected {one_of(rows, name)}"
            )
            continue
        for part in entry.elements() if entry.is_list else [entry]:
            _weigh(part, rows[name], weights, side)
    return weights


def _weigh(part: Item, rows: Sequence[Group], weights: dict[Group, float], side: ResultSet) -> None:
    """Read one weight and find the row that it is for."""
    entries = part.entries() if part.is_mapping else {WEIGHT: part}
    if WEIGHT not in entries:
        part.wrong(f"missing {WEIGHT}; expected it next to the parameters")
        _chosen(part, entries, rows)  # it may be there, with a slip of the pen
        return
    weight = _number(entries.pop(WEIGHT))
    chosen = _chosen(part, entries, rows)
    if chosen is None or weight is None:
        return
    if chosen in weights:
        part.wrong("the same row of the study has a weight above; expected one; remove one")
    elif not has_time(side, chosen):
        metric = side.plan.metrics[chosen[0]][0]
        part.wrong(
            f"its first metric, {metric.name}, says no time per unit of work, so that a share of "
            "time has no meaning; expected another workload"
        )
    else:
        weights[chosen] = weight


def _number(item: Item) -> float | None:
    text = item.text()
    if text is None:
        return None
    try:
        found = float(parse(text, PURE))
    except ValueError as error:
        item.wrong(str(error))
        return None
    if found < 0:
        item.wrong(f"a weight of {text} was given; expected 0 or more")
        return None
    return found


def _chosen(part: Item, entries: Mapping[str, Item], rows: Sequence[Group]) -> Group | None:
    """Find the one row whose parameters and limits are as they are asked for."""
    levels = {row: {key_of(name): (name, v) for name, v in _levels(row).items()} for row in rows}
    names = dict.fromkeys(name for one in levels.values() for name in one)
    unknown = {name: one for name, one in entries.items() if key_of(name) not in names}
    if unknown:
        refuse_unknown(unknown, (WEIGHT, *names))
        return None
    left = list(rows)
    for name, entry in entries.items():
        text = entry.text()
        if text is None:
            return None
        key = key_of(name)
        fitting = [row for row in left if key in levels[row] and _is(text, *levels[row][key])]
        if not fitting:
            entry.wrong(f"no row has {text!r}; expected {_listed(left, key, levels)}")
            return None
        left = fitting
    if len(left) == 1:
        return left[0]
    differing = [name for name in names if len({str(levels[row].get(name)) for row in left}) > 1]
    choices = "; ".join(f"{name}: {_listed(left, name, levels)}" for name in differing)
    part.wrong(f"{len(left)} rows of the study are meant; expected one; say which by {choices}")
    return None


def _levels(row: Group) -> dict[str, Scalar]:
    """Return everything that tells one row of a workload from another."""
    _, params, limits = row
    own: dict[str, Scalar] = {
        "cpus": limits.cpus,
        "memory_bytes": limits.memory_bytes,
        "disk_cache": limits.disk_cache.value,
        "cpu_limit": limits.cpu_limit.value,
        "swap_bytes": limits.swap_bytes,
        **dict(limits.optional),
    }
    return {**own, **dict(params)}


def _is(text: str, name: str, value: Scalar) -> bool:
    if isinstance(value, bool | str):
        return text == (str(value).lower() if isinstance(value, bool) else value)
    try:
        return float(parse(text, dimension_of(name))) == float(value)
    except ValueError:
        return False


def _listed(
    rows: Iterable[Group], key: str, levels: Mapping[Group, Mapping[str, tuple[str, Scalar]]]
) -> str:
    values = list(dict.fromkeys(str(levels[row][key][1]) for row in rows if key in levels[row]))
    more = f" and {len(values) - MOST} more" if len(values) > MOST else ""
    return f"one of {', '.join(values[:MOST])}{more}"
