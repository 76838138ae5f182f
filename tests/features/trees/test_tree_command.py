"""`ostrom tree` asks every answer of a precomputed player once, and play never calls its model."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from ostrom.agents.config import AgentConfig
from ostrom.agents.tree import TreeAgent, tree_key
from ostrom.answers import Answer, Choice
from ostrom.games import build_game
from ostrom.ground.errors import StudyError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.fork import Moves, Walk, moves_of
from ostrom.mechanisms.missing import void_round
from ostrom.mechanisms.protocol import Decision, History, Round, View
from ostrom.studies.run import open_run
from ostrom.testing.check_mechanism import drive
from ostrom.testing.server import LoopbackServer

Command = Callable[..., "subprocess.CompletedProcess[str]"]
ROUNDS = 4
NODES = 2**ROUNDS - 1


def copies_the_last_move(body: dict[str, Any]) -> str:
    """Tit for tat as a model: it reads the other's last move off the prompt."""
    lines = [line for line in body["messages"][0]["content"].splitlines() if line.startswith("Round ")]
    said = [line for line in lines if "Player 2 chose" in line]
    return "J" if not said or "Player 2 chose J" in said[-1] else "F"


def study(folder: Path, model: str, **changes: Any) -> str:
    data: dict[str, Any] = {
        "name": "foretold",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": ROUNDS, "missed": "mark"},
        "agent": {"style": "direct", "framing": {"labels": "JF", "history": "sentences"},
                  "params": {"temperature": 0, "max_tokens": 8}, "model": model},
        "types": {"other": {"tree": "auto"}, "you": "random:0.5"},
        "seating": "seats",
        "seeds": 3,
    }  # fmt: skip
    file = folder / "study.yaml"
    file.write_text(json.dumps({**data, **changes}))
    return file.name


