"""Tools of another version than the recorded one are told."""

from types import SimpleNamespace

import pytest

from tare.experiment.run.tool_versions import other_versions, upstream
from tare.work.workload import load


@pytest.mark.parametrize(
    ("debian", "plain"),
    [
        ("3.33-3", "3.33"),
        ("1.0.20+ds-5", "1.0.20"),
        ("1.2.2-1+b1", "1.2.2"),
        ("1:2.14+dfsg1-3~deb12u1", "2.14"),
        ("0.15.06-2", "0.15.06"),
        ("3.0.19-1~deb12u2", "3.0.19"),
        ("2.1.0~beta3+git20220320-1", "2.1.0"),
        ("2.4.68", "2.4.68"),
        ("1.2-rc1-1", "1.2-rc1"),
    ],
)
def test_the_upstream_part_of_a_debian_version(debian, plain):
    assert upstream(debian) == plain


def test_a_tool_of_another_version_is_told_once():
    threads = [load("sysbench_cpu", threads=number) for number in (1, 2)]

    (told,) = other_versions([*threads, load("mbw")], {"sysbench": "1.0.21+ds-1", "mbw": "1.2.2-1"})

    assert told.startswith("sysbench is version 1.0.21; its output is known of version 1.0.20")


def test_the_recorded_version_and_what_is_not_there_say_nothing():
    some = [load("sysbench_cpu"), load("mbw"), load("command", run="true", install="mbw")]

    assert other_versions(some, {"sysbench": "1.0.20+ds-5"}) == []
    assert other_versions([SimpleNamespace(recorded={})], {"sysbench": "2"}) == []
    blas = SimpleNamespace(recorded={"libopenblas0": "0.3.21+ds"})
    assert other_versions([blas], {"libopenblas0": "0.3.21+ds-4"}) == []
