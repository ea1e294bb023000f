"""Presets of published studies hold what the studies' set-ups say, at every key.

The walk reads a preset and the data of its study, and lists its objections: a parameter at full
scale that is not the study's, "ours" where the study is not silent, a shortened value that nobody
explains. A comment on the line of a key has clauses: ``ours`` (the study is silent), ``quick: ...``
(what the quick scale shortened), ``deviation`` (the data of the study say why).
"""

import re
from collections.abc import Iterator
from dataclasses import fields

import pytest
import yaml

from tare.core.model import Limits
from tare.experiment.study import load_study, measured, read_study
from tare.experiment.study.combinations import key_of
from tare.experiment.study.item import compose
from tare.experiment.study.loader import _PRESETS, preset_names
from tare.experiment.study.scale import SCALES
from tare.machines import layer
from tare.machines.userland import DISK_BYTES
from tare.results.published.rows import studies
from tare.results.published.setup import setup_of
from tare.work import workload

PRESETS = {
    preset.name: (study, preset) for study in studies() for preset in setup_of(study).presets
}
SYSTEM_BYTES = 1.5 * 2**30
"""What a guest's system takes of its disk."""
COMMENT = re.compile(r"(?:^|\s)#\s(.*)$")


class Written:
    """A preset's text: where its keys stand, and what the comments on their lines say."""

    def __init__(self, text):
        self.lines = text.splitlines()
        self.root = yaml.compose(text)

    def clauses(self, node):
        """List the clauses of the comments on the lines of a node, of a list or mapping its own."""
        first, last = node.start_mark.line, last_line(node)
        comments = [COMMENT.search(line) for line in self.lines[first : last + 1]]
        return [c.strip() for one in comments if one for c in one[1].split(";")]

    def marked(self, node, word):
        return any(re.match(rf"{word}\b", clause) for clause in self.clauses(node))

    def says_quick(self, node):
        return any(re.match(r"quick: \w", clause) for clause in self.clauses(node))


def last_line(node):
    if isinstance(node, yaml.ScalarNode) or node.flow_style:
        return node.end_mark.line
    return max(last_line(one) for one in parts_of(node))


def parts_of(node):
    if isinstance(node, yaml.SequenceNode):
        return node.value
    return [part for pair in node.value for part in pair] if hasattr(node, "value") else []


def at(node, name):
    """Find the value of a key, and its key whose line the comment may be on."""
    found = [(key, value) for key, value in node.value if key.value == name]
    return found[0] if found else (None, None)


def is_pair(node):
    return isinstance(node, yaml.MappingNode) and {k.value for k, _ in node.value} == set(SCALES)


class Key:
    """A key of a preset with its value, as one node whose lines are those of both."""

    def __init__(self, key, value):
        self.start_mark, self.flow_style = key.start_mark, False
        self.value = [(key, value)]


