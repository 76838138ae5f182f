"""`ostrom import` and `ostrom robustness` as a user runs them."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Command = Callable[..., "subprocess.CompletedProcess[str]"]
ROWS = "round,player1,player2,answer1,answer2,points1,points2,total1,total2\n1,a,b,J,J,8,8,8,8\n2,a,b,F,J,10,0,18,8\n"


def test_exported_inspect_logs_are_imported_from_the_command_line(ostrom: Command, tmp_path: Path) -> None:
    (tmp_path / "pair.yaml").write_text(
        "name: pair\ngame: prisoners_dilemma\nmechanism: {name: repetition, rounds: 3}\n"
        "types: {tft: tit_for_tat, bad: defector}\nseating: unordered\n"
    )
    assert ostrom("run", "pair.yaml").returncode == 0
    assert ostrom("export", "pair", "--format", "inspect", "--out", "logs").returncode == 0
    logs = sorted(str(log.relative_to(tmp_path)) for log in (tmp_path / "logs").glob("*.json"))
    done = ostrom("import", *logs, "--name", "back", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["matches"] == 3
    found = {run: ostrom("estimate", run, "cooperation", "--by", "agent", "--csv").stdout for run in ("pair", "back")}
    assert found["back"].count("\n") == found["pair"].count("\n") == 3


def test_disagreements_are_listed_and_exit_with_1(ostrom: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(ROWS.replace("10,0,18,8", "9,0,17,8"))
    done = ostrom("import", "mine.csv", "--mapping", "repeated-games-pd", "--json")
    assert done.returncode == 1 and "line 3, column points1: says 9" in done.stderr
    assert json.loads(done.stdout)["disagreements"][0]["line"] == 3
    assert not (tmp_path / "runs" / "mine" / "run.json").exists()
    kept = ostrom("import", "mine.csv", "--mapping", "repeated-games-pd", "--bad-rows", "keep")
    assert kept.returncode == 0 and "kept as written" in kept.stderr


def test_the_15_defective_games_of_the_released_table_are_reported(ostrom: Command, data_folder: Path) -> None:
    folder = data_folder / "repeated-games"
    done = ostrom("import", str(folder / "144_games_info.csv"), "--json")
    problems = json.loads(done.stdout)["problems"]
    assert done.returncode == 1 and len(problems) == 15
    numbers = [int(p.split(":")[0].removeprefix("game ")) for p in problems]
    assert numbers == [*range(17, 25), 58, 59, 60, 83, 84, 95, 96]
    assert all("tie" in p for p in problems)
    right = ostrom("import", str(folder / "games_144_repaired.csv"))
    assert right.returncode == 0 and "144 games, all right" in right.stderr
    assert ostrom("validate", str(folder / "144_games_info.csv")).returncode == 2


def test_wrong_use_is_one_line_with_exit_2(ostrom: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(ROWS)
    for arguments, words in (
        (["mine.csv"], "--mapping FILE"),
        (["mine.csv", "--mapping", "repeated-games-pf"], "did you mean"),
        (["other.csv", "--mapping", "axelrod"], "no such file"),
    ):
        done = ostrom("import", *arguments)
        assert done.returncode == 2 and words in done.stderr and len(done.stderr.strip().splitlines()) == 1
