"""The Docker daemon of a machine: whoever's answers, else one of Tare's own for the session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tare.errors import CommandFailed, LayerError, Unavailable
from tare.ledger import Scope
from tare.limits import cgroup
from tare.machine import Machine, await_true, check
from tare.userland import PREPARED_DOCKER, REMOVE_FOLDER

if TYPE_CHECKING:
    from tare.layer import Site
    from tare.userland import Userland

START_S = 60.0
IMPORT_S = 600.0
# A network for benchmarks (RFC 2544), so that it meets no real one.
BRIDGE_ADDRESS = "198.18.0.1/24"
# setsid and no open streams: the daemon must outlive the command that starts it.
SERVE = 'setsid "$@" > "$0" 2>&1 < /dev/null &'
REMOVE_BRIDGE = '! ip link show "$0" > /dev/null 2>&1 || ip link delete "$0"'
REMOVE_IMAGE = r"""
why=$("$@" image rm "$0" 2>&1) && exit 0
case $why in *"No such image"*) exit 0 ;; esac
echo "$why" >&2
exit 1
"""
MAKE_BRIDGE = 'ip link add "$0" type bridge && ip addr add "$1" dev "$0" && ip link set "$0" up'


@dataclass(frozen=True)
class Daemon:
    """A daemon that answers; ``client`` is how its client is called, ``own`` whether it is ours."""

    machine: Machine
    client: tuple[str, ...]
    own: bool

    def answers(self) -> bool:
        """Ask whether it still lives."""
        return self.machine.run([*self.client, "version"], timeout_s=20).returncode == 0

    def image(self, userland: Userland) -> str:
        """Give the name of the userland's image, importing it if need be, or raise LayerError."""
        name = f"tare-userland:{userland.id}"
        if self.machine.run([*self.client, "image", "inspect", name]).returncode == 0:
            return name
        try:
            argv = [*self.client, "import", userland.tar(self.machine), name]
            check(self.machine, argv, timeout_s=IMPORT_S)
        except CommandFailed as error:
            raise LayerError(f"docker did not import the userland: {error}") from error
        return name


def answering(machine: Machine) -> str | None:
    """Give the version of the daemon that answers by itself, or None."""
    done = machine.run(["docker", "version", "--format", "{{.Server.Version}}"], timeout_s=20)
    return done.stdout.decode().strip() if done.returncode == 0 else None


def installed(machine: Machine) -> str | None:
    """Give the version of the daemon that could be started, or None."""
    if machine.run(["docker", "--version"]).returncode != 0:
        return None
    done = machine.run(["dockerd", "--version"])
    return done.stdout.decode().strip() if done.returncode == 0 else None


def serving(machine: Machine, site: Site) -> Daemon:
    """Give the daemon that answers on a machine; start one of Tare's own where none does."""
    if answering(machine) is not None:
        daemon = Daemon(machine, ("docker",), own=False)
        _record_image(daemon, site)
        return daemon

    def make(scope: Scope) -> Daemon:
        return _start(machine, site, scope)

    return site.services.once("docker", machine, make, Daemon.answers)


def _record_image(daemon: Daemon, site: Site) -> None:
    """Have the image removed from a daemon that is not ours when the session ends."""
    name = f"tare-userland:{site.userland.id}"

    def make(scope: Scope) -> str:
        if daemon.machine.run([*daemon.client, "image", "inspect", name]).returncode != 0:
            scope.about_to_make(
                "image", name, daemon.machine, ["sh", "-c", REMOVE_IMAGE, name, *daemon.client]
            )
        return name

    site.services.once("docker image", daemon.machine, make, lambda _: True)


def _start(machine: Machine, site: Site, scope: Scope) -> Daemon:
    both = ["sh", "-c", 'command -v "$0" && command -v "$1"', "docker", "dockerd"]
    if machine.run(both).returncode != 0:
        raise Unavailable(
            f"dockerd is not installed on {machine.name}", "apt-get install docker.io"
        )
    name = f"tare-{site.session}-docker"
    folder, bridge = f"{site.folder}/{name}", f"tare{site.session}"
    scope.about_to_make("bridge", bridge, machine, ["sh", "-c", REMOVE_BRIDGE, bridge])
    scope.about_to_make("folder", folder, machine, ["sh", "-c", REMOVE_FOLDER, folder])
    group = cgroup.make(machine, f"tare/{name}", scope)
    try:
        check(machine, ["sh", "-c", MAKE_BRIDGE, bridge, BRIDGE_ADDRESS])
        check(machine, ["mkdir", "-p", folder])
        # A guest's disk is thrown away with it, so what was prepared on it is used in place.
        prepared = (
            machine.ephemeral and machine.run(["test", "-d", PREPARED_DOCKER]).returncode == 0
        )
        root = PREPARED_DOCKER if prepared else f"{folder}/root"
        argv = daemon_argv(folder, root, bridge)
        check(machine, group.enter_argv(["sh", "-c", SERVE, f"{folder}/log", *argv]))
    except CommandFailed as error:
        raise LayerError(f"could not start dockerd on {machine.name}: {error}") from error
    daemon = Daemon(machine, ("docker", "--host", f"unix://{folder}/socket"), own=True)
    lives = ["sh", "-c", 'test ! -f "$0" || kill -0 "$(cat "$0")"', f"{folder}/pid"]
    # A client costs the daemon's CPU a second in an emulated guest: it is asked when it can answer.
    listens = ["test", "-S", f"{folder}/socket"]
    if not await_true(
        lambda: machine.run(listens).returncode == 0 and daemon.answers(),
        timeout_s=START_S,
        alive=lambda: machine.run(lives).returncode == 0,
    ):
        log = machine.run(["tail", "-n", "5", f"{folder}/log"]).stdout.decode(errors="replace")
        raise LayerError(f"dockerd did not start on {machine.name}; its log ends: {log.strip()}")
    return daemon


def daemon_argv(folder: str, root: str, bridge: str) -> list[str]:
    """Build the command that serves; it leaves the machine's packet filter and routes alone."""
    return [
        "dockerd", "--host", f"unix://{folder}/socket", "--data-root", root,
        "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid", "--bridge", bridge,
        "--iptables=false", "--ip-forward=false", "--ip-masq=false",
        "--exec-opt", "native.cgroupdriver=cgroupfs",
    ]  # fmt: skip
