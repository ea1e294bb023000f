"""The command line: exit statuses, one clear sentence for what is wrong, interrupts, start-up."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from tare import cli
from tare.cli import COMMANDS, INTERRUPTED, main, module_of
from tare.cli import run as cli_run
from tare.cli.progress import Lines
from tare.results.store import load

HEAVY = ("numpy", "scipy", "vl_convert", "rich", "pydantic", "jinja2")
PLUGINS = str(Path(__file__).parents[1] / "plugins")
START_S = 30.0


@pytest.fixture
def study(lab):
    """Write a study file; gives its path."""

    def write(text=None):
        path = lab.folder / "study.yaml"
        path.write_text(lab.text({"base": {"sim": {}}}) if text is None else text)
        return path

    return write


def tare(*words):
    return main([*map(str, words)])


def started(*words, before=""):
    """Start the command line in a process of its own; ``before`` is Python to run first."""
    script = f"import sys\n{before}\nfrom tare.cli import main\nsys.exit(main(sys.argv[1:]))"
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def await_size(path, size, process):
    deadline = time.monotonic() + START_S
    while not path.exists() or path.stat().st_size < size:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as left:
        tare(command, "--help")

    assert left.value.code == 0
    assert f"usage: tare {command}" in capsys.readouterr().out


def test_the_table_of_commands_has_every_module_that_is_one():
    modules = (f"tare.cli.{module.name}" for module in iter_modules(cli.__path__))
    are_commands = {
        name
        for name in modules
        if name != "tare.cli.__main__" and hasattr(import_module(name), "arguments")
    }

    assert are_commands == {module_of(name) for name in COMMANDS}


def test_help_imports_no_command_and_a_command_no_other():
    commands = {module_of(name) for name in COMMANDS}

    assert not imports("--help") & commands
    assert imports("list", "layers") & commands == {"tare.cli.listing"}


@pytest.mark.parametrize(
    "words",
    [[], ["fly"], ["run"], ["run", "quick", "--resume", "x"], ["plan", "quick", "--seed", "x"]],
)
def test_wrong_usage_has_status_2(words, capsys):
    with pytest.raises(SystemExit) as left:
        tare(*words)

    assert left.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["plan", "quick"], ["plan", "--json", "quick"]])
def test_nothing_heavy_is_imported_before_it_is_needed(words):
    assert not imports(*words) & set(HEAVY)


def test_layers_are_listed_without_the_reader_of_study_files():
    assert not imports("list", "layers") & {*HEAVY, "yaml"}


def imports(*words):
    """Return the modules that a command line imports."""
    check = f"""
import sys
from tare.cli import main
try:
    main({list(words)!r})
