"""A scenario from outside the tree runs on simulated layers of known cost; its parts are kept."""

import json
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Thread
from types import SimpleNamespace

import pytest

from tare.cli import main
from tare.core.completed import Completed
from tare.core.errors import ConfigError
from tare.core.model import Contrast, ContrastKind, Kind, Status
from tare.experiment import run as runner
from tare.experiment import scenario, scenarios
from tare.experiment.design import make_plan
from tare.experiment.study import read_study
from tare.experiment.trial.measure import Outcome
from tare.experiment.trial.rendezvous import _Start, run_together
from tare.results.store import load
from tare.results.study import compare

PAGE = Path(__file__).parents[3] / "docs/how-to/add-a-scenario.md"
MOST_LINES = 80
WAIT_S = 10.0
PARTS = ("first", "second", "third")


@pytest.fixture
def crowd(tmp_path, monkeypatch):
    """The scenario of the documentation, as a plugin; gives its folder."""
    code = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
    assert code.count("\n") <= MOST_LINES
    folder = tmp_path / "plugins" / "scenarios"
    folder.mkdir(parents=True)
    (folder / "crowd.py").write_text(code)
    monkeypatch.setattr(scenarios, "__path__", [*scenarios.__path__, str(folder)])
    yield str(folder.parent)
    sys.modules.pop("tare.experiment.scenarios.crowd", None)


def crowded(lab, platforms, **sections):
    return lab.text(platforms, scenario="crowd", **sections)


def test_a_scenario_of_a_plugin_finds_a_known_cost_with_three_at_once(lab, crowd):
    text = crowded(lab, {"base": {"sim": {"noise": 0.02}}, "dear": {"sim": {"cost": 1.25}}},
                   repetition={"min_blocks": 20, "max_blocks": 20, "instances": 2})  # fmt: skip
    results = lab.run(text)

    measured = [one for one in results.trials if one.kind is Kind.MEASURED]
    assert len(measured) == len(results.plan.slots) == 60
    for trial in measured:
        assert [part.name for part in trial.parts] == list(PARTS)
        assert len({part.instance for part in trial.parts}) == 3
        assert {part.status for part in trial.parts} == {Status.OK}
        late = [part.late_s for part in trial.parts]
        assert min(late) == 0
        assert all(0 <= one < math.inf for one in late)
        mean = math.fsum(part.samples["events"] for part in trial.parts) / 3
        assert trial.samples["events"] == pytest.approx(mean)
    (row,) = (
        row for row in compare(results.plan, results.trials).comparisons
        if row.primary and not row.is_control
    )  # fmt: skip
    assert row.cost == pytest.approx(1.25, rel=0.02)
    assert lab.leftovers() == []


def test_each_part_has_an_instance_of_its_own_in_the_plan(crowd, lab):
    text = crowded(lab, {"base": {"sim": {}}}, repetition={"max_blocks": 6, "instances": 2})
    plan = make_plan(read_study(text, "study.yaml"), 1)

    assert plan.most_parts == 3
    for slot in plan.slots:
        first = 3 * (slot.block % 2)
        assert [(one.part, one.instance) for one in slot.placements] == [
            (part, first + number) for number, part in enumerate(PARTS)
        ]


def broken(argv):
    return Completed(tuple(argv), 7, b"", b"it broke", 0.1)


def test_a_part_that_fails_fails_its_trial_alone_and_the_others_keep_their_numbers(
    lab, crowd, scripted
):
    def plot(instance, verb, argv):
        fails = verb == "run" and "sysbench" in argv and instance.number == 1
        return broken(argv) if fails else None

    scripted.plot = plot
    results = lab.run(crowded(lab, {"base": {"stack": "host/scripted"}}))

    bad = [one for one in results.trials if one.status is Status.FAILED]
    assert bad
    for trial in bad:
        states = {part.name: part.status for part in trial.parts}
        (which,) = (name for name, status in states.items() if status is Status.FAILED)
        assert trial.reason.startswith(f"{which}: exit status 7")
        assert sum(bool(part.samples) for part in trial.parts) == 2
        assert trial.samples == {}


