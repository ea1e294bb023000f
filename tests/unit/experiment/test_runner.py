"""The runner on simulated and scripted layers: resuming, failing, giving up, leaving nothing."""

import json
import os
import subprocess
from dataclasses import replace
from importlib import import_module

import pytest

from tare.core.completed import Completed
from tare.core.errors import CommandFailed, LayerError, LayerTimedOut, ResultsError, Unavailable
from tare.core.model import Kind, Status
from tare.experiment import run as runner
from tare.experiment.host.facts import host_facts
from tare.experiment.run import session
from tare.experiment.run.session import Session
from tare.machines.cgroup.readback import Inside
from tare.machines.ledger import leftovers
from tare.machines.machine import Host
from tare.results.store import load, read_facts

ROOM = "16m"


class Killed(BaseException):
    """Ends a run as an interrupt does."""


class Ending(runner.Silent):
    """Ends the run at the event of a number; counts events."""

    def __init__(self, at=None):
        self.at, self.count = at, 0

    def _event(self):
        self.count += 1
        if self.count == self.at:
            raise Killed

    def begins(self, plan, trials_done):
        self._event()

    def block(self, number, decided, of):
        self._event()

    def trial(self, cells, following):
        self._event()

    def ended(self, cell, trial):
        self._event()


class EndingAnywhere(Ending):
    """As Ending; what is said outside blocks, also by the threads that open platforms, counts."""

    def says(self, text):
        if not text.startswith("removing"):
            self._event()


def study(lab, *, name="scripted", blocks=3, instances=1, workloads=None, **sections):
    """A study of a simulated baseline and a scripted platform."""
    sections["repetition"] = {
        "min_blocks": blocks, "max_blocks": blocks, "instances": instances,
    }  # fmt: skip
    if workloads:
        sections["workloads"] = workloads
    return lab.text({"base": {"sim": {}}, name: {"stack": "host/scripted"}}, **sections)


def of(results, name):
    """All trials of a platform's own cells, in order."""
    cells = results.plan.cells_by_id
    return [
        t for t in results.trials if cells[t.cell].platform == name and not cells[t.cell].replica
    ]


def measured(results, name):
    return [trial for trial in of(results, name) if trial.kind is Kind.MEASURED]


def statuses(results, name):
    return [trial.status for trial in measured(results, name)]


def lines(folder):
    return (folder / "trials.jsonl").read_bytes().splitlines(keepends=True)


def is_whole(results):
    """Whether every place of the plan has exactly one measured trial."""
    done = [(t.block, t.cell) for t in results.trials if t.kind is Kind.MEASURED]
    return sorted(done) == sorted((slot.block, slot.cell) for slot in results.plan.slots)


def event_count(lab):
    counting = EndingAnywhere()
    text = study(lab, instances=2)
    lab.run(text, progress=counting)
    return counting.count


def test_a_run_ended_at_any_event_is_completed_by_resuming_it(lab, scripted):
    text = study(lab, instances=2)
    total = event_count(lab)
    assert total > 30
    for at in range(1, total):
        declared, plan, folder = lab.begin(text)
        with pytest.raises(Killed):
            runner.run(declared, plan, folder, EndingAnywhere(at))
        assert lab.leftovers() == [], at
        assert leftovers(folder / "ledger.jsonl") == [], at
        before = lines(folder)

        runner.run(declared, plan, folder, runner.Silent())

        assert lines(folder)[: len(before)] == before
        assert is_whole(load(folder)), at


def test_a_run_may_be_ended_again_and_again(lab, scripted):
    declared, plan, folder = lab.begin(study(lab, instances=2))
    sessions = 0
    while True:
        sessions += 1
        before = lines(folder)
        try:
            runner.run(declared, plan, folder, Ending(8))
        except Killed:
            assert lines(folder)[: len(before)] == before
            assert sessions < 50
        else:
            break

    assert sessions > 2
    assert is_whole(load(folder))
    assert len(load(folder).run.sessions) == sessions


