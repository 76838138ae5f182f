"""What analysis reads of a run: views over fresh tables, typed answers, traces in a stream."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from ostrom.data.rundata import RunData, columns, run_data
from ostrom.data.tables import TABLES
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import RunError, UnknownName, UsageError
from ostrom.models.base import Reply, Request
from ostrom.models.providers import scripted
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile


def study(**changes: Any) -> StudyFile:
    return StudyFile.model_validate(
        {
            "name": "small",
            "game": "prisoners_dilemma",
            "mechanism": {"name": "repetition", "rounds": 4},
            "types": {"kind": "cooperator", "hard": "defector"},
            "vary": {"game": ["stag_hunt", "chicken"], "k": {"set": "agent.memory.k", "to": [3, 0]}},
            "agent": {"memory": {"name": "window", "k": 1}},
            "seeds": 2,
            **changes,
        }
    )


def opened(folder: Path) -> RunData:
    with open_run(folder) as run:
        return run_data(run.rows, run.folder.path, run.manifest)


def played(tmp_path: Path, limit: int | None = None, **changes: Any) -> RunData:
    play(study(**changes), runs=tmp_path, options=PlayOptions(limit=limit))
    return opened(tmp_path / "small")


def test_the_views_hold_the_whole_run(tmp_path: Path) -> None:
    with played(tmp_path) as data:
        assert data.name == "small"
        assert data.factors == ["game", "k"]
        assert data.levels == {"game": ["stag_hunt", "chicken"], "k": [3, 0]}
        assert data.planned == 16
        assert data.rows == {"matches": 32, "rounds": 128, "decisions": 128, "calls": 0}
        frame = data.query("SELECT agent, avg(cooperation) AS c FROM matches GROUP BY agent ORDER BY agent")
        assert frame.rows() == [("hard", 0.0), ("kind", 1.0)]


def test_answers_are_typed_even_when_they_are_empty(tmp_path: Path) -> None:
    import polars as pl

    with played(tmp_path) as data:
        frame = data.query(
            "SELECT match, agent, score, invalid FROM matches JOIN decisions USING (match, agent) WHERE match > ?",
            10_000,
        )
    assert frame.schema == {
        "match": pl.Int64, "agent": pl.String, "score": pl.Float64, "invalid": pl.Boolean,
    }  # fmt: skip


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    with played(tmp_path) as data:
        assert data.query("SELECT count(*) AS n, sum(tokens_in) AS t FROM calls").rows() == [(0, None)]
        assert data.columns("calls") == list(columns("calls", {}))
        assert list(data.traces("agent")) == []


def test_the_columns_of_empty_tables_are_those_of_full_ones(tmp_path: Path) -> None:
    scripted.register("says", "[A0]")
    try:
        data = played(tmp_path, types={"m": {"model": "scripted/says"}})
    finally:
        scripted.unregister("says")
    with data:
        for table in TABLES:
            assert data.rows[table] > 0
            assert data.columns(table) == list(columns(table, {"game": str, "k": int})), table


def test_tables_are_made_again_when_the_journal_has_grown(tmp_path: Path) -> None:
    with played(tmp_path, limit=5) as data:
        assert data.query("SELECT count(DISTINCT match) FROM matches").item() == 5
    with played(tmp_path) as data:
        assert data.query("SELECT count(DISTINCT match) FROM matches").item() == 16


def made(folder: Path) -> dict[str, int]:
    return {p.name: p.stat().st_mtime_ns for p in folder.glob("*.parquet")}


def test_fresh_tables_are_left_alone(tmp_path: Path) -> None:
    with played(tmp_path) as data:
        assert len(dict(data.rows)) == 4
    before = made(tmp_path / "small")
    with opened(tmp_path / "small") as data:
        assert dict(data.rows) == {"matches": 32, "rounds": 128, "decisions": 128, "calls": 0}
    assert len(before) == 4 and made(tmp_path / "small") == before


def test_a_table_is_made_when_it_is_first_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    with played(tmp_path) as data:
        assert not made(folder) and "decisions" in data.rows and "visits" not in data.rows
        assert data.query("SELECT count(*) FROM Matches").item() == 32
        assert list(made(folder)) == ["matches.parquet"]
        with data.filtered("game = 'chicken'") as part:
            assert part.query("SELECT count(*) FROM decisions").item() == 64
        assert sorted(made(folder)) == ["decisions.parquet", "matches.parquet"]
        assert list(data.traces()) == [] and len(made(folder)) == 3
        with pytest.raises(KeyError):
            data.rows["visits"]


def test_tables_that_the_journal_has_outgrown_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    with played(tmp_path, limit=5) as data:
        assert data.rows["decisions"] == 40
    with played(tmp_path) as data:
        assert data.rows["matches"] == 32 and list(made(folder)) == ["matches.parquet"]


@pytest.mark.parametrize("spoil", ["remove", "garble", "older", "record"])
def test_tables_that_cannot_be_trusted_are_made_again(tmp_path: Path, spoil: str) -> None:
    folder = tmp_path / "small"
    with played(tmp_path) as data:
        assert data.rows["matches"] == 32
    (folder / "matches.parquet").write_bytes(b"")
    note = folder / "tables.json"
    if spoil == "remove":
        (folder / "matches.parquet").unlink()
    elif spoil == "garble":
        note.write_text("{")
    elif spoil == "older":
        note.write_bytes(orjson.dumps({**orjson.loads(note.read_bytes()), "ostrom": "0.0.1"}))
    else:
        note.unlink()
    with opened(folder) as data:
        assert data.query("SELECT count(*) FROM matches").item() == 32


def test_a_folder_that_cannot_be_written_gives_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played(tmp_path).close()
    folder = tmp_path / "small"
    (folder / "tables.json").unlink()
    (folder / ".tables.json.tmp").mkdir()
    with pytest.raises(RunError, match=r"tables\.json: cannot be written"):
        opened(folder)


def test_a_run_without_matches_is_empty_and_not_an_error(tmp_path: Path) -> None:
    with played(tmp_path, limit=0) as data:
        assert data.rows == dict.fromkeys(TABLES, 0)
        assert data.query("SELECT game, k, avg(cooperation) FROM matches GROUP BY ALL").height == 0


def test_traces_stream_with_the_columns_of_their_match(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        return Reply("[A0]", reasoning="they were kind", reasoning_kind="raw")

    scripted.register("thinks", answer)
    try:
        data = played(tmp_path, types={"m": {"model": "scripted/thinks"}}, seeds=1)
    finally:
        scripted.unregister("thinks")
    with data:
        traces = list(data.traces("match", "agent", "game", "k", "step", "player"))
        assert len(traces) == 4 * 4 * 2
        assert traces[0] == ((0, "m", "stag_hunt", 3, 0, 1), "they were kind\n\n[A0]")
        assert [key for key, _ in traces] == sorted((key for key, _ in traces), key=lambda k: (k[0], k[4], k[5]))
        one = list(data.traces("player", where="k = ? AND step = 0 AND game = 'chicken'", params=[0], text="reasoning"))
        assert one == [((1,), "they were kind"), ((2,), "they were kind")]
        assert all(isinstance(key[0], int) for key, _ in data.traces())


def test_a_forced_ending_is_no_trace_of_its_own(tmp_path: Path) -> None:
    scripted.register("vague", lambda request: "[A0]" if request.constraint else "Hard to say.")
    try:
        data = played(tmp_path, types={"m": {"model": "scripted/vague", "constrain": "auto"}}, seeds=1, vary={})
    finally:
        scripted.unregister("vague")
    with data:
        assert data.query("SELECT count(*) FROM calls WHERE reply = '[A0]'").item() == 8
        assert data.query("SELECT player, count(*) FROM calls GROUP BY 1 ORDER BY 1").rows() == [(1, 8), (2, 8)]
        assert [text for _, text in data.traces()] == ["Hard to say."] * 8


def test_wrong_columns_and_texts_are_refused_by_name(tmp_path: Path) -> None:
    with played(tmp_path) as data:
        with pytest.raises(UnknownName, match=r"gme.*did you mean game"):
            list(data.traces("gme"))
        with pytest.raises(UsageError, match="allowed: trace, reply, reasoning"):
            list(data.traces(text="prompt"))


STRANGE = (
    "false) UNION ALL SELECT * FROM matches WHERE (true",
    "false UNION ALL SELECT true",
    "true); ATTACH 'other.db' AS other; SELECT (true",
    "true, true",
    "true ORDER BY match",
    "true /*",
    "",
    "(SELECT count(*) FROM read_text('{folder}/own.csv')) > 0",
    "(SELECT count(*) FROM read_csv('{folder}/own.csv')) > 0",
    "(SELECT count(*) FROM '{folder}/own.csv') > 0",
    "(SELECT count(*) FROM glob('{folder}/*')) > 0",
    "(SELECT count(*) FROM 'http://127.0.0.1:1/x.csv') > 0",
    "(SELECT count(*) FROM frame) > 0",
    "getenv('HOME') = ''",
)


@pytest.mark.slow
def test_a_condition_of_a_stranger_is_one_condition_and_reads_matches_alone(tmp_path: Path) -> None:
    import polars as pl

    frame = pl.DataFrame({"a": [1]})  # what Python holds is no table of a condition
    (tmp_path / "own.csv").write_text("a\n1\n")
    with played(tmp_path) as data:
        for condition in STRANGE:
            with pytest.raises(UsageError, match="where ") as caught:
                data.matching_rows(condition.replace("{folder}", str(tmp_path)))
            assert "\n" not in str(caught.value) and frame.height
        assert len(data.matching_rows("true -- all of them")) == 32
        assert {row["match"] for row in data.matching_rows("k = 0 AND game = 'chicken'")} == {6, 7, 14, 15}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.csv", "small"]


def test_a_condition_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostrom.data.rundata.SLOWEST", 0.2)
    endless = "(WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT 1 FROM t) SELECT count(*) FROM t WHERE i = 2) > 0"
    with played(tmp_path) as data, pytest.raises(UsageError, match=r"takes more than 0\.2 s"):
        data.matching_rows(endless)
