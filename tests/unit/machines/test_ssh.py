"""How the OpenSSH client is called, and which CPUs are taken over there."""

import shlex

import pytest

from tare.core.completed import Completed
from tare.core.errors import LayerError
from tare.core.model import CpuLimit, Limits
from tare.machines.layers.ssh import chosen_cpus
from tare.machines.machine import Host
from tare.machines.ssh import OPTIONS, Connection

CONNECTION = Connection("root", "192.0.2.1", 2222, "/keys/a key", "/run/x/ssh")


class Fake:
    name, ephemeral = "host", False

    def __init__(self, returncode=0):
        self.returncode, self.asked = returncode, []

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.asked.append(list(argv))
        return Completed(tuple(argv), self.returncode, b"", b"Permission denied", 0.0)


def test_no_configuration_of_the_user_is_read():
    words = CONNECTION.wrap(["true"])

    assert words[: len(OPTIONS) + 1] == ["ssh", *OPTIONS]
    assert words[words.index("-F") + 1] == "/dev/null"


def test_a_command_goes_through_the_open_connection_to_the_address():
    words = CONNECTION.wrap(["true"])

    tail = ["-S", "/run/x/ssh", "-p", "2222", "-l", "root", "192.0.2.1", "--"]
    assert words[-len(tail) - 1 : -1] == tail
    assert words[words.index("-i") + 1] == "/keys/a key"


def test_without_a_key_the_client_chooses():
    assert "-i" not in Connection("root", "h", 22, "", "/s").wrap(["true"])


WORDS = ["printf", "%s|", "a b", "'", "$HOME", "", "a\nb", ";", "é"]


def test_the_words_outlive_the_shell_over_there():
    line = CONNECTION.wrap(WORDS)[-1]

    assert shlex.split(line.removesuffix("; exit $?")) == WORDS
    assert Host().run(["sh", "-c", line]).stdout.decode() == "a b|'|$HOME||a\nb|;|é|"


def test_the_shell_over_there_outlives_a_command_that_is_killed():
    line = CONNECTION.wrap(["sh", "-c", "kill -KILL $$"])[-1]

    assert Host().run(["sh", "-c", f"{line}; echo dead"]).returncode == 137


def test_the_connection_is_opened_once_and_kept():
    machine = Fake()

    CONNECTION.open(machine, 5)

    (words,) = machine.asked
    assert words[:5] == ["ssh", "-o", "ControlMaster=yes", "-o", "ControlPersist=yes"]
    assert words[-2:] == ["--", "true"]


def test_a_refusal_names_both_ends():
    with pytest.raises(LayerError, match=r"from host to root@192\.0\.2\.1:2222: .*Permission"):
        CONNECTION.open(Fake(255), 5)


def test_hanging_up_where_there_is_no_connection_succeeds(tmp_path):
    connection = Connection("root", "192.0.2.1", 22, "", f"{tmp_path}/none")

    assert Host().run(connection.hang_up_argv()).returncode == 0


@pytest.mark.parametrize(
    ("allowed", "count", "expected"),
    [
        ("0-3", 1, "3"),
        ("0-3", 2, "2,3"),
        ("0-3,8", 2, "3,8"),
        ("5", 1, "5"),
        ("0,2,4-6", 4, "2,4,5,6"),
        ("0-1", 4, "0,1"),
    ],
)
def test_the_last_cpus_are_taken(allowed, count, expected):
    assert chosen_cpus(allowed, Limits(cpus=count, memory_bytes=1)) == expected


def test_all_cpus_are_taken_where_limits_pin_nothing():
    limits = Limits(cpus=1, memory_bytes=1, cpu_limit=CpuLimit.NONE)
    assert chosen_cpus("0-3,8", limits) == "0-3,8"
