"""Build the userland's root filesystem by mmdebstrap, as a tar and as a directory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Lock

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.core.home import ON_OTHER_MACHINES, home
from tare.machines.ledger import Ledger, Scope
from tare.machines.machine import Host, Machine, check
from tare.machines.userland import architecture, cache, foreign, programs
from tare.machines.userland.architecture import Arch
from tare.machines.userland.bootable import FILES as GUEST_FILES
from tare.machines.userland.dpkg import installed
from tare.machines.userland.guest import Base, Guest, build_guest, kernel_version, sign, tree_path
from tare.machines.userland.system import System

RECIPE_VERSION = 2
BUILD_S = 900.0
# Documentation and translations are a fifth of the tree and nothing that is measured reads them.
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")
NEEDS_BYTES = 2_000_000_000
CHUNK_BYTES = 64 * 2**20
MAIN = "main"
SHARED = "/run/tare-shared"
"""Where a machine that reads the controlling host's disk, such as the lab, sees its cache."""


@dataclass
class Userland:
    """The userland of a Debian suite with some packages, built when it is first needed.

    A package that is not of the component main is spelled with its own: ``non-free/netperf``.
    ``nested`` are the packages that its guests have in addition, for the layers inside them.
    ``programs`` are those of ``tare.machines.userland.programs`` that it has too. Those of these
    and of other components that are not available are skipped; ``missing`` says why, by name, once
    it is built. What is in there from the beginning is not tried: results that were begun without
    it continue without it. Its methods raise Unavailable where a tool or room is missing,
    LayerError where a build fails.
    """

    suite: str
    packages: tuple[str, ...]
    ledger: Ledger
    nested: tuple[str, ...] = ()
    arch: Arch = "amd64"
    programs: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, init=False)
    _unpacking: Lock = field(default_factory=Lock, init=False)
    _others: dict[Arch, Userland] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Copy ``missing``: another suite or architecture may lack more."""
        self.missing = dict(self.missing)

    @cached_property
    def folder(self) -> Path:
        """Where it is on the controlling host; builds it if need be."""
        with self._lock:
            while True:
                recipe = self._recipe()
                try:
                    return cache.build(
                        home() / "userland", recipe, self.ledger, NEEDS_BYTES, self._make
                    )
                except _NotHad as error:
                    self.missing |= dict.fromkeys(error.names, str(error))

    def is_built(self) -> bool:
        """Return whether it, and its guest, are there without building anything."""
        folder = cache.find(home() / "userland", self._recipe())
        return folder is not None and self.kernel_version is not None

    def of(self, machine: Machine) -> Userland:
        """Return the same packages for the architecture of a machine, or raise Unavailable."""
        arch = architecture.of(machine)
        if arch == self.arch:
            return self
        return self._others.setdefault(arch, replace(self, arch=arch))

    @property
    def id(self) -> str:
        """The content address: suite, package versions and recipe."""
        return self.folder.name

    @property
    def versions(self) -> Mapping[str, str]:
        """The Debian packages and the other programs inside, with their versions."""
        manifest = json.loads((self.folder / cache.MANIFEST).read_text())
        placed = manifest.get("programs", {})
        others = {str(name): str(program["version"]) for name, program in placed.items()}
        return {**self.package_versions, **others}

    @property
    def package_versions(self) -> Mapping[str, str]:
        """The Debian packages inside, with their versions."""
        manifest = json.loads((self.folder / cache.MANIFEST).read_text())
        return {str(name): str(version) for name, version in manifest["versions"].items()}

    @property
    def kernel_version(self) -> str | None:
        """The Debian version of the guests' kernel; None as long as no guest was built."""
        return kernel_version(self._base(self._own_system))

    def tree(self, machine: Machine) -> str:
        """Return the path of the directory on a machine, bringing it there if need be."""
        if isinstance(machine, Host):
            return str(self.folder / "tree")
        there = tree_path(self.id)
        with self._unpacking:  # instances of a platform that are opened at once want the same one
            if machine.run(["test", "-d", there]).returncode != 0:
                if _place(machine, "userland", self.id) == self.folder:
                    return str(self.folder / "tree")
                # What was cut short before may be there still.
                unpack = (
                    'rm -rf "$1.new" && mkdir -p "$1.new" && tar -xf "$0" -C "$1.new" && '
                    'mv "$1.new" "$1"'
                )
                check(machine, ["sh", "-c", unpack, self.tar(machine), there], timeout_s=BUILD_S)
        return there

    def tar(self, machine: Machine) -> str:
        """Return the path of the tar on a machine, bringing it there if need be."""
        here = self.folder / "tree.tar"
        if isinstance(machine, Host):
            return str(here)
        there = str(_place(machine, "userland", self.id) / "tree.tar")
        deliver(here, machine, there)
        return there

    def guest(self, machine: Machine, system: System | None = None) -> Guest:
        """Return the guest with this userland on its disk, building and bringing it if need be.

        Unless a system is given it is of the userland's own suite and architecture. In a guest of
        another suite or architecture it is what containers run; what runs next to them is a
        userland of that system.
        """
        guest = build_guest(self._base(system or self._own_system), self.ledger)
        if isinstance(machine, Host):
            return guest
        folder = _place(machine, "guest", guest.id)
        for name in GUEST_FILES:
            deliver(guest.folder / name, machine, str(folder / name))
        if not folder.is_relative_to(SHARED):
            check(machine, ["chmod", "600", str(folder / "key")])
        return replace(guest, folder=folder)

    @property
    def _own_system(self) -> System:
        return System(arch=self.arch)

    def _base(self, system: System) -> Base:
        name = self.id  # first: the others are built without what this one is built without
        shared = self if system.arch == self.arch else replace(self, arch=system.arch)
        suite = system.suite or self.suite
        own = shared if suite == self.suite else replace(shared, suite=suite)
        return Base(
            name,
            own.folder / "tree.tar",
            own.package_versions,
            self.nested,
            replace(system, suite="" if suite == self.suite else suite),
            shared.folder / "tree.tar",
        )

    def _had(self, names: Iterable[str]) -> list[str]:
        return sorted(set(names) - set(self.missing))

    def _recipe(self) -> Mapping[str, object]:
        recipe: dict[str, object] = {
            "version": RECIPE_VERSION,
            "suite": self.suite,
            "packages": self._had(self.packages),
            "left_out": LEFT_OUT,
        }
        if wanted := self._had(self.programs):
            recipe |= {"programs": programs.recipe(wanted)}
        return recipe if self.arch == "amd64" else recipe | {"arch": self.arch}

    def _make(self, folder: Path, scope: Scope) -> Mapping[str, object]:
        host, recipe = cache.builder(folder, scope), self._recipe()
        if host.run(["mmdebstrap", "--version"]).returncode != 0:
            raise Unavailable("mmdebstrap is not installed", "apt-get install mmdebstrap")
        tree, tar = folder / "tree", folder / "tree.tar"
        built = {name: self._program(name) for name in self._had(self.programs)}
        try:
            able = foreign.able(host, self.arch)
            # In a mount namespace of its own, so that its mounts end with it, whatever ends it.
            bootstrap = [*able, "unshare", "--mount", *bootstrap_argv(recipe, tar)]
            check(host, bootstrap, timeout_s=2 * BUILD_S if able else BUILD_S)
            tree.mkdir()
            check(host, ["tar", "-xf", str(tar), "-C", str(tree)], timeout_s=BUILD_S)
            manifest = {**recipe, "versions": installed(tree)}
            if built:
                manifest["programs"] = programs.place(host, built, tree, tar)
            sign(host, tree, tar, cache.content_id(manifest))
        except CommandFailed as error:
            _refuse_missing_component(recipe, error)
            raise LayerError(f"the userland could not be built: {error}") from error
        return manifest

    def _program(self, name: str) -> Path:
        try:
            return programs.build(name, self.arch, self.ledger)
        except (Unavailable, LayerError) as error:
            raise _NotHad([name], str(error)) from error


