"""The live page: a real server on a free port, studies of the simulated layer, and urllib."""

import gc
import html
import http.client
import json
import os
import re
import shutil
import socket
import struct
import threading
import time
import weakref
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from html.parser import HTMLParser
from itertools import islice
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from tare.cli import serve as command
from tare.core.errors import ConfigError, ResultsError
from tare.core.model import EndedSession, Kind, Phase, Run, SessionProgress, Status
from tare.present.charts.canvas import Point, Polyline, Rect
from tare.present.live import ResultsCatalogue, serving
from tare.present.live.catalogue import MAX_KEPT
from tare.present.live.compared import MAX_COMPARED, ComparedStudies, compared
from tare.present.live.drawings import narrowed, strip, timeline
from tare.present.live.looks import Look, LookTaker
from tare.present.live.overview import OverviewReader, State
from tare.present.live.server import POLL_S, REST_S, changes
from tare.present.live.study_reader import MAX_FAILURES, StudyReader
from tare.present.live.study_view import LiveView
from tare.present.live.views import OneStudy, Studies
from tare.present.report import describe
from tare.present.view.numbers import cost_text
from tare.present.view.theme import BAD, PAPER
from tare.results.store import Writer, load, read_facts
from tare.results.store.progress import SILENT_S, ProgressFile
from tare.results.store.raw_output import raw_name
from tare.results.store.reader import TrialsFile
from unit.drawing import marks
from unit.makers import make_trial, store_samples
from unit.present.test_live_resources import used

WAIT_S = 20.0
EVIL = "<script>alert(1)</script>"
TWO = {"host": {}, "slow": {"sim": {"cost": 1.05}}}


@pytest.fixture
def root(lab):
    folder = lab.folder / "served"
    folder.mkdir()
    return folder


RAN = []
"""A study that was run once; what is stored of it each test writes anew."""


@pytest.fixture
def finished(lab):
    """A study of eight blocks that was run to its end."""
    if not RAN:
        RAN.append(lab.run(lab.text(TWO)))
    (results,) = RAN
    folder = lab.folder / "finished"
    begun(results, folder, trials=len(results.trials))
    with closing(Writer(folder)) as writer:
        writer.run(results.run)
    return replace(results, folder=folder)


def begun(results, folder, trials=0):
    """Write a study as a session finds it after so many trials; gives the rest of them."""
    with closing(Writer(folder)) as writer:
        writer.start(results.study, results.plan)
        writer.facts(read_facts(results.folder))
        for one in results.trials[:trials]:
            writer.trial(one, None)
    return results.trials[trials:]


def append(folder, *trials):
    with closing(Writer(folder)) as writer:
        for one in trials:
            writer.trial(one, None)


@contextmanager
def session(folder, **what):
    """Say what a session that lives says, and at its end that it has ended."""
    said = SessionProgress(session="abc123", phase=Phase.MEASURING, **what)
    file = ProgressFile(folder)
    file.write(said)
    yield file
    file.write(replace(said, phase=Phase.ENDED, cells=(), following=()))


@contextmanager
def visited(root):
    """Serve a folder; gives what asks the server, and its port."""
    with serving(ResultsCatalogue(root), 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield Visitor(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()


class Visitor:
    def __init__(self, port):
        self.port = port

    def ask(self, path, method="GET", **headers):
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)) as one:
            one.request(method, path, headers=headers)
            answer = one.getresponse()
            return SimpleNamespace(
                status=answer.status, headers=answer.headers, text=answer.read().decode()
            )

    @contextmanager
    def events(self, page):
        """Listen to a page; gives an iterator of the parts that change."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)) as one:
            one.request("GET", f"/events?page={quote(page, safe='')}")
            answer = one.getresponse()
            assert answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
            lines = iter(answer.readline, b"")
            with closing(answer):
                yield (json.loads(line[6:]) for line in lines if line.startswith(b"data: "))


class Ids(HTMLParser):
    """The ids of a page's elements, and the names of its tags."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.tags = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]


def test_a_file_of_trials_is_read_as_far_as_it_is_written_and_anew_where_it_is_another(tmp_path):
    path = tmp_path / "trials.jsonl"
    first, second, third = (
        json.dumps({"format": 3, **asdict(make_trial("c", block=block))}).encode() + b"\n"
        for block in range(3)
    )

    def read():
        trials, anew = file.read()
        return [trial.block for trial in trials], anew

    file = TrialsFile(path)
    path.write_bytes(first + second + third[:9])
    assert read() == ([0, 1], True)
    with path.open("ab") as more:
        more.write(third[9:])
    assert read() == ([2], False)
    assert read() == ([], False)
    path.write_bytes(third)
    assert read() == ([2], True)


def test_a_file_of_trials_is_read_anew_after_a_line_that_is_none(tmp_path):
    path = tmp_path / "trials.jsonl"
    line = json.dumps({"format": 3, **asdict(make_trial("c"))}).encode() + b"\n"
    path.write_bytes(line + b"{}\n")
    file = TrialsFile(path)
    for _ in range(2):
        trials, anew = file.read()
        assert anew
        with pytest.raises(ResultsError, match=r"trials.jsonl:2: not a trial"):
            list(trials)


