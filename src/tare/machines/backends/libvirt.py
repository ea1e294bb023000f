"""The libvirt of a machine: the one that answers at an address, else one that Tare starts.

Tare's own ``libvirtd`` has a mount namespace and a tree of control groups of its own: whatever it
writes lies in its folder, whatever it starts lies below its group, and both end with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.machines.backends.instance_process import InstanceProcess
from tare.machines.cgroup import cgroup
from tare.machines.ledger import Scope
from tare.machines.machine import Inner, Machine, await_true, check, put
from tare.machines.userland import REMOVE_FOLDER

if TYPE_CHECKING:
    from tare.machines.layer import Site

START_S = 60.0
# libvirt would look for its user of this name even where the configuration names another.
CONFIG = """\
security_driver = "none"
user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
namespaces = []
stdio_handler = "file"
"""
DRIVER = 'ls /usr/lib*/*/libvirt/connection-driver/libvirt_driver_"$0".so > /dev/null 2>&1'
FOLDERS = ("/etc/libvirt", "/var/lib/libvirt", "/var/log/libvirt", "/var/cache/libvirt")
# The root of its cgroup namespace is its group, which in v2 then must hold no process itself.
ENTER = r"""
set -eu
group=$0
root=/sys/fs/cgroup
trees=$(echo $root/*/)
[ ! -f $root/cgroup.controllers ] || trees=$root/
for tree in $trees; do
    mkdir -p "$tree$group"
    echo $$ > "$tree$group/cgroup.procs"
done
exec unshare --mount --cgroup --propagation private "$@"
"""
# libvirt believes the last of several mounts of a hierarchy, which may be in anybody's chroot.
SET_UP = r"""
set -eu
folder=$0 group=$1
shift
awk '$3 ~ /^cgroup/ && index($2, "/sys/fs/cgroup") != 1 { print $2 }' /proc/mounts |
    while IFS= read -r at; do umount -l "$at"; done
root=/sys/fs/cgroup
trees=$(echo $root/*/)
[ ! -f $root/cgroup.controllers ] || trees=$root/
for tree in $trees; do
    [ -d "$tree$group" ] || continue
    mount --bind "$tree$group" "$tree"
    mkdir -p "${tree}daemon"
    if [ -f "${tree}cpuset.mems" ]; then
        for file in cpuset.cpus cpuset.mems; do cat "$tree$file" > "${tree}daemon/$file"; done
    fi
    echo $$ > "${tree}daemon/cgroup.procs"
done
for at in etc/libvirt var/lib/libvirt var/log/libvirt var/cache/libvirt run; do
    mkdir -p "/$at" "$folder/$at"
    mount --bind "$folder/$at" "/$at"
done
mkdir -p /run/lock
user=libvirt-qemu
for at in passwd group; do
    ! grep -q "^$user:" /etc/$at || continue
    [ $at = group ] && line=$user:x:0: || line=$user:x:0:0::/:/bin/false
    { cat /etc/$at; echo $line; } > "$folder/$at"
    mount --bind "$folder/$at" /etc/$at
done
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
"""
# A folder that another session's daemon uses stays, since to remove it would take that mount away;
# so does one that a package has put something in.
REMOVE_EMPTY = r"""
! cat /proc/[0-9]*/mountinfo 2> /dev/null | grep -qF " $0 " || exit 0
rmdir "$0" 2> /dev/null || true
"""
IN_MOUNTS = 'exec nsenter --mount="/proc/$(cat "$0")/ns/mnt" -- "$@"'
# What a daemon that is dead leaves is found by the name of its groups; a live one leaves those too,
# empty, of a container that was paused.
REMOVE_DOMAIN = r"""
name=$0
"$@" destroy "$name" > /dev/null 2>&1
if why=$("$@" undefine "$name" 2>&1); then :; else
    case $why in *"failed to get domain"*) ;; *)
        ! "$@" uri > /dev/null 2>&1 || { echo "$why" >&2; exit 1; }
    esac
fi
tries=0
while :; do
    left=
    for group in $(find /sys/fs/cgroup/ -depth -type d -path "*-$name.libvirt-*" 2> /dev/null); do
        [ ! -f "$group/freezer.state" ] || echo THAWED > "$group/freezer.state" 2> /dev/null
        [ ! -f "$group/cgroup.freeze" ] || echo 0 > "$group/cgroup.freeze" 2> /dev/null
        for pid in $(cat "$group/cgroup.procs" 2> /dev/null); do
            kill -KILL "$pid" 2> /dev/null
        done
        rmdir "$group" 2> /dev/null || left=$group
    done
    [ -n "$left" ] || exit 0
    tries=$((tries + 1))
    [ $tries -lt 400 ] || { echo "cannot remove cgroup $left" >&2; exit 1; }
    sleep 0.05