except SystemExit:
    pass
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_a_plan_is_shown_for_people_and_for_programs(study, capsys):
    path = study()
    assert tare("plan", path, "--seed", 3) == 0
    said = capsys.readouterr().out
    assert "base" in said
    assert "seed 3" in said

    assert tare("plan", path, "--seed", 3, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["plan"]["seed"] == 3
    assert len(told["plan"]["slots"]) == 16


def test_a_study_is_run_shown_and_not_run_into_the_same_folder_again(lab, study, capsys):
    path, into = study(), lab.folder / "results"
    assert tare("run", path, "--into", into, "--seed", 7) == 0
    said = capsys.readouterr()
    assert "stopped: the maximum of 8 blocks was reached" in said.out
    assert "removing what was started" in said.err
    assert load(into).plan.seed == 7

    assert tare("show", into) == 0
    assert "base" in capsys.readouterr().out
    assert tare("show", into, "--json") == 0
    assert json.loads(capsys.readouterr().out)

    assert tare("run", path, "--into", into) == 2
    assert f"tare run --resume {into}" in capsys.readouterr().err
    assert tare("run", "--resume", into) == 0
    assert len(load(into).run.sessions) == 2


def test_results_go_to_a_folder_of_the_study_and_time_unless_told(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert tare("run", study()) == 0
    (folder,) = (tmp_path / "results").iterdir()
    assert folder.name.startswith("simulated-20")


def test_a_trial_that_is_not_ok_gives_status_1(lab, study):
    slow = {"stack": "host/sim", "sim": {"cost": 1000.0}}
    text = lab.text(
        {"base": {"sim": {}}, "slow": slow},
        workloads=[{"mbw": {"size": "8192MiB", "runs": 2}}],
    )
    assert tare("run", study(text), "--into", lab.folder / "results") == 1


def test_a_host_that_can_do_nothing_of_it_gives_status_3(lab, study):
    text = lab.text({"base": {"sim": {}}}, limits={"cpus": 4096, "memory": "1GiB"})
    assert tare("run", study(text), "--into", lab.folder / "results") == 3


WRONG = {
    "unknown key": ("baseline: base", "baseline: base\ncolour: red", "colour: unknown key"),
    "unknown workload": ("sysbench_cpu", "sysbench_gpu", "did you mean 'sysbench_cpu'"),
    "unknown layer": ("host/sim", "host/simm", "did you mean 'sim'"),
    "wrong unit": ("time: 1 s", "time: 1 MiB", "expected a time"),
    "empty factor": ("threads: 1", "threads: []", "empty list"),
    "no baseline": ("baseline: base", "baseline: best", "'best' is not a platform"),
    "not YAML": ("baseline: base", "baseline: [base", "expected YAML"),
    "impossible setting": ("threads: 1", "threads: 0", "threads"),
    "no platforms": ("platforms:", "platform:", "missing"),
}


@pytest.mark.parametrize("command", ["plan", "run"])
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_study_is_refused_with_its_file_and_line(command, case, lab, study, capsys):
    old, new, expected = WRONG[case]
    text = lab.text({"base": {"sim": {}}})
    assert old in text
    path = study(text.replace(old, new))

    assert tare(command, path) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{path}:" in said.err
    if case != "no platforms":
        assert expected in said.err
    assert "Traceback" not in said.err
    assert not (Path.cwd() / "results" / "simulated").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["plan", "no-such-study.yaml"], "expected a study file or one of"),
        (["run", "no-such-study.yaml"], "expected a study file or one of"),
        (["run", "--resume", "no-such-folder"], "is no results directory"),
        (["show", "no-such-folder"], "is no results directory"),
        (["report", "no-such-folder"], "is no results directory"),
    ],
)
def test_what_is_not_there_is_said_with_status_2(words, expected, lab, capsys):
    assert tare(*words) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plan.json", "{"),
        ("plan.json", '{"format": 1}'),
        ("study.yaml", None),
        ("trials.jsonl", "not a trial\n"),
        ("trials.jsonl", None),
        ("facts.json", "{"),
        ("run.json", "[]"),
    ],
)
def test_damaged_results_are_refused_with_the_file_that_is_damaged(
    name, content, lab, study, capsys
):
    into = lab.folder / "results"
    tare("run", study(), "--into", into)
    (into / name).unlink()
    if content is not None:
        (into / name).write_text(content)
    capsys.readouterr()

    for words in (("show", into), ("run", "--resume", into)):
        assert tare(*words) == 2, words
        said = capsys.readouterr().err
        assert name in said
        assert "Traceback" not in said


def test_a_folder_that_cannot_be_written_is_said(lab, study, capsys):
    (lab.folder / "file").touch()
    assert tare("run", study(), "--into", lab.folder / "file" / "results") == 2
    assert "cannot write results" in capsys.readouterr().err


def test_a_home_that_cannot_be_made_is_said(lab, study, monkeypatch, capsys):
    path = study()
    (lab.folder / "file").touch()
    monkeypatch.setenv("TARE_HOME", str(lab.folder / "file" / "home"))

    assert tare("run", path, "--into", lab.folder / "results") == 3
    assert "cannot write to" in capsys.readouterr().err


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"  # not below /dev, which a host instance of another session holds
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], check=True)  # noqa: S607
    yield folder
    subprocess.run(["umount", folder], check=True)  # noqa: S607


@pytest.mark.needs("root")
def test_no_room_for_building_is_said_before_building(lab, study, small_disk, monkeypatch, capsys):
    path = study(lab.text({"host": {"stack": "host"}}))
    monkeypatch.setenv("TARE_HOME", str(small_disk / "home"))

    assert tare("run", path, "--into", lab.folder / "results") == 3
    said = capsys.readouterr().err
    assert "GB of disk" in said
    assert "make room there, or set TARE_HOME" in said
    assert list((small_disk / "home" / "userland").glob("building-*")) == []
    assert lab.leftovers() == []


@pytest.mark.needs("root")
def test_no_room_for_a_trial_is_said_and_resuming_goes_on(lab, study, small_disk, capsys):
    into = small_disk / "results"
    text = lab.text({"base": {"sim": {}}}, repetition={"min_blocks": 40, "max_blocks": 40})
    assert tare("run", study(text), "--into", into) == 2
    said = capsys.readouterr().err
    assert f"make room, then tare run --resume {into}" in said
    assert len(load(into).trials) > 0

    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)  # noqa: S607
    assert tare("run", "--resume", into) == 0
    assert len({t.block for t in load(into).trials}) == 40


