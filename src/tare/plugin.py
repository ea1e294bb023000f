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
from tare.experiment.scenario import Scenario, TrialContext
from tare.experiment.scenarios import solo
from tare.experiment.trial.measure import CommandRun, Outcome
from tare.experiment.trial.rendezvous import combined, run_together
from tare.machines.backends import tree
from tare.machines.backends.instance_process import InstanceProcess
from tare.machines.backends.namespaces import INIT, enter_argv
from tare.machines.cgroup import cgroup
from tare.machines.instance import Instance, Threads
from tare.machines.layer import Layer, Site
from tare.machines.machine import Inner, Machine, check, get, put, text
from tare.machines.network import link, netns
from tare.machines.switch import Switch
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
    "CommandRun",
    "Contrast",
    "ContrastKind",
    "Course",
    "FileAccess",
    "Inner",
    "Instance",
    "InstanceProcess",
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
    "Sample",
    "Scenario",
    "Site",
    "Succeeds",
    "Switch",
    "Threads",
    "TrialContext",
    "Unavailable",
    "Unit",
    "Userland",
    "Workload",
    "agree",
    "at_least",
    "at_most",
    "cgroup",
    "check",
    "combined",
    "count",
    "document",
    "enter_argv",
    "get",
    "link",
    "netns",
    "number",
    "numeral",
    "of_form",
    "one_of",
    "put",
    "run_together",
    "solo",
    "text",
    "tree",
]
