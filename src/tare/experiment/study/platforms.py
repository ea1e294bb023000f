"""Read the platforms of a study file: stacks of layers, one platform for each listed value."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

from tare.core.model import path_of
from tare.experiment.study.combinations import MAX_VARIANTS, Combination, params_of, variants
from tare.experiment.study.declaration import CABLE, Platform
from tare.experiment.study.item import Item, one_of, refuse_unknown

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._/+=,-]{0,99}")
"""What a platform may be called: it stands in tables and messages."""


def expected_name() -> str:
    """Return what is expected of a platform's name, in words."""
    return "expected letters, digits, spaces and ._/+=,- (at most 100)"


class Catalogue(Protocol):
    """The modules that find dataclasses by name: of layers and of workloads."""

    def names(self) -> list[str]:
        """List what there is."""

    def kind(self, name: str) -> type[Any]:
        """Find one."""


def read_platforms(item: Item, layers: Catalogue) -> list[Platform]:
    """Read all platforms; what is wrong with one is noted with its line."""
    platforms: dict[str, Platform] = {}
    for element in item.elements():
        for platform in _expand(element, layers):
            if platform.name in platforms:
                element.wrong(
                    f"two platforms are called {platform.name!r}; expected each name once; "
                    "add a 'name' of its own"
                )
            platforms[platform.name] = platform
    return list(platforms.values())


def read_peer(item: Item, layers: Catalogue) -> Platform:
    """Read the peer: one platform, without lists."""
    found = list(_expand(item, layers))
    if len(found) > 1:
        item.wrong(f"the lists make {len(found)} peers; expected one")
    return found[0] if found else CABLE


def _expand(item: Item, layers: Catalogue) -> Iterator[Platform]:
    """Read one platform: a stack, or a mapping with the settings of the stack's layers."""
    entries = item.entries() if item.is_mapping else {"stack": item}
    where = entries.get("stack") or item.without("stack")
    stack = where.text()
    names = [] if stack is None else layer_names(where, stack, layers)
    if stack is None or not names:
        return
    refuse_unknown(entries, ["stack", "name", "instances", *dict.fromkeys(names)])
    called = entries.get("name", where)
    base = called.text()
    if base is None or not NAME.fullmatch(base):
        called.wrong(f"found {called.found()}; {expected_name()}")
        return
    # A layer that stands in a stack twice has the same settings in both places.
    by_layer = {
        name: variants(layers.kind(name), entries.get(name) or item.without(name))
        for name in dict.fromkeys(names)
    }
    count = math.prod(map(len, by_layer.values()))
    if count > MAX_VARIANTS:
        item.wrong(f"the lists make {count} platforms; expected at most {MAX_VARIANTS}")
        return
    instances = _instances(entries)
    for combination in product(*by_layer.values()):
        chosen = dict(zip(by_layer, combination, strict=True))
        yield Platform(
            name=base + _suffix(chosen),
            stack=stack,
            layers=tuple((name, params_of(chosen[name].made)) for name in names),
            instances=instances,
        )


@dataclass(frozen=True)
class _Own:
    """Settings of a platform that are not settings of its layers."""

    instances: int | None = None

    def __post_init__(self) -> None:
        if self.instances is not None and self.instances < 1:
            raise ValueError(f"instances: {self.instances} was given; expected 1 or more")


def _instances(entries: Mapping[str, Item]) -> int | None:
    """Read how many instances a platform has, None where its mapping does not say."""
    if "instances" not in entries:
        return None
    given = {"instances": entries["instances"]}
    made = variants(_Own, entries["instances"], given, factors=False)
    return made[0].made.instances if made else None


def layer_names(item: Item, stack: str, layers: Catalogue) -> list[str]:
    """Return the name of the layers of a stack, or note what is wrong with it and name none."""
    first, *rest = path_of(stack)
    if first == "lab":  # on the host
        first, rest = "host", [first, *rest]
    if first != "host":
        expected = "expected 'host', as in host/docker, or 'lab', as in lab/kvm"
        item.wrong(f"the stack {stack!r} begins with {first!r}; {expected}")
        return []
    unknown = [name for name in rest if name not in layers.names()]
    for name in unknown:
        item.wrong(f"no layer is called {name!r}; expected {one_of(layers.names(), name)}")
    return [] if unknown else rest or [first]


def name_of(stack: str) -> str:
    """Return the name of a stack by its layers, without the host that it stands on."""
    first, *rest = path_of(stack)
    return "/".join(rest if first == "host" and rest else (first, *rest))


def _suffix(chosen: dict[str, Combination[Any]]) -> str:
    """Write the settings that vary, with the layer's name where the key alone is ambiguous."""
    keys = Counter(key for variant in chosen.values() for key in variant.varying)
    words = [
        f"{key if keys[key] == 1 else f'{name}.{key}'}={text}"
        for name, variant in chosen.items()
        for key, text in variant.varying.items()
    ]
    return f"[{','.join(words)}]" if words else ""
