"""Layers and workloads from outside the tree: folders whose modules are found like Tare's own.

A folder given with ``--plugins`` has ``layers/*.py`` and ``workloads/*.py``; an installed package
names a package of such modules in its entry points ``tare.layers`` and ``tare.workloads``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from tare import layers, workloads
from tare.errors import ConfigError

PACKAGES = {"layers": layers, "workloads": workloads}


def use(folders: Sequence[str]) -> Iterator[str]:
    """Make plugins findable; yields what is wrong with those that are not.

    Raises ConfigError for a folder without layers or workloads. Tare's own modules win over others
    of the same name.
    """
    for folder in folders:
        parts = [kind for kind in PACKAGES if (Path(folder) / kind).is_dir()]
        if not parts:
            raise ConfigError(f"--plugins {folder}: expected a folder with layers/ or workloads/")
        for kind in parts:
            _extend(kind, [str(Path(folder).resolve() / kind)])
    for kind in PACKAGES:
        for point in entry_points(group=f"tare.{kind}"):
            try:
                spec = find_spec(point.value)
            except (ImportError, ValueError) as error:
                yield f"plugin {point.name} ({point.value}): {error}"
                continue
            if spec is None or spec.submodule_search_locations is None:
                yield f"plugin {point.name}: {point.value} is not a package of {kind}"
                continue
            _extend(kind, list(spec.submodule_search_locations))


def _extend(kind: str, paths: Sequence[str]) -> None:
    known = PACKAGES[kind].__path__
    known.extend(path for path in paths if path not in known)
