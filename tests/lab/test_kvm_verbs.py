"""A KVM guest in a lab is stopped, started and rebooted."""

import pytest

from lab.promises import VERBS


@pytest.fixture(scope="module")
def stack(open_in_lab):
    stack, _ = open_in_lab("lab/kvm")
    yield stack
    stack.close()


globals().update(VERBS)
