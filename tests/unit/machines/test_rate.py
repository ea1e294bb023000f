"""Rates of a link: what is asked of tc, read back, recorded and forgotten.

That they hold is shown in tests/contract/test_network_limits.py.
"""

from types import SimpleNamespace

import pytest

from tare.core.errors import LayerError, Unavailable
from tare.machines.ledger import Ledger, Scope, Services, leftovers
from tare.machines.network import rate
from unit.fakes import Fake

HTB = "class htb 7a7e:1 root prio 0 rate {} ceil {} burst 1600b cburst 1600b"


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / "ledger")
    yield made
    made.close()


@pytest.fixture
def site(ledger):
    return SimpleNamespace(
        name="tare-a-1", session="a", scope=Scope(ledger), services=Services(ledger)
    )


@pytest.mark.parametrize(
    ("said", "held"),
    [
        ("100Mbit", 12_500_000),
        ("98765Kbit", 12_345_625),
        ("80Kbit", 10_000),
        ("1Gbit", 125_000_000),
        ("800bit", 100),
    ],
)
def test_a_rate_of_tc_is_read_in_bytes(site, said, held):
    line = HTB.format(said, said)
    outer = Fake(**{rate.READ: (0, f"in {line}\nout \n".encode())})
    rates = rate.LinkRates(outer, site, lambda: "veth1")
    rates.apply({rate.IN: str(held)})

    assert rates.read() == {rate.IN: held}


def test_what_is_made_is_recorded_first_and_forgotten_once_all_rates_are_gone(site, ledger):
    outer = Fake(**{rate.READ: (0, b"in \n")})
    rates = rate.LinkRates(outer, site, lambda: "veth1")

    rates.apply({rate.OUT: "1000000"})
    recorded = leftovers(ledger.path)
    rates.apply({rate.OUT: "none"})

    assert [one.what for one in recorded] == ["rate of a link", "intermediate device"]
    assert [one.name for one in recorded] == ["veth1", "tareai1"]
    assert leftovers(ledger.path) == []
    assert site.scope.entries == []


def test_one_way_that_is_still_held_keeps_what_is_recorded(site, ledger):
    outer = Fake(**{rate.READ: (0, f"in {HTB.format('8Mbit', '8Mbit')}\n".encode())})
    rates = rate.LinkRates(outer, site, lambda: "veth1")
    rates.apply({rate.OUT: "1000000", rate.IN: "1000000"})

    rates.apply({rate.OUT: "none"})

    assert len(leftovers(ledger.path)) == 2


def test_the_device_of_a_new_start_is_recorded_too(site, ledger):
    names = iter(["veth1", "veth2"])
    rates = rate.LinkRates(Fake(), site, lambda: next(names))

    rates.apply({rate.OUT: "1000000"})
    rates.apply({rate.OUT: "1000000"})

    assert [one.name for one in leftovers(ledger.path)] == ["veth2", "veth1", "tareai1"]


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (127, Unavailable, "host has no tc; fix: apt-get install iproute2"),
        (3, Unavailable, "veth1 on host cannot be held: Specified qdisc kind is unknown"),
        (1, LayerError, "veth1 on host cannot be held"),
    ],
)
def test_what_cannot_be_held_is_said(site, status, kind, said):
    outer = Fake(**{rate.APPLY: (status, b"", b"Specified qdisc kind is unknown")})

    with pytest.raises(kind, match=said):
        rate.LinkRates(outer, site, lambda: "veth1").apply({rate.OUT: "1000000"})
