"""`tare measure`: what stands on the line, the study it becomes, and what is wrong with it."""

import argparse
import csv
import json
import re
import shlex
import subprocess

import pytest
import yaml

from tare.cli import main, measure
from tare.cli.measure.commands import duration_option, program, programs_for_shells, read_commands
from tare.cli.measure.mapping import declare
from tare.cli.measure.outcome import hints
from tare.cli.measure.packages import find_packages
from tare.core.errors import ConfigError
from tare.core.model import NO_FACTS, NO_RUN, Status
from tare.experiment.design import make_plan
from tare.experiment.study import load_study, read_study
from tare.present.report import describe
from tare.results.store import Results, load
from unit.fakes import Fake
from unit.makers import make_cell, make_trial
from unit.makers import make_plan as make_a_plan

SIM = ("--baseline", "sim", "--in", "sim:cost=1.5", "--package", "coreutils")
"""Simulated stacks, and no question to the host about packages."""


def parsed(line):
    words = shlex.split(line)
    parser = argparse.ArgumentParser(exit_on_error=False)
    measure.arguments(parser)
    return parser.parse_args(words, argparse.Namespace(argv=["measure", *words]))


def commands(line):
    return [one.words for one in read_commands(parsed(line))]


def declared(line):
    options = parsed(line)
    return declare(options, read_commands(options), options.packages or ["fio", "sysbench"])


def mapping(line):
    return declared(line).study


def study(line):
    """Give the study as the loader reads it."""
    made = declared(line)
    return read_study(made.text(["measure"]), "the line", options=made.options)


def refused(line):
    with pytest.raises(ConfigError) as caught:
        study(line)
    return str(caught.value)


def test_the_line_of_the_readme_is_a_whole_study():
    made = study("--in docker -- sysbench cpu --time=1 run")

    assert [platform.name for platform in made.platforms] == ["host", "host/docker"]
    assert made.baseline == "host"
    (workload,) = made.workloads
    assert workload.name == "command:sysbench"
    assert workload.made.command() == ["sysbench", "cpu", "--time=1", "run"]
    assert workload.made.packages == ("fio", "sysbench")
    assert [metric.name for metric in workload.made.metrics] == ["duration"]
    assert made.limits[0].cpus == 1
    assert made.repetition.instances == 2
    assert made.repetition.min_blocks == 3
    assert made.repetition.budget_s == 45
    assert made.deadlines.trial_s == 300


@pytest.mark.parametrize(
    ("stack", "element"),
    [
        ("docker", "host/docker"),
        ("qemu-tcg/docker", "host/qemu-tcg/docker"),
        ("host/docker", "host/docker"),
        ("lab/kvm", "lab/kvm"),
        (
            "docker:network=none",
            {
                "stack": "host/docker",
                "name": "host/docker network=none",
                "docker": {"network": "none"},
            },
        ),
        (
            "docker:network=none,network=bridge",
            {"stack": "host/docker", "docker": {"network": ["none", "bridge"]}},
        ),
        (
            "qemu-tcg/docker:qemu-tcg.os=trixie,network=none",
            {
                "stack": "host/qemu-tcg/docker",
                "name": "host/qemu-tcg/docker qemu-tcg.os=trixie,docker.network=none",
                "qemu-tcg": {"os": "trixie"},
                "docker": {"network": "none"},
            },
        ),
    ],
)
def test_a_stack_is_named_as_people_do(stack, element):
    assert mapping(f"--in {stack} -- true")["platforms"] == ["host", element]
    study(f"--in {stack} -- true")


def test_the_baseline_named_again_is_not_measured_twice():
    assert mapping("--in host --in docker -- true")["platforms"] == ["host", "host/docker"]


def test_another_baseline_takes_the_place_of_the_host():
    made = study("--baseline docker:network=none --in gvisor -- true")

    assert made.baseline == "host/docker network=none"
    assert [platform.stack for platform in made.platforms] == ["host/docker", "host/gvisor"]


