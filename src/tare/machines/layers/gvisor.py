"""A gVisor sandbox: ``runsc`` without a container engine. Its Sentry is the kernel inside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.machines import instance, layer
from tare.machines.backends import bundle, oci, tree
from tare.machines.backends.instance_process import InstanceProcess
from tare.machines.backends.namespaces import INIT
from tare.machines.backends.oci import GVISOR_CACHES
from tare.machines.cgroup import cgroup
from tare.machines.cgroup.group_limits import read_group
from tare.machines.cgroup.readback import Inside
from tare.machines.instance import Threads
from tare.machines.machine import Inner, Machine, put
from tare.machines.network import netns, rate
from tare.machines.switch import Switch

if TYPE_CHECKING:
    from tare.machines.userland import Userland

TRY_S = 45
# A platform that does not work may hang; a sandbox that was tried ends with this command.
TRY = r"""
folder=$(mktemp -d) || exit 1
trap 'rm -rf --one-file-system "$folder"' EXIT
TMPDIR=$folder timeout -s KILL "$0" runsc --root="$folder" --network=none --ignore-cgroups "$@" \
    do true
"""


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """A sandbox under a platform, with a network: the outer machine's, its own stack, or none.

    The own stack (``sandbox``) is on a link that leads to the outer machine and to its other links.
    The root is served as gVisor serves a container's, and /data as a volume of one. The memory is
    that of the group: what the Sentry needs for itself comes off it, unseen from inside.
    """

    platform: Literal["ptrace", "systrap", "kvm"] = "ptrace"
    network: Literal["host", "sandbox", "none"] = "host"

    switches = (
        Switch(
            name="platform", setting="platform", on="ptrace", off="systrap",
            about="how system calls are caught: by ptrace, or by seccomp's traps",
        ),
        Switch(
            name="network", setting="network", on="sandbox", off="host",
            about="gVisor's own TCP stack, or the host's",
        ),
    )  # fmt: skip

    packages = ("runsc",)
    own_kernel = True

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del userland
        network = "bridge" if self.network == "sandbox" else self.network
        version = oci.usable(outer, "runsc", network)
        known = outer.run(["runsc", "help", "platforms"]).stdout.decode().split()
        if self.platform not in known:
            raise Unavailable(
                f"{version} on {outer.name} has no platform {self.platform}",
                "install a runsc of 2023 or later, or take `platform: ptrace`",
            )
        done = outer.run(["sh", "-c", TRY, str(TRY_S), f"--platform={self.platform}"])
        if done.returncode != 0:
            last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            why = last if done.returncode != 128 + 9 else f"it is not up after {TRY_S} s"
            raise Unavailable(
                f"no sandbox starts on {outer.name} on gVisor's platform {self.platform}: {why}",
                "run Tare as root, or take another `platform:`",
            )
        return {"gvisor.version": version, "gvisor.platform": self.platform}

    def needs(self) -> tuple[str, ...]:
        """See Layer.needs."""
        return (*self.packages, *(["iproute2"] if self.network == "sandbox" else []))

    def no_disk(self) -> str:
        """See Layer.no_disk."""
        return GVISOR_CACHES

    def no_link(self) -> str:
        """See Layer.no_link."""
        if self.network == "sandbox":
            return ""
        return f"its network is `{self.network}`; give it `network: sandbox`"

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        folder = tree.writable(outer, site)
        group = cgroup.make(
            outer, f"tare/{site.name}", site.scope, cpuset=site.cpuset, limits=site.limits
        )
        network = netns.make(outer, site) if self.network == "sandbox" else None
        # A group that is there already is taken as it is, and read for the CPUs and the memory
        # that the Sentry shows.
        config = bundle.config(
            folder, group.path, ["sh", "-c", INIT], network.path if network else ""
        )
        try:
            put(outer, json.dumps(config).encode(), f"{folder}/config.json")
        except CommandFailed as error:
            raise LayerError(f"could not write a bundle on {outer.name}: {error}") from error
        made = Instance(site, InstanceProcess(outer, group, folder), self.runsc_argv(folder))
        made.network = self.network
        if network:
            made.own_address = network.address
            made.rates = rate.LinkRates(outer, site, lambda: network.device)
        return made

    def runsc_argv(self, folder: str) -> list[str]:
        """Build the beginning of every call of runsc."""
        at = f"--root={folder}/state"
        return ["runsc", at, f"--platform={self.platform}", f"--network={self.network}"]


class Instance(instance.Instance):
    """One sandbox; ``runsc run`` keeps it up, the Sentry, its gofer and its stubs in one group."""

    def __init__(self, site: layer.Site, process: InstanceProcess, runsc: list[str]) -> None:
        self.site, self.process, self.runsc = site, process, runsc
        enter = [*runsc, "exec", site.name]
        self.machine = Inner(process.machine, "gvisor", lambda argv: [*enter, *argv])
        # The Sentry has CPUs of its own, and numbers them.
        cpus = len(cgroup.cpus_of(site.cpuset))
        self.cpuset = f"0-{cpus - 1}" if cpus > 1 else "0"
        self.files_at = site.folder
        self.own_address: str | None = None

    def start(self) -> None:
        """See Instance.start."""
        # A sandbox that was killed leaves a state that keeps its name from being used again.
        self.process.machine.run(["rm", "-rf", f"{self.process.folder}/state"])
        self.process.start([*self.runsc, "run", f"--bundle={self.process.folder}", self.site.name])

    def ready(self) -> None:
        """See Instance.ready."""
        self.process.await_answer(self.machine, self.site.name, self.site.deadline_s)

    def stop(self, *, hard: bool = False) -> None:
        """See Instance.stop: a signal to ``runsc run`` would reach nothing inside."""
        tell = [*self.runsc, "kill", self.site.name, "TERM"]
        self.process.stop(self.site.name, self.site.deadline_s, tell=tell, hard=hard)

    def pause(self) -> None:
        """See Instance.pause: the Sentry is frozen too, unlike by ``runsc pause``."""
        self.process.group.freeze()

    def resume(self) -> None:
        """See Instance.resume."""
        self.process.group.thaw()

    def inside(self) -> Inside:
        """See Instance.inside; the Sentry's swap is not visible there."""
        swap = read_group(self.process.machine, self.process.group.path).swap_bytes
        return replace(super().inside(), swap_bytes=swap)

    def address(self) -> str | None:
        """See Instance.address."""
        return self.own_address or super().address()

    def threads(self) -> Threads:
        """See Instance.threads."""
        return Threads(cgroup=self.process.group.path)
