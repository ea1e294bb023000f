"""Every workload against output its tool really printed. A new workload adds files, not code."""

import tomllib
from pathlib import Path

import pytest

from tare.errors import OutputNotUnderstood
from tare.workload import Output, load, names

HERE = Path(__file__).parent
CASES = {path: tomllib.loads(path.read_text()) for path in sorted(HERE.glob("*/*.toml"))}
GOOD = [path for path, case in CASES.items() if "samples" in case]


def ids(path):
    return f"{path.parent.name}/{path.stem}"


def loaded(path):
    return load(path.parent.name, **CASES[path]["params"])


def samples(workload, stdout):
    return {s.metric.name: s.value for s in workload.parse(Output(stdout=stdout))}


@pytest.mark.parametrize("path", CASES, ids=ids)
def test_recorded(path):
    case, workload = CASES[path], loaded(path)
    stdout = path.with_suffix(".stdout").read_text()

    assert case["argv"] == list(workload.command())
    prepare = workload.prepare()
    assert case.get("prepare") == (prepare and list(prepare))

    if "raises" in case:
        with pytest.raises(OutputNotUnderstood, match=case["raises"]):
            samples(workload, stdout)
    else:
        found = samples(workload, stdout)
        assert pytest.approx(case["samples"]) == found
        assert set(found) <= {metric.name for metric in workload.metrics}
        assert workload.metrics[0].name in found


@pytest.mark.parametrize("path", GOOD, ids=ids)
def test_an_output_cut_anywhere_never_gives_another_number(path):
    workload, stdout = loaded(path), path.with_suffix(".stdout").read_text()
    whole = samples(workload, stdout)

    for length in range(len(stdout)):
        try:
            assert samples(workload, stdout[:length]) == whole
        except OutputNotUnderstood:
            continue


@pytest.mark.parametrize("name", names())
def test_has_a_good_and_a_bad_case(name):
    cases = [case for path, case in CASES.items() if path.parent.name == name]

    assert any("samples" in case for case in cases)
    assert any("raises" in case for case in cases)


@pytest.mark.parametrize("name", names())
def test_plans_with_sensible_values(name):
    workload = load(name)

    assert 1 <= workload.expected_s() < 60
    assert (workload.disk_bytes() > 0) == (workload.prepare() is not None)
    assert len({metric.name for metric in workload.metrics}) == len(workload.metrics)
    assert workload.packages
