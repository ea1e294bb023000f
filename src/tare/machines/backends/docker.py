"""The Docker daemon of a machine: the one that answers, else one that Tare starts."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.machines.backends import docker_images, docker_storage, oci
from tare.machines.backends.docker_storage import StorageDriver
from tare.machines.cgroup import cgroup
from tare.machines.ledger import Scope
from tare.machines.machine import Machine, await_true, check, put, text
from tare.machines.network import link
from tare.machines.network.addresses import BRIDGE_BITS, BRIDGES, claim
from tare.machines.userland import PREPARED_DOCKER, REMOVE_FOLDER

if TYPE_CHECKING:
    from tare.machines.layer import Site
    from tare.machines.userland import Userland

START_S = 120.0
CONTAINERD_SOCKET = "exec/containerd/containerd.sock"
IMPORT_S = 600.0
MOUNTS = {
    "overlay": (),
    "volume": ("--mount", "type=volume,dst=/data"),
    "tmpfs": ("--mount", "type=tmpfs,dst=/data"),
}
"""The options of ``docker create`` for each storage of /data."""
# setsid and no open streams: the daemon must outlive the command that starts it.
SERVE = 'setsid "$@" > "$0" 2>&1 < /dev/null &'
# Gone already is as good as removed; with a daemon of Tare's own that is dead, the container's
# processes go with its cgroup and its files with the daemon's folder.
REMOVE_CONTAINER = r"""
name=$0 own=$1
shift
why=$("$@" rm --force --volumes "$name" 2>&1) && exit 0
case $why in *"No such container"*) exit 0 ;; esac
[ "$own" = own ] && ! "$@" version > /dev/null 2>&1 && exit 0
echo "$why" >&2
exit 1
"""
REMOVE_IMAGE = r"""
why=$("$@" image rm "$0" 2>&1) && exit 0
case $why in *"No such image"*) exit 0 ;; esac
echo "$why" >&2
exit 1
"""
# A client that finds nobody takes two seconds to say so in an emulated guest.
ASK = r"""
[ -S /var/run/docker.sock ] || [ -n "${DOCKER_HOST-}${DOCKER_CONTEXT-}" ] ||
    [ -f ~/.docker/config.json ] || exit 1
exec "$0" "$@"
"""
# Waits for a socket without a process for each look, which would take CPU time from the daemon.
AWAIT_SOCKET = r"""
mkfifo "$0.wait" && exec 9<> "$0.wait" || exit 1
while ! [ -S "$0" ]; do
    pid=
    [ ! -f "$1" ] || read -r pid < "$1"
    [ -z "$pid" ] || kill -0 "$pid" 2> /dev/null || exit 1
    read -rt 0.1 -u 9