def test_a_study_is_not_begun_then_runs_and_is_killed_resumed_and_ended(finished, root):
    folder = root / "one"
    with closing(Writer(folder)) as writer:
        writer.start(finished.study, finished.plan)
    one = OverviewReader(folder, "one", root)
    assert one.read().state is State.NOT_BEGUN
    with session(folder):
        rest = begun(finished, folder, trials=5)
        assert one.read().state is State.RUNNING
    assert one.read().state is State.KILLED
    with session(folder):
        append(folder, *rest)
        assert one.read().state is State.RUNNING
    with closing(Writer(folder)) as writer:
        writer.run(finished.run)
    seen = one.read()
    assert (seen.state, seen.stop) == (State.ENDED, finished.run.stop)
    assert one.read() is seen


def test_a_session_that_was_killed_before_its_first_trial_has_not_ended(finished, root):
    folder = root / "one"
    begun(finished, folder, trials=5)
    with closing(Writer(folder)) as writer:
        writer.run(finished.run)
    one = OverviewReader(folder, "one", root)
    assert one.read().state is State.ENDED
    said = SessionProgress(session="fedcba")
    ProgressFile(folder).write(said)
    os.utime(folder / "progress.json", (1.0, 1.0))

    assert one.read().state is State.KILLED
    assert OverviewReader(folder, "one", root).read().state is State.KILLED
    ProgressFile(folder).write(replace(said, phase=Phase.ENDED))
    assert one.read().state is State.ENDED


def test_a_session_that_ends_between_two_readings_is_not_killed(finished, root, monkeypatch):
    folder = root / "one"
    begun(finished, folder, trials=len(finished.trials))
    with session(folder):
        one = OverviewReader(folder, "one", root)
        assert one.read().state is State.RUNNING
        look = one._pulse.look

        def ends():
            """Leave what a session leaves, in its order, while the study is looked at."""
            with closing(Writer(folder)) as writer:
                writer.run(finished.run)
            with session(folder):
                pass
            return look()

        monkeypatch.setattr(one._pulse, "look", ends)
        assert one.read().state is State.ENDED


def test_a_session_without_a_heartbeat_is_dead(finished, root):
    folder, now = root / "one", [100.0]
    begun(finished, folder, trials=5)
    one = OverviewReader(folder, "one", root, lambda: now[0])
    with session(folder) as file:
        assert one.read().state is State.RUNNING
        now[0] += SILENT_S - 1
        assert one.read().state is State.RUNNING
        os.utime(folder / "progress.json", (1.0, 1.0))  # a host whose clock is long behind
        now[0] += 2
        assert one.read().state is State.RUNNING, "it has changed, whatever its clock says"
        now[0] += SILENT_S
        assert one.read().state is State.KILLED
        file.beat()
        assert one.read().state is State.RUNNING
    assert one.read().state is State.KILLED  # it has written no end


def test_what_was_left_long_ago_is_dead_at_the_first_look(finished, root):
    folder = root / "one"
    begun(finished, folder, trials=5)
    file = ProgressFile(folder)
    file.write(SessionProgress(session="abc123", phase=Phase.MEASURING))
    long_ago = time.time() - SILENT_S - 1
    os.utime(folder / "progress.json", (long_ago, long_ago))

    assert OverviewReader(folder, "one", root).read().state is State.KILLED


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"session": 3}', b'{"format": 999}'])
def test_progress_that_is_not_understood_is_none(finished, root, damage):
    begun(finished, root / "one", trials=5)
    (root / "one/progress.json").write_bytes(damage)

    assert OverviewReader(root / "one", "one", root).read().state is State.KILLED


def test_a_page_does_not_repeat_what_was_said_before_while_all_is_removed(finished, root):
    folder = root / "one"
    begun(finished, folder, trials=5)
    said = SessionProgress(session="abc123", phase=Phase.OPENING, text="starting host, instance 2")
    ProgressFile(folder).write(said)
    assert (
        LiveView(StudyReader(folder, "one", root).snapshot()).now
        == "Now: starting host, instance 2."
    )

    ProgressFile(folder).write(replace(said, phase=Phase.REMOVING))

    assert (
        LiveView(StudyReader(folder, "one", root).snapshot()).now
        == "Now: what was started is removed."
    )


def test_the_page_says_what_the_session_says(finished, root):
    begun(finished, root / "one", trials=5)
    first, second = (slot.cells for slot in finished.plan.slots[:2])
    doing = {"block": 1, "cells": first, "following": second, "decided": 1, "compared": 2}
    page = OneStudy(ResultsCatalogue(root), "one")
    names = [
        f"sysbench_cpu on {cell.platform}{' (A/A control)' if cell.replica else ''}"
        for (one,) in (first, second)
        for cell in [finished.plan.cells_by_id[one]]
    ]
    with session(root / "one", **doing):
        said = page.parts(page.look())["progress"]
        now, following = names
        assert f"Now: {now}, block 1. Next: {following}. 1 of 2 comparisons are decided." in said
    with session(root / "one", text="preparing host"):
        assert "Now: preparing host." in page.parts(page.look())["progress"]
    assert "The last trial: " in page.parts(page.look())["progress"]


def test_progress_counts_slots_and_not_warmups_or_repeats(finished, root):
    begun(finished, root / "one", trials=len(finished.trials))
    again = replace(finished.trials[-1], repeat=1, status=Status.SUSPECT)
    append(root / "one", again)
    seen = OverviewReader(root / "one", "one", root).read()
    warm = sum(one.kind is Kind.WARMUP for one in finished.trials)

    assert warm > 0
    assert (seen.done, seen.planned) == (len(finished.trials) - warm, 8 * 3)
    assert (seen.blocks, seen.bad) == (8, 1)
    assert seen.active_at == pytest.approx((root / "one/trials.jsonl").stat().st_mtime)


