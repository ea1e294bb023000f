"""Files that stay open from reading to reading, and folders of the kernel."""

import os
from pathlib import Path

import pytest

from tare.experiment.probes.files import KeptFiles, content, subtree


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def files():
    made = KeptFiles()
    yield made
    made.close()


def test_a_file_is_opened_once_and_says_what_is_in_it_now(tmp_path, files):
    path = tmp_path / "stat"
    path.write_text("1")
    before = open_files()

    said = []
    for number in ("1", "22", "3"):
        path.write_text(number)
        said.append(files.content(str(path)))

    assert said == [b"1", b"22", b"3"]
    assert open_files() == before + 1
    files.close()
    assert open_files() == before


def test_a_file_that_was_not_there_is_found_later(tmp_path, files):
    path = tmp_path / "late"
    with pytest.raises(FileNotFoundError):
        files.content(str(path))

    path.write_text("x")

    assert files.content(str(path)) == b"x"


def test_a_file_that_fails_is_opened_anew(tmp_path, files):
    path = tmp_path / "stat"
    path.write_text("old")
    files.content(str(path))
    folder = os.open(tmp_path, os.O_RDONLY)
    os.dup2(folder, files._open[str(path)])  # it can be read no more
    os.close(folder)

    with pytest.raises(IsADirectoryError):
        files.content(str(path))

    assert files.content(str(path)) == b"old"


def test_a_file_of_many_pieces_is_read_whole(tmp_path, files):
    whole = b"0123456789abcde\n" * 50_000
    (tmp_path / "long").write_bytes(whole)

    assert files.content(f"{tmp_path}/long") == whole
    assert content(f"{tmp_path}/long") == whole


def test_a_tree_is_walked_like_os_walk_does(tmp_path):
    for path in ("a/b/c", "a/d", "e"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "a/file").touch()
    (tmp_path / "link").symlink_to("a")

    found = subtree(str(tmp_path))

    assert sorted(found) == sorted(folder for folder, _, _ in os.walk(tmp_path))
    assert subtree(f"{tmp_path}/none") == []
    assert "/sys/fs/cgroup" in subtree("/sys/fs/cgroup")
