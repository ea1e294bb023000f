"""Every workload against output its tool really printed. A new workload adds files, not code."""

import re
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


def streams(path):
    stderr = path.with_suffix(".stderr")
    return path.with_suffix(".stdout").read_text(), stderr.read_text() if stderr.exists() else ""


def samples(workload, stdout, stderr):
    return {s.metric.name: s.value for s in workload.parse(Output(stdout=stdout, stderr=stderr))}


@pytest.mark.parametrize("path", CASES, ids=ids)
def test_recorded(path):
    case, workload = CASES[path], loaded(path)

    assert case["argv"] == list(workload.command())
    prepare = workload.prepare()
    assert case.get("prepare") == (prepare and list(prepare))

    if "raises" in case:
        with pytest.raises(OutputNotUnderstood, match=case["raises"]):
            samples(workload, *streams(path))
    else:
        found = samples(workload, *streams(path))
        assert pytest.approx(case["samples"]) == found
        assert set(found) <= {metric.name for metric in workload.metrics}
        assert workload.metrics[0].name in found


@pytest.mark.parametrize("path", GOOD, ids=ids)
def test_an_output_cut_anywhere_never_gives_another_number(path):
    workload, (stdout, stderr) = loaded(path), streams(path)
    whole = samples(workload, stdout, stderr)

    for length in range(len(stdout)):
        try:
            assert samples(workload, stdout[:length], stderr) == whole
        except OutputNotUnderstood:
            continue


ALTERED = [
    ("sysbench_cpu/threads-2", r"total number of events: +"),
    ("sysbench_cpu/threads-2", r"events per second: +"),
    ("sysbench_memory/write", r"total number of events: +"),
    ("sysbench_memory/write", r"transferred \("),
    ("sysbench_fileio/seqwr", r"total number of events: +"),
    ("sysbench_fileio/seqwr", r"written, MiB/s: +"),
    ("fio/randread", r'"io_bytes" : '),
    ("fio/randread", r'"runtime" : (?=\d)'),
    ("mbw/memcpy", r"AVG.*Copy: "),
    ("mbw/memcpy", r"0\t.*Copy: "),
]


@pytest.mark.parametrize(("case", "label"), ALTERED)
def test_an_output_that_contradicts_itself_is_refused(case, label):
    path = HERE / f"{case}.toml"
    stdout, stderr = streams(path)

    with pytest.raises(OutputNotUnderstood, match=r"agree|average"):
        samples(loaded(path), re.sub(rf"({label})", r"\g<1>9", stdout, count=1), stderr)


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
