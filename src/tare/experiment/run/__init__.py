"""Run a plan: start platforms, run trials block by block, store them, resume.

This is the only place that reads the clock and the only one that catches whatever happens.
"""

from tare.experiment.run.progress import Progress, Silent
from tare.experiment.run.run import run
from tare.experiment.run.session import Session, clean_all

__all__ = ["Progress", "Session", "Silent", "clean_all", "run"]
