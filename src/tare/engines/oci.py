"""OCI runtimes: which there are on a machine, and how an engine has to call them there."""

from __future__ import annotations

from tare.errors import CommandFailed, LayerError, Unavailable
from tare.machine import Machine, check, put

KNOWN = ("runc", "crun", "runsc")
"""Each is a program, and the Debian package that has it."""

GVISOR_NETWORK = {"host": "host", "bridge": "sandbox", "none": "none"}
"""Which network stack runsc is to use for a container's network; it cannot tell by itself."""

# Where v2 stands beside v1 and has a controller, crun refuses to run. It sees v1 alone here, and
# puts its containers in the same groups as runc does.
HAS_BOTH = ["grep", "-qs", ".", "/sys/fs/cgroup/unified/cgroup.controllers"]
CRUN = r"""#!/bin/sh
exec unshare --mount sh -c 'umount /sys/fs/cgroup/unified && exec crun "$@"' crun "$@"
"""
# runsc takes the addresses off the interfaces it finds, so it refuses the host's namespace. Older
# ones know that by a file which newer kernels show in every namespace. Newer ones look for another.
TAKES_ALL_FOR_THE_HOSTS = r"""
! grep -qs /proc/sys/net/core/dev_weight "$(command -v runsc)" &&
    unshare --net test -e /proc/sys/net/core/rmem_default
"""


def version(machine: Machine, runtime: str) -> str | None:
    """Give what a runtime says of its version, or None where there is none."""
    done = machine.run([runtime, "--version"])
    return done.stdout.decode().partition("\n")[0] if done.returncode == 0 else None


def usable(machine: Machine, runtime: str, network: str) -> str:
    """Give the version of a runtime that can run containers on a network, or raise Unavailable."""
    if runtime not in KNOWN:
        raise Unavailable(
            f"{runtime} is no runtime that Tare can start; there are: {', '.join(KNOWN)}",
            "start a Docker daemon that knows it: Tare takes one that answers",
        )
    found = version(machine, runtime)
    if found is None:
        raise Unavailable(
            f"{runtime} is not installed on {machine.name}", f"apt-get install {runtime}"
        )
    takes_all = ["sh", "-c", TAKES_ALL_FOR_THE_HOSTS]
    if (runtime, network) == ("runsc", "bridge") and machine.run(takes_all).returncode == 0:
        raise Unavailable(
            f"{found} takes every network namespace for the host's on the kernel of "
            f"{machine.name}, and refuses to run in it",
            "install a runsc of 2024 or later, or take `network: host` or `network: none`",
        )
    return found


def path(machine: Machine, runtime: str, folder: str) -> str | None:
    """Give the program that an engine is to call for a runtime; None where it is not installed.

    What it needs besides is put in a folder of the engine's own. Raises LayerError.
    """
    found = machine.run(["sh", "-c", 'command -v "$0"', runtime])
    if found.returncode != 0:
        return None
    if runtime != "crun" or machine.run(HAS_BOTH).returncode != 0:
        return found.stdout.decode().strip()
    wrapper = f"{folder}/crun"
    try:
        put(machine, CRUN.encode(), wrapper)
        check(machine, ["chmod", "755", wrapper])
    except CommandFailed as error:
        raise LayerError(f"could not write {wrapper} on {machine.name}: {error}") from error
    return wrapper
