"""A workload's own code that raises what it may not fails its trials, and the session goes on."""

import sys

import pytest

from tare.core.model import Status
from tare.work import workloads

FAULTY = """
from dataclasses import dataclass
from tare.work import workload
from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, Metric, Sample, Unit
from tare.work.workload import Course

RATE = Metric("rate", Unit.PER_SECOND, Better.HIGHER)

@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    where: str = "parse"
    how: str = "raise KeyError('speed')"

    metrics = (RATE,)
    packages = ("coreutils",)

    def command(self):
        return ["sleep", "1"]

    def parse(self, output):
        if self.where == "parse":
            exec(self.how)
        yield Sample(RATE, 1.0 if self.where != "sample" else eval(self.how))

    def courses(self, output):
        if self.where == "courses":
            exec(self.how)
        if self.where == "course":
            times_s, values = eval(self.how)
            yield Course(metric=RATE, times_s=times_s, values=values)
"""


@pytest.fixture(autouse=True)
def faulty(tmp_path, monkeypatch):
    (tmp_path / "faulty.py").write_text(FAULTY)
    monkeypatch.setattr(workloads, "__path__", [*workloads.__path__, str(tmp_path)])
    yield
    sys.modules.pop("tare.work.workloads.faulty", None)


def trials(lab, **faulty):
    """Run a study of a faulty workload beside a good one; gives the trials of each."""
    text = lab.text(
        {"base": {"sim": {}}},
        workloads=[{"faulty": faulty}, {"sysbench_cpu": {"threads": 1, "time": "1 s"}}],
        repetition={"min_blocks": 2, "max_blocks": 2, "instances": 1},
    )
    results = lab.run(text)
    names = {cell.id: cell.workload for cell in results.plan.cells}
    assert len(results.trials) > len(results.plan.slots)  # warm-ups too
    assert {t.status for t in results.trials if names[t.cell] == "sysbench_cpu"} == {Status.OK}
    return [trial for trial in results.trials if names[trial.cell] == "faulty"]


@pytest.mark.parametrize("where", ["parse", "courses"])
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("raise KeyError('speed')", "KeyError: 'speed'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise RecursionError('deep')", "RecursionError: deep"),
        ("raise ValueError('\\ud800')", "ValueError: ?"),
    ],
)
def test_its_trial_fails_with_a_reason_that_names_it_and_others_go_on(lab, where, how, said):
    for trial in trials(lab, where=where, how=how):
        assert trial.status is Status.FAILED
        assert trial.reason.startswith(f"workload faulty: its {where} raised {said}; only")


def test_a_sample_that_is_no_number_is_a_fault_too(lab):
    for trial in trials(lab, where="sample", how="'fast'"):
        assert trial.status is Status.FAILED
        assert "its parse raised ValueError: could not convert string to float" in trial.reason


@pytest.mark.parametrize("how", ["([1], [1, 2])", "(range(10**9), range(10**9))", "([1], [-1])"])
def test_a_course_that_cannot_be_stored_leaves_the_numbers(lab, how):
    for trial in trials(lab, where="course", how=how):
        assert trial.status is Status.OK
        assert trial.samples["rate"] == 1.0


def test_an_output_that_is_not_understood_has_its_own_reason(lab):
    for trial in trials(lab, how="raise OutputNotUnderstood('speed', 'slow')"):
        assert trial.status is Status.FAILED
        assert trial.reason.startswith("no speed in the output, which says: 'slow'")
