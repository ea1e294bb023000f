"""Read what a study measures: workloads, or what its scenario declares, with its factor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace

from tare.core.model import Params, Reservation
from tare.experiment.scenario import Scenario
from tare.experiment.study.combinations import key_of, params_of, variants
from tare.experiment.study.declaration import FixedWorkload
from tare.experiment.study.item import Item, one_of
from tare.experiment.study.platforms import Catalogue
from tare.experiment.study.reservations import KEY as RESERVATION
from tare.work import workload
from tare.work.workload import Measured

Reservations = Callable[[Item | None], Sequence[Reservation | None]]
"""What a level of a factor is held by: of the item in which it says so itself, or of none."""


def read_measured(
    name: str,
    scenario: Scenario[Measured],
    part: Mapping[str, Item],
    workloads: Catalogue,
    reservations: Reservations,
) -> list[FixedWorkload]:
    """Read what the scenario of a name measures, at each level of its factor if it has one.

    The levels are held by each of the ``reservations``, where the scenario takes any.
    """
    item = part[scenario.section]
    if scenario.measures is None:
        chosen = _workloads(item, workloads)
    else:
        chosen = _fixed(name, scenario.measures, item) if name else []
    if scenario.factor is None:
        return chosen
    return _crossed(chosen, scenario, part[scenario.factor[0]], reservations)


def _workloads(item: Item, workloads: Catalogue) -> list[FixedWorkload]:
    chosen: dict[tuple[str, Params], FixedWorkload] = {}
    for element in item.elements():
        for one in _fix(element, workloads):
            if (one.name, one.params) in chosen:
                element.wrong(f"the same {one.name} stands above; expected each once; remove one")
            chosen[one.name, one.params] = one
    return list(chosen.values())


def _crossed(
    chosen: Sequence[FixedWorkload],
    scenario: Scenario[Measured],
    item: Item,
    reservations: Reservations,
) -> list[FixedWorkload]:
    """Cross what is measured with the levels of a scenario's factor.

    They stand in a list, or in one mapping; an element that is a single value is its first field.
    """
    _, kind = scenario.factor or ("", object)
    levels: list[object] = []
    for element in [item] if item.is_mapping else item.elements():
        entries, own = _entries(kind, element), None
        if element.is_mapping and entries is not None and scenario.takes_reservations:
            own = entries.pop(RESERVATION, None)
        made = [one.made for one in variants(kind, element, entries, check=scenario.check_factor)]
        try:
            held = scenario.reserved(made, reservations(own))
        except ValueError as error:
            (own or item).wrong(str(error))
            held = made
        if any(one in levels for one in held):
            element.wrong("the same stands above; expected each once; remove one")
        levels += held
    found: list[FixedWorkload] = []
    for one in chosen:
        try:
            found += [
                replace(one, params=(*one.params, *params), made=made)
                for params, made in scenario.crossed(one.made, levels)
            ]
        except ValueError as error:
            item.wrong(f"{one.name}: {error}")
    return found


def _entries(kind: type, element: Item) -> dict[str, Item] | None:
    """Return the keys of a level; one that is a single value has its first field's."""
    if element.is_mapping:
        return element.entries()
    if element.is_list or element.is_empty:
        return None
    return {key_of(fields(kind)[0].name): element}


def _fixed(name: str, kind: type[Measured], item: Item) -> list[FixedWorkload]:
    return [
        FixedWorkload(name=name, params=params_of(variant.made), made=variant.made)
        for variant in variants(kind, item)
    ]


def _fix(item: Item, workloads: Catalogue) -> Iterator[FixedWorkload]:
    """Read one workload: its name, or a mapping of its name to its parameters."""
    if item.is_mapping:
        entries = item.entries()
        if len(entries) != 1:
            item.wrong(
                f"found the keys {', '.join(entries) or '(none)'}; expected one workload; "
                "indent its parameters below its name"
            )
            return
    else:
        name = item.text()
        entries = {} if name is None else {name: item.without(name)}
    for name, params in entries.items():
        if name in workloads.names():
            for variant in variants(workloads.kind(name), params):
                if isinstance(variant.made, workload.Workload):
                    for wrong in variant.made.all_roles().objections():
                        params.wrong(f"the workload {name}: {wrong}")
                fixed = params_of(variant.made)
                # Several programs of one study are several workloads, with metrics of their own.
                own = dict(fixed).get("called")
                called = f"{name}:{own}" if own else name
                yield FixedWorkload(name=called, params=fixed, made=variant.made)
        else:
            known = one_of(workloads.names(), name)
            item.wrong(f"no workload is called {name!r}; expected {known}")
