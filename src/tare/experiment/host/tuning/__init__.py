"""Tune a host for quieter measurements (``tare tune``), and restore its settings.

``knobs`` says what is set and why, ``plan`` what that means on a host, ``journal`` keeps the values
from before, ``change`` sets and restores. The old values are on the disk before anything is set, so
that they are restored also after a kill. A reboot undoes everything by itself: no file of the
system's configuration is touched.
"""

from tare.experiment.host.tuning.change import Result, apply, measuring_stopped, restore
from tare.experiment.host.tuning.journal import Journal
from tare.experiment.host.tuning.plan import Change, Left, plan

__all__ = [
    "Change",
    "Journal",
    "Left",
    "Result",
    "apply",
    "measuring_stopped",
    "plan",
    "restore",
]