done
exit 0
"""
LIVES = 'kill -0 "$(cat "$0")"'
PID = "{{.State.Pid}}"
RUNNING = "{{.State.Running}}"
PID_AND_ID = "{{.State.Pid}} {{.Id}}"
ADDRESS = "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"


@dataclass(frozen=True)
class Daemon:
    """A daemon that answers; ``client`` is how its client is called, ``own`` whether it is Tare's.

    ``pid_file`` and ``root`` are those of one of Tare's. ``images`` are those that it is known to
    have.
    """

    machine: Machine
    client: tuple[str, ...]
    own: bool
    pid_file: str = ""
    root: str = ""
    images: set[str] = field(default_factory=set, compare=False)
    importing: threading.Lock = field(default_factory=threading.Lock, compare=False)

    def answers(self) -> bool:
        """Return whether it still lives."""
        return self.machine.run([*self.client, "version"], timeout_s=20).returncode == 0

    def lives(self) -> bool:
        """Return whether the process of a daemon of Tare's is there.

        It is asked for every container, when a client would take longer than everything else.
        """
        return self.machine.run(["sh", "-c", LIVES, self.pid_file]).returncode == 0

    def image(self, userland: Userland) -> str:
        """Return the name of the userland's image, importing it if need be, or raise LayerError."""
        name = f"tare-userland:{userland.id}"
        with self.importing:  # instances are opened at once, and each import takes seconds
            if name not in self.images:
                self._import(name, userland)
                self.images.add(name)
        return name

    def _import(self, name: str, userland: Userland) -> None:
        if self.machine.run([*self.client, "image", "inspect", name]).returncode == 0:
            return
        try:
            argv = [*self.client, "import", userland.tar(self.machine), name]
            check(self.machine, argv, timeout_s=IMPORT_S)
            if self.root:
                docker_images.keep(self.machine, userland, self.root)
        except CommandFailed as error:
            raise LayerError(f"docker did not import the userland: {error}") from error

    def do(self, verb: str, container: str, timeout_s: float) -> None:
        """Run a docker command on a container, or raise LayerError."""
        try:
            check(self.machine, [*self.client, verb, container], timeout_s=timeout_s)
        except CommandFailed as error:
            raise LayerError(f"docker {verb} {container} failed: {error}") from error

    def runs(self, container: str) -> bool:
        """Return whether a container has been started and has not ended."""
        ask = [*self.client, "inspect", "--format", RUNNING, container]
        return self.machine.run(ask).stdout.strip() == b"true"

    def group(self, container: str) -> str:
        """Find the control group of a container that runs."""
        return cgroup.of_process(self.machine, self.pid(container))

    def pid(self, container: str) -> str:
        """Find the first process of a container that runs."""
        return text(self.machine, [*self.client, "inspect", "--format", PID, container])

    def freezer(self, container: str) -> cgroup.Group | None:
        """Find the group that freezes a running container; None: only the daemon can pause it."""
        ask = [*self.client, "inspect", "--format", PID_AND_ID, container]
        return cgroup.freezer_of(self.machine, ask)

    def folder(self) -> str:
        """Find the folder of its images, containers and volumes, or raise LayerError."""
        ask = [*self.client, "info", "--format", "{{.DockerRootDir}}"]
        try:
            return text(self.machine, ask)
        except CommandFailed as error:
            raise LayerError(f"docker did not say where it stores containers: {error}") from error

    def address(self, container: str) -> str:
        """Find the address of a container that runs on a bridge, or raise LayerError."""
        ask = [*self.client, "inspect", "--format", ADDRESS, container]
        try:
            found = text(self.machine, ask).split()
        except CommandFailed as error:
            raise LayerError(f"no address of {container}: {error}") from error
        if not found:
            raise LayerError(f"docker gave {container} no address")
        return found[0]

    def remove_argv(self, container: str) -> list[str]:
        """Build the command that removes a container, if it is there and the daemon too."""
        whose = "own" if self.own else "other"
        return ["sh", "-c", REMOVE_CONTAINER, container, whose, *self.client]

    def runtime(self, name: str, network: str, *, privileged: bool) -> str:
        """Return the name by which the daemon knows a runtime for a network and its confinement."""
        if not self.own:
            return name
        if name == "runsc":
            return f"runsc-{network}"
        return f"{name}-privileged" if privileged else name


def answering(machine: Machine) -> str | None:
    """Return the version of the daemon that answers by itself, or None."""
    done = machine.run(
        ["sh", "-c", ASK, "docker", "version", "--format", "{{.Server.Version}}"], timeout_s=20
    )
    return done.stdout.decode().strip() if done.returncode == 0 else None


def installed(machine: Machine) -> str | None:
    """Return the version of the daemon that could be started, or None."""
    if machine.run(["docker", "--version"]).returncode != 0:
        return None
    done = machine.run(["dockerd", "--version"])
    return done.stdout.decode().strip() if done.returncode == 0 else None


