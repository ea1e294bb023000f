"""A command line for the API of vCenter and ESXi: ``python -m tare.machines.backends.vsphere``.

A layer runs commands, and what it made is removed by a command, perhaps days later by ``tare
clean``; vSphere has an API instead. A verb here is one login, one call, and the wait for its end.
There are no deadlines: the caller of the command has one. The password comes from a file, so that
neither a list of processes nor a ledger shows it.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version

from tare.core.completed import tail_of
from tare.core.errors import (
    CommandFailed,
    CommandTimedOut,
    LayerError,
    LayerTimedOut,
    Unavailable,
)
from tare.machines.backends import vsphere_api as api
from tare.machines.machine import Host, Machine, text

ASK_S = 60.0
SILENCE_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Server:
    """Address and login of a vCenter or ESXi; ``ca_file`` is for a private certificate."""

    host: str = ""
    user: str = ""
    password_file: str = ""
    port: int = 443
    verify: bool = True
    ca_file: str = ""

    def __post_init__(self) -> None:
        """Refuse a server that nobody can be at."""
        for name in ("host", "user", "password_file"):
            if not getattr(self, name):
                raise ValueError(f"{name} is missing; expected that of a vCenter or ESXi")

    def argv(self, verb: str, *arguments: str) -> list[str]:
        """Build the command that does a verb; -P keeps the current folder out of the imports."""
        trust = [f"--ca-file={self.ca_file}"] if self.ca_file else []
        return [
            sys.executable, "-P", "-m", "tare.machines.backends.vsphere", f"--host={self.host}",
            f"--port={self.port}", f"--user={self.user}", f"--password-file={self.password_file}",
            *(trust if self.verify else ["--no-verify"]), verb, *arguments,
        ]  # fmt: skip

    def ask(self, machine: Machine, timeout_s: float, verb: str, *arguments: str) -> str:
        """Run a verb and return its output, or raise LayerError."""
        what = " ".join(["vsphere", verb, *arguments[:2]])
        try:
            return text(machine, self.argv(verb, *arguments), timeout_s=timeout_s)
        except CommandTimedOut as error:
            hint = "; do VMware Tools run in it?" if verb == "address" else ""
            raise LayerTimedOut(f"{what}: no end within {timeout_s:.0f} s{hint}") from error
        except CommandFailed as error:
            why = tail_of(error.completed.stderr)
            raise LayerError(f"{what}: {why or error}") from error


def client_version(machine: Machine) -> str:
    """Return the version of what calls the API from a machine, or raise Unavailable."""
    if not isinstance(machine, Host):
        raise Unavailable(
            f"the vSphere API is called from where Tare runs, not from {machine.name}",
            "put vsphere first in the stack: host/vsphere",
        )
    try:
        return f"pyvmomi {version('pyvmomi')}"
    except PackageNotFoundError:
        raise Unavailable("pyvmomi is not installed", "pip install 'tare[vsphere]'") from None


def usable(server: Server, machine: Machine, *, clones: bool) -> Mapping[str, str]:
    """Return what answers and what calls it, or raise Unavailable."""
    client = client_version(machine)
    try:
        kind, _, product = server.ask(machine, ASK_S, "about").partition(" ")
    except LayerError as error:
        raise Unavailable(str(error), "see docs/how-to/use-vsphere.md") from error
    if clones and kind != "VirtualCenter":
        raise Unavailable(f"{server.host} is no vCenter; ESXi cannot clone", "name an existing vm")
    return {"vsphere.server": product, "vsphere.client": client}


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="tare.machines.backends.vsphere", allow_abbrev=False)
    for name in ("host", "user", "password-file"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--port", type=int, default=443)
    parser.add_argument("--ca-file", default="")
    parser.add_argument("--no-verify", dest="verify", action="store_false")
    verbs = parser.add_subparsers(required=True)
    verbs.add_parser("about").set_defaults(do=api.about)
    for do in api.VERBS:
        verb = verbs.add_parser(do.__name__.replace("_", "-"))
        verb.add_argument("name")
        verb.set_defaults(do=do)
    for do in (api.clone, api.destroy):
        verb = verbs.add_parser(do.__name__)
        verb.add_argument("source")
        verb.add_argument("name")
        verb.set_defaults(do=do)
    verb = verbs.choices["clone"]
    verb.add_argument("--cpus", type=int, required=True)
    verb.add_argument("--memory-mib", type=int, required=True)
    verb.add_argument("--pool", default="")
    verb.add_argument("--datastore", default="")
    verb.add_argument("--extra", type=json.loads, default={})
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb; errors are printed on stderr."""
    given = parsed(argv)
    socket.setdefaulttimeout(SILENCE_S)  # pyVmomi's first look at a server has no timeout
    server = Server(**{one.name: getattr(given, one.name) for one in fields(Server)})
    try:
        client_version(Host())
        from pyVmomi import vmodl

        try:
            session = api.Session(server)
            try:
                sys.stdout.write(given.do(session, given))
            finally:
                with contextlib.suppress(OSError, http.client.HTTPException):
                    session.close()  # it ends by itself too, and what failed first is the news
        except vmodl.MethodFault as fault:
            raise LayerError(api.said(fault)) from fault
        except (OSError, http.client.HTTPException) as error:
            raise LayerError(f"the connection failed: {error or type(error).__name__}") from error
    except (LayerError, Unavailable) as error:
        sys.stderr.write(f"{given.user} at {given.host}:{given.port}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
