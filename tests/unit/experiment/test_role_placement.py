"""Which role of a workload runs where, who finds whom, and when a number may be the peer's."""

import re
from dataclasses import dataclass, replace
from ipaddress import IPv4Address

import pytest

from tare.core.completed import Completed
from tare.core.errors import LayerError, Unavailable
from tare.core.model import Complaint, ComplaintKind, HostCost, Status
from tare.experiment.trial.measure import _served
from tare.experiment.trial.peer import Peer
from tare.experiment.trial.placed_part import PlacedPart
from tare.experiment.trial.role_placement import RolePlacement, end_kept
from tare.experiment.trial.service import STOP, ProgramEnd
from tare.machines.instance import Instance
from tare.machines.stack import Stack
from tare.work.roles import OWN, PEER, Lifetime, Listens, Main, Prints, Role, Roles, Succeeds

ROUTES = b"""\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010413C6\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t000413C6\t00000000\t0001\t0\t0\t0\tFCFFFFFF\t0\t0\t0
"""
STAT = b"cpu  9 9 9 9 9 9 9 9\ncpu0 100 0 50 900 5 20 30 0 0 0\ncpu1 1 1 1 1 1 1 1 1\n"


class Fake:
    """A machine that writes down what it is asked to run."""

    ephemeral = False

    def __init__(self, name, answer=b"", fails=()):
        self.name, self.answer, self.ran, self.fails = name, answer, [], fails

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        del stdin, timeout_s
        self.ran.append(list(argv))
        failed = any(word in argv for word in self.fails)
        return Completed(tuple(argv), int(failed), self.answer, b"", 0.0)


class Reached(Stack):
    """A stack whose address is given; it writes down to where it is given ways."""

    def __init__(self, machine, address, ports=None, threads="group"):
        super().__init__(machine)
        self.at, self.published, self.group, self.ways = address, ports, threads, []

    def address(self):
        if self.at == "nowhere":
            raise Unavailable("its network is none")
        return self.at

    def ports(self):
        return self.published

    def threads(self):
        return self.group

    def route_to(self, address):
        self.ways.append(address)


def placed(name="inside", address="172.17.0.2", **more):
    return PlacedPart(part="", instance=name, stack=Reached(Fake(name), address, **more), how=None)


def peer(*, is_apart=True, cpus=(0,), machine=None, **more):
    stack = Reached(machine or Fake("peer"), "198.19.0.6", **more)
    return Peer(stack, "198.19.0.6", "198.19.0.5", cpus, is_apart)


SERVER = Role(name="server", command=["serve", "{server.port}"])
ASK = ["ask", "{server.address}", "{server.port}"]
LOADED = Roles(Main(PEER, ASK), (SERVER,))
SERVED = Roles(Main(OWN, ASK), (replace(SERVER, place=PEER),))
THREE = Roles(
    Main(PEER, ["load", "{proxy.address}:{proxy.port}"]),
    (
        Role(name="proxy", command=["proxy", "{proxy.port}", "{db.address}:{db.port}"]),
        Role(name="db", command=["db", "{db.address}", "{db.port}"]),
    ),
)


def started(machine):
    """List what was started in a machine: the words after those that check if it is ready."""
    return [argv[argv.index("LC_ALL=C") + 1 :] for argv in machine.ran if "LC_ALL=C" in argv]


def test_it_is_warmed_up_once_its_roles_are_there(tmp_path):
    at = peer()
    warm = replace(LOADED, main=replace(LOADED.main, warm_up=["warm", "{server.data_port}"]))
    inside = placed()

    with RolePlacement(warm, "cell", [inside], at).up() as command:
        port, data_port = command.argv[-1], at.stack.machine.ran[-1][-1]

    assert at.stack.machine.ran[-1] == [
        "env", "-C", command.argv[2], "LC_ALL=C", "warm", data_port
    ]  # fmt: skip
    assert data_port.isdigit()
    assert data_port != port
    assert started(inside.stack.machine) == [["serve", port]]


