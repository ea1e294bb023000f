"""Read files in a machine through Tare's agent there; ``reader`` uses a process instead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tare.experiment.probes.reader import ANSWER_S, Answer, Awaiting
from tare.machines.agent import AgentMachine, wire
from tare.machines.agent.client import LostAgent, Request

DEVICES = r"""
for at in "$0"/block/*/device "$0"/class/net/*/device; do
    [ ! -e "$at" ] || echo "$at"
done
"""
NAMED_S = 30.0
"""In guests of guests a command takes seconds."""


class AgentReader:
    """Asks the agent of a machine for files, from ``start`` to ``close``; see Reader.

    It costs no process inside, and nothing between two questions.
    """

    def __init__(self, machine: AgentMachine, paths: Sequence[Path], root: Path) -> None:
        self._machine, self._paths, self.root = machine, paths, root
        self._asked = wire.paths([str(path) for path in paths])
        self._request: Request | None = None
        self._has_started = False
        self.disks: set[bytes] = set()
        self.links: set[bytes] = set()
        self.reason = ""
        self.cost_s = 0.0
        self.listener: Awaiting | None = None

    def start(self) -> None:
        """Find out once which devices have hardware behind them, real or virtual."""
        if self._has_started or self.reason:
            return
        self._has_started = True
        argv = ["sh", "-c", DEVICES, str(self.root / "sys")]
        done = self._machine.run(argv, timeout_s=NAMED_S)
        if done.returncode != 0:
            why = done.stderr.decode(errors="replace").strip()
            self.close(f"the devices inside could not be listed: {why}")
            return
        for line in done.stdout.splitlines():
            *_, kind, name, _ = line.split(b"/")
            (self.disks if kind == b"block" else self.links).add(name)

    def ask(self) -> None:
        """Request a reading, unless one is due."""
        if self._request is not None or self.reason or not self._has_started:
            return
        try:
            self._request = self._machine.ask_for_files(self._asked)
        except LostAgent as error:
            self.reason = str(error)

    @property
    def owes(self) -> bool:
        """Whether an answer is outstanding."""
        return self._request is not None

    @property
    def is_late(self) -> bool:
        """Whether the outstanding answer is overdue."""
        return self._request is not None and self._request.age_s > ANSWER_S

    def answer(self, within_s: float | None = None) -> Answer | None:
        """Wait for the outstanding answer; None if it ends, or has none in time."""
        request = self._request
        if request is None:
            return None
        payload = request.answer(ANSWER_S if within_s is None else within_s)
        if payload is None:
            if request.client.reason:
                self.reason = self.reason or f"the agent inside is gone: {request.client.reason}"
            return None
        self._request, self.cost_s = None, request.cost_s
        cpu_s, found = wire.contents(payload)
        if len(found) != len(self._paths):
            self.close(f"the agent inside sent {len(found)} files, expected {len(self._paths)}")
            return None
        contents = tuple(
            content if isinstance(content, bytes) else f"{path}: {content}"
            for path, content in zip(self._paths, found, strict=True)
        )
        took_s = request.at_s - request.asked_s
        return Answer(request.asked_s + took_s / 2, took_s, cpu_s, contents)

    def close(self, reason: str = "its instance was removed") -> None:
        """Stop requesting; safe to call twice."""
        self.reason = self.reason or reason