def test_an_image_is_for_containers_and_the_others_are_named():
    made = declared("--in docker --in qemu-tcg --image debian:12 -- true")

    assert made.study["platforms"][1]["docker"] == {"image": "debian:12"}
    assert made.study["platforms"][2] == "host/qemu-tcg"
    (note,) = made.notes
    assert "host and host/qemu-tcg cannot take the image debian:12" in note


def test_an_image_that_nothing_can_take_is_refused():
    assert "none of host, host/gvisor can take" in refused("--in gvisor --image debian:12 -- true")


def test_limits_are_added_to_the_usual_ones():
    made = mapping("--in docker --limit cpus=2 --limit disk_cache=writeback -- true")

    assert made["limits"] == {"cpus": 2, "memory": "1GiB", "disk_cache": "writeback"}


def test_the_budget_grows_with_commands_and_stacks():
    assert mapping("--in docker --in gvisor 'a 1' 'b 2'")["repetition"]["budget"] == "135 s"
    assert "budget" not in mapping("--in docker --budget none -- true")["repetition"]


@pytest.mark.parametrize(
    ("line", "blocks"),
    [
        ("", (3, 27)),
        ("-M 2", (2, 2)),
        ("-m 30", (30, 30)),
        ("--min-blocks 4 --max-blocks 9", (4, 9)),
        ("--min-runs 4 --max-runs 9", (4, 9)),
        ("--runs 10", (10, 10)),
    ],
)
def test_how_many_blocks_there_are(line, blocks):
    made = study(f"--in docker {line} -- true").repetition

    assert (made.min_blocks, made.max_blocks) == blocks


def test_everything_about_repetition_is_passed_on():
    made = study("--in docker -w 0 --margin 5% --budget 2min --instances 3 -- true").repetition

    assert (made.warmup, made.margin, made.budget_s, made.instances) == (0, 0.05, 120, 3)


def test_a_ladder_is_a_key_of_the_study():
    made = mapping("--ladder docker -- true")

    assert made["ladder"] == "host/docker"
    assert made["repetition"]["budget"] == "292.5 s"
    assert "ladder" not in mapping("--in docker -- true")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("-- echo 'a b' '$HOME'", [("echo", "a b", "$HOME")]),
        ("'echo a'", [("echo", "a")]),
        ("\"echo 'a b'\"", [("echo", "a b")]),
        ("'echo a | wc'", [("sh", "-c", "echo a | wc")]),
        ("'A=1 env'", [("sh", "-c", "A=1 env")]),
        ("'cd /tmp'", [("sh", "-c", "cd /tmp")]),
        ("-N 'echo *'", [("echo", "*")]),
        ("--shell 'bash -e' 'echo a'", [("bash", "-e", "-c", "echo a")]),
        ("'gzip -1 f' 'zstd -1 f'", [("gzip", "-1", "f"), ("zstd", "-1", "f")]),
        ("-- 'gzip -1 f' 'zstd -1 f'", [("gzip", "-1", "f"), ("zstd", "-1", "f")]),
        ("-L n 1,2 -- head -c '{n}M'", [("head", "-c", "1M"), ("head", "-c", "2M")]),
        ("-P n 1 2 -D 0.5 'sleep {n}'", [("sleep", f"{n}") for n in (1.0, 1.5, 2.0)]),
        ("-L a 1,2 -L b x,y 'c {a}{b}'", [("c", "1x"), ("c", "1y"), ("c", "2x"), ("c", "2y")]),
        ("-L a 1,2 \"awk '{print}' {a}\"", [("sh", "-c", f"awk '{{print}}' {n}") for n in "12"]),
    ],
)
def test_how_a_command_becomes_words(line, words):
    assert commands(line) == words


def test_words_arrive_as_they_are_in_the_workload():
    (workload,) = study("--in docker -- printf '%s\\n' \"it's\" '' 'a  b'").workloads

    assert workload.made.command() == ["printf", "%s\\n", "it's", "", "a  b"]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x85", "\u2028", "\u2029"])