class _NotHad(Unavailable):
    """Packages or programs are not available; without these names a userland can be built."""

    def __init__(self, names: Sequence[str], reason: str, fix: str = "") -> None:
        self.names = names
        super().__init__(reason, fix)


def _place(machine: Machine, shelf: str, name: str) -> Path:
    """Return where a machine has, or is to get, what has a name on a shelf of the cache here.

    One that sees this host's own files, or a folder that is shared with it, gets no copy.
    """
    for seen in (home() / shelf / name, Path(SHARED) / shelf / name):
        if machine.run(["test", "-e", str(seen / cache.MANIFEST)]).returncode == 0:
            return seen
    return Path(ON_OTHER_MACHINES) / shelf / name


def deliver(here: Path, machine: Machine, there: str, *, chunk_bytes: int = CHUNK_BYTES) -> None:
    """Copy a file of any size to a machine, once, in pieces; a copy cut short is not taken."""
    if machine.run(["test", "-e", there]).returncode == 0:
        return
    start = 'mkdir -p "$(dirname "$0")" && : > "$0.part"'
    check(machine, ["sh", "-c", start, there])
    with here.open("rb") as file:
        while piece := file.read(chunk_bytes):
            append = ["sh", "-c", 'cat >> "$0.part"', there]
            check(machine, append, stdin=piece, timeout_s=BUILD_S)
    check(machine, ["mv", f"{there}.part", there])