def test_a_role_is_ended_when_the_warm_up_fails():
    warm = replace(LOADED, main=replace(LOADED.main, warm_up=["warm"]))
    inside = placed()
    at = peer(machine=Fake("peer", b"rows are missing", fails=["warm"]))

    with (
        pytest.raises(LayerError, match=r"the warm-up failed: rows are missing"),
        RolePlacement(warm, "cell", [inside], at).up(),
    ):
        pass

    assert STOP in inside.stack.machine.ran[-1]


def test_without_roles_one_machine_does_it_all():
    alone = RolePlacement(Roles(Main(OWN, ["work"])), "cell", [placed()])

    with alone.up() as command:
        assert command.machine.name == "inside"
        assert list(command.argv) == ["env", "-C", "/data/cell", "LC_ALL=C", "work"]
        assert command.peer is None
        assert command.conclude(False) == {}


@pytest.mark.parametrize(("address", "asked"), [("172.17.0.2", "172.17.0.2"), (None, "198.19.0.5")])
def test_a_role_under_test_is_loaded_from_the_peer(address, asked):
    inside = placed(address=address)

    with RolePlacement(LOADED, "cell", [inside], peer()).up() as command:
        assert command.machine.name == "peer"
        assert command.argv[2] == "/data/cell-inside"
        assert command.argv[4:6] == ["ask", asked]
        assert started(inside.stack.machine) == [["serve", command.argv[6]]]
        assert "/data/cell-server" in inside.stack.machine.ran[-1]
        assert command.conclude(False) == {"server": ProgramEnd(lived=True, said="")}


def test_a_command_under_test_is_served_from_the_peer():
    at = peer()

    with RolePlacement(SERVED, "cell", [placed(name="i1")], at).up() as command:
        assert command.machine.name == "i1"
        assert command.argv[2] == "/data/cell"
        assert command.argv[4:6] == ["ask", "198.19.0.6"]
        assert "/data/cell-i1-server" in at.machine.ran[-1]


@pytest.mark.parametrize("roles", [LOADED, SERVED])
def test_a_stack_without_a_network_is_unavailable_on_either_side(roles):
    inside, at = placed(address="nowhere"), peer()

    with (
        pytest.raises(Unavailable, match="its network is none"),
        RolePlacement(roles, "cell", [inside], at).up(),
    ):
        pytest.fail("it cannot be up")

    assert at.machine.ran == inside.stack.machine.ran == []


def test_roles_find_each_other_in_instances_of_their_own_or_in_one():
    first, second, at = placed("a", "172.17.0.2"), placed("b", "172.17.0.3"), peer()
    assert THREE.homes() == ("proxy", "db")

    with RolePlacement(THREE, "cell", [first, second], at).up() as command:
        (db,) = started(second.stack.machine)
        (proxy,) = started(first.stack.machine)
        assert db[:2] == ["db", "0.0.0.0"]  # noqa: S104 - so it says it
        assert proxy[2] == f"172.17.0.3:{db[2]}"
        assert command.argv[-1] == f"172.17.0.2:{proxy[1]}"
        assert list(command.conclude(False)) == ["proxy", "db"]  # last started, first ended

    with RolePlacement(THREE, "cell", [first], at).up():
        assert started(first.stack.machine)[-1][2].startswith("127.0.0.1:")


def test_roles_on_the_hosts_network_find_each_other_there():
    first, second, at = placed("a", None), placed("b", None), peer()

    with RolePlacement(THREE, "cell", [first, second], at).up() as command:
        (proxy,) = started(first.stack.machine)
        assert proxy[2].startswith("127.0.0.1:")
        assert command.argv[-1].startswith("198.19.0.5:")


def test_both_ends_are_given_a_way_to_each_other():
    inside, at = placed(), peer()

    with RolePlacement(LOADED, "cell", [inside], at).up():
        assert inside.stack.ways == ["198.19.0.6"]
        assert at.stack.ways == ["172.17.0.2"]


def test_a_line_that_tells_may_hold_its_own_port():
    inside = placed()
    of = Roles(
        Main(OWN, ["w"]), (replace(SERVER, command=["s"], ready=Prints("at {server.port}")),)
    )

    with RolePlacement(
        replace(of, others=(replace(of.others[0], place="command"),)), "c", [inside]
    ).up():
        pattern = inside.stack.machine.ran[-1][inside.stack.machine.ran[-1].index("-e") + 1]
        assert re.fullmatch(r"at \d+", pattern)


