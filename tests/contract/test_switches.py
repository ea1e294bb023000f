"""Each switch that a layer declares for ladders really turns what it says, read inside."""

from dataclasses import replace

import pytest

from tare.core.model import Limits
from tare.machines import layer

ENGINES = [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("docker", "podman")]
ABSENT = {"apparmor": "the kernel has no AppArmor, so there is nothing to turn"}
"""Switches that may do nothing on a host, which a ladder then says."""


LIMITS = Limits(cpus=2, memory_bytes=2**30)
"""With one CPU a virtual CPU has nowhere to be moved to."""


def ends(name):
    """Make a layer with all its switches on, and with all of them off."""
    kind = layer.kind(name)
    plain = kind(**dict(kind.ladder_settings))
    return [
        replace(plain, **{one.setting: getattr(one, position) for one in kind.switches})
        for position in ("on", "off")
    ]


def confinement(place, made):
    # A disk and a CPU that are emulated poorly boot slowly, on a busy host above all.
    stack = place.open([made], place.site(limits=LIMITS, cpuset="0,1", deadline_s=600.0))
    try:
        return stack.inside().confinement
    finally:
        stack.close()


def assert_all_turn(place, name):
    on, off = (confinement(place, made) for made in ends(name))
    for switch in layer.kind(name).switches:
        differs = [key for key in switch.shows if on.get(key) != off.get(key)]
        assert differs or switch.name in ABSENT, (switch.name, on, off)
    return on, off


@pytest.mark.parametrize("engine", ENGINES)
def test_every_switch_of_an_engine_shows_inside(place, engine):
    on, off = assert_all_turn(place, engine)

    assert (on["Seccomp"], off["Seccomp"]) == ("2", "0")
    assert int(on["CapEff"], 16) < int(off["CapEff"], 16)
    assert "root" in on["data"]
    assert "own mount" in off["data"]
    assert int(on["memory_limit"]) <= 2**30
    assert off["memory_limit"] == "max" or int(off["memory_limit"]) > 2**40


@pytest.mark.slow
@pytest.mark.needs("qemu")
def test_every_switch_of_a_guest_shows_inside(place):
    on, off = assert_all_turn(place, "qemu-tcg")

    assert (on["root_device"], off["root_device"]) == ("/dev/sda", "/dev/vda")
    assert (on["eth0_driver"], off["eth0_driver"]) == ("e1000", "virtio_net")
    assert (on["disk_cache"], off["disk_cache"]) == ("writeback", "none")
    assert (on["vcpus"], off["vcpus"]) == ("CPU 0 on 0-1, CPU 1 on 0-1", "CPU 0 on 0, CPU 1 on 1")
