"""How LXC is configured and called."""

import pytest

from tare.core.errors import ConfigError, LayerError, Unavailable
from tare.machines import layer
from tare.machines.ledger import leftovers
from unit.fakes import Fake

NAME = "tare-x-0-0"


def config(**settings):
    made = layer.load("lxc", **settings).config(f"/run/x/{NAME}", f"tare/{NAME}")
    return made.splitlines()


def test_a_container_has_what_lxc_create_would_give_it_on_the_userland():
    lines = config()

    assert lines[0] == "lxc.include = /usr/share/lxc/config/common.conf"
    assert f"lxc.rootfs.path = dir:/run/x/{NAME}/root" in lines
    assert "lxc.seccomp.profile = /usr/share/lxc/config/common.seccomp" in lines
    assert "lxc.net.0.type = none" in lines
    assert not any("idmap" in line for line in lines)


def test_all_groups_that_lxc_makes_are_below_tares_own():
    places = [line for line in config() if line.startswith("lxc.cgroup.dir")]

    assert len(places) == 2
    assert all(f" = tare/{NAME}/run/" in line for line in places)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"network": "none"}, "lxc.net.0.type = empty"),
        ({"seccomp": False}, "lxc.seccomp.profile ="),
        ({"apparmor": "generated"}, "lxc.apparmor.profile = generated"),
        ({"userns": True}, "lxc.idmap = u 0 0 65536"),
        ({"userns": True}, "lxc.idmap = g 0 0 65536"),
    ],
)
def test_settings_become_lines(settings, line):
    assert line in config(**settings)
    assert line not in config()


def test_a_setting_that_does_not_exist_is_refused():
    with pytest.raises(ConfigError, match="layer lxc: "):
        layer.load("lxc", nonsense=1)


def test_the_tools_find_the_container_by_folder_and_name(site):
    machine = Fake()
    made = layer.load("lxc").create(machine, site)

    made.start()
    made.machine.run(["echo", "a b"])

    (start,) = machine.calls("lxc-start")
    (attach,) = machine.calls("lxc-attach")
    assert start[:5] == ["lxc-start", "-P", "/run/x", "-n", NAME]
    assert attach[:5] == ["lxc-attach", "-P", "/run/x", "-n", NAME]
    assert "--clear-env" in attach
    assert attach[attach.index("--") + 1 :] == ["timeout", "-s", "KILL", "60", "echo", "a b"]
    assert b"lxc.rootfs.path" in machine.written


def test_limits_are_on_the_groups_of_the_container_after_each_start(site):
    machine = Fake()
    made = layer.load("lxc").create(machine, site)

    for _ in range(2):
        machine.asked.clear()
        made.start()
        limits = [f"tare/{NAME}/run/container", "1,3", str(2**30), "0", ""]
        assert machine.asked[-1][-5:] == limits


@pytest.mark.parametrize(("hard", "how"), [(False, ["-t", "10"]), (True, ["--kill"])])
def test_it_is_stopped_in_order_or_hard(site, hard, how):
    machine = Fake()
    made = layer.load("lxc").create(machine, site)

    made.stop(hard=hard)

    assert machine.calls("lxc-stop") == [["lxc-stop", "-P", "/run/x", "-n", NAME, *how]]


def test_what_is_made_is_in_the_ledger_first(site, tmp_path):
    class Sees(Fake):
        def run(self, argv, **how):
            if "make-cgroup" in argv or argv[0] == "mkdir":
                assert leftovers(tmp_path / "ledger.jsonl")
            return super().run(argv, **how)

    layer.load("lxc").create(Sees(), site)

    left = {(each.what, each.name) for each in leftovers(tmp_path / "ledger.jsonl")}
    assert left == {
        ("folder", "/run/lxc/lock/run/x"),
        ("folder", f"/run/x/{NAME}"),
        ("cgroup", f"tare/{NAME}"),
        ("cgroup", f"tare/{NAME}/start"),
    }


def test_why_it_did_not_start_is_told_from_its_log(site):
    machine = Fake(**{"lxc-start": (1, b""), "sed": (0, b"No root\nSo none\nNor this\nAborted\n")})
    made = layer.load("lxc").create(machine, site)

    with pytest.raises(LayerError, match=f"{NAME} on host: No root; So none; Nor this$"):
        made.start()


@pytest.mark.parametrize(
    ("answers", "fix"),
    [({"lxc-start": (127, b"")}, "apt-get install lxc"), ({"test": (1, b"")}, "run Tare as root")],
)
def test_without_lxc_or_cgroups_it_says_what_would_fix_that(answers, fix):
    with pytest.raises(Unavailable) as it:
        layer.load("lxc").probe(Fake(**answers), None)

    assert it.value.fix == fix


def test_a_probe_tells_the_version():
    facts = layer.load("lxc").probe(Fake(**{"lxc-start": (0, b"5.0.2\n")}), None)

    assert facts == {"lxc.version": "5.0.2"}
