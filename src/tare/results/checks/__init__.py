"""What may be wrong with a comparison although it was made as planned: one module a check.

A check is a function ``findings`` that yields what it finds of a case; it changes nothing.
"""

from tare.results.checks import (
    conditions,
    control,
    duet,
    outliers,
    plausibility,
    queueing,
    stability,
    warmup,
)

CHECKS = (
    control.findings,
    queueing.findings,
    plausibility.findings,
    conditions.findings,
    outliers.findings,
    stability.findings,
    duet.findings,
    warmup.findings,
)
"""All checks, in the order in which what they find is shown."""
