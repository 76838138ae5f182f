"""A game file beside a study: its run holds a copy and is read from anywhere."""

import os
import shutil
from pathlib import Path

import pytest
from tests.cli.in_process import Call, caller

from ostrom.games import copy_game_files
from ostrom.ground.files import content_hash

GAME = """
name: mine
actions: [cooperate, defect]
cooperative: [cooperate, cooperate]
payoffs: [[[3, 3], [0, 5]], [[5, 0], [1, 1]]]
"""
STUDY = """
name: s
game: games/mine.yaml
mechanism: {name: repetition, rounds: 3}
types: {a: tit_for_tat, b: defector}
seeds: 2
"""
ESTIMATE = ("cooperation", "--by", "agent", "--json")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    folder = tmp_path / "studies" / "games"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(GAME, encoding="utf-8")
    (folder.parent / "s.yaml").write_text(STUDY, encoding="utf-8")
    return caller(monkeypatch, tmp_path)


def test_a_run_is_read_without_the_file_that_its_study_named(call: Call, tmp_path: Path) -> None:
    assert call("run", "studies/s.yaml").code == 0
    shutil.rmtree(tmp_path / "studies")
    assert call("estimate", "s", *ESTIMATE).code == 0
    assert call("resume", "s", "--seeds", "3").code == 0


def test_joined_and_shared_runs_have_the_file_too(call: Call, tmp_path: Path) -> None:
    for shard in ("1/2", "2/2"):
        assert call("run", "studies/s.yaml", "--shard", shard).code == 0
    shutil.rmtree(tmp_path / "studies")
    assert call("join", "j", "runs/s.1-of-2", "runs/s.2-of-2").code == 0
    joined = call("estimate", "j", *ESTIMATE)
    assert joined.code == 0
    assert call("export", "j", "--format", "shared", "--out", "copy").code == 0
    shutil.rmtree(tmp_path / "runs")
    assert call("estimate", "copy", *ESTIMATE).code == 0


def test_a_file_that_was_changed_or_is_no_plain_one_is_refused(call: Call, tmp_path: Path) -> None:
    assert call("run", "studies/s.yaml").code == 0
    kept = tmp_path / "runs" / "s" / "games" / "mine.yaml"
    kept.write_text(GAME.replace("[cooperate, cooperate]", "[defect, defect]"), encoding="utf-8")
    done = call("estimate", "s", *ESTIMATE)
    assert done.code == 1 and "games/mine.yaml was changed since the run was begun" in done.err
    kept.unlink()
    kept.symlink_to(tmp_path / "studies" / "games" / "mine.yaml")
    done = call("export", "s", "--format", "shared", "--out", "copy")
    assert done.code == 1 and "is a symbolic link" in done.err
    kept.unlink()
    os.mkfifo(kept)
    assert "is no plain file" in call("report", "s").err
    game = tmp_path / "studies" / "games" / "mine.yaml"
    game.unlink()
    os.mkfifo(game)
    assert "is not a game file (a plain file is needed)" in call("validate", "studies/s.yaml").err


def test_only_what_a_run_keeps_is_copied_from_it(tmp_path: Path) -> None:
    run, elsewhere, target = tmp_path / "run", tmp_path / "elsewhere", tmp_path / "target"
    for folder in (run, elsewhere):
        folder.mkdir()
        (folder / "a.yaml").write_text("a", encoding="utf-8")
    (run / "link").symlink_to(elsewhere)
    known = dict.fromkeys(
        ("a.yaml", "link/a.yaml", "../elsewhere/a.yaml", str(elsewhere / "a.yaml")), content_hash(b"a")
    )
    copy_game_files({**known, "b.yaml": ""}, run, target)
    assert [path.name for path in target.rglob("*")] == ["a.yaml"]
    copy_game_files({"a.yaml": content_hash(b"b")}, run, tmp_path / "other")
    assert not (tmp_path / "other").exists()
