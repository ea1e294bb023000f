"""The cache that never holds anything half built, the archive, and delivery to other machines."""

import gzip
import io
import json
import shutil
import threading
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from tare.core.completed import Completed
from tare.core.errors import CommandFailed, ConfigError, LayerError, Unavailable
from tare.machines.ledger import Ledger, leftovers
from tare.machines.machine import Host, text
from tare.machines.userland import System, cache, foreign, guest, programs, system, tree
from tare.machines.userland.cpio import archive
from tare.work.workloads import compile as compiling

RECIPE = {"version": 1}


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / "ledger.jsonl")
    yield made
    made.close()


@pytest.fixture
def shelf(tmp_path):
    return tmp_path / "shelf"


def make(folder, scope):
    (folder / "file").write_text("content")
    return {**RECIPE, "versions": {"fio": "3.33"}}


def test_what_was_built_is_found_by_its_recipe_and_named_by_its_content(shelf, ledger):
    built = cache.build(shelf, RECIPE, ledger, 0, make)

    assert cache.find(shelf, RECIPE) == built
    assert cache.find(shelf, {"version": 2}) is None
    assert built.name == cache.content_id({**RECIPE, "versions": {"fio": "3.33"}})
    assert (built / "file").read_text() == "content"
    assert leftovers(ledger.path) == []