ENDLESS = {"min_blocks": 30000, "max_blocks": 30000, "instances": 2}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_run_and_says_how_to_go_on(number, lab, study):
    into = lab.folder / "results"
    path = study(lab.text({"base": {"sim": {}}}, repetition=ENDLESS))
    process = started("run", path, "--into", into)
    await_size(into / "trials.jsonl", 2000, process)
    process.send_signal(number)
    out, err = process.communicate(timeout=START_S)

    assert process.returncode == 130
    assert f"tare: interrupted; go on with: tare run --resume {into}" in err
    assert "Traceback" not in err
    assert out == ""
    assert lab.leftovers() == []
    stored = load(into)
    assert stored.trials
    assert "before the study was" in stored.run.stop


STUCK = """
import os
from tare.machines import layers
layers.__path__.append({plugins!r})
from tare.machines.layers import scripted
wait = ["sh", "-c", 'while test -e "$0"; do sleep 0.05; done', {flag!r}]
scripted.plot = lambda instance, verb, argv: wait if verb == "undo" else None
"""


def test_a_second_interrupt_leaves_at_once_and_cleaning_removes_the_rest(lab, study, capsys):
    into, flag = lab.folder / "results", lab.folder / "stuck"
    flag.touch()
    path = study(lab.text({"base": {"stack": "host/scripted"}}, repetition=ENDLESS))
    process = started(
        "run", path, "--into", into, before=STUCK.format(plugins=PLUGINS, flag=str(flag))
    )
    await_size(into / "trials.jsonl", 2000, process)
    process.send_signal(signal.SIGINT)
    while "again to leave at once" not in (line := process.stderr.readline()):
        assert line, process.poll()
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=START_S)

    assert process.returncode == 130
    assert time.monotonic() - begun < START_S / 2  # removing would have taken for ever
    assert "left at once; remove what was started with: tare clean" in err
    assert "Traceback" not in err
    assert lab.leftovers()

    flag.unlink()
    assert tare("clean") == 0
    assert "removed file" in capsys.readouterr().out
    assert lab.leftovers() == []


def test_cleaning_where_nothing_is_left_says_so(lab, capsys):
    assert tare("clean") == 0
    assert capsys.readouterr().out == "0 things removed\n"


def test_cleaning_the_cache_removes_what_was_built(lab, capsys):
    shelf = lab.folder / "home" / "userland" / "0123456789ab"
    shelf.mkdir(parents=True)

    assert tare("clean", "--cache") == 0
    assert not shelf.exists()


def test_a_ledger_whose_results_are_gone_is_said(lab, study, capsys):
    ledgers = lab.folder / "home" / "ledgers"
    ledgers.mkdir(parents=True)
    (ledgers / "abcdef").symlink_to(lab.folder / "gone" / "ledger.jsonl")

    assert tare("clean") == 0
    assert "abcdef is gone" in capsys.readouterr().err


def test_what_cannot_be_cleaned_gives_status_1_and_is_tried_again(lab, capsys):
    home = lab.folder / "home"
    (home / "ledgers").mkdir(parents=True)
    flag = lab.folder / "stuck"
    flag.touch()
    entry = {
        "id": 1, "what": "frob", "name": "f", "on": "host", "ephemeral": False,
        "undo": ["sh", "-c", 'test ! -e "$0" || { echo busy >&2; exit 1; }', str(flag)],
    }  # fmt: skip
    (lab.folder / "ledger.jsonl").write_text(json.dumps(entry) + "\n")
    (home / "ledgers" / "abcdef").symlink_to(lab.folder / "ledger.jsonl")

    assert tare("clean") == 1
    assert "could not remove frob f on host: busy" in capsys.readouterr().err
    flag.unlink()
    assert tare("clean") == 0
    assert lab.leftovers() == []


@pytest.mark.skipif(os.name != "posix", reason="pipes")
def test_a_reader_who_has_had_enough_is_no_error(study):
    process = started("plan", study(), "--json")
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 0


@pytest.fixture
def handlers():
    """Leave the handlers of signals as they were."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
def test_an_interrupt_while_things_are_removed_does_not_end_that(tmp_path, monkeypatch, capfd):
    left = []
    monkeypatch.setattr(os, "_exit", left.append)
    progress = Lines(tmp_path)
    cli_run._second_interrupt_leaves(progress)

    progress.removes()
    signal.raise_signal(signal.SIGINT)
    assert left == []
    signal.raise_signal(signal.SIGINT)

    assert left == [INTERRUPTED]
    assert "again to leave at once" in capfd.readouterr().err


@pytest.mark.usefixtures("handlers")
def test_the_first_interrupt_before_that_ends_the_run(tmp_path):
    cli_run._second_interrupt_leaves(Lines(tmp_path))

    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