def test_an_instance_is_warmed_once_in_each_session(lab):
    results = lab.run(lab.text({"base": {"sim": {}}}, repetition={
        "min_blocks": 8, "max_blocks": 8, "instances": 3}))  # fmt: skip

    warm = [t.instance for t in of(results, "base") if t.kind is Kind.WARMUP]
    assert len(warm) == len(set(warm)) == 3
    assert len({t.instance for t in measured(results, "base")}) == 3


def test_a_line_that_was_cut_short_is_measured_again(lab):
    text = study(lab, name="sim2").replace("scripted", "sim")
    declared, plan, folder = lab.begin(text)
    with pytest.raises(Killed):
        runner.run(declared, plan, folder, Ending(12))
    whole = lines(folder)
    with (folder / "trials.jsonl").open("ab") as file:
        file.write(whole[-1][:40])

    runner.run(declared, plan, folder, runner.Silent())

    assert lines(folder)[: len(whole)] == whole
    assert is_whole(load(folder))


def test_a_platform_that_came_later_is_not_paired_with_earlier_trials(lab, scripted):
    platforms = {"base": {"sim": {}}, "other": {"sim": {}}, "scripted": {"stack": "host/scripted"}}
    repetition = {"min_blocks": 6, "max_blocks": 6, "instances": 1}
    declared, plan, folder = lab.begin(lab.text(platforms, repetition=repetition))
    scripted.plot = lambda instance, verb, argv: refuse() if verb == "probe" else None
    with pytest.raises(Killed):
        runner.run(declared, plan, folder, Ending(22))
    begun = max(trial.block for trial in load(folder).trials)
    assert begun > 0

    scripted.plot = None
    runner.run(declared, plan, folder, runner.Silent())

    assert {one.block for one in measured(load(folder), "scripted")} == {0, *range(begun, 6)}


def refuse():
    raise Unavailable("no frobs", "get some")


def test_a_study_that_is_whole_is_not_run_again(lab):
    text = lab.text({"base": {"sim": {}}})
    declared, plan, folder = lab.begin(text)
    runner.run(declared, plan, folder, runner.Silent())
    before = lines(folder)

    runner.run(declared, plan, folder, runner.Silent())

    assert lines(folder) == before


@pytest.mark.parametrize("fact", ["kernel", "cpu_model", "cpus"])
def test_a_host_that_has_changed_is_refused(lab, fact):
    declared, plan, folder = lab.begin(lab.text({"base": {"sim": {}}}))
    runner.run(declared, plan, folder, runner.Silent())
    facts = json.loads((folder / "facts.json").read_text())
    facts["host"][fact] = "other"
    (folder / "facts.json").write_text(json.dumps(facts))
    names = ("facts.json", "run.json", "trials.jsonl")
    before = [(folder / name).read_bytes() for name in names]

    with pytest.raises(ResultsError, match=f"another host.*{fact}"):
        runner.run(declared, plan, folder, runner.Silent())

    assert [(folder / name).read_bytes() for name in names] == before
    assert lab.leftovers() == []


def test_a_userland_that_has_changed_is_refused(lab):
    declared, plan, folder = lab.begin(lab.text({"base": {"sim": {}}}))
    runner.run(declared, plan, folder, runner.Silent())
    facts = json.loads((folder / "facts.json").read_text())
    facts["userland"] = {"id": "0123456789ab"}
    (folder / "facts.json").write_text(json.dumps(facts))

    with pytest.raises(ResultsError, match="other packages in the userland"):
        runner.run(declared, plan, folder, runner.Silent())


def test_facts_of_earlier_sessions_stay_until_there_are_new_ones(lab):
    declared, plan, folder = lab.begin(lab.text({"base": {"sim": {}}}))
    runner.run(declared, plan, folder, runner.Silent())
    platforms = read_facts(folder)["platforms"]

    with pytest.raises(Killed):
        runner.run(declared, plan, folder, EndingAnywhere(2))

    assert read_facts(folder)["platforms"] == platforms


