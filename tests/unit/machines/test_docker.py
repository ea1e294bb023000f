"""How docker and dockerd are called."""

import json
import os
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tare.core.errors import LayerError, Unavailable
from tare.machines import layer
from tare.machines.backends import docker as engine
from tare.machines.backends import docker_images, docker_storage, oci
from tare.machines.backends.docker import Daemon
from tare.machines.backends.switches import LACKS
from tare.machines.ledger import leftovers
from tare.machines.machine import Host
from unit.fakes import Fake

RUNTIMES = json.dumps({"runc": {}, "kata": {}}).encode()
RUNSC = (0, b"runsc version 1\nspec: 1.0.2\n")


def created(site, own=True, **settings):
    daemon = Daemon(Fake(), ("docker", "--host", "unix://s"), own=own)
    return layer.load("docker", **settings).create_argv(daemon, "image:1", site)


def test_a_container_gets_its_limits_and_no_swap(site):
    words = created(site)

    assert words[:6] == ["docker", "--host", "unix://s", "create", "--name", "tare-x-0-0"]
    assert {"--cpuset-cpus=1,3", "--memory=1073741824", "--memory-swap=1073741824"} <= set(words)
    assert words[-3:] == ["image:1", "sleep", "infinity"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ["--runtime=runc", "--network=host"]),
        ({"runtime": "crun"}, ["--runtime=crun"]),
        ({"runtime": "runsc"}, ["--runtime=runsc-host"]),
        ({"runtime": "runsc", "network": "none"}, ["--runtime=runsc-none", "--network=none"]),
        ({"network": "none"}, ["--network=none"]),
        ({"seccomp": False}, ["--security-opt", "seccomp=unconfined"]),
        ({"apparmor": "off"}, ["--security-opt", "apparmor=unconfined"]),
        ({"privileged": True}, ["--privileged", "--runtime=runc-privileged"]),
        ({"storage": "volume"}, ["--mount", "type=volume,dst=/data"]),
        ({"storage": "tmpfs"}, ["--mount", "type=tmpfs,dst=/data"]),
    ],
)
def test_settings_become_flags(site, settings, expected):
    words = created(site, **settings)

    assert all(word in words for word in expected)
    assert ("--mount" in words) == ("storage" in settings)
    assert ("--security-opt" in words) == bool({"seccomp", "apparmor"} & set(settings))
    assert ("--privileged" in words) == ("privileged" in settings)


def test_what_is_turned_off_is_not_asked_for(site):
    words = created(site, init="off", memory_limit="off")

    assert "--init" in created(site)
    assert "--init" not in words
    assert not [word for word in words if word.startswith("--memory")]
    assert "--cpuset-cpus=1,3" in words


def test_all_capabilities_are_those_that_root_has_outside(site):
    daemon = Daemon(Fake(**{LACKS: (0, b"sys_resource\n")}), ("docker",), own=True)
    made = layer.load("docker", capabilities="all")

    words = made.create_argv(daemon, "image:1", site)
    assert [word for word in words if "cap" in word] == ["--cap-add=ALL", "--cap-drop=SYS_RESOURCE"]
    assert not [word for word in created(site) if "cap" in word]


def test_only_with_a_daemon_of_ours_the_group_is_ours_to_choose(site):
    assert "--cgroup-parent=/tare/tare-x-0-0" in created(site)
    assert not any("cgroup-parent" in word for word in created(site, own=False))


def test_our_daemon_leaves_the_machine_alone():
    words = engine.daemon_argv("/run/x/d", "/run/x/d/root", "tarex")

    assert {"--iptables=false", "--ip-forward=false", "--ip-masq=false"} <= set(words)
    assert [words[words.index(flag) + 1] for flag in ("--host", "--pidfile", "--bridge")] == [
        "unix:///run/x/d/socket",
        "/run/x/d/pid",
        "tarex",
    ]


def test_a_daemon_that_answers_is_used_and_keeps_no_image_of_ours(site):
    machine = Fake(inspect=(1, b""))

    daemon = engine.serving(machine, site)
    name = daemon.image(site.userland)
    site.services.close()

    assert not daemon.own
    assert ["docker", "import", "/cache/tree.tar", name] in machine.asked
    assert machine.asked[-1][-3:] == [engine.REMOVE_IMAGE, "tare-userland:1a2b", "docker"]
    assert leftovers(site.scope.ledger.path) == []


def test_an_image_that_was_there_before_stays(site):
    machine = Fake()

    engine.serving(machine, site).image(site.userland)
    site.services.close()

    assert not any("import" in argv or engine.REMOVE_IMAGE in argv for argv in machine.asked)


