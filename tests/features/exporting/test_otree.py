"""oTree's wide table."""

import csv
import shutil
import subprocess
from pathlib import Path

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
