"""Which half of a workload runs where, and when a trial's number may be the generator's."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from tare.errors import Unavailable
from tare.machine import Completed
from tare.model import Complaint, ComplaintKind, HostCost, Status
from tare.runner.outside import _gateway
from tare.stack import Stack
from tare.trial.ends import Ends, Outside
from tare.trial.measure import _served
from tare.trial.service import Ended
from tare.workload import PORT, SERVER, Service, Workload

ROUTES = b"""\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010413C6\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t000413C6\t00000000\t0001\t0\t0\t0\tFCFFFFFF\t0\t0\t0
"""


class Fake:
    """A machine that writes down what it is asked to run."""

    ephemeral = False

    def __init__(self, name, answer=b""):
        self.name, self.answer, self.ran = name, answer, []

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        del stdin, timeout_s
        self.ran.append(list(argv))
        return Completed(tuple(argv), 0, self.answer, b"", 0.0)


class Reached(Stack):
    """A stack whose address is given."""

    def __init__(self, machine, address):
        super().__init__(machine)
        self.at = address

    def address(self):
        if self.at == "nowhere":
            raise Unavailable("its network is none")
        return self.at


@dataclass(frozen=True)
class Served(Workload):
    under_test: bool = True

    metrics = ()
    packages = ()

    def command(self):
        return ["ask", SERVER, PORT]

    def service(self):
        return Service(command=["serve", PORT], under_test=self.under_test)

    def parse(self, output):
        return iter(())


@dataclass(frozen=True)
class Local(Workload):
    metrics = ()
    packages = ()

    def command(self):
        return ["work"]

    def parse(self, output):
        return iter(())


def outside(machine, *, is_apart=True, cpus=(0,)):
    instance = SimpleNamespace(machine=machine, workdir="/data")
    return Outside(instance, "198.19.0.6", "198.19.0.5", cpus, is_apart)


def ends(workload, address):
    stack = Reached(Fake("inside"), address)
    return Ends(stack, workload, "cell", "i1", outside(Fake("outside")))


def test_without_a_service_one_machine_does_it_all():
    alone = Ends(Stack(Fake("inside")), Local(), "cell")

    with alone.joined() as command:
        assert command.machine.name == "inside"
        assert list(command.argv) == ["env", "-C", "/data/cell", "LC_ALL=C", "work"]
        assert command.outside is command.server is None


@pytest.mark.parametrize(("address", "asked"), [("172.17.0.2", "172.17.0.2"), (None, "198.19.0.5")])
def test_a_service_under_test_is_loaded_from_outside(address, asked):
    both = ends(Served(), address)

    with both.joined() as command:
        assert command.machine.name == "outside"
        where, words = command.argv[2], command.argv[4:]
        assert where == "/data/cell-i1"
        assert words[:2] == ["ask", asked]
        start = both.stack.machine.ran[-1]
        assert start[-2:] == ["serve", words[2]]
        assert "/data/cell-service" in start


def test_a_client_under_test_is_served_from_outside():
    both = ends(Served(under_test=False), "172.17.0.2")

    with both.joined() as command:
        assert command.machine.name == "inside"
        assert command.argv[2] == "/data/cell"
        assert command.argv[4:6] == ["ask", "198.19.0.6"]
        assert "/data/cell-i1-service" in both.outside.machine.ran[-1]


@pytest.mark.parametrize("under_test", [True, False])
def test_a_stack_without_a_network_is_unavailable_on_either_side(under_test):
    both = ends(Served(under_test=under_test), "nowhere")

    with pytest.raises(Unavailable, match="its network is none"), both.joined():
        pytest.fail("it cannot be joined")

    assert both.outside.machine.ran == both.stack.machine.ran == []


def test_what_is_outside_may_be_the_bottleneck():
    cost = HostCost(cpu_s=1.9, run_delay_s=0.0, all_cpu_s=1.9, coverage=1.0, threads=2)
    apart = outside(Fake("outside"), cpus=(0, 1))

    idle = apart.use(cost, busiest_s=1.0, duration_s=2.0)
    one_thread = apart.use(cost, busiest_s=1.9, duration_s=2.0)

    assert idle == {"outside_cpu": pytest.approx(0.475), "outside_thread": 0.5}
    assert list(apart.complaints(idle)) == []
    assert list(apart.complaints(one_thread)) == [
        Complaint(ComplaintKind.OUTSIDE_BUSY, {"share": pytest.approx(0.95)})
    ]
    assert list(apart.complaints(one_thread, spins=True)) == []


def test_one_that_has_no_cpus_of_its_own_is_told():
    shared = outside(Fake("outside"), is_apart=False)

    (told,) = shared.complaints({"outside_cpu": 0.1, "outside_thread": 0.1})

    assert told == Complaint(ComplaintKind.OUTSIDE_SHARED)


def test_the_host_is_found_where_the_default_route_leads():
    assert _gateway(Fake("outside", ROUTES)) == "198.19.4.1"


@pytest.mark.parametrize(
    ("lived", "status", "told"),
    [
        (True, (Status.OK, ""), (Status.OK, "")),
        (False, (Status.OK, ""), (Status.FAILED, "the service ended while it was measured")),
        (False, (Status.DNR, "late"), (Status.DNR, "late")),
    ],
)
def test_a_trial_whose_service_ended_has_failed(lived, status, told):
    assert _served(Ended(lived, ""), *status) == told


def test_what_a_service_said_last_stands_with_what_failed():
    status, reason = _served(Ended(lived=False, said="no memory"), Status.OK, "")

    assert status is Status.FAILED
    assert reason.endswith("; the service said: no memory")