def test_no_docker_is_unavailable_with_its_package(site):
    machine = Fake(docker=(127, b""))

    with pytest.raises(Unavailable, match=r"apt-get install docker\.io"):
        layer.load("docker").probe(machine, None)
    with pytest.raises(Unavailable, match=r"dockerd is not installed on host"):
        engine.serving(machine, site)


def test_somebody_elses_daemon_knows_its_runtimes_by_its_own_names(site):
    assert "--runtime=runsc" in created(site, own=False, runtime="runsc")


def test_the_probe_tells_the_version_and_the_runtime():
    theirs = Fake(version=(0, b"28.2.2\n"), info=(0, RUNTIMES))
    ours = Fake(version=(1, b""), dockerd=(0, b"20.10\n"), runsc=RUNSC)

    assert layer.load("docker", runtime="kata").probe(theirs, None) == {
        "docker.version": "28.2.2",
        "docker.runtime": "kata",
    }
    assert layer.load("docker", runtime="runsc").probe(ours, None) == {
        "docker.version": "20.10",
        "docker.runtime": "runsc version 1",
    }


@pytest.mark.parametrize(
    ("settings", "answers", "reason", "fix"),
    [
        (
            {"runtime": "crun"},
            {"version": (0, b"28.2.2"), "info": (0, RUNTIMES)},
            "daemon of host does not know the runtime crun, only kata, runc",
            "/etc/docker/daemon.json",
        ),
        (
            {"runtime": "crun"},
            {"version": (1, b""), "crun": (127, b"")},
            "crun is not installed on host",
            "apt-get install crun",
        ),
        (
            {"runtime": "kata"},
            {"version": (1, b"")},
            "kata is no runtime that Tare can start; there are: runc, crun, runsc",
            "start a Docker daemon that knows it",
        ),
        (
            {"runtime": "io.containerd.kata.v2"},
            {"containerd-shim-kata-v2": (1, b"")},
            "containerd-shim-kata-v2 is not installed",
            "PATH",
        ),
        (
            {"runtime": "runsc", "network": "bridge"},
            {"version": (1, b""), "runsc": RUNSC, oci.TAKES_ALL_FOR_THE_HOSTS: (0, b"")},
            "runsc version 1 takes every network namespace for the host's",
            "network: none",
        ),
    ],
)
def test_a_runtime_that_cannot_run_is_told_before_anything_starts(settings, answers, reason, fix):
    machine = Fake(**answers)

    with pytest.raises(Unavailable) as refused:
        layer.load("docker", **settings).probe(machine, None)

    assert reason in refused.value.reason
    assert fix in refused.value.fix
    assert not any(word in argv for argv in machine.asked for word in ("--data-root", "create"))


@pytest.mark.parametrize(
    ("runtime", "more", "own_kernel"),
    [("runc", (), False), ("crun", ("crun",), False), ("runsc", ("runsc",), True)],
)
def test_a_runtime_brings_its_package_and_its_kernel(runtime, more, own_kernel):
    made = layer.load("docker", runtime=runtime)

    assert made.needs() == (*made.packages, *more)
    assert made.own_kernel == own_kernel


def test_our_daemon_knows_gvisor_once_for_each_network():
    machine = Fake(runc=(1, b""), crun=(1, b""), runsc=(0, b"/usr/bin/runsc\n"))

    known = json.loads(engine.config(machine, "/run/x/d"))

    assert known == {
        "runtimes": {
            f"runsc-{network}": {"path": "/usr/bin/runsc", "runtimeArgs": [f"--network={stack}"]}
            for network, stack in (("host", "host"), ("bridge", "sandbox"), ("none", "none"))
        }
    }


@pytest.mark.parametrize(
    ("lacks", "path"), [(b"", "/sbin/runc"), (b"s/x//\n", "/run/x/d/privileged-runc/run")]
)
def test_only_where_capabilities_lack_privileged_containers_are_told_of_fewer(lacks, path):
    machine = Fake(
        **{oci.LACKS: (0, lacks)}, runc=(0, b"/sbin/runc\n"), crun=(1, b""), runsc=(1, b"")
    )

    known = json.loads(engine.config(machine, "/run/x/d"))

    assert known == {"runtimes": {"runc-privileged": {"path": path}}}


def test_what_this_machine_lacks_is_taken_out_of_what_a_runtime_is_told(tmp_path):
    kept = ["CAP_CHOWN", "CAP_KILL", "CAP_MKNOD"]
    for gone in kept:
        (tmp_path / "config.json").write_text(json.dumps({"bounding": kept}, separators=",:"))
        lacks = f's/,"{gone}"//g;s/"{gone}",//g\n'.encode()
        folder = tmp_path / gone
        folder.mkdir()
        at = oci.wrap(Host(), oci.PRIVILEGED, "/bin/echo", f"{folder}/at/run")
        (folder / "at/lacks").write_bytes(lacks)

        said = Host().run([at, "create", "--bundle", str(tmp_path), "a b"]).stdout

        assert said.decode() == f"create --bundle {tmp_path} a b\n"
        left = json.loads((tmp_path / "config.json").read_text())["bounding"]
        assert left == [name for name in kept if name != gone]


