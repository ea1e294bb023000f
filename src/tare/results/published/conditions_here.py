"""The hardware, software and repetition of a study, and our facts that stand for each.

Conditions of a study are words; which of our stored facts is the same thing follows from what they
are called (``what``). Ours are the facts that were stored with the results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tare.core.model import Cell, Facts, Scalar
from tare.results.compare.comparison import Comparison
from tare.results.published.counterparts import Measure, made_of
from tare.results.published.rows import Row
from tare.results.published.setup import Condition, Setup
from tare.results.published.setup_difference import (
    NOT_RECORDED,
    SetupDifference,
    Topic,
    experiment_of,
    level_text,
)

HARDWARE, SOFTWARE = "hardware", "software"
HOSTS = frozenset({"host", "hosts", "node", "kernel of the host"})
NETWORKED = ("iperf", "netperf", "web_")
"""What the names of workloads with an end on another machine begin with."""
GUESTS = frozenset({"kvm", "qemu-tcg", "xen", "esxi"})
QEMU = frozenset({"kvm", "qemu-tcg"})
TOOLS = {"LINPACK": ("linpack", "libopenblas"), "STREAM": ("stream", "gcc")}
"""The workload of a benchmark with no package of its own, and what it is made with."""
GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRow:
    """One of our comparisons with a row: what was measured, on what, against what."""

    row: Row
    measure: Measure
    cell: Cell
    baseline: Cell | None

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cell and its baseline."""
        return (self.cell, *([self.baseline] if self.baseline else []))

    def with_word(self, words: frozenset[str]) -> Cell | None:
        """Return the cell whose stack has one of some layers, as studies call them."""
        stacks = ((cell, set(made_of(cell.path).split("/"))) for cell in self.cells)
        return next((cell for cell, layers in stacks if layers & words), None)


def condition_differences(
    setup: Setup | None, facts: Facts, of: MeasuredRow
) -> Iterator[SetupDifference]:
    """List the hardware and software of the study that concern a comparison, each with ours."""
    if setup is None:
        return
    for topic, read in ((HARDWARE, _hardware), (SOFTWARE, _software)):
        for condition in setup.conditions.get(topic, ()):
            ours = read(condition, facts, of)
            if condition.value is not None and ours is not None and condition.value not in ours:
                yield SetupDifference(
                    Topic(topic),
                    condition.what,
                    ours or NOT_RECORDED,
                    condition.value,
                    condition.section,
                )


def repetition_differences(
    setup: Setup | None, measure: Measure, ours: Comparison
) -> Iterator[SetupDifference]:
    """Compare the number of runs with that of our pairs."""
    experiment = experiment_of(setup, measure)
    presets = {one.name: one for one in setup.presets} if setup else {}
    preset = presets.get(experiment.preset or "") if experiment else None
    for one in preset.repetition if preset else ():
        if one.values and ours.pairs not in one.values:
            theirs = " or ".join(level_text("runs", value) for value in one.values)
            yield SetupDifference(Topic.REPETITION, "runs", f"{ours.pairs}", theirs, one.section)


def host_text(facts: Facts) -> str:
    """Describe the host that ours was measured on; empty if nothing of it was stored."""
    host = facts.host
    said = [f"{host['cpu_model']}"] if "cpu_model" in host else []
    if "cpus" in host:
        said.append(f"{host['cpus']} CPUs")
    if (memory := _number(host.get("memory_bytes"))) is not None:
        said.append(f"{memory / GIB:.1f} GiB")
    if host.get("hypervisor"):
        said.append(f"itself a guest of {host['hypervisor']}")
    return ", ".join(said)


def system_text(facts: Facts) -> str:
    """Describe the operating system of the host."""
    host = facts.host
    said = [f"{host['os']}"] if host.get("os") else []
    return ", ".join([*said, *([f"kernel {host['kernel']}"] if host.get("kernel") else [])])


def _hardware(condition: Condition, facts: Facts, of: MeasuredRow) -> str | None:
    """Return ours of a condition, None where it does not concern a comparison."""
    what = condition.what
    if what in HOSTS or (what.startswith("host of ") and _names(what, of)):
        return host_text(facts)
    if "network" in what and of.measure.workload.startswith(NETWORKED):
        return ", ".join(f"{name} {value}" for name, value in facts.peer.items())
    return None


def _names(what: str, of: MeasuredRow) -> bool:
    """Whether a condition is of what a row measured: "host of AIM7" of AIM7."""
    words = what.removeprefix("host of ").casefold().split(" and ")
    measured = f"{of.row.table} {of.row.experiment} {of.row.workload}".casefold()
    return any(word in measured for word in words)


def _software(condition: Condition, facts: Facts, of: MeasuredRow) -> str | None:
    """Return ours of a condition, None where it does not concern a comparison."""
    what = condition.what
    if what in HOSTS:
        return system_text(facts)
    container = of.with_word(frozenset({"docker"}))
    guest = of.with_word(GUESTS)
    if " in the " in what:
        place = container if "container" in what else guest
        return None if place is None else _version(facts, what.split()[0])
    if "storage" in what:
        return None if container is None else _storage(facts, container)
    if what.startswith("Docker"):
        return None if container is None else _probed(facts, container, "docker.version")
    if what == "Xen":
        xen = of.with_word(frozenset({"xen"}))
        return None if xen is None else _probed(facts, xen, "xen.version")
    if what in ("KVM", "virtual machines", "QEMU version"):
        qemu = of.with_word(QEMU)
        return None if qemu is None else _probed(facts, qemu, "qemu.version")
    if what == "guests":
        return None if guest is None else _guest_system(facts, guest)
    return _tool(what, facts, of)


def _tool(what: str, facts: Facts, of: MeasuredRow) -> str | None:
    if what in TOOLS:
        workload, package = TOOLS[what]
        return _version(facts, package) if of.measure.workload == workload else None
    return _version(facts, what) if of.measure.workload.startswith(what.casefold()) else None


def _version(facts: Facts, package: str) -> str:
    """Return the version in the userland of a package, or of the first that begins so."""
    versions = facts.userland.versions
    names = [package, *(name for name in versions if name.startswith(package))]
    return next((f"{name} {versions[name]}" for name in names if name in versions), "")


def _storage(facts: Facts, cell: Cell) -> str:
    """Return the storage driver that was asked for, or else the file system seen inside."""
    asked = dict(cell.settings).get("docker.storage_driver")
    seen = facts.platform(cell.platform).preconditions.values.get("filesystem")
    return f"{asked}" if asked else f"filesystem {seen}" if seen else ""


def _probed(facts: Facts, cell: Cell, name: str) -> str:
    return f"{facts.platform(cell.platform).probe.get(name, '')}"


def _guest_system(facts: Facts, cell: Cell) -> str:
    known = facts.platform(cell.platform)
    kernel = known.preconditions.values.get("kernel") or facts.userland.kernel
    return f"kernel {kernel}" if kernel else ""


def _number(value: Scalar | None) -> float | None:
    return float(value) if isinstance(value, int | float) else None
