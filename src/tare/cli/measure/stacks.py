"""The stacks of a line of ``tare measure`` as the platforms of a study."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields

from tare.core.errors import ConfigError
from tare.core.model import path_of
from tare.machines import layer

STARTS = ("host", "lab")
"""What a stack of a study begins with; any other first word is a layer on the host."""


@dataclass
class StackOption:
    """A stack as it was given, with its layers' settings; a setting given twice is a factor."""

    given: str
    path: str
    settings: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    @property
    def layers(self) -> list[str]:
        """The layers from the outside in."""
        first, *rest = path_of(self.path)
        return ([first, *rest] if first == "lab" else rest) or [first]

    def element(self) -> str | dict[str, object]:
        """Return the element of a study's platforms."""
        if not self.settings:
            return self.path
        single = [
            f"{key if len(self.settings) == 1 else f'{name}.{key}'}={values[0]}"
            for name, settings in self.settings.items()
            for key, values in settings.items()
            if len(values) == 1
        ]
        named = {"name": _name([self.path, *single])} if single else {}
        settings = {
            name: {key: written(values) for key, values in some.items()}
            for name, some in self.settings.items()
        }
        return {"stack": self.path, **named, **settings}


def read_stack(option: str, given: str) -> StackOption:
    """Read ``docker``, ``qemu-tcg/docker`` or ``docker:network=none``, or raise ConfigError."""
    path, _, settings = given.partition(":")
    starts = path_of(path)[0] in STARTS
    stack = StackOption(given, path if starts else f"host/{path}")
    for setting in filter(None, settings.split(",")):
        key, separator, value = setting.partition("=")
        if not separator or not key:
            raise ConfigError(
                f"{option} {given}: found {setting!r}; expected KEY=VALUE, such as "
                f"{path}:network=none"
            )
        name, dot, inner = key.partition(".")
        if not dot:
            name, inner = stack.layers[-1], key
        if name not in stack.layers:
            raise ConfigError(
                f"{option} {given}: {key} is a setting of {name}; expected a layer of the stack, "
                f"which has {', '.join(stack.layers)}"
            )
        stack.settings.setdefault(name, {}).setdefault(inner, []).append(value)
    return stack


def set_image(stacks: Iterable[StackOption], image: str) -> Sequence[StackOption]:
    """Set the container image of every stack that ends in a container; returns the others."""
    others = []
    for stack in stacks:
        if takes_image(stack.layers[-1]):
            stack.settings.setdefault(stack.layers[-1], {}).setdefault("image", [image])
        else:
            others.append(stack)
    return others


def takes_image(name: str) -> bool:
    """Whether a layer runs container images; a guest's image is the disk of a machine."""
    if name not in layer.names():
        return False
    kind = layer.kind(name)
    return not kind.boots_guest and any(one.name == "image" for one in fields(kind))  # type: ignore[arg-type]


def written(values: Sequence[str]) -> object:
    """Return values as a study file has them: one alone, or the list of a factor."""
    plain = [int(value) if re.fullmatch(r"0|[1-9]\d{0,8}", value) else value for value in values]
    return plain if len(plain) > 1 else plain[0]


def _name(parts: Sequence[str]) -> str:
    """Return a name of a stack and its settings, in the characters that names may have."""
    return re.sub(r"[^A-Za-z0-9 ._/+=,-]", "-", f"{parts[0]} {','.join(parts[1:])}")[:100]
