"""Expand a ladder of a study file: one platform becomes many, each with one switch changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tare.core.model import Ladder, LadderSwitch, Scalar
from tare.experiment.study.combinations import key_of, params_of, variants
from tare.experiment.study.declaration import Platform
from tare.experiment.study.item import Item, one_of, refuse_unknown
from tare.experiment.study.platforms import NAME, Catalogue, expected_name, layer_names, name_of
from tare.machines.switch import Switch

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


def neighbours(ladder: Ladder) -> Iterator[tuple[str, str]]:
    """List the pairs of platforms that a ladder compares, the one with the switch on first."""
    yield ladder.default, ladder.bare
    for switch in ladder.switches:
        yield ladder.default, switch.without
        yield switch.only, ladder.bare


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
    switches = _switches(entries.get("switches"), kind.switches)
    if not kind.switches:
        able = [name for name in layers.names() if getattr(layers.kind(name), "switches", ())]
        where.wrong(
            f"the layer {inner} has no switches, so there is nothing to take apart; "
            f"expected a stack that ends with {one_of(able, inner)}"
        )
    called = _called(entries.get("name"), name_of(stack))
    given = {name: entries.get(name) or item.without(name) for name in dict.fromkeys(names)}
    made = {name: variants(layers.kind(name), of, factors=False) for name, of in given.items()}
    # What is wrong in one of these parts has been noted; all of them are looked at.
    if not (_leaves_turned(given[inner], switches) and switches and called and all(made.values())):
        return
    fixed = {name: some[0].made for name, some in made.items()}
    try:
        fixed[inner] = replace(fixed[inner], **_shared(kind, given[inner], switches))
        yield _expand(_Stack(stack, called, names, fixed), switches)
    except ValueError as error:
        item.wrong(f"{error}; change the settings, or name other switches")


def _called(item: Item | None, otherwise: str) -> str:
    """Read what the default end is called; empty if that is wrong."""
    if item is None:
        return otherwise
    name = item.text()
    if name is None or not NAME.fullmatch(name):
        item.wrong(f"found {item.found()}; {expected_name()}")
        return ""
    return name


def _switches(item: Item | None, known: Sequence[Switch]) -> list[Switch]:
    """Choose those that are named, in the order of the layer; all where none is."""
    if item is None or not known:
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


def _leaves_turned(item: Item, switches: Sequence[Switch]) -> bool:
    """Note settings that the ladder itself turns, and say whether there is none."""
    given = item.entries() if item.is_mapping else {}
    turned = {key_of(switch.setting): switch.name for switch in switches}
    wrong = [(entry, turned[key_of(key)]) for key, entry in given.items() if key_of(key) in turned]
    for entry, name in wrong:
        entry.wrong(
            f"the ladder turns this by its switch {name!r}; expected one of the two; "
            "leave the setting out, or name the other switches only"
        )
    return not wrong


def _shared(kind: type[Any], item: Item, switches: Sequence[Switch]) -> Positions:
    """Return the settings of the innermost layer that are neither given nor turned.

    A switch that is not turned stands where the engine itself has it.
    """
    given = set(item.entries()) if item.is_mapping else set()
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
