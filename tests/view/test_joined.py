"""The viewer shows a joined run like any other: its state, its matches, their calls, and a search over all shards."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.features.joining.conftest import asked, play_joined, play_shards, play_whole

from ostrom.engine.entries import UNIT
from ostrom.engine.folder import Folder
from ostrom.engine.integrity import with_checksum
from ostrom.features.joining import join_shards
from ostrom.ground.errors import RunError
from ostrom.studies.run import open_run
from ostrom.testing.server import LoopbackServer
from ostrom.view.check import checked
from ostrom.view.index import RunIndex, index_path
from ostrom.view.index_writer import update
from ostrom.view.listing import MatchList
from ostrom.view.match import decision_of, match_of
from ostrom.view.shelf import RunsFolder
from ostrom.view.states import DAMAGED, StatusPoller


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with ``many/whole``, joined from three shards, and ``one/whole``, the same undivided."""
    folder = tmp_path_factory.mktemp("joined")
    with LoopbackServer() as server:
        play_whole(asked(server.model), folder / "one")
        play_joined(asked(server.model), folder / "many", 3)
    yield folder


def test_it_is_checked_journal_by_journal(runs: Path, tmp_path: Path) -> None:
    whole = checked(runs / "many" / "whole")
    assert whole["entries"] == sum(int(checked(part.path)["entries"]) for part in Folder(runs / "many" / "whole").parts)
    assert Folder(runs / "many" / "whole").being_played is False


def test_its_matches_and_calls_are_read_from_their_shards(runs: Path) -> None:
    shelves = [RunsFolder(runs / name) for name in ("many", "one")]
    try:
        for number in (0, 4, 17):
            shown = []
            for shelf in shelves:
                with shelf.opened("whole") as run:
                    match = match_of(run, number)
                    step = match["steps"][0]
                    decision = decision_of(run, match, step["step"], min(step["players"]))
                    tries = [(t.facts["part"], t.texts, t.messages) for t in decision["tries"]]
                    shown.append((match, tries))
            assert shown[0] == shown[1]
    finally:
        for shelf in shelves:
            shelf.close()


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """The list of a run as a page reads it, in slices; sums of prices depend on the order of calls."""
    with open_run(folder) as run, closing(MatchList(run)) as listed:
        while not listed.update(0.0):
            assert listed.progress.matches <= 18
        assert listed.progress.complete and listed.progress.calls == run.journal.spent()["calls"]
        return [{**row, "usd": 0.0} for row in listed.matches().rows]


def test_its_list_is_that_of_the_undivided_run(runs: Path) -> None:
    rows = rows_of(runs / "one" / "whole")
    assert rows_of(runs / "many" / "whole") == rows and len(rows) == 18
    shard = rows_of(runs / "many" / "whole.2-of-3")
    assert [(r["match"], r["calls"], r["strips"]) for r in shard] == [
        (r["match"], r["calls"], r["strips"]) for r in rows if r["match"] % 3 == 1
    ]


def test_a_match_in_the_journal_of_another_shard_is_refused(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "many", tmp_path / "many")
    with closing(sqlite3.connect(tmp_path / "many" / "whole.2-of-3" / "journal.db")) as journal, journal:
        journal.execute(UNIT, with_checksum((3, "done", None, 3, None, None)))
    with (
        open_run(tmp_path / "many" / "whole", checked=False) as run,
        closing(MatchList(run)) as listed,
        pytest.raises(RunError, match="holds match 3, which belongs to shard 1, not 2"),
    ):
        listed.update()


@pytest.mark.slow
def test_an_index_follows_the_shards_that_a_run_is_joined_from(tmp_path: Path) -> None:
    with LoopbackServer() as server:
        shards = play_shards(asked(server.model), tmp_path, 2)
        join_shards("whole", shards, tmp_path)
        assert update(tmp_path / "whole")
        [again] = play_shards(asked(server.model), tmp_path / "other", 2, only=[2])
    join_shards("whole", [shards[0], again], tmp_path)
    with RunIndex(index_path(tmp_path / "whole")) as index:
        assert not index.is_of(Folder(tmp_path / "whole"))
    assert update(tmp_path / "whole")
    with RunIndex(index_path(tmp_path / "whole")) as index:
        assert index.is_of(Folder(tmp_path / "whole"))


def test_a_shard_that_is_gone_is_said_to_be(runs: Path, tmp_path: Path) -> None:
    moved = runs / "many" / "whole.2-of-3"
    moved.rename(runs / "gone")
    try:
        status = StatusPoller(Folder(runs / "many" / "whole")).poll()
        assert status.state == DAMAGED and status.line is not None and "is not there" in status.line
        assert "is not there" in str(checked(runs / "many" / "whole")["line"])
    finally:
        (runs / "gone").rename(moved)


def test_rows_of_every_shard_are_looked_at(runs: Path) -> None:
    with open_run(runs / "many" / "whole") as run:
        for count, each in ((1, 1), (3, 1), (4, 2)):
            sample = run.journal.sample(count)
            assert sorted(unit % 3 for unit in sample) == sorted([0, 1, 2] * each)
