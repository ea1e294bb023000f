"""Start a helper program such as a server, wait until it is ready, pause or end it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from tare.core.completed import tail_of
from tare.core.errors import LayerError, LayerTimedOut, Unavailable
from tare.machines.ledger import Ledger, LedgerEntry
from tare.machines.machine import NOT_FOUND, Machine
from tare.work.roles import Role

WRITE = r"""
set -eu
mkdir -p "$0"
cd "$0"
while [ $# -gt 0 ]; do
    case $1 in */*) mkdir -p "./${1%/*}" ;; esac
    printf %s "$2" > "./$1"
    shift 2
done
"""
WRITE_LARGE = r"""
set -eu
cd "$0"
case $1 in */*) mkdir -p "./${1%/*}" ;; esac
cat > "./$1"
"""
LARGE = 2**15
"""Of characters: what all words of a command may hold together, each four bytes and quoted at most.

Linux takes 128 KiB in a word, and over ssh a whole command is one.
"""
# Made under another name first: what was cut short is no snapshot. Roles that share one wait for
# it. What is in the page cache is written before the trial: it would be the trial's disk otherwise.
SNAPSHOT = r"""
set -u
exec 9> "$0.lock"
flock 9
[ ! -d "$0" ] || exit 0
rm -rf "$0.new"
mkdir "$0.new" && cd "$0.new" || exit 1
env LC_ALL=C "$@" 9>&- < /dev/null
status=$?
[ $status = 0 ] && sync -f . && cd / && mv "$0.new" "$0" && exit
cd / && rm -rf "$0.new"
[ $status != 0 ] || status=1
exit $status
"""
COPY = 'mkdir -p "$1" && cp -a --reflink=auto "$0/." "$1" && sync -f "$1"'
SAID = 'cd "$0" && { tail -qc 200 service.log ready.log 2> /dev/null; true; }'
# A pid may be reused by another process: its start time distinguishes them.
LIVES = r"""
born() { sed 's/.*) //' "/proc/$1/stat" 2> /dev/null | cut -d ' ' -f 20; }
lives() { [ -n "$2" ] && [ "$(born "$1")" = "$2" ] && ! grep -qs '^State:.Z' "/proc/$1/status"; }
"""
# No file of it may grow beyond half of what is free where its output goes (ulimit: in 512 bytes),
# so the kernel refuses what is printed without end, and nobody has to read along. A signal that is
# ignored stays so in what is executed: the write fails, as on a full disk, and nothing is killed.
# A file system without a size says that nothing is free.
BOUND = r"""
trap '' XFSZ
free=$(df -Pk . 2> /dev/null | { read -r _; read -r _ _ _ free _ && echo "$free"; })
[ "${free:-0}" -gt 0 ] 2> /dev/null && ulimit -f "$free" 2> /dev/null
"""
# setsid and no open streams: it must outlive the command that starts it. What the words begin with
# is the command that says whether it is ready, after its number of words; there is no event to wait
# for. What that printed last is kept while it runs again.
START = f"""{LIVES}
cd "$0" || exit 1
{BOUND}
{{ shift "$(($1 + 1))"; exec setsid "$@"; }} > service.log 2>&1 < /dev/null &
pid=$!
birth=$(born $pid)
echo "$pid $birth" > service.pid
is_ready() {{
    count=$1 n=0
    shift
    for word in "$@"; do
        [ $n -gt 0 ] || set --
        n=$((n + 1))
        [ $n -gt "$count" ] || set -- "$@" "$word"
    done
    "$@" > ready.next 2>&1 < /dev/null
    status=$?
    [ ! -s ready.next ] || mv ready.next ready.log
    return $status
}}
tries=0
while lives $pid "$birth"; do
    is_ready "$@"
    case $? in
        0)
            lives $pid "$birth" && exit 0
            break
            ;;
        126 | 127) tail -n 5 ready.log && exit 127 ;;
    esac
    tries=$((tries + 1))
    [ $tries -lt 250 ] && sleep 0.02 || sleep 0.2
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
cd "$0" 2> /dev/null || exit 1
status=1 pid= birth=
[ ! -e service.pid ] || read -r pid birth < service.pid
if lives "$pid" "$birth"; then
    status=0
    kill -TERM "$pid" 2> /dev/null
    kill -CONT "-$pid" 2> /dev/null
    tries=0
    while lives "$pid" "$birth" && [ $tries -lt 250 ]; do tries=$((tries + 1)); sleep 0.02; done
fi
now=$(born "$pid")
[ -z "$pid" ] || {{ [ -n "$now" ] && [ "$now" != "$birth" ]; }} || kill -KILL "-$pid" 2> /dev/null
tail -c 300 service.log 2> /dev/null
cd / && rm -rf --one-file-system "$0"
exit $status
"""
# As a ledger wants it: what is gone is removed.
STOP_AND_ANSWER = f"( {STOP} )\n[ $? -le 1 ]"
# It is paused while others are measured. The signal goes to its whole process group.
TELL = f"""{LIVES}
cd "$0" 2> /dev/null && read -r pid birth 2> /dev/null < service.pid || exit 1
lives "$pid" "$birth" && kill "-$1" "-$pid"
"""


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """How a program ended: whether it ran until it was ended, and its last output."""

    lived: bool
    said: str


def snapshot_of(role: Role, directory: str) -> str:
    """Return the directory of a role's snapshot, next to its own: equal words have the same."""
    words = json.dumps(list(role.snapshot or ()))
    named = sha256(words.encode()).hexdigest()[:12]
    return f"{directory.rpartition('/')[0]}/snapshot-{named}"


