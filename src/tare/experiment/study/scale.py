"""Choose the scale of a study: of a value with the keys ``quick`` and ``full`` one is used.

``quick`` is a look of minutes, ``full`` the study as it is meant. Anything below a key may be such
a value: a number, a list, a section. An element of a list may be one too; if what counts is a list,
its elements are inserted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import yaml

Scale = Literal["quick", "full"]
SCALES: tuple[Scale, ...] = get_args(Scale)
DEFAULT: Scale = "full"
KEY = "scale"
"""The key of a study that says which scale counts."""


@dataclass
class Choice:
    """Which scale counts in a document; ``was_made`` where a value that was read has two."""

    scale: Scale
    was_made: bool = False


def of(root: yaml.Node, asked: Scale | None) -> Choice:
    """Find what counts: the scale that is asked for, or what the document says, or the default."""
    value = declared(root)
    said = [
        scale for scale in SCALES if isinstance(value, yaml.ScalarNode) and value.value == scale
    ]
    return Choice(asked or (said[0] if said else DEFAULT))


def declared(root: yaml.Node) -> yaml.Node | None:
    """Find the value of the document's own key."""
    if not isinstance(root, yaml.MappingNode):
        return None
    return next((value for key, value in root.value if key.value == KEY), None)


def written_into(text: str, root: yaml.Node, scale: Scale) -> str:
    """Write a scale into a study's text, so that it is read again without being asked for."""
    value = declared(root)
    if value is not None:
        return f"{text[: value.start_mark.index]}{scale}{text[value.end_mark.index :]}"
    mark = root.start_mark
    if isinstance(root, yaml.MappingNode) and root.flow_style:
        start = text.index("{", mark.index) + 1
        return f"{text[:start]}{KEY}: {scale}, {text[start:]}"
    if isinstance(root, yaml.MappingNode) and text[mark.index] in "&!":
        # An anchor or a tag of the whole stands before its first key, and has to stay there.
        mark = root.value[0][0].start_mark
    start = mark.index
    # The other keys stand where they stood, or they would be another mapping.
    return f"{text[:start]}{KEY}: {scale}\n{' ' * mark.column}{text[start:]}"
