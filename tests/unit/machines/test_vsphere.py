"""How the client of vSphere's API is called, and what its layer makes of the answers."""

import sys
from dataclasses import replace

import pytest

from tare.core.completed import Completed
from tare.core.errors import ConfigError, LayerError, LayerTimedOut, Unavailable
from tare.core.model import Limits
from tare.machines import layer
from tare.machines.backends import vsphere as engine
from tare.machines.backends.vsphere import Server
from tare.machines.backends.vsphere_api import clone, destroy, said
from tare.machines.layers.vsphere import Instance
from tare.machines.ledger import leftovers
from tare.machines.machine import Host

SERVER = {"host": "vc.example", "user": "tare@example", "password_file": "/secrets/vc"}
GIVEN = SERVER | {"template": "debian", "key": "/keys/id"}


class Fake(Host):
    """This host, with a client whose answers are chosen by its verb."""

    def __init__(self, **answers):
        super().__init__()
        self.answers, self.asked = answers, []

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.asked.append(list(argv))
        words = [word for word in argv if word in self.answers]
        answer = self.answers[words[0]] if words else b""
        if callable(answer):
            answer = answer()
        if isinstance(answer, Completed):
            return answer
        return Completed(tuple(argv), 0, answer, b"", 0.0)

    def verbs(self):
        """List what was asked of the API, with the machine it was asked for."""
        flags = len(Server(**SERVER).argv("x")) - 1
        return [argv[flags:] for argv in self.asked if "tare.machines.backends.vsphere" in argv]


def failed(stderr, timed_out=False):
    return Completed(("python",), 1, b"", stderr, 3.0, timed_out)


@pytest.fixture
def site(site):
    limits = Limits(cpus=2, memory_bytes=3 * 2**30)
    return replace(site, name="tare-x-0", limits=limits, cpuset="0-1", deadline_s=5)


def left(site):
    return [(each.what, each.name) for each in leftovers(site.scope.ledger.path)]


# --- the command line


def test_a_verb_is_a_command_that_can_be_run_from_anywhere_and_shows_no_password():
    words = Server(**SERVER).argv("destroy", "debian", "tare-x")

    assert words == [
        *(sys.executable, "-P", "-m", "tare.machines.backends.vsphere"),
        *("--host=vc.example", "--port=443", "--user=tare@example"),
        *("--password-file=/secrets/vc", "destroy", "debian", "tare-x"),
    ]


@pytest.mark.parametrize(
    ("settings", "word"),
    [({"ca_file": "/ca"}, "--ca-file=/ca"), ({"verify": False}, "--no-verify"), ({}, None)],
)
def test_a_certificate_is_verified_unless_it_is_told_otherwise(settings, word):
    words = Server(**SERVER, **settings).argv("about")

    assert [each for each in words if each.startswith(("--ca", "--no"))] == ([word] if word else [])


def test_what_is_composed_is_what_is_understood():
    server = Server(**SERVER, port=8443, ca_file="/ca")
    flags = ["--cpus=2", "--memory-mib=512", "--pool=", "--datastore=d", '--extra={"a.b": "c d"}']

    given = engine.parsed(server.argv("clone", "debian", "tare-x", *flags)[4:])

    assert (given.host, given.port, given.user) == ("vc.example", 8443, "tare@example")
    assert (given.password_file, given.ca_file, given.verify) == ("/secrets/vc", "/ca", True)
    assert (given.do, given.source, given.name) == (clone, "debian", "tare-x")
    assert (given.cpus, given.memory_mib, given.pool) == (2, 512, "")
    assert (given.datastore, given.extra) == ("d", {"a.b": "c d"})
    assert engine.parsed(Server(**SERVER, verify=False).argv("about")[4:]).verify is False


@pytest.mark.parametrize(
    "verb",
    [
        *("state", "address", "power-on", "power-off", "shutdown", "reboot", "reset", "suspend"),
        "release",
    ],
)
def test_every_verb_of_the_layer_is_known(verb):
    given = engine.parsed(Server(**SERVER).argv(verb, "a name")[4:])

    assert (given.do.__name__, given.name) == (verb.replace("-", "_"), "a name")


