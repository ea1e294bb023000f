"""Read files in a machine through a perl process that stays there and answers over a pipe.

It is a perl, which every userland has. Asked, it reads without a process or a shell, and answers;
it ends with the pipe, and so with Tare, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO, Protocol

from tare.machines.machine import Machine

START_S = 30.0
"""In guests of guests a command takes seconds."""
ANSWER_S = 5.0
"""An answer that takes longer says nothing about any one moment."""
MOST_BYTES, MOST_CPU_US = 2**22, 2**53
MOST_SAID = 300
SCRIPT = r"""
use POSIX ();
$| = 1;
my $sys = shift;
for (glob("$sys/block/*/device $sys/class/net/*/device")) {
    print "$1 $2\n" if m{/(block|net)/([^/]+)/device$};
}
print "ready\n";
my @files = map { my $file; open($file, "<", $_) ? $file : "$!" } @ARGV;
while (sysread(STDIN, my $asked, 1)) {
    my $answer = "";
    for my $file (@files) {
        my ($content, $got) = ("", 1);
        if (!ref $file) { $answer .= "! $file\n"; next }
        sysseek($file, 0, 0) or $got = undef;
        $got = sysread($file, $content, 65536, length $content) while $got;
        $answer .= defined $got ? length($content) . "\n$content" : "! $!\n";
    }
    $answer .= "cpu " . POSIX::clock() . "\n";
    syswrite(STDOUT, $answer) == length $answer or last;
}
"""
"""A byte in is an answer out: of every file its length and content, or ``!`` and why not; then the
microseconds of CPU time that it has had itself. Before, it names what has hardware behind it."""


class Awaiting(Protocol):
    """The receiver of a reader's next answer."""

    def complete(self) -> None:
        """Wait for the outstanding answer, if any."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One reading of all files, as bytes or as the reason why there are none.

    ``at_s`` is by the host's monotonic clock, halfway through the ``took_s`` from asking to answer;
    ``cpu_s`` is the CPU time that the reader has had until then, by the kernel inside.
    """

    at_s: float
    took_s: float
    cpu_s: float
    contents: tuple[bytes | str, ...]


class Reader:
    """A process in a machine that reads files there when it is asked, from ``start`` to ``close``.

    ``paths`` are those files, and below ``root`` is /sys there. ``disks`` and ``links`` are the
    names of those with hardware behind them, real or virtual. ``reason`` says why it answers no
    more; such a one is not started anew: its instance is dead and will be replaced, or would end
    the next one too. ``cost_s`` is the CPU time that listening to it took on the host.
    """

    def __init__(
        self,
        machine: Machine,
        paths: Sequence[Path],
        root: Path,
        start_s: float = START_S,
        answer_s: float = ANSWER_S,
    ) -> None:
        self._machine, self._paths, self.root = machine, paths, root
        self._start_s, self._answer_s = start_s, answer_s
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        self._asked_s: float | None = None
        self.disks: set[bytes] = set()
        self.links: set[bytes] = set()
        self.reason = ""
        self.cost_s = 0.0
        self.listener: Awaiting | None = None

    def start(self) -> None:
        """Start it unless it was, and let it answer once, which takes it longest."""
        if self._process is not None or self.reason:
            return
        paths = [str(path) for path in (self.root / "sys", *self._paths)]
        argv = self._machine.host_argv(["env", "LC_ALL=C", "perl", "-e", SCRIPT, *paths])
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # an interrupt is Tare's to handle
            )
        except OSError as error:
            self.reason = f"no reader could be started: {error}"
            return
        Thread(target=self._listen, args=(self._process,), name="inside", daemon=True).start()
        self.ask()
        if self.answer(self._start_s) is None:
            self.close(f"no reader was up inside within {self._start_s:.0f} s")

    def ask(self) -> None:
        """Request a reading, unless one is outstanding."""
        if self._asked_s is not None or self.reason or self._process is None:
            return
        self._asked_s = time.monotonic()
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        with contextlib.suppress(OSError):  # it has ended: the next answer says why
            os.write(self._process.stdin.fileno(), b"?")

    @property
    def owes(self) -> bool:
        """Whether an answer is outstanding."""
        return self._asked_s is not None

    @property
    def is_late(self) -> bool:
        """Whether the outstanding answer is overdue."""
        return self._asked_s is not None and time.monotonic() - self._asked_s > self._answer_s

    def answer(self, within_s: float | None = None) -> Answer | None:
        """Wait for the outstanding answer; None if it ends, or has none in time."""
        within_s = self._answer_s if within_s is None else within_s
        try:
            # What was said before it ended is still there; after that nothing comes.
            answer = self._answers.get(timeout=0 if self.reason else within_s)
        except queue.Empty:
            return None
        self._asked_s = None
        return answer

    def close(self, reason: str = "its instance was removed") -> None:
        """End it, whether it answers or not; safe to call twice.

        Without its pipe it ends by itself, and if its machine is paused, then with that.
        """
        self.reason = self.reason or reason
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        with process.stdout as out:
            try:
                self._greet(out)
                while True:
                    self._answers.put(self._receive(out))
                    self.cost_s = time.thread_time()
            except (ValueError, OSError) as error:
                self.reason = self.reason or f"the reader inside {error}"
        self._answers.put(None)

    def _greet(self, out: IO[bytes]) -> None:
        """Read what comes before the first answer; other programs may print something too."""
        said = b""
        while (line := out.readline(MOST_SAID)) != b"ready\n":
            if not line:
                printed = said.decode(errors="replace").strip()
                raise ValueError(f"did not begin: {printed or 'it printed nothing'}")
            kind, _, name = line.rstrip(b"\n").partition(b" ")
            if kind in (b"block", b"net"):
                (self.disks if kind == b"block" else self.links).add(name)
            else:
                said = (said + line)[-MOST_SAID:]

    def _receive(self, out: IO[bytes]) -> Answer:
        contents = tuple(_content(out, path) for path in self._paths)
        cpu_s = _number(_line(out).removeprefix(b"cpu "), MOST_CPU_US) / 1e6
        now_s, asked_s = time.monotonic(), self._asked_s
        if asked_s is None:
            raise ValueError("answered without being asked")
        return Answer((asked_s + now_s) / 2, now_s - asked_s, cpu_s, contents)


def _content(out: IO[bytes], path: Path) -> bytes | str:
    head = _line(out)
    if head.startswith(b"! "):
        return f"{path}: {head[2:].decode(errors='replace')}"
    size = _number(head, MOST_BYTES)
    content = out.read(size)
    if len(content) < size:
        raise ValueError("ended")
    return content


def _line(out: IO[bytes]) -> bytes:
    line = out.readline(MOST_SAID)
    if not line:
        raise ValueError("ended")
    return line.rstrip(b"\n")


def _number(said: bytes, most: int) -> int:
    if not said.isdigit() or int(said) > most:
        raise ValueError(f"printed what is not understood: {said!r}")
    return int(said)