def test_the_last_line_may_be_cut_and_be_mended(finished, root):
    folder = root / "one"
    rest = begun(finished, folder, trials=4)
    line = json.dumps({"format": 1, **asdict(rest[0])}).encode() + b"\n"
    one = StudyReader(folder, "one", root)
    with (folder / "trials.jsonl").open("ab") as file:
        file.write(line[:50])
    assert len(one.snapshot().trials) == 4
    append(folder, *rest[:2])  # as a session that resumes: what was cut goes first
    assert one.snapshot().trials == finished.trials[:6]


@pytest.mark.parametrize("damage", [b"{}\n", b"[1]\n", b"nonsense\n", b"\xff\n"])
def test_a_damaged_line_is_said_and_the_rest_is_shown(finished, root, damage):
    folder = root / "one"
    begun(finished, folder, trials=4)
    with (folder / "trials.jsonl").open("ab") as file:
        file.write(damage)

    for one in (OverviewReader(folder, "one", root), StudyReader(folder, "one", root)):
        seen = one.read()
        assert "trials.jsonl:5: not a trial" in seen.problem
        assert seen.blocks == 1
    with visited(root) as visitor:
        assert "trials.jsonl:5: not a trial" in visitor.ask("/study/one").text
        assert "trials.jsonl:5: not a trial" in visitor.ask("/").text


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (b'{"instance": 3}', "instance: Input should be a valid string"),
        (b"[1]", "Input should be an object"),
        (b"no", "Invalid JSON"),
    ],
)
def test_a_damaged_line_is_said_with_its_cause_and_what_to_do(finished, root, damage, why):
    begun(finished, root / "one")
    (root / "one/trials.jsonl").write_bytes(damage + b"\n")

    for one in (OverviewReader(root / "one", "one", root), StudyReader(root / "one", "one", root)):
        said = one.read().problem
        assert f"trials.jsonl:1: not a trial: {why}" in said
        assert said.endswith("restore the file from a copy of the results, or remove this line")


@pytest.mark.parametrize("name", ["trials.jsonl", "run.json", "samples/000000.parquet"])
def test_what_is_no_regular_file_is_not_waited_for(finished, root, name):
    begun(finished, root / "one", trials=3)
    path = root / "one" / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)

    with visited(root) as visitor:
        assert visitor.ask("/").status == 200
        assert f"{path.name} is no regular file" in visitor.ask("/study/one").text


@pytest.mark.parametrize("name", ["plan.json", "run.json"])
@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"sessions": 3}'])
def test_damaged_files_are_no_error_of_the_server(finished, root, name, content):
    begun(finished, root / "one", trials=3)
    (root / "one" / name).write_text(content)

    with visited(root) as visitor:
        for page in ("/", "/study/one", "/compare?with=one&with=one"):
            assert visitor.ask(page).status == 200


def test_live_intervals_are_those_of_the_report(finished):
    course = LookTaker(finished.plan).course(finished.trials)
    reported = describe(finished).headline
    names = ("pairs", "look", "cost", "low", "high", "verdict", "stop", "holm_p", "noise_floor")

    assert len(course.rows) == len(reported) == 2
    for live, row in zip(course.rows, reported, strict=True):
        assert [getattr(live, name) for name in names] == [getattr(row, name) for name in names]
        assert course.looks[live.cell.id][-1] == Look(8, row.cost, row.low, row.high)


def test_each_look_is_what_a_report_of_that_moment_said(lab):
    rule = {"min_blocks": 8, "max_blocks": 20, "instances": 1, "margin": 0.0001}
    results = lab.run(lab.text({"host": {}, "like": {}}, repetition=rule))
    narrowing = LookTaker(results.plan)
    for blocks in (3, 9, 12, 20):  # as it grows
        course = narrowing.course([one for one in results.trials if one.block < blocks])
    (row,) = (one for one in course.rows if not one.is_control)

    assert [look.pairs for look in course.looks[row.cell.id]] == [3, 4, 5, 6, 7, 8, 11, 15, 20]
    for look in course.looks[row.cell.id]:
        then = replace(results, trials=tuple(t for t in results.trials if t.block < look.pairs))
        (said,) = (one for one in describe(then).headline if not one.is_control)
        assert (look.cost, look.low, look.high) == (said.cost, said.low, said.high)


def test_comparisons_are_made_when_a_block_is_whole_and_not_too_often(finished, root):
    rest = begun(finished, root / "one", trials=5)
    now = [0.0]
    one = StudyReader(root / "one", "one", root, lambda: now[0])
    with session(root / "one"):
        first = one.snapshot()
        append(root / "one", rest[0])
        second = one.snapshot()
        assert second.course.rows is first.course.rows
        assert one.snapshot() is second
        append(root / "one", *rest[1:5])
        assert one.snapshot().course.rows is first.course.rows  # a block is whole, but too soon
        now[0] += 5.0
        third = one.snapshot()
        assert third.course.rows is not first.course.rows
        append(root / "one", *rest[5:])
        now[0] += 5.0
    assert one.snapshot().course.rows == LookTaker(finished.plan).course(finished.trials).rows


