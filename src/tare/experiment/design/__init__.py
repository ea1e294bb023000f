"""Plan a study: the order of its trials, the resources it needs, the estimated time."""

from tare.experiment.design.estimator import Estimate, estimate
from tare.experiment.design.planner import make_plan

__all__ = ["Estimate", "estimate", "make_plan"]
