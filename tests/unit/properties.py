"""How properties are tested: the same examples in every run, none kept, and no clock."""

from hypothesis import HealthCheck, settings

PROPERTY = settings(
    derandomize=True,
    database=None,
    deadline=None,  # other work on the host is no failure
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)
