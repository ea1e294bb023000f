"""The declaration of an experiment: its file and its presets.

A study file is read once, at the edge, into frozen data (``declaration``); everything after that
is a pure function of it. Docs: docs/reference/study-file.md.
"""

from tare.experiment.study.declaration import Deadlines, FixedWorkload, Platform, Study
from tare.experiment.study.loader import load_study, preset_names, read_study

__all__ = [
    "Deadlines",
    "FixedWorkload",
    "Platform",
    "Study",
    "load_study",
    "preset_names",
    "read_study",
]
