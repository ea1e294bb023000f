"""Which cell of one set of results is which of another, and why two may not be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tare.compare.side import Side
from tare.compare.told_facts import as_read, differing, named
from tare.model import Cell
from tare.parameter import word_of


def matched(
    before: Sequence[Cell], after: Sequence[Cell]
) -> tuple[dict[str, Cell], dict[str, str]]:
    """Find for each cell of A the one of B that is the same, or say why there is none.

    What a platform is counts, its stack and settings, and not what it is called; of several that
    are the same the one of the same name.
    """
    by_name = {(cell.platform, cell.replica, *identity(cell)): cell for cell in after}
    names = {cell.id: (cell.platform, cell.replica, *identity(cell)) for cell in before}
    found = {cell: by_name[name] for cell, name in names.items() if name in by_name}
    taken = {cell.id for cell in found.values()}
    reasons = {}
    for cell in before:
        if cell.id in found:
            continue
        free = [one for one in after if one.id not in taken and identity(one) == identity(cell)]
        if free:
            found[cell.id] = free[0]
            taken.add(free[0].id)
        else:
            reasons[cell.id] = _why_alone(cell, [one for one in after if one.id not in taken])
    return found, reasons


def identity(cell: Cell) -> tuple[object, ...]:
    """Give what has to be equal in two sets for cells to be the same."""
    return cell.stack, cell.settings, cell.workload, cell.params, cell.limits


def _why_alone(cell: Cell, others: Sequence[Cell]) -> str:
    """Say in what the most alike cell of B differs, of those of the same workload and platform."""
    alike = [one for one in others if one.workload == cell.workload]
    alike = [one for one in alike if one.stack == cell.stack or one.platform == cell.platform]
    if not alike:
        return f"B has no {cell.workload} on {cell.platform}"
    told = min((list(unlike(cell, one)) for one in alike), key=len)
    return f"B measured it otherwise: {named(told, ', ')}"


def unlike(one: Cell, other: Cell) -> Iterator[str]:
    """Say in what two cells differ."""
    if one.stack != other.stack:
        yield f"stack {one.stack} in A, {other.stack} in B"
    pairs: list[tuple[str, Mapping[str, object], Mapping[str, object]]] = [
        ("setting", dict(one.settings), dict(other.settings)),
        ("parameter", dict(one.params), dict(other.params)),
        ("limit", _limits(one), _limits(other)),
    ]
    for kind, mine, theirs in pairs:
        for name in dict.fromkeys((*mine, *theirs)):
            if mine.get(name) != theirs.get(name):
                told = [as_read(name, one.get(name)) for one in (mine, theirs)]
                yield f"{kind} {word_of(name)} {told[0]} in A, {told[1]} in B"


def _limits(cell: Cell) -> dict[str, object]:
    limits = cell.limits
    return {
        "cpus": limits.cpus,
        "memory_bytes": limits.memory_bytes,
        "disk_cache": limits.disk_cache.value,
        "cpu_limit": limits.cpu_limit.value,
        "swap_bytes": limits.swap_bytes,
    }


def refusals_of_all(a: Side, b: Side) -> Iterator[str]:
    """Say what makes any number of the two another thing, or the same: the trials themselves."""
    shared = a.sessions.keys() & b.sessions.keys()
    if shared:
        told = [
            f"{sum(side.sessions[one] for one in shared)} of {name}'s {len(side.trials)} trials"
            for name, side in (("A", a), ("B", b))
        ]
        yield (
            f"{told[0]} and {told[1]} were measured in the same session: one is a copy or an "
            "earlier state of the other, or both go on from one"
        )
    mine, theirs = a.plan.repetition, b.plan.repetition
    if mine.design is not theirs.design:
        yield f"the design is {mine.design.value} in A and {theirs.design.value} in B"
    if mine.variant is not theirs.variant:
        yield f"A decides by the variant {mine.variant.value}, B by {theirs.variant.value}"
    ours, other = a.facts.userland, b.facts.userland
    if ours.id and other.id and ours.id != other.id:
        versions = differing(ours.versions, other.versions)
        told = [f"{one.what} {one.before} and {one.after}" for one in versions]
        packages = f" ({named(told, ', ')})" if told else ""
        yield f"the userland inside is another{packages}"


def refusals(a: Side, b: Side, before: Cell, after: Cell) -> Iterator[str]:
    """Say why two cells that are the same did not measure the same."""
    mine, theirs = a.metric(before), b.metric(after)
    if mine != theirs:
        told = [f"{one.name} ({one.unit.value}, {one.better.value})" for one in (mine, theirs)]
        yield f"its first metric is {told[0]} in A and {told[1]} in B"
    ours = a.facts.platform(before.platform).preconditions
    other = b.facts.platform(after.platform).preconditions
    files = [
        one.what.removeprefix("sha256.")
        for one in differing(ours, other)
        if one.what.startswith("sha256.") and one.what in ours and one.what in other
    ]
    if files:
        yield f"the files inside that it measures with are others: {named(files, ', ')}"
