"""Results that earlier versions of Tare stored are read, compared, drawn and resumed forever.

``tests/stored/format-N`` has small real ones, recorded by the version that wrote this format, and
what that version printed of them as JSON. A recording changes only where a sentence is reworded on
purpose; its numbers never do.
"""

import json
import lzma
import tarfile
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

import pytest

from tare.cli import main
from tare.core.model import Kind
from tare.experiment.host.facts import host_facts
from tare.machines.machine import Host
from tare.present.live import ResultsCatalogue, serving
from tare.results.store import load

STORED = Path(__file__).parents[2] / "stored"
ALL = sorted(path.relative_to(STORED) for path in STORED.glob("format-*/*.tar.xz"))


@pytest.fixture
def unpack(tmp_path):
    def one(name):
        with tarfile.open(STORED / name) as packed:
            packed.extractall(tmp_path, filter="data")
        return tmp_path / Path(name).name.removesuffix(".tar.xz")

    return one


def printed(*words):
    """Run a command of the command line in this process, and return what it printed."""
    out = StringIO()
    with redirect_stdout(out):
        status = main([str(word) for word in words])
    assert status == 0
    return out.getvalue()


def as_recorded(name):
    return json.loads(lzma.decompress((STORED / f"{name}.xz").read_bytes()))


def without(content, *keys):
    """Leave out what names the folder that results lie in."""
    return {key: value for key, value in content.items() if key not in keys}


@pytest.mark.parametrize("name", ALL, ids=str)
def test_show_says_what_it_said_when_they_were_stored(unpack, name):
    folder = unpack(name)

    shown = json.loads(printed("show", folder, "--json"))

    recorded = as_recorded(str(name).replace(".tar.xz", ".show.json"))
    if name.parent.name == "format-1":
        # No trial of the first format has parts, and so none of these has starts.
        assert shown.pop("starts") == []
    assert without(shown, "folder") == without(recorded, "folder")


@pytest.mark.parametrize("name", ALL, ids=str)
def test_their_report_is_written(unpack, name):
    folder = unpack(name)

    page = Path(printed("report", folder).split()[0])

    assert load(folder).plan.study in page.read_text()


@pytest.mark.parametrize("name", ALL, ids=str)
def test_the_live_page_shows_them(unpack, name):
    folder = unpack(name)

    with serving(ResultsCatalogue(folder), 0) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            page = urlopen(server.address, timeout=30).read().decode()  # noqa: S310 - its own
        finally:
            server.shutdown()
            thread.join()

    assert load(folder).plan.study in page


@pytest.mark.parametrize("format_", ["format-1", "format-2"])
def test_two_are_compared(unpack, format_):
    a, b = (unpack(f"{format_}/{name}.tar.xz") for name in ("quick", "quick-again"))

    found = json.loads(printed("compare", a, b, "--json"))

    recorded = as_recorded(f"{format_}/quick.compare.json")
    assert without(found, "a", "b") == without(recorded, "a", "b")


@pytest.mark.parametrize("format_", ["format-1", "format-2"])
def test_they_are_set_beside_published_studies(unpack, format_):
    """What a study's data have may grow, and say more; our own numbers are as they were."""
    folder = unpack(f"{format_}/quick.tar.xz")

    found = json.loads(printed("compare", folder, "laine2017", "huang2019", "--json"))

    recorded = as_recorded(f"{format_}/quick.published.json")
    ours = [*found["not_published"], *(row["ours"] for part in found["studies"]
                                       for row in part["rows"])]  # fmt: skip
    assert recorded["not_published"]
    assert all(one in ours for one in recorded["not_published"])
    for now, before in zip(found["studies"], recorded["studies"], strict=True):
        pairs = [row["published"] for row in now["rows"]]
        named = {(one["experiment"], one["what"], one["platform"])
                 for one in (*now["not_measured"], *pairs)}  # fmt: skip
        named |= {(title, one["what"], one["platform"])
                  for one in pairs for title in one["differences"]}  # fmt: skip
        rows = before["not_measured"]
        assert {(one["experiment"], one["what"], one["platform"]) for one in rows} <= named


@pytest.mark.parametrize("format_", ["format-1"])
def test_in_what_they_differ_from_a_study_is_by_their_stored_facts(unpack, format_):
    folder = unpack(f"{format_}/quick.tar.xz")

    found = json.loads(printed("compare", folder, "huang2019", "--json"))

    (part,) = found["studies"]
    (row,) = part["rows"]
    unlike = {(one["topic"], one["what"]): one for one in row["setup"]}
    assert row["published"]["platform"] == "docker"
    assert unlike["parameter", "jobs"]["ours"] == "1"
    assert unlike["parameter", "size"] == {
        "topic": "parameter",
        "what": "size",
        "ours": "16 MiB",
        "published": "2 GiB",
        "section": "Table A.2",
    }
    assert unlike["limit", "memory"]["published"] == "10 GiB"
    assert unlike["platform", "docker.network"]["ours"] == "host"
    assert unlike["hardware", "node"]["ours"].startswith("AMD EPYC, 2 CPUs, 23.5 GiB, itself a gue")
    assert unlike["software", "host"]["ours"].endswith("kernel 6.18.44-fc-v657")
    assert unlike["software", "Docker"]["ours"].startswith("Docker version 20.10.24")
    assert unlike["repetition", "runs"]["published"] == "5"
    assert ("software", "KVM") not in unlike


@pytest.mark.parametrize("format_", ["format-1"])
def test_they_give_advice(unpack, format_):
    """Recorded anew once: the A/A control beside two platforms is that of the same work.

    It was compared with one of the two instead of with what it repeats, which decided less.
    """
    folder = unpack(f"{format_}/quick.tar.xz")

    found = json.loads(printed("advise", folder, "--mix", STORED / "mix.yaml", "--json"))

    recorded = as_recorded(f"{format_}/quick.advise.json")
    assert without(found, "results") == without(recorded, "results")


@pytest.mark.parametrize("format_", ["format-1", "format-2"])
def test_one_that_was_killed_is_gone_on_with(unpack, format_, tmp_path, monkeypatch):
    monkeypatch.setenv("TARE_HOME", str(tmp_path / "home"))  # another session may run on this host
    folder = unpack(f"{format_}/killed-simulated.tar.xz")
    as_if_of_this_host(folder)
    before = load(folder)

    printed("run", "--resume", folder)

    after = load(folder)
    new = after.trials[len(before.trials) :]
    assert after.trials[: len(before.trials)] == before.trials
    assert new
    assert {trial.cell for trial in new} == {trial.cell for trial in before.trials}
    stood = Counter((t.block, frozenset((t.cell, t.partner))) for t in measured(before))
    cut = {pair for pair, count in stood.items() if "" not in pair[1] and count == 1}
    twice = Counter((t.block, t.cell, t.partner) for t in measured(after))
    assert {(block, frozenset(pair)) for (block, *pair), n in twice.items() if n > 1} == cut, (
        "nothing is measured twice, but for the half of a duet whose other half was cut off"
    )


def measured(results):
    return [trial for trial in results.trials if trial.kind is Kind.MEASURED]


def as_if_of_this_host(folder):
    """Results go on only where they were begun."""
    path = folder / "facts.json"
    facts = json.loads(path.read_text())
    facts["host"] = host_facts(Host())
    path.write_text(json.dumps(facts))