class Server:
    """A role's program in a directory of a machine, from ``start`` until ``end``.

    ``fill`` puts addresses and ports into its words; its own ``ports`` are by what they are named.
    Where ``ledger`` is given nothing else would end it, and it is written there before it is made.
    """

    def __init__(  # noqa: PLR0913 - the program, its machine, and its ledger
        self,
        role: Role,
        machine: Machine,
        directory: str,
        fill: Callable[[str], str],
        ports: Mapping[str, int],
        ledger: Ledger | None = None,
    ) -> None:
        self.role, self.ports = role, ports
        self.files = {name: fill(text) for name, text in role.files.items()}
        self.setup = [fill(word) for word in role.setup or ()]
        self.command = [fill(word) for word in role.command]
        self._check = [fill(word) for word in role.ready.check(ports.get("port", 0))]
        self._snapshot = snapshot_of(role, directory)
        self._machine, self._directory, self._ledger = machine, directory, ledger
        self._entry: LedgerEntry | None = None
        self._ended: ProgramEnd | None = None

    def is_same(self, other: Server) -> bool:
        """Return whether another is the same program with the same words."""
        mine, theirs = ((one.files, one.setup, one.command) for one in (self, other))
        return mine == theirs

    @property
    def is_apart(self) -> bool:
        """Whether it outlives the instance that it is of, unless it is ended."""
        return self._ledger is not None

    def start(self) -> None:
        """Write its files, set it up, start it and wait until it is ready.

        Raises LayerError if it cannot be started, LayerTimedOut if it does not get ready,
        Unavailable where the machine lacks the program. Nothing of it stays then.
        """
        role = self.role
        if self._ledger is not None:
            stop = ["sh", "-c", STOP_AND_ANSWER, self._directory]
            self._entry = self._ledger.about_to_make(
                "program", self._directory, self._machine, stop
            )
        try:
            self._copy()
            self._write()
            if self.setup:
                setup = ["env", "-C", self._directory, "LC_ALL=C", *self.setup]
                self._do(setup, self.setup[0])
            check = [str(len(self._check)), *self._check]
            command = ["env", "LC_ALL=C", *self.command]
            self._do(["sh", "-c", START, self._directory, *check, *command], role.command[0])
        except BaseException:
            self.end()
            raise

    def lives(self) -> bool:
        """Return whether it still runs."""
        return self._tell("0")

    def pause(self) -> bool:
        """Pause it; returns whether it still ran."""
        return self._tell("STOP")

    def resume(self) -> bool:
        """Undo pause; returns whether it still runs."""
        return self._tell("CONT")

    def end(self) -> ProgramEnd:
        """End it, if it has not ended, and remove its directory; works twice."""
        if self._ended is None:
            done = self._machine.run(["sh", "-c", STOP, self._directory])
            said = done.stdout.decode(errors="replace").strip()
            self._ended = ProgramEnd(done.returncode == 0, said)
            if self._entry is not None and self._ledger is not None and done.returncode in (0, 1):
                self._ledger.forget(self._entry)
        return self._ended

    def _copy(self) -> None:
        """Copy its snapshot into its directory; the first of an instance makes it."""
        role, snapshot = self.role, self._snapshot
        if role.snapshot is None:
            return
        what = "its snapshot"
        make = ["sh", "-c", SNAPSHOT, snapshot, *role.snapshot]
        self._do(make, what, timeout_s=role.snapshot_s)
        self._do(["sh", "-c", COPY, snapshot, self._directory], what)

    def _write(self) -> None:
        """Write its files: all at once, but for those that no command's words can hold."""
        room, words, large = LARGE, list[str](), dict[str, str]()
        for name, text in self.files.items():
            if len(text) <= room:
                room -= len(text)
                words += [name, text]
            else:
                large[name] = text
        self._do(["sh", "-c", WRITE, self._directory, *words], "its files")
        for name, text in large.items():
            self._do(["sh", "-c", WRITE_LARGE, self._directory, name], "its files", text.encode())

    def _said(self) -> str:
        """Read what it and the command that checks it printed last; nothing if that fails."""
        done = self._machine.run(["sh", "-c", SAID, self._directory])
        return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""

    def _tell(self, signal: str) -> bool:
        return self._machine.run(["sh", "-c", TELL, self._directory, signal]).returncode == 0

    def _do(
        self, argv: Sequence[str], what: str, stdin: bytes = b"", timeout_s: float | None = None
    ) -> None:
        role = self.role
        most_s = role.ready_s if timeout_s is None else timeout_s
        done = self._machine.run(argv, stdin=stdin, timeout_s=most_s)
        why = tail_of(done.stderr + done.stdout)
        if done.timed_out:
            said = self._said()
            raise LayerTimedOut(
                f"the role {role.name} ({what}) was not ready within {most_s:g} s"
                + (f"; it said: {said}" if said else "")
            )
        if done.returncode in (NOT_FOUND, 126):
            raise Unavailable(
                f"the role {role.name} ({what}): {why}; {self._machine.name} lacks the tool"
            )
        if done.returncode != 0:
            raise LayerError(
                f"the role {role.name} ({what}) ended at once: {why or 'it printed nothing'}"
            )
