"""The scenario ``solo``: run a workload's command and its roles in instances of one platform."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from tare.core.errors import TareError
from tare.experiment import scenario
from tare.experiment.scenario import TrialContext
from tare.experiment.trial.role_placement import RolePlacement, in_directory, run_before
from tare.work.roles import COMMAND
from tare.work.workload import Workload

if TYPE_CHECKING:
    from tare.experiment.trial.measure import Outcome
    from tare.experiment.trial.placed_part import PlacedPart


class Scenario(scenario.Scenario[Workload]):
    """A workload's command and its roles in instances of a platform that are open."""

    def parts(self, made: Workload) -> Sequence[str]:
        """See Scenario.parts: one for each role that has an instance of its own."""
        placed_parts = made.all_roles().homes()
        return placed_parts if len(placed_parts) > 1 else ("",)

    def prepare(self, context: TrialContext[Workload]) -> None:
        """Make the directories of the instances' cells, and run what the workload prepares."""
        prepare(context, context.placed_parts)

    def before(self, context: TrialContext[Workload]) -> None:
        """Run what a workload wants to have run before each trial."""
        before(context, context.placed_parts)

    def measure(self, context: TrialContext[Workload]) -> Outcome:
        """Run the command once."""
        from tare.experiment.trial.distributed import measure_distributed
        from tare.experiment.trial.measure import measure

        first, *others = context.placed_parts
        with place_roles(context, context.placed_parts).up() as command:
            if others:
                return measure_distributed(
                    context.placed_parts, context.made, command, context.deadline_s
                )
            return measure(first, context.made, command, context.deadline_s)

    def measure_together(
        self, contexts: Sequence[TrialContext[Workload]], gap_s: float
    ) -> Sequence[Outcome]:
        """See Scenario.measure_together: each cell's command in its instance.

        One that is lost before its command begins leaves the others their trial.
        """
        from tare.experiment.trial.measure import CommandRun, Outcome, lost
        from tare.experiment.trial.rendezvous import run_together

        missed, runs = dict[int, Outcome](), list[CommandRun]()
        with ExitStack() as up:
            for number, context in enumerate(contexts):
                placed = context.placed_parts[0]
                try:
                    command = up.enter_context(place_roles(context, context.placed_parts).up())
                    runs.append(CommandRun(placed, context.made, command, context.deadline_s))
                except TareError as error:
                    missed[number] = lost(placed, error)
            measured = iter(run_together(runs, contexts[0].host.cancel, gap_s) if runs else ())
            return [missed.get(number) or next(measured) for number in range(len(contexts))]


def prepare(context: TrialContext[Workload], placed_parts: Sequence[PlacedPart]) -> None:
    """Make the directories of some instances' cells, and run what a workload prepares in them.

    Only in those that the cell has not been run in.
    """
    cold = [placed for placed in placed_parts if placed.is_cold]
    if not cold:
        return
    machine, directory = place_roles(context, placed_parts).at(COMMAND)
    commands = []
    for placed in cold:
        if placed.first:  # all at once: a command can take a second in a nested stack
            folders = [f"{placed.stack.workdir}/{name}" for name in placed.first]
            commands.append((placed.stack.machine, ["mkdir", "-p", *folders]))
    inside = [placed.stack.machine for placed in placed_parts]
    if machine not in inside:
        commands.append((machine, ["mkdir", "-p", directory]))
    wanted = context.made.prepare()
    is_apart = machine not in inside
    if wanted is not None and (is_apart or machine in [placed.stack.machine for placed in cold]):
        commands.append((machine, in_directory(directory, wanted)))
    for where, argv in commands:
        run_before(where, argv, f"preparing {context.cell.workload}", context.deadline_s)


def before(context: TrialContext[Workload], placed_parts: Sequence[PlacedPart]) -> None:
    """Run what a workload wants to have run before each trial in some instances."""
    wanted = context.made.before_trial()
    if wanted is not None:
        machine, directory = place_roles(context, placed_parts).at(COMMAND)
        what = f"preparing a trial of {context.cell.workload}"
        run_before(machine, in_directory(directory, wanted), what, context.deadline_s)


def place_roles(
    context: TrialContext[Workload], placed_parts: Sequence[PlacedPart]
) -> RolePlacement:
    """Put the roles of a workload into some instances."""
    return RolePlacement(
        context.made.all_roles(),
        context.cell.id,
        placed_parts,
        context.peer,
        context.kept,
        context.ledger,
        context.deadline_s,
    )