def test_every_history_is_asked_once_and_play_calls_nobody(ostrom: Command, tmp_path: Path) -> None:
    with LoopbackServer(copies_the_last_move) as server:
        file = study(tmp_path, server.model)
        refused = ostrom("run", file)
        assert refused.returncode == 1
        assert f"there is no tree yet; `ostrom more tree {file}` asks its {NODES} answers" in refused.stderr
        shown = ostrom("more", "tree", file)
        assert shown.returncode == 1 and server.count == 0, "the cost is shown before anything is asked"
        assert f"nothing was asked; --yes goes on ({NODES} answers are missing)" in shown.stderr
        partly = ostrom("more", "tree", file, "--yes", "--budget-calls", "5")
        assert partly.returncode == 1 and 0 < server.count < NODES
        half = ostrom("run", file)
        assert half.returncode == 1 and f"of {NODES} answers of other in game prisoners_dilemma" in half.stderr
        made = ostrom("more", "tree", file, "--yes", "--json")
        assert made.returncode == 0 and server.count == NODES, "what was answered is not asked again"
        tree = json.loads(made.stdout)["trees"][0]
        assert (tree["answers"], tree["known"], tree["complete"]) == (NODES, NODES, True)
        again = ostrom("more", "tree", file)
        assert again.returncode == 0 and f"complete, {NODES} answers" in again.stderr and server.count == NODES
        played = ostrom("run", file)
        assert played.returncode == 0 and server.count == NODES, "the model is never called while people play"
    with open_run(tmp_path / "runs" / "foretold") as run:
        rows = list(run.rows.decisions())
    by = {(r["match"], r["round"], r["agent"]): r for r in rows}
    for (match, number, agent), row in by.items():
        if agent == "other":
            before = by.get((match, number - 1, "you"))
            assert row["action"] == ("cooperate" if before is None else before["action"])
            assert row["model"] == server.model and row["reading"] == "exact"
    served = json.loads(ostrom("export", "foretold", "--format", "jsonl", "--json").stdout)
    assert served


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"game": "stag_hunt"}, "trees.1.game.actions: "),
        ({"agent": {"style": "reasoned", "params": {"temperature": 0, "max_tokens": 8}}}, "style"),
    ],
)
def test_another_game_or_prompt_makes_the_tree_invalid(
    ostrom: Command, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with LoopbackServer(copies_the_last_move) as server:
        assert ostrom("more", "tree", study(tmp_path, server.model), "--yes").returncode == 0
        if "agent" in changes:
            changes["agent"]["model"] = server.model
        file = study(tmp_path, server.model, **changes)
        for command in (["run", file], ["more", "tree", file]):
            refused = ostrom(*command)
            assert refused.returncode != 0 and "the tree was made for another study" in refused.stderr
            assert said in refused.stderr and "\n" not in refused.stderr.strip()
        prompts = tmp_path / "own" / "turns"
        prompts.mkdir(parents=True)
        (prompts / "act.txt").write_text("Which one?\n")
        changed = ostrom("run", study(tmp_path, server.model), "--prompts", "own")
        assert changed.returncode == 1 and "its prompts were other ones than now: turns/act.txt" in changed.stderr


@pytest.mark.slow
def test_a_killed_tree_goes_on(tmp_path: Path, ostrom: Command) -> None:
    with LoopbackServer(copies_the_last_move, latency=0.05) as server:
        file = study(tmp_path, server.model, mechanism={"name": "repetition", "rounds": 6})
        command = [sys.executable, "-m", "ostrom", "tree", file, "--yes", "--max-connections", "2"]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 600
        while server.count < 12 and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = server.count
        assert 12 <= before < 63
        assert ostrom("more", "tree", file, "--yes").returncode == 0
        # What was under way when it was killed may be asked again, and nothing else.
        assert 63 <= server.count <= 63 + 2 * 2


def test_the_published_design_has_4092_answers(ostrom: Command, tmp_path: Path) -> None:
    """Two games, two promptings, 1 + 2 + ... + 512 histories each; social prompting asks twice."""
    file = study(
        tmp_path, "openai/gpt-4.1", mechanism={"name": "repetition", "rounds": 10, "told_rounds": True},
        vary={"prompting": {"base": {"types.other.style": "direct"}, "scot": {"types.other.style": "social"}},
              "played": {"set": "game", "to": ["prisoners_dilemma", "battle_of_the_sexes"]}},
        types={"other": {"tree": "auto"}, "you": "random"},
    )  # fmt: skip
    told = json.loads(ostrom("more", "tree", file, "--json").stdout)["trees"][0]
    assert told["answers"] == 4092 and [part["answers"] for part in told["parts"]] == [1023] * 4
    assert told["forecast"]["calls"] == 2 * 1023 + 2 * 2 * 1023


def test_a_walk_meets_every_history_with_the_own_moves_that_follow() -> None:
    game = build_game("public_goods")
    walk = Walk(mechanisms.build({"name": "repetition", "rounds": 3}), game, 1)
    asked = drive(walk, game, Streams(0, 0), lambda d, _: Answer(game.actions[1][len(d.view.history) % 2])).asked
    others = list(product(range(2), repeat=game.seats - 1))
    assert [len(level) for level in asked] == [1, len(others), len(others) ** 2]
    seen = [moves_of(d.view.history, 1) for d in asked[2]]
    assert seen == list(product(others, repeat=2))
    assert {d.view.history[0].actions[1] for d in asked[2]} == {0}
    places = {(step, player): moves for step, player, moves in walk.places(game)}
    assert all(places[s, d.player] == moves_of(d.view.history, 1) for s, ds in enumerate(asked) for d in ds)


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ({"params": {"temperature": 0.7}}, "tree needs a model with params.temperature 0"),
        ({"memory": "forgetting:0.1"}, "a tree needs a memory without notes and without chance"),
        ({"memory": "summary"}, "a tree needs a memory without notes and without chance"),
        ({"framing": {"order": "shuffled"}}, "a tree needs the same words in every match"),
    ],
)
def test_what_is_not_the_same_every_time_has_no_tree(
    ostrom: Command, tmp_path: Path, agent: dict[str, Any], said: str
) -> None:
    other = {"tree": "auto", "model": "openai/gpt-4.1", "params": {"temperature": 0}, **agent}
    refused = ostrom("more", "tree", study(tmp_path, "x", agent={}, types={"other": other, "you": "random"}))
    assert refused.returncode == 2 and said in refused.stderr


def test_a_void_round_is_none_of_the_tree() -> None:
    """The answer is that of the rounds that were played; what the tree does not hold is refused by name."""
    game = build_game("prisoners_dilemma")
    config = AgentConfig(model="a/b", tree="auto", params={"temperature": 0})
    told = {"repeated": True}
    answers: dict[Moves, Answer] = {(): Answer("cooperate", "exact"), ((1,),): Answer("defect", "exact")}
    agent = TreeAgent(config, {tree_key(config, game, 0, "repetition", told): answers})
    played = Round(1, (0, 1), game.payoff((0, 1)))
    void = void_round(game, 2, (1,))

    def decision(*rounds: Round) -> Decision:
        past = History(list(rounds), gaps=any(r.void for r in rounds))
        return Decision(
            0, "act", View(game, 0, "repetition", len(rounds) + 1, past, told), Choice(game.named_actions(0))
        )

    context: Any = None
    assert (
        agent.reply(decision(played, void), context).value == agent.reply(decision(played), context).value == "defect"
    )
    assert agent.reply(decision(void), context).value == "cooperate"
    with pytest.raises(StudyError, match=r"no answer to this 'act' decision in game .*, seat 1, round 3"):
        agent.reply(decision(played, played), context)
