"""``tare new``: the skeleton of a workload, which works as it is, and is then made one's own."""

from __future__ import annotations

import argparse
import keyword
import re
from collections.abc import Mapping
from pathlib import Path

from tare.core.errors import ConfigError
from tare.work import workload

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")

MODULE = r'''"""{name}: say in one line what is measured; here dd copies zeros.

Defined by coreutils 9.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tare import plugin
from tare.plugin import TOOL_DURATION, Better, Metric, OutputNotUnderstood, Sample, Unit

THROUGHPUT = Metric("throughput", Unit.BYTE_PER_SECOND, Better.HIGHER)

MIB = 2**20


@dataclass(frozen=True, kw_only=True)
class Workload(plugin.Workload):
    """Copy blocks. Say here where the defaults are from: these are an example's."""

    block_bytes: int = MIB
    blocks: int = 50_000

    metrics = (THROUGHPUT, TOOL_DURATION)
    packages = ("coreutils",)
    recorded: ClassVar[Mapping[str, str]] = {{"coreutils": "9.1"}}

    def __post_init__(self) -> None:
        plugin.at_least(self, block_bytes=1, blocks=1)

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        how = [f"bs={{self.block_bytes}}", f"count={{self.blocks}}"]
        return ["dd", "if=/dev/zero", "of=/dev/null", *how]

    def parse(self, output: plugin.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stderr
        copied = plugin.number(r"^(\d+) bytes? .*copied, ", text)
        duration_s = plugin.number(r"copied, ([\d.e-]+) s, [\d.]+ .?B/s\n", text)
        # An interrupted dd prints what it has, in the same form.
        if copied != self.block_bytes * self.blocks or not duration_s:
            raise OutputNotUnderstood("bytes that agree with the blocks", text)
        yield Sample(THROUGHPUT, copied / duration_s)
        yield Sample(TOOL_DURATION, duration_s)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        return 1.0 + self.block_bytes * self.blocks / 2**34
'''
GOOD = """\
4096+0 records in
4096+0 records out
4294967296 bytes (4.3 GB, 4.0 GiB) copied, 0.0966176 s, 44.5 GB/s
"""
INTERRUPTED = """\
10904+0 records in
10904+0 records out
11433672704 bytes (11 GB, 11 GiB) copied, 0.659337 s, 17.3 GB/s
"""
CASE = """\
# recorded 2026-11-21 with dd (coreutils) 9.1 (Debian bookworm), in a chroot{how}
params = {{ blocks = {blocks} }}
argv = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1048576", "count={blocks}"]
"""
SAMPLES = """
[samples]
throughput = 44453259613.155616  # 4294967296 bytes over 0.0966176 s
tool_duration = 0.0966176
"""
RAISES = """\
raises = "bytes that agree with the blocks"
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("what", choices=["workload"], help="what to make")
    parser.add_argument("name", help="its name: small letters, digits and _")
    parser.add_argument(
        "--into",
        default="plugins",
        metavar="DIR",
        help="a folder for --plugins (default: plugins), or the root of Tare's own source",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    name, folder = options.name, Path(options.into)
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ConfigError(
            f"{name!r} cannot be a workload's name; expected a letter, then at most 39 more "
            "letters, digits and _, all of them small, and no word of Python's"
        )
    if name in workload.names():
        raise ConfigError(f"there is a workload {name} already; choose another name")
    parts = skeleton(name, in_tree=(folder / "src/tare/work/workloads").is_dir())
    if there := [str(folder / part) for part in parts if (folder / part).exists()]:
        raise ConfigError(f"{', '.join(there)} would be overwritten; nothing was written")
    try:
        for part, text in parts.items():
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            (folder / part).write_text(text, encoding="utf-8")
            print(folder / part)
    except OSError as error:
        raise ConfigError(f"--into {folder}: cannot write there: {error}") from error
    return 0


def skeleton(name: str, *, in_tree: bool) -> Mapping[str, str]:
    """Return the files of a new workload by their paths, among plug-ins or in the tree."""
    module = "src/tare/work/workloads" if in_tree else "workloads"
    good = CASE.format(how="", blocks=4096) + SAMPLES
    bad = CASE.format(how="; SIGINT after 0.5 s", blocks=819200) + RAISES
    recorded = f"tests/unit/work/workloads/{name}" if in_tree else f"tests/workloads/{name}"
    return {
        f"{module}/{name}.py": MODULE.format(name=name),
        f"{recorded}/whole.stdout": "",
        f"{recorded}/whole.stderr": GOOD,
        f"{recorded}/whole.toml": good,
        f"{recorded}/interrupted.stdout": "",
        f"{recorded}/interrupted.stderr": INTERRUPTED,
        f"{recorded}/interrupted.toml": bad,
    }
