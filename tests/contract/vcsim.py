"""vcsim, VMware's own simulator of vCenter, with a container behind every virtual machine.

The API is real, and so is the machine inside: the userland with an sshd, in a container that vcsim
starts, pauses and removes as the machine is switched on, suspended and destroyed. What it cannot
show is what vSphere holds a machine to: the CPUs and memory of its configuration mean nothing to
the container, which is therefore held to the memory of the contract by options of its own.
"""

import fcntl
import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tare.core.home import home
from tare.machines.backends.docker import SERVE, Daemon, containerd_config, daemon_argv
from tare.machines.cgroup import cgroup
from tare.machines.ledger import Ledger, Scope, leftovers
from tare.machines.machine import Host, await_true, check, text
from tare.machines.network import link
from tare.machines.network.addresses import BRIDGE_BITS, BRIDGES, claim
from tare.machines.userland import REMOVE_FOLDER, Userland

# The last release whose simulator is part of the module, and that Debian's Go 1.19 builds.
GO_MOD = """module tare.example/vcsim

go 1.19

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/vmware/govmomi v0.37.3
)
"""
GO_SUM = """\
github.com/google/uuid v1.6.0 h1:NIvaJDMOsjHA8n1jAhLSgzrAzy1Hgr+hNrb57e+94F0=
github.com/google/uuid v1.6.0/go.mod h1:TIyPZe4MgqvfeYDBFedMoGGpEw/LqOeaOT+nhxU+yHo=
github.com/vmware/govmomi v0.37.3 h1:L2y2Ba09tYiZwdPtdF64Ox9QZeJ8vlCUGcAF9SdODn4=
github.com/vmware/govmomi v0.37.3/go.mod h1:mtGWtM+YhTADHlCgJBiskSRPOZRsN9MSjPzaZLte/oQ=
"""
BUILD_S = 900
USER, TEMPLATE = "tare", "DC0_H0_VM0"
PACKAGES = ("fio", "mbw", "openssh-server", "sysbench")
SSHD = "exec /usr/sbin/sshd -D -e -o AuthorizedKeysFile=/key.pub -o UsePAM=no"


def go():
    """Find Go, or None."""
    return shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")


