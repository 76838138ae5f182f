"""A journal belongs to one study, a manifest is noticed when it changes, and rules that changed are refused."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ostrom.engine import runner
from ostrom.engine.folder import Folder, manifest_bytes
from ostrom.engine.integrity import seal
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.rows import Rows
from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import OstromError, RunError
from ostrom.mechanisms.catalog.repetition import Repetition
from ostrom.mechanisms.protocol import Decision
from ostrom.mechanisms.rounds import Rounds
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

Small = Callable[..., StudyFile]
DILEMMA = {"name": "prisoners_dilemma", "temptation": 5, "reward": 3, "punishment": 1, "sucker": 0}


def rows_of(folder: Path) -> list[dict[str, Any]]:
    with open_run(folder) as run:
        return list(run.rows.matches())


@pytest.mark.parametrize(
    "other",
    [
        {"game": "stag_hunt"},
        {"seed": 7},
        {"mechanism": {"name": "repetition", "rounds": 6, "noise": 0.1}},
        {"types": {"tft": "tit_for_tat", "chance": "random:0.7"}},
        {"seating": "self", "types": {"chance": "random:0.6"}, "seeds": 9},
    ],
)
def test_a_manifest_beside_the_journal_of_another_study_is_refused(
    small: Small, runs: Path, other: dict[str, Any]
) -> None:
    play(small(), name="one", runs=runs, options=PlayOptions(arrays=False))
    play(small(**other), name="two", runs=runs)
    shutil.copy(runs / "two" / "run.json", runs / "one" / "run.json")
    with pytest.raises(RunError, match=r"journal\.db: belongs to another study") as caught:
        rows_of(runs / "one")
    assert "\n" not in str(caught.value)
    with pytest.raises(RunError, match="belongs to another study"):
        play(small(**other), name="one", runs=runs)


def test_what_may_change_between_sessions_does_not_part_a_journal_from_its_study(small: Small, runs: Path) -> None:
    play(small(), runs=runs)
    result = play(small(seeds=3, title="new", budget={"calls": 9}), runs=runs)
    assert result.complete and result.tally.done == 24 and result.tally.resumed == 16
    assert len(rows_of(runs / "small")) == 48


@pytest.mark.slow
def test_any_changed_byte_of_a_manifest_is_noticed(small: Small, runs: Path) -> None:
    play(small(), runs=runs)
    path = runs / "small" / "run.json"
    raw = path.read_bytes()
    assert Folder(runs / "small").manifest()["study"]["name"] == "small"
    for place in range(len(raw)):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        with pytest.raises(RunError) as caught:
            Folder(runs / "small").manifest()
        assert "run.json" in str(caught.value) and "\n" not in str(caught.value)
    path.write_bytes(raw + b"\n")
    with pytest.raises(RunError, match="checksum"):
        Folder(runs / "small").manifest()


WRONG = [None, True, 7, -1.5, "x", [], ["a"], {}, {"a": 1}, [[1]], "\x1b]0;x\x07", 2**63]


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(data, dict):
        for key in data:
            found += places(data[key], (*path, key))
    return found


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    return {**data, path[0]: changed(data[path[0]], path[1:], value)}


@pytest.mark.slow
def test_a_value_of_a_wrong_type_anywhere_in_a_manifest_is_one_line(small: Small, runs: Path) -> None:
    play(small(), runs=runs)
    folder = Folder(runs / "small")
    manifest = folder.manifest()
    for path in places(manifest):
        for value in WRONG:
            (folder.path / "run.json").write_bytes(manifest_bytes(changed(manifest, path, value)))
            try:
                rows_of(folder.path)
            except OstromError as error:
                assert "\n" not in str(error) and len(str(error)) < 1000
    (folder.path / "run.json").write_bytes(manifest_bytes({**manifest, "prompts_folder": ["a"]}))
    with pytest.raises(RunError, match=r"run\.json: prompts_folder: .*\['a'\]"):
        rows_of(folder.path)
    (folder.path / "run.json").write_bytes(manifest_bytes({**manifest, "surplus": 1}))
    with pytest.raises(RunError, match=r"run\.json: surplus"):
        rows_of(folder.path)


# -- replay drift ------------------------------------------------------------------------------------------


def test_scores_that_the_rules_no_longer_give_are_refused_with_player_and_versions(
    small: Small, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(small(), runs=runs, options=PlayOptions(arrays=False))
    before = rows_of(runs / "small")
    pays = TensorGame.payoff
    monkeypatch.setattr(TensorGame, "payoff", lambda self, profile: tuple(1.5 * x for x in pays(self, profile)))
    with pytest.raises(RunError) as caught:
        rows_of(runs / "small")
    text = str(caught.value)
    assert text.startswith(f"{runs}/small/journal.db: match 0, player 1: the scores differ: journaled [")
    assert "rebuilt [" in text and "journaled by ostrom" in text and "read by ostrom" in text
    monkeypatch.undo()
    assert rows_of(runs / "small") == before


@pytest.mark.parametrize("arrays", [True, False])
def test_a_session_that_goes_on_refuses_changed_rules_before_it_plays(
    small: Small, runs: Path, monkeypatch: pytest.MonkeyPatch, arrays: bool
) -> None:
    play(small(), runs=runs, options=PlayOptions(arrays=arrays, limit=3))
    entries = Folder(runs / "small").open_journal().entries
    pays = TensorGame.payoff
    monkeypatch.setattr(TensorGame, "payoff", lambda self, profile: tuple(1.5 * x for x in pays(self, profile)))
    with pytest.raises(RunError, match="the scores differ"):
        play(small(), runs=runs)
    assert Folder(runs / "small").open_journal().entries == entries


def test_another_version_replays_every_finished_match_first(
    small: Small, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(small(seeds=9), runs=runs, options=PlayOptions(limit=50))
    seen: list[int] = []
    replayed = Rows.replayed

    def watched(self: Rows, unit: Any) -> Any:
        seen.append(unit.index)
        return replayed(self, unit)

    monkeypatch.setattr(Rows, "replayed", watched)
    play(small(seeds=9), runs=runs, options=PlayOptions(limit=1))
    assert 0 < len(seen) <= runner.VERIFIED
    seen.clear()
    monkeypatch.setattr(runner, "__version__", "99.0")
    play(small(seeds=9), runs=runs, options=PlayOptions(limit=1))
    assert len(seen) == 51


def test_a_decision_of_another_kind_or_form_is_refused_with_both(
    small: Small, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(small(), runs=runs, options=PlayOptions(arrays=False))
    asks = Rounds.ask

    def renamed(rounds: Rounds, number: int, *rest: Any) -> list[Decision]:
        return [replace(asked, kind="vote" if number == 2 else asked.kind) for asked in asks(rounds, number, *rest)]

    monkeypatch.setattr(Rounds, "ask", renamed)
    with pytest.raises(RunError, match=r'match 0, step 1, player 1: .*journaled \["act".*rebuilt \["vote"'):
        rows_of(runs / "small")


def test_a_match_that_takes_another_course_is_refused(
    small: Small, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(small(vary={}), runs=runs, options=PlayOptions(arrays=False))
    plays = Repetition.play
    for rounds in (5, 7):

        def other(self: Repetition, game: Game, streams: Any, rounds: int = rounds) -> Any:
            return plays(Repetition(rounds=rounds), game, streams)

        monkeypatch.setattr(Repetition, "play", other)
        with pytest.raises(RunError, match=r"match 0.*(another course|ask for more)"):
            rows_of(runs / "small")


def test_moves_that_a_strategy_no_longer_makes_are_refused(
    small: Small, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(small(types={"tft": "tit_for_tat", "grim": "grim"}), runs=runs)
    from ostrom.agents.strategies import strategies

    get = type(strategies).get
    monkeypatch.setattr(type(strategies), "get", lambda self, name: get(self, "defector" if name == "grim" else name))
    with pytest.raises(RunError, match=r"step 0, player \d: the strategy decides otherwise.*'cooperate'.*'defect'"):
        rows_of(runs / "small")


def test_a_resumed_match_compares_before_it_asks(small: Small, runs: Path) -> None:
    import sqlite3

    play(small(vary={}, seeds=1), runs=runs, options=PlayOptions(arrays=False))
    path = runs / "small" / "journal.db"
    with sqlite3.connect(path) as database:  # the last rounds of match 0 are still to be played
        cut = database.execute("DELETE FROM answers WHERE unit=0 AND step>2").rowcount
        cut += database.execute("DELETE FROM units WHERE unit=0").rowcount
        asked = '["act","Choice",{"options":["left","right"]}]'
        database.execute("UPDATE questions SET asked=?, seal=? WHERE id=1", (asked, seal((1, asked))))
        database.execute("UPDATE meta SET value=value-? WHERE key='entries'", (cut,))
    database.close()
    (runs / "small" / "journal.db.tally").unlink()
    with pytest.raises(RunError, match=r'match \d.*journaled \["act".*left.*rebuilt .*cooperate'):
        play(small(vary={}, seeds=1), runs=runs)


# -- links -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["lock", "journal.db", "journal.db.tally", "journal.db-wal", "run.json.tmp", ".run.json.tmp"]
)
def test_a_link_in_a_run_folder_is_never_written_through(small: Small, runs: Path, name: str) -> None:
    target = runs.parent / "precious"
    target.write_text("precious")
    (runs / "small").mkdir(parents=True)
    (runs / "small" / name).symlink_to(target)
    try:
        play(small(), runs=runs)
    except RunError as error:
        assert "symbolic link" in str(error) and name in str(error)
    else:
        assert name.endswith(".tmp")
    assert target.read_text() == "precious"