def test_a_look_is_taken_at_once_and_numbers_of_pairs_wait(lab, root):
    rule = {"min_blocks": 8, "max_blocks": 20, "instances": 1, "margin": 0.0001}
    results = lab.run(lab.text({"host": {}, "like": {}}, repetition=rule))
    kinds = [(one.kind, one.block) for one in results.trials]
    ends = [kinds.index((Kind.MEASURED, block)) + 1 for block in (7, 8, 9)]
    begun(results, root / "one", trials=ends[0])
    one = StudyReader(root / "one", "one", root, lambda: 0.0)
    with session(root / "one"):
        before = one.snapshot().course
        append(root / "one", *results.trials[ends[0] : ends[1]])
        looked = one.snapshot().course
        append(root / "one", *results.trials[ends[1] : ends[2]])
        after = one.snapshot().course

    assert {row.look for row in before.rows} == {7}
    assert {row.look for row in looked.rows} == {8}
    assert after.rows is looked.rows


def test_a_look_without_an_end_reaches_to_the_edge():
    looks = [Look(8, None, None, None), Look(11, 1.1, 1.0, float("inf")), Look(15, 1.05, 1.0, 1.1)]
    drawn = narrowed(looks, 0.02)

    one, *bars = marks(drawn.picture, Polyline)
    assert [bool(bar.dash) for bar in bars] == [True, True, False]
    assert [y for _, y in bars[0].places] == [54, 0]
    assert bars[1].places[1][1] == 0
    # The span is log(1/1.02) to log(1.1) over 44 pixels that begin 5 from the bottom; 1 is 0.172
    # of the way up: 54 - 5 - 0.172 * 44.
    assert one.places[0][1] == bars[2].places[0][1] == pytest.approx(41.4, abs=0.05)
    assert bars[2].places[1][1] == 5
    assert len(marks(drawn.picture, Point)) == 2  # the first look has no cost
    assert (drawn.top, drawn.bottom) == ("+10.0 %", "\N{MINUS SIGN}2.0 %")
    assert narrowed([], 0.02) is None
    assert strip([(Look(3, 1.0, None, None), 1, "none")]) is None


def test_a_strip_has_one_scale():
    drawn = strip([(Look(8, 1.1, 1.0, 1.21), 1, "a"), (Look(8, 1.21, 1.1, 1.331), 2, "b")])

    one, first, second = (line.places for line in marks(drawn.picture, Polyline))
    assert one[0][0] == first[0][0] == 5
    cost = marks(drawn.picture, Point)[1].place[0]
    assert first[1][0] == cost == pytest.approx(5 + 250 * 2 / 3)
    assert [places[0][1] for places in (first, second)] == [8, 24]


def one_trial(at, cell="c", **others):
    given = {"instance": "aaa-1", "duration_s": 1.0, "started_at": at}
    return make_trial(cell, **given | others)


def test_a_timeline_has_the_latest_session_by_the_clock():
    trials = [
        one_trial("2026-01-01T00:00:00.000+00:00", instance="old-1"),
        one_trial("2026-01-02T00:00:00.000+00:00", kind=Kind.WARMUP),
        one_trial("2026-01-02T00:00:05.000+00:00", cell="d", status=Status.DNR, duration_s=2.0),
        one_trial("2026-01-02T00:00:08.000+00:00", status=Status.SUSPECT, duration_s=2.0),
        one_trial("no time", cell="d"),
        one_trial("2026-01-02T00:00:08.000+00:00", cell="unknown"),
    ]
    drawn = timeline(trials, {"c": "host", "d": "slow"}, {"c": "w", "d": "w"})

    assert (drawn.shown, drawn.left_out) == (3, 3)
    host, slow = drawn.lanes
    warmup, suspect = marks(host.picture, Rect)
    (failed,) = marks(slow.picture, Rect)
    ends = [(one.corner[0], one.opposite[0]) for one in (warmup, suspect, failed)]
    assert ends == [(0, 100), (800, 1000), (500, 700)]
    assert warmup.opacity < 1
    assert (suspect.fill, failed.fill) == (PAPER, BAD)
    assert failed.tip == "block 0, w: dnr"
    assert [round(at.timestamp() - drawn.times[0].timestamp()) for at in drawn.times] == [0, 5, 10]
    assert timeline([], {}, {}) is None


def test_the_list_has_each_study_with_its_state_and_report(finished, root):
    begun(finished, root / "a", trials=4)
    begun(finished, root / "b & c", trials=len(finished.trials))
    with closing(Writer(root / "b & c")) as writer:
        writer.run(finished.run)
    (root / "b & c/report.html").write_text("<p>a report</p>")
    (root / "no study").mkdir()
    with session(root / "a"), visited(root) as visitor:
        page = visitor.ask("/")
        assert page.status == 200
        states = re.findall(r'class="state [a-z-]+">([a-z ]+)<', page.text)
        assert states == ["running", "ended"]
        assert 'href="/study/b%20%26%20c"' in page.text
        assert page.text.count("report.html") == 1
        assert "no study" not in page.text
        report = visitor.ask("/files/b%20%26%20c/report.html")
    assert report.text == "<p>a report</p>"
    assert "sandbox" in report.headers["Content-Security-Policy"]


