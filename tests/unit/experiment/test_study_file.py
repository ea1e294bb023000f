"""Study files: what is read from them, and what each mistake is answered with."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest

from tare.core.errors import ConfigError
from tare.core.model import CpuLimit, DiskCache, Limits, Repetition
from tare.experiment.study import Deadlines, load_study, preset_names, read_study


class Storage(StrEnum):
    OVERLAY = "overlay"
    VOLUME = "volume"


@dataclass(frozen=True, kw_only=True)
class Host:
    pass


@dataclass(frozen=True, kw_only=True)
class Docker:
    network: Literal["bridge", "none"] = "none"
    storage: Storage = Storage.OVERLAY
    privileged: bool = False


@dataclass(frozen=True, kw_only=True)
class Kvm:
    network: Literal["user", "tap"] = "user"
    overlay_bytes: int = 2**30
    image: str | None = None


@dataclass(frozen=True, kw_only=True)
class Spin:
    threads: int = 1
    time_s: float = 1.0
    size_bytes: int = 4096
    share: float = 0.5
    label: str = ""
    rate_per_s: int = 10

    def __post_init__(self):
        if self.size_bytes > 2**40:
            raise ValueError(f"size_bytes: {self.size_bytes} was given; expected at most 1 TiB")


@dataclass(frozen=True, kw_only=True)
class Copy:
    source: str


def catalogue(**kinds):
    return SimpleNamespace(names=lambda: sorted(kinds), kind=kinds.__getitem__)


LAYERS = catalogue(host=Host, docker=Docker, kvm=Kvm)
WORKLOADS = catalogue(spin=Spin, copy=Copy)

GOOD = """\
name: small
platforms:
  - host
  - host/docker
baseline: host
limits: {cpus: 1, memory: 1GiB}
workloads:
  - spin: {threads: 2}
