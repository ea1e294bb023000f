"""Address translation on a host whose packet filter is a file: what is added, kept and removed."""

from types import SimpleNamespace

import pytest

from tare.core.errors import LayerError, Unavailable
from tare.core.model import Limits
from tare.machines import layer
from tare.machines.machine import Host
from tare.machines.network import nat

FRONT, INSIDE = "198.18.192.7", "198.18.3.2"
# It keeps one rule a line and knows -S, -C, -I and -D, as iptables(8) has them.
IPTABLES = r"""#!/bin/sh
rules="$(dirname "$0")/rules"
shift 3
verb=$1
shift
case $verb in
    -S) cat "$rules" ;;
    -C) grep -qxF -e "-A $*" "$rules" ;;
    -I) { echo "-A $*"; cat "$rules"; } > "$rules.new" && mv "$rules.new" "$rules" ;;
    -D) grep -vxF -e "-A $*" "$rules" > "$rules.new"; mv "$rules.new" "$rules" ;;
esac
"""
OTHERS = "-P PREROUTING ACCEPT\n-A POSTROUTING -s 198.18.192.70 -j SNAT --to-source 198.18.192.71\n"


class Filtered(Host):
    """This host, with programs of a folder before its own, or nothing but those."""

    def __init__(self, folder, *, alone=False):
        super().__init__()
        self.path = str(folder) if alone else f"{folder}:/usr/bin:/bin"

    def run(self, argv, **options):
        assert argv[0] == "sh"
        return super().run(["env", f"PATH={self.path}", "/bin/sh", *argv[1:]], **options)


class Scope:
    def __init__(self):
        self.undo = []

    def about_to_make(self, what, name, machine, undo):
        self.undo.append((what, name, undo))


@pytest.fixture
def host(tmp_path):
    (tmp_path / "iptables").write_text(IPTABLES)
    (tmp_path / "iptables").chmod(0o755)
    (tmp_path / "rules").write_text(OTHERS)
    return Filtered(tmp_path)


def translated(host, inside=INSIDE):
    site = SimpleNamespace(scope=Scope())
    nat.translate(host, site, FRONT, inside)
    return site.scope.undo


def rules(tmp_path):
    return (tmp_path / "rules").read_text()


def test_both_ways_are_translated_once_and_removed_without_touching_others(host, tmp_path):
    translated(host)
    (once,) = translated(host)

    assert rules(tmp_path) == (
        f"-A POSTROUTING -s {INSIDE} -j SNAT --to-source {FRONT}\n"
        f"-A PREROUTING -d {FRONT} -j DNAT --to-destination {INSIDE}\n{OTHERS}"
    )
    assert once[:2] == ("address translation", FRONT)
    assert host.run(once[2]).returncode == 0
    assert rules(tmp_path) == OTHERS
    assert host.run(once[2]).returncode == 0, "gone already is as good as removed"


def test_the_newest_address_of_a_guest_counts(host, tmp_path):
    translated(host)
    (undo,) = translated(host, "198.18.3.9")

    assert "198.18.3.9" in rules(tmp_path)
    assert f"{INSIDE} " not in rules(tmp_path), "another may have that by now"
    host.run(undo[2])
    assert rules(tmp_path) == OTHERS


def test_a_host_without_iptables_is_told_what_to_install_and_has_nothing_to_remove(tmp_path):
    host = Filtered(tmp_path, alone=True)
    site = SimpleNamespace(scope=Scope())
    with pytest.raises(Unavailable, match="has no iptables") as refused:
        nat.translate(host, site, FRONT, INSIDE)

    assert refused.value.fix == "apt-get install iptables"
    assert host.run(site.scope.undo[0][2]).returncode == 0


def test_a_kernel_that_does_not_translate_is_an_error_and_has_nothing_to_remove(host, tmp_path):
    says = "iptables: can't initialize iptables table: Table does not exist"
    (tmp_path / "iptables").write_text(f'#!/bin/sh\necho "{says}" >&2\nexit 3\n')
    site = SimpleNamespace(scope=Scope())
    with pytest.raises(LayerError, match=r"host does not translate addresses: .*does not exist"):
        nat.translate(host, site, FRONT, INSIDE)
    assert host.run(site.scope.undo[0][2]).returncode == 0


def test_rules_that_cannot_be_listed_are_not_taken_for_removed(host, tmp_path):
    (tmp_path / "iptables").write_text("#!/bin/sh\necho 'resource busy' >&2\nexit 4\n")
    with pytest.raises(LayerError, match="resource busy"):
        translated(host)


def test_two_guests_that_change_addresses_keep_their_own_fronts(host, tmp_path):
    fronts = {"198.18.192.7": ("198.18.3.2", "198.18.3.3", "198.18.3.2"),
              "198.18.192.8": ("198.18.3.3", "198.18.3.2", "198.18.3.3")}  # fmt: skip
    for turn in range(3):
        for front, had in fronts.items():
            nat.translate(host, SimpleNamespace(scope=Scope()), front, had[turn])
    kept = rules(tmp_path).removesuffix(OTHERS).splitlines()
    assert len(kept) == 4
    for front, had in fronts.items():
        assert f"-A PREROUTING -d {front} -j DNAT --to-destination {had[-1]}" in kept
        assert f"-A POSTROUTING -s {had[-1]} -j SNAT --to-source {front}" in kept


def test_qemu_listens_at_a_front_on_two_ports_and_else_for_its_sshd_alone():
    guest = layer.load("qemu-tcg", netdev="user")
    limits = Limits(cpus=1, memory_bytes=2**29)

    ports = nat.ports()
    published = guest.published_argv(FRONT, ports)
    words = guest.argv("/f", limits, "tcg", 20022, published)
    (front,) = (word for word in words if word.startswith("user,"))
    (alone,) = (w for w in guest.argv("/f", limits, "tcg", 20022) if w.startswith("user,"))

    assert alone == "user,id=net,hostfwd=tcp:127.0.0.1:20022-:22"
    assert front.removeprefix(alone).split(",hostfwd=")[1:] == [
        f"{kind}:{FRONT}:{port}-:{port}" for kind in ("tcp", "udp") for port in ports
    ]
    assert ports[1] == ports[0] + 1
    assert ports[1] < 32_768, "the kernel gives those above to anybody"
