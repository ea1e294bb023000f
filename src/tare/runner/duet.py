"""The two halves of a pair at the same moment: how they wait for each other.

Each half goes its own way in a thread (waking its instance, preparing, warming up, failing) and
meets the other where it matters: both are ready before either is measured, both commands are
started at once, and neither is written down or paused before both have ended. A half that failed is
waited for by nobody; the other is then measured alone, so that the failure has its pair.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Condition

from tare.model import Slot

GONE = math.inf
GAP_S = 0.002
"""How much later the second half is started: the order is the plan's, not that of the kernel."""


class Meeting:
    """How far each half has come, and what it asks for."""

    def __init__(self) -> None:
        self.steps = [0.0, 0.0]
        self.wishes: list[bool | None] = [None, None]
        self.moved = Condition()


class Half:
    """One half's view of the meeting; the one numbered 0 is started first."""

    def __init__(self, meeting: Meeting, number: int) -> None:
        self._meeting, self._number = meeting, number
        self.is_alone = False
        """Whether the other half was gone when this one was started."""

    def ready(self) -> None:
        """Wait until the other half is ready to be measured too."""
        self._meet()

    def start(self) -> None:
        """Wait until the other half is about to start; number 0 then goes ahead of number 1."""
        self._meet()
        self.is_alone = self._meeting.steps[1 - self._number] == GONE
        if self._number == 1:
            self._wait()
            time.sleep(GAP_S)
        self._step()

    def ended(self) -> None:
        """Wait until the other half has ended too, and so is not disturbed by what follows."""
        self._meet()

    def agree(self, wish: bool | None) -> bool:
        """Say whether to measure the pair again: one that wishes it is enough, None forbids it."""
        self._meeting.wishes[self._number] = wish
        self._meet()
        wishes = list(self._meeting.wishes)
        self._meet()  # neither says anything new before both have read
        return None not in wishes and True in wishes

    def gone(self) -> None:
        """Be waited for no more."""
        self._meeting.wishes[self._number] = None
        self._move(GONE)

    def _meet(self) -> None:
        self._step()
        self._wait(ahead=0)

    def _step(self) -> None:
        self._move(self._meeting.steps[self._number] + 1)

    def _wait(self, ahead: int = 1) -> None:
        """Wait until the other half has come as far as this one, or further."""
        steps, mine = self._meeting.steps, self._number
        with self._meeting.moved:
            self._meeting.moved.wait_for(lambda: steps[1 - mine] >= steps[mine] + ahead)

    def _move(self, step: float) -> None:
        with self._meeting.moved:
            self._meeting.steps[self._number] = step
            self._meeting.moved.notify_all()


class Alone(Half):
    """A trial that is measured alone by design, and waits for nobody."""

    def __init__(self) -> None:
        super().__init__(Meeting(), 0)
        self._meeting.steps[1], self._meeting.wishes[1] = GONE, False

    def start(self) -> None:
        """See Half.start; it has no other half to lose."""


def places(slots: Iterable[Slot]) -> Iterator[tuple[Slot, ...]]:
    """Group the slots of a block into what runs at once: two of a duet, or one."""
    half: Slot | None = None
    for slot in slots:
        if not slot.partner:
            yield (slot,)
        elif half is None:
            half = slot
        else:
            yield half, slot
            half = None


def together(
    place: Sequence[Slot], run: Callable[[Slot, Half], None], cancel: Callable[[], None]
) -> None:
    """Run what stands in a place of the plan; ``cancel`` ends all commands when something raises.

    An interrupt comes to the waiting thread, so the halves learn of it by their commands.
    """
    if len(place) == 1:
        run(place[0], Alone())
        return

    def one(slot: Slot, half: Half) -> None:
        try:
            run(slot, half)
        finally:
            half.gone()

    meeting = Meeting()
    with ThreadPoolExecutor(max_workers=len(place)) as threads:
        asked = [threads.submit(one, slot, Half(meeting, n)) for n, slot in enumerate(place)]
        try:
            for future in asked:
                future.result()
        except BaseException:
            cancel()
            raise
