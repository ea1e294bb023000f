"""The host itself: a chroot into the userland, held by a cgroup to what every stack gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tare.core.errors import Unavailable
from tare.machines import instance, layer
from tare.machines.backends import tree
from tare.machines.cgroup import cgroup
from tare.machines.instance import Threads
from tare.machines.machine import Inner, Machine, check
from tare.machines.network import netns, rate

if TYPE_CHECKING:
    from tare.machines.userland import Userland


@dataclass(frozen=True, kw_only=True)
class Layer(layer.Layer):
    """No virtualization at all: the baseline.

    ``network: cable`` gives it a network namespace of its own at the end of a virtual cable: what
    a container's network costs, without the container.
    """

    network: Literal["host", "cable"] = "host"

    nominal_start_s = 0.0

    def needs(self) -> tuple[str, ...]:
        """See Layer.needs."""
        return (*self.packages, *(["iproute2"] if self.network == "cable" else []))

    def probe(self, outer: Machine, userland: Userland | None) -> Mapping[str, str]:
        """See Layer.probe."""
        del userland
        if outer.run(["test", "-w", "/sys/fs/cgroup"]).returncode != 0:
            raise Unavailable(f"cgroups cannot be made on {outer.name}", "run Tare as root")
        version = "test -f /sys/fs/cgroup/cgroup.controllers"
        is_v2 = outer.run(["sh", "-c", version]).returncode == 0
        return {"host.cgroup": "v2" if is_v2 else "v1"}

    def detected_as(self) -> tuple[str, ...]:
        """See Layer.detected_as.

        Without the right to see other processes' root, a chroot is not visible.
        """
        return ("chroot", "")

    def no_link(self) -> str:
        """See Layer.no_link."""
        return "" if self.network == "cable" else f"{super().no_link()}; give it `network: cable`"

    def create(self, outer: Machine, site: layer.Site) -> Instance:
        """See Layer.create."""
        cable = netns.make(outer, site) if self.network == "cable" else None
        return Instance(outer, site, cable)


class Instance(instance.Instance):
    """A mounted tree and a cgroup; there is nothing to start."""

    def __init__(
        self, outer: Machine, site: layer.Site, cable: netns.Namespace | None = None
    ) -> None:
        folder = tree.writable(outer, site, kernel=True)
        path = f"tare/{site.name}"
        self.group = cgroup.make(outer, path, site.scope, cpuset=site.cpuset, limits=site.limits)
        own = ["nsenter", f"--net={cable.path}"] if cable else []
        chroot = [*own, "env", "-i", *tree.ENVIRONMENT, "chroot", f"{folder}/root"]
        # A cgroup or a network link made in a chroot is the outer machine's, and outlives it.
        self.machine = Inner(
            outer,
            "chroot",
            lambda argv: self.group.enter_argv([*chroot, *argv]),
            ephemeral=outer.ephemeral,
        )
        self.cpuset, self.files_at = site.cpuset, folder
        self.cable = cable
        if cable is not None:
            device = cable.device
            self.rates = rate.LinkRates(outer, site, lambda: device)

    def start(self) -> None:
        """See Instance.start."""

    def ready(self) -> None:
        """See Instance.ready."""
        check(self.machine, ["true"])

    def pause(self) -> None:
        """See Instance.pause: background processes are frozen."""
        self.group.freeze()

    def resume(self) -> None:
        """See Instance.resume."""
        self.group.thaw()

    def address(self) -> str | None:
        """See Instance.address."""
        return self.cable.address if self.cable else None

    def threads(self) -> Threads:
        """See Instance.threads."""
        return Threads(cgroup=self.group.path)
