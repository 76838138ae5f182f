"""oTree's wide table."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import ostrom
from ostrom.features.exporting import otree
from ostrom.studies.run import open_run

R_SCRIPT = Path(__file__).parents[3] / "examples" / "cooperation.R"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_there_are_columns_for_the_longest_match(tmp_path: Path) -> None:
    study = {
        "name": "lengths", "game": "prisoners_dilemma", "mechanism": {"name": "repetition"},
        "types": {"a": "cooperator"}, "vary": {"mechanism.rounds": [3, 2]}, "seeds": 1,
    }  # fmt: skip
    run = ostrom.play(study, runs=tmp_path, progress=False)
    table = rows(run.export(format="otree", out=tmp_path)["participants"])
    assert [row["prisoners_dilemma.3.player.payoff"] for row in table] == ["3.0", "3.0", "", ""]


def test_players_without_a_move_have_their_payoffs(tmp_path: Path) -> None:
    trust = {"name": "trust_amounts", "trustee_endowment": 10}
    cases: list[tuple[Any, dict[str, str], list[list[str]]]] = [
        ("dictator", {"a": "constant:30", "b": "constant:0"}, [["30", "30"], ["no_move", "no_move"]]),
        (trust, {"a": "script:0", "b": "constant:0"}, [["0", "0"], ["no_move", "no_move"]]),
    ]
    for game, types, moves in cases:
        name: str = game if isinstance(game, str) else game["name"]
        rules = {"name": "repetition", "rounds": 2}
        study = ostrom.study(
            {"name": name, "game": game, "mechanism": rules, "types": types, "seating": "seats", "seeds": 1}
        )
        run = ostrom.play(study, runs=tmp_path)
        paid = [[70.0, 70.0], [30.0, 30.0]] if name == "dictator" else [[10.0, 10.0]] * 2
        wide = rows(run.export(format="otree", out=tmp_path)["participants"])
        numbers = ("1", "2")
        table = [[float(row[f"{name}.{n}.player.payoff"]) for n in numbers] for row in wide]
        said = [[row[f"{name}.{n}.player.decision"] for n in numbers] for row in wide]
        assert (table, said) == (paid, moves)
        assert [float(row["participant.payoff"]) for row in wide] == [sum(own) for own in paid]
        assert run.matches["total"].to_list() == [sum(own) for own in paid]
        assert run.matches["score"].to_list() == [own[0] for own in paid]
        logs = run.export(format="inspect", out=tmp_path / name)
        (log,) = [json.loads(path.read_text()) for path in logs.values()]
        rounds = log["samples"][0]["metadata"]["rounds"]
        assert [[r["payoff"] for r in rounds if r["player"] == player] for player in (1, 2)] == paid


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed here")
def test_the_r_example_runs(played: ostrom.Run, tmp_path: Path) -> None:
    path = played.export(format="otree", out=tmp_path)["participants"]
    done = subprocess.run(["Rscript", str(R_SCRIPT), str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "llm" in done.stdout and "tft" in done.stdout


def test_an_app_that_a_person_plays_again_has_a_name_of_its_own(
    played: ostrom.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    games = ["chicken", "trust", "chicken", "chicken"]
    rows = [((n, 1), [{"game": game, "person": "p"}]) for n, game in enumerate(games)]
    monkeypatch.setattr(otree, "_acts", lambda _: iter(rows))
    with open_run(played.path) as run:
        (apps,) = otree._participants(run)
    assert [app for app, _ in apps] == ["chicken", "trust", "chicken_again1", "chicken_again2"]