def test_things_left_by_a_killed_session_are_refused_until_they_are_cleaned(lab):
    declared, plan, folder = lab.begin(lab.text({"base": {"sim": {}}}))
    killed = Session(folder, "bookworm", ())
    killed.__enter__()
    folder_made = killed.folder
    killed.ledger.close()  # as a kill does
    killed._lock.close()

    elsewhere = lab.begin(lab.text({"base": {"sim": {}}}), folder=folder.parent / "elsewhere")
    for study in ((declared, plan, folder), elsewhere):
        with pytest.raises(ResultsError, match="tare clean"):
            runner.run(*study, runner.Silent())
    assert folder_made.exists()
    (cleaned,) = runner.clean_all()
    assert (cleaned.left.what, cleaned.problem) == ("folder", "")
    assert not folder_made.exists()

    runner.run(declared, plan, folder, runner.Silent())
    assert is_whole(load(folder))


def test_a_ledger_cut_short_by_a_kill_does_not_stand_in_the_way(lab):
    declared, plan, folder = lab.begin(lab.text({"base": {"sim": {}}}))
    killed = Session(folder, "bookworm", ())
    killed.__enter__()
    killed.ledger.close()
    killed._lock.close()
    with (folder / "ledger.jsonl").open("a") as file:
        file.write('{"id": 2, "what": "cont')

    assert all(not found.problem for found in runner.clean_all())
    runner.run(declared, plan, folder, runner.Silent())

    assert is_whole(load(folder))
    assert lab.leftovers() == []


def test_two_sessions_at_once_are_refused(lab):
    declared, plan, folder = lab.begin(lab.text({"base": {"sim": {}}}))
    with (
        Session(folder, "bookworm", ()),
        pytest.raises(Unavailable, match="another Tare session is running"),
    ):
        runner.run(declared, plan, folder, runner.Silent())


def test_instances_of_a_storm_are_spread_over_the_cpus(lab):
    _, _, folder = lab.begin(lab.text({"base": {"sim": {}}}))
    with Session(folder, "bookworm", ()) as session:
        session.everything = [0, 1, 2, 3, 6]
        alone = [session.cpus(1, number) for number in range(6)]
        pairs = [session.cpus(2, number) for number in range(3)]

    assert alone == [[6], [3], [2], [1], [0], [6]]
    assert pairs == [[3, 6], [1, 2], [3, 6]]


def test_a_living_session_is_passed_over_by_cleaning(lab):
    _, _, folder = lab.begin(lab.text({"base": {"sim": {}}}))
    with Session(folder, "bookworm", ()) as session:
        (said,) = runner.clean_all()

        assert "still running" in said
        assert session.folder.exists()


def test_only_what_needs_what_the_userland_lacks_is_unavailable(lab, scripted, monkeypatch):
    tried = []

    class Userland:
        id, suite, kernel_version, versions = "0123456789ab", "bookworm", None, {}

        def __init__(self, *_, **__):
            self.missing = {}

        @property
        def folder(self):
            if "mbw" not in self.missing:
                tried.append("mbw")
                self.missing["mbw"] = "Go is not installed; fix: apt-get install golang-go"
            return lab.folder

    monkeypatch.setattr(session, "Userland", Userland)
    monkeypatch.setattr(scripted.Layer, "runs_userland", True)
    workloads = [{"mbw": {"runs": 3}}, {"sysbench_cpu": {"threads": 1, "time": "1 s"}}]
    declared, plan, folder = lab.begin(study(lab, workloads=workloads))
    with pytest.raises(Killed):
        runner.run(declared, plan, folder, Ending(8))
    runner.run(declared, plan, folder, runner.Silent())

    results = load(folder)
    assert tried == ["mbw"], "what was begun without it goes on without it"
    assert read_facts(folder)["userland"]["lacking"].keys() == {"mbw"}
    of_workload = {"mbw": [], "sysbench_cpu": []}
    for trial in measured(results, "scripted"):
        of_workload[results.plan.cells_by_id[trial.cell].workload].append(trial)
    (lacks,) = of_workload["mbw"]
    assert lacks.status is Status.UNAVAILABLE
    assert lacks.reason == (
        "the userland lacks mbw: Go is not installed; fix: apt-get install golang-go; "
        "these results continue without it; start a new study to try again"
    )
    assert [trial.status for trial in of_workload["sysbench_cpu"]] == [Status.OK] * 3
    assert {trial.status for trial in measured(results, "base")} == {Status.OK}, "it has its own"


