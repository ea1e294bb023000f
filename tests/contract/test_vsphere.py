"""What is special to vSphere: power, what a clone is given, and a server that fails or dies."""

import json
import os
import re
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tare.core.errors import LayerError, LayerTimedOut, Unavailable
from tare.core.model import Limits
from tare.machines import layer
from tare.machines.backends.vsphere import Server
from tare.machines.backends.vsphere_api import Session
from tare.machines.ledger import Ledger, Scope, clean, leftovers
from tare.machines.machine import Host, await_true, check, get, put, text

# Minutes of boots and kills: in `make test-real`; the promises themselves are in `make test`.
pytestmark = [pytest.mark.needs("vsphere"), pytest.mark.slow]

SLOW_MS = 60_000
# Without this, vcsim answers no question about a machine while one of its tasks is delayed.
AT_ONCE = "LockHandoff:0"


def delay(task, ms=SLOW_MS):
    return ["-method-delay", f"{task}:{ms},{AT_ONCE}"]


def load(vcsim, **changes):
    return layer.load("vsphere", **(vcsim.settings | changes))


class Api:
    """The server as somebody else sees it."""

    def __init__(self, vcsim):
        names = ("host", "port", "user", "password_file", "ca_file")
        server = Server(**{name: vcsim.settings[name] for name in names})
        self.session = Session(server)

    def machines(self, name):
        return self.session.named([self.session.vim.VirtualMachine], name)

    def tasks(self, kind, name="DC0_H0_VM0"):
        """List the states of the tasks of a kind, such as ``clone``, on a machine."""
        infos = [task.info for each in self.machines(name) for task in each.recentTask]
        return [info.state for info in infos if kind in info.descriptionId.lower()]


@pytest.fixture
def api_of():
    """Log in; what is open at the end is logged out."""
    opened = []

    def api(vcsim):
        opened.append(Api(vcsim))
        return opened[-1]

    yield api
    for each in opened:
        try:
            each.session.close()
        except OSError:  # the server was killed
            continue


@pytest.fixture
def api(vsphere, api_of):
    return api_of(vsphere)


@pytest.fixture
def ledger(tmp_path):
    """A ledger of the test's own, for what cannot be removed at once."""
    made = Ledger(tmp_path / "ledger.jsonl")
    yield made
    made.close()


def container_of(vsphere, name):
    """Give the container behind a machine."""
    named = f"name=vcsim-{name}-"
    return text(Host(), [*vsphere.daemon.client, "ps", "--quiet", "--filter", named])


@pytest.fixture(scope="module")
def opened(place, vsphere):
    stack = place.open([load(vsphere)])
    yield stack
    stack.close()


# --- power


@pytest.mark.parametrize("hard", [False, True], ids=["in order", "hard"])
def test_what_is_stopped_stands_and_keeps_its_disk(opened, api, hard):
    instance = opened.instances[0]
    put(instance.machine, b"kept", f"{instance.workdir}/file")

    instance.stop(hard=hard)
    (machine,) = api.machines(instance.name)
    state = machine.runtime.powerState
    instance.start()
    instance.ready()

    assert state == "poweredOff"
    assert machine.runtime.powerState == "poweredOn"
    assert get(instance.machine, f"{instance.workdir}/file") == b"kept"
    check(instance.machine, ["rm", f"{instance.workdir}/file"])


@pytest.mark.parametrize("hard", [False, True], ids=["in order", "hard"])
def test_after_a_reboot_nothing_runs_that_ran_before(opened, hard):
    instance = opened.instances[0]
    start = "setsid sleep 4321.5 > /dev/null 2>&1 < /dev/null &"
    check(instance.machine, ["sh", "-c", start])
    processes = ["sh", "-c", "cat /proc/[0-9]*/cmdline 2> /dev/null; true"]
    assert "4321.5" in text(instance.machine, processes)
    before = instance.boot

    instance.reboot(hard=hard)
    instance.ready()

    assert instance.boot != before
    assert "4321.5" not in text(instance.machine, processes)


def test_a_paused_machine_is_suspended_and_goes_on_where_it_was(opened, vsphere, api):
    instance = opened.instances[0]
    (machine,) = api.machines(instance.name)
    container = container_of(vsphere, instance.name)
    status = [*vsphere.daemon.client, "inspect", "--format", "{{.State.Status}}", container]

    opened.pause()
    paused = machine.runtime.powerState, text(Host(), status)
    opened.resume()

    assert paused == ("suspended", "paused")
    assert instance.machine.run(["true"]).returncode == 0
    assert machine.runtime.powerState == "poweredOn"


# --- what a clone is given


def test_a_clone_has_the_limits_in_its_configuration(place, vsphere, api):
    site = place.site(limits=Limits(cpus=3, memory_bytes=3 * 2**29))
    load(vsphere).create(place.host, site)

    (machine,) = api.machines(site.name)
    hardware = machine.config.hardware
    options = {option.key: option.value for option in machine.config.extraConfig}
    site.scope.close()

    assert (hardware.numCPU, hardware.memoryMB) == (3, 1536)
    assert options["RUN.mountdmi"] == "false"
    assert api.machines(site.name) == []


