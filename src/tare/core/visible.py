"""Texts that cannot command the terminal on which they are printed."""

from __future__ import annotations

from typing import Any

_COMMANDS = {code: f"\\x{code:02x}" for code in (*range(1, 7), *range(14, 32), *range(128, 160))}
"""Characters by which a text commands a terminal, and how they are shown.

Not those that every printer here takes out (bells, returns), and not tabs and ends of lines.
"""


def visible(content: Any) -> Any:  # noqa: ANN401
    """Give a text, or the same lists and mappings, with such characters as their numbers."""
    if isinstance(content, str):
        return content.translate(_COMMANDS)
    if isinstance(content, dict):
        return {visible(key): visible(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [visible(one) for one in content]
    return content
