"""What is to be known beside the verdicts: each warning once, with all that it concerns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tare.present.view.findings import Findings
from tare.present.view.flags import flag_texts
from tare.present.view.names import platform_text
from tare.present.view.words import stop_text


def notes(found: Findings) -> Mapping[str, Sequence[str]]:
    """List the warnings of platforms, numbers and trials, each with where it stands."""
    concerned: dict[str, dict[str, None]] = {}
    for name, platform in found.results.facts.platforms.items():
        for warning in platform.warnings:
            concerned.setdefault(warning, {})[name] = None
    for row in found.headline:
        where = f"{found.group_names[row.cell.id]} on {platform_text(row.cell)}"
        unmeasured = [stop_text(row)] if row.cost is None else []
        for note in (*flag_texts(row.flags), *found.notes[row.cell.id], *unmeasured):
            concerned.setdefault(note, {})[where] = None
    return {note: list(places) for note, places in concerned.items() if note}
