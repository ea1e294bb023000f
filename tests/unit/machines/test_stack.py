"""Opening from the outside in, leaving from the inside out, and what each layer is given."""

from dataclasses import dataclass, replace

import pytest

from tare.core.errors import ConfigError, LayerError, Unavailable
from tare.core.model import DiskCache
from tare.machines import instance, layer
from tare.machines.cgroup.readback import Inside
from tare.machines.instance import Threads
from tare.machines.ledger import leftovers
from tare.machines.machine import Inner
from tare.machines.stack import Stack, open_stack
from unit import fakes


class Fake(fakes.Fake):
    def undone(self):
        return [argv[-1] for argv in self.asked if "undo" in argv]


@dataclass(frozen=True)
class Layer(layer.Layer):
    """Makes one thing where it is, and fails at the verb it is told to."""

    called: str
    log: list
    ephemeral: bool = True
    fails: str = ""
    cache: DiskCache | None = None
    at: str | None = None

    def probe(self, outer, userland):
        return {}

    def create(self, outer, site):
        site.scope.about_to_make("thing", self.called, outer, ["undo", self.called])
        return Instance(self, outer, site)


class Instance(instance.Instance):
    def __init__(self, of, outer, site):
        self.of, self.site = of, site
        self.machine = Inner(outer, of.called, lambda argv: argv, ephemeral=of.ephemeral)
        self.cpuset = f"{site.cpuset}{of.called}"
        self.workdir = f"/{of.called}"
        self.do("create")

    def do(self, verb):
        self.of.log.append(f"{verb} {self.of.called}")
        if self.of.fails == verb:
            raise LayerError(f"{verb} failed")

    def start(self):
        self.do("start")

    def ready(self):
        self.do("ready")

    def hold(self):
        self.do("hold")

    def pause(self):
        self.do("pause")

    def resume(self):
        self.do("resume")

    def disk_cache(self):
        return self.of.cache

    def address(self):
        if self.of.at == "nowhere":
            raise Unavailable("it leads nowhere")
        return self.of.at

    def inside(self):
        return Inside(1, 2)

    def threads(self):
        return Threads(cgroup=self.of.called)


@pytest.fixture
def site(site):
    return replace(site, name="tare-x", cpuset="3")


def test_each_layer_is_made_in_the_one_before_and_held_when_all_are_up(site):
    log, host = [], Fake()

    stack = open_stack(host, [Layer("a", log), Layer("b", log)], site)

    verbs = ["create", "start", "ready"]
    assert log == [f"{v} a" for v in verbs] + [f"{v} b" for v in verbs] + ["hold a", "hold b"]
    assert stack.machine.name == "host/a/b"
    assert stack.workdir == "/b"
    assert [each.site.name for each in stack.instances] == ["tare-x-0", "tare-x-1"]
    assert [each.site.cpuset for each in stack.instances] == ["3", "3a"]


@dataclass(frozen=True)
class Foreign(Layer):
    """Leads to somebody's machine."""

    runs_userland = False


class Userland:
    def of(self, machine):
        return f"for {machine.name}"


def test_what_is_in_somebodys_machine_gets_the_userland_for_its_architecture(site):
    site, log = replace(site, userland=Userland()), []

    stack = open_stack(Fake(), [Foreign("a", log), Layer("b", log), Layer("c", log)], site)

    given = [each.site.userland for each in stack.instances]
    assert given == [site.userland, "for host/a", "for host/a"]


def test_what_is_in_a_machine_that_goes_is_not_removed_on_its_own(site):
    host = Fake()
    stack = open_stack(host, [Layer("a", []), Layer("b", [])], site)

    stack.close()
    stack.close()

    assert host.undone() == ["a"]
    assert leftovers(site.scope.ledger.path) == []


def test_what_is_on_a_machine_that_stays_is_removed_before_it_is_left(site):
    host = Fake()
    stack = open_stack(host, [Layer("a", [], ephemeral=False), Layer("b", [])], site)

    stack.close()

    assert host.undone() == ["b", "a"]


@pytest.mark.parametrize("verb", ["create", "start", "ready", "hold"])
def test_a_layer_that_fails_takes_all_along(site, verb):
    host = Fake()
    layers = [Layer("a", [], ephemeral=False), Layer("b", [], fails=verb)]

    with pytest.raises(LayerError, match=f"{verb} failed"):
        open_stack(host, layers, site)

    assert host.undone() == ["b", "a"]
    assert leftovers(site.scope.ledger.path) == []


