"""Each platform works alone: a workload's command, in one instance, once a trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tare import scenario
from tare.errors import LayerError, LayerTimedOut, Unavailable
from tare.machine import Machine
from tare.scenario import Turn
from tare.trial.ends import NOT_IN_USERLAND, Ends, in_directory
from tare.workload import Workload

if TYPE_CHECKING:
    from tare.trial.measure import Outcome


class Scenario(scenario.Scenario[Workload]):
    """A workload's command in an instance of a platform that is open."""

    def prepare(self, turn: Turn[Workload]) -> None:
        """Make the directories of the instance's cells, and run what the workload prepares."""
        inside = turn.stack.machine
        machine, directory = _ends(turn).command_at()
        commands = []
        if turn.first:  # all at once: a command can take a second in a nested stack
            folders = [f"{turn.stack.workdir}/{name}" for name in turn.first]
            commands.append((inside, ["mkdir", "-p", *folders]))
        if machine is not inside:
            commands.append((machine, ["mkdir", "-p", directory]))
        prepare = turn.made.prepare()
        if prepare is not None:
            commands.append((machine, in_directory(directory, prepare)))
        for where, argv in commands:
            _run(where, argv, f"preparing {turn.cell.workload}", turn.deadline_s)

    def before(self, turn: Turn[Workload]) -> None:
        """Run what a workload wants to have run before each trial."""
        wanted = turn.made.before_trial()
        if wanted is not None:
            machine, directory = _ends(turn).command_at()
            what = f"preparing a trial of {turn.cell.workload}"
            _run(machine, in_directory(directory, wanted), what, turn.deadline_s)

    def measure(self, turn: Turn[Workload]) -> Outcome:
        """Run the command once."""
        from tare.trial.measure import measure

        with _ends(turn).joined() as command:
            return measure(turn.stack, turn.made, command, turn.deadline_s, turn.how, turn.at_start)


def _ends(turn: Turn[Workload]) -> Ends:
    return Ends(turn.stack, turn.made, turn.cell.id, turn.instance, turn.outside)


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