def test_published_ports_go_to_what_others_reach_and_can_be_too_few():
    both = placed(ports=(11, 12))

    with RolePlacement(THREE, "cell", [both], peer()).up() as command:
        assert command.argv[-1] == "172.17.0.2:11"

    far = Roles(
        Main(PEER, ["load", "{a.port}", "{a.data_port}", "{b.port}"]),
        (
            Role(name="a", command=["a", "{a.port}"]),
            Role(name="b", command=["b", "{b.port}"], place="a"),
        ),
    )
    with (
        pytest.raises(Unavailable, match="passes on 2 ports, and its roles a, b are"),
        RolePlacement(far, "cell", [both], peer()).up(),
    ):
        pytest.fail("there is no third port")


def kept(lifetime, place=OWN):
    role = replace(SERVER, lifetime=lifetime, place=place)
    return Roles(Main(OWN if place == PEER else PEER, ASK), (role,))


def test_what_lasts_for_an_instance_is_started_once_and_stands_still_between():
    inside, at = placed(), peer()
    machine, ports = inside.stack.machine, []

    for _ in range(3):
        with RolePlacement(kept(Lifetime.INSTANCE), "cell", [inside], at).up() as command:
            ports.append(command.argv[-1])
            assert command.conclude(False)["server"].lived

    assert len(set(ports)) == len(started(machine)) == 1
    told = [argv[-1] for argv in machine.ran if argv[-1] in ("STOP", "CONT")]
    assert told == ["STOP", "CONT", "STOP", "CONT", "STOP"]
    assert list(end_kept(inside.kept, apart=True)) == []
    assert inside.kept  # it goes with its instance
    with RolePlacement(kept(Lifetime.INSTANCE), "cell", [placed("b")], at).up():
        assert len(started(machine)) == 1


def test_what_is_kept_of_two_cells_shares_the_ports_that_are_published_while_there_are_any():
    both, at = placed(ports=(11, 12)), peer()
    ports = []

    for cell in ("one", "two", "one", "two", "three"):
        with RolePlacement(kept(Lifetime.INSTANCE), cell, [both], at).up() as command:
            ports.append(command.argv[-1])

    assert ports == ["11", "12", "11", "12", "11"]
    assert len(started(both.stack.machine)) == 3
    assert [cell for cell, _ in both.kept] == ["two", "three"]


def test_what_died_or_has_other_words_is_started_anew():
    inside, at = placed(), peer()
    machine = inside.stack.machine
    with RolePlacement(kept(Lifetime.INSTANCE), "cell", [inside], at).up():
        pass
    machine.fails = ("CONT",)
    with RolePlacement(kept(Lifetime.INSTANCE), "cell", [inside], at).up():
        assert len(started(machine)) == 2
    machine.fails = ()
    other = kept(Lifetime.INSTANCE)
    other = replace(other, others=(replace(other.others[0], command=["s", "{server.port}", "-v"]),))
    with RolePlacement(other, "cell", [inside], at).up():
        assert started(machine)[-1][-1] == "-v"
        assert len(inside.kept) == 1


class Book:
    """A ledger that counts what is in it."""

    def __init__(self):
        self.open = []

    def about_to_make(self, what, name, machine, undo):
        self.open.append(name)
        return name

    def forget(self, entry):
        self.open.remove(entry)


def test_what_lasts_for_the_session_serves_all_instances_and_is_in_the_ledger():
    at, session, book = peer(), {}, Book()

    for name in ("a", "b"):
        cast = RolePlacement(
            kept(Lifetime.SESSION, PEER), "cell", [placed(name)], at, session, book
        )
        with cast.up():
            assert book.open == ["/data/cell-server"]

    assert len(started(at.machine)) == 1
    assert list(end_kept(session)) == []
    assert session == {}
    assert book.open == []


