"""The one import path for authors of layers, workloads and scenarios.

What stands here keeps its name; everything else in Tare may move. ``Layer``, ``Workload`` and
``Scenario`` are the classes that a module of a plug-in derives from, see docs/how-to.
"""

from tare.core.errors import LayerError, LayerTimedOut, OutputNotUnderstood, Unavailable
from tare.core.model import (
    Better,
    Cell,
    Contrast,
    ContrastKind,
    FileAccess,
    Limits,
    Metric,
    MetricRole,
    Params,
    Sample,
    Unit,
)
from tare.experiment.scenario import Scenario, Turn
from tare.experiment.scenarios import solo
from tare.experiment.trial.measure import Outcome, Run
from tare.experiment.trial.together import of_all, together
from tare.machines.backends import tree
from tare.machines.backends.keeper import Keeper
from tare.machines.backends.namespaces import INIT, enter_argv
from tare.machines.cgroup import cgroup
from tare.machines.layer import Instance, Layer, Site, Switch, Threads
from tare.machines.machine import Inner, Machine, check, get, put, text
from tare.machines.network import link, netns
from tare.machines.userland import Userland
from tare.work.parsing import agree, count, document, number, numeral
from tare.work.roles import (
    OWN,
    PEER,
    Lifetime,
    Listens,
    Prints,
    Role,
    Succeeds,
)
from tare.work.workload import PORT, SERVER, TOOL_DURATION, Course, Output, Workload
from tare.work.workloads import at_least, at_most, of_form, one_of

__all__ = [
    "INIT",
    "OWN",
    "PEER",
    "PORT",
    "SERVER",
    "TOOL_DURATION",
    "Better",
    "Cell",
    "Contrast",
    "ContrastKind",
    "Course",
    "FileAccess",
    "Inner",
    "Instance",
    "Keeper",
    "Layer",
    "LayerError",
    "LayerTimedOut",
    "Lifetime",
    "Limits",
    "Listens",
    "Machine",
    "Metric",
    "MetricRole",
    "Outcome",
    "Output",
    "OutputNotUnderstood",
    "Params",
    "Prints",
    "Role",
    "Run",
    "Sample",
    "Scenario",
    "Site",
    "Succeeds",
    "Switch",
    "Threads",
    "Turn",
    "Unavailable",
    "Unit",
    "Userland",
    "Workload",
    "agree",
    "at_least",
    "at_most",
    "cgroup",
    "check",
    "count",
    "document",
    "enter_argv",
    "get",
    "link",
    "netns",
    "number",
    "numeral",
    "of_all",
    "of_form",
    "one_of",
    "put",
    "solo",
    "text",
    "together",
    "tree",
]
