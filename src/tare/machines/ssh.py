"""Build OpenSSH commands: one connection, kept open, independent of the user's configuration."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from tare.core.errors import CommandFailed, LayerError
from tare.machines.machine import Machine, check

OPTIONS = (
    "-F", "/dev/null", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no",
    "-o", "UserKnownHostsFile=/dev/null", "-o", "GlobalKnownHostsFile=/dev/null",
    "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=30",
)  # fmt: skip
HANG_UP = (
    '! ssh -F /dev/null -S "$0" -O check tare 2> /dev/null || ssh -F /dev/null -S "$0" -O exit tare'
)


NO_CONNECTION = 255
"""The status of an OpenSSH client that could not connect, or lost its connection."""


def target(argv: Sequence[str]) -> tuple[str, ...]:
    """Return port, user and address in a command of ``wrap``; nothing for any other."""
    if argv[:1] != ["ssh"] or "--" not in argv:
        return ()
    end = argv.index("--")
    return tuple(argv[end - 5 : end])


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection to a machine's sshd; ``control`` is the path of its socket."""

    user: str
    address: str
    port: int
    key: str
    control: str

    def _argv(self) -> list[str]:
        identity = ["-i", self.key, "-o", "IdentitiesOnly=yes"] if self.key else []
        target = ["-p", str(self.port), "-l", self.user, self.address]
        return ["ssh", *OPTIONS, *identity, "-S", self.control, *target]

    def open(self, outer: Machine, timeout_s: float) -> None:
        """Connect once; every command then goes through that connection, or raise LayerError."""
        master = ["-o", "ControlMaster=yes", "-o", "ControlPersist=yes", "true"]
        argv = self._argv()
        try:
            check(outer, [*argv[:1], *master[:-1], *argv[1:], "--", "true"], timeout_s=timeout_s)
        except CommandFailed as error:
            raise LayerError(
                f"no ssh from {outer.name} to {self.user}@{self.address}:{self.port}: {error}"
            ) from error

    def wrap(self, argv: Sequence[str]) -> list[str]:
        """Build the command that runs argv over there; sshd's shell takes the words apart again.

        That shell must outlive the command: of one that died of a signal ssh says only 255.
        """
        return [*self._argv(), "--", f"{shlex.join(argv)}; exit $?"]

    def shell_argv(self, command: Sequence[str]) -> list[str]:
        """Build the command that runs one over there for a person: a login shell unless given."""
        argv = self._argv()
        terminal = ["-t"] if not command else []
        return [*argv[:1], *terminal, *argv[1:], *(["--", shlex.join(command)] if command else [])]

    def hang_up_argv(self) -> list[str]:
        """Build the command that ends the connection; it succeeds where there is none."""
        return ["sh", "-c", HANG_UP, self.control]
