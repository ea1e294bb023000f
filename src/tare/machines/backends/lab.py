"""The lab: a disposable Debian host whose hardware virtualization is emulated by QEMU (TCG).

All instances of all platforms of a session share one. It is booted by the first that needs it and
removed at the session's end; or it was booted by ``tare lab up``, is used by every session, and
stays until ``tare lab down``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tare.core import durable
from tare.core.home import home
from tare.machines.backends.lab_boot import SSHD_S, boot
from tare.machines.backends.lab_machine import Hypervisor, Lab
from tare.machines.ledger import Ledger, Leftover, Scope, clean, leftovers
from tare.machines.machine import Host, Machine, check
from tare.machines.network.tap import Tap
from tare.machines.userland import REMOVE_FOLDER

if TYPE_CHECKING:
    from tare.machines.layer import Site


def serving(outer: Machine, site: Site, hypervisor: Hypervisor) -> Lab:
    """Return the session's lab: the one that ``tare lab up`` left, else one of its own."""

    def make(scope: Scope) -> Lab:
        kept = find(hypervisor)
        if kept is None or not kept.lives():
            name = f"tare-{site.session}-lab-{hypervisor}"
            device = f"tare{site.session}l{hypervisor[0]}"
            return boot(outer, scope, hypervisor, name, f"{site.folder}/{name}", device)
        lab = Lab(outer, hypervisor, kept.folder, kept.group, kept.port,
                  f"{site.folder}/lab-{hypervisor}.ssh", kept.cable)  # fmt: skip
        leave = lab.undo_argv(lab.connection.hang_up_argv())
        scope.about_to_make("connection", lab.control, outer, leave)
        with lab.awake():
            lab.connection.open(outer, SSHD_S)
            # What layers make in a lab that stays lies in a folder that does not.
            remove = ["sh", "-c", REMOVE_FOLDER, site.folder]
            scope.about_to_make("folder", site.folder, lab.machine, remove)
            check(lab.machine, ["mkdir", "-p", site.folder])
        return lab

    return site.services.once(f"lab {hypervisor}", outer, make, Lab.answers)


def find(hypervisor: Hypervisor) -> Lab | None:
    """Find the lab that ``tare lab up`` booted; it may have died since."""
    try:
        state = json.loads(_state(hypervisor).read_text())
    except FileNotFoundError:
        return None
    folder, cable = str(state["folder"]), Tap(**state["cable"])
    return Lab(Host(), hypervisor, folder, state["group"], state["port"], f"{folder}/ssh", cable)


def keep(hypervisor: Hypervisor) -> Lab:
    """Boot a lab that stays after this process, or raise Unavailable or LayerError.

    Until it is up its ledger is among those of sessions, so that ``tare clean`` removes one that is
    half made; then only ``remove`` does.
    """
    state, path = _state(hypervisor), _ledger(hypervisor)
    state.parent.mkdir(parents=True, exist_ok=True)
    link = home() / "ledgers" / f"lab-{hypervisor}"
    link.parent.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(path)
    try:
        link.unlink(missing_ok=True)
        link.symlink_to(path.resolve())
        scope = Scope(ledger)
        try:
            folder = str(state.with_suffix(""))
            name = f"tare-lab-{hypervisor}"
            lab = boot(Host(), scope, hypervisor, name, folder, f"tarelab{hypervisor[0]}")
            check(Host(), lab.connection.hang_up_argv())
            lab.tell("stop", "paused")  # nobody uses it yet
            stored = {
                "folder": lab.folder,
                "group": lab.group,
                "port": lab.port,
                "cable": asdict(lab.cable),
            }
            durable.replace(state, json.dumps(stored))
        except BaseException:
            scope.close()
            raise
        finally:
            if state.exists() or not leftovers(path):
                link.unlink()
    finally:
        ledger.close()
    return lab


def remove(hypervisor: Hypervisor) -> Iterator[tuple[Leftover, str]]:
    """Remove the lab that is kept, or what is left of it; yields as ``ledger.clean`` does."""
    path = _ledger(hypervisor)
    if not path.exists():
        return
    yield from clean(path)
    if not leftovers(path):
        _state(hypervisor).unlink(missing_ok=True)
        (home() / "ledgers" / f"lab-{hypervisor}").unlink(missing_ok=True)
        path.unlink()


def _state(hypervisor: Hypervisor) -> Path:
    return home() / "labs" / f"{hypervisor}.json"


def _ledger(hypervisor: Hypervisor) -> Path:
    return home() / "labs" / f"{hypervisor}.jsonl"
