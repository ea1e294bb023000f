"""tare doctor: what this host can measure, and what would make it measure better."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tare import layer
from tare.errors import CommandTimedOut, TareError, Unavailable
from tare.facts import Advice, host_facts, noise
from tare.machine import Completed, Host
from tare.model import Scalar

if TYPE_CHECKING:
    from rich.console import Console

    from tare.userland import Userland

NAME = "doctor"
HELP = "say which layers this host can run, and what makes it noisy"

OK, UNUSABLE = 0, 3
PROBE_S = 40.0
COLOURS = {"usable": "green", "simulated": "cyan", "needs settings": "yellow"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What became of one layer: ``usable``, ``simulated``, ``needs settings``, ``missing``,
    ``broken``.
    """

    layer: str
    state: str
    uses: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    mend: str = ""


class BriefHost(Host):
    """The host for a limited time, after which no command is left running."""

    def __init__(self, lasts_s: float) -> None:
        self._ends_at = time.monotonic() + lasts_s

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60.0) -> Completed:
        """See Machine.run; raises CommandTimedOut where the host's time ends before timeout_s."""
        left_s = max(self._ends_at - time.monotonic(), 0.01)
        done = super().run(argv, stdin=stdin, timeout_s=min(left_s, timeout_s))
        if done.timed_out and left_s < timeout_s:
            raise CommandTimedOut(done, self.name)
        return done


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Examine this host; 0 if at least the layer ``host`` is usable, else 3."""
    from rich.console import Console

    console = Console(highlight=False)
    waiting = "asking each layer; where there is /dev/kvm a guest is booted once, up to 30 s"
    with Console(stderr=True).status(waiting), built_userland() as userland:
        findings = examine(userland)
    facts = host_facts(Host())
    advice = noise(facts)
    if options.json:
        report = {
            "layers": [asdict(finding) for finding in findings],
            "facts": facts,
            "noise": [asdict(one) for one in advice],
        }
        print(json.dumps(report, indent=2))
    else:
        show(console, findings, facts, advice)
    usable = {finding.layer for finding in findings if finding.state == "usable"}
    return OK if "host" in usable else UNUSABLE


def examine(userland: Userland | None = None) -> list[Finding]:
    """Ask all layers at once, each for a limited time."""
    names = layer.names()
    with ThreadPoolExecutor(len(names)) as pool:
        return list(pool.map(lambda name: examine_one(name, BriefHost(PROBE_S), userland), names))


def examine_one(name: str, host: Host, userland: Userland | None = None) -> Finding:
    """Ask one layer what it would use; a layer that breaks is a finding, too."""
    try:
        kind = layer.kind(name)
        try:
            made = kind()
        except (TypeError, ValueError) as error:
            return Finding(layer=name, state="needs settings", reason=str(error))
        uses = made.probe(host, userland)
    except Unavailable as error:
        return Finding(layer=name, state="missing", reason=error.reason, mend=error.mend)
    except TareError as error:
        return Finding(layer=name, state="broken", reason=str(error))
    except Exception as error:  # noqa: BLE001 - a layer is a plug-in: its bug is not ours
        return Finding(layer=name, state="broken", reason=f"{type(error).__name__}: {error}")
    state = "simulated" if name == "sim" else "usable"
    return Finding(layer=name, state=state, uses=uses)


@contextmanager
def built_userland() -> Iterator[Userland | None]:
    """Give the userland of the quick study where it has been built; nothing is built for this."""
    from tare.ledger import Ledger
    from tare.study import load_study
    from tare.userland import Userland

    chosen = load_study("quick").workloads
    packages = tuple(sorted({package for one in chosen for package in one.made.packages}))
    with tempfile.NamedTemporaryFile(prefix="tare-doctor-") as file:
        ledger = Ledger(Path(file.name))
        try:
            userland = Userland("bookworm", packages, ledger)
            yield userland if userland.is_built() else None
        finally:
            ledger.close()


def show(
    console: Console,
    findings: Sequence[Finding],
    facts: Mapping[str, Scalar],
    advice: Sequence[Advice],
) -> None:
    """Print for people."""
