"""What the name of a parameter says of its values."""

import pytest

from tare.core.model import Unit
from tare.core.parameter import key_of, unit_of, word_of
from tare.present.view.names import params_text


@pytest.mark.parametrize(
    ("name", "unit", "word"),
    [
        ("memory_bytes", Unit.BYTE, "memory"),
        ("time_s", Unit.SECOND, "time"),
        ("threads", None, "threads"),
        ("rate_per_s", None, "rate_per_s"),
    ],
)
def test_a_name_ends_in_the_unit_of_the_values(name, unit, word):
    assert (unit_of(name), word_of(name)) == (unit, word)


def test_a_rate_is_no_time():
    params = (("rate_per_s", 10_000), ("time_s", 10))

    assert params_text(params) == "rate_per_s 10,000, time 10 s"


def test_a_rate_has_a_key_without_its_unit_and_a_word_with_it():
    name = "disk_read_bytes_per_s"

    assert (unit_of(name), key_of(name), word_of(name)) == (
        Unit.BYTE_PER_SECOND,
        "disk_read",
        name,
    )
    assert key_of("disk_reads_per_s") == "disk_reads_per_s"