CHANGES = {
    "parameter": "its cells of sysbench_cpu have other parameters (events is new)",
    "value": "its cells of sysbench_cpu have other parameters (max_prime has other values)",
    "name": "its cells of old have other parameters (there is none of that name)",
    "order": "its cells of sysbench_cpu have other parameters (they are combined otherwise)",
    "metrics": "its cells of sysbench_cpu measure other numbers",
    "setting": "its platform base has other settings (sim.gone is gone)",
    "much": "its cells of sysbench_cpu have other parameters (max_prime is new, threads is new, "
    "time_s is new, and 1 more)",
}


def as_another_tare_had_it(plan, change):
    """A plan as it was stored when a workload or a layer was declared otherwise."""

    def cell(one):
        params = dict(one.params)
        if change == "parameter":
            del params["events"]
        elif change == "value":
            params["max_prime"] = 7
        elif change == "much":
            params = {}
        elif change == "order":
            params = dict(reversed(params.items()))
        elif change == "setting" and one.platform == "base":
            return replace(one, settings=(*one.settings, ("sim.gone", 1)))
        return replace(one, params=tuple(params.items()))

    metrics = {name: of[1:] if change == "metrics" else of for name, of in plan.metrics.items()}
    cells = [cell(one) for one in plan.cells]
    if change == "name":
        cells = [replace(one, workload="old") for one in cells]
        metrics = {"old": next(iter(metrics.values()))}
    ids = {old.id: new.id for old, new in zip(plan.cells, cells, strict=True)}
    slots = tuple(replace(slot, cell=ids[slot.cell]) for slot in plan.slots)
    return replace(plan, cells=tuple(cells), metrics=metrics, slots=slots)


@pytest.mark.parametrize("change", CHANGES)
def test_results_of_another_tare_are_not_continued_and_nothing_is_opened(lab, scripted, change):
    declared, plan, folder = lab.begin(study(lab))
    other = as_another_tare_had_it(plan, change)
    heard = EndingAnywhere()

    with pytest.raises(ResultsError) as refused:
        runner.run(declared, other, folder, heard)

    assert str(refused.value) == (
        f"{folder} was measured by another version of Tare: {CHANGES[change]}; "
        "start a new study instead"
    )
    assert heard.count == 0
    assert scripted.made == []
    assert lab.leftovers() == []


@pytest.fixture
def small_disk(tmp_path):
    """Mount a small file system, and say how it is made larger."""
    folder = tmp_path / "disk"  # not below /dev, which a host instance of another session holds
    folder.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o"]

    def resize(size, *more):
        subprocess.run([*mounted, f"{more[0]}size={size}" if more else f"size={size}",
                        "tmpfs", folder], check=True)  # fmt: skip

    resize("128k")
    yield folder, lambda size: resize(size, "remount,")
    subprocess.run(["umount", folder], check=True)  # noqa: S607


@pytest.mark.needs("root")
@pytest.mark.parametrize("blocks_free", [10, 11, 12, 13, 17, 22, 29])
def test_a_full_disk_ends_the_run_and_more_room_completes_it(
    lab, scripted, small_disk, blocks_free
):
    disk, resize = small_disk
    declared, plan, folder = lab.begin(study(lab, instances=2), folder=disk / "results")
    free = os.statvfs(disk).f_bfree
    (disk / "ballast").write_bytes(bytes(4096 * (free - blocks_free)))

    with pytest.raises(ResultsError, match=f"make room.*tare run --resume {folder}"):
        runner.run(declared, plan, folder, runner.Silent())
    before = lines(folder)
    assert all(line.endswith(b"\n") for line in before)
    assert len(load(folder).trials) == len(before)
    assert not [path for path in lab.leftovers() if path.is_dir()]

    resize(ROOM)
    list(runner.clean_all())
    runner.run(declared, plan, folder, runner.Silent())

    assert lines(folder)[: len(before)] == before
    assert is_whole(load(folder))
    assert lab.leftovers() == []


