"""The warm instances of every platform: opened before the first trial, paused unless measured."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from tare import layer
from tare.errors import CommandFailed, LayerError, LayerTimedOut, TareError, Unavailable
from tare.limits import readback
from tare.model import Cell, Limits, Status
from tare.runner.progress import Progress
from tare.runner.session import Session
from tare.stack import Stack, open_stack
from tare.study import Platform

Key = tuple[str, bool, Limits]


def key(cell: Cell) -> Key:
    """Say which set of instances a cell is run on: the control has some of its own."""
    return cell.platform, cell.control, cell.limits


@dataclass
class Member:
    """One warm instance; ``warmed`` are the cells that had their first trial in it."""

    label: str
    stack: Stack
    warmed: set[str] = field(default_factory=set)
    reopened: int = 0
    start_s: float = 0.0


@dataclass
class Fleet:
    """The instances of one platform under one set of limits, or why there are none."""

    platform: Platform
    limits: Limits
    name: str
    members: list[Member] = field(default_factory=list)
    status: Status = Status.OK
    reason: str = ""
    warnings: list[str] = field(default_factory=list)
    inside: readback.Inside | None = None
    probe: Mapping[str, str] = field(default_factory=dict)

    def close(self, status: Status, reason: str) -> None:
        """Give the platform up; whatever still runs is removed."""
        self.status, self.reason = status, reason
        for member in self.members:
            try:
                member.stack.close()
            except LayerError as error:  # it stays in the ledger, and the session's end tries again
                self.warnings.append(str(error))
        self.members.clear()


class Pool:
    """All fleets of a session."""

    def __init__(self, session: Session, deadline_s: float, progress: Progress) -> None:
        self.session, self.deadline_s, self.progress = session, deadline_s, progress
        self.fleets: dict[Key, Fleet] = {}

    def open_all(self, wanted: Mapping[Key, Platform], instances: int) -> None:
        """Open every instance of every platform, some at a time; failures close their fleet."""
        for number, (which, platform) in enumerate(wanted.items()):
            self.fleets[which] = Fleet(platform, which[2], f"p{number}")
            self._probe(self.fleets[which])
        jobs = [
            (fleet, index)
            for index in range(instances)
            for fleet in self.fleets.values()
            if fleet.status is Status.OK
        ]
        with ThreadPoolExecutor(max_workers=len(self.session.everything)) as workers:
            try:
                list(workers.map(lambda job: self._open_one(*job), jobs))
            except BaseException:
                workers.shutdown(wait=False, cancel_futures=True)
                self.session.host.cancel()
                raise
        for fleet in self.fleets.values():
            fleet.members.sort(key=lambda member: member.label)

    def reopen(self, fleet: Fleet, member: Member) -> None:
        """Replace an instance that no longer answers; on failure the fleet is closed."""
        fleet.members.remove(member)
        try:
            member.stack.close()
            fresh = self._open(fleet, f"{member.label.split('r')[0]}r{member.reopened + 1}")
        except TareError as error:
            fleet.close(_status(error), f"an instance was lost and could not be replaced: {error}")
            return
        fresh.reopened = member.reopened + 1
        fresh.stack.pause()
        fleet.members.append(fresh)
        fleet.members.sort(key=lambda other: other.label)

    def _probe(self, fleet: Fleet) -> None:
        outermost, settings = fleet.platform.layers[0]
        try:
            made = layer.load(outermost, **dict(settings))
            userland = self.session.userland if "kvm" in outermost or "qemu" in outermost else None
            fleet.probe = made.probe(self.session.host, userland)
        except TareError as error:
            fleet.status, fleet.reason = _status(error), str(error)

    def _open_one(self, fleet: Fleet, index: int) -> None:
        if fleet.status is not Status.OK:
            return
        self.progress.says(f"starting {fleet.platform.name}, instance {index + 1}")
        try:
            member = self._open(fleet, str(index))
            self._check(fleet, member)
            member.stack.pause()
        except TareError as error:
            fleet.close(_status(error), str(error))
            return
        if fleet.status is Status.OK:
            fleet.members.append(member)
        else:
            member.stack.close()

    def _open(self, fleet: Fleet, label: str) -> Member:
        start = time.monotonic()
        layers = [layer.load(name, **dict(settings)) for name, settings in fleet.platform.layers]
        site = self.session.site(f"{fleet.name}-{label}", fleet.limits, self.deadline_s)
        stack = open_stack(self.session.host, layers, site)
        return Member(label, stack, start_s=time.monotonic() - start)

    def _check(self, fleet: Fleet, member: Member) -> None:
        """Read back what is really given inside; the first instance's reading is stored."""
        try:
            inside = member.stack.inside()
        except CommandFailed as error:
            raise LayerError(f"its limits could not be read back inside: {error}") from error
        fleet.inside = inside
        refusals = readback.refusals(fleet.limits, inside)
        if refusals:
            raise LayerError(f"it does not get the same resources: {'; '.join(refusals)}")
        for warning in readback.warnings(fleet.limits, inside):
            if warning not in fleet.warnings:
                fleet.warnings.append(warning)


@contextmanager
def running(member: Member) -> Iterator[Stack]:
    """Let an instance have CPU time for as long as it is measured."""
    member.stack.resume()
    try:
        yield member.stack
    finally:
        member.stack.pause()


def _status(error: TareError) -> Status:
    if isinstance(error, Unavailable):
        return Status.UNAVAILABLE
    return Status.DNR if isinstance(error, LayerTimedOut) else Status.FAILED
