"""The API of vCenter and ESXi as commands, run where Tare runs: ``python -m tare.engines.vsphere``.

A layer runs commands, and what it made is removed by a command, perhaps days later by ``tare
clean``; vSphere has an API instead. A verb here is one login, one call, and the wait for its end.
There are no deadlines: whoever runs the command has one. The password comes from a file, so that
neither a list of processes nor a ledger shows it.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import ipaddress
import json
import operator
import socket
import ssl
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tare.errors import (
    CommandFailed,
    CommandTimedOut,
    LayerError,
    LayerTimedOut,
    Unavailable,
)
from tare.machine import Host, Machine, text

MINE = "tare-"
"""What the names of all clones begin with; nothing else is ever destroyed."""
ASK_S = 60.0
SILENCE_S = 30.0
WAIT_S = 10
"""How long the server may keep a call open that waits for a change; less than SILENCE_S."""
ON, OFF = "poweredOn", "poweredOff"

# pyVmomi makes its classes from the server's description of itself: there are no static types.
Object = Any


@dataclass(frozen=True, kw_only=True)
class Server:
    """A vCenter or ESXi, and who calls it; ``ca_file`` is for a certificate of one's own."""

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
            sys.executable, "-P", "-m", "tare.engines.vsphere", f"--host={self.host}",
            f"--port={self.port}", f"--user={self.user}", f"--password-file={self.password_file}",
            *(trust if self.verify else ["--no-verify"]), verb, *arguments,
        ]  # fmt: skip

    def ask(self, machine: Machine, timeout_s: float, verb: str, *arguments: str) -> str:
        """Do a verb, and give what is said to that, or raise LayerError."""
        what = " ".join(["vsphere", verb, *arguments[:2]])
        try:
            return text(machine, self.argv(verb, *arguments), timeout_s=timeout_s)
        except CommandTimedOut as error:
            hint = "; do VMware Tools run in it?" if verb == "address" else ""
            raise LayerTimedOut(f"{what}: no end within {timeout_s:.0f} s{hint}") from error
        except CommandFailed as error:
            why = error.completed.stderr.decode(errors="replace").strip()[-400:]
            raise LayerError(f"{what}: {why or error}") from error


def client_version(machine: Machine) -> str:
    """Give the version of what calls the API from a machine, or raise Unavailable."""
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
    """Say what answers and what calls it, or raise Unavailable."""
    client = client_version(machine)
    try:
        kind, _, product = server.ask(machine, ASK_S, "about").partition(" ")
    except LayerError as error:
        raise Unavailable(str(error), "see docs/how-to/use-vsphere.md") from error
    if clones and kind != "VirtualCenter":
        raise Unavailable(f"{server.host} is no vCenter; ESXi cannot clone", "name an existing vm")
    return {"vsphere.server": product, "vsphere.client": client}


