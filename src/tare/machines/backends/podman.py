"""Call Podman with storage of its own for each instance; a helper of the layers that use Podman."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.machines.backends import oci
from tare.machines.cgroup import cgroup
from tare.machines.cgroup.cgroup import Group
from tare.machines.machine import Machine, check, put, text
from tare.machines.userland import REMOVE_FOLDER

if TYPE_CHECKING:
    from tare.machines.layer import Site

# Instead of the machine's own: locks in shared memory would be those of everybody's Podman.
CONFIG = b"""[engine]
lock_type = "file"
"""
# conmon's clean-up command does not say where the runtime keeps its state, only which one it is.
RUNTIME = rb"""#!/bin/sh
exec "$(readlink "${0%/*}/program")" --root "${0%/*}/state" "$@"
"""
INIT = "command -v catatonit || command -v /usr/libexec/podman/catatonit"
# Podman lowers its own limit of processes to the number of pids there are.
ULIMITS = r"""
awk -v most="$(cat /proc/sys/kernel/pid_max)" '
function least(limit) { return limit == "unlimited" || limit + 0 > most + 0 ? most : limit }
/^Max open files/ { print "--ulimit=nofile=" $4 ":" $5 }
/^Max processes/ { print "--ulimit=nproc=" least($3) ":" least($4) }
' /proc/self/limits
"""
PID = "{{.State.Pid}}"
PID_AND_ID = "{{.State.Pid}} {{.Id}}"


@dataclass(frozen=True, slots=True)
class Podman:
    """How it is called: ``folder`` is for what lasts, ``run`` a short path, as it demands.

    ``runtime`` is the program that runs its containers. It is called in ``group``, which it leaves
    only for sibling groups: so what it leaves behind is always in the group above.
    """

    machine: Machine
    group: Group
    folder: str
    run: str
    runtime: str

    def argv(self, *words: str) -> list[str]:
        """Build the command that has it do something."""
        call = [
            # conmon leaves a file called oom in the folder that it was called in.
            "env", "-C", self.folder, f"CONTAINERS_CONF={self.folder}/containers.conf", "podman",
            "--root", f"{self.folder}/podman", "--runroot", f"{self.run}/storage",
            "--tmpdir", f"{self.run}/engine", "--network-config-dir", f"{self.folder}/networks",
            "--storage-driver=vfs", "--cgroup-manager=cgroupfs", "--events-backend=none",
            "--runtime", self.runtime, *words,
        ]  # fmt: skip
        return self.group.enter_argv(call)

    def do(self, *words: str, timeout_s: float) -> None:
        """Run a Podman command, or raise LayerError."""
        try:
            check(self.machine, self.argv(*words), timeout_s=timeout_s)
        except CommandFailed as error:
            raise LayerError(f"podman {words[0]} failed: {error}") from error

    def group_of(self, container: str) -> str:
        """Find the control group of a container that runs."""
        pid = text(self.machine, self.argv("inspect", "--format", PID, container))
        return cgroup.of_process(self.machine, pid)

    def freezer_of(self, container: str) -> Group | None:
        """Find the group that freezes a running container; None: only Podman can pause it."""
        ask = self.argv("inspect", "--format", PID_AND_ID, container)
        return cgroup.freezer_of(self.machine, ask)


def usable(machine: Machine) -> str:
    """Return the version of the Podman that is installed, or raise Unavailable."""
    if (version := oci.version(machine, "podman")) is None:
        raise Unavailable(f"podman is not installed on {machine.name}", "apt-get install podman")
    if machine.run(["sh", "-c", INIT]).returncode != 0:
        raise Unavailable(
            f"podman finds no init for its containers on {machine.name}",
            "apt-get install catatonit",
        )
    if machine.run(["test", "-w", "/sys/fs/cgroup"]).returncode != 0:
        raise Unavailable(f"cgroups cannot be made on {machine.name}", "run Tare as root")
    return version


def own(machine: Machine, site: Site, folder: str, runtime: str) -> Podman:
    """Make one for an instance, with its folder and a group for all it starts, or raise LayerError.

    Its containers belong in the group ``tare/`` and the site's name.
    """
    run = f"/run/{site.name}"
    site.scope.about_to_make("folder", run, machine, ["sh", "-c", REMOVE_FOLDER, run])
    program = oci.path(machine, runtime, folder)
    if program is None:
        raise LayerError(f"{runtime} is not installed on {machine.name}")
    called = oci.wrap(machine, RUNTIME, program, f"{folder}/runtime/{runtime}")
    try:
        put(machine, CONFIG, f"{folder}/containers.conf")
    except CommandFailed as error:
        raise LayerError(f"could not write in {folder} on {machine.name}: {error}") from error
    above = cgroup.make(machine, f"tare/{site.name}", site.scope)
    # In v2 a group that holds processes can have none below it.
    group = cgroup.make(machine, f"{above.path}/podman", site.scope)
    return Podman(machine, group, folder, run, called)


def ulimits(machine: Machine) -> list[str]:
    """Build the options that give a container the limits which other commands have on a machine.

    By itself Podman raises them, which not every root may, and no other stack does. Raises
    LayerError.
    """
    try:
        return text(machine, ["sh", "-c", ULIMITS]).splitlines()
    except CommandFailed as error:
        raise LayerError(f"cannot read the limits on {machine.name}: {error}") from error
