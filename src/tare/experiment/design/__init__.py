"""The plan made of a study: order of trials, resources it needs, estimated time."""

from tare.experiment.design.estimator import Estimate, estimate
from tare.experiment.design.planner import make_plan

__all__ = ["Estimate", "estimate", "make_plan"]