def _refuse_missing_component(recipe: Mapping[str, object], error: CommandFailed) -> None:
    """Raise _NotHad where a build failed by a component that the mirror does not give."""
    said = error.completed.stderr.decode(errors="replace").splitlines()
    for component, names in _by_component(recipe["packages"]).items():
        about = re.compile(
            rf"E: .*(/{component}/|(package|Package) '?({'|'.join(map(re.escape, names))})\b)"
        )
        why = next((line for line in said if about.match(line)), "")
        if component != MAIN and why:
            raise _NotHad(
                [f"{component}/{name}" for name in names],
                f"the mirror of Debian {recipe['suite']} does not give {', '.join(names)} of its "
                f"component {component} ({why})",
                f"use a mirror that has {component}",
            ) from error


def _by_component(packages: object) -> dict[str, list[str]]:
    """Sort packages such as ``mbw`` and ``non-free/netperf`` by their component."""
    assert isinstance(packages, list)  # noqa: S101 - made in Userland._recipe
    found: dict[str, list[str]] = {MAIN: []}
    for package in packages:
        component, _, name = package.rpartition("/")
        found.setdefault(component or MAIN, []).append(name)
    return found


def bootstrap_argv(recipe: Mapping[str, object], tar: Path) -> list[str]:
    """Build the command that makes the tar.

    It works in a folder next to the tar, which it removes; if it is killed, what removes the tar's
    folder does.
    """
    components = _by_component(recipe["packages"])
    packages = [name for names in components.values() for name in names]
    return [
        "env",
        f"TMPDIR={tar.parent}",
        "mmdebstrap",
        # apt says why it lacks a package only where it may say something.
        *(["--quiet"] if len(components) == 1 else []),
        "--variant=minbase",
        "--mode=root",
        "--skip=output/mknod",
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT),
        *([f"--components={','.join(components)}"] if len(components) > 1 else []),
        *([f"--include={','.join(packages)}"] if packages else []),
        # Whether its programs run here was found out before, without another tool.
        *([f"--architectures={recipe['arch']}", "--skip=check/qemu"] if "arch" in recipe else []),
        str(recipe["suite"]),
        str(tar),
    ]
