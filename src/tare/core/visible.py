"""Escape control characters in texts that are printed on a terminal."""

from __future__ import annotations

from typing import Any

_COMMANDS = {code: f"\\x{code:02x}" for code in (*range(1, 7), *range(14, 32), *range(128, 160))}
"""Control characters, and how they are shown.

Not those that every printer here takes out (bells, returns), and not tabs and ends of lines.
"""


def visible(content: Any) -> Any:  # noqa: ANN401
    """Return a text, or lists and mappings of texts, with control characters escaped."""
    if isinstance(content, str):
        return content.translate(_COMMANDS)
    if isinstance(content, dict):
        return {visible(key): visible(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [visible(one) for one in content]
    return content