@pytest.mark.needs("root")
def test_a_full_disk_under_the_ledger_does_not_keep_things_from_being_removed(
    lab, scripted, small_disk
):
    disk, resize = small_disk
    for instances in (16, 17, 18, 34, 35, 36, 37):  # at some of them the ledger is at a page's end
        text = study(lab, blocks=30, instances=instances)
        resize("32m")
        declared, plan, folder = lab.begin(text, folder=disk / f"results-{instances}")
        free = os.statvfs(disk).f_bfree
        (disk / "ballast").write_bytes(bytes(4096 * (free - 14)))
        with pytest.raises(ResultsError, match="make room"):
            runner.run(declared, plan, folder, runner.Silent())
        left = [path for path in lab.leftovers() if path.is_dir()]
        (disk / "ballast").unlink()
        list(runner.clean_all())

        assert left == []
        runner.run(declared, plan, folder, runner.Silent())
        assert is_whole(load(folder))


def test_what_does_not_end_in_time_did_not_respond_and_is_given_up_after_three(lab):
    slow = {"stack": "host/sim", "sim": {"cost": 30.0}}
    text = lab.text(
        {"base": {"sim": {}}, "slow": slow},
        workloads=[{"mbw": {"size": "8192MiB", "runs": 2}}],
        repetition={"min_blocks": 8, "max_blocks": 8, "instances": 1},
        deadlines={"trial": "20 s"},
    )
    results = lab.run(text)

    assert statuses(results, "slow") == [Status.DNR] * 3
    assert "did not end within 20 s" in measured(results, "slow")[0].reason
    assert statuses(results, "base") == [Status.OK] * 3
    assert results.run.stop == "nothing is left to compare"


def failing(verb, error, *, when=lambda instance, argv: True):
    """Write a plot in which a verb raises an error or gives an answer."""

    def plot(instance, seen, argv):
        if seen != verb or not when(instance, argv):
            return None
        if isinstance(error, BaseException):
            raise error
        return error

    return plot


def is_workload(_instance, argv):
    return "sysbench" in argv


def done(status, stdout=b"", stderr=b"", *, timed_out=False):
    return Completed(("x",), status, stdout, stderr, 1.0, timed_out)


def test_a_platform_that_is_unavailable_has_one_trial_and_the_study_goes_on(lab, scripted):
    scripted.plot = failing("probe", Unavailable("no frobnicator", "apt-get install frobnicator"))
    text = lab.text(
        {"base": {"sim": {}}, "dear": {"sim": {"cost": 1.5}}, "gone": {"stack": "host/scripted"}}
    )
    results = lab.run(text)

    (trial,) = of(results, "gone")
    assert trial.status is Status.UNAVAILABLE
    assert "apt-get install frobnicator" in trial.reason
    assert len(measured(results, "dear")) == 8
    assert results.facts.platform("gone").unavailable


def test_a_platform_stays_unavailable_in_one_trial_after_resuming(lab, scripted):
    scripted.plot = failing("probe", Unavailable("no frobnicator"))
    declared, plan, folder = lab.begin(study(lab))
    for _ in range(2):
        runner.run(declared, plan, folder, runner.Silent())

    assert len(of(load(folder), "scripted")) == 1


