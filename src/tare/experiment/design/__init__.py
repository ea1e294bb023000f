"""Plan a study: the order of its trials, the resources it needs, the estimated time."""

from tare.experiment.design.estimator import PlanEstimate, estimate
from tare.experiment.design.planner import make_plan

__all__ = ["PlanEstimate", "estimate", "make_plan"]