def test_a_clone_is_put_where_it_was_asked_for(place, vsphere, api):
    site = place.site()
    asked = load(vsphere, pool="/DC0/host/DC0_H0/Resources", datastore="LocalDS_0")
    asked.create(place.host, site)

    (machine,) = api.machines(site.name)
    pool, stores = machine.resourcePool.name, [store.name for store in machine.datastore]
    site.scope.close()

    assert (pool, stores) == ("Resources", ["LocalDS_0"])


def test_the_probe_names_the_server_and_its_client(vsphere):
    facts = load(vsphere).probe(Host(), None)

    assert "vCenter" in facts["vsphere.server"]
    assert facts["vsphere.client"].startswith("pyvmomi ")


def test_an_esxi_cannot_clone_and_says_what_it_can(vsphere):
    with (
        vsphere.another("-esx") as esxi,
        pytest.raises(Unavailable, match=r"ESXi cannot clone.*existing vm"),
    ):
        load(esxi).probe(Host(), None)


# --- a machine there is


@pytest.mark.parametrize("was", ["poweredOff", "poweredOn"])
def test_a_machine_there_is_is_used_and_left_as_it_was(place, vsphere, api_of, traces, ledger, was):
    site = place.site(scope=Scope(ledger))
    with vsphere.another() as vcsim:
        api = api_of(vcsim)
        (machine,) = api.machines("DC0_H0_VM0")
        options = json.loads(vsphere.settings["extra_config"])
        option = api.session.vim.option.OptionValue
        given = [option(key=key, value=value) for key, value in options.items()]
        spec = api.session.vim.vm.ConfigSpec(extraConfig=given)
        api.session.finish(machine.ReconfigVM_Task(spec=spec))
        if was == "poweredOn":
            api.session.finish(machine.PowerOnVM_Task())

        stack = place.open([load(vcsim, template="", vm="DC0_H0_VM0")], site)
        container = container_of(vsphere, "DC0_H0_VM0")
        there = text(stack.machine, ["ls", "/var/tmp"])  # noqa: S108
        ephemeral, cpus = stack.machine.ephemeral, stack.inside().cpus
        stack.close()

        assert (ephemeral, cpus, there) == (False, 1, stack.workdir.rpartition("/")[2])
        assert machine.runtime.powerState == was
        assert traces(site.name) == []
        docker = vsphere.daemon.client
        check(Host(), [*docker, "start", container])
        assert text(Host(), [*docker, "exec", container, "ls", "/var/tmp"]) == ""  # noqa: S108
        check(Host(), [*docker, "rm", "--force", container])


# --- what is wrong


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"password_file": "/etc/hostname"}, "InvalidLogin"),
        (
            {"password_file": "/nonexistent"},
            "password_file or ca_file cannot be read: .*/nonexistent",
        ),
        ({"template": "tare-none"}, "none is called 'tare-none'"),
        ({"ca_file": ""}, "connection failed: .*CERTIFICATE_VERIFY_FAILED"),
        ({"port": 1}, "connection failed: .*refused"),
    ],
    ids=["password", "no password file", "template", "certificate", "port"],
)
def test_what_is_wrong_is_said_and_leaves_nothing(place, vsphere, traces, ledger, changes, why):
    site = place.site(scope=Scope(ledger))

    with pytest.raises(LayerError, match=f"vsphere state .*{why}"):
        place.open([load(vsphere, **changes)], site)

    assert traces(site.name) == []
    assert leftovers(ledger.path) == []


def test_a_certificate_is_taken_on_trust_only_if_that_is_asked_for(vsphere):
    trusting = load(vsphere, ca_file="", verify=False)

    assert trusting.probe(Host(), None)["vsphere.server"]
    with pytest.raises(Unavailable, match="CERTIFICATE_VERIFY_FAILED"):
        load(vsphere, ca_file="").probe(Host(), None)


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"pool": "none"}, "no resource pool"), ({"datastore": "none"}, "no datastore")],
    ids=["pool", "datastore"],
)
def test_a_clone_that_cannot_be_made_leaves_nothing(place, vsphere, traces, ledger, changes, why):
    site = place.site(scope=Scope(ledger))

    with pytest.raises(LayerError, match=f"vsphere clone .*{why}"):
        place.open([load(vsphere, **changes)], site)

    assert traces(site.name) == []
    assert leftovers(ledger.path) == []


class Impatient:
    """A layer whose instances are given little time to be ready, and all of it to start."""

    def __init__(self, of, deadline_s):
        self.of, self.deadline_s = of, deadline_s

    def create(self, outer, site):
        instance = self.of.create(outer, site)
        start = instance.start

        def then_hurry():
            start()
            instance.site = replace(site, deadline_s=self.deadline_s)

        instance.start = then_hurry
        return instance


