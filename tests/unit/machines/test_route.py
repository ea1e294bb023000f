"""Ways to another computer: several instances on it have the same, and what was there stays."""

from types import SimpleNamespace

import pytest

from tare.core.completed import Completed
from tare.core.errors import Unavailable
from tare.machines.ledger import Ledger, Scope, Services, leftovers
from tare.machines.network.route import ADMIT, DISMISS, ROUTE, ROUTED, UNROUTE, Routes

OWN, GATEWAY, FAR = "192.0.2.7", "192.0.2.1", "198.19.0.6"


class Computer:
    """One that knows routes and rules; each instance has a machine of its own on it."""

    def __init__(self):
        self.routes, self.rules = set(), set()

    def machine(self):
        return Machine(self)


class Machine:
    name, ephemeral = "host/ssh", False

    def __init__(self, of):
        self.of = of

    def undo_argv(self, argv):
        return list(argv)

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        del stdin, timeout_s
        _, _, script, *words = argv
        return Completed(tuple(argv), int(not self._does(script, words)), b"1\n", b"", 0.0)

    def _does(self, script, words):
        route, routes, rules = " via ".join(words), self.of.routes, self.of.rules
        if script == ROUTED:
            return route in routes
        if script == ROUTE:
            if any(one.startswith(f"{words[0]} ") for one in routes):
                return False
            routes.add(route)
        elif script == UNROUTE:
            routes.discard(route)
        elif script == ADMIT:
            rules.add(words[0])
        elif script == DISMISS:
            rules.discard(words[0])
        return True


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    yield ledger
    ledger.close()


def instance(services, ledger, here, there):
    scope = Scope(ledger)
    site = SimpleNamespace(services=services, scope=scope)
    return Routes(here, there.machine(), site), scope


def test_one_instance_that_ends_leaves_the_ways_of_another_on_its_computer(ledger):
    host, second, services = Computer(), Computer(), Services(ledger)
    here = host.machine()
    one, scope = instance(services, ledger, here, second)
    other, _ = instance(services, ledger, here, second)

    for ways in (one, other):
        ways.out(FAR, OWN, GATEWAY)
    scope.close()

    assert second.routes == {f"{FAR} via {GATEWAY}"}
    assert host.rules == {FAR}
    services.close()
    assert second.routes == host.rules == set()
    assert leftovers(ledger.path) == []


def test_a_route_that_was_there_stays(ledger):
    host, second, services = Computer(), Computer(), Services(ledger)
    second.routes.add(f"{FAR} via {GATEWAY}")
    ways, scope = instance(services, ledger, host.machine(), second)

    ways.out(FAR, OWN, GATEWAY)
    scope.close()
    services.close()

    assert second.routes == {f"{FAR} via {GATEWAY}"}


def test_a_route_that_leads_elsewhere_is_told(ledger):
    host, second, services = Computer(), Computer(), Services(ledger)
    second.routes.add(f"{FAR} via 192.0.2.99")
    ways, _ = instance(services, ledger, host.machine(), second)

    with pytest.raises(Unavailable, match=f"host/ssh has no route to {FAR}"):
        ways.out(FAR, OWN, GATEWAY)

    assert leftovers(ledger.path) == []
    assert second.routes == {f"{FAR} via 192.0.2.99"}
