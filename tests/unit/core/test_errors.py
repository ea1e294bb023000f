"""What a reason repeats of a tool's output: its words, not its report."""

import pytest

from tare.core.errors import OutputNotUnderstood, message_of

REFUSED = "unable to connect to server: Connection refused"


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        ("a word\n\nand more\n", "a word\n\nand more"),
        ('fio: no memory\n{\n  "jobs" : [\n    {\n  "error" : 11\n}]}', "fio: no memory"),
        (f'{{\n\t"end":\t{{\n\t}},\n\t"error":\t"{REFUSED}"\n}}\n', REFUSED),
        ('{"caches_bytes": 33554432}\n', "(a report in JSON)"),
        ('[\n{"time": 5}\n]\n', "(a report in JSON)"),
        ("[ ID] Interval\n[  5]   0.00-1.00\n", "[ ID] Interval\n[  5]   0.00-1.00"),
        ("  \n", ""),
    ],
)
def test_what_is_for_programs_is_not_a_message(printed, message):
    assert message_of(printed) == message


def test_a_reason_does_not_repeat_a_report():
    reason = str(OutputNotUnderstood("rate", f'{{"end": {{}}, "error": "{REFUSED}"}}'))

    assert reason == f"no rate in the output, which says: '{REFUSED}'"


def test_a_reason_ends_with_what_fixes_it():
    assert str(OutputNotUnderstood("rate", "slow", "more")).endswith("'slow'. Fix: more")
