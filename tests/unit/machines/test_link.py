"""Bridges of guests' own: their names, their addresses, and a host that cannot make them."""

import re
from itertools import count
from types import SimpleNamespace

import pytest

from tare.core.completed import Completed
from tare.core.errors import LayerError, Unavailable
from tare.machines.machine import Host
from tare.machines.network import link, netns

NAME_MAX = 15
"""IFNAMSIZ of linux/if.h without the byte that ends it."""
LINKS = 2**14 - 1
"""As many networks of four addresses as 198.19.0.0/16 has after the first."""


class Fake:
    """A machine on which all goes well; ``asked`` is what it was asked."""

    name, ephemeral = "host", False

    def __init__(self):
        self.asked = []

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.asked.append(list(argv))
        return Completed(tuple(argv), int(link.FILTERED in argv), b"", b"", 0.0)


class Without(Fake):
    """This host, on which a shell finds no programs but those in one folder."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        assert argv[0] == "sh"
        return Host().run(["env", f"PATH={self.folder}", "/bin/sh", *argv[1:]])


def place(first=1):
    """A session's place whose links are numbered from ``first``."""
    numbers = count(first)
    return SimpleNamespace(
        name="tare-abcdef-p0-0",
        session="abcdef",
        services=SimpleNamespace(once=lambda *_: numbers),
        scope=SimpleNamespace(about_to_make=lambda *_: None),
    )


@pytest.mark.parametrize("number", [1, 35, 36, 999, 1000, LINKS])
def test_the_kernel_takes_the_names_and_addresses_of_every_link_there_can_be(number):
    machine = Fake()

    made = netns.make(machine, place(number))

    (words,) = [asked[3:] for asked in machine.asked if netns.MAKE in asked]
    assert '"${bridge}v"' in netns.MAKE
    assert len(f"{words[1]}v") <= NAME_MAX
    assert re.fullmatch(r"198\.19\.\d+\.\d+", made.address)
    assert all(int(part) < 256 for part in made.address.split("."))


def test_no_two_links_have_the_same_name():
    site, machine = place(), Fake()
    made = [link.make(machine, site) for _ in range(LINKS)]

    assert len({one.bridge for one in made}) == LINKS


def test_a_host_without_iproute2_is_told_what_to_install(tmp_path):
    with pytest.raises(Unavailable, match="host has no ip") as refused:
        netns.make(Without(tmp_path), place())
    assert refused.value.fix == "apt-get install iproute2"


def test_a_bridge_that_the_kernel_does_not_give_is_an_error(tmp_path):
    (tmp_path / "ip").write_text("#!/bin/sh\necho no bridges here >&2\nexit 2\n")
    (tmp_path / "ip").chmod(0o755)
    with pytest.raises(LayerError, match=r"could not make a bridge on host: .*no bridges here"):
        link.make(Without(tmp_path), place())
