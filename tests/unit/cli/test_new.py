"""``tare new workload``: what it writes works as it is; and the how-to's example does too."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tare.cli import main
from tare.core import plugins
from tare.core.errors import OutputNotUnderstood
from tare.core.model import MetricRole
from tare.experiment.design import make_plan
from tare.experiment.study import read_study
from tare.work import workload, workloads
from tare.work.workload import Output

ROOT = Path(__file__).parents[3]
STUDY = """\
name: own
platforms: [host]
limits: {{cpus: 1, memory: 1GiB}}
workloads: [{name}]
"""


@pytest.fixture(autouse=True)
def paths(monkeypatch):
    """The search path as it is, whatever a test adds; and no module that it imported."""
    monkeypatch.setattr(workloads, "__path__", list(workloads.__path__))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.rpartition(".")[2] in ("my_tool", "openssl_sha256"):
            del sys.modules[name]


def make(folder, name="my_tool"):
    return main(["new", "workload", name, "--into", str(folder)])


def samples(name, case, stdout, stderr):
    made = workload.load(name, **case["params"])
    assert list(made.command()) == case["argv"]
    printed = Output(stdout=stdout, stderr=stderr)
    return {sample.metric.name: sample.value for sample in made.parse(printed)}


def recorded(folder, name, case):
    path = folder / "tests/workloads" / name / case
    texts = [path.with_suffix(f".{end}").read_text() for end in ("toml", "stdout", "stderr")]
    return tomllib.loads(texts[0]), *texts[1:]


def test_the_skeleton_is_a_plugin_that_plans_and_reads_its_own_recordings(tmp_path, capsys):
    assert make(tmp_path) == 0
    assert len(capsys.readouterr().out.splitlines()) == 7
    assert list(plugins.use([str(tmp_path)])) == []

    plan = make_plan(read_study(STUDY.format(name="my_tool"), "own.yaml"), seed=1)
    assert [metric.name for metric in plan.metrics["my_tool"]] == ["throughput", "tool_duration"]
    assert plan.metrics["my_tool"][1].role is MetricRole.TOOL_DURATION
    whole = recorded(tmp_path, "my_tool", "whole")
    assert samples("my_tool", *whole) == pytest.approx(whole[0]["samples"])
    cut = recorded(tmp_path, "my_tool", "interrupted")
    with pytest.raises(OutputNotUnderstood, match=cut[0]["raises"]):
        samples("my_tool", *cut)
    assert 1 <= workload.load("my_tool").expected_s() < 60


def test_the_skeleton_cut_anywhere_never_gives_another_number(tmp_path):
    make(tmp_path)
    list(plugins.use([str(tmp_path)]))
    case, stdout, stderr = recorded(tmp_path, "my_tool", "whole")

    for length in range(len(stderr)):
        with pytest.raises(OutputNotUnderstood):
            samples("my_tool", case, stdout, stderr[:length])


def test_the_skeleton_is_short_and_passes_what_checks_the_code(tmp_path):
    name = "a" * 40  # as long as a name may be
    make(tmp_path, name)
    module = tmp_path / "workloads" / f"{name}.py"
    own = ["--config", f"{ROOT}/pyproject.toml", "--no-cache"]
    typed = ["--config-file", f"{ROOT}/pyproject.toml", "--cache-dir", f"{tmp_path}/cache"]

    assert module.read_text().count("\n") <= 60
    for check in (
        ["ruff", "check", *own, str(module)],
        ["ruff", "format", "--check", *own, str(module)],
        ["mypy", *typed, str(module)],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *check], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_in_the_tree_the_parts_go_to_their_places(tmp_path):
    (tmp_path / "src/tare/work/workloads").mkdir(parents=True)

    assert make(tmp_path) == 0

    assert (tmp_path / "src/tare/work/workloads/my_tool.py").exists()
    assert (tmp_path / "tests/unit/work/workloads/my_tool/whole.toml").exists()


@pytest.mark.parametrize("part", ["workloads/my_tool.py", "tests/workloads/my_tool/whole.toml"])
def test_nothing_is_overwritten(tmp_path, capsys, part):
    (tmp_path / part).parent.mkdir(parents=True)
    (tmp_path / part).write_text("mine")

    assert make(tmp_path) == 2

    assert f"{part} would be overwritten; nothing was written" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.rglob("*") if path.is_file()] == ["mine"]


@pytest.mark.parametrize(
    "name", ["My", "my-tool", "_my", "9my", "my/tool", "../my", "", "class", "a" * 41, "größe"]
)
def test_a_bad_name_is_refused(tmp_path, capsys, name):
    assert make(tmp_path, name) == 2

    assert f"{name!r} cannot be a workload's name; expected a letter" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_taken_is_refused(tmp_path, capsys):
    assert make(tmp_path, "fio") == 2

    assert "there is a workload fio already; choose another name" in capsys.readouterr().err


def test_a_place_where_nothing_can_be_written_is_told(tmp_path, capsys):
    (tmp_path / "file").write_text("")

    assert make(tmp_path / "file") == 2

    assert f"--into {tmp_path}/file: cannot write there: " in capsys.readouterr().err


def blocks(language):
    page = (ROOT / "docs/how-to/add-a-workload.md").read_text()
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_the_code_on_the_page_is_a_workload_that_reads_the_output_on_the_page(tmp_path):
    (module,) = blocks("python")
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads/openssl_sha256.py").write_text(module)
    list(plugins.use([str(tmp_path)]))
    page = (ROOT / "docs/how-to/add-a-workload.md").read_text()
    printed = re.findall(r"^    (\+.*\n)", page, re.MULTILINE)
    whole, killed = map(tomllib.loads, blocks("toml"))

    found = samples("openssl_sha256", whole, "".join(printed[:2]), "".join(printed[2:]))
    assert found == pytest.approx(whole["samples"])
    with pytest.raises(OutputNotUnderstood, match=killed["raises"]):
        samples("openssl_sha256", killed, "", "+DT:sha256:3:16384\nKilled\n")
    assert module.count("\n") <= 60
    (version,) = workload.kind("openssl_sha256").recorded.values()
    assert f"with openssl {version} " in page


def test_the_study_on_the_page_is_one():
    page = (ROOT / "docs/how-to/add-a-workload.md").read_text()
    (shown,) = re.findall(r"^    (workloads:\n(?: {6}.*\n)+)", page, re.MULTILINE)
    head = STUDY.partition("workloads:")[0].format()
    (chosen,) = read_study(head + shown.replace("\n    ", "\n"), "own.yaml").workloads

    (sample,) = chosen.made.parse(Output(stdout="+H:16384\n+F:6:sha256:1060470784.00\n"))
    assert (sample.metric.name, sample.value) == ("hashed", 1060470784.0)
