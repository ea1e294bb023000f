"""Studies at two scales: what is read at each, what is stored, and what is refused."""

import json
from dataclasses import replace
from textwrap import indent

import pytest

from tare.cli import main
from tare.core.errors import ConfigError
from tare.core.model import Limits
from tare.core.model.group import group
from tare.experiment.design import estimate, make_plan
from tare.experiment.study import load_study, preset_names, read_study
from tare.experiment.study.scale import SCALES
from tare.results.published.rows import studies
from tare.results.published.setup import setup_of
from tare.results.store import load

TEXT = """\
name: scaled
question: Does it scale?
platforms:
  - {stack: host, name: base}
  - quick: [{stack: host/sim, name: one}, {stack: host/sim, name: two}]
    full: []
  - {quick: {stack: host/sim, name: small}, full: {stack: host/sim, name: large}}
baseline: base
limits:
  quick: {cpus: 1, memory: 1GiB}
  full: [{cpus: 2, memory: 2GiB}, {cpus: 4, memory: 4GiB}]
workloads:
  - sysbench_cpu:
      threads: {quick: [1, 2], full: 4}
      time: {quick: 1 s, full: 30 s}
repetition: {max_blocks: {quick: 8, full: 20}}
"""


def read(text, scale=None):
    return read_study(text, "scaled.yaml", scale=scale)


def facts(study):
    return replace(study, source="")


def refusal(text, scale=None):
    with pytest.raises(ConfigError) as caught:
        read(text, scale)
    (line,) = str(caught.value).splitlines()
    return line


def test_values_lists_elements_and_sections_are_read_at_the_scale_that_is_asked_for():
    quick, full = read(TEXT, "quick"), read(TEXT, "full")
    assert [platform.name for platform in quick.platforms] == ["base", "one", "two", "small"]
    assert [platform.name for platform in full.platforms] == ["base", "large"]
    assert quick.limits == (Limits(cpus=1, memory_bytes=2**30),)
    assert [(one.cpus, one.memory_bytes / 2**30) for one in full.limits] == [(2, 2), (4, 4)]
    assert [(w.made.threads, w.made.time_s) for w in quick.workloads] == [(1, 1), (2, 1)]
    assert [(w.made.threads, w.made.time_s) for w in full.workloads] == [(4, 30)]
    assert (quick.repetition.max_blocks, full.repetition.max_blocks) == (8, 20)
    assert (quick.scale, full.scale) == ("quick", "full")


def test_full_counts_unless_the_study_or_the_caller_says_otherwise():
    said = f"scale: quick\n{TEXT}"
    assert facts(read(TEXT)) == facts(read(TEXT, "full"))
    assert facts(read(said)) == facts(read(TEXT, "quick"))
    assert facts(read(said, "full")) == facts(read(TEXT))


def test_a_study_without_such_values_has_no_scale():
    assert load_study("quick").scale is None


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"# what this is\n\n{TEXT}",
        f"%YAML 1.1\n---\n{TEXT}...\n",
        "".join(f"   {line}\n" for line in TEXT.splitlines()),
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("baseline:", "scale: quick   # mine\nbaseline:"),
        TEXT.replace("baseline:", "scale: 'full'\nbaseline:"),
        f"scale: quick\n{TEXT}",
        "{name: a, platforms: [host], limits: {cpus: 1, memory: 1GiB},\n"
        " workloads: [{sysbench_cpu: {threads: {quick: 1, full: 4}}}]}",
        "\ufeff" + TEXT,
        f"&root\n{TEXT}",
        f"--- &root\n{TEXT}",
        f"!!map\n{TEXT}",
        "--- !!map &root   # all of it\n" + indent(TEXT, "   "),
        "&root {name: a, platforms: [host], limits: {cpus: 1, memory: 1GiB},\n"
        " workloads: [{sysbench_cpu: {threads: {quick: 1, full: 4}}}]}",
        f"? name\n: a\n{TEXT.partition(chr(10))[2]}",
    ],
)
@pytest.mark.parametrize("scale", SCALES)
def test_the_source_is_read_again_as_the_same_study_without_being_asked(text, scale):
    study = read(text, scale)
    assert study.scale == scale
    assert facts(read(study.source)) == facts(study)
    # All but the one word is as it was written.
    assert len(study.source.splitlines()) <= len(text.splitlines()) + 1
    assert read(text).source == text