def built():
    """Give the path of the program; it is built once, by whoever needs it first."""
    shelf = home() / "tools"
    shelf.mkdir(parents=True, exist_ok=True)
    program = shelf / f"vcsim-{hashlib.sha256(GO_SUM.encode()).hexdigest()[:12]}"
    with (shelf / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            folder = shelf / "building-vcsim"
            shutil.rmtree(folder, ignore_errors=True)  # of a build that was killed
            try:
                _build(folder).rename(program)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    return program


def _build(folder):
    folder.mkdir()
    (folder / "go.mod").write_text(GO_MOD)
    (folder / "go.sum").write_text(GO_SUM)
    own = {"GOPATH": f"{folder}/path", "GOCACHE": f"{folder}/cache", "GOFLAGS": "-modcacherw"}
    build = [go(), "build", "-mod=readonly", "-buildvcs=false", "-o", "vcsim"]
    done = subprocess.run(
        [*build, "github.com/vmware/govmomi/vcsim"],
        cwd=folder,
        env=os.environ | own,
        capture_output=True,
        timeout=BUILD_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return folder / "vcsim"


@dataclass
class Vcsim:
    """Simulated vCenters on the loopback; all put their machines into one Docker daemon."""

    name: str
    folder: Path
    group: cgroup.Group
    daemon: Daemon
    image: str
    port: int = 0
    pid: int = 0

    @property
    def settings(self):
        """What the layer is given."""
        return {
            "host": "127.0.0.1",
            "port": self.port,
            "user": USER,
            "password_file": f"{self.folder}/password",
            "ca_file": f"{self.folder}/cert",
            "template": TEMPLATE,
            "extra_config": json.dumps({"RUN.container": self.run, "RUN.mountdmi": "false"}),
            "key": f"{self.folder}/key",
        }

    @property
    def run(self):
        """The words between ``docker create --name NAME`` and the end, for a shell."""
        return (
            f"--init --memory=1g --memory-swap=1g --cgroup-parent=/tare/{self.name}-machines"
            f" -v {self.folder}/key.pub:/key.pub:ro {self.image}"
            f" sh -c 'mkdir -p /run/sshd && {SSHD}'"
        )

    def start(self, *more):
        """Serve, on the same port if it did before."""
        if not self.port:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
        log = self.folder / f"vcsim-{self.port}.log"
        docker_host = f"DOCKER_HOST={self.daemon.client[-1]}"
        serve = [
            # What it makes in the folder for temporary files stays there when it is killed.
            *(
                "env",
                docker_host,
                f"TMPDIR={self.folder}",
                str(built()),
                "-l",
                f"127.0.0.1:{self.port}",
            ),
            *("-username", USER, "-password", f"{self.folder}/password"),
            *("-tlscert", f"{self.folder}/cert", "-tlskey", f"{self.folder}/certkey"),
            *("-cluster", "0", "-standalone-host", "1", "-vm", "1", "-autostart=false", *more),
        ]
        self.pid = _serve(self.group, log, serve)
        lives = Path(f"/proc/{self.pid}").exists
        assert await_true(self.listens, timeout_s=30, alive=lives), log.read_text()

    def listens(self):
        """Say whether a client can connect."""
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self):
        """End it without a warning, as a crash does; its containers stay."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        assert await_true(lambda: not self.listens(), timeout_s=10)

    @contextmanager
    def another(self, *more):
        """Serve a vCenter of its own to a test that breaks it or needs it slow."""
        other = Vcsim(self.name, self.folder, self.group, self.daemon, self.image)
        other.start(*more)
        try:
            yield other
        finally:
            other.kill()


@pytest.fixture(scope="session")
def vsphere():
    """A vCenter that clones TEMPLATE; all of it is gone at the end, and known to `tare clean`."""
    session = secrets.token_hex(3)
    path = home() / "ledgers" / session
    path.parent.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(path)
    scope = Scope(ledger)
    try:
        made = _made(session, ledger, scope)
        made.start()
        yield made
    finally:
        scope.close()
        ledger.close()
        assert leftovers(path) == []
        path.unlink()


def _made(session, ledger, scope):
    host, name = Host(), f"tare-{session}"
    folder = home() / "run" / session
    scope.about_to_make("folder", str(folder), host, ["sh", "-c", REMOVE_FOLDER, str(folder)])
    # The name is one where the contract's eyes look for daemons, and so see the machines.
    own = folder / f"{name}-docker"
    own.mkdir(parents=True)
    (folder / "password").write_text(f"{secrets.token_hex(8)}\n")
    check(host, ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/key"])
    check(
        host,
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=vcsim"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-days", "3650"),
            *("-keyout", f"{folder}/certkey", "-out", f"{folder}/cert"),
        ],
    )
    bridge = f"tare{session}"
    scope.about_to_make("bridge", bridge, host, ["sh", "-c", link.REMOVE, bridge])
    check(host, ["sh", "-c", link.MAKE, bridge])
    claim(host, bridge, BRIDGES, BRIDGE_BITS)
    cgroup.make(host, f"tare/{name}-machines", scope)
    group = cgroup.make(host, f"tare/{name}-vcsim", scope)
    (own / "daemon.json").write_text("{}")
    config = own / "containerd.toml"
    config.write_text(containerd_config(str(own), f"{own}/root"))
    _serve(group, own / "containerd.log", ["containerd", "--config", str(config)])
    pid = _serve(group, own / "log", daemon_argv(str(own), f"{own}/root", bridge))
    daemon = Daemon(host, ("docker", "--host", f"unix://{own}/socket"), own=True)
    answers = await_true(daemon.answers, timeout_s=60, alive=Path(f"/proc/{pid}").exists)
    assert answers, (own / "log").read_text()
    image = daemon.image(Userland("bookworm", PACKAGES, ledger))
    return Vcsim(name, folder, group, daemon, image)


def _serve(group, log, argv):
    """Start what stays, in a group, and give its process id."""
    return int(text(Host(), group.enter_argv(["sh", "-c", f"{SERVE} echo $!", str(log), *argv])))
