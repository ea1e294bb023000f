"""Time one lifecycle trial: create, boot, reboot, stop, start and delete instances."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tare.core.completed import Completed
from tare.core.errors import CommandFailed, LayerError, LayerTimedOut, TareError, Unavailable
from tare.core.model import Status
from tare.experiment.host.facts import available_bytes
from tare.experiment.probes import noise
from tare.experiment.probes.timeline import Timeline
from tare.experiment.scenarios._lifecycle_declaration import (
    HOST_CPU,
    HOST_MEMORY,
    TOTAL,
    Cache,
    Lifecycle,
)
from tare.experiment.trial.measure import Outcome, status_of, suspected
from tare.experiment.trial.placed_part import PlacedPart
from tare.machines.cgroup import readback
from tare.machines.instance import Instance
from tare.machines.layer import Layer, Site
from tare.machines.machine import Host, Machine, check

DROP_CACHES = ["sh", "-c", "sync; echo 3 > /proc/sys/vm/drop_caches"]
DROP_S = 120.0


@dataclass
class _Life:
    """One instance from its making to its removal; ``log`` has [verb, from_s, to_s]."""

    outer: Machine
    layer: Layer
    site: Site
    instance: Instance | None = None
    log: list[tuple[str, float, float]] = field(default_factory=list)

    def create(self) -> None:
        self.instance = self.layer.create(self.outer, self.site)

    def boot(self) -> None:
        self._made.start()
        self._made.ready()

    def soft_reboot(self) -> None:
        self._made.reboot()
        self._made.ready()

    def hard_reboot(self) -> None:
        self._made.reboot(hard=True)
        self._made.ready()

    def stop(self) -> None:
        self._made.stop()

    def delete(self) -> None:
        self.site.scope.close()

    def hold(self) -> None:
        self._made.hold()
        self._made.confine(self.outer, self.site.limits)

    @property
    def _made(self) -> Instance:
        assert self.instance is not None, "create comes first"  # noqa: S101
        return self.instance


class _Trial:
    """What is measured, as far as it has come."""

    def __init__(self, host: Host, lives: Sequence[_Life], what: Lifecycle) -> None:
        self.host, self.lives, self.what = host, lives, what
        self.samples: dict[str, float] = {}
        self.warnings: list[str] = []
        self.begin = time.monotonic()
        self.cpu_s = 0.0

    def run(self) -> None:
        """Run all phases but the removal; an error names its phase."""
        free = available_bytes()
        self._phase("create", _Life.create)
        self._phase("boot", _Life.boot)
        self._memory(free)
        self._read_back()
        if self.what.reboots:
            self._phase("soft_reboot", _Life.soft_reboot, optional=True)
            self._phase("hard_reboot", _Life.hard_reboot, optional=True)
        if self._phase("stop", _Life.stop, optional=True):
            self._phase("start", _Life.boot)

    def delete(self) -> None:
        """Remove all that was made, however far it has come."""
        self._phase("delete", _Life.delete)

    def add_up(self) -> None:
        """Make the metrics that are over all phases."""
        phases = {metric.name for metric in self.what.metrics} - {
            TOTAL.name, HOST_CPU.name, HOST_MEMORY.name,
        }  # fmt: skip
        if not self.what.reboots:
            phases -= {"soft_reboot", "hard_reboot"}
        if phases <= self.samples.keys():
            self.samples[TOTAL.name] = sum(self.samples[name] for name in phases)
        self.samples[HOST_CPU.name] = round(max(self.cpu_s, 0.0), 3)  # ticks are 10 ms

    def _phase(self, name: str, verb: Callable[[_Life], None], *, optional: bool = False) -> bool:
        """Run a verb of all instances at once and time it; False where a layer has no such verb."""
        cpu_s, begin = _busy_s(), time.monotonic()

        def one(life: _Life) -> None:
            start = time.monotonic()
            try:
                verb(life)
            finally:
                life.log.append((name, start - self.begin, time.monotonic() - self.begin))

        try:
            self._together(one)
        except Unavailable as error:
            if not optional:
                raise
            self.warnings.append(f"{name.replace('_', ' ')}: {error}")
            return False
        except CommandFailed as error:
            raise LayerError(f"{name.replace('_', ' ')}: {error}") from error
        except LayerTimedOut as error:
            raise LayerTimedOut(f"{name.replace('_', ' ')}: {error}") from error
        except LayerError as error:
            raise LayerError(f"{name.replace('_', ' ')}: {error}") from error
        self.samples[name] = time.monotonic() - begin
        self.cpu_s += _busy_s() - cpu_s
        if name in ("boot", "soft_reboot", "hard_reboot", "start"):
            self._together(_Life.hold)
        return True

    def _together(self, one: Callable[[_Life], None]) -> None:
        if len(self.lives) == 1:
            one(self.lives[0])
            return
        with ThreadPoolExecutor(max_workers=len(self.lives)) as threads:
            asked = [threads.submit(one, life) for life in self.lives]
            try:
                failures = [error for future in asked if (error := future.exception())]
            except BaseException:  # an interrupt of the waiting thread: all others must stop
                self.host.cancel()
                raise
        if failures:
            first = failures[0]
            if isinstance(first, TareError) and len(failures) > 1:
                first.add_note(f"and {len(failures) - 1} more of {len(self.lives)} failed")
            raise first

    def _memory(self, before: int) -> None:
        used = before - available_bytes()
        if used > 0:
            self.samples[HOST_MEMORY.name] = float(used)
        else:
            self.warnings.append("host memory: more is available than before, so others freed some")

    def _read_back(self) -> None:
        life = self.lives[0]
        assert life.instance is not None  # noqa: S101 - it has booted
        try:
            inside = life.instance.inside()
            held = life.instance.held(life.outer)
        except CommandFailed as error:
            raise LayerError(f"its limits could not be read back inside: {error}") from error
        inside = replace(inside, quota_cpus=held.quota_cpus if held else None, group=held)
        limits = life.layer.held_to(life.site.limits)
        refusals = readback.refusals(limits, inside, life.instance.cpuset)
        if refusals:
            raise LayerError(f"it does not get the same resources: {'; '.join(refusals)}")


def measure(
    host: Host, placed: PlacedPart, instances: Sequence[tuple[Layer, Site]], what: Lifecycle
) -> Outcome:
    """Run one trial on a machine, with a layer and a site for each instance.

    What goes wrong is an outcome, not an error, and whatever was made is removed.
    """
    outer, how = placed.stack.machine, placed.how
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    if what.cache is Cache.COLD:
        for machine in dict.fromkeys((host, outer)):
            check(machine, DROP_CACHES, timeout_s=DROP_S)
    lives = [_Life(outer, layer, site) for layer, site in instances]
    trial = _Trial(host, lives, what)
    count = len(how.cpus)
    before = noise.read(how.cpus)
    status, reason = Status.OK, ""
    with Timeline(None, how.cpus, how.hertz, instruments=how.instruments) as timeline:
        try:
            trial.run()
        except TareError as error:
            notes = getattr(error, "__notes__", ())
            status, reason = status_of(error), " ".join([str(error), *notes])
        except BaseException:
            host.cancel()
            raise
        try:
            trial.delete()
        except TareError as error:
            if status is Status.OK:
                status, reason = status_of(error), str(error)
        took_s = time.monotonic() - trial.begin
    if status is Status.OK:
        trial.add_up()
    seen = noise.between(before, noise.read(how.cpus), took_s, count, None)
    complaints = noise.disturbances(seen, took_s, count)
    said = {life.site.name: life.log for life in lives}
    raw = Completed(("lifecycle",), 0, json.dumps(said, indent=1).encode(), b"", took_s)
    outcome = Outcome(
        instance=placed.instance,
        status=status,
        reason=reason,
        started_at=started_at,
        duration_s=took_s,
        samples=trial.samples if status is Status.OK else {},
        phases_s={"phases": took_s},
        warnings=(*trial.warnings, *complaints),
        noise=seen,
        cpuset=placed.cpuset,
        completed=raw,
        timeline=timeline,
    )
    return suspected(outcome)


def _busy_s() -> float:
    """Read how long the host's CPUs were busy since boot, without Tare's own process."""
    own = os.times()
    busy_s, _ = noise.cpu_times(range(os.cpu_count() or 1))
    return busy_s - own.user - own.system