@pytest.mark.parametrize(("status", "path"), [(0, "/run/x/d/v1/crun"), (1, "/usr/bin/crun")])
def test_crun_is_wrapped_only_where_both_kinds_of_cgroups_have_controllers(status, path):
    machine = Fake(grep=(status, b""), crun=(0, b"/usr/bin/crun\n"))

    assert oci.path(machine, "crun", "/run/x/d") == path
    assert any("/run/x/d/v1/crun" in argv for argv in machine.asked) == (status == 0)


@pytest.mark.parametrize(
    ("verb", "hard", "asked"),
    [
        ("stop", False, ["stop"]),
        ("stop", True, ["kill", "wait"]),
        ("reboot", False, ["restart"]),
        ("reboot", True, ["kill", "wait", "start"]),
    ],
)
def test_a_container_is_stopped_in_order_or_hard(site, verb, hard, asked):
    machine = Fake()
    instance = layer.load("docker").create(machine, site)
    before = len(machine.asked)

    getattr(instance, verb)(hard=hard)

    assert machine.asked[before:] == [["docker", word, "tare-x-0-0"] for word in asked]


def test_a_container_is_in_the_ledger_before_it_is_made(site):
    class Dies(Fake):
        def run(self, argv, *, stdin=b"", timeout_s=60.0):
            if "create" in argv:
                raise KeyboardInterrupt
            return super().run(argv, stdin=stdin, timeout_s=timeout_s)

    with pytest.raises(KeyboardInterrupt):
        layer.load("docker").create(Dies(), site)

    assert [left.what for left in leftovers(site.scope.ledger.path)] == ["container"]


@pytest.mark.parametrize(
    ("trees", "is_kept"), [(["one", "l"], True), (["one", "two", "l"], False), ([], False)]
)
def test_only_a_store_with_the_one_image_is_kept(tmp_path, trees, is_kept):
    root, kept = tmp_path / "root", tmp_path / "docker"
    (root / "image/overlay2/layerdb/mounts").mkdir(parents=True)
    for tree in trees:
        (root / "overlay2" / tree).mkdir(parents=True)

    docker_images.keep(Host(), SimpleNamespace(folder=tmp_path), str(root))

    assert kept.exists() == is_kept
    assert not (kept / "image/overlay2/layerdb/mounts").exists()
    assert not (root / "kept").exists()


# --- the storage driver


def test_our_daemon_stores_as_it_likes_or_as_it_is_asked():
    assert not any("storage" in word for word in engine.daemon_argv("/f", "/f/root", "b"))
    assert "--storage-driver=vfs" in engine.daemon_argv("/f", "/f/root", "b", "vfs")


def test_each_storage_driver_has_a_daemon_of_its_own(site):
    ends = {"version": (1, b""), engine.AWAIT_SOCKET: (1, b""), "tail": (0, NOT_SUPPORTED.encode())}
    machine = Fake(**ends)
    with pytest.raises(Unavailable, match="storage driver vfs: driver not supported"):
        engine.serving(machine, site, "vfs")

    asked = [word for argv in machine.asked for word in argv]
    assert f"tare{site.session}v" in asked
    assert any(word.endswith("-docker-vfs/root") for word in asked)
    assert docker_images.GIVE not in asked  # what is kept was stored by overlay2


@pytest.mark.parametrize(
    ("driver", "answers", "reason", "fix"),
    [
        (
            "vfs",
            {"version": (0, b"28.2.2"), "info": (0, b"overlay2\n")},
            "daemon of host has the storage driver overlay2, vfs was asked for",
            "/etc/docker/daemon.json",
        ),
        (
            "devicemapper",
            {"version": (1, b""), "dockerd": (0, b"Docker version 25.0.1, build x\n")},
            "Docker 25.0 removed the storage driver devicemapper, and host has Docker version 25",
            "install a Docker before 25.0",
        ),
        (
            "devicemapper",
            {
                "version": (1, b""),
                "dockerd": (0, b"Docker version 20.10.24+dfsg1, build x\n"),
                docker_storage.IN_KERNEL["devicemapper"][0]: (1, b""),
            },
            "the kernel of host lacks dm_thin_pool",
            "modprobe dm_thin_pool",
        ),
    ],
)
def test_a_storage_driver_that_cannot_be_is_told_before_anything_starts(
    driver, answers, reason, fix
):
    class Told(Fake):
        """Somebody's daemon knows the runtimes that it is asked for first."""

        def run(self, argv, **more):
            if "{{json .Runtimes}}" in argv:
                return replace(super().run(argv, **more), stdout=RUNTIMES)
            return super().run(argv, **more)

    with pytest.raises(Unavailable) as refused:
        layer.load("docker", storage_driver=driver).probe(Told(**answers), None)

    assert reason in refused.value.reason
    assert fix in refused.value.fix