@pytest.mark.parametrize(
    ("right", "wrong", "line"),
    [
        (
            "time: {quick: 1 s, full: 30 s}",
            "time: {quick: 1 s}",
            "scaled.yaml:15:7: workloads[0].sysbench_cpu.time: found the keys quick; "
            "expected quick and full, each once and alone",
        ),
        (
            "full: 30 s}",
            "full: 30 s, large: 60 s}",
            "scaled.yaml:15:7: workloads[0].sysbench_cpu.time: found the keys quick, full, large; "
            "expected quick and full, each once and alone",
        ),
        (
            "full: 30 s}",
            "quick: 30 s}",
            "scaled.yaml:15:7: workloads[0].sysbench_cpu.time: found the keys quick, quick; "
            "expected quick and full, each once and alone",
        ),
        (
            "\n    full: []",
            "",
            "scaled.yaml:5:5: platforms[1]: found the keys quick; "
            "expected quick and full, each once and alone",
        ),
        (
            "full: [{cpus: 2, memory: 2GiB}, {cpus: 4",
            "full: [{cpus: 2, memory: 2GiB}, {cpus: 0",
            "scaled.yaml:11:36: limits[1].cpus: 0 was given; expected 1 or more; change the value",
        ),
        (
            "{cpus: 4, memory: 4GiB}",
            "{cpus: 2, memory: 2048MiB}",
            "scaled.yaml:11:35: limits[1]: the same limits stand above; "
            "expected each once; remove one",
        ),
        (
            "full: 4}\n",
            "full: 4 s}\n",
            "scaled.yaml:14:32: workloads[0].sysbench_cpu.threads: '4 s' is a time; "
            "expected a number such as",
        ),
        (
            "name: scaled",
            "name: scaled\nscale: medium",
            "scaled.yaml:2:1: scale: found 'medium'; expected one of quick, full",
        ),
    ],
)
def test_a_mistake_is_told_at_its_line_and_key(right, wrong, line):
    assert TEXT.count(right) == 1
    assert refusal(TEXT.replace(right, wrong)).startswith(line)


PLAIN = "name: a\nplatforms: [host]\nlimits: {cpus: 1, memory: 1GiB}\nworkloads: [sysbench_cpu]\n"


@pytest.mark.parametrize("scale", SCALES)
def test_a_scale_is_refused_where_there_is_but_one(scale):
    said = f"the scale {scale} was asked for, but no value has the keys quick and full"
    assert refusal(PLAIN, scale).startswith(f"scaled.yaml:1:1: {said}")
    assert refusal(f"{PLAIN}scale: {scale}\n").startswith(f"scaled.yaml:5:1: scale: {said}")


@pytest.mark.parametrize("scale", SCALES)
def test_a_text_that_a_scale_cannot_be_written_into_is_refused_before_it_is_stored(scale):
    text = f"&root\n? name\n: a\n{TEXT.partition(chr(10))[2]}"
    read(text)
    assert refusal(text, scale) == (
        f"scaled.yaml:1: the scale {scale} was asked for and cannot be written into this text; "
        f"expected plain keys and values; write 'scale: {scale}' among its keys, and leave the "
        "scale out"
    )
    assert read(f"{text}scale: {scale}\n").scale == scale


def test_a_value_that_holds_itself_is_refused():
    text = TEXT.replace("time: {quick: 1 s, full: 30 s}", "time: &a {quick: *a, full: 30 s}")
    assert "found a mapping; expected a single value" in refusal(text, "quick")
    text = TEXT.replace("threads: {quick: [1, 2]", "threads: &a {quick: [*a, 2]")
    with pytest.raises(ConfigError, match="found a mapping; expected a single value"):
        read(text, "quick")


