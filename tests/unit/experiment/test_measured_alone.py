"""A trial of the workload alone that a derived reservation asks for before its turn."""

from types import SimpleNamespace

import pytest

from tare.core.errors import LayerError
from tare.core.model import Kind, Placement, Slot, Status
from tare.experiment.run.cell_run import CellRun
from tare.experiment.run.instance_set import InstanceSet, Member
from tare.experiment.run.slots import Slots
from unit.makers import make_cell, make_trial

CELL = make_cell("host")
SLOT = Slot(block=0, slot=0, cell=CELL.id, placements=(Placement(instance=0),))


class Stack:
    """One that is paused, or cannot be."""

    def __init__(self, *, pauses):
        self.pauses = pauses

    def resume(self):
        pass

    def pause(self):
        if not self.pauses:
            raise LayerError("it does not pause")


class Alone(Slots):
    """Slots of one cell, whose only trial is what a test says; ``replaced`` are whose were seen to.

    A status that is an error keeps the trial from being run.
    """

    def __init__(self, status, *, pauses):
        self.status, self.replaced = status, []
        self.plan = SimpleNamespace(slots=(SLOT,))
        self.contexts = SimpleNamespace(instance=lambda member: "s-0")
        self.stored = SimpleNamespace(trials=())
        member = Member(index=0, stack=Stack(pauses=pauses), warmed={CELL.id})
        home = InstanceSet(None, CELL.limits, "p0", [member])
        self.cell_run = CellRun(CELL, 0, SLOT.placements, [home], [member])

    def _running(self, slot, number):
        return self.cell_run

    def _before(self, one, kind):
        assert kind is Kind.WARMUP

    def _trial(self, slot, runs, contexts, kind, *, repeat=0):
        if isinstance(self.status, LayerError):
            raise self.status
        return [make_trial(CELL, 0, kind=kind, status=self.status)]

    def _has_replaced(self, one):
        self.replaced.append(one)
        return True


@pytest.mark.parametrize(
    ("status", "pauses", "is_seen_to"),
    [
        (Status.OK, True, False),
        (Status.SUSPECT, True, False),
        (Status.OK, False, True),
        (Status.FAILED, True, True),
        (Status.DNR, True, True),
    ],
)
def test_an_instance_that_was_lost_or_not_paused_is_replaced(status, pauses, is_seen_to):
    slots = Alone(status, pauses=pauses)

    slots._measure_alone(SLOT, CELL)

    assert slots.replaced == ([slots.cell_run] if is_seen_to else [])


def test_an_instance_in_which_no_trial_could_be_run_is_replaced_too():
    slots = Alone(LayerError("it is gone"), pauses=True)

    with pytest.raises(LayerError, match="it is gone"):
        slots._measure_alone(SLOT, CELL)

    assert slots.replaced == [slots.cell_run]
