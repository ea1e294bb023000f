"""Places where stacks are opened for real, and eyes for what they leave.

No runner's Session is used: its lock would let only one of these tests run on a host at a time.
"""

import json
import os
import secrets
import socket
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from contract.vcsim import vsphere  # noqa: F401 - a fixture
from tare.core.home import home
from tare.core.model import Limits
from tare.machines import layer
from tare.machines.agent import Agents
from tare.machines.ledger import Ledger, Scope, Services, leftovers
from tare.machines.machine import Host, await_true, check
from tare.machines.stack import open_stack
from tare.machines.userland import REMOVE_FOLDER, Userland
from tare.machines.userland.architecture import HERE

PACKAGES = ("bubblewrap", "fio", "iperf3", "mbw", "sysbench")
"""What the userland of all these tests holds, so that it is built once."""

NESTED = ("lxc", "runsc")
"""What the layers need that are opened in a guest."""

SETTINGS = {"ssh": "sshd", "vsphere": "vsphere"}
"""Layers that cannot be made without settings, and the fixture that has them."""

LIMITS = Limits(cpus=1, memory_bytes=2**30)
CPU = str(max(os.sched_getaffinity(0)))
EVERY_CPU = ",".join(map(str, sorted(os.sched_getaffinity(0))))
START_S = 300.0
"""How long a guest may take on a busy host."""


class Place:
    """What a session has: a name, a ledger, services, a folder. Everything made bears the name."""

    def __init__(self):
        self.id = secrets.token_hex(3)
        self.host = Host()
        # Where `tare clean` looks, should the tests be killed.
        self.path = home() / "ledgers" / self.id
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.ledger = Ledger(self.path)
        self.services = Services(self.ledger)
        self.userland = Userland("bookworm", PACKAGES, self.ledger, NESTED, arch=HERE)
        self.folder = home() / "run" / self.id
        self.scope = Scope(self.ledger)
        remove = ["sh", "-c", REMOVE_FOLDER, str(self.folder)]
        self.scope.about_to_make("folder", str(self.folder), self.host, remove)
        self.folder.mkdir(parents=True)
        self.opened = 0

    def site(self, **changes):
        self.opened += 1
        given = {
            "name": f"tare-{self.id}-{self.opened}",
            "session": self.id,
            "folder": str(self.folder),
            "limits": LIMITS,
            "cpuset": CPU,
            "scope": Scope(self.ledger),
            "services": self.services,
            "userland": self.userland,
        }
        return layer.Site(**(given | changes))

    def site_with_agents(self, **changes):
        """A site as a study has it; without agents, as here else, commands enter anew."""
        return self.site(agents=Agents(self.host, self.ledger), **changes)

    def open(self, layers, site=None):
        return open_stack(self.host, layers, site or self.site())

    def undo_again(self, name):
        """Run the removal of all that bears a name and was removed once more; each must succeed."""
        lines = self.ledger_lines()
        gone = {line["gone"] for line in lines if "gone" in line}
        for line in lines:
            is_meant = "undo" in line and any(name in word for word in line["undo"])
            if is_meant and line["id"] in gone and not line["ephemeral"]:
                check(self.host, line["undo"])

    def ledger_lines(self):
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def close(self):
        self.services.close()
        self.scope.close()
        self.ledger.close()
        assert leftovers(self.path) == []
        self.path.unlink()


def traces(name):
    """List whatever on this host bears a name: it is what was left if its layers are gone."""
    return [
        *(f"process {line}" for line in _command_lines() if name in line),
        *(f"mount {at}" for at in Path("/proc/self/mountinfo").read_text().split() if name in at),
        *(f"cgroup {at}" for at in _folders("/sys/fs/cgroup", depth=4) if name in at),
        *(f"folder {at}" for at in _folders(home(), depth=4) if name in at),
        *(f"folder {at}" for at in _folders("/var/tmp", depth=1) if name in at),  # noqa: S108
        *(f"link {at}" for at in _links() if name.replace("-", "") in at),
        *(f"container {at}" for at in _docker("ps", "--all", "--format={{.Names}}") if name in at),
    ]