def test_no_word_of_the_line_becomes_a_key_of_the_study(end):
    text = declared("--in docker -- true").text(["measure", f"a{end}seed: 7", "\x1b[2J"])

    assert yaml.safe_load(text).keys() == mapping("--in docker -- true").keys()
    assert "\x1b" not in text


def test_a_line_that_is_no_text_is_refused(capsys):
    assert main(["measure", "--in", "docker", "--", "cat", "\udcff"]) == 2
    assert "is not UTF-8 text" in capsys.readouterr().err


def test_a_failure_is_ignored_inside_and_a_missing_program_is_not(tmp_path):
    ((*words,),) = commands("-i -- sh -c 'exit 3'")
    assert subprocess.run(words, check=False).returncode == 0
    ((*words,),) = commands(f"-i -- {tmp_path}/none")
    assert subprocess.run(words, check=False, stderr=subprocess.DEVNULL).returncode == 127


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("-- /usr/bin/gzip -9 f", ["gzip"]),
        ("'gzip -1 f' 'gzip -9 f'", ["gzip-1-f", "gzip-9-f"]),
        ("'gzip -1 f' 'gzip -9 f' -n fast", ["fast", "gzip-9-f"]),
        ("-L n 1,2 -n 'level {n}' 'gzip -{n} f'", ["level-1", "level-2"]),
        ("-L c hot,cold -p 'sh {c}.sh' 'cat f'", ["cat-f-hot", "cat-f-cold"]),
        ("'echo a b' \"echo 'a b'\"", ["echo-a-b", "echo-a-b-2"]),
    ],
)
def test_what_a_command_is_called(line, names):
    assert [one.name for one in read_commands(parsed(line))] == names


def test_preparations_are_of_all_commands_or_of_each():
    (one, two) = study("--in docker -s 'cp a b' -p 'rm x' -p 'rm y | cat' 'a 1' 'b 2'").workloads

    assert one.made.prepare() == two.made.prepare() == ["cp", "a", "b"]
    assert one.made.before_trial() == ["rm", "x"]
    assert two.made.before_trial() == ["sh", "-c", "rm y | cat"]