@pytest.mark.parametrize(
    ("verb", "error", "status"),
    [
        ("start", LayerError("it does not start"), Status.FAILED),
        ("ready", LayerTimedOut("the console ends: panic"), Status.DNR),
        ("ready", Unavailable("no such thing"), Status.UNAVAILABLE),
        ("inside", CommandFailed(done(1, stderr=b"no nproc"), "host/scripted"), Status.FAILED),
        ("inside", Inside(64, 2**30), Status.FAILED),
        ("pause", LayerError("it does not pause"), Status.FAILED),
    ],
)
def test_a_platform_that_does_not_open_is_removed_before_the_first_block(
    lab, scripted, verb, error, status
):
    scripted.plot = failing(verb, error)
    there = []

    class WatchSettings(runner.Silent):
        def block(self, number, decided, of):
            there.append([made.path for made in scripted.made if os.path.exists(made.path)])  # noqa: PTH110

    text = lab.text(
        {"base": {"sim": {}}, "bad": {"stack": "host/scripted"}, "dear": {"sim": {"cost": 2.0}}},
        repetition={"min_blocks": 8, "max_blocks": 8, "instances": 4},
    )
    results = lab.run(text, progress=WatchSettings())

    (trial,) = of(results, "bad")
    assert trial.status is status
    assert there[0] == []
    assert len(measured(results, "dear")) == 8


def test_limits_that_are_not_those_asked_for_are_named(lab, scripted):
    scripted.plot = failing("inside", Inside(64, 2**30))
    (trial,) = of(lab.run(study(lab)), "scripted")

    assert "64 CPUs inside, 1 were to be given" in trial.reason


def test_more_cpus_than_the_host_has_make_only_those_cells_unavailable(lab):
    text = lab.text({"base": {"sim": {}}}, limits={"cpus": [1, 4096], "memory": "1GiB"})
    results = lab.run(text)

    cells = results.plan.cells_by_id
    came = {(cells[t.cell].limits.cpus, t.status) for t in results.trials}
    assert (4096, Status.UNAVAILABLE) in came
    assert (1, Status.UNAVAILABLE) not in came
    assert len([t for t in results.trials if cells[t.cell].limits.cpus == 4096]) == 2


def test_a_tool_that_the_machine_lacks_is_said_once_and_left_out(lab, scripted):
    missing = done(127, stderr=b"env: 'sysbench': No such file or directory")
    scripted.plot = failing("run", missing, when=is_workload)
    results = lab.run(study(lab, blocks=8))

    assert statuses(results, "scripted") == [Status.UNAVAILABLE]
    assert "sysbench" in measured(results, "scripted")[0].reason
    assert "lacks the tool" in measured(results, "scripted")[0].reason


EACH = [{"command": {"run": "sleep 1", "each_setup": "sleep 30"}}]


def test_what_comes_before_each_trial_is_not_in_its_time(lab, scripted):
    ran = []

    def keep(instance, verb, argv):
        if argv[-2:-1] == ("sleep",):
            ran.append(argv[-1])

    scripted.plot = keep
    results = lab.run(study(lab, workloads=EACH))

    assert ran == ["30", "1"] * 4  # a warm-up and three blocks
    assert all(0.5 < trial.samples["duration"] < 2 for trial in of(results, "scripted"))


@pytest.mark.parametrize(
    ("command", "status"),
    [("unheard-of", Status.UNAVAILABLE), ("sleep 9999", Status.DNR)],
)
def test_a_trial_whose_preparation_fails_has_no_number(lab, scripted, command, status):
    each = [{"command": {"run": "sleep 1", "each_setup": command}}]
    results = lab.run(study(lab, workloads=each, deadlines={"trial": "60 s"}))

    (first, *_) = of(results, "scripted")
    assert first.status is status
    assert first.reason.startswith("preparing a trial of command")
    assert first.samples == {}


def test_a_tool_that_is_lacking_already_when_files_are_prepared_is_unavailable_too(lab, scripted):
    missing = done(127, stderr=b"env: 'fio': No such file or directory")
    scripted.plot = failing("run", missing, when=lambda _, argv: "fio" in argv)
    fio = {"fio": {"pattern": "randread", "size": "64MiB", "depth": 1, "jobs": 1, "time": "1 s"}}
    results = lab.run(study(lab, workloads=[fio], blocks=8))

    assert statuses(results, "scripted") == [Status.UNAVAILABLE]
    assert "lacks the tool" in measured(results, "scripted")[0].reason


