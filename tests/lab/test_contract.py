"""The promises of every layer, kept in a lab, where KVM boots stock guests."""

import pytest

from contract import test_layer as contract
from lab.promises import PROMISES
from tare.machines.machine import text

STACKS = ["lab/host", "lab/docker", "lab/kvm", "lab/kvm/docker"]

globals().update(PROMISES)


@pytest.fixture(scope="module", params=STACKS)
def opened(request, open_in_lab):
    """A stack's name, the stack, opened once for all tests on it, its innermost and all layers.

    But the lab: its kernel sees more memory than a stack in it may have.
    """
    stack, layers = open_in_lab(request.param)
    yield request.param, stack, layers[-1], layers[1:]
    stack.close()


def test_the_work_is_billed_to_the_lab(stack):
    threads = stack.threads()
    before = contract.group_cpu_s(threads)

    stack.machine.run(["timeout", "1", "sh", "-c", contract.LOOP])

    assert contract.group_cpu_s(threads) - before > 0.5


def test_the_guest_runs_on_kvm(stack, path):
    if "kvm" not in path.split("/"):
        pytest.skip("there is no guest")
    lab = stack.instances[0].lab.machine

    assert int(text(lab, ["cat", "/sys/module/kvm_amd/refcnt"])) > 0, "nobody uses the driver"


def test_instances_share_one_lab(open_in_lab, stack):
    another, _ = open_in_lab("lab")
    try:
        assert another.instances[0].lab is stack.instances[0].lab
        stack.pause()
        assert another.machine.run(["true"]).returncode == 0
        stack.resume()
        assert stack.machine.run(["true"]).returncode == 0
    finally:
        another.close()
    assert stack.machine.run(["true"]).returncode == 0