class Session:
    """A server that has one machine of any name."""

    class vim:  # noqa: N801 - as in the library
        VirtualMachine = object


def test_only_what_tare_made_is_destroyed():
    given = engine.parsed(Server(**SERVER).argv("destroy", "debian", "production")[4:])

    with pytest.raises(LayerError, match="production was not made by Tare"):
        destroy(Session(), given)


class Fault:
    def __init__(self, msg=None, message="", cause=None):
        self.msg, self.faultCause = msg, cause
        self.faultMessage = [type("Text", (), {"message": message})] if message else []


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault("Login failure"), "Fault: Login failure"),
        (Fault(), "Fault"),
        (Fault("It failed", "no room"), "Fault: It failed: no room"),
        (Fault("It failed", cause=Fault("no host")), "Fault: It failed: Fault: no host"),
    ],
)
def test_a_fault_is_put_in_words_with_its_cause(fault, words):
    assert said(fault) == words


# --- settings


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"host": ""}, "host is missing"),
        ({"user": ""}, "user is missing"),
        ({"password_file": ""}, "password_file is missing"),
        ({"template": ""}, "either template, which is cloned, or vm"),
        ({"vm": "there"}, "either template, which is cloned, or vm"),
    ],
)
def test_settings_that_say_neither_where_nor_what_are_refused(settings, why):
    with pytest.raises(ConfigError, match=f"layer vsphere: .*{why}"):
        layer.load("vsphere", **(GIVEN | settings))


def test_it_runs_the_templates_own_system():
    assert layer.load("vsphere", **GIVEN).own_system() == "the system of debian"


# --- the probe


def test_the_api_is_called_only_from_where_tare_runs():
    class Remote:
        name = "host/ssh"

    with pytest.raises(Unavailable, match=r"not from host/ssh; fix: put vsphere first"):
        engine.client_version(Remote())


def test_without_its_library_it_is_unavailable_and_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(sys, "path", [])

    with pytest.raises(Unavailable, match=r"pip install 'tare\[vsphere\]'"):
        engine.client_version(Host())


def test_the_probe_tells_the_server_and_what_calls_it():
    machine = Fake(about=b"VirtualCenter VMware vCenter Server 8.0.2")

    facts = layer.load("vsphere", **GIVEN).probe(machine, None)

    assert facts["vsphere.server"] == "VMware vCenter Server 8.0.2"
    assert facts["vsphere.client"].startswith("pyvmomi ")


def test_an_esxi_is_good_for_a_machine_there_is_but_not_for_clones():
    machine = Fake(about=b"HostAgent VMware ESXi 8.0.2")
    used = GIVEN | {"template": "", "vm": "there"}

    assert layer.load("vsphere", **used).probe(machine, None)["vsphere.server"]
    with pytest.raises(Unavailable, match=r"vc\.example is no vCenter.*name an existing vm"):
        layer.load("vsphere", **GIVEN).probe(machine, None)


def test_a_server_that_does_not_answer_is_unavailable_with_the_reason():
    machine = Fake(about=failed(b"tare at vc.example:443: the connection failed: refused\n"))

    with pytest.raises(Unavailable, match="the connection failed: refused; fix: see docs"):
        layer.load("vsphere", **GIVEN).probe(machine, None)


# --- what is made


def test_a_clone_gets_the_limits_and_is_in_the_ledger_before_it_is_made(site):
    class Dies(Fake):
        def run(self, argv, *, stdin=b"", timeout_s=60.0):
            if "clone" in argv:
                self.asked.append(list(argv))
                raise KeyboardInterrupt
            return super().run(argv, stdin=stdin, timeout_s=timeout_s)

    machine = Dies()
    given = GIVEN | {"pool": "p", "extra_config": '{"a": "b"}'}

    with pytest.raises(KeyboardInterrupt):
        layer.load("vsphere", **given).create(machine, site)

    assert left(site) == [("virtual machine", "tare-x-0")]
    assert machine.verbs() == [
        ["state", "debian"],
        [
            *("clone", "debian", "tare-x-0", "--cpus=2", "--memory-mib=3072"),
            *("--pool=p", "--datastore=", '--extra={"a": "b"}'),
        ],
    ]


