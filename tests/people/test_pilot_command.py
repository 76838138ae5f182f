"""`ostrom pilot`: simulated participants go through the same visit as people; the built-in study is played so."""

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ostrom.api.studies import open_run as open_api_run
from ostrom.engine.plan import Counted
from ostrom.studies.run import open_run
from ostrom.testing.server import LoopbackServer

Command = Callable[..., "subprocess.CompletedProcess[str]"]
STUDY = ("repeated-games-people", "--preset", "smoke", "--set", "people.quota=50")


def piloted(ostrom: Command, *options: str) -> dict[str, Any]:
    done = ostrom("pilot", *STUDY, *options, "--json")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def rows(folder: Path, name: str = "repeated-games-people-pilot") -> tuple[list[Any], list[Any]]:
    with open_run(folder / "runs" / name) as run:
        return list(run.rows.matches()), list(run.rows.decisions())


@pytest.mark.slow
def test_everybody_finishes_both_games_and_cells_are_balanced(ostrom: Command, tmp_path: Path) -> None:
    told = piloted(ostrom, "--people", "16")
    assert told["people"] == 16 and told["ends"] == {"done": 16}
    counts = [cell["done"] for cell in told["cells"].values()]
    assert sum(counts) == 16 and max(counts) - min(counts) <= 4
    matches, decisions = rows(tmp_path)
    played = [row for row in matches if row["unit"] == "match" and row["agent"] == "you"]
    assert len(played) == 32 and {row["state"] for row in played} == {"done"}
    assert {row["game"] for row in played} == {"prisoners_dilemma", "battle_of_the_sexes"}
    acts = [row for row in decisions if row["kind"] == "act" and row["agent"] == "you"]
    assert {row["reading"] for row in acts} == {"person"} and {row["seat"] for row in acts} == {2}


@pytest.mark.slow
def test_who_drops_out_and_who_misses_is_on_record_and_the_same_again(ostrom: Command, tmp_path: Path) -> None:
    options = ("--people", "20", "--dropout", "0.5", "--miss", "0.3")
    told = piloted(ostrom, *options)
    gone = told["ends"].get("departed", 0) + told["ends"].get("timed_out", 0)
    assert 4 <= gone <= 19 and told["ends"]["done"] == 20 - gone
    _, decisions = rows(tmp_path)
    missed = [row for row in decisions if row["missed"]]
    assert missed and all(row["action"] is None and row["payoff"] == 0 for row in missed if row["payoff"] is not None)
    again = piloted(ostrom, *options, "--name", "again")
    assert again["ends"] == told["ends"]


def test_a_model_decides_for_participants_and_its_calls_are_journaled(ostrom: Command, tmp_path: Path) -> None:
    with LoopbackServer(lambda body: "J") as server:
        told = piloted(ostrom, "--people", "2", "--model", server.model)
        assert told["ends"] == {"done": 2} and told["calls"] == server.count == 2 * 2 * 2
    _, decisions = rows(tmp_path)
    acts = [row for row in decisions if row["kind"] == "act" and row["agent"] == "you"]
    assert {row["label"] for row in acts} == {"J"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("pd-tournament",), "has no section 'people'; `ostrom run` plays it"),
        ((*STUDY, "--model", "a/b", "--strategy", "grim"), "--model and --strategy exclude each other"),
    ],
)
def test_what_cannot_be_piloted_is_refused_with_one_line(
    ostrom: Command, arguments: tuple[str, ...], said: str
) -> None:
    refused = ostrom("pilot", *arguments)
    assert refused.returncode == 2 and said in refused.stderr and refused.stderr.count("\n") == 1


@pytest.mark.slow
def test_the_built_in_study_is_that_of_the_paper(ostrom: Command) -> None:
    told = json.loads(ostrom("more", "tree", "repeated-games-people", "--json").stdout)["trees"][0]
    assert told["answers"] == 4092 and {part["seat"] for part in told["parts"]} == {1}
    assert ostrom("validate", "repeated-games-people").returncode == 0


def test_a_strategy_that_has_no_meaning_in_a_game_is_refused_before_anybody_comes(
    ostrom: Command, tmp_path: Path
) -> None:
    done = ostrom("pilot", *STUDY, "--people", "2", "--strategy", "tit_for_tat")
    assert done.returncode and "needs a cooperative action" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_pilot_that_everybody_went_through_is_complete_whatever_became_of_its_matches(
    ostrom: Command, tmp_path: Path
) -> None:
    done = ostrom("pilot", *STUDY, "--people", "8", "--dropout", "0.6", "--seed", "3")
    assert "8 of 8 visits are over: the pilot is complete" in done.stdout + done.stderr
    with open_run(tmp_path / "runs" / "repeated-games-people-pilot") as run:
        states = run.journal.states()
        assert Counter(states.values())["skipped"] == 1  # a match that somebody left
        assert run.plan.progress(states) == Counted(8, 8, 0, 0)
        assert run.plan.played(states) == Counted(8, 8, 1, 0)
        under_way = {index: state for index, state in states.items() if index != 0}
        assert run.plan.progress(under_way) == Counted(8, 7, 0, 0)
        assert run.plan.played(under_way).planned == 9
        taken_back = {**states, 0: "withdrawn"}
        assert run.plan.progress(taken_back) == Counted(7, 7, 0, 0)
    (row,) = json.loads(ostrom("list", "runs", "--json").stdout)
    assert (row["matches"], row["finished"], row["state"]) == (8, 8, "8 of 8 people done, complete")
    assert repr(open_api_run(tmp_path / "runs" / "repeated-games-people-pilot")).endswith("8 of 8 people done>")
    assert ostrom("report", "repeated-games-people-pilot").returncode == 0
    page = (tmp_path / "runs" / "repeated-games-people-pilot" / "report" / "index.html").read_text()
    assert "not complete" not in page
