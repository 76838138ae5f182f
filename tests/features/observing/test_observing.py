"""Observers are put over matches that were played, or that somebody else recorded."""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.run import open_run

ASKED: list[str] = []


@pytest.fixture(autouse=True)
def model() -> Iterator[None]:
    """An observer that always expects J."""
    ASKED.clear()

    def answer(request: Request) -> str:
        ASKED.append(request.messages[-1].content)
        return "J"

    register("watcher", answer)
    yield
    unregister("watcher")


@pytest.fixture
def ostrom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    from typer.testing import CliRunner

    from ostrom.cli.app import app

    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, list(words))


def predictions(run: Path) -> list[tuple[Any, ...]]:
    with open_run(run) as made:
        return [
            (row["match"], row["round"], row["target"], row["answer"], row["agent"])
            for row in made.rows.decisions()
            if row["kind"] == "predict"
        ]


def test_imported_matches_are_watched_as_they_were_recorded(ostrom: Callable[..., Any], tmp_path: Path) -> None:
    columns = "round player1 player2 answer1 answer2 points1 points2 total1 total2".split()
    moves = [("J", "J", 10, 7), ("J", "F", 0, 0), ("J", "J", 10, 7)]
    with Path("bos.csv").open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(columns)
        total = [0, 0]
        for number, (a, b, x, y) in enumerate(moves, 1):
            total = [total[0] + x, total[1] + y]
            rows.writerow([number, "GPT-4", "alternator", a, b, x, y, *total])
    assert ostrom("import", "bos.csv", "--mapping", "repeated-games-bos", "--name", "seen").exit_code == 0
    words = ("observe", "seen", "--model", "scripted/watcher", "--watch", "2", "--set", "agent.constrain=never")
    done = ostrom(*words, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["complete"]
    assert predictions(tmp_path / "runs" / "seen-observed") == [
        (0, number, 2, "opera", "scripted/watcher") for number in (1, 2, 3)
    ]
    assert "Player 1 chose J and received 0 points; Player 2 chose F and received 0 points." in ASKED[2]
    assert "you foretell what Player 2 will do, and nobody" in ASKED[0]
    assert "of Player 2" not in ASKED[0] and "Which action will Player 2 choose in it?" in ASKED[0]
    with open_run(tmp_path / "runs" / "seen-observed") as made:
        told = [(r["agent"], r["label"] or r["action"]) for r in made.rows.decisions() if r["kind"] == "act"]
    assert told[:4] == [
        ("GPT-4 (seat 1)", "opera"), ("alternator (seat 2)", "opera"),
        ("GPT-4 (seat 1)", "opera"), ("alternator (seat 2)", "football"),
    ]  # fmt: skip


def test_played_matches_are_watched_in_the_wording_of_their_cell(ostrom: Callable[..., Any], tmp_path: Path) -> None:
    study = {
        "name": "worded",
        "game": "chicken",
        "mechanism": {"name": "repetition", "rounds": 2},
        "agent": {"style": "direct", "constrain": "never", "framing": {"story": "project", "goal": None}},
        "types": {"m": {"model": "scripted/watcher"}, "s": "constant:0"},
        "seating": "versus",
        "vary": {"labels": {"set": "agent.framing.labels", "to": ["JF", "JX"]}},
    }
    (tmp_path / "worded.yaml").write_text(json.dumps(study))
    assert ostrom("run", "worded.yaml").exit_code == 0
    ASKED.clear()
    done = ostrom("more", "observe", "worded", "--model", "scripted/watcher", "--watch", "1")
    assert done.exit_code == 0, done.output
    assert all(text.startswith("You watch a shared project.") for text in ASKED) and len(ASKED) == 4
    assert [("takes F" in text, "takes X" in text) for text in ASKED].count((True, False)) == 2
    assert all("you foretell what Player 1 will do" in text for text in ASKED)


@pytest.mark.parametrize(
    ("rules", "words", "never"),
    [
        ({}, "", "exactly 3 rounds"),
        ({"told_rounds": True}, "3 rounds", "another round"),
        ({"told_continuation": 0.9}, "90", "exactly 3 rounds"),
    ],
)
def test_observers_know_of_the_end_what_players_knew(
    ostrom: Callable[..., Any], tmp_path: Path, rules: dict[str, Any], words: str, never: str
) -> None:
    study = {
        "name": "end", "game": "chicken", "mechanism": {"name": "repetition", "rounds": 3, **rules},
        "types": {"s": "constant:0"}, "seating": "self", "agent": {"framing": {"labels": "JF"}},
    }  # fmt: skip
    (tmp_path / "end.yaml").write_text(json.dumps(study))
    assert ostrom("run", "end.yaml").exit_code == 0
    done = ostrom("more", "observe", "end", "--model", "scripted/watcher", "--watch", "1")
    assert done.exit_code == 0, done.output
    assert all(words in text and never not in text for text in ASKED) and ASKED


def test_what_cannot_be_watched_is_said(ostrom: Callable[..., Any], tmp_path: Path) -> None:
    study = {
        "name": "once",
        "game": "chicken",
        "types": {"a": "constant:0"},
        "mechanism": {"name": "repetition", "rounds": 2},
    }
    (tmp_path / "once.yaml").write_text(json.dumps(study))
    assert ostrom("run", "once.yaml").exit_code == 0
    from ostrom.ground.errors import UsageError

    for words, complaint in (
        (("--watch", "3"), "--watch 3: match 0 has seats 1 to 2"),
        (("--match", "7"), "--match 7: once has no such match"),
    ):
        done = ostrom("more", "observe", "once", "--model", "scripted/watcher", *words)
        assert isinstance(done.exception, UsageError) and complaint in str(done.exception)
