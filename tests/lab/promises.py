"""The contract's checks, for modules that bring an ``opened`` of their own."""

import pytest

from contract import test_layer as contract
from contract import test_verbs as verbs


@pytest.fixture
def inside(machine):
    """The machine, entered anew by every command: sites in a lab have no agents."""
    return machine


FIXTURES = ("path", "stack", "innermost", "machine", "userland")
# All but one: what a whole lab costs while a command runs in it has no upper bound.
CHECKS = (
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
PROMISES = {name: vars(contract)[name] for name in (*FIXTURES, *CHECKS)} | {"inside": inside}
VERBS = {
    name: vars(verbs)[name]
    for name in (
        "hard",
        "test_what_was_stopped_does_not_answer_and_starts_with_its_disk",
        "test_what_was_rebooted_is_new_and_has_its_disk",
        "test_a_paused_one_can_be_left_hard",
    )
}
"""What a guest promises besides: each of them boots."""