"""


def read(text):
    return read_study(text, "small.yaml", LAYERS, WORKLOADS)


def problems(text):
    with pytest.raises(ConfigError) as caught:
        read(text)
    return str(caught.value).splitlines()


def test_a_study_is_read_with_every_default_filled_in():
    study = read(GOOD)
    assert study.name == "small"
    assert study.scenario == "solo"
    assert study.baseline == "host"
    assert study.limits == (Limits(cpus=1, memory_bytes=2**30),)
    assert study.repetition == Repetition()
    assert study.deadlines == Deadlines(start_s=120.0, trial_s=None)
    assert study.seed is None
    assert study.source == GOOD
    (spin,) = study.workloads
    assert spin.made == Spin(threads=2)
    assert dict(spin.params) == {
        "threads": 2,
        "time_s": 1.0,
        "size_bytes": 4096,
        "share": 0.5,
        "label": "",
        "rate_per_s": 10,
    }


def test_a_platform_holds_all_settings_of_its_layers():
    host, docker = read(GOOD).platforms
    assert host.layers == (("host", ()),)
    assert docker.settings == (
        ("docker.network", "none"),
        ("docker.storage", "overlay"),
        ("docker.privileged", False),
    )
    assert type(dict(docker.settings)["docker.storage"]) is str


def test_lists_of_settings_multiply_and_only_they_are_in_the_name():
    text = GOOD.replace(
        "- host/docker\n",
        "- {stack: host/docker, docker: {network: [bridge, none], storage: volume}}\n",
    )
    platforms = read(text).platforms[1:]
    assert [platform.name for platform in platforms] == [
        "host/docker[network=bridge]",
        "host/docker[network=none]",
    ]
    assert {dict(platform.settings)["docker.storage"] for platform in platforms} == {"volume"}


def test_a_key_that_varies_in_two_layers_is_written_with_its_layer():
    text = GOOD.replace(
        "- host/docker\n",
        "- stack: host/kvm/docker\n    name: nested\n"
        "    kvm: {network: [user, tap], overlay: [1 GiB, 2GiB]}\n"
        "    docker: {network: [bridge, none]}\n",
    )
    names = [platform.name for platform in read(text).platforms[1:]]
    assert len(names) == 8
    assert names[0] == "nested[kvm.network=user,overlay=1GiB,docker.network=bridge]"


def test_lists_of_parameters_and_limits_are_factors():
    text = GOOD.replace("threads: 2", "threads: [1, 2], size: [4KiB, 8KiB]")
    text = text.replace("memory: 1GiB", "memory: [1GiB, 2GiB], disk_cache: [none, writeback]")
    study = read(text)
    assert [(w.made.threads, w.made.size_bytes) for w in study.workloads] == [
        (1, 4096),
        (1, 8192),
        (2, 4096),
        (2, 8192),
    ]
    assert len(study.limits) == 4
    assert study.limits[1].disk_cache is DiskCache.WRITEBACK


def test_the_kind_of_cpu_limit_and_the_swap_are_factors_with_pinned_cpus_and_no_swap_by_default():
    (usual,) = read(GOOD).limits
    more = "memory: 1GiB, cpu_limit: [quota, none], swap: [0, 2GiB]"
    found = [
        (one.cpu_limit, one.swap_bytes) for one in read(GOOD.replace("memory: 1GiB", more)).limits
    ]

    assert (usual.cpu_limit, usual.swap_bytes) == (CpuLimit.CPUSET, 0)
    assert (usual.is_pinned, usual.quota_cpus, usual.unusual) == (True, None, ())
    assert found == [
        (CpuLimit.QUOTA, 0),
        (CpuLimit.QUOTA, 2 * 2**30),
        (CpuLimit.NONE, 0),
        (CpuLimit.NONE, 2 * 2**30),
    ]


def test_optional_limits_are_factors_and_absent_by_default():
    (usual,) = read(GOOD).limits
    found = read(GOOD.replace("memory: 1GiB", "memory: 1GiB, processes: [64, 1000]")).limits

    assert usual.optional == ()
    assert [one.optional for one in found] == [(("processes", 64),), (("processes", 1000),)]


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [
        ("10MB/s", 10_000_000),
        ("10 MiB/s", 10 * 2**20),
        ("100Mbit/s", 12_500_000),
        ("80000bit/s", 10_000),
        ("1 Gbit/s", 125_000_000),
        ("65536", 65536),
    ],
)
@pytest.mark.parametrize("key", ["network_out", "disk_write", "disk_write_bytes_per_s"])
def test_rates_are_read_with_their_units(key, text, bytes_per_s):
    (found,) = read(GOOD.replace("memory: 1GiB", f"memory: 1GiB, {key}: {text}")).limits

    assert found.optional == ((f"{key.removesuffix('_bytes_per_s')}_bytes_per_s", bytes_per_s),)


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("processes: 8", "limits.processes: 8 was given; expected 16 or more"),
        ("cpu_weight: 0", "limits.cpu_weight: 0 was given; expected 1 to 10000"),
        ("cpu_weight: 10001", "limits.cpu_weight: 10001 was given; expected 1 to 10000"),
        ("disk_read: 9kB/s", "limits.disk_read: 9000 was given; expected 10000 or more"),
        ("disk_reads_per_s: 0", "limits.disk_reads_per_s: 0 was given; expected 1 or more"),
        ("disk_write: 10MB", "'10MB' is a size; expected a rate: a number of bytes a second"),
        ("network_in: 5MHz", "'MHz' is not one of the units B/s, KB/s"),
    ],
)
def test_optional_limits_that_cannot_be_are_refused(limit, said):
    with pytest.raises(ConfigError, match=said):
        read(GOOD.replace("memory: 1GiB", f"memory: 1GiB, {limit}"))


def test_limits_that_do_not_vary_independently_are_a_list():
    limits = "[{cpus: 1, memory: 1GiB}, {cpus: 2, memory: [2GiB, 4GiB]}]"
    study = read(GOOD.replace("{cpus: 1, memory: 1GiB}", limits))
    found = [(one.cpus, one.memory_bytes // 2**30) for one in study.limits]
    assert found == [(1, 1), (2, 2), (2, 4)]


@pytest.mark.parametrize(
    ("written", "field", "value"),
    [
        ("size: 64MiB", "size_bytes", 64 * 2**20),
        ("size_bytes: 512", "size_bytes", 512),
        ("size: 1.5 KiB", "size_bytes", 1536),
        ("size: 2 GB", "size_bytes", 2 * 10**9),
        ("size: '8 kB'", "size_bytes", 8000),
        ("time: 5 ms", "time_s", 0.005),
        ("time: 2min", "time_s", 120.0),
        ("time_s: 1.5", "time_s", 1.5),
        ("time: 1e-3", "time_s", 0.001),
        ("share: 2%", "share", 0.02),
        ("share: 0.02", "share", 0.02),
        ("label: no", "label", "no"),
        ("label: ''", "label", ""),
        ("rate_per_s: 1e6", "rate_per_s", 1_000_000),
    ],
)
def test_values_are_read_in_base_units(written, field, value):
    (spin,) = read(GOOD.replace("threads: 2", written)).workloads
    assert getattr(spin.made, field) == value


def test_a_workload_may_stand_by_its_name_alone():
    text = GOOD.replace("- spin: {threads: 2}", "- spin")
    assert read(text).workloads[0].made == Spin()
    assert read(text.replace("- spin", "- spin:")).workloads[0].made == Spin()


def test_repetition_deadlines_and_seed_are_read():
    study = read(
        GOOD + "repetition: {min_blocks: 2, margin: 2%, precision: 1%, budget: 4min}\n"
        "deadlines: {start: 5 min, trial: 90}\nseed: 7\nquestion: Why?\n"
    )
    assert study.repetition == Repetition(min_blocks=2, margin=0.02, precision=0.01, budget_s=240.0)
    assert study.deadlines == Deadlines(start_s=300.0, trial_s=90.0)
    assert (study.seed, study.question) == (7, "Why?")


def test_the_deadline_of_a_trial_follows_its_expected_time_unless_declared():
    assert Deadlines().for_trial(1) == 60
    assert Deadlines().for_trial(30) == 600
    assert Deadlines(trial_s=5).for_trial(30) == 5


MISTAKES = {
    "unknown key": (
        "baseline: host",
        "basline: host",
        "small.yaml:5:1: basline: unknown key; expected one of name, question,",
        "did you mean 'baseline'?",
    ),
    "unknown parameter": (
        "threads: 2",
        "thread: 2",
        "small.yaml:8:12: workloads[0].spin.thread: unknown key; expected one of threads, time,",
        "did you mean 'threads'?",
    ),
    "unknown workload": (
        "spin:",
        "spni:",
        "small.yaml:8:5: workloads[0]: no workload is called 'spni'; expected one of copy, spin",
        "did you mean 'spin'?",
    ),
    "unknown layer": (
        "host/docker",
        "host/dokcer",
        "small.yaml:4:5: platforms[1]: no layer is called 'dokcer'; expected one of docker, host,",
        "did you mean 'docker'?",
    ),
    "stack without host": (
        "host/docker",
        "docker",
        "small.yaml:4:5: platforms[1]: the stack 'docker' begins with 'docker'; expected 'host'",
    ),
    "settings of another layer": (
        "- host/docker",
        "- {stack: host/docker, kvm: {}}",
        "small.yaml:4:26: platforms[1].kvm: unknown key; expected one of stack, name, instances, ",
    ),
    "platform without stack": (
        "- host/docker",
        "- {name: docker}",
        "small.yaml:4:5: platforms[1].stack: found no value; expected a single value",
    ),
    "bad platform name": (
        "- host/docker",
        '- {stack: host/docker, name: "a\\tb"}',
        "small.yaml:4:26: platforms[1].name: found 'a\\tb'; expected letters, digits",
    ),
    "wrong unit": (
        "threads: 2",
        "time: 5 MiB",
        "small.yaml:8:12: workloads[0].spin.time: '5 MiB' is a size; expected a time:",
    ),
    "unit nobody knows": (
        "1GiB",
        "1 gig",
        "small.yaml:6:19: limits.memory: 'gig' is not one of the units B, KB, kB,",
        "expected a size",
    ),
    "unit of a number without one": (
        "threads: 2",
        "threads: 2 s",
        "small.yaml:8:12: workloads[0].spin.threads: '2 s' is a time; expected a number",
    ),
    "no number": (
        "threads: 2",
        "threads: yes",
        "small.yaml:8:12: workloads[0].spin.threads: 'yes' is not a number; expected a number",
    ),
    "not whole": (
        "threads: 2",
        "threads: 1.5",
        "small.yaml:8:12: workloads[0].spin.threads: '1.5' is not whole; expected a whole number",
    ),
    "size below zero": (
        "1GiB",
        "-1GiB",
        "small.yaml:6:19: limits.memory: '-1GiB' is below zero; expected a size",
    ),
    "bad boolean": (
        "- host/docker",
        "- {stack: host/docker, docker: {privileged: 1}}",
        "small.yaml:4:35: platforms[1].docker.privileged: found '1'; expected one of true, false",
    ),
    "bad literal": (
        "- host/docker",
        "- {stack: host/docker, docker: {network: bridged}}",
        "small.yaml:4:35: platforms[1].docker.network: found 'bridged'; "
        "expected one of bridge, none; did you mean 'bridge'?",
    ),
    "bad member of an enumeration": (
        "memory: 1GiB",
        "memory: 1GiB, disk_cache: writethrough",
        "small.yaml:6:33: limits.disk_cache: found 'writethrough'; expected one of none, writeback",
    ),
    "bad scenario": (
        "name: small",
        "name: small\nscenario: tiers",
        "small.yaml:2:1: scenario: found 'tiers'; "
        "expected one of density, isolation, lifecycle, scale, solo, stream",
    ),
    "empty factor": (
        "threads: 2",
        "threads: []",
        "small.yaml:8:12: workloads[0].spin.threads: found an empty list; expected at least one",
    ),
    "level given twice": (
        "cpus: 1, memory: 1GiB",
        "cpus: 1, memory: [1GiB, 1024MiB]",
        "small.yaml:6:34: limits.memory[1]: '1024MiB' stands in the list twice; expected different",
    ),
    "factor where none can be": (
        "baseline: host",
        "baseline: [host]",
        "small.yaml:5:1: baseline: found a list; expected a single value",
    ),
    "duplicate key": (
        "baseline: host",
        "name: other",
        "small.yaml:5:1: name: duplicate key, first on line 1; expected once",
    ),
    "key in both spellings": (
        "threads: 2",
        "size: 1, size_bytes: 2",
        "small.yaml:8:21: workloads[0].spin.size_bytes: means the same as workloads[0].spin.size;",
        "expected once",
    ),
    "duplicate platform": (
        "host/docker",
        "host",
        "small.yaml:4:5: platforms[1]: two platforms are called 'host'; expected each name once",
    ),
    "platform without name": (
        "- host/docker",
        "- {stack: host/docker, name: ''}",
        "small.yaml:4:26: platforms[1].name: found ''; expected letters, digits",
    ),
    "empty stack": (
        "- host/docker",
        "- ''",
        "small.yaml:4:5: platforms[1]: the stack '' begins with ''; expected 'host'",
    ),
    "workload without name": (
        "spin: {threads: 2}",
        "'': {threads: 2}",
        "small.yaml:8:5: workloads[0]: no workload is called ''; expected one of copy, spin",
    ),
    "workload that is a list": (
        "spin: {threads: 2}",
        "[spin]",
        "small.yaml:8:5: workloads[0]: found a list; expected a single value",
    ),
    "empty mapping": (
        "spin: {threads: 2}",
        "{}",
        "small.yaml:8:5: workloads[0]: found the keys (none); expected one workload",
    ),
    "duplicate workload": (
        "  - spin: {threads: 2}",
        "  - spin: {threads: [1, 2]}\n  - spin: {threads: 2}",
        "small.yaml:9:5: workloads[1]: the same spin stands above; expected each once",
    ),
    "two workloads in one": (
        "  - spin: {threads: 2}",
        "  - spin:\n    threads: 2",
        "small.yaml:8:5: workloads[0]: found the keys spin, threads; expected one workload",
    ),
    "baseline not among the platforms": (
        "baseline: host",
        "baseline: host/docke",
        "small.yaml:5:1: baseline: 'host/docke' is not a platform; expected one of host, host/",
        "did you mean 'host/docker'?",
    ),
    "default baseline not among the platforms": (
        "  - host\n  - host/docker\nbaseline: host\n",
        "  - host/docker\n",
        "small.yaml:1:1: baseline: 'host' is not a platform; expected one of host/docker",
    ),
    "mapping where a value is expected": (
        "baseline: host",
        "baseline: {a: b}",
        "small.yaml:5:1: baseline: found a mapping; expected a single value",
    ),
    "value where a mapping is expected": (
        "limits: {cpus: 1, memory: 1GiB}",
        "limits: 3",
        "small.yaml:6:1: limits: found '3'; expected a mapping",
    ),
    "value where a list is expected": (
        "  - spin: {threads: 2}",
        "  spin",
        "small.yaml:7:1: workloads: found 'spin'; expected a list",
    ),
    "refused by the dataclass": (
        "threads: 2",
        "threads: 2, size: 2TiB",
        "small.yaml:8:24: workloads[0].spin.size: 2199023255552 was given; expected at most 1 TiB",
    ),
    "missing parameter": (
        "spin: {threads: 2}",
        "copy: {}",
        "small.yaml:8:5: workloads[0].copy: missing source; expected here",
    ),
    "missing section": (
        "limits: {cpus: 1, memory: 1GiB}\n",
        "",
        "small.yaml:1:1: limits: missing cpus and memory; expected here",
    ),
    "missing name": (
        "name: small\n",
        "",
        "small.yaml:1:1: missing name; expected here",
    ),
    "name that is a path": (
        "name: small",
        "name: ../small",
        "small.yaml:1:1: name: '../small' was given; expected letters, digits",
    ),
    "limits given twice": (
        "limits: {cpus: 1, memory: 1GiB}",
        "limits: [{cpus: 1, memory: 1GiB}, {cpus: 1, memory: 1024MiB}]",
        "small.yaml:6:35: limits[1]: the same limits stand above; expected each once",
    ),
    "rate meant as a time": (
        "threads: 2",
        "rate_per_s: 2 s",
        "small.yaml:8:12: workloads[0].spin.rate_per_s: '2 s' is a time; expected a number",
    ),
    "no limits in the list": (
        "limits: {cpus: 1, memory: 1GiB}",
        "limits: []",
        "small.yaml:6:1: limits: found an empty list; expected at least one value",
    ),
    "no processor": (
        "cpus: 1",
        "cpus: 0",
        "small.yaml:6:10: limits.cpus: 0 was given; expected 1 or more",
    ),
    "kind of CPU limit that does not exist": (
        "memory: 1GiB",
        "memory: 1GiB, cpu_limit: quotas",
        "small.yaml:6:33: limits.cpu_limit: found 'quotas'; expected one of cpuset, quota, none; "
        "did you mean 'quota'?",
    ),
    "swap below zero": (
        "memory: 1GiB",
        "memory: 1GiB, swap: -1",
        "small.yaml:6:33: limits.swap: '-1' is below zero; expected a size",
    ),
    "negative seed": (
        "baseline: host",
        "baseline: host\nseed: -1",
        "small.yaml:6:1: seed: -1 was given; expected 0 or more",
    ),
    "more readings than anybody can take": (
        "baseline: host",
        "baseline: host\nreadings_per_s: 11",
        "small.yaml:6:1: readings_per_s: 11 was given; expected 1 to 10 readings a second of host, "
        "layer and machine",
    ),
    "fewer blocks at most than at least": (
        "baseline: host",
        "baseline: host\nrepetition: {min_blocks: 9, max_blocks: 8}",
        "small.yaml:6:29: repetition.max_blocks: 8 was given; expected 9 or more",
    ),
    "margin meant as percent": (
        "baseline: host",
        "baseline: host\nrepetition: {margin: 2}",
        "small.yaml:6:14: repetition.margin: 2 was given; expected between 0 and 1, such as 2%",
    ),
    "text that commands a terminal": (
        "threads: 2",
        'label: "\\e[31mred"',
        "small.yaml:8:12: workloads[0].spin.label: found '\\x1b[31mred'; expected no characters",
    ),
    "deadline of nothing": (
        "baseline: host",
        "baseline: host\ndeadlines: {trial: 0 s}",
        "small.yaml:6:13: deadlines.trial: 0 s was given; expected more than 0 s",
    ),
    "plan without end": (
        "baseline: host",
        "baseline: host\nrepetition: {max_blocks: 1000000}",
        "small.yaml:1:1: the plan has 3000000 trials; expected at most 1000000",
    ),
    "combinations without end": (
        "threads: 2",
        f"threads: {list(range(200))}, size: {list(range(200))}",
        "small.yaml:8:5: workloads[0].spin: the lists make 40000 combinations; expected at most",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_place_key_and_expectation(mistake):
    right, wrong, begin, *others = MISTAKES[mistake]
    assert GOOD.count(right) >= 1
    # Of the platforms' words the last is replaced, of all others the only one.
    head, _, tail = GOOD.rpartition(right)
    (line,) = problems(head + wrong + tail)
    assert line.startswith(begin)
    assert "expected" in line
    for other in others:
        assert other in line


def test_all_mistakes_of_a_file_are_told_in_its_order():
    text = (
        GOOD.replace("cpus: 1", "cpus: one")
        .replace("threads", "thread")
        .replace("host/docker", "host/dokcer")
    )
    assert [line.split(": ")[1] for line in problems(text)] == [
        "platforms[1]",
        "limits.cpus",
        "workloads[0].spin.thread",
    ]


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("", "small.yaml:1: the file is empty"),
        ("a: [1\nb: 2", "small.yaml:2:2: "),
        ("a: 'b", "small.yaml:1:6: "),
        ("a: 1\nb: \x00", "small.yaml:2: "),
        ("a: *b", "small.yaml:1:4: found undefined alias"),
        ("a: 1\n---\nb: 1", "small.yaml:2:1: "),
        ("[1]", "small.yaml:1:1: found a list; expected a mapping"),
    ],
)
def test_text_that_is_no_study_is_refused_with_its_line(text, begin):
    assert problems(text)[0].startswith(begin)


def test_no_python_object_is_ever_made(tmp_path):
    made = tmp_path / "made"
    tag = f"!!python/object/apply:pathlib.Path.touch ['{made}']"
    with pytest.raises(ConfigError, match=r"small.yaml:5:1: baseline: found a list"):
        read(GOOD.replace("baseline: host", f"baseline: {tag}"))
    assert not made.exists()


def test_a_file_is_read_by_its_path(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text("name: [")
    with pytest.raises(ConfigError) as caught:
        load_study(path)
    assert str(caught.value).startswith(f"{path}:1:8: ")


def test_a_file_that_is_not_there_is_answered_with_the_presets():
    with pytest.raises(ConfigError, match=r"quik: No such file.*did you mean 'quick'"):
        load_study("quik")


def test_a_file_that_is_not_text_is_refused_with_its_line(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_bytes(b"name: a\n\xff")
    with pytest.raises(ConfigError, match=r"small.yaml:2: not UTF-8"):
        load_study(path)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_can_be_read(name):
    study = load_study(name)
    assert study.name == name
    assert study.question


def test_the_example_of_the_reference_is_what_the_reference_says():
    reference = Path(__file__).parents[3] / "docs/reference/study-file.md"
    example = reference.read_text().split("```yaml\n")[1].split("```")[0]
    study = read_study(example, "example")
    assert [platform.name for platform in study.platforms] == [
        "host",
        "host/docker[network=bridge]",
        "host/docker[network=none]",
        "nested",
    ]
    assert len(study.workloads) == 3


def test_the_example_of_two_scales_is_one():
    reference = Path(__file__).parents[3] / "docs/reference/study-file.md"
    example = reference.read_text().split("```yaml\n")[2].split("```")[0]
    quick, full = (read_study(example, "example", scale=scale) for scale in ("quick", "full"))
    assert [platform.name for platform in quick.platforms] == ["host", "host/kvm", "host/qemu-tcg"]
    assert [platform.name for platform in full.platforms] == ["host", "host/kvm"]
    assert (len(quick.workloads), len(full.workloads)) == (1, 3)
