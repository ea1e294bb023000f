"""Limits of the network: iperf3 tries to exceed each, and devices of the host say what is held."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from contract.test_limits import EVERY, SLOW, _param
from tare.core.errors import Unavailable
from tare.core.model import Limits
from tare.machines import layer
from tare.machines.cgroup import readback
from tare.machines.machine import check

pytestmark = pytest.mark.slow

CPU = str(max(EVERY))
USUAL = Limits(cpus=1, memory_bytes=2**29)
RATE = 12_500_000
"""100 Mbit/s."""
HELD = [
    pytest.param(
        ("host", {"host": {"network": "cable"}}), id="host-cable", marks=pytest.mark.needs("root")
    ),
    _param("host/docker", network="bridge"),
    _param("host/docker", network="nat"),
    _param("host/gvisor", network="sandbox"),
    _param("host/uml"),
    _param("host/qemu-tcg", SLOW),
]
HOSTS_OWN = ["host", "host/docker", "host/lxc", "host/nspawn", "host/podman", "host/bubblewrap"]
# An emulated guest has no more than some hundred Mbit/s to spare.
FREE = {"host/qemu-tcg": 1.2, "host/uml": 1.5}
LEAST = {"host/qemu-tcg": 0.7, "host/uml": 0.7}
WAYS = {"out": ("network_out_bytes_per_s", "rx_bytes", ()),
        "in": ("network_in_bytes_per_s", "tx_bytes", ("--reverse",))}  # fmt: skip
WINDOW_S = 4.0


@pytest.fixture(scope="module")
def server(place):
    """A machine with the host's own network, and the tool."""
    stack = place.open([layer.load("host")], place.site(cpuset=str(min(EVERY))))
    yield stack
    stack.close()


def moved(made, counter):
    """Read what has passed the host's end of the link."""
    device = made.instances[0].rates.device()
    return int(Path(f"/sys/class/net/{device}/statistics/{counter}").read_text())


def flow(made, server, counter, options):
    """Send as fast as it goes; return what the link moved and iperf3 received, bytes a second."""
    made.address()  # a guest sets its end up when it is asked for
    instance = made.instances[0]
    gateway = getattr(instance, "cable", None)
    gateway = gateway.gateway if gateway else instance.gateway()
    serve = ["iperf3", "--server", "--one-off", "--bind", gateway]
    send = ["iperf3", "--client", gateway, "--time", str(WINDOW_S + 3), "--json", *options]
    with ThreadPoolExecutor() as threads:
        serving = threads.submit(server.machine.run, serve, timeout_s=60)
        time.sleep(0.5)
        running = threads.submit(check, made.machine, send, timeout_s=60)
        idle = moved(made, counter)
        while moved(made, counter) < idle + 2**20 and not running.done():
            time.sleep(0.05)
        time.sleep(1.5)
        before, begin = moved(made, counter), time.monotonic()
        time.sleep(WINDOW_S)
        found = (moved(made, counter) - before) / (time.monotonic() - begin)
        said = json.loads(running.result().stdout)
        serving.result()
    return found, said["end"]["sum_received"]["bits_per_second"] / 8


@pytest.mark.parametrize("stack", HELD)
@pytest.mark.parametrize("way", WAYS)
def test_a_flow_does_not_exceed_a_rate_which_can_be_taken_away(
    opened, place, layers_of, server, stack, way
):
    name, counter, options = WAYS[way]
    path, settings = stack
    try:
        layers_of(path, **settings)[0].probe(place.host, place.userland)
    except Unavailable as refused:  # a runsc that cannot have a network of its own
        pytest.skip(str(refused))
    limits = replace(USUAL, **{name: RATE})
    made = opened(limits, *stack, cpuset=CPU, reached=True)

    made.confine(limits)  # once more makes no difference
    inside = made.inside()
    held, received = flow(made, server, counter, options)
    made.confine(USUAL)
    _, free = flow(made, server, counter, options)

    assert readback.refusals(limits, inside, made.cpuset) == []
    assert held <= 1.05 * RATE
    assert LEAST.get(stack[0], 0.9) * RATE <= received <= RATE
    assert free > FREE.get(stack[0], 3) * RATE
    assert made.inside().group.network_out_bytes_per_s is None
    assert made.inside().group.network_in_bytes_per_s is None


@pytest.mark.needs("docker")
def test_both_ways_are_held_each_to_its_own_and_nothing_stays(place, layers_of, traces, server):
    limits = replace(USUAL, network_out_bytes_per_s=RATE, network_in_bytes_per_s=RATE // 2)
    site = place.site(limits=limits, cpuset=CPU)
    made = place.open(layers_of("host/docker", docker={"network": "bridge"}), site)
    try:
        inside = made.inside()
        held = made.instances[0].rates
        device = held.device()
        out = flow(made, server, *WAYS["out"][1:])[1]
        into = flow(made, server, *WAYS["in"][1:])[1]
        # It has another device after a restart, and is held again.
        made.instances[0].stop()
        made.instances[0].start()
        made.instances[0].ready()
        made.confine(limits)
        again = flow(made, server, *WAYS["out"][1:])[1]
        ifbs = [path.name for path in Path("/sys/class/net").glob(f"tare{site.session}i*")]
        assert device != held.device()
    finally:
        made.close()

    assert readback.refusals(limits, inside, made.cpuset) == []
    assert 0.9 * RATE <= out <= RATE
    assert 0.45 * RATE <= into <= 0.5 * RATE
    assert 0.9 * RATE <= again <= RATE
    assert len(ifbs) == 1
    assert not list(Path("/sys/class/net").glob(f"tare{site.session}i*"))
    assert traces(site.name) == []
    place.undo_again(device)


@pytest.mark.parametrize("stack", HOSTS_OWN)
def test_the_network_of_the_host_is_nobodys_to_hold(stack, layers_of):
    (made,) = layers_of(stack)

    why = made.cannot_hold(replace(USUAL, network_in_bytes_per_s=RATE))

    assert why.startswith(f"nothing holds {made.name} to network_in_bytes_per_s: it")


@pytest.mark.needs("lxc")
def test_an_instance_without_a_link_is_refused_and_nothing_stays(place, layers_of, traces):
    site = place.site(limits=replace(USUAL, network_in_bytes_per_s=RATE), cpuset=CPU)

    with pytest.raises(Unavailable, match="has no link of its own that could be held"):
        place.open(layers_of("host/lxc"), site)

    assert traces(site.name) == []
