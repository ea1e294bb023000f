"""A machine with an address is reached at it from another machine of the host's, and reaches that.

The other machine is a network namespace on a cable of its own, as a load generator has one.
"""

import secrets
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Network

import pytest

from tare.core.errors import LayerError, Unavailable
from tare.machines.machine import Host, Inner, check, text
from tare.machines.network import addresses, link, netns

WAIT_S = 30
# perl-base is in every Debian. Each says whom it was answered or called by.
SERVE = """
use IO::Socket::INET;
$server = IO::Socket::INET->new(LocalPort => $ARGV[0], Listen => 1, ReuseAddr => 1) or die $!;
$client = $server->accept;
print $client "you are ", $client->peerhost, "\\n";
"""
CALL = """
use IO::Socket::INET;
while (time - $^T < 12) {
    $server = IO::Socket::INET->new(PeerHost => $ARGV[0], PeerPort => $ARGV[1], Timeout => 2);
    # QEMU's own network takes the call before the guest does.
    if ($server && (@said = <$server>)) { print @said; exit }
    select undef, undef, undef, 0.25;
}
die $@;
"""


def said(server, client, address, ports=None):
    """Have one machine serve and another call it at an address; gives what the caller heard."""
    port = str(ports[0] if ports else 20000 + secrets.randbelow(10000))
    with ThreadPoolExecutor() as pool:
        # The one that nobody calls is given up.
        pool.submit(server.run, ["perl", "-e", SERVE, port], timeout_s=WAIT_S)
        done = client.run(["perl", "-e", CALL, address, port], timeout_s=WAIT_S)
        if done.returncode != 0:
            server.run(["perl", "-e", CALL, "127.0.0.1", port], timeout_s=WAIT_S)
    return done.stdout.decode().strip()


def entered(namespace, host):
    return Inner(host, "netns", lambda argv: ["nsenter", f"--net={namespace.path}", *argv])


@pytest.fixture(scope="module")
def other(place):
    """Another machine on the host: where it is, and the machine."""
    site = place.site()
    namespace = netns.make(place.host, site)
    yield namespace, entered(namespace, place.host)
    site.scope.close()


NESTS = ("host/qemu-tcg/docker",)


def _stack(name, needs, **settings):
    words = [str(value) for given in settings.values() for value in given.values()]
    marks = [pytest.mark.needs(each) for each in needs.split()]
    marks += [pytest.mark.slow] if name in NESTS else []
    return pytest.param(name, settings, id="-".join([name, *words]), marks=marks)


RULES = ["iptables", "-w", "-t", "nat", "-S"]
PROXIED = _stack("host/qemu-tcg", "qemu-tcg", qemu_tcg={"netdev": "user"})
OWN = [
    _stack("host/docker", "docker", docker={"network": "bridge"}),
    _stack("host/docker", "docker", docker={"network": "nat"}),
    _stack("host/gvisor", "gvisor", gvisor={"network": "sandbox"}),
    _stack("host/qemu-tcg", "qemu-tcg"),
    _stack("host/qemu-tcg", "qemu-tcg", qemu_tcg={"machine": "q35", "network": "e1000"}),
    PROXIED,
    _stack("host/kvm", "kvm"),
    _stack("host/uml", "uml"),
    _stack("host/libvirt", "libvirt", libvirt={"type": "qemu"}),
    _stack("host/qemu-tcg/docker", "qemu-tcg docker"),
]
HOSTS = [
    _stack("host", "root"),
    _stack("host/docker", "docker"),
    *(_stack(f"host/{name}", name) for name in ("bubblewrap", "gvisor", "lxc", "nspawn", "podman")),
    _stack("host/libvirt", "libvirt", libvirt={"uri": "lxc:///system"}),
]


