"""Programs that Debian lacks, built on the controlling host, and sources: all are pinned here.

Each fills a folder with files as they are to lie below the root of a userland. How it is built and
from what is its recipe, which is part of the userland's own.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Protocol

from tare.core.errors import CommandFailed, ConfigError, LayerError, Unavailable
from tare.core.home import home
from tare.machines.ledger import Ledger, Scope
from tare.machines.machine import Machine, check
from tare.machines.userland import cache

NEEDS_BYTES = 1_000_000_000
BUILD_S = 900.0
GO = "/usr/local/go/bin:/usr/lib/go/bin"
"""Where Go may be if it is not in the PATH."""


class Program(Protocol):
    """How one program is built."""

    @property
    def version(self) -> str:
        """The upstream version."""

    def recipe(self) -> Mapping[str, object]:
        """Return everything that determines the build."""

    def make(self, host: Machine, folder: Path, root: Path, arch: str) -> None:
        """Build into the empty ``root`` for an architecture; ``folder`` is for temporary files.

        Raises Unavailable where a tool is missing, CommandFailed where the build fails.
        """


@dataclass(frozen=True, slots=True)
class GoProgram:
    """The main package of a Go module, linked statically.

    The files ``go.mod`` and ``go.sum`` of its name pin it and all that it is made of, so that
    nobody has to be asked whether what was fetched is what was meant.
    """

    name: str
    package: str
    version: str

    def recipe(self) -> Mapping[str, object]:
        """See Program.recipe."""
        return {"package": self.package, "version": self.version, "go.sum": self._pinned("go.sum")}

    def make(self, host: Machine, folder: Path, root: Path, arch: str) -> None:
        """See Program.make."""
        go = shutil.which("go") or shutil.which("go", path=GO)
        if go is None:
            raise Unavailable(
                f"{self.name} {self.version} is in no Debian and is built from source; "
                "Go is not installed",
                "apt-get install golang-go",
            )
        program = root / "usr/local/bin" / self.name
        program.parent.mkdir(parents=True)
        for name in ("go.mod", "go.sum"):
            (folder / name).write_text(self._pinned(name))
        environment = [
            f"GOPATH={folder}/path", f"GOCACHE={folder}/cache", "GOFLAGS=-modcacherw",
            "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off", "CGO_ENABLED=0", "GOOS=linux",
            f"GOARCH={arch}",
        ]  # fmt: skip
        build = ["build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags",
                 f"-s -w -X main.Version={self.version}",
                 "-o", str(program), self.package]  # fmt: skip
        check(host, ["env", "-C", str(folder), *environment, go, *build], timeout_s=BUILD_S)

    def _pinned(self, name: str) -> str:
        return (
            files("tare.machines.userland").joinpath("program_files", self.name, name).read_text()
        )


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a Debian package as its authors released it, for work that compiles it.

    The file lies in ``/usr/src``. A mirror does not keep every release: what it does not have any
    more may lie in the folder ``sources`` of Tare's home. Its hash says that it is the same.
    """

    name: str
    package: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        """The name of the file."""
        return f"{self.package}_{self.version}.orig.tar.gz"

    def recipe(self) -> Mapping[str, object]:
        """See Program.recipe."""
        return {"file": self.file, "sha256": self.sha256}

    def make(self, host: Machine, folder: Path, root: Path, arch: str) -> None:
        """See Program.make."""
        del folder, arch
        placed = root / "usr/src" / self.file
        placed.parent.mkdir(parents=True)
        kept = home() / "sources" / self.file
        if kept.is_file() and sha256(kept.read_bytes()).hexdigest() == self.sha256:
            shutil.copyfile(kept, placed)
            return
        url = f"{MIRROR}/pool/main/{self.package[0]}/{self.package}/{self.file}"
        try:
            check(host, [*DOWNLOAD, url, str(placed), f"SHA256:{self.sha256}"], timeout_s=BUILD_S)
        except CommandFailed as error:
            raise Unavailable(
                f"the source {self.file}, with the SHA-256 {self.sha256}, could not be fetched: "
                f"{error}",
                f"put that file into {kept.parent}",
            ) from error


MIRROR = "http://deb.debian.org/debian"
"""The mirror that mmdebstrap takes where none is named."""
DOWNLOAD = ("/usr/lib/apt/apt-helper", "-o", "APT::Sandbox::User=root", "download-file")
"""apt's own downloader: it uses the proxy of the configuration of apt, and compares the hash."""

_ALL: tuple[GoProgram | Source, ...] = (
    # The last release of vegeta that Debian's Go 1.19 builds.
    GoProgram("vegeta", "github.com/tsenart/vegeta/v12", "12.11.1"),
    Source(
        "httpd-source",
        "apache2",
        "2.4.68",
        "ed9a9d4500fb48bb28eaffb3ba71d06ccf86d498fa13ab9f781da010cc488498",
    ),
)
KNOWN: Mapping[str, Program] = {program.name: program for program in _ALL}
"""Every program by the name that workloads ask for it."""


def recipe(names: Sequence[str]) -> dict[str, object]:
    """Return what decides how programs come out, by name; raises ConfigError for an unknown one."""
    for name in names:
        if name not in KNOWN:
            raise ConfigError(f"no program is called {name!r}; there are: {', '.join(KNOWN)}")
    return {name: dict(KNOWN[name].recipe()) for name in sorted(set(names))}


def place(
    host: Machine, built: Mapping[str, Path], tree: Path, tar: Path
) -> dict[str, dict[str, str]]:
    """Put what was built into a userland's tree and tar, or raise CommandFailed.

    Returns versions and content addresses by name.
    """
    for folder in built.values():
        root = str(folder / "root")
        check(host, ["cp", "-a", f"{root}/.", str(tree)])
        # The directories are in it already, and Docker takes no path twice.
        files = [
            str(one.relative_to(root)) for one in sorted(Path(root).rglob("*")) if one.is_file()
        ]
        check(host, ["tar", "-rf", str(tar), "-C", root, "--owner=0", "--group=0", *files])
    return {
        name: {"version": KNOWN[name].version, "id": folder.name} for name, folder in built.items()
    }


def build(name: str, arch: str, ledger: Ledger) -> Path:
    """Find or build a program; its files are below ``root`` in the folder.

    Raises Unavailable where a tool or room is missing, LayerError where the build fails.
    """
    asked = {**recipe([name]), "arch": arch}

    def make(folder: Path, scope: Scope) -> Mapping[str, object]:
        host, root, work = cache.builder(folder, scope), folder / "root", folder / "work"
        root.mkdir()
        work.mkdir()
        try:
            KNOWN[name].make(host, work, root, arch)
            # Whatever the umask was: the modes of folders are those that the tree then has.
            check(host, ["chmod", "-R", "u=rwX,go=rX", str(root)])
        except CommandFailed as error:
            raise LayerError(f"{name} could not be built: {error}") from error
        shutil.rmtree(work)
        return {**asked, "files": _digests(root)}

    return cache.build(home() / "programs", asked, ledger, NEEDS_BYTES, make)


def _digests(root: Path) -> dict[str, str]:
    """Return the SHA-256 of each file; links are followed."""
    found = sorted(path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): sha256(path.read_bytes()).hexdigest() for path in found}