def test_preparing_that_hangs_did_not_respond(lab, scripted):
    late = done(137, timed_out=True)
    scripted.plot = failing("run", late, when=lambda _, argv: "--create_only=1" in argv)
    fio = {"fio": {"pattern": "randread", "size": "64MiB", "depth": 1, "jobs": 1, "time": "1 s"}}
    results = lab.run(study(lab, workloads=[fio], blocks=8))

    assert statuses(results, "scripted") == [Status.DNR] * 3


def test_output_that_is_not_understood_fails_three_times_and_is_given_up(lab, scripted):
    scripted.plot = failing("run", done(0, b"Segmentation fault\n"), when=is_workload)
    results = lab.run(study(lab, blocks=8))

    assert statuses(results, "scripted") == [Status.FAILED] * 3
    assert "Segmentation fault" in measured(results, "scripted")[0].reason


def test_failures_that_are_not_in_a_row_do_not_give_a_cell_up(lab, scripted):
    count = {"trials": 0}

    def every_other(_, argv):
        count["trials"] += is_workload(_, argv)
        return is_workload(_, argv) and count["trials"] % 2 == 0

    scripted.plot = failing("run", done(1, stderr=b"bad luck"), when=every_other)
    results = lab.run(study(lab, blocks=8))

    assert len(measured(results, "scripted")) == 8
    assert 3 < statuses(results, "scripted").count(Status.FAILED) < 8


class Dying:
    """A plot in which instances, by their numbers, stop answering after so many trials."""

    def __init__(self, numbers, after=3, verbs=("run", "resume", "pause", "threads")):
        self.numbers, self.after, self.verbs = set(numbers), after, verbs
        self.trials = 0

    def __call__(self, instance, verb, argv):
        self.trials += verb == "run" and is_workload(instance, argv)
        if self.trials < self.after or instance is None or instance.number not in self.numbers:
            return None
        if verb not in self.verbs:
            return None
        if verb == "run":
            return done(255, stderr=b"Connection refused")
        if verb == "threads":
            raise CommandFailed(done(1, stderr=b"Cannot connect to the daemon"), "host")
        raise LayerError(f"no answer to '{verb}'")


@pytest.mark.parametrize(
    "verbs",
    [("run",), ("run", "threads"), ("run", "resume"), ("run", "resume", "pause", "threads")],
)
def test_an_instance_that_dies_is_replaced_and_only_its_trial_is_lost(lab, scripted, verbs):
    scripted.plot = Dying({0}, verbs=verbs)
    results = lab.run(study(lab, blocks=8, instances=2))

    came = statuses(results, "scripted")
    assert came.count(Status.FAILED) == 1
    assert len(came) == 8
    reasons = [t.reason for t in measured(results, "scripted") if t.status is Status.FAILED]
    assert reasons[0]
    labels = {t.instance.partition("-")[2] for t in of(results, "scripted")}
    assert labels in ({"0", "0r1", "1"}, {"0", "1", "1r1"})
    assert len(scripted.made) == 3
    assert lab.leftovers() == []


def test_instances_that_die_together_are_replaced_together(lab, scripted):
    """As when a daemon dies: were each found dead in its own turn, the cell would be given up."""
    scripted.plot = Dying(range(5), after=2)
    results = lab.run(study(lab, blocks=8, instances=5))

    came = statuses(results, "scripted")
    assert len(came) == 8
    assert came.count(Status.FAILED) == 1
    assert len(scripted.made) == 10


def test_an_instance_that_is_lost_for_good_closes_its_platform(lab, scripted):
    dying = Dying({0})

    def plot(instance, verb, argv):
        if verb == "start" and instance.number == 2:
            raise LayerError("the host is out of frobs")
        return dying(instance, verb, argv)

    scripted.plot = plot
    text = study(lab, blocks=8, instances=2)
    results = lab.run(text)

    assert "not replaced: the host is out of frobs" in measured(results, "scripted")[-1].reason
    assert [made for made in scripted.made if os.path.exists(made.path)] == []  # noqa: PTH110
    assert lab.leftovers() == []