@pytest.mark.parametrize(("threads", "written"), [("group", []), (None, ["/data/cell-server"])])
def test_what_is_on_another_computer_is_in_the_ledger(threads, written):
    inside, book = placed(threads=threads), Book()

    with RolePlacement(LOADED, "cell", [inside], peer(), ledger=book).up():
        assert book.open == written

    assert book.open == []


@pytest.mark.parametrize(
    ("roles", "told"),
    [
        (Roles(Main(OWN, ["ask", "{db.port}"])), r"names \{db.port\}; there are no roles"),
        (Roles(Main(OWN, ["ask", "{db.port}"]), (SERVER,)), "expected one of the roles server"),
        (Roles(Main(OWN, ["w"]), (replace(SERVER, command=["{command.port}"]),)), "names {command"),
        (Roles(Main("db", ["work"]), (SERVER,)), "command is at 'db'; expected own, peer or"),
        (Roles(Main(OWN, ["work"]), (SERVER, SERVER)), "a role is called 'server'"),
        (Roles(Main(OWN, ["work"]), (replace(SERVER, name="own"),)), "a role is called 'own'"),
        (Roles(Main(OWN, ["w"]), (replace(SERVER, place="server"),)), "server is at 'server'"),
        (Roles(Main(OWN, ["w"]), (replace(SERVER, command=[]),)), "server has no words"),
        (
            Roles(Main(OWN, ["w"]), (replace(SERVER, snapshot=["load", "{server.port}"]),)),
            r"server names \{server.port\} in its snapshot",
        ),
        (Roles(Main(OWN, ["w"]), (replace(SERVER, snapshot_s=0),)), "has 0 s for its snapshot"),
        (Roles(Main(OWN, ["w"]), (replace(SERVER, ready_s=0),)), "has 0 s to get ready"),
        (Roles(Main(OWN, ["w"]), (replace(SERVER, command=["s"]),)), "names no port of its own"),
        (Roles(Main(OWN, ["w"]), (replace(SERVER, files={"../x": ""}),)), "has a file '../x'"),
        (Roles(Main(OWN, ["w"]), (replace(SERVER, files={"/x": ""}),)), "has a file '/x'"),
        (Roles(Main(OWN, ["w"]), (replace(SERVER, files={"ready.log": ""}),)), "file 'ready.log'"),
        (
            Roles(Main(OWN, ["w"]), (replace(SERVER, ready=Prints("at {db.port}")),)),
            r"server names \{db.port\}",
        ),
        (Roles(Main(PEER, ["w"]), (replace(SERVER, place=PEER),)), "are at the peer"),
        (
            Roles(Main(OWN, ["w"]), (replace(SERVER, lifetime=Lifetime.SESSION),)),
            "server lasts for the session; expected at the peer",
        ),
        (
            Roles(
                Main(PEER, ["w"]),
                (
                    Role(name="a", command=["a", "{b.port}"], ready=Prints("up")),
                    Role(name="b", command=["b"], ready=Succeeds(["ask", "{a.port}"])),
                ),
            ),
            "roles wait for each other: a names b names a|b names a names b",
        ),
        (
            Roles(
                Main(PEER, ["w"]),
                (
                    Role(name="a", command=["a"], place="b"),
                    Role(name="b", command=["b"], place="a"),
                ),
            ),
            "in a ring",
        ),
        (
            Roles(
                Main(PEER, ["w"]),
                (
                    SERVER,
                    Role(name="a", command=["a", "{server.port}", "{a.port}"],
                         lifetime=Lifetime.INSTANCE),
                ),
            ),
            "the role a outlasts server",
        ),
    ],
)  # fmt: skip
def test_roles_that_cannot_be_are_objected_to(roles, told):
    found = "; ".join(roles.objections())

    assert re.search(told, found), found


@pytest.mark.parametrize("roles", [LOADED, SERVED, THREE, Roles(Main(OWN, ["work"]))])
def test_roles_that_can_be_are_not_objected_to(roles):
    assert list(roles.objections()) == []


def test_sockets_are_seen_in_the_kernels_tables():
    assert ": [0-9A-F]+:0050 [0-9A-F]+:[0-9A-F]+ 0A " in Listens().check(80)
    assert Listens("udp").check(80)[-2:] == ["/proc/net/udp", "/proc/net/udp6"]


