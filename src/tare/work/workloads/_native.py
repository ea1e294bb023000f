"""Compile Tare's own C benchmarks where they will run.

They are compiled by the userland's own compiler and never for the CPU that it finds: the same
instructions run in every stack. Each prints one line of JSON at its end.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from tare.core.errors import OutputNotUnderstood
from tare.work import workloads
from tare.work.parsing import JsonPart, document
from tare.work.workload import Output

PACKAGES = ("gcc", "libc6-dev")
COMPILE = 'printf %s "$0" | gcc -x c - -x none -o "$@"'


@cache
def compiling(name: str, *flags: str) -> tuple[str, ...]:
    """Build the command that compiles ``name.c`` to the program ``name``."""
    source = files(workloads).joinpath(f"{name}.c").read_text()
    return ("sh", "-c", COMPILE, source, name, *flags)


def report(output: Output, **asked: str | int) -> JsonPart:
    """Read the line, or raise OutputNotUnderstood where it is not of what was asked for."""
    text = output.stdout
    found = document(text, "whole report of the program")
    other = [
        key
        for key, value in asked.items()
        if value != (found.word(key) if isinstance(value, str) else found.count(key))
    ]
    if other:
        wanted = ", ".join(f"{key} {asked[key]}" for key in other)
        raise OutputNotUnderstood(f"report that agrees with {wanted}", text)
    return found
