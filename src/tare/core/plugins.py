"""Load plug-ins: layers, scenarios, stressors and workloads from a folder or a package.

A folder given with ``--plugins`` has ``layers/*.py``, ``scenarios/*.py``, ``stressors/*.py`` and
``workloads/*.py``; an installed package names packages of such modules in its entry points of the
groups ``tare.layers``, ``tare.scenarios``, ``tare.stressors`` and ``tare.workloads``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

from tare.core.errors import ConfigError

PACKAGES = {
    "layers": "tare.machines.layers",
    "scenarios": "tare.experiment.scenarios",
    "stressors": "tare.work.stressors",
    "workloads": "tare.work.workloads",
}
"""The packages that plug-ins extend, by the name of their folder; imported once one is extended."""


def use(folders: Sequence[str]) -> Iterator[str]:
    """Register plug-ins; yields what is wrong with those that cannot be used.

    Raises ConfigError for a folder that is not there or has none of them. A module
    is only imported when it is used: one that cannot be is reported then. Of two modules of a name
    the first is taken, and Tare's own before all others.
    """
    for folder in folders:
        at = Path(folder).resolve()
        if not at.is_dir():
            raise ConfigError(f"--plugins {folder}: there is no such folder")
        parts = [kind for kind in PACKAGES if (at / kind).is_dir()]
        if not parts:
            expected = " or ".join(f"{kind}/" for kind in PACKAGES)
            raise ConfigError(f"--plugins {folder}: expected {expected} in that folder")
        for kind in parts:
            yield from _extend(kind, str(at / kind))
    for kind in PACKAGES:
        for point in entry_points(group=f"tare.{kind}"):
            try:
                spec = find_spec(point.value)
            except Exception as error:  # noqa: BLE001 - somebody else's code: it may raise anything
                yield f"plugin {point.name} ({point.value}): {type(error).__name__}: {error}"
                continue
            if spec is None or spec.submodule_search_locations is None:
                yield f"plugin {point.name}: {point.value} is not a package of {kind}"
                continue
            for path in spec.submodule_search_locations:
                yield from _extend(kind, path)


def _extend(kind: str, path: str) -> Iterator[str]:
    known = import_module(PACKAGES[kind]).__path__
    if path in known:
        return
    taken = {module.name for module in iter_modules(known)}
    for module in iter_modules([path]):
        if module.name in taken and not module.name.startswith("_"):
            yield f"plugin {path}/{module.name}.py is not used: there are {kind} of that name"
    known.append(path)
