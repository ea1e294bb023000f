"""Runs a plan: opens platforms, runs trials block by block, stores them, and resumes.

This is the only place that reads the clock and the only one that catches whatever happens.
"""

from tare.experiment.run.progress import Progress, Silent
from tare.experiment.run.run import run
from tare.experiment.run.session import Session, clean_all

__all__ = ["Progress", "Session", "Silent", "clean_all", "run"]
