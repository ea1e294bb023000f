"""``tare lab``: a disposable host where layers run that this host's hardware does not offer."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tare.cli import DONE, NOT_ALL_OK
from tare.core.errors import Unavailable
from tare.core.home import home
from tare.machines.backends import lab
from tare.machines.backends.lab_machine import HYPERVISORS, Hypervisor, Lab
from tare.machines.layers.lab import Layer
from tare.machines.machine import Host

STACKS = {
    "kvm": ("lab/host", "lab/docker", "lab/kvm", "lab/kvm/docker"),
    "xen": ("lab/host", "lab/xen"),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    verbs = parser.add_subparsers(
        title="verbs",
        metavar="VERB",
        required=True,
        dest="verb",
        parser_class=argparse.ArgumentParser,
    )
    up = verbs.add_parser("up", help="boot one; studies use it until it is taken down")
    shell = verbs.add_parser("shell", help="enter it, or run a command in it")
    status = verbs.add_parser("status", help="say which labs are up; exit 1 if none is")
    down = verbs.add_parser("down", help="remove it, whatever state it is in")
    for verb in (up, shell, status, down):
        verb.add_argument(
            "--hypervisor",
            choices=("kvm", "xen"),
            default="kvm" if verb is up else None,
            help="Linux with KVM, or Xen with Linux as its dom0"
            + ("; kvm unless given" if verb is up else "; unless given any that there is"),
        )
    status.add_argument("--json", action="store_true", help="print facts for programs")
    shell.add_argument("command", nargs="*", help="the command; a shell unless given")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    verbs = {"up": _up, "shell": _shell, "status": _status, "down": _down}
    return verbs[options.verb](options)


def _up(options: argparse.Namespace) -> int:
    with _nobody_measures("a lab that boots would disturb it"):
        known = lab.find(options.hypervisor)
        if known is None or not known.lives():
            other = next((one for one in _alive() if one.hypervisor != options.hypervisor), None)
            if other is not None:
                raise Unavailable(
                    f"the {other.hypervisor} lab is up, and a host seldom carries two",
                    f"tare lab down --hypervisor {other.hypervisor}",
                )
            Layer(hypervisor=options.hypervisor).probe(Host(), None)
            _removed([options.hypervisor])
            print("booting the lab; the first time its disk is built, which takes minutes")
            lab.keep(options.hypervisor)
    print(f"the {options.hypervisor} lab is up")
    print("  enter it:  tare lab shell")
    print(f"  stacks:    {', '.join(STACKS[options.hypervisor])}")
    if options.hypervisor != "kvm":
        print(f"             with  lab: {{ hypervisor: {options.hypervisor} }}  in the study")
    print("  remove it: tare lab down")
    return DONE


def _shell(options: argparse.Namespace) -> int:
    labs = [one for one in _alive() if options.hypervisor in (None, one.hypervisor)]
    if not labs:
        raise Unavailable("no lab is up", "tare lab up")
    lab = labs[0]
    with Path(lab.folder, "shells").open("w") as shells:
        fcntl.flock(shells, fcntl.LOCK_SH)
        lab.tell("cont", "running")
        done = subprocess.run(lab.connection.shell_argv(options.command), check=False)
        with contextlib.suppress(OSError):  # another shell is still open
            fcntl.flock(shells, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lab.tell("stop", "paused")
    return done.returncode


def _status(options: argparse.Namespace) -> int:
    known = {name: lab.find(name) for name in HYPERVISORS}
    states = {
        name: "none" if one is None else "up" if one.lives() else "dead"
        for name, one in known.items()
        if options.hypervisor in (None, name)
    }
    if options.json:
        print(json.dumps(states))
    else:
        for name, state in states.items():
            fix = f"  (remove what is left with: tare lab down --hypervisor {name})"
            print(f"{name}: {state}{fix if state == 'dead' else ''}")
    return DONE if "up" in states.values() else NOT_ALL_OK


def _down(options: argparse.Namespace) -> int:
    with _nobody_measures("it may be using the lab"):
        names = [name for name in HYPERVISORS if options.hypervisor in (None, name)]
        return DONE if _removed(names) else NOT_ALL_OK


def _removed(names: Sequence[Hypervisor]) -> bool:
    """Remove what there is of labs, and say so; True if nothing is left."""
    clean = True
    for name in names:
        for left, problem in lab.remove(name):
            clean = clean and not problem
            print(f"tare: {problem}" if problem else f"removed {left.what} {left.name}",
                  file=sys.stderr if problem else sys.stdout)  # fmt: skip
    return clean


def _alive() -> list[Lab]:
    known = [lab.find(name) for name in HYPERVISORS]
    return [one for one in known if one is not None and one.lives()]


@contextmanager
def _nobody_measures(why: str) -> Iterator[None]:
    """Hold the lock that a session holds as long as it measures, or raise Unavailable."""
    try:
        home().mkdir(parents=True, exist_ok=True)
        lock = (home() / "lock").open("w")
    except OSError as error:
        raise Unavailable(f"cannot write to {home()}: {error.strerror}", "run as root") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Unavailable(
                f"a Tare session is running on this host, and {why}", "wait for it to end"
            ) from None
        yield
