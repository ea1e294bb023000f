"""OCI runtimes (runc, crun, runsc): which are installed, and how an engine has to call them."""

from __future__ import annotations

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.machines.machine import Machine, check, put

KNOWN = ("runc", "crun", "runsc")
"""Each is a program, and the Debian package that has it."""

GVISOR_CACHES = "gVisor has files in the host's page cache, direct I/O as well"
"""Why no limit of a disk holds a sandbox: what the kernel writes back is charged to no group."""
GVISOR_NETWORK = {"host": "host", "bridge": "sandbox", "none": "none"}
"""Which network stack runsc is to use for a container's network; it cannot tell by itself."""

# Where v2 is mounted next to v1 and has a controller, crun refuses to run. It sees v1 alone here,
# and puts its containers in the same groups as runc does.
HAS_BOTH = ["grep", "-qs", ".", "/sys/fs/cgroup/unified/cgroup.controllers"]
CRUN = rb"""#!/bin/sh
program=$(readlink "${0%/*}/program")
exec unshare --mount sh -c 'umount /sys/fs/cgroup/unified && exec "$0" "$@"' "$program" "$@"
"""
# Docker gives a privileged container all capabilities there are, which a root that lacks some (in
# a micro-VM, in a container) cannot do: what it lacks is removed from the runtime's configuration.
LACKS = r"""
has=,$(setpriv --dump | sed -n 's/^Capability bounding set: //p' | tr a-z A-Z),
for name in $(setpriv --list-caps | tr a-z A-Z); do
    case $has in
    *,$name,*) ;;
    *) echo "s/,\"CAP_$name\"//g;s/\"CAP_$name\",//g" ;;
    esac
done
"""
PRIVILEGED = rb"""#!/bin/sh
before=
for word; do
    case $before in
    --bundle) sed -i -f "${0%/*}/lacks" "$word/config.json" ;;
    --process) sed -i -f "${0%/*}/lacks" "$word" ;;
    esac
    before=$word
done
exec "$(readlink "${0%/*}/program")" "$@"
"""
PLACE = 'mkdir "${0%/*}" && cat > "$0" && chmod 755 "$0" && ln -s "$1" "${0%/*}/program"'
# runsc takes the addresses off the interfaces it finds, so it refuses the host's namespace. Older
# ones know that by a file which newer kernels show in every namespace. Newer ones look for another.
TAKES_ALL_FOR_THE_HOSTS = r"""
! grep -qs /proc/sys/net/core/dev_weight "$(command -v runsc)" &&
    unshare --net test -e /proc/sys/net/core/rmem_default
"""


def version(machine: Machine, runtime: str) -> str | None:
    """Return what a runtime says of its version, or None where there is none."""
    done = machine.run([runtime, "--version"])
    return done.stdout.decode().partition("\n")[0] if done.returncode == 0 else None


def usable(machine: Machine, runtime: str, network: str) -> str:
    """Return the version of a runtime that supports networks, or raise Unavailable."""
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
    """Return the program that an engine is to call for a runtime; None where it is not installed.

    What it needs in addition is put in a folder of the engine's own. Raises LayerError.
    """
    done = machine.run(["sh", "-c", 'command -v "$0"', runtime])
    if done.returncode != 0:
        return None
    found = done.stdout.decode().strip()
    if runtime == "crun" and machine.run(HAS_BOTH).returncode == 0:
        return wrap(machine, CRUN, found, f"{folder}/v1/crun")
    return found


def privileged(machine: Machine, program: str, folder: str) -> str:
    """Return the program for privileged containers, of which ``program`` runs the others.

    Raises LayerError.
    """
    try:
        lacks = check(machine, ["sh", "-c", LACKS]).stdout
        if not lacks:
            return program
        at = f"{folder}/privileged-{program.rpartition('/')[2]}"
        wrapper = wrap(machine, PRIVILEGED, program, f"{at}/run")
        put(machine, lacks, f"{at}/lacks")
    except CommandFailed as error:
        raise LayerError(f"no privileged containers on {machine.name}: {error}") from error
    return wrapper


def wrap(machine: Machine, script: bytes, program: str, at: str) -> str:
    """Write a script that finds a program by the link ``program`` next to it.

    That may be such a script itself, and has to be called by its own path. Raises LayerError.
    """
    try:
        check(machine, ["sh", "-c", PLACE, at, program], stdin=script)
    except CommandFailed as error:
        raise LayerError(f"could not write {at} on {machine.name}: {error}") from error
    return at
