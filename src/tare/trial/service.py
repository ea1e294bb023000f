"""The half of a workload that answers: written, started, awaited before a trial, ended after it."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from tare.errors import LayerError, LayerTimedOut, Unavailable
from tare.machine import NOT_FOUND, Machine
from tare.workload import DATA_PORT, PORT, SERVER, Service

READY_S = 60.0
"""A server that takes longer than this to listen, under emulation too, will not."""
WRITE = r"""
set -eu
mkdir -p "$0"
cd "$0"
while [ $# -gt 0 ]; do printf %s "$2" > "$1"; shift 2; done
"""
# Who has a pid now may be another than who had it: the moment of its birth tells them apart.
LIVES = r"""
born() { sed 's/.*) //' "/proc/$1/stat" 2> /dev/null | cut -d ' ' -f 20; }
lives() { [ -n "$2" ] && [ "$(born "$1")" = "$2" ] && ! grep -qs '^State:.Z' "/proc/$1/status"; }
"""
# setsid and no open streams: it must outlive the command that starts it. The kernel gives no event
# for a socket that begins to listen; 0A is LISTEN of TCP, 07 an UDP socket that is bound.
START = f"""{LIVES}
cd "$0" || exit 1
protocol=$1 state=$2 port=$3
shift 3
setsid "$@" > service.log 2>&1 < /dev/null &
pid=$!
birth=$(born $pid)
echo "$pid $birth" > service.pid
while lives $pid "$birth"; do
    if grep -Eqs ": [0-9A-F]+:$port [0-9A-F]+:[0-9A-F]+ $state " \\
        "/proc/net/$protocol" "/proc/net/${{protocol}}6"; then
        lives $pid "$birth" && exit 0
        break
    fi
    sleep 0.02
done
wait $pid
status=$?
tail -n 5 service.log
[ $status = 127 ] || status=3
exit $status
"""
# In order first; whatever is left of its process group after five seconds is killed. The status
# says whether it still ran; its directory goes, so that the next trial begins without it.
STOP = f"""{LIVES}
cd "$0" 2> /dev/null && read -r pid birth 2> /dev/null < service.pid || exit 1
status=1
if lives "$pid" "$birth"; then
    status=0
    kill -TERM "$pid" 2> /dev/null
    tries=0
    while lives "$pid" "$birth" && [ $tries -lt 250 ]; do tries=$((tries + 1)); sleep 0.02; done
fi
now=$(born "$pid")
[ -n "$now" ] && [ "$now" != "$birth" ] || kill -KILL "-$pid" 2> /dev/null
tail -c 300 service.log
cd / && rm -rf "$0"
exit $status
"""
STATES = {"tcp": "0A", "udp": "07"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a service answers: an IPv4 address and two ports, that of the service first."""

    address: str
    ports: tuple[int, int]

    def fill(self, words: Sequence[str]) -> list[str]:
        """Put the address and the ports where words leave room for them."""
        return [self.fill_text(word) for word in words]

    def fill_text(self, text: str) -> str:
        """Put the address and the ports where a text leaves room for them."""
        port, data_port = map(str, self.ports)
        text = text.replace(SERVER, self.address)
        return text.replace(PORT, port).replace(DATA_PORT, data_port)


def free_ports() -> tuple[int, int]:
    """Find two ports that are free on this host, for TCP and for UDP."""
    found: list[int] = []
    while len(found) < 2:
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            tcp.bind(("", 0))
            port = tcp.getsockname()[1]
            with suppress(OSError):  # taken for UDP only: another try
                udp.bind(("", port))
                found += [port] if port not in found else []
    return found[0], found[1]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a service ended: whether it ran until it was ended, and the last that it printed."""

    lived: bool
    said: str


class Server:
    """A service that is up in a directory of a machine, until ``end``."""

    def __init__(self, machine: Machine, directory: str) -> None:
        self._machine, self._directory = machine, directory
        self._ended: Ended | None = None

    def end(self) -> Ended:
        """End it, if it has not ended, and remove its directory; works twice."""
        if self._ended is None:
            done = self._machine.run(["sh", "-c", STOP, self._directory])
            said = done.stdout.decode(errors="replace").strip()
            self._ended = Ended(done.returncode == 0, said)
        return self._ended


@contextmanager
def serving(
    machine: Machine, service: Service, endpoint: Endpoint, directory: str
) -> Iterator[Server]:
    """Keep a service up in a directory of a machine.

    Raises LayerError if it cannot be started, Unavailable where the machine lacks the program.
    """
    files = [part for name, text in service.files.items() for part in (name, text)]
    _do(machine, ["sh", "-c", WRITE, directory, *map(endpoint.fill_text, files)], "its files")
    if service.setup is not None:
        setup = ["env", "-C", directory, "LC_ALL=C", *endpoint.fill(service.setup)]
        _do(machine, setup, service.setup[0])
    port, state = f"{endpoint.ports[0]:04X}", STATES[service.protocol]
    command = ["env", "LC_ALL=C", *endpoint.fill(service.command)]
    start = ["sh", "-c", START, directory, service.protocol, state, port, *command]
    server = Server(machine, directory)
    try:
        _do(machine, start, service.command[0])
        yield server
    finally:
        server.end()


def _do(machine: Machine, argv: Sequence[str], what: str) -> None:
    done = machine.run(argv, timeout_s=READY_S)
    why = (done.stderr + done.stdout).decode(errors="replace").strip()[-300:]
    if done.timed_out:
        raise LayerTimedOut(f"the service ({what}) was not ready within {READY_S:.0f} s")
    if done.returncode in (NOT_FOUND, 126):
        raise Unavailable(f"the service ({what}): {why}; {machine.name} lacks the tool")
    if done.returncode != 0:
        raise LayerError(f"the service ({what}) ended at once: {why or 'it printed nothing'}")
