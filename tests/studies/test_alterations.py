"""Single alterations of a run with all seals renewed are found by `check` and `join`, those of rows by opening."""

import random
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.alterations import ALTERATIONS, OF_ROWS, alter, alter_manifest, renew_seals

from ostrom.engine import entries, rows
from ostrom.engine.arrays import ArrayPlayer
from ostrom.engine.integrity import COLUMNS
from ostrom.engine.play_options import PlayOptions
from ostrom.features.joining import join_shards
from ostrom.ground.errors import OstromError, RunError
from ostrom.models.base import Reply, Request, Usage
from ostrom.models.providers.scripted import ScriptedModel
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.studies.verify import check_run

SIZES = {10: 1, 1000: 90, 30_000: 2800}
"""Seeds that give about so many entries."""


def said(request: Request) -> Reply:
    """One of the actions, by the length of what was asked."""
    asked = request.messages[-1].content
    return Reply(f"[A{len(asked) % 2}]", usage=Usage(100, 10), model="anna-1")


def played(runs: Path, seeds: int, shard: str | None = None) -> Path:
    study: dict[str, Any] = {
        "name": "talk",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 3},
        "types": {"anna": {"model": "scripted/anna", "style": "direct"}, "tft": "tit_for_tat"},
        "seating": "seats",
        "seeds": seeds,
    }
    name = "talk" if shard is None else f"shard{shard[0]}"
    options = PlayOptions(shard=shard)
    play(load_study(study), name=name, runs=runs, options=options, open_models=lambda m, _: ScriptedModel(m, said))
    for folder in runs.glob(f"{name}?*"):  # a shard has its number in its name
        folder.rename(runs / name)
    return runs / name


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[Any, Path]:
    return {}


def copied(originals: dict[Any, Path], tmp_path: Path, factory: pytest.TempPathFactory, key: Any) -> Path:
    """A copy of a run that is played once, or of the folder with its two shards."""
    if key not in originals:
        home = factory.mktemp("played")
        originals[key] = home
        if isinstance(key, int):
            played(home, SIZES[key])
        else:
            for shard in ("1/2", "2/2"):
                played(home, 4, shard)
    shutil.copytree(originals[key], tmp_path / "runs")
    return tmp_path / "runs"


BIG = pytest.param(30_000, marks=pytest.mark.slow)


