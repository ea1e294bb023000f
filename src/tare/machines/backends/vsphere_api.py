"""Clone, start, stop and destroy virtual machines by the API of vCenter and ESXi."""

from __future__ import annotations

import argparse
import ipaddress
import operator
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.core.errors import LayerError

if TYPE_CHECKING:
    from tare.machines.backends.vsphere import Server

MINE = "tare-"
"""What the names of all clones begin with; nothing else is ever destroyed."""
WAIT_S = 10
"""How long the server may keep a call open that waits for a change; less than a silence."""
ON, OFF = "poweredOn", "poweredOff"

# pyVmomi makes its classes from the server's description of itself: there are no static types.
Object = Any


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
            fix = "; give its inventory path, such as /DC/vm/NAME" if found else ""
            raise LayerError(f"no {what} can be used: {how_many} called {name!r}{fix}")
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
    """Clone a machine, switched off, in its folder and on its datastore."""
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

    Clones of its source that are still being made are waited for: when the process that asked for
    one was killed, vSphere makes it all the same, and shows it only then.
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
    """Power off a machine if it exists and is on."""
    for machine in session.named([session.vim.VirtualMachine], given.name):
        if machine.runtime.powerState != OFF:
            session.finish(machine.PowerOffVM_Task())
    return ""


def about(session: Session, given: argparse.Namespace) -> str:
    """Return what answers, and whether it is a vCenter (VirtualCenter) or an ESXi (HostAgent)."""
    del given
    return f"{session.content.about.apiType} {session.content.about.fullName}"


def state(session: Session, given: argparse.Namespace) -> str:
    """Return whether a machine is on, off or suspended."""
    return str(session.machine(given.name).runtime.powerState)


def address(session: Session, given: argparse.Namespace) -> str:
    """Wait for the address that the tools in the guest report, and give it."""

    def is_reachable(found: str | None) -> bool:
        return bool(found) and not ipaddress.ip_address(found or "").is_link_local

    return str(session.value(session.machine(given.name), "guest.ipAddress", is_reachable))


def power_on(session: Session, given: argparse.Namespace) -> str:
    """Power on, or resume."""
    machine = session.machine(given.name)
    if machine.runtime.powerState != ON:
        session.finish(machine.PowerOnVM_Task())
    return ""


def power_off(session: Session, given: argparse.Namespace) -> str:
    """Cut the power."""
    session.finish(session.machine(given.name).PowerOffVM_Task())
    return ""


def shutdown(session: Session, given: argparse.Namespace) -> str:
    """Shut down the guest, and wait until it is off."""
    machine = session.machine(given.name)
    machine.ShutdownGuest()
    session.value(machine, "runtime.powerState", lambda found: found == OFF)
    return ""


def reboot(session: Session, given: argparse.Namespace) -> str:
    """Reboot the guest; vSphere does not report when it is back."""
    session.machine(given.name).RebootGuest()
    return ""


def reset(session: Session, given: argparse.Namespace) -> str:
    """Reset the machine."""
    session.finish(session.machine(given.name).ResetVM_Task())
    return ""


def suspend(session: Session, given: argparse.Namespace) -> str:
    """Write the memory to the datastore, and stop."""
    session.finish(session.machine(given.name).SuspendVM_Task())
    return ""


VERBS = (state, address, power_on, power_off, shutdown, reboot, reset, suspend, release)