done
"""


@dataclass(frozen=True)
class Daemon:
    """A libvirt that answers at ``uri``; ``folder`` is Tare's own daemon's, empty for others'."""

    machine: Machine
    uri: str
    folder: str = ""

    @property
    def client(self) -> list[str]:
        """How its client is called."""
        return ["virsh", "--quiet", "--connect", self.uri]

    @property
    def mounts(self) -> Machine:
        """The machine as the daemon sees its mounts."""
        if not self.folder:
            return self.machine
        enter = ["sh", "-c", IN_MOUNTS, f"{self.folder}/pid"]
        return Inner(self.machine, "libvirtd", lambda argv: [*enter, *argv])

    def answers(self) -> bool:
        """Return whether it still lives."""
        return self.machine.run([*self.client, "uri"], timeout_s=20).returncode == 0

    def do(self, *words: str, timeout_s: float = 60.0) -> str:
        """Run a virsh command and return its output, or raise LayerError."""
        try:
            done = check(self.machine, [*self.client, *words], timeout_s=timeout_s)
        except CommandFailed as error:
            raise LayerError(f"virsh {words[0]} at {self.uri} failed: {error}") from error
        return done.stdout.decode(errors="replace").strip()

    def remove_argv(self, domain: str) -> list[str]:
        """Build the command that removes a domain, if it is there and the daemon too."""
        return ["sh", "-c", REMOVE_DOMAIN, domain, *self.client]

    def pid_file(self, domain: str) -> str:
        """Return where the pid of a QEMU domain is."""
        return f"{self.folder}/run/libvirt/qemu/{domain}.pid"


def driver(uri: str) -> str:
    """Return the name of the hypervisor driver of an address."""
    return urlsplit(uri).scheme.partition("+")[0]


def usable(machine: Machine, uri: str) -> str:
    """Return the version of the client whose libvirt answers or can be started, or Unavailable."""
    version = machine.run(["virsh", "--version"])
    if version.returncode != 0:
        raise Unavailable(f"virsh is not installed on {machine.name}",
                          "apt-get install libvirt-clients")  # fmt: skip
    asked = machine.run(["virsh", "--quiet", "--connect", uri, "uri"], timeout_s=20)
    if asked.returncode != 0:
        _refuse_unstartable(machine, uri, asked.stderr.decode(errors="replace").strip())
    return version.stdout.decode().strip()


def _refuse_unstartable(machine: Machine, uri: str, why: str) -> None:
    at, kind = urlsplit(uri), driver(uri)
    if at.scheme != kind or at.netloc or kind not in ("qemu", "lxc"):
        raise Unavailable(f"no libvirt answers at {uri} from {machine.name}: {why}",
                          "start it there, and let the user of Tare in")  # fmt: skip
    if machine.run(["libvirtd", "--version"]).returncode != 0:
        raise Unavailable(f"libvirtd is not installed on {machine.name}",
                          "apt-get install libvirt-daemon")  # fmt: skip
    if machine.run(["sh", "-c", DRIVER, kind]).returncode != 0:
        raise Unavailable(f"libvirtd on {machine.name} has no driver for {kind}",
                          f"apt-get install libvirt-daemon-driver-{kind}")  # fmt: skip


def serving(machine: Machine, site: Site, uri: str) -> Daemon:
    """Return the libvirt that answers at an address; start one of Tare's own where none does."""
    there = Daemon(machine, uri)
    if there.answers():
        return there
    _refuse_unstartable(machine, uri, "nobody is there")

    def make(scope: Scope) -> Daemon:
        return _start(machine, site, scope, uri)

    own = site.services.once("libvirt", machine, make, Daemon.answers)
    return replace(own, uri=own_uri(uri, own.folder))


def own_uri(uri: str, folder: str) -> str:
    """Return the URI of a driver of Tare's own daemon."""
    return f"{uri.partition('?')[0]}?socket={folder}/run/libvirt/libvirt-sock"


def _start(machine: Machine, site: Site, scope: Scope, uri: str) -> Daemon:
    name = f"tare-{site.session}-libvirt"
    folder = f"{site.folder}/{name}"
    for at in FOLDERS:
        scope.about_to_make("folder", at, machine, ["sh", "-c", REMOVE_EMPTY, at])
    scope.about_to_make("folder", folder, machine, ["sh", "-c", REMOVE_FOLDER, folder])
    group = cgroup.make(machine, f"tare/{name}", scope)
    process = InstanceProcess(machine, group, folder)
    try:
        check(machine, ["mkdir", "-p", f"{folder}/etc/libvirt"])
        put(machine, CONFIG.encode(), f"{folder}/etc/libvirt/qemu.conf")
    except CommandFailed as error:
        raise LayerError(f"could not prepare libvirtd on {machine.name}: {error}") from error
    process.start(daemon_argv(folder, group.path))
    daemon = Daemon(machine, own_uri(uri, folder), folder)
    if not await_true(daemon.answers, timeout_s=START_S, every_s=0.05, alive=process.lives):
        said = process.last_words()
        raise LayerError(f"libvirtd did not start on {machine.name}; its log ends: {said}")
    return daemon


def daemon_argv(folder: str, group: str) -> Sequence[str]:
    """Build the command that serves from its folder, below its group."""
    return ["sh", "-c", ENTER, group, "sh", "-c", SET_UP, folder, group, "libvirtd"]