def test_a_number_is_found_by_a_pattern_or_a_path():
    (rate,) = study("--in docker --number '=([0-9]+)' --unit 1/s --metric rate -- x").workloads
    (score,) = study("--in docker --json a.b --better higher --stream stderr -- x").workloads

    assert rate.made.pattern == "=([0-9]+)"
    assert (rate.made.metrics[0].name, rate.made.metrics[0].better) == ("rate", "higher")
    assert (score.made.json_path, score.made.stream) == ("a.b", "stderr")
    assert (score.made.metrics[0].name, score.made.metrics[0].unit) == ("number", "1")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--in docker", "no command was given; expected one after --"),
        ("--in docker ''", "no command was given"),
        ("-- true", "--in: no stack was given besides host"),
        ("--in dockr -- true", "--in dockr: no layer is called 'dockr'; .* did you mean 'docker'"),
        ("--in docker --in docker -- true", "--in docker was given twice"),
        ("--in docker:none -- true", "--in docker:none: found 'none'; expected KEY=VALUE"),
        ("--in docker:a=1 -- true", "--in docker:a=1: unknown key; expected one of image"),
        ("--in docker:network=x -- true", "--in docker:network=x: found 'x'; expected one of host"),
        ("--in docker:kvm.cpu=x -- true", "kvm.cpu is a setting of kvm; expected a layer"),
        ("--baseline dockr --in docker -- x", "--baseline dockr: no layer is called"),
        ("--in docker --limit cpus -- true", "--limit cpus: expected KEY=VALUE"),
        ("--in docker --limit cpu=1 -- true", "--limit cpu=1: unknown key; .*'cpus'"),
        ("--in docker --limit cpus=0 -- true", "--limit cpus=0: 0 was given; expected 1 or more"),
        ("--in docker --budget x -- true", "--budget: 'x' is not a number; expected a time"),
        ("--in docker --timeout 0 -- true", "--timeout: 0 s was given; expected more than 0"),
        ("--in docker --margin 2 -- true", "--margin: 2 was given; expected between 0 and 1"),
        ("--in docker -r 3 -m 2 -- true", "--runs: --min-blocks or --max-blocks was given too"),
        ("--in docker --number '(' --unit s -- x", "--number: '\\(' was given; expected a regular"),
        ("--in docker --number 'x' --unit s -- x", "--number: 'x' was given; expected a group"),
        ("--in docker --number '(x)' -- x", "--number: which of these numbers are better"),
        ("--in docker --unit s -- x", "--unit s: without --number or --json"),
        ("--in docker --package 'a b!' -- x", "--package: .* expected Debian packages"),
        ("--in docker sleep 1", "'1' was given as a command of its own; .*-- sleep 1"),
        ("--in docker 'a 1' -- b 2", "'a 1' stands before -- and b 2 after it"),
        ("--in docker 'a 1' 'a  1'", "the command 'a  1' was given twice"),
        ('--in docker "a \'b"', "cannot be split into words: No closing quotation"),
        ("--in docker -n x -n x 'a 1' 'b 1'", "2 commands are called 'x'; expected a name of its"),
        ("--in docker -n x -L n 1,2 'a {n}'", "2 commands are called 'x'; .* 'level {level}'"),
        ("--in docker -n x -n y -- a", "2 names were given for 1 commands"),
        ("--in docker -n '!' -- a", "--command-name: expected letters"),
        ("--in docker -L n 1,2 -- a", r"the parameter n: no command has {n} in it"),
        ("--in docker -L n 1,1 -- a {n}", "--parameter-list n: a value stands twice"),
        ("--in docker -L n 1,2 -P n 1 2 -- a {n}", "the parameter n was given twice"),
        ("--in docker -P n 1 x -- a {n}", "--parameter-scan n: 'x' was given; expected a number"),
        ("--in docker -P n 2 1 -- a {n}", "--parameter-scan n: from 2 to 1 by 1 was given"),
        ("--in docker -P n 1 9999 -- a {n}", "--parameter-scan n: expected at most 200 values"),
        ("--in docker -D 1 -- a", "--parameter-step-size: there is no --parameter-scan"),
        ("--in docker -p a -p b -- x", "--prepare was given 2 times for 1 commands"),
        (
            "--in docker -- x {port}",
            "the command x {port}: {port} stands for .* needs a study file",
        ),
    ],
)
def test_what_is_wrong_is_told_by_its_option(line, told):
    said = refused(line)

    assert re.search(told, said), said
    assert "workloads[" not in said
    assert "the line:" not in said


@pytest.mark.parametrize("line", ["-w x", "-m 0", "--instances 0", "--better best", "-L n"])
def test_wrong_usage_is_told_with_the_usage(line, capsys):
    with pytest.raises(SystemExit) as left:
        main(["measure", "--in", "docker", *line.split(), "--", "true"])

    assert left.value.code == 2
    assert "usage: tare measure" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", ["--export-json none/x", "--save .", "--export-markdown none/x", "--export-csv ."]
)
def test_a_file_that_cannot_be_written_is_told_before_measuring(
    option, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)

    assert main(["measure", *SIM, *option.split(), "--", "true"]) == 2
    assert f"tare: {option}: " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_saved_study_plans_the_same_cells(lab, monkeypatch, capsys):
    monkeypatch.chdir(lab.folder)
    line = [*SIM, "-L", "n", "1,2", "--limit", "memory=2GiB", "-p", "sleep 0", "sleep {n}"]

    assert main(["measure", *line, "-o", "line", "--save", "study.yaml"]) == 0
    assert main(["run", "study.yaml", "--into", "file"]) == 0

    line, file = load(lab.folder / "line").plan, load(lab.folder / "file").plan
    assert line.cells == file.cells
    assert line.repetition == file.repetition
    assert line.metrics == file.metrics
    saved = load_study(lab.folder / "study.yaml")
    assert make_plan(saved, 1).cells == line.cells
    assert "study file: study.yaml" in capsys.readouterr().out