def all_keys(node, name=None) -> Iterator[Key]:
    """List all keys below a node, or those of a name."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if name is None or key.value == name:
                yield Key(key, value)
    for part in parts_of(node):
        if not isinstance(part, yaml.ScalarNode):
            yield from all_keys(part, name)


def objections(name, text, setup) -> list[str]:
    """List in what a preset is not as the data of its study have it."""
    written = Written(text)
    study = read_study(text, f"{name}.yaml", scale="full")
    (preset,) = [one for one in setup.presets if one.name == name]
    experiments = [one for one in setup.experiments if one.preset == name]
    found = [
        *_pairs(written),
        *_limits(written, study, experiments),
        *_platforms(written, study, preset),
        *_repetition(written, study, preset),
        *_workloads(written, text, experiments),
    ]
    return list(dict.fromkeys(found))


def _pairs(written):
    """Every value at two scales says what the quick one shortened."""
    for key in all_keys(written.root):
        name, value = key.value[0][0].value, key.value[0][1]
        if is_pair(value) and not written.says_quick(key):
            yield f"{name}: the quick scale does not say what it shortened"
        for part in value.value if isinstance(value, yaml.SequenceNode) else ():
            if is_pair(part) and not written.says_quick(part):
                yield f"{name}: the quick scale does not say what it has besides"
    limits = at(written.root, "limits")[1]
    if is_pair(limits) and not written.says_quick(at(limits, "quick")[1]):
        yield "limits: the quick scale does not say what it shortened"


def _held(where, parameters, found, written, nodes):
    """Compare the levels of a key with all that a study says of it; ``nodes`` are where it is."""
    given = [one for one in parameters if one.values is not None]
    for one in given:
        if set(found) != set(one.in_preset):
            yield f"{where}: {_text(found)} is there, {_text(one.in_preset)} is the study's"
        if one.deviation and not any(written.marked(node, "deviation") for node in nodes):
            yield f"{where}: the deviation is not marked as one"
    ours = [node for node in nodes if written.marked(node, "ours")]
    if given and ours:
        yield f"{where}: marked ours, but the study has {_text(given[0].values)}"
    if not given and len(ours) < len(nodes):
        yield f"{where}: not marked ours, but the study is silent"


def _text(values):
    return ", ".join(sorted(map(str, values)))


def _limits(written, study, experiments):
    _, node = at(written.root, "limits")
    for one in (field.name for field in fields(Limits)):
        found = {getattr(limits, one) for limits in study.limits}
        if found == {None}:  # no such limit is declared
            continue
        said = [[p for p in each.limits if p.name == one] for each in experiments]
        if not all(said):
            yield f"limits.{one}: the data of the study lack it"
            continue
        nodes = [n for word in {one, key_of(one)} for n in all_keys(node, word)]
        flat = [p for each in said for p in each]
        yield from _held(f"limits.{one}", flat, found, written, nodes)


def _platforms(written, study, preset):
    here = {one.name: one for one in study.platforms}
    wanted = {one.name: one for one in preset.platforms}
    if set(here) != set(wanted):
        yield f"platforms: {_text(here)} are there, {_text(wanted)} are the study's"
    nodes = {}
    for node in at(written.root, "platforms")[1].value:
        if not is_pair(node):
            name = at(node, "name")[1] if isinstance(node, yaml.MappingNode) else node
            nodes[name.value] = node
    for name in set(here) & set(wanted):
        one, spec = here[name], wanted[name]
        if one.stack != spec.stack:
            yield f"platforms.{name}: the stack {one.stack} is there, {spec.stack} is expected"
        settings, known = dict(one.settings), {each.name for each in spec.settings}
        for each in spec.settings:
            layer, _, key = each.name.partition(".")
            at_key = _setting(nodes[name], layer, key)
            found = {settings.get(each.name)}
            yield from _held(f"platforms.{each.name} of {name}", [each], found, written, at_key)
        for layer in one.stack.split("/"):
            _, section = at(nodes[name], layer) if nodes[name].tag.endswith("map") else (None, None)
            for key, _ in section.value if section is not None else ():
                if not any(f"{layer}.{word}" in known for word in _words(one, layer, key.value)):
                    yield f"platforms.{layer}.{key.value} of {name}: the data of the study lack it"


def _words(platform, layer, key):
    names = (name for own, params in platform.layers if own == layer for name, _ in params)
    return {name for name in names if key in (name, key_of(name))} | {key}


def _setting(node, layer, key):
    """Find where a setting is written; of flow style its platform's one line counts."""
    _, section = at(node, layer) if isinstance(node, yaml.MappingNode) else (None, None)
    return [] if section is None else list(all_keys(section, key_of(key)))


def _repetition(written, study, preset):
    for rule in preset.repetition:
        found = {getattr(study.repetition, rule.name)}
        nodes = list(all_keys(at(written.root, "repetition")[1], key_of(rule.name)))
        yield from _held(f"repetition.{rule.name}", [rule], found, written, nodes)


def _workloads(written, text, experiments):
    items = compose(text, "preset", "full", None).entries()["workloads"].elements()
    left = list(experiments)
    for item, node in zip(items, at(written.root, "workloads")[1].value, strict=True):
        cells = list(measured._fix(item, workload))
        name = cells[0].name
        one = next((each for each in left if each.workload == name), None)
        if one is None:
            yield f"{name}: no experiment of the study is repeated by it"
            continue
        left.remove(one)
        yield from _parameters(written, one, cells, node)
    for one in left:
        yield f"{one.name}: no workload of the preset repeats it"


def _parameters(written, experiment, cells, node):
    name = cells[0].name
    known = {field.name for field in fields(workload.kind(name)) if field.init}
    said = {one.name: one for one in experiment.parameters}
    for one in sorted(known ^ set(said)):
        yield f"{name}.{one}: the data of the study or the workload lack it"
    section = node.value[0][1] if isinstance(node, yaml.MappingNode) else None
    for one in sorted(known & set(said)):
        found = {dict(each.params).get(one) for each in cells}
        words = {one, key_of(one)}
        nodes = [
            Key(key, value)
            for key, value in (section.value if section is not None else ())
            if key.value in words
        ]
        yield from _held(f"{name}.{one}", [said[one]], found, written, nodes)


