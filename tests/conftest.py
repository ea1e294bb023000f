"""Capabilities: absent means skipped here, and an error where the run says it must be present."""

import os
import shutil

import pytest

from tare.errors import TareError
from tare.layers import docker, qemu_tcg
from tare.machine import Host

PACKAGES = ("fio", "mbw", "sysbench")
"""What the userland of the tests holds: one for all tests, so that it is built once."""


def _root():
    return None if os.geteuid() == 0 else "needs root"


def _probed(layer):
    def missing():
        try:
            layer.Layer().probe(Host(), None)
        except TareError as error:
            return str(error)
        return _root() or (None if shutil.which("mmdebstrap") else "mmdebstrap is not installed")

    return missing


def _sshd():
    return _root() or (None if shutil.which("sshd", path="/usr/sbin") else "no sshd is installed")


CAPABILITIES = {
    "root": _root,
    "docker": _probed(docker),
    "qemu": _probed(qemu_tcg),
    "sshd": _sshd,
}


def pytest_addoption(parser):
    parser.addoption("--require", action="append", default=[], help="must not be skipped")


def pytest_collection_modifyitems(config, items):
    reasons = {}
    for item in items:
        for mark in item.iter_markers("needs"):
            (capability,) = mark.args
            if capability not in reasons:
                reasons[capability] = CAPABILITIES[capability]()
            reason = reasons[capability]
            if reason and capability in config.getoption("--require"):
                raise pytest.UsageError(f"--require {capability}: {reason}")
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))