def test_a_command_is_measured_and_told_of(lab, monkeypatch, capsys):
    monkeypatch.chdir(lab.folder)

    assert main(["measure", *SIM, "-r", "8", "-o", "out", "--", "sleep", "2"]) == 0

    said = capsys.readouterr().out
    assert "slower" in said
    assert "command:sleep" in said
    assert "results: out" in said
    assert "tare report out" in said
    assert "The commands compared" not in said
    first, *rest = (lab.folder / "out/study.yaml").read_text().splitlines()
    assert first == f"# tare measure {shlex.join(SIM)} -r 8 -o out -- sleep 2"
    assert yaml.safe_load("\n".join(rest))["workloads"][0]["command"]["run"] == "sleep 2"


def test_commands_are_compared_with_each_other_and_exported(lab, monkeypatch, capsys):
    monkeypatch.chdir(lab.folder)
    exports = ["--export-json", "r.json", "--export-markdown", "r.md", "--export-csv", "r.csv"]

    measured = [*SIM, "-r", "8", "--seed", "7", *exports]  # an interval misses 3 for some seeds
    assert main(["measure", *measured, "sleep 1", "sleep 3", "-n", "short"]) == 0

    said = capsys.readouterr().out
    assert "multiple of that of short" in " ".join(said.split())
    told = json.loads((lab.folder / "r.json").read_text())
    assert [(row["platform"], row["command"]) for row in told["commands"]] == [
        ("host/sim", "sleep-3"),
        ("host/sim cost=1.5", "sleep-3"),
    ]
    for row in told["commands"]:
        assert row["low"] < 3 < row["high"]
        assert row["verdict"] == "slower"
        assert row["reference"] == "short"
    assert told["rows"]
    markdown = (lab.folder / "r.md").read_text()
    assert "## Verdicts" in markdown
    assert markdown.index("## Commands") > markdown.index("## Verdicts")
    assert markdown.count("| sleep-3 |") == 2
    with (lab.folder / "r.csv").open(newline="") as file:
        assert {row["workload"] for row in csv.DictReader(file)} == {
            "command:short",
            "command:sleep-3",
        }


def test_a_command_that_is_not_there_says_which_option_helps(lab, monkeypatch, capsys):
    monkeypatch.chdir(lab.folder)

    assert main(["measure", *SIM, "--", "unheard-of"]) == 3

    said = capsys.readouterr().out
    assert "could not be run on host/sim" in said
    assert "--package NAME" in said


@pytest.mark.parametrize(
    ("blocks", "told"),
    [(1, "after 1 of the 3 blocks that a decision needs; --budget 180s is enough"), (3, None)],
)
def test_a_budget_that_is_too_short_says_how_much_is_enough(blocks, told, tmp_path):
    cells = [make_cell("host"), make_cell("host/docker")]
    plan = make_a_plan(*cells, min_blocks=3, max_blocks=8, budget_s=45.0)
    trials = [
        make_trial(cell, block, phases_s={"command": 30.0}, samples={"time": 30.0})
        for block in range(blocks)
        for cell in cells
    ]
    found = describe(Results(tmp_path, "", plan, NO_FACTS, NO_RUN, tuple(trials)))

    said = list(hints(found, "5min"))

    assert len(said) == (told is not None)
    assert all(told in one for one in said)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (Status.UNAVAILABLE, "--package NAME"),
        (Status.FAILED, "run in an empty directory of each stack"),
        (Status.DNR, "did not end in 5min: --timeout"),
    ],
)
def test_what_helps_where_no_trial_gave_a_number(status, told, tmp_path):
    cells = [make_cell("host"), make_cell("host/docker")]
    plan = make_a_plan(*cells, max_blocks=8)
    trials = [make_trial(cell, 0, status=status, reason="so", samples={}) for cell in cells]

    (said,) = hints(describe(Results(tmp_path, "", plan, NO_FACTS, NO_RUN, tuple(trials))), "5min")

    assert told in said


