"""Ladder switches that Docker and Podman share (seccomp, capabilities, ...), and their options."""

from __future__ import annotations

from typing import Literal, Protocol

from tare.core.errors import CommandFailed, LayerError
from tare.core.model import Limits
from tare.machines.machine import Machine, text
from tare.machines.switch import OFF, Switch

CONFINEMENT = (
    Switch(
        name="seccomp", setting="seccomp", on=True, off=False,
        about="the engine's filter of system calls, and what the kernel adds to such a filter",
        # Kernels before 5.16 turn these mitigations on for whatever has a filter.
        shows=("Seccomp", "Speculation_Store_Bypass", "SpeculationIndirectBranch"),
    ),
    Switch(
        name="capabilities", setting="capabilities", on=None, off="all",
        about="which of root's rights the container keeps", shows=("CapEff",),
    ),
    Switch(
        name="apparmor", setting="apparmor", on=None, off=OFF,
        about="the engine's AppArmor profile, where the kernel has AppArmor",
        shows=("apparmor",),
    ),
)  # fmt: skip
"""What keeps a container's root from the host."""

UPKEEP = (
    Switch(
        name="memory-limit", setting="memory_limit", on=None, off=OFF,
        about="the memory limit of the container's cgroup; the CPUs are held in any case",
        shows=("memory_limit",),
    ),
    Switch(
        name="init", setting="init", on=None, off=OFF,
        about="a small init as process 1, which Tare asks for by --init", shows=("init",),
    ),
)  # fmt: skip
"""What Tare itself asks the engines for, so that a container is held and tidy."""


class Switched(Protocol):
    """The settings of a layer that ``switch_argv`` reads."""

    @property
    def seccomp(self) -> bool:
        """Whether the filter of system calls is on."""

    @property
    def apparmor(self) -> Literal["off"] | None:
        """None: the engine's own profile."""

    @property
    def init(self) -> Literal["off"] | None:
        """None: with one."""

    @property
    def memory_limit(self) -> Literal["off"] | None:
        """None: that of the study."""


def limit_argv(limits: Limits, cpuset: str, *, memory: bool) -> list[str]:
    """Build the words of ``create`` that hold a container to limits, those of memory if asked."""
    words = [f"--cpuset-cpus={cpuset}"]
    if limits.quota_cpus is not None:
        words.append(f"--cpus={limits.quota_cpus}")
    if memory:
        # Without --memory-swap a container may use as much swap again as it has memory.
        both = limits.memory_bytes + limits.swap_bytes
        words += [f"--memory={limits.memory_bytes}", f"--memory-swap={both}"]
    return words


def switch_argv(layer: Switched) -> list[str]:
    """Build the words of ``create`` that the switches of a layer stand for."""
    return [
        *([] if layer.init else ["--init"]),
        *([] if layer.seccomp else ["--security-opt", "seccomp=unconfined"]),
        *(["--security-opt", "apparmor=unconfined"] if layer.apparmor else []),
    ]


# An engine cannot give what its root lacks itself (in a micro-VM, in a container), and not each
# engine knows all that a kernel has: so those that are missing are named, and no others.
LACKS = r"""
has=,$(setpriv --dump | sed -n 's/^Capability bounding set: //p'),
for name in $(setpriv --list-caps); do
    case $has in *,"$name",*) ;; *) echo "$name" ;; esac
done
"""


def capability_argv(machine: Machine, wanted: Literal["all"] | None) -> list[str]:
    """Build the words that give a container all the capabilities that a machine's root has."""
    if wanted is None:
        return []
    try:
        missing = text(machine, ["sh", "-c", LACKS]).split()
    except CommandFailed as error:
        raise LayerError(f"no capabilities can be read on {machine.name}: {error}") from error
    return ["--cap-add=ALL", *(f"--cap-drop={name.upper()}" for name in missing)]
