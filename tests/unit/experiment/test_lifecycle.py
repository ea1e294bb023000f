"""The lifecycle scenario on simulated and scripted layers: phases, storms, missing verbs."""

import json
import threading

import pytest
import yaml

from tare.core.errors import ConfigError, LayerError, LayerTimedOut, Unavailable
from tare.core.model import Status
from tare.experiment.study import read_study
from tare.results.store.raw_output import raw_name

PHASES = ["create", "boot", "soft_reboot", "hard_reboot", "stop", "start", "delete"]


def study(lab, platforms, **given):
    text = lab.text(platforms, scenario="lifecycle", lifecycle=given)
    document = yaml.safe_load(text)
    del document["workloads"]
    document["repetition"] |= {"min_blocks": 2, "max_blocks": 2}
    return yaml.safe_dump(document)


def scripts(lab, **given):
    return study(lab, {"base": {"stack": "host/scripted"}}, **given)


def test_every_phase_is_timed_and_the_total_is_their_sum(lab, scripted):
    verbs = []
    scripted.plot = lambda instance, verb, argv: verbs.append(verb) if instance else None

    results = lab.run(scripts(lab, count=1))

    for trial in results.trials:
        assert trial.status is Status.OK, trial.reason
        phases = [trial.samples[name] for name in PHASES]
        assert trial.samples["total"] == pytest.approx(sum(phases))
        assert min(phases) >= 0
        assert trial.samples["host_cpu"] >= 0
    one_life = ["start", "ready", "inside", "stop", "start", "ready", "kill", "start", "ready",
                "stop", "start", "ready"]  # fmt: skip
    seen = [verb for verb in verbs if verb not in ("probe", "run")]
    assert seen[: len(one_life)] == one_life
    assert lab.leftovers() == []


def test_without_reboots_there_are_none(lab, scripted):
    results = lab.run(scripts(lab, reboots=False))

    samples = results.trials[-1].samples
    assert "soft_reboot" not in samples
    assert samples["total"] == pytest.approx(
        sum(samples[name] for name in ("create", "boot", "stop", "start", "delete"))
    )


def test_a_storm_goes_through_each_phase_together(lab, scripted):
    barrier = threading.Barrier(4, timeout=20)
    together = []

    def plot(instance, verb, argv):
        if instance and verb == "stop":
            barrier.wait()  # passes only if all four are asked at once
            together.append(instance.number)

    scripted.plot = plot

    results = lab.run(scripts(lab, count=4, reboots=False))

    assert results.trials
    assert {trial.status for trial in results.trials} == {Status.OK}
    assert len(together) == 4 * len(results.trials)
    raw = results.folder / "raw" / raw_name(results.trials[0])
    log = json.loads((raw / "stdout").read_text())
    assert len(log) == 4
    assert [verb for verb, _, _ in next(iter(log.values()))] == [
        "create", "boot", "stop", "start", "delete",
    ]  # fmt: skip


def test_a_verb_that_is_missing_gives_no_value_and_no_total(lab):
    results = lab.run(study(lab, {"base": {}}))

    for trial in results.trials:
        assert trial.status is Status.OK
        assert {"create", "boot", "delete", "host_cpu"} <= trial.samples.keys()
        assert not {"stop", "start", "soft_reboot", "hard_reboot", "total"} & trial.samples.keys()
        assert any("stop: it cannot be stopped" in warning for warning in trial.warnings)


@pytest.mark.parametrize(
    ("raised", "status", "verb", "phase"),
    [
        (LayerError("no"), Status.FAILED, "start", "boot"),
        (LayerTimedOut("late"), Status.DNR, "ready", "boot"),
        (LayerError("no"), Status.FAILED, "kill", "hard reboot"),
        (LayerTimedOut("late"), Status.DNR, "stop", "soft reboot"),
    ],
)
def test_what_fails_names_its_phase_and_leaves_nothing(lab, scripted, raised, status, verb, phase):
    def plot(instance, asked, argv):
        if instance and asked == verb and instance.number % 2:  # one of two
            raise raised

    scripted.plot = plot

    results = lab.run(scripts(lab, count=2))

    trial = results.trials[0]
    assert trial.status is status
    assert trial.reason.startswith(f"{phase}: {raised}")
    assert trial.samples == {}
    assert lab.leftovers() == []


def test_what_cannot_be_made_is_unavailable(lab, scripted):
    def plot(instance, asked, argv):
        if instance and asked == "start":
            raise Unavailable("no daemon", "install it")

    scripted.plot = plot

    results = lab.run(scripts(lab))

    assert results.trials[0].status is Status.UNAVAILABLE
    assert "no daemon; fix: install it" in results.trials[0].reason


def test_a_removal_that_fails_is_a_failure(lab, scripted):
    scripted.plot = lambda instance, verb, argv: (
        ["sh", "-c", "test ! -e $0 || { rm $0; exit 3; }", str(lab.folder / "once")]
        if verb == "undo"
        else None
    )
    (lab.folder / "once").touch()

    results = lab.run(scripts(lab))

    assert results.trials[0].status is Status.FAILED
    assert "delete: could not remove" in results.trials[0].reason
    assert {trial.status for trial in results.trials[1:]} == {Status.OK}


def test_levels_are_cells_of_their_own(lab):
    read = read_study(study(lab, {"base": {}}, count=[1, 8], cache=["warm", "cold"]), "s.yaml")

    assert {one.params for one in read.workloads} == {
        (("count", count), ("cache", cache), ("reboots", True))
        for count in (1, 8)
        for cache in ("warm", "cold")
    }


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"lifecycle": {"count": 0}}, "expected 1 to 1024"),
        ({"lifecycle": {"cache": "hot"}}, "found 'hot'"),
        ({"workloads": [{"sysbench_cpu": {}}]}, "workloads"),
    ],
)
def test_a_wrong_lifecycle_is_told(lab, section, message):
    document = yaml.safe_load(study(lab, {"base": {}})) | section

    with pytest.raises(ConfigError, match=message):
        read_study(yaml.safe_dump(document), "s.yaml")
