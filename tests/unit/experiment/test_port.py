"""A role's port is free where the role runs, whatever is free on this host."""

import re
import socket
from contextlib import ExitStack

import pytest

from tare.core.completed import Completed
from tare.core.errors import LayerError, Unavailable
from tare.experiment.trial.port import AT_ONCE, PORTS, TRIES, free_port
from tare.experiment.trial.role_placement import RolePlacement
from tare.machines.machine import Host
from tare.work.roles import OWN, PEER, Main, Role, Roles
from unit.experiment.test_role_placement import Fake, peer, placed

ASKED = re.compile(r"[0-9A-F]{4}(?=[|)])")


class Busy(Fake):
    """A machine on which all ports are taken but those given."""

    def __init__(self, name, free=(), timed_out=False):
        super().__init__(name)
        self.free, self.timed_out = free, timed_out

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        done = super().run(argv, stdin=stdin, timeout_s=timeout_s)
        if argv[0] != "grep":
            return done
        asked = [port for port in ASKED.findall(argv[2]) if int(port, 16) not in self.free]
        lines = "".join(f"   7: 00000000:{port} \n" for port in asked)
        return Completed(tuple(argv), 0, lines.encode(), b"", 0.0, timed_out=self.timed_out)


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_port_that_any_socket_has_is_not_free(kind, family):
    with ExitStack() as opened:
        ports = []
        for _ in range(5):
            one = opened.enter_context(socket.socket(family, kind))
            try:
                one.bind(("", 0))
            except OSError as error:
                pytest.skip(f"no such sockets here: {error}")
            if kind == socket.SOCK_STREAM:
                one.listen()
            ports.append(one.getsockname()[1])
        left = next(port for port in PORTS if port not in ports)

        assert free_port(Host(), among=[*ports, left]) == left
        with pytest.raises(Unavailable, match="host has no free port"):
            free_port(Host(), among=ports)
    assert free_port(Host(), among=ports) in ports


def test_a_port_that_was_chosen_before_is_not_chosen_again():
    assert free_port(Fake("there"), [1, 2], [1, 2, 3]) == 3


def test_where_nearly_all_are_taken_some_more_are_tried_and_then_it_is_given_up():
    there = Busy("there")

    with pytest.raises(Unavailable, match="there has no free port: 64 of 10000 to 32767 were"):
        free_port(there)

    assert len(there.ran) == TRIES
    assert all(len(ASKED.findall(argv[2])) == AT_ONCE for argv in there.ran)


def test_a_machine_that_does_not_answer_is_not_asked_twice():
    there = Busy("there", timed_out=True)

    with pytest.raises(LayerError, match="there did not say within 20 s which ports are free"):
        free_port(there)

    assert len(there.ran) == 1


@pytest.mark.parametrize("place", [OWN, PEER])
def test_the_machine_of_a_role_is_asked_which_of_its_ports_is_free(place, monkeypatch):
    free = [20001, 20002]
    monkeypatch.setattr(
        "tare.experiment.trial.role_placement.free_port",
        lambda machine, taken: free_port(
            machine, taken, [*range(20003, 20003 + AT_ONCE - 2), *free]
        ),
    )
    server = Role(name="server", command=["serve", "{server.port}"], place=place)
    main = Main(PEER if place == OWN else OWN, ["ask", "{server.port}", "{server.data_port}"])
    inside, at = placed(), peer(machine=Busy("peer", free))
    if place == OWN:
        inside.stack.machine = Busy("inside", free)
        at = peer()

    with RolePlacement(Roles(main, (server,)), "cell", [inside], at).up() as command:
        assert {int(port) for port in command.argv[-2:]} == set(free)

    asked = [argv for machine in (inside.stack.machine, at.machine) for argv in machine.ran
             if argv[0] == "grep" and "-Eohs" in argv]  # fmt: skip
    assert len(asked) == 2
    here = inside.stack.machine if place == OWN else at.machine
    assert all(argv in here.ran for argv in asked)


def test_a_machine_without_a_free_port_makes_the_trial_unavailable_and_nothing_is_started():
    at = peer(machine=Busy("peer"))
    server = Role(name="server", command=["serve", "{server.port}"], place=PEER)

    with (
        pytest.raises(Unavailable, match="peer has no free port"),
        RolePlacement(
            Roles(Main(OWN, ["ask", "{server.port}"]), (server,)), "cell", [placed()], at
        ).up(),
    ):
        pytest.fail("it cannot be up")

    assert not any("LC_ALL=C" in argv for argv in at.machine.ran)