def _locks():
    """List the locks in shared memory of a Podman that is everybody's: they bear no other name."""
    return set(Path("/dev/shm").glob("libpod*"))  # noqa: S108 - only looked at


def _links():
    return [path.name for path in Path("/sys/class/net").iterdir()]


def _command_lines():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue


def _folders(root, depth):
    """Walk the folders and sockets below a root, without entering trees of a userland."""
    try:
        entries = list(os.scandir(root))
    except OSError:
        return
    for entry in entries:
        yield entry.path
        if depth > 1 and entry.is_dir(follow_symlinks=False):
            yield from _folders(entry.path, depth - 1)


def _docker(*argv):
    sockets = home().glob("run/*/tare-*-docker/socket")
    for daemon in [[], *(["--host", f"unix://{path}"] for path in sockets)]:
        yield from Host().run(["docker", *daemon, *argv]).stdout.decode().split()


@dataclass
class Sshd:
    """A server on the loopback that lets one key in; settings for the ssh layer."""

    port: int
    key: str

    @property
    def settings(self):
        return {"address": "127.0.0.1", "port": self.port, "key": self.key}


@pytest.fixture(scope="session")
def sshd(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sshd")
    for key in ("user", "host"):
        new = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
        check(Host(), new)
    Path("/run/sshd").mkdir(exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "ListenAddress": "127.0.0.1",
        "PidFile": "none",
        "AuthorizedKeysFile": folder / "user.pub",
        "StrictModes": "no",
        "UsePAM": "no",
    }
    argv = ["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-p", str(port)]
    argv += ["-h", str(folder / "host"), *(f"-o{name}={to}" for name, to in options.items())]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=log)
    try:
        assert await_true(lambda: _listens(port), timeout_s=10), (folder / "log").read_text()
        yield Sshd(port, str(folder / "user"))
    finally:
        process.terminate()
        process.wait(timeout=10)


def _listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def _place():
    locks = _locks()
    made = Place()
    try:
        yield made
    finally:
        made.close()
    assert traces(made.id) == []
    assert _locks() <= locks


@pytest.fixture(scope="session")
def place():
    """One place for all tests that leave it as they found it: its daemon is started once."""
    with _place() as made:
        yield made


@pytest.fixture(scope="module")
def remote_place():
    """A place for what is reached through the test's own sshd, which leads back to this host."""
    with _place() as made:
        yield made


@pytest.fixture
def own_place():
    """A place for a test that breaks what is shared."""
    with _place() as made:
        yield made


@pytest.fixture(scope="session")
def layers_of(request):
    """Make the layers of a stack such as ``host/docker``.

    Settings are by layer, ``{"docker": {...}}``; those that cannot be left out come from fixtures.
    """

    def make(stack, **settings):
        names = stack.split("/")[1:] or ["host"]
        given = {
            name: request.getfixturevalue(SETTINGS[name]).settings if name in SETTINGS else {}
            for name in names
        }
        return [layer.load(name, **(given[name] | settings.get(name, {}))) for name in names]

    return make


@pytest.fixture
def opened(place, layers_of):
    """Open a stack under some limits, on all CPUs as a session gives them."""
    stacks = []

    def open_under(limits, path, settings, **changes):
        changes = {"cpuset": EVERY_CPU, **changes}
        site = place.site(limits=limits, deadline_s=START_S, **changes)
        stacks.append(place.open(layers_of(path, **settings), site))
        return stacks[-1]

    yield open_under
    for stack in stacks:
        stack.close()


@pytest.fixture(scope="session", name="traces")
def traces_fixture():
    return traces


@pytest.fixture(scope="session")
def settles():
    """Give what there is a moment to end: a killed process is seen until its parent reaps it."""

    def settles(condition, timeout_s=5.0):
        deadline = time.monotonic() + timeout_s
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.05)
        return condition()

    return settles
