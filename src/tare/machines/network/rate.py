"""Hold an instance's link to rates in both directions, at the outer machine's end of it.

What leaves by that end goes to the instance, and waits in a queue of HTB (tc-htb(8)). What comes in
by it cannot wait there: it is led through an intermediate device (ifb) that has such a queue.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tare.core.completed import tail_of
from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.core.model.cell import NETWORK
from tare.machines.instance import NO_LIMIT
from tare.machines.machine import NOT_FOUND, Machine, text
from tare.machines.network import link

if TYPE_CHECKING:
    from tare.machines.layer import Site
    from tare.machines.ledger import LedgerEntry

OUT, IN = NETWORK
_NOT_OFFERED = 3

# By its number a queue is known as Tare's. One quantum is of no account with a single class, but
# the one that is computed from the rate is warned of. An ifb has room for 32 packets otherwise.
APPLY = rf"""
device=$0 ifb=$1 out=$2 in=$3
command -v tc > /dev/null || exit {NOT_FOUND}
hold() {{
    tc qdisc show dev "$1" root | grep -q 'htb 7a7e:' ||
        tc qdisc add dev "$1" root handle 7a7e: htb default 1 || exit {_NOT_OFFERED}
    tc class replace dev "$1" parent 7a7e: classid 7a7e:1 htb rate "${{2}}bps" quantum 60000 ||
        exit 1
}}
case $in in
"") ;;
none) ! tc qdisc show dev "$device" root | grep -q 'htb 7a7e:' || tc qdisc del dev "$device" root ||
    exit 1 ;;
*) hold "$device" "$in" ;;
esac
led() {{ tc filter show dev "$device" parent ffff: 2> /dev/null | grep -qF "to device $ifb)"; }}
case $out in
"") ;;
none)
    ! led || tc qdisc del dev "$device" ingress || exit 1
    ! ip link show dev "$ifb" > /dev/null 2>&1 || ip link delete dev "$ifb" || exit 1 ;;
*)
    ip link show dev "$ifb" > /dev/null 2>&1 ||
        ip link add "$ifb" txqueuelen 1000 type ifb || exit {_NOT_OFFERED}
    ip link set dev "$ifb" up || exit 1
    hold "$ifb" "$out"
    led && exit 0
    tc qdisc add dev "$device" handle ffff: ingress || exit {_NOT_OFFERED}
    tc filter add dev "$device" parent ffff: protocol all u32 match u32 0 0 \
        action mirred egress redirect dev "$ifb" ||
        {{ tc qdisc del dev "$device" ingress; exit {_NOT_OFFERED}; }} ;;
esac
"""
# A device that is gone took its queues with it.
UNDO = r"""
ip link show dev "$0" > /dev/null 2>&1 || exit 0
if tc qdisc show dev "$0" root | grep -q 'htb 7a7e:'; then
    tc qdisc del dev "$0" root || exit 1
fi
if tc filter show dev "$0" parent ffff: 2> /dev/null | grep -qF "to device $1)"; then
    tc qdisc del dev "$0" ingress || exit 1
fi
"""
READ = r"""
echo "in $(tc class show dev "$0" 2> /dev/null | grep 'htb 7a7e:1 ')"
tc filter show dev "$0" parent ffff: 2> /dev/null | grep -qF "to device $1)" || exit 0
echo "out $(tc class show dev "$1" 2> /dev/null | grep 'htb 7a7e:1 ')"
"""
_RATE = re.compile(r" rate (\d+)([KMGT]?)bit ")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


@dataclass
class LinkRates:
    """The rates of one instance's link; ``device`` finds the outer machine's end of it.

    That may be another after each start.
    """

    outer: Machine
    site: Site
    device: Callable[[], str]
    _ifb: str = field(default="", init=False)
    _made: dict[str, LedgerEntry] = field(default_factory=dict, init=False)

    def apply(self, values: Mapping[str, str]) -> None:
        """Hold it to rates, or to none, by the limits' names; bytes a second.

        Raises Unavailable where the outer machine cannot do it, LayerError.
        """
        device = self.device()
        if not self._ifb:
            self._ifb = link.device(self.outer, self.site, "i")
        self._record(device)
        given = [values.get(name, "") for name in NETWORK]
        done = self.outer.run(["sh", "-c", APPLY, device, self._ifb, *given])
        if done.returncode == NOT_FOUND:
            raise Unavailable(f"{self.outer.name} has no tc", "apt-get install iproute2")
        if done.returncode:
            why = f"{device} on {self.outer.name} cannot be held: {tail_of(done.stderr)}"
            if done.returncode == _NOT_OFFERED:
                fix = f"a kernel with sch_htb, ifb and act_mirred, or leave out {', '.join(values)}"
                raise Unavailable(why, fix)
            raise LayerError(why)
        if set(values.values()) == {NO_LIMIT} and not self.read():
            self._forget()

    def read(self) -> dict[str, int]:
        """Read back the rates that hold now, by the limits' names, or raise LayerError.

        tc writes four digits of a rate or more, and rounds it down.
        """
        if not self._ifb:
            return {}
        try:
            said = text(self.outer, ["sh", "-c", READ, self.device(), self._ifb])
        except CommandFailed as error:
            raise LayerError(f"no rates of a link of {self.site.name}: {error}") from error
        found = {}
        for line in said.splitlines():
            if rate := _RATE.search(line):
                name = IN if line.startswith("in ") else OUT
                found[name] = int(rate[1]) * 1000 ** _POWERS[rate[2]] // 8
        return found

    def _record(self, device: str) -> None:
        """Record what is about to be made; the queue of a device goes before what it leads to."""
        undo = {
            self._ifb: ("intermediate device", ["sh", "-c", link.REMOVE, self._ifb]),
            device: ("rate of a link", ["sh", "-c", UNDO, device, self._ifb]),
        }
        for name, (what, argv) in undo.items():
            if name not in self._made:
                made = self.site.scope.about_to_make(what, name, self.outer, argv)
                self._made[name] = made

    def _forget(self) -> None:
        for entry in reversed(self._made.values()):
            self.site.scope.remove(entry)
        self._made.clear()


# Of a network namespace only the number of the other end is known, and that is the outer machine's.
PEER = r"""
number=$(nsenter --net="/proc/$0/ns/net" ip -o link show dev eth0 |
    sed -n 's/^[0-9]*: eth0@if\([0-9]*\):.*/\1/p') && [ -n "$number" ] || exit 1
for file in /sys/class/net/*/ifindex; do
    read -r one < "$file"
    [ "$one" != "$number" ] || { at=${file%/ifindex}; echo "${at##*/}"; exit 0; }
done
echo "no device here is number $number, the other end of eth0" >&2
exit 1
"""


def end_of(outer: Machine, pid: str) -> str:
    """Find the outer machine's end of the ``eth0`` of a process, or raise LayerError."""
    try:
        return text(outer, ["sh", "-c", PEER, pid])
    except CommandFailed as error:
        raise LayerError(f"no end of a link to process {pid} on {outer.name}: {error}") from error