class Session:
    """A login; ``vim`` are the server's types."""

    def __init__(self, server: Server) -> None:
        from pyVim import connect as untyped
        from pyVmomi import vim

        connect: Object = untyped
        try:
            context = ssl.create_default_context(cafile=server.ca_file or None)
            password = Path(server.password_file).read_text().rstrip("\r\n")
        except OSError as error:
            raise LayerError(f"password_file or ca_file cannot be read: {error}") from error
        if not server.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        self.vim: Object = vim
        self.close: Callable[[], None] = lambda: connect.Disconnect(service)
        service: Object = connect.SmartConnect(
            host=server.host, port=server.port, user=server.user, pwd=password, sslContext=context
        )
        self.content: Object = service.RetrieveContent()

    def named(self, kinds: Sequence[Object], name: str) -> list[Object]:
        """Find what bears a name, or stands at an inventory path such as ``/DC0/vm/debian``."""
        if "/" in name:
            found = self.content.searchIndex.FindByInventoryPath(name)
            return [found] if isinstance(found, tuple(kinds)) else []
        collector = self.vim.PropertyCollector
        view = self.content.viewManager.CreateContainerView(self.content.rootFolder, kinds, True)
        traverse = collector.TraversalSpec(path="view", type=type(view), skip=False)
        spec = collector.FilterSpec(
            objectSet=[collector.ObjectSpec(obj=view, skip=True, selectSet=[traverse])],
            propSet=[collector.PropertySpec(type=kind, pathSet=["name"]) for kind in kinds],
        )
        listed = self.content.propertyCollector.RetrieveContents([spec])
        return [each.obj for each in listed if each.propSet and each.propSet[0].val == name]

    def one(self, what: str, kinds: Sequence[Object], name: str) -> Object:
        """Find the one that is meant, or raise LayerError."""
        found = self.named(kinds, name)
        if len(found) != 1:
            how_many = f"{len(found)} of them are" if found else "none is"
            mend = "; give its inventory path, such as /DC/vm/NAME" if found else ""
            raise LayerError(f"no {what} can be taken: {how_many} called {name!r}{mend}")
        return found[0]

    def machine(self, name: str) -> Object:
        """Find a virtual machine or template, or raise LayerError."""
        return self.one("virtual machine", [self.vim.VirtualMachine], name)

    def value(self, of: Object, path: str, wanted: Callable[[Object], bool]) -> Object:
        """Wait until a property is as wanted, and give it; the server says when it changes.

        It is read anew each time, since not every server reports what a guest tells about itself.
        """
        types, collector = self.vim.PropertyCollector, self.content.propertyCollector
        spec = types.FilterSpec(
            objectSet=[types.ObjectSpec(obj=of)],
            propSet=[types.PropertySpec(type=type(of), pathSet=[path])],
        )
        watch, seen = collector.CreateFilter(spec, True), ""
        wait = types.WaitOptions(maxWaitSeconds=WAIT_S)
        while not wanted(found := operator.attrgetter(path)(of)):
            changed = collector.WaitForUpdatesEx(seen, wait)
            seen = changed.version if changed else seen
        watch.Destroy()
        return found

    def finish(self, task: Object) -> Object:
        """Wait for the end of a task and give its result, or raise LayerError with its fault."""
        if self.value(task, "info.state", lambda state: state in ("success", "error")) == "error":
            raise LayerError(said(task.info.error))
        return task.info.result


def said(fault: Object) -> str:
    """Put a fault in words: its kind, since texts are in the server's language, and its texts."""
    more = [str(each.message) for each in getattr(fault, "faultMessage", None) or []]
    cause = getattr(fault, "faultCause", None)
    words = [str(getattr(fault, "msg", None) or ""), *more, said(cause) if cause else ""]
    kind = type(fault).__name__.rpartition(".")[2]
    return ": ".join([kind, *(word for word in words if word)])


def clone(session: Session, given: argparse.Namespace) -> str:
    """Make a machine like another one, switched off, beside it and on its datastore."""
    vim, source = session.vim, session.machine(given.source)
    host = source.runtime.host
    pool = source.resourcePool or (host and host.parent.resourcePool)  # a template is in no pool
    if given.pool:
        kinds = [vim.ResourcePool, vim.ComputeResource]
        found = session.one("resource pool or cluster", kinds, given.pool)
        pool = found.resourcePool if isinstance(found, vim.ComputeResource) else found
    place = vim.vm.RelocateSpec(pool=pool)
    if given.datastore:
        place.datastore = session.one("datastore", [vim.Datastore], given.datastore)
    spec = vim.vm.CloneSpec(location=place, powerOn=False, template=False)
    made = session.finish(source.CloneVM_Task(folder=source.parent, name=given.name, spec=spec))
    options = [vim.option.OptionValue(key=key, value=str(to)) for key, to in given.extra.items()]
    config = vim.vm.ConfigSpec(
        numCPUs=given.cpus,
        numCoresPerSocket=1,  # the template's number need not divide this one's CPUs
        memoryMB=given.memory_mib,
        annotation="Made by Tare; `tare clean` removes it.",
        extraConfig=options,
    )
    session.finish(made.ReconfigVM_Task(spec=config))
    return ""


def destroy(session: Session, given: argparse.Namespace) -> str:
    """Remove a clone if it is there.

    Clones of its source that are still being made are waited for: when whoever asked for one was
    killed, vSphere makes it all the same, and shows it only then.
    """
    if not given.name.startswith(MINE):
        raise LayerError(f"{given.name} was not made by Tare, whose names begin with {MINE}")
    for source in session.named([session.vim.VirtualMachine], given.source):
        for task in source.recentTask:
            if "clone" in task.info.descriptionId.lower():
                session.value(task, "info.state", lambda state: state in ("success", "error"))
    for machine in session.named([session.vim.VirtualMachine], given.name):
        if machine.runtime.powerState == ON:
            session.finish(machine.PowerOffVM_Task())
        session.finish(machine.Destroy_Task())
    return ""