def test_both_scales_are_planned_side_by_side_unless_one_is_asked_for(lab, capsys):
    path = lab.folder / "study.yaml"
    path.write_text(TEXT)
    assert main(["plan", str(path), "--seed", "1"]) == 0
    said = capsys.readouterr().out
    at = {scale: estimate(make_plan(read(TEXT, scale), 1), read(TEXT, scale)) for scale in SCALES}
    rows = {line.split()[0]: line.split()[1:] for line in said.splitlines() if line.strip()}
    assert "  scale      quick" in said
    assert rows["cells"] == [str(at["quick"].cells), str(at["full"].cells)]
    low, high = at["full"].trials_min, at["full"].trials_max
    assert rows["trials"][3:] == [str(low), "to", str(high)]

    assert main(["plan", str(path), "--seed", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["scale"] == "full"
    assert {scale: one["cells"] for scale, one in told["scales"].items()} == {
        "quick": 10,
        "full": 6,
    }

    assert main(["plan", str(path), "--scale", "quick", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["scale"], told["scales"]) == ("quick", {})
    assert told["estimate"]["cells"] == 10


def test_a_run_stores_the_study_at_its_scale_and_goes_on_with_it(lab, capsys):
    text = lab.text(
        {"base": {"sim": {}}},
        repetition={"min_blocks": 8, "max_blocks": {"quick": 8, "full": 11}, "instances": 1},
    )
    path, into = lab.folder / "study.yaml", lab.folder / "results"
    path.write_text(text)
    assert main(["run", str(path), "--scale", "quick", "--into", str(into)]) == 0
    assert load(into).plan.repetition.max_blocks == 8
    stored = read_study((into / "study.yaml").read_text(), "study.yaml")
    assert facts(stored) == facts(read(text, "quick"))

    assert main(["run", "--resume", str(into)]) == 0
    capsys.readouterr()
    assert main(["run", "--resume", str(into), "--scale", "full"]) == 2
    assert "--scale was given with --resume" in capsys.readouterr().err


QUICK_S = {"solo": 600.0, "isolation": 1200.0, "scale": 2400.0}
"""Ten minutes, of which 8 measure; twenty next to neighbours. What is estimated of several
instances at once is what they take one after another: on two CPUs twice what it is."""
PLATFORMS = {
    preset.name: {platform.name for platform in preset.platforms}
    for study in studies()
    for preset in setup_of(study).presets
}


def test_every_preset_of_a_published_study_has_two_scales():
    published = {name for name in preset_names() if name.split("-")[0] in studies()}
    assert published == set(PLATFORMS)
    assert all(load_study(name).scale for name in published)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", PLATFORMS)
def test_a_published_study_is_planned_at_both_scales(name, scale):
    study = load_study(name, scale)
    names = {platform.name for platform in study.platforms}
    assert names >= PLATFORMS[name]
    # What is there besides, where the study's hypervisors do not work, is said to be that.
    besides = ("qemu-tcg", "native", "host/podman", "host/nspawn")
    assert all(any(one in other for one in besides) for other in names - PLATFORMS[name])
    assert facts(read(study.source)) == facts(study)

    planned = make_plan(study, 1)
    groups = {group(cell) for cell in planned.cells}
    cells = len(study.workloads) * len(study.limits) * len(study.platforms)
    assert len(planned.cells) == cells + len(groups)  # an A/A control each
    for chosen in study.workloads:
        # It fails where threads and CPUs differ, or measures something else.
        assert chosen.name != "linpack" or {chosen.made.threads} == {
            limits.cpus for limits in study.limits
        }
    if scale == "quick":
        assert all(one.cpus <= 2 and one.memory_bytes <= 2**30 for one in study.limits)
        assert study.repetition.instances == 1
        assert estimate(planned, study).duration_max_s < QUICK_S[study.scenario]


@pytest.mark.parametrize("name", PLATFORMS)
def test_both_scales_of_a_published_study_measure_the_same_things(name):
    quick, full = (load_study(name, scale) for scale in SCALES)
    assert {w.name for w in quick.workloads} == {w.name for w in full.workloads}
    assert {p.name for p in full.platforms} <= {p.name for p in quick.platforms}
    assert quick.baseline == full.baseline


def test_a_list_of_limits_is_one_factor_of_the_full_scale():
    assert [(one.cpus, one.memory_bytes // 2**20) for one in load_study("cole2022").limits] == [
        (1, 1024), (2, 2048), (4, 4096)
    ]  # fmt: skip
