"""Files that are written whole, or not at all."""

import os
from pathlib import Path

import pytest

from ostrom.ground import files
from ostrom.ground.errors import RunError, StudyError
from ostrom.ground.files import (
    cache_folder,
    read_plain,
    read_text_file,
    refuse_link,
    require_regular_file,
    write_atomically,
)


def test_a_draft_that_somebody_else_has_made_meanwhile_is_not_written_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, draft = tmp_path / "other", tmp_path / ".table.tmp"
    other.write_text("theirs")
    draft.hardlink_to(other)
    monkeypatch.setattr(files, "draft_of", lambda _: draft)
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / "table", b"ours")
    assert other.read_text() == "theirs"


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_bytes(b"12345")
    assert read_plain(path, 5) == b"12345"
    with pytest.raises(RunError, match="has more than 4 bytes"):
        read_plain(path, 4)


def test_only_plain_files_are_read_and_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, words in (("link", "is a symbolic link"), ("folder", "is no plain file"), ("pipe", "is no plain file")):
        with pytest.raises(RunError, match=words):
            read_plain(tmp_path / name)
    assert require_regular_file(tmp_path / "missing") == tmp_path / "missing"
    assert refuse_link(tmp_path / "folder") == tmp_path / "folder"
    with pytest.raises(RunError, match="remove the link"):
        refuse_link(tmp_path / "link")


def test_text_without_its_mark_or_one_line_on_why_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1")
    assert read_text_file(path) == "a: 1"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(StudyError, match=r"study\.yaml: is not UTF-8 text$"):
        read_text_file(path)
    with pytest.raises(StudyError, match=r"none: cannot be read: No such file or directory$"):
        read_text_file(tmp_path / "none")


def test_a_file_takes_its_place_whole_and_leaves_no_draft(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("theirs")
    for name in ("table", ".table.tmp"):
        (tmp_path / name).symlink_to(other)
    write_atomically(tmp_path / "table", b"ours", sync=True, mode=0o600)
    assert (tmp_path / "table").read_bytes() == b"ours" and other.read_text() == "theirs"
    assert (tmp_path / "table").stat().st_mode & 0o777 == 0o600 and not (tmp_path / ".table.tmp").exists()


@pytest.mark.parametrize(
    ("set_to", "folder"),
    [
        ({"OSTROM_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}, "/own/part"),
        ({"XDG_CACHE_HOME": "/xdg"}, "/xdg/ostrom/part"),
        ({"HOME": "/home/a"}, "/home/a/.cache/ostrom/part"),
        ({"OSTROM_CACHE": "~/own", "HOME": "/home/a"}, "/home/a/own/part"),
    ],
)
def test_where_the_cache_is(set_to: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OSTROM_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in set_to.items():
        monkeypatch.setenv(name, value)
    assert cache_folder("part") == Path(folder)