def test_the_outermost_layer_is_paused_and_shows_the_threads(site):
    log = []
    stack = open_stack(Fake(), [Layer("a", log), Layer("b", log)], site)

    stack.pause()
    stack.resume()

    assert log[-2:] == ["pause a", "resume a"]
    assert stack.threads() == Threads(cgroup="a")


def test_the_innermost_disk_is_the_one_whose_cache_counts(site):
    cached = Layer("a", [], cache=DiskCache.NONE)

    assert open_stack(Fake(), [cached, Layer("b", [])], site).inside().disk_cache == "none"
    assert open_stack(Fake(), [Layer("b", [])], site).inside().disk_cache is None


@pytest.mark.parametrize(
    ("addresses", "found"),
    [
        ([None], None),
        ([None, None], None),
        (["10.0.0.2"], "10.0.0.2"),
        (["10.0.0.2", None], "10.0.0.2"),
        ([None, "10.0.0.3"], "10.0.0.3"),
        ([None, "10.0.0.3", None], "10.0.0.3"),
    ],
)
def test_the_innermost_network_that_is_not_its_outer_machines_has_the_address(
    site, addresses, found
):
    layers = [Layer(f"l{depth}", [], at=at) for depth, at in enumerate(addresses)]

    assert open_stack(Fake(), layers, site).address() == found


def test_a_network_inside_another_one_is_not_reached_from_the_host(site):
    stack = open_stack(Fake(), [Layer("a", [], at="10.0.0.2"), Layer("b", [], at="10.9.0.2")], site)

    with pytest.raises(
        Unavailable, match=r"10\.9\.0\.2, of host/a/b, is .* only from inside host/a;"
    ):
        stack.address()


@pytest.mark.parametrize(
    "addresses", [["nowhere", None], ["nowhere", "10.0.0.2"], [None, "nowhere"]]
)
def test_what_leads_nowhere_takes_along_what_is_inside(site, addresses):
    layers = [Layer(f"l{depth}", [], at=at) for depth, at in enumerate(addresses)]

    with pytest.raises(Unavailable, match="it leads nowhere"):
        open_stack(Fake(), layers, site).address()


def test_an_instance_that_says_nothing_of_its_network_has_its_outer_machines(site):
    made = open_stack(Fake(), [Layer("a", [])], site).instances[0]

    assert instance.Instance.address(made) is None
    made.network = "none"
    with pytest.raises(Unavailable, match="network of host/a is `none`, which leads nowhere"):
        instance.Instance.address(made)


def test_a_stack_of_no_layers_can_be_left():
    stack = Stack(Fake())

    stack.pause()
    stack.resume()
    stack.close()

    assert stack.threads() is None
    assert stack.address() is None


def test_a_layer_is_called_like_its_module():
    assert layer.load("qemu-tcg").name == "qemu-tcg"
    assert {"docker", "host", "kvm", "qemu", "qemu-tcg", "sim", "ssh"} <= set(layer.names())


def test_a_layer_that_is_not_there_or_set_wrongly_is_refused():
    with pytest.raises(ConfigError, match=r"no layer is called 'dokcer'; there are: .*docker"):
        layer.load("dokcer")
    with pytest.raises(ConfigError, match=r"layer docker: .*colour"):
        layer.load("docker", colour="red")
    with pytest.raises(ConfigError, match="layer ssh: address is missing"):
        layer.load("ssh")


@pytest.mark.parametrize(
    ("group", "found"),
    [
        ("tare/tare-x-0-0/run", "tare/tare-x-0-0/run"),
        ("machine/qemu-1-tare-x-0-0.libvirt-qemu", "machine/qemu-1-tare-x-0-0.libvirt-qemu"),
        ("user.slice/user-0.slice", None),
        ("", None),
        (None, None),
    ],
)
def test_only_a_group_that_bears_the_name_of_an_instance_is_a_stacks_own(site, group, found):
    host = Fake()
    stack = open_stack(host, [Layer("a", [])], site)
    (instance,) = stack.instances
    instance.threads = lambda: None if group is None else Threads(cgroup=group)

    assert stack.own_group() == found


def test_what_is_opened_on_another_machine_has_no_group_of_this_host(site):
    shared = Layer("lab", [])
    stack = open_stack(Fake(), [shared, Layer("a", [])], site)
    lab, instance = stack.instances
    lab.shared = True
    for one in (lab, instance):
        one.threads = lambda: Threads(cgroup="tare/tare-x-lab")

    assert stack.own_group() is None
