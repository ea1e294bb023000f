"""Make the contexts of trials: what is measured, where, with which peer, for how long."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

from tare.core.model import Cell, Kind, Placement, Plan, Variant
from tare.experiment import scenario
from tare.experiment.run.cell_run import CellRun
from tare.experiment.run.instance_set import Member, key, keys
from tare.experiment.run.peers import Peers
from tare.experiment.run.pool import Pool
from tare.experiment.run.resolved_study import ResolvedStudy
from tare.experiment.scenario import TrialContext
from tare.experiment.trial.calibrations import Calibrations
from tare.experiment.trial.placed_part import PlacedPart
from tare.experiment.trial.watch import WatchSettings
from tare.machines.layer import Layer, Site
from tare.work.workload import Measured


class Contexts:
    """Makes the context in which a scenario runs a cell once."""

    def __init__(
        self,
        resolved: ResolvedStudy,
        plan: Plan,
        pool: Pool,
        peers: Peers,
        calibrations: Calibrations,
    ) -> None:
        self._study, self._measured = resolved.study, resolved.measured
        self._plan, self._pool, self._session = plan, pool, pool.session
        self._peers, self._calibrations = peers, calibrations
        self._by_agent = scenario.load(self._study.scenario).by_agent
        self._lives = itertools.count(1)

    def made(self, cell: Cell) -> Measured:
        """Return what a cell runs."""
        return self._measured[cell.workload, cell.params]

    def of(self, one: CellRun, kind: Kind) -> TrialContext[Measured]:
        """Return the context of the next trial of a cell."""
        cell = one.cell
        made = self.made(cell)
        placed_parts = [
            self._placed(cell, placement, member, kind)
            for placement, member in zip(one.placements, one.members, strict=True)
        ]
        return TrialContext(
            cell=cell,
            made=made,
            kind=kind,
            host=self._session.host,
            placed_parts=placed_parts,
            peer=self._peers.of(cell.limits, made, one.cpu_sets, self._pool.headroom),
            kept=self._peers.kept,
            ledger=self._session.ledger,
            deadline_s=self._study.deadlines.for_trial(made.expected_s()),
            fresh=partial(self.fresh, cell, one.members[0]),
            calibrations=self._calibrations,
        )

    def fresh(
        self, cell: Cell, member: Member, count: int, first: int = 0
    ) -> list[tuple[Layer, Site]]:
        """Return the innermost layer and a site for each of some made that a trial makes.

        ``first`` is how many the trial has already: each has the next set of CPUs.
        """
        if self._pool.headroom is not None:
            self._pool.headroom.before_trial(cell.platform, cell.limits, count)
        instances = self._pool.instance_sets[key(cell)]
        life = next(self._lives)  # of trials that make instances in several threads at once
        made = []
        for number in range(count):
            name = f"{instances.name}-{member.label}-{life}-{number}"
            deadline_s = self._study.deadlines.start_s
            site = self._session.site(name, cell.limits, deadline_s, first + number)
            # It has the CPUs of what it is made in.
            layer, cpuset = instances.platform.made[-1], member.stack.cpuset or site.cpuset
            agents = site.agents if self._by_agent else None
            made.append((layer, replace(site, cpuset=cpuset, agents=agents)))
        return made

    def instance(self, member: Member) -> str:
        """Return the name of an instance in the trials of this session."""
        return f"{self._session.id}-{member.label}"

    def _placed(self, cell: Cell, placement: Placement, member: Member, kind: Kind) -> PlacedPart:
        is_new, home = not member.warmed, key(cell, platform=placement.platform)
        return PlacedPart(
            part=placement.part,
            platform=placement.platform,
            instance=self.instance(member),
            stack=member.stack,
            how=WatchSettings(
                cpus=self._session.cpus_under(cell.limits, member.number),
                hertz=self._study.readings_per_s,
                closely=kind is Kind.WARMUP,
                foreign_counts=self._plan.repetition.variant is Variant.WALL,
                reader=member.reader,
            ),
            first=[one.id for one in self._plan.cells if is_new and home in keys(one)],
            is_cold=cell.id not in member.warmed,
            kept=member.kept,
        )