def test_a_server_that_lets_nobody_in_is_not_in_the_ledger(site):
    machine = Fake(state=failed(b"InvalidLogin: Login failure"))

    with pytest.raises(LayerError, match="vsphere state debian: InvalidLogin"):
        layer.load("vsphere", **GIVEN).create(machine, site)

    assert left(site) == []


def test_a_clone_is_left_by_hanging_up_and_destroying(site):
    machine = Fake()
    layer.load("vsphere", **GIVEN).create(machine, site)

    machine.asked.clear()
    site.scope.close()

    assert machine.asked[0][-1] == "/run/x/tare-x-0.ssh"
    assert machine.verbs() == [["destroy", "debian", "tare-x-0"]]
    assert left(site) == []


@pytest.mark.parametrize(
    ("was", "undone"), [("poweredOff", [["release", "there"]]), ("poweredOn", [])]
)
def test_a_machine_there_is_is_switched_off_only_if_it_was_off(site, was, undone):
    machine = Fake(state=was.encode())
    layer.load("vsphere", **(GIVEN | {"template": "", "vm": "there"})).create(machine, site)
    assert machine.verbs() == [["state", "there"]]

    machine.asked.clear()
    site.scope.close()

    assert machine.verbs() == undone


# --- the verbs


def instance_of(machine, site, **changes):
    return Instance(machine, site, layer.load("vsphere", **(GIVEN | changes)))


@pytest.mark.parametrize(
    ("verb", "hard", "asked"),
    [
        ("stop", False, "shutdown"),
        ("stop", True, "power-off"),
        ("reboot", False, "reboot"),
        ("reboot", True, "reset"),
    ],
)
def test_the_connection_is_hung_up_before_a_machine_goes_down(site, verb, hard, asked):
    machine = Fake()

    getattr(instance_of(machine, site), verb)(hard=hard)

    assert "/run/x/tare-x-0.ssh" in machine.asked[0]
    assert machine.asked[1][-2:] == [asked, "tare-x-0"]


def test_a_clone_is_suspended_and_a_machine_there_is_is_not(site):
    machine = Fake()

    instance_of(machine, site, template="", vm="there").pause()
    instance_of(machine, site).pause()

    assert machine.verbs() == [["suspend", "tare-x-0"]]


BOOTS = [b"first\n", b"first\n", b"second\n"]


def test_after_a_reboot_only_a_new_boot_is_ready(site):
    boots = iter(BOOTS)

    class Guest(Fake):
        def run(self, argv, *, stdin=b"", timeout_s=60.0):
            if "boot_id" in argv[-1]:
                return Completed(tuple(argv), 0, next(boots), b"", 0.0)
            if "Cpus_allowed" in argv[-1]:
                return Completed(tuple(argv), 0, b"Cpus_allowed_list:\t0-7\n", b"", 0.0)
            return super().run(argv, stdin=stdin, timeout_s=timeout_s)

    machine = Guest(address=b"192.0.2.7")
    instance = instance_of(machine, site)
    instance.ready()

    instance.reboot()
    instance.ready()

    assert instance.boot == "second"
    assert next(boots, None) is None
    assert instance.cpuset == "6,7"
    assert "taskset --cpu-list 6,7 true; exit $?" in instance.machine.host_argv(["true"])[-1]
    assert "192.0.2.7" in instance.machine.host_argv(["true"])


def test_a_guest_that_reports_no_address_is_said_to_lack_its_tools(site):
    machine = Fake(address=failed(b"", timed_out=True))

    with pytest.raises(
        LayerTimedOut, match="vsphere address tare-x-0: no end within 5 s; do VMware Tools"
    ):
        instance_of(machine, site).ready()


def test_a_machine_that_does_not_answer_when_it_was_resumed_is_an_error(site):
    instance = instance_of(Fake(), site)
    instance.machine = Fake(true=failed(b""))

    with pytest.raises(LayerError, match="tare-x-0 was resumed and does not answer"):
        instance.resume()