def test_a_name_that_is_not_utf8_is_served_as_any_other(finished, root):
    odd = os.fsdecode(b"100% bad\xff\xfe")
    for name in ("good", "renamed"):
        begun(finished, root / name, trials=999)
    store_samples(root / "renamed", (finished.trials[0], used()))
    (root / "renamed/report.html").write_text("a report")
    (root / "renamed").rename(root / odd)
    with visited(root) as visitor:
        text = visitor.ask("/").text
        assert "100% bad??" in text
        assert 'href="/study/good"' in text
        (page,) = re.findall(r'href="(/study/[^"]*bad[^"]*)"', text)
        (file,) = re.findall(r'href="(/files/[^"]*)"', text)
        (ticked,) = re.findall(r'name="with" value="([^"]*bad[^"]*)"', text)
        shown = visitor.ask(page).text
        assert "slow is slower" in shown
        assert "cannot be read" not in shown
        assert visitor.ask(file).text == "a report"
        both = visitor.ask(f"/compare?with=good&with={quote(ticked, safe='')}").text
        assert both.count('class="chart strip"') == 2
        for one in ("/", page):  # as on the page, so what was ticked is found again
            with visitor.events(one) as events:
                said = "".join(next(events).values())
                assert quote(b"100% bad\xff\xfe") in said or "slow is slower" in said
                assert "\udcff" not in said


def test_one_results_directory_can_be_served_alone(finished):
    with visited(finished.folder) as visitor:
        name = finished.folder.name
        assert f'href="/study/{name}"' in visitor.ask("/").text
        assert visitor.ask(f"/study/{name}").status == 200


def test_a_study_has_its_intervals_timeline_and_failures(finished, root):
    broken = replace(finished.trials[4], status=Status.FAILED, samples={}, reason="it <b>broke</b>")
    begun(replace(finished, trials=(*finished.trials, broken)), root / "one", trials=999)
    raw = root / "one/raw" / raw_name(broken)
    raw.mkdir()
    (raw / "stdout").write_text("<b>said</b>")
    with visited(root) as visitor:
        text = visitor.ask("/study/one").text
        (url,) = re.findall(r'href="(/files/[^"]*stdout)"', text)
        kept = visitor.ask(url)
    shown = html.unescape(text)

    assert "slow is slower" in shown
    assert shown.count('class="chart narrow"') == 2
    assert "it <b>broke</b>" in shown
    assert "it <b>broke</b>" not in text
    assert kept.text == "<b>said</b>"
    assert kept.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert "sandbox" in kept.headers["Content-Security-Policy"]


def hostile(results):
    """Put a script into everything that a study, a tool or a guest can name."""
    cells = [
        replace(one, platform=one.platform + EVIL, workload=EVIL) for one in results.plan.cells
    ]
    ids = dict(zip((one.id for one in results.plan.cells), (one.id for one in cells), strict=True))
    plan = replace(
        results.plan,
        study=EVIL,
        cells=tuple(cells),
        metrics={EVIL: next(iter(results.plan.metrics.values()))},
        slots=tuple(replace(one, cell=ids[one.cell]) for one in results.plan.slots),
    )
    trials = [replace(one, cell=ids[one.cell], reason=EVIL) for one in results.trials]
    trials[-1] = replace(trials[-1], status=Status.FAILED, samples={}, instance=EVIL + "-1")
    run = Run(stop=EVIL, sessions=(EndedSession(id=EVIL),))
    return replace(results, plan=plan, trials=tuple(trials), run=run)


def test_no_text_becomes_markup(finished, root):
    evil = hostile(finished)
    names = ["x" + EVIL.replace("/", "\\"), '"><img src=x onerror=alert(1)>']
    for name in names:
        begun(evil, root / name, trials=999)
        with closing(Writer(root / name)) as writer:
            writer.run(evil.run)
    catalogue = ResultsCatalogue(root)
    views = [
        Studies(catalogue),
        OneStudy(catalogue, names[0]),
        ComparedStudies(catalogue, tuple(names)),
    ]
    with visited(root) as visitor:
        pages = [view.page(view.look()) for view in views]
        pages += [visitor.ask(f"/study/{quote(EVIL, safe='')}").text]
        pages += [visitor.ask(f"/compare?with={quote(EVIL)}").text]
    for page in pages:
        tags = Ids(page).tags
        assert tags.count("script") == 1
        assert "img" not in tags
    assert all(EVIL in html.unescape(page) for page in pages[1:3])


def test_a_page_has_an_element_for_every_part(finished, root):
    """Else the script would ask for the page anew, for ever."""
    begun(finished, root / "a", trials=999)
    begun(finished, root / "b")
    catalogue = ResultsCatalogue(root)
    views = (Studies(catalogue), OneStudy(catalogue, "a"), ComparedStudies(catalogue, ("a", "b")))
    for view in (*views, OneStudy(catalogue, "b")):
        seen = view.look()
        ids = Ids(view.page(seen)).ids
        assert set(view.parts(seen)) <= set(ids)
        assert len(ids) == len(set(ids))


def test_parts_are_made_again_when_what_they_show_has_changed(finished, root):
    trials = finished.trials
    after = next(
        at
        for at in range(6, len(trials))
        if trials[at - 1].kind is Kind.MEASURED and trials[at].block == trials[at - 1].block
    )
    rest = begun(finished, root / "a", trials=after)
    view = OneStudy(ResultsCatalogue(root), "a")

    def same(before, now):
        return {name for name in now if now[name] is before[name]}

    with session(root / "a"):
        first = view.parts(view.look())
        assert same(first, view.parts(view.look())) == set(first) - {"state"}
        append(root / "a", rest[0])
        second = view.parts(view.look())
        drawn = {"state", "progress", "resources", "timeline"}
        assert same(first, second) == set(first) - drawn
        append(root / "a", replace(rest[0], repeat=1, status=Status.FAILED, reason="just now"))
        third = view.parts(view.look())
    assert same(second, third) == set(first) - drawn - {"failures"}
    assert "just now" in third["failures"]