def usable(
    machine: Machine, runtime: str, network: str, driver: StorageDriver | None = None
) -> Mapping[str, str]:
    """Return the engine and runtime that would be used, or raise Unavailable; starts nothing."""
    stored = {} if driver is None else {"docker.storage_driver": driver}
    server = answering(machine)
    is_shim = runtime.startswith("io.containerd.")  # found by its name, by every daemon
    if is_shim:
        shim = f"containerd-shim-{'-'.join(runtime.split('.')[2:])}"
        if machine.run(["sh", "-c", 'command -v "$0"', shim]).returncode != 0:
            raise Unavailable(
                f"{shim} is not installed on {machine.name}", f"put {shim} in a folder of the PATH"
            )
    if server is not None:
        done = machine.run(["docker", "info", "--format", "{{json .Runtimes}}"], timeout_s=20)
        known = json.loads(done.stdout) if done.returncode == 0 else {}
        if not is_shim and runtime not in known:
            raise Unavailable(
                f"the Docker daemon of {machine.name} does not know the runtime {runtime}, only "
                f"{', '.join(sorted(known)) or 'none'}",
                'add it to "runtimes" in /etc/docker/daemon.json and restart the daemon, or end '
                "the daemon: then Tare starts one of its own",
            )
        if driver is not None:
            docker_storage.refuse_other(machine, driver)
        return {"docker.version": server, "docker.runtime": runtime, **stored}
    server = installed(machine)
    if server is None:
        raise Unavailable(
            f"no Docker daemon answers and none is installed on {machine.name}",
            "apt-get install docker.io",
        )
    if driver is not None:
        docker_storage.refuse_missing(machine, server, driver)
    found = runtime if is_shim else oci.usable(machine, runtime, network)
    return {"docker.version": server, "docker.runtime": found, **stored}


def serving(machine: Machine, site: Site, driver: StorageDriver | None = None) -> Daemon:
    """Return the daemon that answers on a machine; start one of Tare's own where none does.

    There is one of Tare's own for each storage ``driver`` that is asked for; None leaves it to
    dockerd.
    """
    if answering(machine) is not None:
        daemon = Daemon(machine, ("docker",), own=False)
        _record_image(daemon, site)
        return daemon

    def make(scope: Scope) -> Daemon:
        return _start(machine, site, scope, driver)

    service = "docker" if driver is None else f"docker {driver}"
    return site.services.once(service, machine, make, Daemon.lives)


def _record_image(daemon: Daemon, site: Site) -> None:
    """Record the image for removal at the session's end, in a daemon that Tare did not start."""
    name = f"tare-userland:{site.userland.id}"

    def make(scope: Scope) -> str:
        if daemon.machine.run([*daemon.client, "image", "inspect", name]).returncode != 0:
            scope.about_to_make(
                "image", name, daemon.machine, ["sh", "-c", REMOVE_IMAGE, name, *daemon.client]
            )
        return name

    site.services.once("docker image", daemon.machine, make, lambda _: True)