def test_a_guest_without_tools_is_waited_for_and_leaves_nothing(place, vsphere, traces, api):
    site = place.site()
    without = Impatient(load(vsphere, extra_config="{}"), 1)

    with pytest.raises(LayerTimedOut, match="within 1 s; do VMware Tools run in it"):
        place.open([without], site)

    assert traces(site.name) == []
    assert api.machines(f"{site.name}-0") == []


def test_a_guest_that_lets_nobody_in_says_so_and_leaves_nothing(place, vsphere, traces, tmp_path):
    site = place.site()
    check(Host(), ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{tmp_path}/stranger"])
    closed = Impatient(load(vsphere, key=f"{tmp_path}/stranger"), 10)

    with pytest.raises(LayerTimedOut, match=r"accepted no login: .*Permission denied"):
        place.open([closed], site)

    assert traces(site.name) == []


# --- what is killed


def test_a_clone_is_removed_by_the_ledger_alone(place, vsphere, api, traces, ledger):
    site = place.site(scope=Scope(ledger))
    place.open([load(vsphere)], site)
    (name,) = {left.name for left in leftovers(ledger.path)}
    assert api.machines(name)[0].runtime.powerState == "poweredOn"
    ledger.close()

    removed = [why for _, why in clean(ledger.path)]

    assert removed == ["", ""]
    assert api.machines(name) == []
    assert traces(site.name) == []
    assert vsphere.settings["password_file"] in ledger.path.read_text()
    password = Path(vsphere.settings["password_file"]).read_text().strip()
    assert password not in ledger.path.read_text()


def test_a_clone_that_is_still_being_made_is_waited_for_and_removed(place, vsphere, api_of, ledger):
    with vsphere.another(*delay("CloneVm", 4000)) as vcsim:
        api, of, site = api_of(vcsim), load(vcsim), place.site(scope=Scope(ledger))
        undo = of.argv("destroy", of.template, site.name)
        ledger.about_to_make("virtual machine", site.name, Host(), undo)
        argv = of.argv("clone", of.template, site.name, *of.clone_flags(site))
        with subprocess.Popen(argv, start_new_session=True) as client:
            assert await_true(lambda: api.tasks("clone"), timeout_s=20)
            os.kill(client.pid, signal.SIGKILL)
        ledger.close()

        removed = [why for _, why in clean(ledger.path)]

        assert removed == [""]
        assert api.tasks("clone") == ["success"]
        assert api.machines(site.name) == []


def test_a_server_that_is_killed_while_it_clones_fails_with_the_cause(
    place, vsphere, api_of, traces, ledger
):
    site = place.site(scope=Scope(ledger))
    with vsphere.another(*delay("CloneVm")) as vcsim, ThreadPoolExecutor() as pool:
        api = api_of(vcsim)
        opening = pool.submit(place.open, [load(vcsim)], site)
        assert await_true(lambda: "running" in api.tasks("clone"), timeout_s=20)

        vcsim.kill()

        with pytest.raises(LayerError, match=r"vsphere clone .*the connection failed: ."):
            opening.result(timeout=60)
        assert traces(site.name) == []
        # It cannot be known that there is no clone, so that the ledger keeps it until it is.
        assert [left.what for left in leftovers(ledger.path)] == ["virtual machine"]
        ledger.close()
        (refused,) = [why for _, why in clean(ledger.path)]
        assert re.search("refused", refused)
        vcsim.start()
        assert [why for _, why in clean(ledger.path)] == [""]
        assert leftovers(ledger.path) == []


@pytest.mark.parametrize(
    ("task", "verb", "said"),
    [
        ("PowerOff", "stop", "power-off"),
        ("Reset", "reboot", "reset"),
        ("Suspend", "pause", "suspend"),
    ],
)
def test_a_server_that_is_killed_in_a_verb_fails_with_the_cause(
    place, vsphere, api_of, traces, ledger, task, verb, said
):
    site = place.site(scope=Scope(ledger))
    with vsphere.another(*delay(task)) as vcsim, ThreadPoolExecutor() as pool:
        api = api_of(vcsim)
        stack = place.open([load(vcsim)], site)
        do = getattr(stack.instances[0], verb)
        doing = pool.submit(do) if verb == "pause" else pool.submit(do, hard=True)
        name = f"{site.name}-0"
        assert await_true(lambda: "running" in api.tasks(task.lower(), name), timeout_s=20)

        vcsim.kill()

        with pytest.raises(LayerError, match=f"vsphere {said} .*the connection failed: ."):
            doing.result(timeout=60)
        with pytest.raises(LayerError, match="could not remove virtual machine"):
            stack.close()
        # The machine is on the other side of the API, where nobody answers; here nothing is left.
        (container,) = traces(site.name)
        assert container.startswith("container ")
        check(Host(), [*vsphere.daemon.client, "rm", "--force", container.split()[1]])
        vcsim.start()
        ledger.close()
        assert [why for _, why in clean(ledger.path)] == [""]
