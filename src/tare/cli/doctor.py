"""``tare doctor``: what this host can measure, and what would make it measure better."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tare.cli import CANNOT, DONE
from tare.core.errors import TareError, Unavailable
from tare.core.model import Scalar
from tare.experiment.host.facts import NoiseSource, host_facts, noise
from tare.experiment.study import load_study
from tare.machines import detection, layer
from tare.machines.ledger import Ledger
from tare.machines.machine import Cancelled, Host, Machine
from tare.machines.userland import Userland, architecture

PROBE_S = 40.0
PIPED_WIDTH = 1000
STYLES = {"usable": "green", "simulated": "cyan", "needs settings": "yellow"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerState:
    """What became of one layer: usable, simulated, needs settings, unavailable, or broken."""

    layer: str
    state: str
    uses: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    fix: str = ""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--json", action="store_true", help="print facts for programs")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    facts = host_facts(Host())  # before the probes, which are a load themselves
    stack = detection.detect(Host())
    waiting = "asking every layer; KVM is tried by booting a guest, which takes up to 30 s ..."
    with Console(stderr=True).status(waiting), built_userland() as userland:
        findings = examine(layer.names(), userland)
    advice = noise(facts)
    if options.json:
        report = {
            "layers": [asdict(finding) for finding in findings],
            "facts": {**facts, "detected": detection.table(stack)},
            "noise": [asdict(one) for one in advice],
        }
        print(json.dumps(report))
    else:
        show(*page(facts, stack, findings, advice))
    return status(findings)


def status(findings: Sequence[LayerState]) -> int:
    """Return the exit status: without the layer ``host`` there is no baseline."""
    usable = {finding.layer for finding in findings if finding.state == "usable"}
    return DONE if "host" in usable else CANNOT


def examine(
    names: Sequence[str], userland: Userland | None = None, *, within_s: float = PROBE_S
) -> list[LayerState]:
    """Ask layers all at once; what runs for one that has not answered in time is ended."""
    host = Host()
    with ThreadPoolExecutor(len(names)) as pool:
        asked = [pool.submit(ask, name, host, userland) for name in names]
        try:
            wait(asked, within_s)
        finally:
            host.cancel()
    return [finding.result() for finding in asked]


def ask(name: str, host: Machine, userland: Userland | None = None) -> LayerState:
    """Ask one layer what it would use; a layer that breaks is a finding too."""
    try:
        kind = layer.kind(name)
        try:
            made = kind()
        except (TypeError, ValueError) as error:
            fix = f"in a study: {{stack: host/{name}, {name}: {{...}}}}; see tare list layers"
            return LayerState(layer=name, state="needs settings", reason=str(error), fix=fix)
        uses = made.probe(host, userland)
    except Cancelled:
        return LayerState(layer=name, state="broken", reason="did not answer in time")
    except Unavailable as error:
        return LayerState(layer=name, state="unavailable", reason=error.reason, fix=error.fix)
    except TareError as error:
        return LayerState(layer=name, state="broken", reason=str(error))
    except Exception as error:  # noqa: BLE001 - one broken layer must not hide the others
        return LayerState(layer=name, state="broken", reason=f"{type(error).__name__}: {error}")
    return LayerState(layer=name, state="simulated" if name == "sim" else "usable", uses=uses)


@contextmanager
def built_userland() -> Iterator[Userland | None]:
    """Return the userland of the quick study if it has been built; nothing is built for this."""
    workloads = load_study("quick").workloads
    packages = tuple(sorted({package for one in workloads for package in one.made.all_packages()}))
    with tempfile.NamedTemporaryFile(prefix="tare-doctor-") as file:
        ledger = Ledger(Path(file.name))
        try:
            userland = Userland("bookworm", packages, ledger, arch=architecture.HERE)
            yield userland if userland.is_built() else None
        finally:
            ledger.close()


def page(
    facts: Mapping[str, Scalar],
    stack: Sequence[detection.Detected],
    findings: Sequence[LayerState],
    advice: Sequence[NoiseSource],
) -> Iterator[RenderableType]:
    """Lay out what people read."""
    listed = [facts[name] for name in ("os", "cpu_model") if name in facts]
    kernel, cpus, memory = (facts.get(name) for name in ("kernel", "cpus", "memory_bytes"))
    listed += [f"kernel {kernel}"] if kernel else []
    listed += [f"{cpus} CPUs"] if cpus else []
    listed += [f"{float(memory) / 2**30:.1f} GiB"] if memory else []
    yield Text(", ".join(map(str, listed)) + "\n")

    yield Text.assemble(("This host is: ", "bold"), detection.summary(stack))
    for step in stack:
        yield Padding(Text(step.title), (0, 0, 0, 2))
        for sentence in step.evidence:
            yield Padding(Text(sentence, style="dim"), (0, 0, 0, 6))
    yield Text()

    yield Text("Layers", style="bold")
    layers = grid()
    for finding in findings:
        uses = ", ".join(_used(key, text) for key, text in finding.uses.items())
        state = Text(finding.state, style=STYLES.get(finding.state, "red"))
        layers.add_row(Text(finding.layer), state, Text(finding.reason or uses))
        if finding.fix:
            layers.add_row("", "", _fix(finding.fix))
    yield layers

    yield Text("\nWhat makes measurements here noisy or less trustworthy", style="bold")
    if not advice:
        yield Text("  nothing that Tare knows of")
    for one in advice:
        yield Padding(Text(one.what, style="yellow"), (0, 0, 0, 2))
        yield Padding(Text(one.why), (0, 0, 0, 6))
        yield Padding(_fix(one.fix), (0, 0, 0, 6))

    if status(findings) == DONE:
        yield Text("\nNext: tare run quick --report")
    else:
        yield Text("\nNothing can be measured here before the layer 'host' is usable.")


def grid() -> Table:
    """Make a table without borders, indented."""
    return Table.grid(padding=(0, 0, 0, 2), pad_edge=True)


def show(*parts: RenderableType) -> None:
    """Print to a terminal as wide as it is; elsewhere without wrapping, colour or padding."""
    wide = None if sys.stdout.isatty() else PIPED_WIDTH
    console = Console(width=wide, highlight=False, emoji=False)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _used(key: str, text: str) -> str:
    word = key.rpartition(".")[2]
    return text if word in text else f"{word} {text}"


def _fix(fix: str) -> Text:
    return Text.assemble(("Fix: ", "dim"), fix)