def test_an_interrupted_crowd_goes_on_and_is_shown(lab, crowd, capsys):
    text = crowded(lab, {"base": {"sim": {}}, "dear": {"sim": {"cost": 1.5}}})
    study, plan, folder = lab.begin(text)
    runner.run(study, plan, folder, runner.Silent())
    lines = (folder / "trials.jsonl").read_text().splitlines(keepends=True)
    (folder / "trials.jsonl").write_text("".join(lines[:10]))
    runner.run(study, plan, folder, runner.Silent())

    assert len([one for one in load(folder).trials if one.kind is Kind.MEASURED]) == len(plan.slots)
    assert main(["show", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "dear: the 3 parts of a trial start within" in " ".join(printed.split())
    assert main(["show", "--json", str(folder)]) == 0
    starts = json.loads(capsys.readouterr().out)["starts"]
    assert {(one["platform"], one["parts"], one["trials"], one["missing"]) for one in starts} == {
        ("base", 3, 8, 0), ("base (A/A control)", 3, 8, 0), ("dear", 3, 8, 0),
    }  # fmt: skip
    assert all(0 <= one["median_s"] <= one["most_s"] for one in starts)
    assert main(["report", str(folder)]) == 0


def test_what_a_part_raises_ends_the_meeting_and_is_raised():
    runs = [Failing(name) for name in ("calm", "bad", "quiet")]

    with pytest.raises(OSError, match="bad could not be watched"):
        run_together(runs, lambda: pytest.fail("nothing was interrupted"))


class Failing:
    """A run of which one cannot be watched; the others only wait for all."""

    deadline_s = 1.0

    def __init__(self, name):
        self.name = name
        self.command = SimpleNamespace(machine=None, argv=["true"])

    def go(self, execute):
        if self.name == "bad":
            raise OSError("bad could not be watched")
        execute()


def test_with_a_gap_each_part_starts_so_much_later_than_the_one_before():
    gap_s = 0.05
    runs = [Timed(str(number)) for number in range(3)]

    parts = run_together(runs, lambda: pytest.fail("nothing was interrupted"), gap_s)

    late = [part.late_s for part in parts]
    assert late[0] == 0
    assert all(later - before >= gap_s for before, later in pairwise(late))


class Timed:
    """A run in a machine without an agent."""

    deadline_s, cpu_s = 1.0, 0.0

    def __init__(self, name):
        self.placed = SimpleNamespace(how=SimpleNamespace(cpus=()))
        self.command = SimpleNamespace(machine=self, argv=["true"])
        self.name = name

    def run(self, argv, timeout_s):
        return Completed(tuple(argv), 0, b"", b"", 0.0)

    def go(self, execute):
        execute()

    def outcome(self, others_s):
        return Outcome(instance=self.name, status=Status.OK)


def test_a_part_that_waits_for_one_that_never_begins_is_let_go():
    first = _Start()
    second, raised = _Start(first), []

    def wait():
        try:
            second.execute(Timed("second"), Barrier(1))
        except BrokenBarrierError as error:
            raised.append(error)

    waiting = Thread(target=wait, daemon=True)
    waiting.start()
    first.drop()
    waiting.join(WAIT_S)

    assert not waiting.is_alive()
    assert raised
    assert second.at_s is None


def test_an_interrupt_before_all_parts_are_there_leaves_none_waiting(monkeypatch):
    submit, cancelled = ThreadPoolExecutor.submit, []

    def interrupted(self, one, run, start):
        if run.name == "1":
            raise KeyboardInterrupt
        return submit(self, one, run, start)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_together([Timed("0"), Timed("1")], lambda: cancelled.append(True))
    assert cancelled


def test_two_parts_that_die_together_are_both_replaced_once(lab, crowd, scripted):
    dead = set()

    def plot(instance, verb, argv):
        if verb == "run" and "sysbench" in argv and instance.number in (0, 1) and not dead:
            dead.update((0, 1))
        if verb == "run" and instance.number in dead:
            return broken(argv)
        return None

    scripted.plot = plot
    results = lab.run(crowded(lab, {"base": {"sim": {}}, "dear": {"stack": "host/scripted"}}))

    cells = results.plan.cells_by_id
    lost = [one for one in results.trials if cells[one.cell].platform == "dear"]
    assert [one.status for one in lost if one.status is not Status.OK]
    last = [one for one in lost if one.kind is Kind.MEASURED][-1]
    assert last.status is Status.OK
    assert lab.leftovers() == []


@pytest.mark.parametrize("pairs", [((1, 0), (2, 1)), ((1, 0), (1, 2))])
def test_a_cell_is_compared_with_one_other_that_is_not_compared(lab, monkeypatch, pairs):
    def contrasts(_, cells, baseline):
        del baseline
        kind = ContrastKind.OVERHEAD
        for one, other in pairs:
            yield Contrast(cell=cells[one].id, reference=cells[other].id, kind=kind)

    monkeypatch.setattr(scenario.load("solo").__class__, "contrasts", contrasts)
    study = read_study(lab.text({"a": {"sim": {}}, "b": {"sim": {}}}), "study.yaml")

    with pytest.raises(ConfigError, match="scenario solo: a cell is compared with two others, or"):
        make_plan(study, 1)


def test_a_plugin_folder_of_scenarios_is_found(lab, crowd, monkeypatch, capsys):
    monkeypatch.setattr(scenarios, "__path__", list(scenarios.__path__)[:1])
    path = lab.folder / "study.yaml"
    path.write_text(crowded(lab, {"base": {"sim": {}}}))

    assert main(["plan", str(path)]) == 2
    assert (
        "scenario: found 'crowd'; "
        "expected one of density, isolation, lifecycle, scale, solo, stream"
        in capsys.readouterr().err
    )
    assert main(["--plugins", crowd, "plan", "--json", str(path)]) == 0
    slots = json.loads(capsys.readouterr().out)["plan"]["slots"]
    assert {len(slot["placements"]) for slot in slots} == {3}


@pytest.mark.parametrize("text", ["class Scenario(:", "import nothing_of_that_name", "x = 1"])
def test_a_scenario_that_cannot_be_loaded_says_why(tmp_path, monkeypatch, text):
    (tmp_path / "broken.py").write_text(text)
    monkeypatch.setattr(scenarios, "__path__", [*scenarios.__path__, str(tmp_path)])

    with pytest.raises(ConfigError, match="scenario broken cannot be loaded: "):
        scenario.load("broken")
    sys.modules.pop("tare.experiment.scenarios.broken", None)


def test_there_are_these_scenarios():
    assert scenario.names() == ["density", "isolation", "lifecycle", "scale", "solo", "stream"]
    with pytest.raises(
        ConfigError,
        match="no scenario is called 'x'; there are: density, isolation, lifecycle, scale, solo, "
        "stream",
    ):
        scenario.load("x")
