"""What `make setup` installs is what the layers say they need."""

from pathlib import Path

import pytest

from tare.machines import layer

SCRIPTS = Path(__file__).parents[3] / "scripts"
DOM0 = {"xen-utils-4.17", "qemu-system-xen"}
"""What is needed on a Xen dom0 only: a lab has it on its disk."""

IMPLIED = {"util-linux", "kmod", "qemu-system-common"}
"""What is on every Debian, or comes with what is listed."""

ANY = {"host": "x", "user": "x", "template": "x", "password_file": "/x", "key": "/x"}
SETTINGS = {"ssh": {"address": "x"}, "vsphere": ANY}


def listed(*names):
    lines = [line for name in names for line in (SCRIPTS / name).read_text().splitlines()]
    return {line for line in lines if not line.startswith("#")}


@pytest.mark.parametrize("name", layer.names())
def test_what_a_layer_needs_is_installed_for_its_tests(name):
    made = layer.load(name, **SETTINGS.get(name, {}))

    missing = set(made.needs()) - listed("packages.txt", "packages-layers.txt") - DOM0 - IMPLIED

    assert missing == set()


def test_the_default_study_needs_no_more_than_the_short_list():
    for name in ("host", "docker", "qemu-tcg", "kvm"):
        assert set(layer.load(name).needs()) <= listed("packages.txt")


def test_no_package_is_listed_twice():
    assert listed("packages.txt") & listed("packages-layers.txt") == set()
