"""Find a free port on the machine where a server will listen."""

from __future__ import annotations

import random
import re
from collections.abc import Collection

from tare.core.errors import LayerError, Unavailable
from tare.machines.machine import Machine

PORTS = range(10000, 32768)
"""Below those that Linux gives to programs that connect: a load takes thousands of them."""
TABLES = tuple(f"/proc/net/{protocol}{of}" for protocol in ("tcp", "udp") for of in ("", "6"))
AT_ONCE, TRIES, ASK_S = 16, 4, 20.0
# As proc_net(5) writes a socket: its number, then the local address and port in hexadecimal. Only
# what was asked for is printed: after a load the tables hold thousands of connections.
LOCAL = "^ *[0-9]+: [0-9A-F]+:({}) "


def free_port(machine: Machine, taken: Collection[int] = (), among: Collection[int] = PORTS) -> int:
    """Find a port of a machine that no socket there has, of TCP or of UDP, in any state.

    ``taken`` are ports that were chosen and are not used yet. Raises LayerError where the machine
    does not answer, Unavailable where every port that was tried is taken.
    """
    left = [port for port in among if port not in taken]
    for _ in range(TRIES):
        tried = random.sample(left, min(AT_ONCE, len(left)))
        pattern = LOCAL.format("|".join(f"{port:04X}" for port in tried))
        done = machine.run(["grep", "-Eohs", pattern, *TABLES], timeout_s=ASK_S)
        if done.timed_out:
            raise LayerError(f"{machine.name} did not say within {ASK_S:g} s which ports are free")
        found = re.findall(rb":([0-9A-F]{4}) ", done.stdout)
        in_use = {int(port, 16) for port in found}
        free = [port for port in tried if port not in in_use]
        if free:
            return free[0]
    raise Unavailable(
        f"{machine.name} has no free port: {TRIES * AT_ONCE} of {min(among)} to {max(among)} were "
        "tried",
        "end what listens there",
    )
