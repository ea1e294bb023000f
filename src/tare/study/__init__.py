"""The declaration of an experiment: its file, its presets, the plan made from it, and an estimate.

A study file is read once, at the edge, into frozen data (``declaration``); everything after that
is a pure function of it. Docs: docs/reference/study-file.md.
"""

from tare.study.declaration import Deadlines, FixedWorkload, Platform, Study
from tare.study.estimator import Estimate, estimate
from tare.study.loader import load_study, preset_names, read_study
from tare.study.planner import make_plan

__all__ = [
    "Deadlines",
    "Estimate",
    "FixedWorkload",
    "Platform",
    "Study",
    "estimate",
    "load_study",
    "make_plan",
    "preset_names",
    "read_study",
]
