"""Addresses for devices: of the right range, and none that another has."""

import pytest

from tare.core.completed import Completed
from tare.core.errors import LayerError
from tare.machines.network import addresses
from tare.machines.network.addresses import CLAIM, claim

RANGES = [
    (addresses.BRIDGES, addresses.BRIDGE_BITS),
    (addresses.CABLES, addresses.CABLE_BITS),
    (addresses.FRONTS, addresses.FRONT_BITS),
    (addresses.LINKS, addresses.LINK_BITS),
]


class Kernel:
    """A machine that answers claims in turn with what stands on standard error; "" is success."""

    name = "host"

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        assert argv[:3] == ["sh", "-c", CLAIM]
        self.asked.append(argv[3:])
        why = self.answers.pop(0).encode() if self.answers else b""
        return Completed(tuple(argv), 2 if why else 0, b"", why, 0.0)


def test_the_ranges_have_no_address_in_common():
    nets = [within for within, _ in RANGES]
    assert not any(a.overlaps(b) for a in nets for b in nets if a is not b)


@pytest.mark.parametrize(("within", "bits"), RANGES)
def test_a_network_of_the_range_is_given_with_its_first_address(within, bits):
    for _ in range(50):
        kernel = Kernel()
        found = claim(kernel, "dev", within, bits)

        assert found.prefixlen == bits
        assert found.subnet_of(within)
        assert kernel.asked == [["dev", str(found), str(next(iter(found.hosts())))]]


def test_a_network_that_another_has_is_not_taken():
    kernel = Kernel(*["RTNETLINK answers: File exists"] * 3)

    found = claim(kernel, "dev", *RANGES[0])

    assert len(kernel.asked) == 4
    assert kernel.asked[-1][1] == str(found)


def test_any_other_refusal_is_told_at_once():
    kernel = Kernel("RTNETLINK answers: Operation not permitted")

    with pytest.raises(LayerError, match=r"no addresses for dev on host: .*not permitted"):
        claim(kernel, "dev", *RANGES[0])
    assert len(kernel.asked) == 1


def test_a_range_without_a_free_network_is_an_error():
    kernel = Kernel(*["RTNETLINK answers: File exists"] * addresses.TRIES)

    with pytest.raises(LayerError, match="File exists"):
        claim(kernel, "dev", *RANGES[0])