@pytest.mark.parametrize("size", [10, 1000, BIG])
@pytest.mark.parametrize("how", ALTERATIONS)
def test_check_finds_every_single_alteration(
    how: str, size: int, originals: dict[Any, Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = copied(originals, tmp_path, tmp_path_factory, size) / "talk"
    with open_run(folder, checked=False) as run:
        assert size * 0.8 <= run.journal.entries <= size * 1.5
        units = len(run.plan)
    alter(folder, how, [units // 2])
    with pytest.raises(RunError, match=r"match|run\.json") as refused:
        check_run(folder, processes=1)
    assert "\n" not in str(refused.value)


def test_an_unaltered_run_is_intact_before_and_after_its_seals_are_renewed(
    originals: dict[Any, Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = copied(originals, tmp_path, tmp_path_factory, 1000) / "talk"
    before = check_run(folder)
    assert before.followed == before.replayed == before.compared == 90
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        renew_seals(db)
    assert check_run(folder) == before


@pytest.mark.parametrize("how", ALTERATIONS)
def test_join_finds_every_single_alteration_of_a_shard(
    how: str, originals: dict[Any, Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    runs = copied(originals, tmp_path, tmp_path_factory, "shards")
    with open_run(runs / "shard2") as run:
        (unit, *_) = sorted(run.journal.states())
    alter(runs / "shard2", how, [unit])
    with pytest.raises(OstromError):
        join_shards("whole", ["shard1", "shard2"], runs)
    assert not (runs / "whole").exists()


def test_shards_are_joined_and_a_joined_run_is_checked_shard_by_shard(
    originals: dict[Any, Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    runs = copied(originals, tmp_path, tmp_path_factory, "shards")
    join_shards("whole", ["shard1", "shard2"], runs)
    assert check_run(runs / "whole").followed == 4
    with open_run(runs / "shard1") as run:
        (unit, *_) = sorted(run.journal.states())
    alter(runs / "shard1", "reply", [unit])
    with pytest.raises(RunError, match="shard1"):
        check_run(runs / "whole")


@pytest.mark.parametrize("size", [10, pytest.param(1000, marks=pytest.mark.slow), BIG])
@pytest.mark.parametrize("how", OF_ROWS)
def test_opening_finds_altered_rows_where_an_eighth_of_them_is_altered(
    how: str, size: int, originals: dict[Any, Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(entries, "_RANDOM", random.Random(f"{how} {size}"))
    folder = copied(originals, tmp_path, tmp_path_factory, size) / "talk"
    with open_run(folder) as run:
        units = range(len(run.plan))
    alter(folder, how, random.Random(1).sample(units, max(1, len(units) // 8)))
    refusals = 0
    for _ in range(40):
        try:
            open_run(folder).close()
        except RunError:
            refusals += 1
    # Of 24 drawn matches one is an altered one with a chance of .96 or more; these draws are the same in every run.
    assert refusals >= 36


def test_no_more_decisions_are_replayed_than_the_bound_and_that_is_told(
    originals: dict[Any, Path],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = copied(originals, tmp_path, tmp_path_factory, 1000) / "talk"
    with open_run(folder) as run:
        assert run.rows.check_sample() == (24, 24) and not capsys.readouterr().err
    monkeypatch.setattr(rows, "MOST_REPLAYED", 20)  # three matches of six decisions
    open_run(folder).close()
    assert "rows of 3 of 24 drawn matches were held against a replay" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "times", "found"), [(b" " * (1 << 20), 100, "67,108,864 bytes"),
                                                     (b"[]," * (1 << 19), 5, "4,194,304 values")])  # fmt: skip
def test_a_package_that_stands_for_gigabytes_is_refused_whether_it_is_read_or_not(
    text: bytes, times: int, found: str,
    originals: dict[Any, Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    folder = copied(originals, tmp_path, tmp_path_factory, 10) / "talk"
    packer = zlib.compressobj(9)
    bomb = b"".join([*(packer.compress(text) for _ in range(times)), packer.flush()])
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        (last,) = db.execute("SELECT max(id) FROM prompts").fetchone()
        db.execute("INSERT INTO prompts VALUES (?, ?, 0)", (last + 1, bomb))
        db.execute("UPDATE meta SET value=value+1 WHERE key='entries'")
        renew_seals(db)
    assert COLUMNS["prompts"] == "id, texts"
    with pytest.raises(RunError, match=f"package {last + 1} of its prompts: .* has more than {found}"):
        check_run(folder)


def test_a_model_described_otherwise_in_the_manifest_is_found(
    originals: dict[Any, Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = copied(originals, tmp_path, tmp_path_factory, 10) / "talk"
    alter_manifest(folder, lambda manifest: manifest["models"]["scripted/anna"].update(wire="other"))
    with pytest.raises(RunError, match="does not fit the description of scripted/anna in"):
        check_run(folder)


def test_a_run_whose_prompt_files_are_gone_is_replayed_and_says_that_it_is_not_followed(
    originals: dict[Any, Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folder = copied(originals, tmp_path, tmp_path_factory, 10) / "talk"
    from ostrom.engine.chain import Chain

    monkeypatch.setattr(Chain, "_refusal", lambda *_: "its prompt files are not those that it was played with")
    done = check_run(folder)
    assert done.followed == 0 and done.unfollowed is not None and done.compared == done.replayed == 1


SCRIPTS: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
    "moves of a script": ("plays", "intended", lambda moves: bytes([moves[0] ^ 0b1000_0000]) + moves[1:]),
    "random moves": ("plays", "intended", lambda moves: bytes([moves[0] ^ 0b0100_0000]) + moves[1:]),
    "length": ("plays", "rounds", lambda rounds: rounds - 1),
    "scores": ("units", "scores", lambda scores: scores.replace("[", "[1", 1)),
    "facts": ("units", "facts", lambda _: '{"told":1}'),
}
"""Alterations of a match that was played as arrays: its table, its column, and what is put there."""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two kinds of matches (without noise and with it), three of each, all played as arrays."""
    study: dict[str, Any] = {
        "name": "scripts",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 12},
        "vary": {"mechanism.noise": [0.0, 0.2]},
        "types": {"tft": "tit_for_tat", "dice": "random:0.5"},
        "seating": "seats",
        "seeds": 3,
    }
    home = tmp_path_factory.mktemp("scripts")
    play(load_study(study), runs=home)
    return home / "scripts"


def test_matches_of_arrays_are_replayed_as_arrays_and_one_of_every_kind_decision_by_decision(
    scripts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds, verify = list[str](), rows.Rows.verify

    def told(of: rows.Rows, match: int) -> None:
        kinds.append(of.plan.unit(match).key)
        verify(of, match)

    monkeypatch.setattr(rows.Rows, "verify", told)
    checked = check_run(scripts)
    assert checked.replayed == checked.followed == 6
    assert len(kinds) == len(set(kinds)) == 2


@pytest.mark.parametrize("how", SCRIPTS)
def test_check_finds_every_single_alteration_of_a_match_of_arrays(how: str, scripts: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(scripts, tmp_path / "scripts"))
    table, column, change = SCRIPTS[how]
    for unit in (4, 5):  # the last of each kind: the first are replayed decision by decision
        old = put(folder, table, column, unit, change)
        with pytest.raises(RunError, match=f"match {unit}"):
            check_run(folder)
        put(folder, table, column, unit, partial(as_it_was, old))
    assert check_run(folder).followed == 6


def put(folder: Path, table: str, column: str, unit: int, change: Callable[[Any], Any]) -> Any:
    """Alter what a table says of a unit, and renew all seals; returns what it said."""
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        (old,) = db.execute(f"SELECT {column} FROM {table} WHERE unit=?", (unit,)).fetchone()
        db.execute(f"UPDATE {table} SET {column}=? WHERE unit=?", (change(old), unit))
        renew_seals(db)
    return old


def as_it_was(old: Any, _: Any) -> Any:
    """What a table said before."""
    return old


@pytest.mark.parametrize("unit", [4, 5])
def test_a_random_move_that_fits_its_altered_scores_is_drawn_again(unit: int, scripts: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(scripts, tmp_path / "scripts"))
    with open_run(folder) as run:
        rounds, moves = run.journal.play(unit) or (0, b"")
        moves = moves[:-1] + bytes([moves[-1] ^ 1])  # the last move of the second player: nobody answers it
        _, scores = ArrayPlayer().rows(run.plan.unit(unit), rounds, moves)
    assert len(moves) == 3
    put(folder, "plays", "intended", unit, partial(as_it_was, moves))
    put(folder, "units", "scores", unit, partial(as_it_was, entries.dump(scores)))
    with pytest.raises(RunError, match=f"match {unit}, step 11, player 2: the value"):
        check_run(folder)


def test_check_finds_a_call_of_a_match_of_arrays(scripts: Path, tmp_path: Path) -> None:
    for unit in range(6):
        folder = Path(shutil.copytree(scripts, tmp_path / str(unit) / "scripts"))
        with closing(sqlite3.connect(folder / "journal.db")) as db, db:
            db.execute(
                "INSERT INTO calls (unit, step, player, part, try, at, model, key, prompt, nth, params, reply, source, "
                "seal) VALUES (?, 0, 0, '', 0, 0.0, 'm', x'00', 999, 0, '{}', 'hi', 'live', 0)", (unit,),
            )  # fmt: skip
            db.execute("UPDATE meta SET value=value+1 WHERE key='entries'")
            renew_seals(db)
        with pytest.raises(RunError, match="package 999"):
            check_run(folder)