def release(session: Session, given: argparse.Namespace) -> str:
    """Switch a machine off if it is there and on."""
    for machine in session.named([session.vim.VirtualMachine], given.name):
        if machine.runtime.powerState != OFF:
            session.finish(machine.PowerOffVM_Task())
    return ""


def about(session: Session, given: argparse.Namespace) -> str:
    """Say what answers, and whether it is a vCenter (VirtualCenter) or an ESXi (HostAgent)."""
    del given
    return f"{session.content.about.apiType} {session.content.about.fullName}"


def state(session: Session, given: argparse.Namespace) -> str:
    """Say whether a machine is on, off or suspended."""
    return str(session.machine(given.name).runtime.powerState)


def address(session: Session, given: argparse.Namespace) -> str:
    """Wait for the address that the tools in the guest report, and give it."""

    def is_reachable(found: str | None) -> bool:
        return bool(found) and not ipaddress.ip_address(found or "").is_link_local

    return str(session.value(session.machine(given.name), "guest.ipAddress", is_reachable))


def power_on(session: Session, given: argparse.Namespace) -> str:
    """Switch on, or resume."""
    machine = session.machine(given.name)
    if machine.runtime.powerState != ON:
        session.finish(machine.PowerOnVM_Task())
    return ""


def power_off(session: Session, given: argparse.Namespace) -> str:
    """Cut the power."""
    session.finish(session.machine(given.name).PowerOffVM_Task())
    return ""


def shutdown(session: Session, given: argparse.Namespace) -> str:
    """Have the guest shut down, and wait until it is off."""
    machine = session.machine(given.name)
    machine.ShutdownGuest()
    session.value(machine, "runtime.powerState", lambda found: found == OFF)
    return ""


def reboot(session: Session, given: argparse.Namespace) -> str:
    """Have the guest reboot; vSphere does not say when it has."""
    session.machine(given.name).RebootGuest()
    return ""


def reset(session: Session, given: argparse.Namespace) -> str:
    """Push the reset button."""
    session.finish(session.machine(given.name).ResetVM_Task())
    return ""


def suspend(session: Session, given: argparse.Namespace) -> str:
    """Write the memory to the datastore, and stop."""
    session.finish(session.machine(given.name).SuspendVM_Task())
    return ""


VERBS = (state, address, power_on, power_off, shutdown, reboot, reset, suspend, release)


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """Take a command line apart."""
    parser = argparse.ArgumentParser(prog="tare.engines.vsphere", allow_abbrev=False)
    for name in ("host", "user", "password-file"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--port", type=int, default=443)
    parser.add_argument("--ca-file", default="")
    parser.add_argument("--no-verify", dest="verify", action="store_false")
    verbs = parser.add_subparsers(required=True)
    verbs.add_parser("about").set_defaults(do=about)
    for do in VERBS:
        verb = verbs.add_parser(do.__name__.replace("_", "-"))
        verb.add_argument("name")
        verb.set_defaults(do=do)
    for do in (clone, destroy):
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
    """Do a verb; what stood in its way is said on stderr."""
    given = parsed(argv)
    socket.setdefaulttimeout(SILENCE_S)  # pyVmomi's first look at a server has no timeout
    server = Server(**{one.name: getattr(given, one.name) for one in fields(Server)})
    try:
        client_version(Host())
        from pyVmomi import vmodl

        try:
            session = Session(server)
            try:
                sys.stdout.write(given.do(session, given))
            finally:
                with contextlib.suppress(OSError, http.client.HTTPException):
                    session.close()  # it ends by itself too, and what failed first is the news
        except vmodl.MethodFault as fault:
            raise LayerError(said(fault)) from fault
        except (OSError, http.client.HTTPException) as error:
            raise LayerError(f"the connection failed: {error or type(error).__name__}") from error
    except (LayerError, Unavailable) as error:
        sys.stderr.write(f"{given.user} at {given.host}:{given.port}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
