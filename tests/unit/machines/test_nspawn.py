"""How systemd-nspawn is called, and how its container is entered."""

import subprocess

import pytest

from tare.core.errors import Unavailable
from tare.machines import layer
from tare.machines.backends import namespaces
from tare.machines.backends.instance_process import LIVES, SIGNAL
from tare.machines.cgroup import cgroup
from tare.machines.ledger import leftovers
from unit.fakes import Fake

NAME = "tare-x-0-0"


def start(**settings):
    return layer.load("nspawn", **settings).start_argv(NAME, f"/run/x/{NAME}")


def test_a_container_is_kept_without_systemd_and_leaves_no_lock():
    words = start()

    assert words[3:7] == [f"tare/{NAME}", "env", "SYSTEMD_NSPAWN_LOCK=0", "systemd-nspawn"]
    assert {"--register=no", "--keep-unit", "--settings=no"} <= set(words)
    assert {f"--machine={NAME}", f"--directory=/run/x/{NAME}/root"} <= set(words)
    assert words[-3:] == ["sh", "-c", namespaces.SERVE]


def test_its_first_process_reaps_orphans_and_ends_in_order():
    assert {"--as-pid2", "--kill-signal=SIGRTMIN+4"} <= set(start())


@pytest.mark.parametrize(
    ("settings", "flag"),
    [({"network": "none"}, "--private-network"), ({"userns": True}, "--private-users=identity")],
)
def test_settings_become_flags(settings, flag):
    assert flag in start(**settings)
    assert flag not in start()


def test_limits_are_on_its_group_at_each_start_and_on_the_containers_once_there_is_one(site):
    machine = Fake()
    made = layer.load("nspawn").create(machine, site)
    given = ["1,3", str(2**30), "0", ""]

    for _ in range(2):
        machine.asked.clear()
        made.start()
        made.ready()
        limited = [argv[-5:] for argv in machine.asked if "make-cgroup" in argv]
        assert limited == [[f"tare/{NAME}", *given], [f"tare/{NAME}/payload", *given]]


def test_what_is_made_is_in_the_ledger(site, tmp_path):
    layer.load("nspawn").create(Fake(), site)

    left = [(each.what, each.name) for each in leftovers(tmp_path / "ledger.jsonl")]
    assert left == [
        ("cgroup", f"tare/{NAME}"),
        ("folder", f"/run/x/{NAME}"),
        ("folder", f"/run/systemd/nspawn/propagate/{NAME}"),
    ]


@pytest.mark.parametrize("hard", [False, True])
def test_it_is_told_to_end_unless_its_power_is_cut_and_its_group_is_removed(site, hard):
    machine = Fake()
    made = layer.load("nspawn").create(machine, site)
    machine.answers = {SIGNAL: (0, b""), LIVES: (1, b"")}
    machine.asked.clear()

    made.stop(hard=hard)

    assert any(SIGNAL in argv for argv in machine.asked) != hard
    assert machine.asked[-1] == ["sh", "-c", cgroup.REMOVE, f"tare/{NAME}"]


def test_a_command_is_handed_over_inside_the_namespaces_of_the_leader(site):
    machine = Fake()
    made = layer.load("nspawn").create(machine, site)

    made.machine.run(["echo", "a b"])

    words = machine.asked[-1]
    assert words[3:5] == [f"/run/x/{NAME}/leader", f"tare/{NAME}"]
    assert words[-6:] == ["timeout", "-s", "KILL", "60", "echo", "a b"]
    assert namespaces.CALL in words


@pytest.mark.parametrize(
    ("answers", "fix"),
    [
        ({"systemd-nspawn": (127, b"")}, "apt-get install systemd-container"),
        ({"test": (1, b"")}, "run Tare as root"),
    ],
)
def test_without_nspawn_or_cgroups_it_says_what_would_fix_that(answers, fix):
    with pytest.raises(Unavailable) as it:
        layer.load("nspawn").probe(Fake(**answers), None)

    assert it.value.fix == fix


def test_a_probe_tells_the_version():
    facts = layer.load("nspawn").probe(
        Fake(**{"systemd-nspawn": (0, b"systemd 252\n+PAM\n")}), None
    )

    assert facts == {"nspawn.version": "systemd 252"}


# --- entering, by scripts that any shell here can run


def entered(pid_file, group):
    argv = [*namespaces.enter_argv(str(pid_file), group), "echo", "ran"]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_a_leader_that_was_never_known_is_not_entered(tmp_path):
    done = entered(tmp_path / "none", "tare/x")

    assert (done.returncode, done.stdout) == (125, "")
    assert "the process that keeps tare/x is gone" in done.stderr


@pytest.mark.parametrize("pid", ["1", "4194305"])
def test_a_pid_that_is_anothers_or_nobodys_by_now_is_not_entered(tmp_path, pid):
    (tmp_path / "pid").write_text(f"{pid}\n")

    done = entered(tmp_path / "pid", "tare/no-such-group")

    assert (done.returncode, done.stdout) == (125, "")
