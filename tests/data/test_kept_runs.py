"""Runs of earlier versions open, give the tables that they gave then, and are finished where they were unfinished."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from tests.cli.in_process import caller
from tests.data.make_runs import (
    CHANGING,
    HERE,
    STUDIES,
    VERSIONS,
    Kept,
    columns_of,
    comparable,
    digest,
    do,
    placed,
    read,
    those_who_answer,
)

HOME = Path(__file__).parent
ALL = [(version, kept) for version, entries in VERSIONS.items() for kept in entries]


@pytest.fixture(autouse=True)
def _models() -> Iterator[None]:
    with those_who_answer():
        yield


def expected(version: str, kept: Kept) -> dict[str, str]:
    """The tables of a kept folder, of its finished runs where they were unfinished."""
    return {path.name: path.read_text() for path in sorted((HOME / version / kept.name / "expected").iterdir())}


@pytest.mark.sample(8)
@pytest.mark.parametrize(("version", "kept"), ALL, ids=[f"{version}-{kept.name}" for version, kept in ALL])
def test_a_kept_run_gives_the_same_tables(
    version: str, kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / kept.name
    shutil.copytree(HOME / version / kept.name, home)
    if (STUDIES / kept.name).is_dir():
        shutil.copytree(STUDIES / kept.name, home, dirs_exist_ok=True)
    placed(home, HERE, str(home))
    call, finished = caller(monkeypatch, home), expected(version, kept)
    texts = read(kept, call)
    if kept.goes_on:
        begun = (HOME / version / kept.name / "begun.txt").read_text()
        assert digest(texts, finished).splitlines() == begun.splitlines()
        do(call, kept.goes_on, (0,))
        texts = read(kept, call)
    assert sorted(texts) == sorted(finished)
    leave_out = CHANGING if kept.goes_on else ()
    for name, then in finished.items():
        if name.endswith(".csv"):
            columns = columns_of(then)
            assert comparable(texts[name], columns, leave_out) == comparable(then, columns, leave_out), name
        else:
            assert texts[name] == then, name


@pytest.mark.parametrize("version", VERSIONS)
def test_every_kept_folder_has_its_making(version: str) -> None:
    folders = {path.name for path in (HOME / version).iterdir() if path.is_dir()}
    assert folders == {kept.name for kept in VERSIONS[version]}


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_of_a_machine_is_kept(version: str) -> None:
    for path in (HOME / version).rglob("*.json"):
        text = path.read_text()
        assert not any(place in text for place in ("/home/", "/tmp/", "/root/", "/work/")), path


@pytest.mark.parametrize("version", VERSIONS)
def test_no_table_in_a_kept_folder_was_written_by_a_later_version(version: str) -> None:
    for path in (HOME / version).rglob("tables.json"):
        written_by = orjson.loads(path.read_bytes())["ostrom"]
        assert written_by == orjson.loads(path.with_name("run.json").read_bytes())["versions"]["ostrom"], path