class TestPackages:
    """What the userland gets for a program; the host's dpkg and apt are asked by a fake machine."""

    USUAL = ("fio", "sysbench")

    def test_what_the_usual_userland_has_asks_for_nothing(self):
        host = Fake()

        assert find_packages(["sysbench"], [], [], host).names == self.USUAL

    def test_a_program_of_a_workload_is_known(self):
        host = Fake(**{"--show": (0, b" optional")})

        assert find_packages(["mbw"], [], [], host).names == ("fio", "mbw", "sysbench")

    def test_the_package_that_owns_a_program_here_is_taken(self, tmp_path, monkeypatch):
        program = tmp_path / "prog"
        program.touch(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        owner = b"diversion by x from: /p\ntool:amd64: /p\n"
        host = Fake(**{"--search": (0, owner), "--show": (0, b" optional")})

        assert find_packages(["prog"], [], [], host).names == ("fio", "sysbench", "tool")
        assert str(program) in host.asked[0]

    def test_what_every_debian_has_is_not_added(self, tmp_path):
        host = Fake(**{"--search": (0, b"coreutils: /p\n"), "--show": (0, b"yes required")})

        assert find_packages([f"{tmp_path}/ls"], [], [], host).names == self.USUAL

    def test_a_package_of_the_same_name_is_a_guess_that_is_told(self):
        host = Fake(**{"--search": (1, b""), "pkgnames": (0, b"zzprog\nzzprog-data\n")})

        found = find_packages(["zzprog"], [], [], host)

        assert found.names == (*self.USUAL, "zzprog")
        assert found.guessed == ("zzprog",)

    def test_an_unknown_program_is_refused_with_the_option(self):
        host = Fake(**{"--search": (1, b""), "pkgnames": (0, b"zzprog-data\n")})

        with pytest.raises(ConfigError, match=r"zzprog: no Debian package .* --package NAME"):
            find_packages(["zzprog"], [], [], host)
        with pytest.raises(ConfigError, match=r"\./prog: a file of this host"):
            find_packages(["./prog"], [], [], host)

    def test_an_unknown_word_of_a_shell_is_no_program(self):
        host = Fake(**{"--search": (1, b""), "pkgnames": (0, b"zzprog\n")})

        assert find_packages([], ["zzprog"], [], host).names == self.USUAL

    def test_packages_that_are_given_are_all_that_is_added(self):
        host = Fake()

        assert find_packages(["zz"], ["y"], ["b", "a"], host).names == ("a", "b", *self.USUAL)
        assert host.asked == []

    def test_programs_of_a_shell_are_looked_for_too(self):
        (one,) = read_commands(parsed("-s 'mk x' 'A=1 gzip f | wc && sort'"))

        assert program(one) == "sh"
        assert list(programs_for_shells(one)) == ["gzip", "wc", "sort", "mk"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("-- sysbench cpu --time=1 run", "--time=1"),
        ("-- fio --name=x --runtime 10", "--runtime 10"),
        ("-- sysbench cpu --events=9 --time=0 run", ""),
        ("-- app --some-time=1", ""),
    ],
)
def test_a_command_that_is_told_how_long_to_run_is_seen(line, words):
    assert duration_option(read_commands(parsed(line))) == words


def test_a_dry_run_shows_the_plan_and_measures_nothing(lab, monkeypatch, capsys):
    monkeypatch.chdir(lab.folder)

    assert main(["measure", *SIM, "--dry-run", "--", "sleep", "1", "--time=3", "{n}"]) == 0

    said = capsys.readouterr()
    assert "blocks     3 to 27" in said.out
    assert "{n} stands in the command as it is" in said.err
    assert "--time=3 seems to say how long the command runs" in said.err
    assert not (lab.folder / "results").exists()
