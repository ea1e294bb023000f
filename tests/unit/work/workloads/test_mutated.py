"""Whatever a tool prints, a parser understands it or raises OutputNotUnderstood, and nothing else.

Every recorded output is mutated, some hundreds of times in all tests and more often in the slow
ones; TARE_MUTATIONS says how often, for a longer hunt. A failure names its seed.
"""

import os
import random
from dataclasses import replace
from itertools import pairwise
from math import isfinite
from zlib import crc32

import pytest

from tare.core.errors import OutputNotUnderstood
from tare.core.model import MetricRole
from tare.work.workload import MOST_POINTS
from unit.work.workloads.mutations import Printed
from unit.work.workloads.test_recorded import CASES, ids, loaded, output

OFTEN = int(os.environ.get("TARE_MUTATIONS", "200"))
TEXTS = [text for path in CASES for text in [output(path).stdout, output(path).stderr] if text]


def check(workload, printed):
    """Assert that what is understood can be a result; return whether anything was."""
    try:
        samples = {sample.metric: sample.value for sample in workload.parse(printed)}
    except OutputNotUnderstood as error:
        str(error).encode()
        samples = {}
    for metric, value in samples.items():
        assert metric in workload.metrics
        assert isfinite(value), metric.name
        assert value >= 0, metric.name
        if "latency" in metric.name or metric.role is MetricRole.TOOL_DURATION:
            assert value > 0, metric.name
    try:
        courses = list(workload.courses(printed))
    except OutputNotUnderstood as error:
        str(error).encode()
        courses = []
    for course in courses:
        assert course.metric in workload.metrics
        assert len(course.times_s) == len(course.values) <= MOST_POINTS
        assert all(early < late for early, late in pairwise((0, *course.times_s)))
        assert all(isfinite(time_s) for time_s in course.times_s)
        assert all(isfinite(value) and value >= 0 for value in course.values)
        assert "latency" not in course.metric.name or all(value > 0 for value in course.values)
    return bool(samples or courses)


def hunt(path, often):
    workload, whole = loaded(path), output(path)
    streams = [name for name in ("stdout", "stderr") if getattr(whole, name)]
    printed = {name: Printed(getattr(whole, name)) for name in streams}
    for number in range(often if streams else 0):
        seed = crc32(f"{ids(path)} {number}".encode())
        rng = random.Random(seed)  # noqa: S311 - the same each time
        name = rng.choice(streams)
        text = printed[name].mutated(rng, rng.choice(TEXTS))
        try:
            check(workload, replace(whole, **{name: text}))
        except Exception as error:
            raise AssertionError(f"mutation {number} of {ids(path)} (seed {seed})") from error


@pytest.mark.parametrize("path", CASES, ids=ids)
def test_nothing_but_output_not_understood_leaves_a_parser(path):
    hunt(path, OFTEN if "samples" in CASES[path] else OFTEN // 10)


@pytest.mark.slow
@pytest.mark.parametrize("path", CASES, ids=ids)
def test_nothing_else_leaves_it_after_many_more_mutations(path):
    hunt(path, 20 * OFTEN)