def test_a_trial_stands_when_its_instance_cannot_be_paused_after_it(lab, scripted):
    state = {"pauses": 0}

    def plot(instance, verb, argv):
        state["pauses"] += verb == "pause"
        if verb == "pause" and state["pauses"] == 3:
            raise LayerError("it does not pause")
        if instance is not None and instance.number == 0 and state["pauses"] >= 3:
            return done(1) if verb == "run" else None
        return None

    scripted.plot = plot
    results = lab.run(study(lab, blocks=8))

    assert Status.FAILED not in statuses(results, "scripted")
    assert len(measured(results, "scripted")) == 8
    assert len(scripted.made) == 2


def test_what_cannot_be_removed_is_said_and_kept_for_cleaning(lab, scripted, caplog):
    flag = lab.folder / "stuck"
    flag.touch()
    stuck = ["sh", "-c", 'test ! -e "$0" || { echo busy >&2; exit 1; }', str(flag)]
    scripted.plot = failing("undo", stuck)

    declared, plan, folder = lab.begin(study(lab))
    with pytest.raises(LayerError, match=r"could not remove file.*busy"):
        runner.run(declared, plan, folder, runner.Silent())
    assert is_whole(load(folder))  # nothing of what was measured is lost

    flag.unlink()
    assert all(not found.problem for found in runner.clean_all())
    assert lab.leftovers() == []


def test_what_cannot_be_removed_does_not_hide_why_the_run_ended(lab, scripted, caplog):
    flag = lab.folder / "stuck"
    flag.touch()
    scripted.plot = failing("undo", ["sh", "-c", 'test ! -e "$0"', str(flag)])

    declared, plan, folder = lab.begin(study(lab))
    with pytest.raises(Killed):
        runner.run(declared, plan, folder, Ending(8))

    assert "tare clean" in caplog.text


def test_a_failing_thread_ends_the_run_and_leaves_nothing(lab, scripted):
    scripted.plot = failing("start", ZeroDivisionError("a bug"), when=lambda i, _: i.number == 1)
    declared, plan, folder = lab.begin(study(lab, instances=4))

    with pytest.raises(ZeroDivisionError):
        runner.run(declared, plan, folder, runner.Silent())

    assert lab.leftovers() == []
    assert "before the study was" in load(folder).run.stop


def test_the_cpus_of_this_process_are_given_back(lab):
    before = os.sched_getaffinity(0)
    lab.run(lab.text({"base": {"sim": {}}}))

    assert os.sched_getaffinity(0) == before


def test_the_facts_say_what_ran_where(lab):
    facts = read_facts(lab.run(lab.text({"base": {"sim": {}}})).folder)

    assert facts["host"]["kernel"] == host_facts(Host())["kernel"]
    assert facts["platforms"]["base"]["inside"]["cpus"] == 1
    assert facts["platforms"]["base"]["stack"] == "host/sim"
    assert facts["session"]["seed"] == 1


def test_a_budget_ends_the_study_between_blocks(lab):
    # Simulated trials take no time, but what is stored says how long they would have taken.
    text = lab.text(
        {"base": {"sim": {}}},
        repetition={"min_blocks": 8, "max_blocks": 60, "instances": 1, "budget": "10 s"},
    )
    declared, plan, folder = lab.begin(text)
    with pytest.raises(Killed):
        runner.run(declared, plan, folder, Ending(40))
    runner.run(declared, plan, folder, runner.Silent())
    results = load(folder)

    assert "budget of 10 s" in results.run.stop
    assert len({t.block for t in results.trials}) < 60


def test_trials_are_read_as_often_as_the_study_asks_and_warmups_most_closely(lab, monkeypatch):
    watched = []

    def measured(*arguments):
        watched.append(arguments[0].how)
        return measure(*arguments)

    command = import_module("tare.experiment.trial.measure")
    measure = command.measure
    monkeypatch.setattr(command, "measure", measured)
    lab.run(lab.text({"base": {}}, readings_per_s=5))

    assert {how.hertz for how in watched} == {5.0}
    assert [how.closely for how in watched[:4]] == [True, False, True, False]
