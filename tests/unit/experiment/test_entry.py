"""How commands get into machines: alike in a session, stored, never mixed in a comparison."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from tare.core.errors import ResultsError
from tare.core.model import Entry, Status
from tare.experiment.run import record
from tare.machines.agent import NoAgent
from tare.machines.stack import Stack, put_agent
from tare.results.compare.flag import FlagKind, flag
from tare.results.compare.pair_flags import pair_flags
from tare.results.compare.pairing import histories, pair
from unit.makers import TIME, make_cell, make_plan, make_trial

BASE, OTHER = make_cell("host"), make_cell("host/docker")
PLAN = make_plan(BASE, OTHER)


def paired(entries):
    """Pair the blocks of two cells, of whose trials the way in is told in order."""
    trials = [
        make_trial(cell, block, samples={"time": 1.0 + block}, entry=entry)
        for block, both in enumerate(entries)
        for cell, entry in zip((BASE, OTHER), both, strict=True)
    ]
    found = histories(PLAN, trials)
    return pair(found[OTHER.id], found[BASE.id], TIME)


AGENT, ANEW = Entry.AGENT, Entry.ANEW


@pytest.mark.parametrize(
    ("entries", "blocks"),
    [
        ([(AGENT, AGENT)] * 3, (0, 1, 2)),
        ([(ANEW, ANEW)] * 3, (0, 1, 2)),
        ([(AGENT, ANEW)] * 3, ()),
        ([(AGENT, AGENT), (AGENT, ANEW), (AGENT, AGENT)], (0, 2)),
        ([(ANEW, ANEW), (AGENT, AGENT), (AGENT, AGENT)], (1, 2)),
        ([(ANEW, ANEW), (ANEW, ANEW), (AGENT, AGENT)], (0, 1)),
    ],
)
def test_only_trials_that_were_entered_alike_make_pairs(entries, blocks):
    pairs = paired(entries)

    assert pairs.blocks == blocks
    assert pairs.other_entry == len(entries) - len(blocks)


def test_blocks_that_are_left_out_for_it_are_said():
    pairs = paired([(AGENT, AGENT), (AGENT, ANEW), (AGENT, AGENT)])

    assert list(pair_flags(pairs, TIME, 0)) == [flag(FlagKind.OTHER_ENTRY, blocks=1)]


def test_what_fails_is_not_left_out_for_the_way_it_would_have_come_in():
    trials = [
        make_trial(BASE, samples={"time": 1.0}, entry=AGENT),
        make_trial(OTHER, status=Status.FAILED, entry=AGENT),
    ]
    found = histories(PLAN, trials)

    assert pair(found[OTHER.id], found[BASE.id], TIME).failed == 1


def test_trials_of_before_there_were_agents_were_entered_anew():
    assert make_trial(BASE).entry is Entry.ANEW


# --- results that go on


def test_results_go_on_as_they_were_begun():
    assert record.was_entered_anew([make_trial(BASE, samples={"time": 1.0})])
    assert not record.was_entered_anew([make_trial(BASE, samples={"time": 1.0}, entry=AGENT)])
    assert not record.was_entered_anew([make_trial(BASE)]), "nothing was run, such as on no KVM"


def pool(entry, why=""):
    member = SimpleNamespace(stack=Stack(None, no_agent=why))
    return SimpleNamespace(entry=entry, instance_sets={"a": SimpleNamespace(members=[member])})


def test_results_of_agents_do_not_go_on_without(tmp_path):
    by_agent = [make_trial(BASE, samples={"time": 1.0}, entry=AGENT)]

    record.refuse_other_entry(tmp_path, by_agent, pool(AGENT))
    record.refuse_other_entry(tmp_path, [], pool(ANEW))
    with pytest.raises(ResultsError, match=r"measured by agents, .* \(no C compiler\); install"):
        record.refuse_other_entry(tmp_path, by_agent, pool(ANEW, "no C compiler"))


# --- a machine gets one, or says why not


@dataclass
class Placing:
    """Puts agents, or does not."""

    refuses: str = ""
    asked: list = field(default_factory=list)

    def push(self, machine, name, folders, within_s):
        self.asked.append((name, folders))
        if self.refuses:
            raise NoAgent(self.refuses)
        return "an agent's machine"


def opened(agents, *, ephemeral=True, takes_agent=True):
    inside = SimpleNamespace(name="host/x", ephemeral=ephemeral)
    instance = SimpleNamespace(machine=inside, workdir="/data", takes_agent=takes_agent)
    site = SimpleNamespace(agents=agents, name="tare-1", deadline_s=9.0)
    return instance, put_agent(instance, site)


def test_a_machine_that_is_ready_gets_an_agent():
    instance, why = opened(placing := Placing())

    assert (instance.machine, why) == ("an agent's machine", "")
    assert placing.asked == [("tare-1", ("/tmp", "/run", "/var/tmp", "/data"))]  # noqa: S108


def test_what_outlives_its_instance_is_written_only_where_that_is_removed():
    opened(placing := Placing(), ephemeral=False)

    assert placing.asked == [("tare-1", ("/data",))]


def test_a_machine_without_one_says_why():
    assert opened(None)[1] == ""
    assert opened(Placing(refuses="no shell"))[1] == "no shell"
    instance, why = opened(placing := Placing(), takes_agent=False)
    assert (instance.machine.name, why) == ("host/x", "host/x takes no agent")
    assert placing.asked == []