@pytest.mark.parametrize(("name", "settings"), [*OWN, *HOSTS])
def test_a_machine_is_reached_at_its_address_and_reaches_others(
    place, layers_of, other, name, settings
):
    namespace, outside = other
    layers = layers_of(name, **{key.replace("_", "-"): given for key, given in settings.items()})
    try:
        layers[0].probe(place.host, place.userland)
    except Unavailable as refused:
        pytest.skip(str(refused))
    stack = place.open(layers, place.site(reached=True))
    try:
        address = stack.address()
        assert stack.address() == address, "it may be asked for again"

        assert (address is None) == ((name, settings) in [param.values for param in HOSTS])
        heard = said(stack.machine, outside, address or namespace.gateway, stack.ports())
        assert heard == f"you are {namespace.address}"
        heard = said(outside, stack.machine, namespace.address)
        # QEMU calls others from a socket of the host's.
        called_from = None if (name, settings) == tuple(PROXIED.values) else address
        assert heard == f"you are {called_from or namespace.gateway}"
    finally:
        stack.close()
    if address is not None:
        left = [text(place.host, argv) for argv in (RULES, ["ip", "-4", "addr"])]
        assert f"{address}/" not in "\n".join(left)


@pytest.mark.needs("root")
def test_nobody_answers_at_another_address(other):
    assert said(Host(), other[1], "198.18.0.77") == ""


@pytest.mark.parametrize(
    ("name", "settings", "why"),
    [
        *(
            pytest.param(
                f"host/{each}", {each: {"network": "none"}}, "leads nowhere", id=each,
                marks=pytest.mark.needs(each),
            )
            for each in ("bubblewrap", "docker", "gvisor", "lxc", "nspawn", "podman")
        ),
        pytest.param(
            "host/ssh", {}, "a port of that machine leads to it", id="ssh",
            marks=pytest.mark.needs("ssh"),
        ),
        pytest.param(
            "host/qemu-tcg/docker", {"docker": {"network": "bridge"}},
            "is reached only from inside host/qemu", id="bridge-in-a-guest",
            marks=[pytest.mark.needs("qemu-tcg"), pytest.mark.slow],
        ),
    ],
)  # fmt: skip
def test_a_machine_without_an_address_says_why(place, layers_of, name, settings, why):
    stack = place.open(layers_of(name, **settings), place.site(reached=True))
    try:
        with pytest.raises(Unavailable, match=why) as refused:
            stack.address()
        assert refused.value.fix
    finally:
        stack.close()


@pytest.mark.needs("qemu-tcg")
def test_a_guest_that_nobody_has_to_reach_boots_without_a_second_network(place, layers_of):
    stack = place.open(layers_of("host/qemu-tcg"))
    try:
        assert text(stack.machine, ["ls", "/sys/class/net"]).split() == ["eth0", "lo"]
        with pytest.raises(LayerError, match="made without a network for others"):
            stack.address()
    finally:
        stack.close()


@pytest.fixture
def strict(place):
    """A machine that forwards nothing: a namespace with a packet filter and routes of its own."""
    site = place.site()
    site.scope.about_to_make(
        "namespace", site.name, place.host, ["sh", "-c", netns.REMOVE, site.name]
    )
    check(place.host, ["ip", "netns", "add", site.name])
    machine = Inner(
        place.host,
        "strict",
        lambda argv: ["nsenter", f"--net=/run/netns/{site.name}", *argv],
        ephemeral=False,
    )
    check(machine, ["sh", "-c", "echo 0 > /proc/sys/net/ipv4/ip_forward"])
    check(machine, ["iptables", "-P", "FORWARD", "DROP"])
    yield machine
    site.scope.close()


@pytest.mark.needs("root")
def test_no_two_devices_of_a_machine_have_one_network(strict):
    alone = IPv4Network("198.18.7.0/24")
    for device in ("tarefirst", "taresecond"):
        check(strict, ["sh", "-c", link.MAKE, device])

    assert addresses.claim(strict, "tarefirst", alone, 24) == alone
    with pytest.raises(
        LayerError, match=r"no addresses for taresecond on host/strict: .*File exists"
    ):
        addresses.claim(strict, "taresecond", alone, 24)


@pytest.mark.needs("docker")
@pytest.mark.parametrize("admitted", [True, False])
def test_a_packet_filter_lets_through_what_is_ours_and_is_left_as_it_was(
    place, strict, monkeypatch, admitted
):
    if not admitted:
        monkeypatch.setattr(link, "FILTERED", "exit 1")
    sites = [place.site(), place.site()]
    try:
        first, second = (netns.make(strict, site) for site in sites)
        heard = said(entered(first, place.host), entered(second, place.host), first.address)
    finally:
        for site in sites:
            site.scope.close()

    assert heard == (f"you are {second.address}" if admitted else "")
    assert text(strict, ["iptables", "-S", "FORWARD"]) == "-P FORWARD DROP"
