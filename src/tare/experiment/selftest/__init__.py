"""The self-test: inject an overhead of known size, and check that the analysis finds it.

On each stack there are five arms that do the same work on the same instances: the baseline, the
same once more (A/A), and three that do 1 %, 3 % and 10 % more of it (METHOD.md 3.7). They take the
ordinary way through plan, runner and pairs; ``design`` makes the plan, ``outcome`` reads what came.
"""

from tare.experiment.selftest.design import ARMS, STAGES, declare, order, until
from tare.experiment.selftest.outcome import Arm, Tested, evaluate, is_resolved

__all__ = [
    "ARMS",
    "STAGES",
    "Arm",
    "Tested",
    "declare",
    "evaluate",
    "is_resolved",
    "order",
    "until",
]
