"""Any text that a tool may print is understood, or raises OutputNotUnderstood and nothing else.

Outputs that are nearly right are in ``workloads/test_mutated.py``.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.work.workload import Output, load, names
from unit.properties import PROPERTY
from unit.work.workloads.test_mutated import check
from unit.work.workloads.test_recorded import REQUIRED

LINES = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(["{", "}", "[", "]", ":", "=", ",", "\n", "total", "time", "s", "ms", "%"]),
        st.floats().map(str),
        st.integers().map(str),
    ),
    max_size=30,
).map(" ".join)
BYTES = st.binary(max_size=60).map(lambda printed: printed.decode(errors="replace"))


@pytest.mark.parametrize("name", names())
@settings(PROPERTY, max_examples=20)
@given(
    stdout=st.one_of(LINES, BYTES), stderr=st.one_of(st.just(""), LINES), time_s=st.floats(0, 99)
)
def test_nothing_but_output_not_understood_leaves_a_parser(name, stdout, stderr, time_s):
    check(load(name, **REQUIRED.get(name, {})), Output(stdout, stderr, time_s))
