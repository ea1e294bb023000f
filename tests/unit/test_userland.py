"""The cache that never holds anything half built, the archive, and delivery to other machines."""

import gzip
import io
import shutil
import threading

import pytest

from tare.errors import LayerError, Unavailable
from tare.ledger import Ledger, leftovers
from tare.machine import Completed, Host
from tare.userland import cache, tree
from tare.userland.cpio import archive

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


def test_two_recipes_of_one_content_share_it(shelf, ledger):
    first = cache.build(shelf, RECIPE, ledger, 0, make)

    assert cache.build(shelf, {"other": 1}, ledger, 0, make) == first
    assert leftovers(ledger.path) == []
    assert not list(shelf.glob("building-*"))


def test_without_room_nothing_is_begun(shelf, ledger):
    with pytest.raises(Unavailable, match=r"needs 1000000000000\.0 GB of disk") as refused:
        cache.build(shelf, RECIPE, ledger, 10**21, make)

    assert "TARE_HOME" in refused.value.mend
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

    words = tree.bootstrap_argv(recipe, "/x/tree.tar")

    assert words[0] == "mmdebstrap"
    assert "--include=fio,mbw" in words
    assert words[-2:] == ["bookworm", "/x/tree.tar"]


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
