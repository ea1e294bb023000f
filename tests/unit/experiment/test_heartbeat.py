"""What a session says of itself while it runs, in its results directory."""

import json
import threading

import pytest

from tare.core.errors import Unavailable
from tare.core.model import Phase
from tare.experiment import run as runner
from tare.experiment.run import heartbeat
from tare.experiment.run.heartbeat import Heartbeat
from tare.results.store.progress import progress_of


class Reading(runner.Silent):
    """Reads at each event what stands in the file by then."""

    def __init__(self, folder):
        self.path, self.read = folder / "progress.json", []

    def note(self, *_, **__):
        self.read.append(progress_of(self.path.read_bytes(), self.path))

    says = removes = trial = note


def test_the_file_says_what_is_measured_what_follows_and_what_is_decided(lab):
    rule = {"min_blocks": 3, "max_blocks": 11, "instances": 1, "margin": 0.0001}
    sims = {"host": {}, "slow": {"sim": {"cost": 14.6}}, "like": {"sim": {"noise": 0.3}}}
    study, plan, folder = lab.begin(lab.text(sims, repetition=rule))
    reading = Reading(folder)

    runner.run(study, plan, folder, reading)

    measuring = [one for one in reading.read if one.phase is Phase.MEASURING and one.cells]
    in_block = [slot.cells for slot in plan.slots if slot.block == 0]
    assert [one.cells for one in measuring[: len(in_block)]] == in_block
    assert [one.following for one in measuring[: len(in_block)]] == [*in_block[1:], ()]
    assert {one.block for one in measuring[: len(in_block)]} == {0}
    assert (measuring[0].decided, measuring[-1].decided) == (0, 1)
    assert {one.compared for one in measuring} == {2}
    assert reading.read[0].phase is Phase.OPENING
    assert reading.read[0].text
    assert reading.read[-1].phase is Phase.REMOVING
    last = json.loads((folder / "progress.json").read_text())
    assert (last["phase"], last["cells"]) == ("ended", [])
    assert not (folder / "progress.json.new").exists()


def test_a_session_that_raises_has_ended(lab):
    study, plan, folder = lab.begin(lab.text({"host": {}}))

    class Refusing(runner.Silent):
        def block(self, number, decided, of):
            raise Unavailable("no more", "stop")

    with pytest.raises(Unavailable):
        runner.run(study, plan, folder, Refusing())
    assert json.loads((folder / "progress.json").read_text())["phase"] == "ended"


def test_the_file_is_renewed_while_nothing_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(heartbeat, "HEARTBEAT_S", 0.001)
    beaten = threading.Event()
    with Heartbeat(runner.Silent(), tmp_path, "abc123") as beating:
        monkeypatch.setattr(beating._file, "beat", beaten.set)
        assert beaten.wait(30)


def test_a_folder_that_cannot_be_written_ends_nothing(tmp_path):
    with Heartbeat(runner.Silent(), tmp_path / "gone", "abc123") as beating:
        beating.says("preparing host")
    assert not (tmp_path / "gone").exists()


def test_what_several_threads_say_at_once_is_written_one_after_another(tmp_path, monkeypatch):
    inside, most, wrote = [], [], threading.Event()

    def write(progress):
        inside.append(progress)
        most.append(len(inside))
        wrote.wait(0.01)
        inside.remove(progress)

    with Heartbeat(runner.Silent(), tmp_path, "abc123") as beating:
        monkeypatch.setattr(beating._file, "write", write)
        threads = [
            threading.Thread(target=beating.says, args=(f"starting host, instance {number}",))
            for number in range(8)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

    assert len(most) == 8 + 1  # and the end
    assert set(most) == {1}