def test_what_has_not_changed_is_seen_as_the_same_object(finished, root):
    rest = begun(finished, root / "a", trials=6)
    one = StudyReader(root / "a", "a", root)
    first = one.snapshot()
    with closing(Writer(root / "a")) as writer:
        writer.run(finished.run)
    second = one.snapshot()
    append(root / "a", replace(rest[0], status=Status.SUSPECT))
    third = one.snapshot()

    assert second is not first
    assert second.trials is first.trials
    assert second.failures is first.failures
    assert third.trials == (*first.trials, replace(rest[0], status=Status.SUSPECT))
    assert third.failures == third.trials[-1:]
    assert third.statuses == {Status.OK: 6, Status.SUSPECT: 1}
    assert first.statuses == {Status.OK: 6}


def test_the_last_failures_are_listed(finished, root):
    begun(finished, root / "a")
    bad = [
        replace(finished.trials[0], repeat=number, status=Status.FAILED)
        for number in range(MAX_FAILURES + 3)
    ]
    append(root / "a", *bad, finished.trials[1])

    assert list(StudyReader(root / "a", "a", root).snapshot().failures) == bad[3:]
    view = OneStudy(ResultsCatalogue(root), "a")
    assert f"The last {MAX_FAILURES} of {MAX_FAILURES + 3};" in view.page(view.look())


def test_what_is_left_out_is_said_only_where_there_is_such(finished, root):
    begun(finished, root / "a")
    append(root / "a", replace(finished.trials[0], status=Status.FAILED))
    view = OneStudy(ResultsCatalogue(root), "a")

    assert "The last" not in view.parts(view.look())["failures"]


def test_what_to_do_about_a_killed_study_can_be_pasted(finished, root):
    begun(finished, root / "my study", trials=4)
    view = OneStudy(ResultsCatalogue(root), "my study")
    said = html.unescape(view.page(view.look()))

    assert f"<code>tare run --resume '{root / 'my study'}'</code>" in said


def test_a_page_is_drawn_about_once_a_second_however_fast_trials_come():
    looks = iter(({"a": "1", "b": "1"}, {"a": "1", "b": "1"}, {"a": "2", "b": "1"}, {"c": "1"}))
    view = SimpleNamespace(look=lambda: next(looks), parts=lambda seen: {**seen, "d": "same"})

    assert list(islice(changes(view), 4)) == [
        ({"a": "1", "b": "1", "d": "same"}, REST_S),
        ({}, POLL_S),
        ({"a": "2"}, REST_S),
        ({"c": "1"}, REST_S),
    ]


def test_lines_of_comparisons_follow_the_comparisons(finished, root, lab, monkeypatch):
    monkeypatch.setattr("tare.present.live.study_reader.LEAST_S", 0.0)
    monkeypatch.setattr("tare.present.live.study_reader.SHARE", float("inf"))
    rest = begun(finished, root / "a", trials=3 * 8)
    view = OneStudy(ResultsCatalogue(root), "a")
    first = view.parts(view.look())
    append(root / "a", *rest)
    second, anew = view.parts(view.look()), OneStudy(ResultsCatalogue(root), "a")

    assert second == anew.parts(anew.look())
    lines = [name for name in second if name.startswith("c-")]
    assert lines
    assert [first[name] for name in lines] != [second[name] for name in lines]
    shutil.rmtree(root / "a")
    begun(lab.run(lab.text({"host": {}, "other": {}})), root / "a", trials=999)
    other = view.parts(view.look())
    assert set(other) != set(second)
    assert "other" in json.dumps(other)


def test_studies_are_compared_by_the_cells_they_share(lab, finished, root):
    begun(finished, root / "a", trials=999)
    begun(lab.run(lab.text(TWO), seed=2), root / "b", trials=999)
    other = {"host": {}, "other": {}}
    begun(lab.run(lab.text(other)), root / "c", trials=999)
    (slow, _) = describe(finished).headline
    with visited(root) as visitor:
        both = visitor.ask("/compare?with=a&with=b").text
        three = visitor.ask("/compare?with=a&with=c&with=gone").text
        many = visitor.ask("/compare?" + "&".join(f"with={n}" for n in range(9))).text
        for few in ("/compare", "/compare?with=a", "/compare?with=a&with=gone"):
            assert "Select two or more studies" in visitor.ask(few).text
            assert "share no cell" not in visitor.ask(few).text

    assert f"<strong>{slow.cost:.3f}" in both
    assert (both.count('class="chart strip"'), three.count('class="chart strip"')) == (2, 1)
    assert "What they do not share" not in both
    assert "gone is not here" in three
    assert "At most 7" in many


def test_what_was_measured_otherwise_is_beside_it_and_said(lab, finished, root):
    begun(finished, root / "a", trials=999)
    wider = lab.run(lab.text(TWO, limits={"cpus": 2, "memory": "1GiB"}))
    begun(wider, root / "b", trials=999)
    begun(lab.run(lab.text({"host": {}, "other": {}})), root / "c", trials=999)
    catalogue = ResultsCatalogue(root)
    seen = ComparedStudies(catalogue, ("a", "b", "c")).look()
    known = compared(("a", "b", "c"), seen)

    ((table,), (others,)) = (known.shared, known.other)
    (both,) = table.rows
    assert (both.platform, [len(some) for some in both.values]) == ("host (A/A control)", [1, 0, 1])
    assert both.missing[1] == "measured otherwise: see below"
    rows = {row.platform: row for row in others.rows}
    assert sorted(rows) == ["host (A/A control)", "other", "slow"]
    (here,), (there,), nowhere = rows["slow"].values
    assert (here.differs, there.differs) == ("1 CPU", "2 CPUs")
    assert (here.row.cost, there.row.cost) == tuple(
        cost_text(next(row.cost for row in describe(one).headline if not row.is_control))
        for one in (finished, wider)
    )
    assert (nowhere, rows["slow"].missing[2]) == ([], "not in this study")
    assert rows["slow"].drawing is None
    controls = [one.differs for some in rows["host (A/A control)"].values for one in some]
    assert controls == ["1 CPU", "2 CPUs", "1 CPU"]
    assert [one.differs for some in rows["other"].values for one in some] == [""]
    page = ComparedStudies(catalogue, ("a", "b", "c")).page(seen)
    assert page.count("measured otherwise: see below") == 1


