"""Disturb real instances by stressors, by the code that a trial uses, and see what stays."""

import os
from contextlib import contextmanager, suppress
from pathlib import Path

from tare.core.model import Limits
from tare.experiment.trial.peer import Peer
from tare.experiment.trial.placed_part import PlacedPart
from tare.experiment.trial.role_placement import RolePlacement
from tare.experiment.trial.watch import WatchSettings
from tare.machines import layer
from tare.machines.machine import await_true, text
from tare.machines.userland import Userland
from tare.machines.userland.architecture import HERE
from tare.work import stressor
from tare.work.roles import COMMAND, OWN, Main, Roles
from tare.work.stressor import load

MIB = 2**20
CELL = "cell"
ROOT = Path("/sys/fs/cgroup")
CPUS = sorted(os.sched_getaffinity(0))
ENDED_S = 10.0
PROCESSES_INSIDE = r"""
for one in /proc/[0-9]*; do
    case $one in /proc/$$ | /proc/$PPID) continue ;; esac
    { read -r name < "$one/comm" && echo "${one#/proc/} $name"; } || :
done 2> /dev/null
"""


def packages():
    """List what the userland must have for all stressors."""
    return tuple(sorted({name for one in stressor.names() for name in load(one).all_packages()}))


def userland_of(place):
    """The userland with all that stressors need: one for all tests, so that it is built once."""
    return Userland("bookworm", packages(), place.ledger, arch=HERE)


@contextmanager
def peer_of(place, userland):
    """Open a machine outside at the end of a cable, as a session makes it."""
    cpus = CPUS[:1]
    limits = Limits(cpus=1, memory_bytes=256 * MIB)
    site = place.site(userland=userland, limits=limits, cpuset=str(cpus[0]), reached=True)
    stack = place.open([layer.load("host", network="cable")], site)
    try:
        yield Peer(stack, stack.address(), stack.gateway(), cpus, is_apart=len(CPUS) > 1)
    finally:
        stack.close()


@contextmanager
def placed(stack, made, command, peer=None):
    """Have a stressor up next to a command in the same instance."""
    part = PlacedPart(part="", instance="neighbour", stack=stack, how=WatchSettings(cpus=CPUS))
    roles = Roles(Main(OWN, command), tuple(made.roles("bomb", COMMAND)))
    with RolePlacement(roles, CELL, [part], peer).up() as placed_command:
        yield placed_command


def innermost(stack):
    """The class of the layer that a stack's commands run in."""
    name = stack.machine.name.split("/")[-1]
    return layer.kind("host" if name == "chroot" else name)


def has_own_kernel(stack):
    """Whether what runs inside are no processes of this host."""
    return innermost(stack).own_kernel


def reaches_no_disk(stack):
    """Why nothing of it reaches a disk by itself, such as files in the host's page cache."""
    return innermost(stack)().no_disk()


def group(stack, controller):
    """The folder of the control group that an instance's processes are in."""
    root = ROOT if (ROOT / "cgroup.controllers").exists() else ROOT / controller
    return root / stack.threads().cgroup


def processes(stack):
    """List an instance's processes by their pids, with their names: of its group, or as inside."""
    if has_own_kernel(stack):
        lines = text(stack.machine, ["sh", "-c", PROCESSES_INSIDE]).splitlines()
        return dict(line.split(" ", 1) for line in lines)
    found = {}
    for file in group(stack, "pids").rglob("cgroup.procs"):
        for pid in file.read_text().split():
            with suppress(OSError):  # gone by now
                found[pid] = Path(f"/proc/{pid}/comm").read_text().strip()
    return found


def files_in(stack):
    """List what is in the working directory; in gVisor of 2022 `ls` cannot."""
    find = ["find", stack.workdir, "-mindepth", "1", "-maxdepth", "1", "-printf", r"%f\n"]
    return text(stack.machine, find).split()


def left(stack, before):
    """List what stays of processes that were not there before.

    What served a command in a container may end a moment after the command.
    """

    def new():
        found = processes(stack).items()
        return sorted(name for pid, name in found if pid not in before)

    await_true(lambda: not new(), timeout_s=ENDED_S)
    return new()
