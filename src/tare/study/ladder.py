"""Ladders of a study file: one platform becomes many, each with one switch turned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tare.layer import Switch
from tare.model import Ladder, LadderSwitch, Scalar
from tare.study.declaration import Platform
from tare.study.item import Item, one_of, refuse_unknown
from tare.study.platforms import NAME, Catalogue, expected_name, layer_names
from tare.study.variant import key_of, params_of, variants

KEY = "ladder"
Positions = Mapping[str, Scalar | None]
"""The value of each switched setting of the innermost layer."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """A ladder and the platforms that it needs, each once, the default end first."""

    ladder: Ladder
    platforms: tuple[Platform, ...]


@dataclass(frozen=True, slots=True)
class _Stack:
    """A stack whose innermost layer is taken apart, with what all platforms of it share."""

    stack: str
    called: str
    names: Sequence[str]
    layers: Mapping[str, Any]


def read_ladders(item: Item, layers: Catalogue) -> list[Expanded]:
    """Read one ladder, or a list of them; what is wrong with one is noted with its line."""
    expanded: list[Expanded] = []
    for element in item.elements() if item.is_list else [item]:
        expanded += _read(element, layers)
    return expanded


def _read(item: Item, layers: Catalogue) -> Iterator[Expanded]:
    entries = item.entries() if item.is_mapping else {"stack": item}
    where = entries.get("stack") or item.without("stack")
    stack = where.text()
    names = [] if stack is None else layer_names(where, stack, layers)
    if stack is None or not names:
        return
    refuse_unknown(entries, ["stack", "name", "switches", *dict.fromkeys(names)])
    inner = names[-1]
    kind = layers.kind(inner)
    if not kind.switches:
        able = [name for name in layers.names() if getattr(layers.kind(name), "switches", ())]
        where.wrong(
            f"the layer {inner} has no switches, so there is nothing to take apart; "
            f"expected a stack that ends with {one_of(able, inner)}"
        )
        return
    base = stack.removeprefix("host/")
    if called := entries.get("name"):
        given = called.text()
        if given is None or not NAME.fullmatch(given):
            called.wrong(f"found {called.found()}; {expected_name()}")
            return
        base = given
    switches = _switches(entries.get("switches"), kind.switches)
    outer = {name: _one(name, entries, item, layers) for name in dict.fromkeys(names)}
    if not switches or None in outer.values():
        return
    if not _leaves_switched(entries.get(inner), switches):
        return
    shared = _shared(kind, entries.get(inner), switches)
    try:
        outer[inner] = replace(outer[inner], **shared)
        yield _expand(_Stack(stack, base, names, outer), switches)
    except ValueError as error:
        item.wrong(f"{error}; change the settings, or name other switches")


def _one(name: str, entries: Mapping[str, Item], item: Item, layers: Catalogue) -> Any:  # noqa: ANN401 - a layer of any kind
    """Make a layer of the settings that all platforms of the ladder share; None if wrong."""
    entry = entries.get(name) or item.without(name)
    made = variants(layers.kind(name), entry, factors=False)
    return made[0].made if made else None


def _switches(item: Item | None, known: Sequence[Switch]) -> list[Switch]:
    """Choose those that are named, in the order of the layer; all where none is."""
    if item is None:
        return list(known)
    names = [switch.name for switch in known]
    wanted = [(element, element.text()) for element in item.elements()]
    for place, (element, name) in enumerate(wanted):
        if name is not None and name not in names:
            element.wrong(f"there is no switch {name!r}; expected {one_of(names, name)}")
        elif name in [other for _, other in wanted[:place]]:
            element.wrong(f"the switch {name!r} stands above; expected each once; remove one")
    chosen = {name for _, name in wanted}
    return [switch for switch in known if switch.name in chosen] if chosen <= set(names) else []


def _leaves_switched(item: Item | None, switches: Sequence[Switch]) -> bool:
    """Note settings that the ladder itself turns, and say whether there is none."""
    given = item.entries() if item is not None and item.is_mapping else {}
    turned = {key_of(switch.setting): switch.name for switch in switches}
    wrong = [(entry, turned[key_of(key)]) for key, entry in given.items() if key_of(key) in turned]
    for entry, name in wrong:
        entry.wrong(
            f"the ladder turns this by its switch {name!r}; expected one of the two; "
            "leave the setting out, or name the other switches only"
        )
    return not wrong


def _shared(kind: type[Any], item: Item | None, switches: Sequence[Switch]) -> Positions:
    """Give the settings of the innermost layer that are neither given nor turned.

    A switch that is not turned stands where the engine itself has it.
    """
    given = set(item.entries()) if item is not None and item.is_mapping else set()
    turned = {switch.setting for switch in switches}
    engine = {switch.setting: switch.on for switch in kind.switches}
    return {
        name: value
        for name, value in {**dict(kind.ladder_settings), **engine}.items()
        if key_of(name) not in given and name not in given and name not in turned
    }


def _expand(of: _Stack, switches: Sequence[Switch]) -> Expanded:
    """Make the platforms; two that are the same (of few switches) are one."""
    platforms: dict[tuple[object, ...], Platform] = {}
    base, inner = of.called, of.names[-1]

    def platform(name: str, positions: Positions) -> str:
        made = {**of.layers, inner: replace(of.layers[inner], **positions)}
        settings = tuple((each, params_of(made[each])) for each in of.names)
        one = Platform(name=name, stack=of.stack, layers=settings)
        return platforms.setdefault(settings, one).name

    on = {switch.setting: switch.on for switch in switches}
    off = {switch.setting: switch.off for switch in switches}
    default, bare = platform(base, on), platform(f"{base} bare", off)
    without = [platform(f"{base} -{one.name}", {**on, one.setting: one.off}) for one in switches]
    only = [platform(f"{base} bare +{one.name}", {**off, one.setting: one.on}) for one in switches]
    turned = [
        LadderSwitch(
            name=switch.name,
            about=switch.about,
            on=switch.words[0],
            off=switch.words[1],
            without=at_default,
            only=at_bare,
            shows=switch.shows,
        )
        for switch, at_default, at_bare in zip(switches, without, only, strict=True)
    ]
    ladder = Ladder(default=default, bare=bare, switches=tuple(turned))
    return Expanded(ladder, tuple(platforms.values()))