def text_of(name):
    return (_PRESETS / f"{name}.yaml").read_text(encoding="utf-8")


def test_the_presets_of_studies_are_those_that_the_data_describe():
    assert {name for name in preset_names() if name.split("-")[0] in studies()} == set(PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_true_to_its_study(name):
    study, _ = PRESETS[name]

    assert objections(name, text_of(name), setup_of(study)) == []


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", PRESETS)
def test_the_files_of_all_workloads_fit_the_disk_of_a_guest(name, scale):
    study = load_study(name, scale)
    # Of several instances each has a disk of its own.
    files = sum(getattr(one.made, "workload", one.made).disk_bytes() for one in study.workloads)

    for one in study.platforms:
        if layer.kind(one.layers[-1][0]).boots_guest:
            settings = dict(one.settings)
            size = settings.get(f"{one.layers[-1][0]}.disk_size_bytes", DISK_BYTES)
            assert files < size - SYSTEM_BYTES, one.name


@pytest.mark.parametrize(
    ("name", "old", "new", "objection"),
    [
        (
            "cole2022",
            "total: {quick: 64MiB, full: 2GiB}",
            "total: {quick: 64MiB, full: 1GiB}",
            "sysbench_fileio.total_bytes: 1073741824 is there, 2147483648 is the study's",
        ),
        (
            "cole2022",
            "      fsync_every: 100\n",
            "      fsync_every: 100   # ours\n",
            "sysbench_fileio.fsync_every: marked ours, but the study has 100",
        ),
        (
            "cole2022",
            "cpu: qemu64}}\n",
            "cpu: max}}\n",
            "platforms.kvm.cpu of kvm: max is there, qemu64 is the study's",
        ),
        (
            "cole2022",
            "swap: 1GiB, cpu_limit: quota}\n    - {cpus: 2",
            "cpu_limit: quota}\n    - {cpus: 2",
            "limits.swap_bytes: 0 is there, 0, 1073741824 is the study's",
        ),
        ("cole2022", "min_blocks: 5", "min_blocks: 8", "min_blocks: 8 is there, 5 is the study's"),
        (
            "cole2022",
            "kvm: {disk: ide,",
            "kvm: {network: e1000, disk: ide,",
            "platforms.kvm.network of kvm: the data of the study lack it",
        ),
        (
            "laine2017-web",
            "   # quick: one level\n",
            "\n",
            "clients: the quick scale does not say what it shortened",
        ),
        (
            "laine2017-web",
            "docker: {network: bridge}}   # ours: Docker's own default",
            "docker: {network: bridge}}",
            "platforms.docker.network of docker: not marked ours, but the study is silent",
        ),
        (
            "laine2017-web",
            "memory: {quick: 1GiB, full: 2GiB}        # ours:",
            "memory: {quick: 1GiB, full: 2GiB}        # it is",
            "limits.memory_bytes: not marked ours, but the study is silent",
        ),
        (
            "laine2017-web",
            "70000, 100000]\n",
            "70000, 100000]\n  - ioping\n",
            "ioping: no experiment of the study is repeated by it",
        ),
        (
            "laine2017",
            "; deviation: 1 GiB for all",
            "",
            "limits.memory_bytes: the deviation is not marked as one",
        ),
        (
            "laine2017",
            "  - mbw:\n      method: [memcpy, dumb, mcblock]\n",
            "  - mbw:\n      method: [memcpy, mcblock]\n",
            "mbw.method: mcblock, memcpy is there, dumb, mcblock, memcpy is the study's",
        ),
        (
            "huang2019-performance",
            "type: pv\n",
            "type: pvh\n",
            "platforms.xen.type of xen: pvh is there, pv is the study's",
        ),
    ],
)
def test_what_is_not_true_to_the_study_is_named(name, old, new, objection):
    study, _ = PRESETS[name]
    text = text_of(name)
    assert old in text

    found = objections(name, text.replace(old, new, 1), setup_of(study))

    assert any(objection in one for one in found), found


def test_a_workload_that_the_preset_leaves_out_is_named():
    text = text_of("laine2017-web").replace("web_ab:", "web_rate:")
    text = re.sub(r"clients:.*\n|requests:.*\n(  +(quick|full):.*\n)+", "", text)

    found = objections("laine2017-web", text, setup_of("laine2017"))

    assert "web servers: no workload of the preset repeats it" in found