def test_more_studies_are_looked_at_than_are_kept_and_none_is_read_twice(
    finished, root, monkeypatch
):
    count = MAX_KEPT + 4
    for number in range(count):
        begun(finished, root / str(number), trials=4)
    read = []
    take = StudyReader._take
    monkeypatch.setattr(
        StudyReader, "_take", lambda self, trial: (read.append(1), take(self, trial))
    )
    catalogue = ResultsCatalogue(root)
    views = [OneStudy(catalogue, str(number)) for number in range(count)]
    looks = [[view.look() for view in views] for _ in range(3)]

    assert looks[0] == looks[1] == looks[2]
    assert len(read) == 4 * count
    first = weakref.ref(catalogue.reader("0"))
    del views, looks
    for number in range(1, count):
        catalogue.reader(str(number))
    gc.collect()
    assert first() is None  # nobody looks at it, and others were looked at since


def test_too_many_studies_to_compare_are_not_even_read(finished, root):
    begun(finished, root / "a", trials=4)
    view = ComparedStudies(ResultsCatalogue(root), tuple(f"{number}" for number in range(99)))
    assert len(view.look()) == MAX_COMPARED
    assert view.parts(view.look()) == {}


def test_events_tell_what_changed_after_a_trial(finished, root):
    rest = begun(finished, root / "one", trials=6)
    with visited(root) as visitor, visitor.events("/study/one") as events:
        everything = next(events)
        assert {"state", "progress", "resources", "timeline", "failures"} < set(everything)
        append(root / "one", replace(rest[0], status=Status.FAILED, reason="just now"))
        changed = next(events)
        assert {"progress", "timeline", "failures"} <= set(changed)
        assert "state" not in changed or changed["state"] != everything["state"]
        assert "just now" in changed["failures"]
        append(root / "one", *rest[1:])
        with closing(Writer(root / "one")) as writer:
            writer.run(finished.run)
        while "ended" not in changed.get("state", ""):
            changed = next(events)


def test_events_tell_of_studies_that_come_and_go(finished, root):
    with visited(root) as visitor, visitor.events("/") as events:
        assert "No study is here yet" in next(events)["studies"]
        begun(finished, root / "new", trials=3)
        shown = next(events)["studies"]
        while "3 of 24" not in shown and "killed" not in shown:
            shown = next(events)["studies"]
        shutil.rmtree(root / "new")
        while "No study is here yet" not in shown:
            shown = next(events)["studies"]


def test_a_study_may_be_removed_and_another_may_come_under_its_name(lab, finished, root):
    folder = root / "one"
    begun(finished, folder, trials=9)
    with visited(root) as visitor, visitor.events("/study/one") as events:
        assert "slow" in json.dumps(next(events))
        shutil.rmtree(folder)
        shown = next(events)
        while "removed" not in shown.get("state", ""):
            shown = next(events)
        assert '<span class="state removed">removed<' in shown["state"]
        assert "not begun" not in shown["state"]
        assert visitor.ask("/study/one").status == 200
        begun(lab.run(lab.text({"host": {}, "other": {}})), folder, trials=9)
        while "other" not in json.dumps(shown):
            shown = next(events)
        shutil.rmtree(root)
        assert visitor.ask("/").status == 200


def test_a_listener_that_leaves_is_noticed(finished, root):
    begun(finished, root / "one", trials=1)
    before = set(threading.enumerate())
    with visited(root) as visitor:
        with visitor.events("/study/one") as events:
            next(events)
            mine = set(threading.enumerate()) - before
        serving_thread = [one for one in mine if "process_request" in one.name]
        assert serving_thread
        for one in serving_thread:
            one.join(WAIT_S)
            assert not one.is_alive()


def test_a_server_that_has_nothing_to_say_says_that(finished, root, monkeypatch):
    monkeypatch.setattr("tare.present.live.server.BEAT_S", 0.0)
    begun(finished, root / "one", trials=1)
    with visited(root) as visitor, visitor.events("/study/one") as events:
        assert next(events)
        assert next(events) == {}


def test_a_client_that_goes_is_no_error_and_a_bug_is(root, capfd, monkeypatch):
    def answered(*asked):
        """Ask, reset the connection, and give what the server wrote to the terminal."""
        before = set(threading.enumerate())
        with closing(socket.create_connection(("127.0.0.1", visitor.port))) as client:
            client.sendall(b"GET /live.css HTTP/1.1\r\nHost: localhost\r\n\r\n")
            client.recv(1)
            answering = set(threading.enumerate()) - before
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for one in answering:
            one.join(WAIT_S)
        return capfd.readouterr().err

    with visited(root) as visitor:
        assert answered() == ""
        monkeypatch.setattr("tare.present.live.markup.style", lambda: 1 / 0)
        assert "ZeroDivisionError" in answered()


