"""The root filesystem as a directory and as a tar, built by mmdebstrap."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Lock

from tare.errors import CommandFailed, LayerError, Unavailable
from tare.home import ON_OTHER_MACHINES, home
from tare.ledger import Ledger, Scope
from tare.machine import Host, Machine, check
from tare.userland import cache
from tare.userland.dpkg import installed
from tare.userland.guest import FILES as GUEST_FILES
from tare.userland.guest import Base, Guest, build_guest, kernel_version, tree_path

RECIPE_VERSION = 2
BUILD_S = 900.0
# Documentation and translations are a fifth of the tree and nothing that is measured reads them.
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")
NEEDS_BYTES = 2_000_000_000
CHUNK_BYTES = 64 * 2**20


@dataclass
class Userland:
    """The userland of a Debian suite with some packages, built when it is first needed.

    ``nested`` are the packages that its guests have besides, for the layers inside them.
    Its methods raise Unavailable where a tool or room is missing, LayerError where a build fails.
    """

    suite: str
    packages: tuple[str, ...]
    ledger: Ledger
    nested: tuple[str, ...] = ()
    _lock: Lock = field(default_factory=Lock)

    @cached_property
    def folder(self) -> Path:
        """Where it is on the controlling host; builds it if need be."""
        with self._lock:
            return cache.build(
                home() / "userland", self._recipe(), self.ledger, NEEDS_BYTES, self._make
            )

    def is_built(self) -> bool:
        """Say whether it, and its guest, are there without building anything."""
        folder = cache.find(home() / "userland", self._recipe())
        return folder is not None and self.kernel_version is not None

    @property
    def id(self) -> str:
        """The content address: suite, package versions and recipe."""
        return self.folder.name

    @property
    def versions(self) -> Mapping[str, str]:
        """The Debian packages inside, with their versions."""
        manifest = json.loads((self.folder / cache.MANIFEST).read_text())
        return {str(name): str(version) for name, version in manifest["versions"].items()}

    @property
    def kernel_version(self) -> str | None:
        """The Debian version of the guests' kernel; None as long as no guest was built."""
        return kernel_version(self._base)

    def tree(self, machine: Machine) -> str:
        """Give the path of the directory on a machine, bringing it there if need be."""
        if isinstance(machine, Host):
            return str(self.folder / "tree")
        there = tree_path(self.id)
        if machine.run(["test", "-d", there]).returncode != 0:
            unpack = 'mkdir -p "$1.new" && tar -xf "$0" -C "$1.new" && mv "$1.new" "$1"'
            check(machine, ["sh", "-c", unpack, self.tar(machine), there], timeout_s=BUILD_S)
        return there

    def tar(self, machine: Machine) -> str:
        """Give the path of the tar on a machine, bringing it there if need be."""
        here = self.folder / "tree.tar"
        if isinstance(machine, Host):
            return str(here)
        there = f"{ON_OTHER_MACHINES}/userland/{self.id}/tree.tar"
        deliver(here, machine, there)
        return there

    def guest(self, machine: Machine) -> Guest:
        """Give the guest with this userland on its disk, building and bringing it if need be."""
        guest = build_guest(self._base, self.ledger)
        if isinstance(machine, Host):
            return guest
        folder = Path(ON_OTHER_MACHINES) / "guest" / guest.id
        for name in GUEST_FILES:
            deliver(guest.folder / name, machine, str(folder / name))
        check(machine, ["chmod", "600", str(folder / "key")])
        return replace(guest, folder=folder)

    @property
    def _base(self) -> Base:
        return Base(self.id, self.folder / "tree.tar", self.versions, self.nested)

    def _recipe(self) -> Mapping[str, object]:
        return {
            "version": RECIPE_VERSION,
            "suite": self.suite,
            "packages": sorted(set(self.packages)),
            "left_out": LEFT_OUT,
        }

    def _make(self, folder: Path, scope: Scope) -> Mapping[str, object]:
        host, recipe = cache.builder(folder, scope), self._recipe()
        if host.run(["mmdebstrap", "--version"]).returncode != 0:
            raise Unavailable("mmdebstrap is not installed", "apt-get install mmdebstrap")
        tree, tar = folder / "tree", folder / "tree.tar"
        try:
            # In a mount namespace of its own, so that its mounts end with it, whatever ends it.
            check(host, ["unshare", "--mount", *bootstrap_argv(recipe, tar)], timeout_s=BUILD_S)
            tree.mkdir()
            check(host, ["tar", "-xf", str(tar), "-C", str(tree)], timeout_s=BUILD_S)
            manifest = {**recipe, "versions": installed(tree)}
            _sign(host, tree, tar, cache.content_id(manifest))
        except CommandFailed as error:
            raise LayerError(f"the userland could not be built: {error}") from error
        return manifest


def _sign(host: Machine, tree: Path, tar: Path, name: str) -> None:
    """Let a machine that runs the userland know that its own root is the tree."""
    sign = tree_path(name).lstrip("/")
    (tree / sign).parent.mkdir(parents=True)
    (tree / sign).symlink_to("/")
    first = Path(sign).parts[:3]  # var/lib/tare, with what lies below
    append = ["tar", "-rf", str(tar), "-C", str(tree), "--owner=0", "--group=0"]
    check(host, [*append, str(Path(*first))])


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


def bootstrap_argv(recipe: Mapping[str, object], tar: Path) -> list[str]:
    """Build the command that makes the tar."""
    packages = recipe["packages"]
    assert isinstance(packages, list)  # noqa: S101 - made in build_userland
    return [
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        "--mode=root",
        "--skip=output/mknod",
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT),
        f"--include={','.join(packages)}",
        str(recipe["suite"]),
        str(tar),
    ]
