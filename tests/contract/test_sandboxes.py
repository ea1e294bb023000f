"""What is measured in a sandbox is really in it, with what its tool grants and no more."""

import os
import re
import signal
from pathlib import Path

import pytest

from tare.core.errors import LayerError
from tare.machines import detection
from tare.machines.machine import check, text

NAMESPACES = {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"}
CREDENTIALS = "grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp)' "


@pytest.fixture(scope="module", params=["host", "none"])
def boxed(request, place, layers_of):
    """A network, and a sandbox of bubblewrap with it."""
    stack = place.open(layers_of("host/bubblewrap", bubblewrap={"network": request.param}))
    yield request.param, stack.machine
    stack.close()


@pytest.mark.needs("bubblewrap")
def test_a_command_is_in_all_namespaces_of_the_sandbox(boxed):
    network, machine = boxed

    def namespaces(pid):
        script = 'for of in $1; do readlink "/proc/$0/ns/$of"; done'
        return text(machine, ["sh", "-c", script, pid, " ".join(sorted(NAMESPACES))]).split()

    assert namespaces("self") == namespaces("1")
    outside = {name: str(Path(f"/proc/self/ns/{name}").readlink()) for name in NAMESPACES}
    shared = {name for name in NAMESPACES if outside[name] in namespaces("self")}
    assert shared == ({"cgroup", "net"} if network == "host" else {"cgroup"})


@pytest.mark.needs("bubblewrap")
def test_a_command_has_what_bubblewrap_left_and_nothing_more(boxed):
    _, machine = boxed

    def credentials(pid):
        return text(machine, ["sh", "-c", f'{CREDENTIALS} "/proc/$0/status"', pid])

    own = credentials("self")
    assert own == credentials("1")
    assert re.findall(r"Cap\w+:\s+(\w+)", own) == ["0" * 16] * 5
    assert "NoNewPrivs:\t1" in own
    assert machine.run(["touch", "/usr/bin/new"]).returncode != 0
    assert machine.run(["mount", "-t", "tmpfs", "x", "/run"]).returncode != 0


@pytest.mark.needs("bubblewrap")
def test_root_in_the_sandbox_is_nobody_outside(boxed, place):
    check(boxed[1], ["touch", "/data/whose"])

    (file,) = Path(place.folder).glob("*/data/whose")
    owner = file.stat().st_uid
    check(boxed[1], ["rm", "/data/whose"])

    assert text(boxed[1], ["id", "-u"]) == "0"
    assert owner == 65534


@pytest.mark.needs("gvisor")
@pytest.mark.parametrize("network", ["host", "none"])
def test_a_sandbox_has_a_kernel_and_the_network_that_was_asked_for(place, layers_of, network):
    stack = place.open(layers_of("host/gvisor", gvisor={"network": network}))
    try:
        kernel = text(stack.machine, ["uname", "-r"])
        lines = text(stack.machine, ["cat", "/proc/net/dev"]).splitlines()
    finally:
        stack.close()
    links = {line.partition(":")[0].strip() for line in lines if ":" in line}
    here = {link.name for link in Path("/sys/class/net").iterdir()}
    assert kernel != Path("/proc/sys/kernel/osrelease").read_text().strip()
    assert links == {"lo"} if network == "none" else links & here - {"lo"}


@pytest.mark.needs("gvisor")
def test_a_sandbox_that_does_not_start_says_why_and_leaves_nothing(place, layers_of, traces):
    site = place.site()

    with pytest.raises(LayerError, match=r"(?s)ended before it answered; it said: .*systrap"):
        place.open(layers_of("host/gvisor", gvisor={"platform": "systrap"}), site)

    assert traces(site.name) == []


@pytest.mark.needs("bubblewrap")
def test_a_sandbox_without_its_userland_says_why_and_leaves_nothing(place, layers_of, traces):
    class Nowhere:
        def tree(self, machine):
            return "/nowhere"

    site = place.site(userland=Nowhere())

    with pytest.raises(LayerError, match=r"(?s)ended before it answered; it said: .*/nowhere"):
        place.open(layers_of("host/bubblewrap"), site)

    assert traces(site.name) == []


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("bubblewrap", "gvisor")],
)
def test_a_sandbox_is_detected_from_inside(place, layers_of, name):
    stack = place.open(layers_of(f"host/{name}"))
    try:
        found = detection.detect(stack.machine)
    finally:
        stack.close()
    assert found[-1].layer == name


@pytest.mark.parametrize(
    ("name", "file"),
    [
        pytest.param("bubblewrap", "leader", marks=pytest.mark.needs("bubblewrap")),
        pytest.param("gvisor", "pid", marks=pytest.mark.needs("gvisor")),
    ],
)
def test_a_sandbox_that_was_killed_says_so_and_can_be_started_again(
    place, layers_of, traces, settles, name, file
):
    site = place.site()
    stack = place.open(layers_of(f"host/{name}"), site)
    instance = stack.instances[-1]
    pid = int(Path(instance.process.folder, file).read_text())

    os.kill(pid, signal.SIGKILL)

    assert settles(lambda: stack.machine.run(["true"]).returncode != 0)
    assert stack.machine.run(["true"]).stderr
    instance.stop()
    instance.start()
    instance.ready()
    check(stack.machine, ["true"])
    stack.close()
    assert settles(lambda: not traces(site.name)), traces(site.name)
