"""How often a study measured: from its set-up, where it says so."""

from __future__ import annotations

from tare.results.published.setup import Setup

SILENT = "silent"


def runs_of(setup: Setup, preset: str) -> int | None:
    """Return the runs that stand behind a mean of what a preset repeats; None if silent."""
    parameters = [one for each in setup.presets if each.name == preset for one in each.repetition]
    values = [value for one in parameters for value in one.values or ()]
    return int(values[0]) if values else None


def runs_text(setup: Setup) -> str:
    """Describe the repetition in the words of the set-up, with sections."""
    said = []
    for one in setup.conditions.get("repetition", ()):
        where = f" (section {one.section})" if one.section else ""
        said.append(f"{one.what}: {one.value or SILENT}{where}")
    return "; ".join(said)
