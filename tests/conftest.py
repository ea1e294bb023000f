"""Capabilities: absent means skipped here, and an error where the run says it must be present."""

import importlib.util
import os
import shutil

import pytest

from tare.core.errors import TareError
from tare.experiment.probes import perf
from tare.experiment.probes.threads import ROOT
from tare.machines import layer
from tare.machines.machine import Host


def _root():
    return None if os.geteuid() == 0 else "needs root"


def _has(tool):
    path = f"{os.environ['PATH']}:/usr/sbin:/usr/local/go/bin"
    return lambda: (
        _root() or (None if shutil.which(tool, path=path) else f"{tool} is not installed")
    )


def _browser():
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed: pip install -e '.[dev]'"
    return None if shutil.which("chromium") else "chromium is not installed"


def _perf():
    """Say why the kernel counts nothing by control group here, for whatever reason."""
    if reason := _root():
        return reason
    with perf.Counters(".") as counters:
        pass
    return next(s.reason for s in counters.series(0.0) if s.name == "context_switches") or None


def _hierarchies():
    """Say so where a process is in one control group, and not in one of every controller."""
    return None if (ROOT / "cpuacct").exists() else f"{ROOT} is one hierarchy of control groups"


CAPABILITIES = {
    "root": _root,
    "browser": _browser,
    "perf": _perf,
    "cgroup-v1": _hierarchies,
    "qemu": lambda: _layer("qemu-tcg"),
    "ssh": _has("sshd"),
    "sshd": _has("sshd"),
    "vsphere": _has("go"),  # vcsim is built from source
}
"""Besides these, every layer is a capability: it is there if its probe says so."""


def missing(capability):
    """Say why a capability is not there, or None."""
    asked = CAPABILITIES.get(capability)
    return asked() if asked else _layer(capability)


def _layer(name):
    try:
        layer.kind(name)().probe(Host(), None)
    except TareError as error:
        return f"{name}: {error}"
    return _has("mmdebstrap")()


def pytest_addoption(parser):
    parser.addoption("--require", action="append", default=[], help="must not be skipped")


def pytest_collection_modifyitems(config, items):
    reasons = {}
    for item in items:
        for mark in item.iter_markers("needs"):
            (capability,) = mark.args
            if capability not in reasons:
                reasons[capability] = missing(capability)
            reason = reasons[capability]
            if reason and capability in config.getoption("--require"):
                raise pytest.UsageError(f"--require {capability}: {reason}")
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))
