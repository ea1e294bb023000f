"""Another computer: a network namespace with a cable to this one, a root and an sshd of its own."""

import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tare.core.model import Limits
from tare.machines import layer
from tare.machines.layer import Site
from tare.machines.ledger import Ledger, Scope, Services
from tare.machines.machine import Host, await_true, check
from tare.machines.stack import open_stack
from tare.machines.userland import Userland

PACKAGES = (
    "apache2-utils", "haproxy", "iproute2", "netbase", "nginx-light", "non-free/netperf",
    "openssh-server", "redis-server", "redis-tools",
)  # fmt: skip
NAME, HERE, THERE = "tare-second", "198.51.100.1", "198.51.100.2"
CABLE = r"""
set -eu
ip netns add "$0"
ip link add "$0" type veth peer name eth0 netns "$0"
ip addr add "$1/30" dev "$0"
ip link set "$0" up
ip -n "$0" addr add "$2/30" dev eth0
ip -n "$0" link set lo up
ip -n "$0" link set eth0 up
"""
# Of the root only what is written is its own; all of it goes with its first process.
SYSTEM = r"""
set -eu
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=$0,upperdir=$1/upper,workdir=$1/work" "$1/root"
cd "$1/root"
mkdir -p run/sshd
mount -t proc proc proc
mount --rbind /dev dev
cp "$2/user.pub" authorized
cp "$2/host" hostkey
exec chroot . /usr/sbin/sshd -D -e -f /dev/null -h /hostkey -o AuthorizedKeysFile=/authorized \
    -o StrictModes=no -o UsePAM=no -o PidFile=none
"""


@dataclass
class Second:
    """How it is reached; ``process`` is its first one."""

    key: str
    process: subprocess.Popen

    @property
    def stack(self):
        """What a study says of it."""
        return {"stack": "host/ssh", "ssh": {"address": THERE, "key": self.key}}

    def left(self):
        """List what a session left there: programs, routes, folders."""
        pids = Host().run(["ip", "netns", "pids", NAME]).stdout.decode().split()
        programs = [Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids]
        routes = Host().run(["ip", "-n", NAME, "route"]).stdout.decode().splitlines()
        first = Host().run(["pgrep", "-P", str(self.process.pid)]).stdout.decode().strip()
        folders = [str(path) for path in Path(f"/proc/{first}/root/var/tmp").glob("tare-*")]
        known = ("sshd", "unshare")
        return [*(one for one in programs if one not in known), *routes[1:], *folders]

    def die(self, *, silently=False):
        """Take its power away; ``silently`` nobody says then that nothing is there."""
        if silently:
            drop = ["iptables", "-w", "-A", "OUTPUT", "-j", "DROP"]
            check(Host(), ["ip", "netns", "exec", NAME, *drop])
        self.process.kill()
        self.process.wait(timeout=10)


@contextmanager
def second(folder: Path):
    """Have it up."""
    host, ledger = Host(), Ledger(folder / "ledger.jsonl")
    root = Userland("bookworm", PACKAGES, ledger).tree(host)
    for key in ("user", "host"):
        check(host, ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)])
    (folder / "root").mkdir()
    host.run(["ip", "netns", "delete", NAME])  # of a test that was killed
    check(host, ["sh", "-c", CABLE, NAME, HERE, THERE])
    own = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    system = ["sh", "-c", SYSTEM, str(root), str(folder / "root"), str(folder)]
    argv = ["ip", "netns", "exec", NAME, *own, *system]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=log)
    try:
        ask = ["ip", "netns", "exec", NAME, "sh", "-c", "ss -ltn | grep -q :22"]
        up = await_true(lambda: host.run(ask).returncode == 0, timeout_s=10, every_s=0.1)
        assert up, (folder / "log").read_text()
        yield Second(str(folder / "user"), process)
    finally:
        process.kill()
        process.wait(timeout=10)
        host.run(["ip", "netns", "delete", NAME])
        host.run(["ip", "link", "delete", NAME])
        ledger.close()


@contextmanager
def guest(folder: Path):
    """Have another computer that QEMU emulates, at the end of a cable; gives what a study says."""
    host, ledger = Host(), Ledger(folder / "ledger.jsonl")
    scope, services = Scope(ledger), Services(ledger)
    site = Site(
        name=NAME,
        session="second",
        folder=str(folder),
        limits=Limits(cpus=1, memory_bytes=2**29),
        cpuset=str(max(os.sched_getaffinity(0))),
        scope=scope,
        services=services,
        userland=Userland("bookworm", PACKAGES, ledger),
        reached=True,
    )
    stack = open_stack(host, [layer.load("qemu-tcg")], site)
    try:
        key = stack.instances[0].connection.key
        yield {"stack": "host/ssh", "ssh": {"address": stack.address(), "key": key}}
    finally:
        stack.close()
        services.close()
        ledger.close()