def _start(machine: Machine, site: Site, scope: Scope, driver: StorageDriver | None) -> Daemon:
    both = ["sh", "-c", 'command -v "$0" && command -v "$1"', "docker", "dockerd"]
    if machine.run(both).returncode != 0:
        raise Unavailable(
            f"dockerd is not installed on {machine.name}", "apt-get install docker.io"
        )
    if driver is not None:
        # A machine inside another is asked here for the first time.
        docker_storage.refuse_missing(machine, installed(machine) or "", driver)
    name = f"tare-{site.session}-docker{f'-{driver}' if driver else ''}"
    # The kernel allows 15 letters: the first of a driver tells it from the others.
    folder, bridge = f"{site.folder}/{name}", f"tare{site.session}{driver[0] if driver else ''}"
    scope.about_to_make("bridge", bridge, machine, ["sh", "-c", link.REMOVE, bridge])
    scope.about_to_make("folder", folder, machine, ["sh", "-c", REMOVE_FOLDER, folder])
    if driver == "devicemapper":
        remove = ["sh", "-c", docker_storage.REMOVE_POOL, f"{folder}/root"]
        scope.about_to_make("thin pool", folder, machine, remove)
    group = cgroup.make(machine, f"tare/{name}", scope)
    try:
        check(machine, ["sh", "-c", link.MAKE, bridge])
        claim(machine, bridge, BRIDGES, BRIDGE_BITS)
        check(machine, ["mkdir", "-p", folder])
        # What is prepared, in a guest or here, was stored by overlay2. A guest's disk is thrown
        # away with it, so what was prepared on it is used in place.
        fits = driver in (None, "overlay2")
        prepared = (
            fits
            and machine.ephemeral
            and machine.run(["test", "-d", PREPARED_DOCKER]).returncode == 0
        )
        root = PREPARED_DOCKER if prepared else f"{folder}/root"
        if fits and not prepared:
            docker_images.give(machine, site.userland, root)
        put(machine, config(machine, folder).encode(), f"{folder}/daemon.json")
        put(machine, containerd_config(folder, root).encode(), f"{folder}/containerd.toml")
        for name_of_log, argv in (
            ("containerd.log", ["containerd", "--config", f"{folder}/containerd.toml"]),
            ("log", daemon_argv(folder, root, bridge, driver)),
        ):
            serve = ["sh", "-c", SERVE, f"{folder}/{name_of_log}", *argv]
            check(machine, group.enter_argv(serve))
    except CommandFailed as error:
        raise LayerError(f"could not start dockerd on {machine.name}: {error}") from error
    client = ("docker", "--host", f"unix://{folder}/socket")
    daemon = Daemon(machine, client, own=True, pid_file=f"{folder}/pid", root=root)
    # A client costs the daemon's CPU a second in an emulated guest: it is asked when it can answer.
    listens = ["bash", "-c", AWAIT_SOCKET, f"{folder}/socket", f"{folder}/pid"]
    is_up = machine.run(listens, timeout_s=START_S).returncode == 0
    # One that cannot have its storage driver listens first, and ends then.
    if not is_up or not await_true(daemon.answers, timeout_s=START_S, alive=daemon.lives):
        logs = [f"{folder}/containerd.log", f"{folder}/log"]
        log = machine.run(["tail", "-q", "-n", "3", *logs]).stdout.decode(errors="replace")
        if driver is not None:
            log_end = machine.run(["tail", "-n", "50", f"{folder}/log"]).stdout
            docker_storage.refuse_refused(machine, log_end.decode(errors="replace"), driver)
        raise LayerError(f"dockerd did not start on {machine.name}; its log ends: {log.strip()}")
    if driver is not None:
        docker_storage.check_taken(machine, client, driver)
    return daemon


def config(machine: Machine, folder: str) -> str:
    """Write what a daemon is to know of the runtimes of a machine."""
    runtimes: dict[str, object] = {}
    for name in ("runc", "crun"):
        if program := oci.path(machine, name, folder):
            if name != "runc":  # a daemon knows that by itself, and forbids redefining it
                runtimes[name] = {"path": program}
            runtimes[f"{name}-privileged"] = {"path": oci.privileged(machine, program, folder)}
    if runsc := oci.path(machine, "runsc", folder):
        for network, stack in oci.GVISOR_NETWORK.items():
            given = {"path": runsc, "runtimeArgs": [f"--network={stack}"]}
            runtimes[f"runsc-{network}"] = given
    return json.dumps({"runtimes": runtimes})


def containerd_config(folder: str, root: str) -> str:
    """Write what the containerd of a daemon is to know.

    It is started separately: dockerd waits a minute for one that it finds running, but ends if one
    that it has started itself is not up within 15 s: not enough for an emulated guest under load.
    """
    return f"""version = 2
root = "{root}/containerd/daemon"
state = "{folder}/exec/containerd/daemon"
disabled_plugins = ["io.containerd.grpc.v1.cri"]

[grpc]
  address = "{folder}/{CONTAINERD_SOCKET}"
"""


def daemon_argv(
    folder: str, root: str, bridge: str, driver: StorageDriver | None = None
) -> list[str]:
    """Build the command that serves; it leaves the machine's packet filter and routes alone."""
    return [
        "dockerd", "--config-file", f"{folder}/daemon.json",
        "--host", f"unix://{folder}/socket", "--data-root", root,
        "--containerd", f"{folder}/{CONTAINERD_SOCKET}", "--exec-root", f"{folder}/exec",
        "--pidfile", f"{folder}/pid", "--bridge", bridge,
        "--iptables=false", "--ip-forward=false", "--ip-masq=false",
        "--exec-opt", "native.cgroupdriver=cgroupfs",
        *([f"--storage-driver={driver}"] if driver else []),
    ]  # fmt: skip
