"""Each platform works alone: a workload's command, and its roles, in instances of one platform."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from tare.core.errors import LayerError, LayerTimedOut, TareError, Unavailable
from tare.experiment import scenario
from tare.experiment.scenario import Turn
from tare.experiment.trial.cast import NOT_IN_USERLAND, Cast, in_directory
from tare.machines.machine import Machine
from tare.work.roles import COMMAND
from tare.work.workload import Workload

if TYPE_CHECKING:
    from tare.experiment.trial.measure import Outcome
    from tare.experiment.trial.seat import Seat


class Scenario(scenario.Scenario[Workload]):
    """A workload's command and its roles in instances of a platform that are open."""

    def parts(self, made: Workload) -> Sequence[str]:
        """See Scenario.parts: one for each role that has an instance of its own."""
        seats = made.cast().seats()
        return seats if len(seats) > 1 else ("",)

    def prepare(self, turn: Turn[Workload]) -> None:
        """Make the directories of the instances' cells, and run what the workload prepares."""
        prepare(turn, turn.seats)

    def before(self, turn: Turn[Workload]) -> None:
        """Run what a workload wants to have run before each trial."""
        before(turn, turn.seats)

    def measure(self, turn: Turn[Workload]) -> Outcome:
        """Run the command once."""
        from tare.experiment.trial.beside import measure_among
        from tare.experiment.trial.measure import measure

        first, *others = turn.seats
        with cast(turn, turn.seats).up() as command:
            if others:
                return measure_among(turn.seats, turn.made, command, turn.deadline_s)
            return measure(first, turn.made, command, turn.deadline_s)

    def measure_together(self, turns: Sequence[Turn[Workload]], gap_s: float) -> Sequence[Outcome]:
        """See Scenario.measure_together: each cell's command in its instance.

        One that is lost before its command begins leaves the others their trial.
        """
        from tare.experiment.trial.measure import Outcome, Run, lost
        from tare.experiment.trial.together import together

        missed, runs = dict[int, Outcome](), list[Run]()
        with ExitStack() as up:
            for number, turn in enumerate(turns):
                seat = turn.seats[0]
                try:
                    command = up.enter_context(cast(turn, turn.seats).up())
                    runs.append(Run(seat, turn.made, command, turn.deadline_s))
                except TareError as error:
                    missed[number] = lost(seat, error)
            measured = iter(together(runs, turns[0].host.cancel, gap_s) if runs else ())
            return [missed.get(number) or next(measured) for number in range(len(turns))]


def prepare(turn: Turn[Workload], seats: Sequence[Seat]) -> None:
    """Make the directories of some instances' cells, and run what a workload prepares in them.

    Only in those that the cell has not been run in.
    """
    cold = [seat for seat in seats if seat.is_cold]
    if not cold:
        return
    machine, directory = cast(turn, seats).at(COMMAND)
    commands = []
    for seat in cold:
        if seat.first:  # all at once: a command can take a second in a nested stack
            folders = [f"{seat.stack.workdir}/{name}" for name in seat.first]
            commands.append((seat.stack.machine, ["mkdir", "-p", *folders]))
    inside = [seat.stack.machine for seat in seats]
    if machine not in inside:
        commands.append((machine, ["mkdir", "-p", directory]))
    wanted = turn.made.prepare()
    is_apart = machine not in inside
    if wanted is not None and (is_apart or machine in [seat.stack.machine for seat in cold]):
        commands.append((machine, in_directory(directory, wanted)))
    for where, argv in commands:
        _run(where, argv, f"preparing {turn.cell.workload}", turn.deadline_s)


def before(turn: Turn[Workload], seats: Sequence[Seat]) -> None:
    """Run what a workload wants to have run before each trial in some instances."""
    wanted = turn.made.before_trial()
    if wanted is not None:
        machine, directory = cast(turn, seats).at(COMMAND)
        what = f"preparing a trial of {turn.cell.workload}"
        _run(machine, in_directory(directory, wanted), what, turn.deadline_s)


def cast(turn: Turn[Workload], seats: Sequence[Seat]) -> Cast:
    """Put the roles of a workload into some instances."""
    return Cast(turn.made.cast(), turn.cell.id, seats, turn.peer, turn.kept, turn.ledger)


def _run(where: Machine, argv: Sequence[str], what: str, deadline_s: float) -> None:
    """Run what prepares trials; raises Unavailable or LayerError that says what it was."""
    done = where.run(argv, timeout_s=deadline_s)
    why = (done.stderr or done.stdout).decode(errors="replace").strip()[-300:]
    if done.timed_out:
        raise LayerTimedOut(f"{what} did not end within {deadline_s:.0f} s")
    if done.returncode in NOT_IN_USERLAND:
        raise Unavailable(f"{what}: {why}; the machine inside lacks the tool")
    if done.returncode != 0:
        raise LayerError(f"{what} failed: {why or f'exit status {done.returncode}'}")
