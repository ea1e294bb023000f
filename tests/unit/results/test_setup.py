"""The set-ups of published studies: what is read from their files, and what is refused."""

import json

import pytest

from tare.cli import main
from tare.core.errors import ConfigError
from tare.results.published.rows import studies
from tare.results.published.setup import read_setup, setup_of

SMALL = """\
study: small
setup:
  hardware:
    - {what: host, value: one board, section: "2.1"}
    - {what: CPU pinning, value: silent}
presets:
  small:
    platforms:
      native: {stack: host}
    repetition: {min_blocks: silent}
experiments:
  cpu:
    section: "2.3"
    preset: small
    workload: sysbench_cpu
    platforms: [native]
    limits: {cpus: silent, memory_bytes: silent}
    parameters:
      max_prime: {value: 9999, section: "2.3"}
      threads: silent
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "small.yaml"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("study", studies())
def test_every_study_has_a_set_up(study):
    setup = setup_of(study)

    assert setup.study == study
    assert {"hardware", "software", "platforms", "repetition"} <= set(setup.conditions)
    assert setup.experiments


def test_what_a_study_gives_and_what_it_is_silent_about(file):
    setup = read_setup(file(SMALL))

    host, pinning = setup.conditions["hardware"]
    assert (host.value, host.section) == ("one board", "2.1")
    assert (pinning.value, pinning.section) == (None, None)
    cpu = setup.experiment("cpu")
    assert cpu.values == {"max_prime": (9999,)}
    assert [one.values for one in cpu.parameters] == [(9999,), None]


def test_a_preset_may_have_other_values_with_a_reason(file):
    stated = '{value: 9999, section: "2.3", instead: [1, 2], reason: because}'
    setup = read_setup(file(SMALL.replace('{value: 9999, section: "2.3"}', stated)))

    (prime, _) = setup.experiment("cpu").parameters
    assert prime.values == (9999,)
    assert prime.in_preset == (1, 2)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            'section: "2.1"',
            "section: 2.1",
            r"small\.yaml:4: .*section: Input should be a valid str",
        ),
        (', section: "2.1"', "", r"small\.yaml:4: setup.hardware\[0\]: section: expected the one"),
        ("value: silent", 'value: silent, section: "1"', r":5: .*what is silent stands in no sec"),
        ("threads: silent", "threads: 4", r":20: experiments.cpu.parameters.threads"),
        ("threads: silent", "max_prime: silent", r":20: .*max_prime: the key stands there twice"),
        ("workload:", "work:", r":15: experiments.cpu.work: Extra inputs"),
        ("preset: small", "preset: other", "experiments.cpu: the preset other is not described"),
        ("cpus: silent, ", "", r"expected a workload and limits \(cpus, memory_bytes\) with it"),
        ("hardware:", "things:", r":3: setup.things: Input should be 'hardware'"),
        ("study: small", "study: other", "study: expected small, found 'other'"),
        (
            '{value: 9999, section: "2.3"}',
            '{value: 9, section: "2", instead: 8}',
            "together or nei",
        ),
        ("platforms: [native]", "platforms: [native", r"small\.yaml:17: .*expected YAML"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_key(file, old, new, error):
    assert old in SMALL

    with pytest.raises(ConfigError, match=error):
        read_setup(file(SMALL.replace(old, new)))


def test_a_study_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match="no published study is called 'other'; there are asper"):
        setup_of("other")


def test_the_set_up_is_printed_within_80_columns(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")

    for study in studies():
        assert main(["published", study]) == 0
        printed = capsys.readouterr().out.partition("Set-up: hardware")[2]
        set_up = printed.partition("FINDINGS")[0]

        assert max(map(len, set_up.splitlines())) <= 80
        for one in setup_of(study).experiments:
            assert f"Experiment: {one.name}" in set_up


def test_a_value_is_printed_with_its_section_and_silence_is_said(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    main(["published", "laine2017"])

    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]

    assert "max_prime 9999 2.3" in lines
    assert "runs of each test silent" in lines
    assert "size 300 MiB" in lines  # in no section that the data name
    at = lines.index("memory 2 GiB Table 4")
    assert lines[at + 1].startswith("the preset has 1 GiB, 2 GiB: the limits of a")


def test_the_set_up_is_told_to_programs(capsys):
    main(["published", "huang2019", "--json"])

    setup = json.loads(capsys.readouterr().out)["setup"]

    (fio,) = [one for one in setup["experiments"] if one["name"] == "fio"]
    by_name = {one["name"]: one for one in fio["parameters"]}
    assert by_name["size_bytes"]["values"] == [2**31]
    assert by_name["size_bytes"]["section"] == "Table A.2"
    assert by_name["time_s"]["values"] is None
    assert {"what", "value", "section", "derived"} == set(setup["conditions"]["hardware"][0])
