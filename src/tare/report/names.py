"""What cells, their parameters and their groups are called."""

from __future__ import annotations

from collections.abc import Sequence

from tare.model import Cell, Limits, Params
from tare.report.numbers import bytes_text, plain


def platform_text(cell: Cell) -> str:
    """Name a cell's platform so that the control is told from the baseline."""
    if cell.injected is not None:
        return f"{cell.platform} ({100 * cell.injected:+g} % work)"
    return f"{cell.platform} (A/A control)" if cell.control else cell.platform


def params_text(params: Params) -> str:
    """Write parameters as people read them."""
    return ", ".join(
        f"{name.removesuffix('_bytes').removesuffix('_s')} {_value(name, value)}"
        for name, value in params
    )


def limits_text(limits: Limits) -> str:
    """Write limits as people read them."""
    cpus = "1 CPU" if limits.cpus == 1 else f"{limits.cpus} CPUs"
    return f"{cpus}, {bytes_text(limits.memory_bytes)}, disk cache {limits.disk_cache.value}"


def _value(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_bytes") and isinstance(value, int):
        return bytes_text(value)
    if isinstance(value, int | float):
        written = plain(value) if isinstance(value, int) else f"{value:g}"
        return written + (" s" if name.endswith("_s") else "")
    return str(value)


def named_apart(keys: Sequence[tuple[str, Params, Limits]]) -> list[str]:
    """Name each group by its workload and by what differs among the groups of that workload."""
    many_limits = len({limits for _, _, limits in keys}) > 1
    values: dict[tuple[str, str], set[object]] = {}
    for workload, params, _ in keys:
        for name, value in params:
            values.setdefault((workload, name), set()).add(value)
    names = []
    for workload, params, limits in keys:
        differing = tuple((k, v) for k, v in params if len(values[workload, k]) > 1)
        parts = [params_text(differing)] if differing else []
        parts += [limits_text(limits)] if many_limits else []
        names.append(" · ".join([workload, *parts]))
    return names
