"""Each platform works alone: a workload's command, in one instance, once a trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tare import scenario
from tare.errors import LayerError, LayerTimedOut, Unavailable
from tare.machine import Machine
from tare.scenario import Seat, Turn
from tare.trial.ends import NOT_IN_USERLAND, Ends, in_directory
from tare.workload import Workload

if TYPE_CHECKING:
    from tare.trial.measure import Outcome


class Scenario(scenario.Scenario[Workload]):
    """A workload's command in an instance of a platform that is open."""

    def prepare(self, turn: Turn[Workload]) -> None:
        """Make the directories of the instance's cells, and run what the workload prepares."""
        for seat in turn.seats:
            prepare(turn, seat)

    def before(self, turn: Turn[Workload]) -> None:
        """Run what a workload wants to have run before each trial."""
        for seat in turn.seats:
            before(turn, seat)

    def measure(self, turn: Turn[Workload]) -> Outcome:
        """Run the command once."""
        from tare.trial.measure import measure

        (seat,) = turn.seats
        with ends(turn, seat).joined() as command:
            return measure(seat.stack, turn.made, command, turn.deadline_s, seat.how, turn.at_start)


def prepare(turn: Turn[Workload], seat: Seat) -> None:
    """Make the directories of an instance's cells, and run what a workload prepares there."""
    inside = seat.stack.machine
    machine, directory = ends(turn, seat).command_at()
    commands = []
    if seat.first:  # all at once: a command can take a second in a nested stack
        folders = [f"{seat.stack.workdir}/{name}" for name in seat.first]
        commands.append((inside, ["mkdir", "-p", *folders]))
    if machine is not inside:
        commands.append((machine, ["mkdir", "-p", directory]))
    wanted = turn.made.prepare()
    if wanted is not None:
        commands.append((machine, in_directory(directory, wanted)))
    for where, argv in commands:
        _run(where, argv, f"preparing {turn.cell.workload}", turn.deadline_s)


def before(turn: Turn[Workload], seat: Seat) -> None:
    """Run what a workload wants to have run before each trial in an instance."""
    wanted = turn.made.before_trial()
    if wanted is not None:
        machine, directory = ends(turn, seat).command_at()
        what = f"preparing a trial of {turn.cell.workload}"
        _run(machine, in_directory(directory, wanted), what, turn.deadline_s)


def ends(turn: Turn[Workload], seat: Seat) -> Ends:
    """Give the machines of a workload's two ends in an instance."""
    return Ends(seat.stack, turn.made, turn.cell.id, seat.instance, turn.outside)


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
