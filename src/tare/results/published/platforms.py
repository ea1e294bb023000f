"""What the names of platforms in published tables say: how deep, in which setting, on how much."""

from __future__ import annotations

import re
from collections.abc import Iterable

_DEPTHS = {
    "native": 0,
    **dict.fromkeys(("docker", "podman", "lxc", "container"), 1),
    **dict.fromkeys(("kvm", "xen", "esxi"), 2),
    "qemu-tcg": 3,
}
_WORD = re.compile("|".join(_DEPTHS))
_CPUS = re.compile(r"(\d+) ?cpu\b", re.IGNORECASE)


def depth(platform: str) -> int | None:
    """Return how much lies between the workload and the hardware; None if no word of it is known.

    A container counts 1, a guest with the processor's help 2, an emulated one 3; of what stands
    inside each other the sum counts.
    """
    words = _WORD.findall(platform)
    return sum(_DEPTHS[word] for word in words) if words else None


def setting(platform: str) -> str:
    """Return what a name says besides the technology: the operating system, the resources."""
    return _WORD.sub("", platform).replace("/", " ").strip()


def technology(platform: str) -> str:
    """Return the words of a name that say the technology."""
    return "/".join(_WORD.findall(platform))


def own_baseline(platform: str, others: Iterable[str]) -> str | None:
    """Find what a platform should not beat: the least deep one in the same setting."""
    own = depth(platform)
    known = [(depth(one), one) for one in others if setting(one) == setting(platform)]
    less = [(its, one) for its, one in known if its is not None and own is not None and its < own]
    return min(less)[1] if less else None


def cpus(platform: str) -> int | None:
    """Return the number of CPUs that a name says."""
    found = _CPUS.search(platform)
    return int(found[1]) if found else None
