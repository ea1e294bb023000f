"""Compile the agent's program, once for every version of its source."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from tare.core.errors import CommandFailed, LayerError, Unavailable
from tare.core.home import home
from tare.machines.ledger import Ledger, Scope
from tare.machines.machine import check, text
from tare.machines.userland import cache

COMPILERS = ("musl-gcc", "gcc")
"""musl makes a program of 70 KB, glibc one of 800 KB, which takes its time over an emulated ssh."""
FLAGS = ("-static", "-Os", "-s")
NEEDS_BYTES = 10_000_000


def build(ledger: Ledger) -> Path:
    """Find or compile the program for this host's architecture.

    Raises Unavailable where there is no compiler or no room, LayerError where it does not compile.
    """
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        raise Unavailable("no C compiler is installed", "apt-get install musl-tools")
    source = files("tare.machines.agent").joinpath("agent.c").read_text()
    recipe = {"source": source, "flags": FLAGS, "compiler": Path(compiler).name}

    def make(folder: Path, scope: Scope) -> Mapping[str, object]:
        host, program = cache.builder(folder, scope), folder / "agent"
        compile_argv = [compiler, *FLAGS, "-x", "c", "-", "-o", str(program)]
        try:
            check(host, compile_argv, stdin=source.encode(), timeout_s=120)
            version = text(host, [compiler, "-dumpversion"])
        except CommandFailed as error:
            raise LayerError(f"the agent could not be compiled: {error}") from error
        program.chmod(0o755)
        return {**recipe, "compiler.version": version}

    return cache.build(home() / "agents", recipe, ledger, NEEDS_BYTES, make) / "agent"