def test_the_peer_may_be_the_bottleneck():
    cost = HostCost(cpu_s=1.9, run_delay_s=0.0, all_cpu_s=1.9, coverage=1.0, threads=2)
    apart = peer(cpus=(0, 1))

    idle = apart.use(cost, busiest_s=1.0, duration_s=2.0)
    one_thread = apart.use(cost, busiest_s=1.9, duration_s=2.0)

    assert idle == {"outside_cpu": pytest.approx(0.475), "outside_thread": 0.5}
    assert list(apart.complaints(idle)) == []
    assert list(apart.complaints(one_thread)) == [
        Complaint(ComplaintKind.PEER_BUSY, {"share": pytest.approx(0.95)})
    ]
    assert list(apart.complaints(one_thread, spins=True)) == []


def test_another_computer_that_is_the_peer_is_asked_itself():
    at = peer(cpus=(0,), machine=Fake("board", STAT), threads=None)
    before = at.busy()

    assert before == {0: pytest.approx(2.0)}
    used = at.use_between(before, {0: 3.9}, 2.0)
    assert used == {"outside_cpu": pytest.approx(0.95), "outside_thread": pytest.approx(0.95)}
    assert [one.kind for one in at.complaints(used)] == [ComplaintKind.PEER_BUSY]
    assert at.use_between(before, {}, 2.0) == {}
    assert list(at.complaints({})) == []


def test_one_that_has_no_cpus_of_its_own_is_told():
    (told,) = peer(is_apart=False).complaints({"outside_cpu": 0.1, "outside_thread": 0.1})

    assert told == Complaint(ComplaintKind.PEER_SHARED)


@dataclass
class Routed(Instance):
    """An instance of which only the routes are known."""

    machine: Fake

    def start(self):
        """Nothing."""

    def ready(self):
        """Nothing."""


def test_the_host_is_found_where_the_default_route_leads():
    found = Routed(Fake("peer", ROUTES)).gateway()

    assert IPv4Address(found) == IPv4Address("198.19.4.1")


GONE = ProgramEnd(lived=False, said="")


@pytest.mark.parametrize(
    ("ended", "status", "told"),
    [
        (ProgramEnd(lived=True, said=""), (Status.OK, ""), (Status.OK, "")),
        (GONE, (Status.OK, ""), (Status.FAILED, "the role db ended while it was measured")),
        (
            GONE,
            (Status.DNR, "late"),
            (Status.DNR, "late; the role db ended while it was measured"),
        ),
    ],
)
def test_a_trial_of_which_a_role_ended_has_failed(ended, status, told):
    assert _served({"db": ended}, *status) == told


def test_what_a_role_said_last_stands_with_what_failed():
    ended = {
        "web": ProgramEnd(lived=True, said=""),
        "db": ProgramEnd(lived=False, said="no memory"),
    }
    status, reason = _served(ended, Status.OK, "")

    assert status is Status.FAILED
    assert reason == "the role db ended while it was measured; the role db said: no memory"


class Gone(Fake):
    """A machine that no longer answers, once it is told to."""

    is_gone = False

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        done = super().run(argv, stdin=stdin, timeout_s=timeout_s)
        return replace(done, returncode=255, stderr=b"no route") if self.is_gone else done


def test_of_roles_at_a_peer_that_is_lost_nothing_is_asked():
    machine, book = Gone("board"), Book()
    at = peer(machine=machine, threads=None)

    with RolePlacement(SERVED, "cell", [placed()], at, ledger=book).up() as command:
        machine.is_gone = True
        asked = len(machine.ran)
        assert command.conclude(True) == {}
        assert len(machine.ran) == asked

    assert book.open == ["/data/cell-inside-server"]


def test_a_role_that_cannot_be_started_at_a_peer_that_is_lost_says_so():
    machine = Gone("board")
    machine.is_gone = True
    at = peer(machine=machine, threads=None)

    with (
        pytest.raises(LayerError, match=r"^the peer no longer answers: the role server .*no route"),
        RolePlacement(SERVED, "cell", [placed()], at).up(),
    ):
        pytest.fail("it cannot be up")
