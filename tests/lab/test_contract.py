"""The promises of every layer, kept in a lab, where KVM boots stock guests."""

import pytest

from contract import test_layer as contract
from tare.machine import text

STACKS = ["lab/host", "lab/docker", "lab/kvm", "lab/kvm/docker"]

FIXTURES = ("path", "stack", "innermost", "machine", "userland")
# All but one: what a whole lab costs while a command runs in it has no upper bound.
PROMISES = (
    "test_a_status_is_a_result",
    "test_a_death_by_signal_is_told_alike_everywhere",
    "test_streams_stay_apart",
    "test_words_arrive_as_they_were_given",
    "test_bytes_survive_stdin_and_stdout",
    "test_a_failure_names_its_machine",
    "test_a_command_out_of_time_leaves_no_process",
    "test_a_command_may_leave_a_process_on_purpose",
    "test_limits_are_visible_inside",
    "test_more_memory_than_the_limit_cannot_be_had",
    "test_the_userland_is_the_same_inside",
    "test_the_tools_run_inside",
    "test_the_workdir_is_empty_and_can_be_written",
    "test_a_workload_is_measured_inside",
    "test_pause_takes_the_cpu_time_away",
)
globals().update({name: vars(contract)[name] for name in (*FIXTURES, *PROMISES)})


@pytest.fixture(scope="module", params=STACKS)
def opened(request, open_in_lab):
    """A stack's name, the stack, opened once for all tests on it, and its innermost layer."""
    stack, innermost = open_in_lab(request.param)
    yield request.param, stack, innermost
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
