"""When a study was measured: written by a session, read back as it was, of any Tare."""

import json
from contextlib import closing
from dataclasses import asdict

import pytest

from tare.core.errors import ResultsError
from tare.core.model import NO_RUN, EndedSession, Repeats, Run
from tare.results.store import Writer, read_run
from tare.results.store.run import run_of

ONE = EndedSession(
    id="62c32e",
    started="2026-11-23T09:12:45+00:00",
    ended="2026-11-23T09:13:02+00:00",
    reason="the maximum of 8 blocks was reached",
    repeats=Repeats(suspect=3, run_again=2, largest_share=0.1),
    blocks_per_instance=4,
    replaced_instances=1,
    warmups={"fio": 2},
)
WHOLE = Run(sessions=(ONE, EndedSession(id="007303")), stop="the budget was spent")


def test_what_is_written_is_read(tmp_path):
    with closing(Writer(tmp_path)) as writer:
        writer.run(WHOLE)

    assert read_run(tmp_path) == WHOLE


def test_where_nothing_is_stored_no_session_has_ended(tmp_path):
    assert read_run(tmp_path) == run_of({}) == NO_RUN
    assert NO_RUN.stop is None


@pytest.mark.parametrize("damaged", [None, 3, True, "text", [], [1, None, []], {"x": None}])
@pytest.mark.parametrize("part", [*asdict(ONE)])
def test_a_part_of_another_type_is_not_known_and_the_rest_is(part, damaged):
    read = run_of(json.loads(json.dumps({"sessions": [asdict(ONE) | {part: damaged}]})))

    (session,) = read.sessions
    others = [name for name in asdict(ONE) if name != part]
    assert [getattr(session, name) for name in others] == [getattr(ONE, name) for name in others]
    assert type(getattr(session, part)) in (type(getattr(EndedSession(), part)), type(damaged))


@pytest.mark.parametrize("sessions", [None, 3, "x", {}, [None, 3, "x", []]])
def test_sessions_of_any_shape_are_no_sessions(sessions):
    assert run_of({"sessions": sessions, "stop": ["no text"]}) == NO_RUN


def test_an_older_session_says_less():
    (session,) = run_of({"sessions": [{"id": "a", "later": 1}]}).sessions

    assert session == EndedSession(id="a")


def test_a_newer_file_is_refused(tmp_path):
    (tmp_path / "run.json").write_text('{"format": 1000, "sessions": []}')

    with pytest.raises(ResultsError, match=r"run\.json"):
        read_run(tmp_path)