def test_it_is_built_once(shelf, ledger):
    built = []

    def counts(folder, scope):
        built.append(folder)
        return make(folder, scope)

    threads = [
        threading.Thread(target=cache.build, args=(shelf, RECIPE, ledger, 0, counts))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(built) == 1


@pytest.mark.parametrize("error", [LayerError("apt failed"), KeyboardInterrupt()])
def test_a_build_that_fails_leaves_nothing_and_is_not_taken_later(shelf, ledger, error):
    def fails(folder, scope):
        (folder / "half").touch()
        raise error

    with pytest.raises(type(error)):
        cache.build(shelf, RECIPE, ledger, 0, fails)

    assert [path.name for path in shelf.iterdir()] == ["lock"]
    assert cache.find(shelf, RECIPE) is None
    assert leftovers(ledger.path) == []
    assert cache.build(shelf, RECIPE, ledger, 0, make).is_dir()


def test_what_a_killed_build_left_is_not_taken(shelf, ledger):
    built = cache.build(shelf, RECIPE, ledger, 0, make)
    (built / cache.MANIFEST).unlink()

    assert cache.find(shelf, RECIPE) is None


def test_a_folder_of_its_name_without_a_manifest_is_not_taken_for_it(shelf, ledger, tmp_path):
    """A copy for another machine once lay there, and every build ended with what it lacked."""
    elsewhere = cache.build(tmp_path / "elsewhere", {"a": 1}, ledger, 0, make)
    stray = shelf / elsewhere.name
    stray.mkdir(parents=True)
    (stray / "tree.tar").write_text("of a delivery that was cut short")

    built = cache.build(shelf, {"a": 1}, ledger, 0, make)

    assert built == stray
    assert json.loads((built / cache.MANIFEST).read_text())
    assert not (built / "tree.tar").exists()


def test_two_recipes_of_one_content_share_it(shelf, ledger):
    first = cache.build(shelf, RECIPE, ledger, 0, make)

    assert cache.build(shelf, {"other": 1}, ledger, 0, make) == first
    assert leftovers(ledger.path) == []
    assert not list(shelf.glob("building-*"))


def test_without_room_nothing_is_begun(shelf, ledger):
    with pytest.raises(Unavailable, match=r"needs 1000000000000\.0 GB of disk") as refused:
        cache.build(shelf, RECIPE, ledger, 10**21, make)

    assert "TARE_HOME" in refused.value.fix
    assert [path.name for path in shelf.iterdir()] == ["lock"]


def test_a_folder_is_removed_also_when_it_is_not_there(tmp_path):
    folder = tmp_path / "a folder"
    (folder / "below").mkdir(parents=True)

    for _ in range(2):
        assert Host().run(["sh", "-c", cache.REMOVE_FOLDER, str(folder)]).returncode == 0
        assert not folder.exists()


FILES = {"init": b"#!/bin/sh\n", "bin/busybox": b"\0" * 1001, "modules/00.ko": b"", "a/b/c": b"x"}


def members(content):
    """Read a newc archive: 110 bytes of header, name and data each padded to four."""
    stream = io.BytesIO(gzip.decompress(content))
    while True:
        header = stream.read(110)
        assert header[:6] == b"070701"
        fields = [int(header[6 + 8 * i : 14 + 8 * i], 16) for i in range(13)]
        name = stream.read(fields[11])[:-1].decode()
        stream.read(-(110 + fields[11]) % 4)
        data = stream.read(fields[6])
        stream.read(-fields[6] % 4)
        if name == "TRAILER!!!":
            assert stream.read() == b""
            return
        yield name, fields[1], fields[0], data


def test_an_archive_holds_the_files_and_their_folders_first():
    found = list(members(archive(FILES)))

    assert {name: data for name, mode, _, data in found if mode == 0o100755} == FILES
    folders = [name for name, mode, _, _ in found if mode == 0o040755]
    assert folders == ["bin", "modules", "a", "a/b"]
    assert len({inode for _, _, inode, _ in found}) == len(found)


def test_an_archive_is_the_same_again():
    assert archive(FILES) == archive(dict(FILES))


@pytest.mark.skipif(shutil.which("cpio") is None, reason="cpio is not installed")
def test_cpio_reads_the_archive():
    content = gzip.decompress(archive(FILES))

    listed = Host().run(["cpio", "-t", "--quiet"], stdin=content)

    assert listed.returncode == 0
    assert set(listed.stdout.decode().split()) == {*FILES, "bin", "modules", "a", "a/b"}


def test_the_bootstrap_asks_for_the_packages_and_the_suite():
    recipe = {"packages": ["fio", "mbw"], "suite": "bookworm"}

    words = tree.bootstrap_argv(recipe, Path("/x/tree.tar"))

    assert words[:3] == ["env", "TMPDIR=/x", "mmdebstrap"]  # killed, it leaves nothing elsewhere
    assert "--include=fio,mbw" in words
    assert words[-2:] == ["bookworm", "/x/tree.tar"]


def test_the_bootstrap_of_another_architecture_asks_for_it():
    recipe = {"packages": ["fio"], "suite": "bookworm"}

    words = tree.bootstrap_argv(recipe | {"arch": "arm64"}, Path("/x/tree.tar"))

    assert {"--architectures=arm64", "--skip=check/qemu"} <= set(words)
    assert not any("arch" in word for word in tree.bootstrap_argv(recipe, Path("/x/tree.tar")))


def test_a_package_of_another_component_is_asked_for_with_it():
    words = tree.bootstrap_argv({"packages": ["fio", "non-free/netperf"], "suite": "x"}, Path("/t"))

    assert {"--components=main,non-free", "--include=fio,netperf"} <= set(words)
    plain = tree.bootstrap_argv({"packages": ["fio"], "suite": "x"}, Path("/t"))
    assert not any("components" in word for word in plain)


@pytest.mark.parametrize(
    "said",
    [
        "E: Package 'netperf' has no installation candidate",
        "E: Unable to locate package netperf",
        "E: Failed to fetch file:/x/dists/x/non-free/binary-amd64/Packages  404  Not Found",
    ],
)
def test_a_mirror_without_a_component_is_told_from_other_failures(said):
    recipe = {"packages": ["fio", "non-free/netperf"], "suite": "x"}
    stderr = f"I: installing\n{said}\nE: mmdebstrap failed to run\n".encode()
    failed = CommandFailed(Completed(("mmdebstrap",), 25, b"", stderr, 1.0), "host")
    other = CommandFailed(Completed(("mmdebstrap",), 25, b"", b"E: no space left", 1.0), "host")

    with pytest.raises(Unavailable, match="does not give netperf of its component non-free"):
        tree._refuse_missing_component(recipe, failed)
    tree._refuse_missing_component(recipe, other)


# --- programs that Debian lacks


class Tool:
    """A program that is made of words; ``fails`` is what stands in the way."""

    version = "2.0"

    def __init__(self, words, fails=None):
        self.words, self.fails = words, fails

    def recipe(self):
        return {"words": self.words}

    def make(self, host, folder, root, arch):
        if self.fails:
            raise self.fails
        (folder / "source").write_text(self.words)
        (root / "usr/local/bin").mkdir(parents=True, mode=0o700)
        (root / "usr/local/bin/tool").write_text(f"{self.words} for {arch}")


@pytest.fixture
def tool(monkeypatch, tmp_path):
    def known(*args):
        monkeypatch.setattr(programs, "KNOWN", {"tool": Tool(*args)})

    monkeypatch.setenv("TARE_HOME", str(tmp_path))
    monkeypatch.setattr(cache, "builder", lambda folder, scope: Host())
    known("old words")
    return known


def test_a_program_is_built_once_and_named_by_what_it_is_made_of(tool, ledger):
    first = programs.build("tool", "amd64", ledger)
    again = programs.build("tool", "amd64", ledger)
    other = programs.build("tool", "arm64", ledger)
    tool("new words")
    new = programs.build("tool", "amd64", ledger)

    assert first == again
    assert len({first.name, other.name, new.name}) == 3
    assert (other / "root/usr/local/bin/tool").read_text() == "old words for arm64"
    assert [path.name for path in first.iterdir() if path.is_dir()] == ["root"]


@pytest.mark.parametrize("error", [Unavailable("no Go"), LayerError("it does not compile")])
def test_a_program_that_cannot_be_built_leaves_nothing(tool, ledger, tmp_path, error):
    tool("words", error)

    with pytest.raises(type(error), match=str(error)):
        programs.build("tool", "amd64", ledger)

    assert [path.name for path in (tmp_path / "programs").iterdir()] == ["lock"]


def test_a_program_lies_in_the_tree_and_in_the_tar_and_changes_no_mode(tool, ledger, tmp_path):
    root, tar, again = tmp_path / "tree", tmp_path / "tree.tar", tmp_path / "again"
    (root / "usr/local/bin").mkdir(parents=True)
    again.mkdir()
    Host().run(["tar", "-cf", str(tar), "-C", str(root), "."])
    built = {"tool": programs.build("tool", "amd64", ledger)}

    placed = programs.place(Host(), built, root, tar)

    assert placed == {"tool": {"version": "2.0", "id": built["tool"].name}}
    listed = text(Host(), ["tar", "-tf", str(tar)]).splitlines()
    assert len(listed) == len({name.removeprefix("./").rstrip("/") for name in listed})
    assert Host().run(["tar", "-xf", str(tar), "-C", str(again)]).returncode == 0
    for at in (root, again):
        assert (at / "usr/local/bin/tool").read_text() == "old words for amd64"
        assert (at / "usr/local/bin").stat().st_mode & 0o777 == 0o755


def test_programs_are_part_of_a_userlands_recipe_and_their_absence_is_not(tool, ledger):
    plain = tree.Userland("bookworm", ("fio",), ledger)
    old = tree.Userland("bookworm", ("fio",), ledger, programs=("tool",))._recipe()
    tool("new words")
    new = tree.Userland("bookworm", ("fio",), ledger, programs=("tool",))._recipe()

    assert set(plain._recipe()) == {"version", "suite", "packages", "left_out"}
    assert len({cache.content_id(each) for each in (plain._recipe(), old, new)}) == 3


def test_a_program_that_nobody_knows_is_refused():
    with pytest.raises(ConfigError, match="no program is called 'vegetta'; there are: vegeta"):
        programs.recipe(["vegetta"])


def test_versions_are_those_of_packages_and_programs(monkeypatch, tmp_path, ledger):
    manifest = {"versions": {"fio": "3.33-3"}, "programs": {"tool": {"version": "2.0", "id": "x"}}}
    (tmp_path / cache.MANIFEST).write_text(json.dumps(manifest))
    monkeypatch.setattr(cache, "build", lambda *_: tmp_path)
    userland = tree.Userland("bookworm", ("fio",), ledger)

    assert userland.versions == {"fio": "3.33-3", "tool": "2.0"}
    assert userland._base(System()).versions == {"fio": "3.33-3"}, "apt does not know the rest"


def test_vegeta_is_pinned_whole():
    pinned = programs.recipe(["vegeta"])["vegeta"]

    assert f"{pinned['package']} v{pinned['version']} h1:" in pinned["go.sum"]


class Downloading:
    """A host whose downloader leaves a file, or fails."""

    name = "host"

    def __init__(self, words=None):
        self.words, self.asked = words, []

    def run(self, argv, **_):
        self.asked.append(list(argv))
        if self.words is None:
            return Completed(tuple(argv), 100, b"", b"E: Hash Sum mismatch", 0.1)
        Path(argv[-2]).write_text(self.words)
        return Completed(tuple(argv), 0, b"", b"", 0.1)


def source(words="a release"):
    return programs.Source("tool-source", "tool", "1.0", sha256(words.encode()).hexdigest())


def test_a_source_is_fetched_by_its_hash_and_lies_below_usr_src(tmp_path, monkeypatch):
    monkeypatch.setenv("TARE_HOME", str(tmp_path))
    host, one = Downloading("a release"), source()
    one.make(host, tmp_path, tmp_path / "root", "amd64")

    (argv,) = host.asked
    assert argv[-3:] == [
        "http://deb.debian.org/debian/pool/main/t/tool/tool_1.0.orig.tar.gz",
        str(tmp_path / "root/usr/src/tool_1.0.orig.tar.gz"),
        f"SHA256:{one.sha256}",
    ]
    assert Path(argv[-2]).read_text() == "a release"


def test_a_source_that_no_mirror_has_may_be_kept_at_home_if_it_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("TARE_HOME", str(tmp_path))
    kept = tmp_path / "sources/tool_1.0.orig.tar.gz"
    kept.parent.mkdir()
    kept.write_text("another release")
    with pytest.raises(Unavailable, match=r"tool_1.0.orig.tar.gz.*could not be fetched") as caught:
        source().make(Downloading(), tmp_path, tmp_path / "first", "amd64")
    assert str(kept.parent) in str(caught.value)

    kept.write_text("a release")
    host = Downloading()
    source().make(host, tmp_path, tmp_path / "second", "amd64")
    assert host.asked == []
    assert (tmp_path / "second/usr/src/tool_1.0.orig.tar.gz").read_text() == "a release"


def test_what_is_compiled_is_the_source_that_the_userland_holds():
    known = programs.KNOWN["httpd-source"]
    assert (known.version, compiling.SOURCE) == (compiling.VERSION, f"/usr/src/{known.file}")


# --- what cannot be had


MIRROR = b"E: Unable to locate package netperf"


class Bootstrap:
    """A host whose mirror has no component non-free; ``included`` are the packages asked for."""

    name, ephemeral = "host", False

    def __init__(self):
        self.included = []

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        del stdin, timeout_s
        words = list(argv)
        asked = [word.removeprefix("--include=") for word in words if "--include=" in word]
        self.included += asked
        refused = any("netperf" in word for word in asked)
        return Completed(tuple(words), int(refused), b"", MIRROR if refused else b"", 0.0)


@pytest.fixture
def poor(tool, monkeypatch):
    """Have a host that lacks what a program is built by, and a mirror without non-free."""
    host = Bootstrap()
    monkeypatch.setattr(cache, "builder", lambda folder, scope: host)
    monkeypatch.setattr(tree, "installed", lambda tree: {"fio": "3.33-3"})
    monkeypatch.setattr(tree, "sign", lambda *_: None)
    tool("words", Unavailable("Go is not installed", "apt-get install golang-go"))
    return host


def whole(ledger, **missing):
    wanted = ("fio", "non-free/netperf")
    return tree.Userland("bookworm", wanted, ledger, programs=("tool",), **missing)


@pytest.mark.usefixtures("poor")
def test_a_userland_is_built_without_what_cannot_be_had_and_says_why(ledger, tmp_path):
    userland = whole(ledger)
    assert userland.folder.is_dir()

    assert userland.missing["tool"] == ("Go is not installed; fix: apt-get install golang-go")
    assert "does not give netperf of its component non-free" in userland.missing["non-free/netperf"]
    plain = tree.Userland("bookworm", ("fio",), ledger)
    assert plain.id == userland.id, "its address is that of what is in it"
    assert set(json.loads((userland.folder / cache.MANIFEST).read_text())) == {
        "version", "suite", "packages", "left_out", "versions",
    }  # fmt: skip
    assert not list((tmp_path / "userland").glob("building-*"))
    assert leftovers(ledger.path) == []


def test_what_was_lacking_in_the_beginning_is_not_tried_again(poor, tool, ledger):
    before = whole(ledger)
    assert before.folder
    tool("words")  # Go is there by now
    poor.included.clear()

    again = whole(ledger, missing=before.missing)

    assert again.id == before.id
    assert again.missing == before.missing
    assert poor.included == []


@pytest.mark.usefixtures("poor")
def test_what_another_system_lacks_is_not_what_this_one_lacks(ledger):
    userland = tree.Userland("bookworm", ("fio",), ledger, programs=("tool",))
    assert userland.folder
    other = replace(userland, suite="trixie")
    other.missing["fio"] = "gone"

    assert set(userland.missing) == {"tool"}


def test_a_userland_that_is_built_needs_nothing_to_build_it(tool, ledger):
    tool("words")
    first = tree.Userland("bookworm", ("fio",), ledger, programs=("tool",))
    cache.build(tree.home() / "userland", first._recipe(), ledger, 0, make)
    tool("words", Unavailable("Go is not installed"))

    assert tree.Userland("bookworm", ("fio",), ledger, programs=("tool",)).folder == first.folder
    assert first.missing == {}


# --- systems of guests


@pytest.fixture
def bases(monkeypatch, tmp_path, ledger):
    """Give what a guest of a system is made of; userlands are named by what makes them."""

    def build(shelf, recipe, *_):
        name = "-".join([recipe["suite"], recipe.get("arch", "amd64")])
        (tmp_path / name).mkdir(exist_ok=True)
        manifest = {"versions": {"fio": name}}
        (tmp_path / name / cache.MANIFEST).write_text(json.dumps(manifest))
        return tmp_path / name

    monkeypatch.setattr(cache, "build", build)
    return tree.Userland("bookworm", ("fio",), ledger, ("lxc",))._base


@pytest.mark.parametrize(
    ("system", "own", "shared"),
    [
        (System(), "bookworm-amd64", "bookworm-amd64"),
        (System(suite="bookworm"), "bookworm-amd64", "bookworm-amd64"),
        (System(kernel="generic"), "bookworm-amd64", "bookworm-amd64"),
        (System(suite="trixie"), "trixie-amd64", "bookworm-amd64"),
        (System(arch="arm64"), "bookworm-arm64", "bookworm-arm64"),
        (System(suite="trixie", arch="arm64"), "trixie-arm64", "bookworm-arm64"),
    ],
)
def test_a_guest_has_its_own_system_and_the_shared_userland(bases, system, own, shared):
    base = bases(system)

    assert base.userland == "bookworm-amd64", "it goes by the name that layers inside ask for"
    assert (base.tar.parent.name, base.shared.parent.name) == (own, shared)
    assert base.versions == {"fio": own}
    assert ("docker-cli" in base.packages) == (system.suite == "trixie")


def test_every_system_has_a_recipe_of_its_own_and_the_default_is_as_ever(bases):
    systems = [System(), System(kernel="generic"), System(suite="trixie"), System(arch="arm64")]

    recipes = [guest._recipe(bases(system)) for system in systems]

    assert len({cache.content_id(recipe) for recipe in recipes}) == len(systems)
    assert guest._recipe(bases(System(suite="bookworm"))) == recipes[0]
    assert set(recipes[0]) == {"version", "userland", "packages", "kernel", "disk_bytes", "files"}
    assert [recipe["kernel"] for recipe in recipes] == [
        "linux-image-cloud-amd64", "linux-image-amd64", "linux-image-cloud-amd64",
        "linux-image-cloud-arm64",
    ]  # fmt: skip


def test_a_guest_of_another_architecture_says_on_its_own_console_that_it_came_up(bases):
    recipe = guest._recipe(bases(System(arch="arm64")))
    first = recipe["files"]["initramfs-init"].encode()

    assert recipe["console"] == "ttyAMA0"
    assert first.count(system.AMD64_CONSOLE) == 2  # where it answers a probe, and by default


def test_unless_told_a_guest_is_of_the_userlands_own_architecture(bases, ledger):
    on_a_board = tree.Userland("bookworm", ("fio",), ledger, arch="arm64")
    base = on_a_board._base(on_a_board._own_system)

    assert base.system == System(arch="arm64")
    assert base.tar.parent.name == base.shared.parent.name == "bookworm-arm64"
    assert guest._recipe(base)["kernel"] == "linux-image-cloud-arm64"


@pytest.mark.parametrize("name", ["1a2b", "another"])
def test_a_guest_has_the_shared_userland_as_tree_and_tar_that_know_their_name(tmp_path, name):
    system, own, tar = tmp_path / "system", tmp_path / "own", tmp_path / "tree.tar"
    for tree_of in (system, own):
        (tree_of / "etc").mkdir(parents=True)
    assert Host().run(["tar", "-cf", str(tar), "-C", str(own), "etc"]).returncode == 0
    guest.sign(Host(), own, tar, "1a2b")
    assert Host().run(["tar", "-xf", str(tar), "-C", str(system)]).returncode == 0

    guest._place_tree(Host(), system, guest.Base(name, tar, {}))

    known = system / f"var/lib/tare/userland/{name}/tree"
    assert sorted(path.name for path in known.iterdir()) == ["etc", "var"]
    assert (known / f"var/lib/tare/userland/{name}/tree").is_symlink()
    listed = Host().run(["tar", "-tf", str(known.parent / "tree.tar")]).stdout.decode().split()
    assert f"var/lib/tare/userland/{name}/tree" in listed


class Kernel:
    """A machine whose kernel runs some architecture, and knows interpreters for others or not."""

    name, ephemeral = "host", False

    def __init__(self, own, registered=b"", namespaces=0):
        self.answers = {"uname": (0, own), "cat": (0, registered), "sh": (namespaces, b"")}

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        returncode, stdout = self.answers[argv[0]]
        return Completed(tuple(argv), returncode, stdout, b"it cannot", 0.0)


def test_programs_of_another_architecture_run_as_the_machine_can():
    assert foreign.able(Kernel(b"aarch64"), "arm64") == []
    assert foreign.able(Kernel(b"x86_64", b"enabled\nflags: F"), "arm64") == []
    assert foreign.able(Kernel(b"x86_64", b"disabled"), "arm64")[0] == "sh"
    with pytest.raises(Unavailable, match="cannot be run on host: it cannot") as refused:
        foreign.able(Kernel(b"x86_64", namespaces=1), "arm64")
    assert "qemu-user-static" in refused.value.fix


def test_a_machine_of_another_architecture_has_the_same_packages_for_it(ledger):
    here = whole(ledger, missing={"tool": "not here"})
    there = here.of(Kernel(b"aarch64"))

    assert here.of(Kernel(b"x86_64")) is here
    assert here.of(Kernel(b"aarch64")) is there
    assert (there.arch, there.packages, there.missing) == ("arm64", here.packages, here.missing)


class Remote:
    """Another machine, which is a folder of this one; it fails after some commands."""

    name, ephemeral = "host/ssh", False

    def __init__(self, lives=100):
        self.lives, self.asked = lives, 0

    def run(self, argv, *, stdin=b"", timeout_s=60.0):
        self.asked += 1
        if self.asked > self.lives:
            return Completed(tuple(argv), 255, b"", b"connection lost", 0.0)
        return Host().run(argv, stdin=stdin)


def test_a_file_is_delivered_once_in_pieces(tmp_path):
    here, there = tmp_path / "here", tmp_path / "sub folder" / "there"
    here.write_bytes(bytes(range(256)) * 10)
    remote = Remote()

    tree.deliver(here, remote, str(there), chunk_bytes=1000)
    asked = remote.asked
    tree.deliver(here, remote, str(there), chunk_bytes=1000)

    assert there.read_bytes() == here.read_bytes()
    assert remote.asked == asked + 1
    assert [path.name for path in there.parent.iterdir()] == ["there"]


def test_a_delivery_cut_short_is_not_taken_and_begins_anew(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.write_bytes(b"x" * 2500)

    with pytest.raises(Exception, match="connection lost"):
        tree.deliver(here, Remote(lives=3), str(there), chunk_bytes=1000)

    assert not there.exists()
    tree.deliver(here, Remote(), str(there))
    assert there.read_bytes() == here.read_bytes()


def test_a_machine_that_sees_the_files_of_this_host_gets_no_copy(tmp_path, monkeypatch):
    """With TARE_HOME elsewhere a copy went to the folder of everybody else's."""
    monkeypatch.setenv("TARE_HOME", str(tmp_path / "home"))
    own = tmp_path / "home/userland/0123456789ab"
    own.mkdir(parents=True)

    assert tree._place(Remote(), "userland", own.name) == Path("/var/lib/tare/userland") / own.name
    (own / cache.MANIFEST).write_text("{}")
    assert tree._place(Remote(), "userland", own.name) == own