def test_nothing_is_read_unless_somebody_looks(finished, root, monkeypatch):
    begun(finished, root / "one", trials=1)
    reads = []
    monkeypatch.setattr(ResultsCatalogue, "folders", lambda self: reads.append(1) or {})
    with visited(root) as visitor:
        assert reads == []
        visitor.ask("/live.css")
        assert reads == []
        visitor.ask("/")
        assert reads


def test_nothing_is_written(finished, root):
    begun(finished, root / "one", trials=999)
    files = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    with visited(root) as visitor:
        for page in ("/", "/study/one", "/compare?with=one", "/files/one/report.html"):
            visitor.ask(page)
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == files


@pytest.mark.parametrize(
    "path",
    [
        "/files/one/../../secret",
        "/files/one/raw/../../../secret",
        "/files/one/raw/%2e%2e/%2e%2e/%2e%2e/secret",
        "/files/one/raw%2f..%2f..%2f..%2fsecret",
        "/files/../secret",
        "/files/%2e%2e/secret",
        "/files/one//etc/passwd",
        "/files/one/raw/link",
        "/files/one/raw/folder/secret",
        "/files/one/raw/%00",
        "/files/one/raw",
        "/files/one/raw/",
        "/files/one/plan.json",
        "/files/linked/report.html",
        "/files/none/report.html",
        "/study/linked",
        "/study/..",
        "/study/%2e%2e",
        "/../secret",
        "/secret",
        "//secret",
        "/study/" + "x" * 5000,
    ],
)
def test_paths_do_not_lead_out(finished, root, path):
    begun(finished, root / "one", trials=1)
    outside = root.parent / "outside"
    begun(finished, outside)
    for secret in (root.parent / "secret", outside / "secret", outside / "report.html"):
        secret.write_text("a secret")
    (root / "one/raw/link").symlink_to(root.parent / "secret")
    (root / "one/raw/folder").symlink_to(outside)
    (root / "linked").symlink_to(outside)
    with visited(root) as visitor:
        answer = visitor.ask(path)
        assert answer.status == 404
        assert "a secret" not in answer.text


def test_a_file_that_is_a_link_out_is_not_read(finished, root):
    begun(finished, root / "one", trials=1)
    outside = root.parent / "outside.jsonl"
    shutil.move(root / "one/trials.jsonl", outside)
    (root / "one/trials.jsonl").symlink_to(outside)

    assert StudyReader(root / "one", "one", root).snapshot().trials == ()


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "", "10.0.0.1"])
def test_who_calls_this_host_by_another_name_is_refused(root, host):
    with visited(root) as visitor:
        for path in ("/", "/events?page=/", "/live.js"):
            assert visitor.ask(path, Host=host).status == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "LOCALHOST:99", "[::1]:8000"])
def test_names_of_the_loopback_are_served(root, host):
    with visited(root) as visitor:
        assert visitor.ask("/", Host=host).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_only_reading_is_allowed(root, method):
    with visited(root) as visitor:
        answer = visitor.ask("/", method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_head_has_the_headers_alone(root):
    with visited(root) as visitor:
        head, got = visitor.ask("/", "HEAD"), visitor.ask("/")
        assert visitor.ask("/events?page=/", "HEAD").status == 200
    assert head.text == ""
    assert head.headers["Content-Length"] == got.headers["Content-Length"] != "0"


def test_pages_load_nothing_from_elsewhere_and_work_without_a_script(finished, root):
    begun(finished, root / "one", trials=999)
    with visited(root) as visitor:
        for path in ("/", "/study/one", "/compare?with=one", "/nothing", "/live.js", "/live.css"):
            answer = visitor.ask(path)
            policy = answer.headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
            assert "unsafe" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert not re.search(r"(src|href|action)=\"(https?:)?//", answer.text)
            assert not re.search(r"\s(style|on\w+)=\"", answer.text)
            if path[1:5] != "live":
                assert '<noscript><meta http-equiv="refresh"' in answer.text


@pytest.mark.parametrize("path", ["/events?page=//[", "/events?page=%2F%2F%5B"])
def test_what_is_no_address_is_refused(root, capfd, path):
    with visited(root) as visitor:
        assert visitor.ask(path).status == 400
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("path", ["/events?page=/nothing", "/events?page=http://x/", "/study/a/b"])
def test_what_is_no_page_is_not_found(root, path):
    with visited(root) as visitor:
        assert visitor.ask(path).status == 404


def test_what_cannot_be_served_is_said(root):
    with pytest.raises(ResultsError, match="is no folder"):
        ResultsCatalogue(root / "nothing")
    with serving(ResultsCatalogue(root), 0) as server:
        taken = serving(ResultsCatalogue(root), server.server_address[1])
        with pytest.raises(ConfigError, match="give another with --port"):
            taken.__enter__()
    with pytest.raises(ConfigError, match="port 99999"):
        serving(ResultsCatalogue(root), 99999).__enter__()


def test_the_command_prints_where_the_page_is(root, capsys, monkeypatch):
    monkeypatch.setattr(
        "tare.present.live.server.PageServer.serve_forever", lambda self, poll_s: None
    )
    options = SimpleNamespace(results=root, port=0)

    assert command.run(options) == 0
    assert re.match(r"http://127\.0\.0\.1:\d+/ ", capsys.readouterr().out)


def test_what_was_stored_is_what_a_watcher_has(finished):
    watching = StudyReader(finished.folder, "one", finished.folder)
    assert watching.snapshot().trials == load(finished.folder).trials
