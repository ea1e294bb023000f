"""What every layer promises, alone and inside another layer; and that each check can fail.

A test here is the check itself: the tests at the end call it with a layer that breaks the promise.
"""

import contextlib
import os
import re
import secrets
import signal
import time
from pathlib import Path

import pytest

from tare import layer
from tare.errors import CommandFailed
from tare.limits import readback
from tare.limits.readback import Inside
from tare.machine import Host, Inner, check, get, put, text
from tare.model import DiskCache, Limits
from tare.monitors.threads import Sampler
from tare.stack import Stack

WORDS = ["a b", "'", '"', "$HOME", "`id`", "a\nb", "\\", "*", "", "é", "-x", "--", "~", "a;b", "%s"]
EVERY_BYTE = bytes(range(256)) * 4096
BUSY_S = 1.0
LOOP = "while :; do :; done"

ROOT, DOCKER = pytest.mark.needs("root"), pytest.mark.needs("docker")
QEMU, SSHD = pytest.mark.needs("qemu"), pytest.mark.needs("sshd")
STACKS = [
    pytest.param("host", {}, id="host", marks=ROOT),
    pytest.param("host/docker", {}, id="host-docker", marks=DOCKER),
    pytest.param(
        "host/docker", {"network": "bridge", "storage": "volume"}, id="bridge-volume", marks=DOCKER
    ),
    pytest.param(
        "host/docker", {"network": "none", "storage": "tmpfs"}, id="none-tmpfs", marks=DOCKER
    ),
    pytest.param("host/qemu-tcg", {}, id="host-qemu-tcg", marks=QEMU),
    pytest.param("host/qemu-tcg/docker", {}, id="host-qemu-tcg-docker", marks=QEMU),
    pytest.param("host/ssh", {}, id="host-ssh", marks=SSHD),
    pytest.param("host/ssh/docker", {}, id="host-ssh-docker", marks=[SSHD, DOCKER]),
]


@pytest.fixture(scope="module", params=STACKS)
def opened(request):
    """A stack's name, its settings and the stack itself, opened once for all tests on it."""


def pytest_generate_tests(metafunc):
    if "opened" in metafunc.fixturenames:
        metafunc.parametrize("opened", STACKS, indirect=True, scope="module")