def test_the_probe_tells_the_storage_driver_that_was_asked_for():
    ours = Fake(version=(1, b""), dockerd=(0, b"Docker version 20.10.24\n"))

    assert layer.load("docker", storage_driver="vfs").probe(ours, None)[
        "docker.storage_driver"
    ] == ("vfs")
    assert "docker.storage_driver" not in layer.load("docker").probe(ours, None)


# What dockerd 20.10.24 printed, on a kernel without device mapper and on ext4.
NOT_SUPPORTED = "failed to start daemon: error initializing graphdriver: driver not supported"
WRONG_FOLDER = (
    "failed to start daemon: error initializing graphdriver: prerequisites for driver not "
    "satisfied (wrong filesystem?)"
)


@pytest.mark.parametrize(
    ("driver", "log", "why"),
    [
        (
            "devicemapper",
            f"level=info msg=x\n{NOT_SUPPORTED}",
            "devicemapper: driver not supported",
        ),
        (
            "aufs",
            'level=error msg="AUFS was not found in /proc/filesystems" storage-driver=aufs\n'
            f"{NOT_SUPPORTED}",
            r"aufs: driver not supported \(AUFS was not found in /proc/filesystems\)",
        ),
        ("btrfs", WRONG_FOLDER, r"btrfs: prerequisites .*\(wrong filesystem"),
    ],
)
def test_a_driver_that_dockerd_refuses_is_unavailable(driver, log, why):
    with pytest.raises(Unavailable, match=why):
        docker_storage.refuse_refused(Fake(), log, driver)


def test_a_daemon_that_ended_for_another_reason_is_no_matter_of_the_driver():
    docker_storage.refuse_refused(Fake(), "failed to start daemon: address in use", "vfs")


def test_a_daemon_with_another_driver_than_it_was_given_is_not_believed():
    client = ("docker", "--host", "unix://s")
    docker_storage.check_taken(Fake(info=(0, b"vfs\n")), client, "vfs")
    with pytest.raises(LayerError, match="was to store by vfs, and stores by overlayfs"):
        docker_storage.check_taken(Fake(info=(0, b"overlayfs\n")), client, "vfs")


# dmsetup and losetup that keep what there is in a file each, and note what they removed.
TOOLS = {
    "dmsetup": """case $1 in
ls) while read -r one; do echo "$one (253:0)"; done < devices ;;
remove) grep -vxF -- "$3" devices > rest; mv rest devices; echo "device $3" >> removed ;;
esac""",
    "losetup": """case $1 in
-j) echo "/dev/loop-${2##*/}: 0 $2" ;;
-d) echo "loop $2" >> removed ;;
esac""",
}


def test_a_thin_pool_goes_with_all_that_is_on_it_and_below_it(tmp_path):
    root, tools = tmp_path / "root", tmp_path / "bin"
    (root / "devicemapper/devicemapper").mkdir(parents=True)
    tools.mkdir()
    for name in ("data", "metadata"):
        (root / "devicemapper/devicemapper" / name).touch()
    for name, script in TOOLS.items():
        (tools / name).write_text(f"#!/bin/sh\ncd {tmp_path}\n{script}\n")
        (tools / name).chmod(0o755)
    at = (root / "devicemapper").stat()
    own = f"docker-{os.major(at.st_dev)}:{os.minor(at.st_dev)}-{at.st_ino}"
    devices = [f"{own}-pool", f"{own}-base", f"{own}9-pool", "vg-root"]
    (tmp_path / "devices").write_text("".join(f"{one}\n" for one in devices))

    path = f"PATH={tools}:{os.environ['PATH']}"
    done = Host().run(["env", path, "sh", "-c", docker_storage.REMOVE_POOL, str(root)])

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "devices").read_text().split() == [f"{own}9-pool", "vg-root"]
    assert (tmp_path / "removed").read_text().splitlines() == [
        f"device {own}-base",
        f"device {own}-pool",
        "loop /dev/loop-data",
        "loop /dev/loop-metadata",
    ]


def test_without_a_thin_pool_there_is_nothing_to_remove(tmp_path):
    done = Host().run(["sh", "-c", docker_storage.REMOVE_POOL, str(tmp_path / "root")])

    assert done.returncode == 0
