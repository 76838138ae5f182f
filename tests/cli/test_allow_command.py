"""Every command that plays agents takes --allow-command; one that only asks models needs none and starts nothing."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.agents.test_tool_servers import command, served
from tests.agents.test_tools import called
from tests.cli.in_process import Call, caller

from ostrom.features.environments import environment
from ostrom.ground.commands import every_command
from ostrom.ground.errors import UsageError
from ostrom.models.base import Reply, Request
from ostrom.models.providers.scripted import register, unregister

REASONS = "I want the most points in the long run, and cooperate while the other one does so. " * 2
ASK_MODELS = {"author", "corpus", "judge", "tree"}
"""They ask models that have no tools, at no seat of a study."""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Call]:
    def answer(request: Request) -> Reply | str:
        if "motives" in request.messages[-1].content:
            return json.dumps({"labels": [], "confidence": 1, "explanation": ""})
        first = request.tools and not any(message.role == "tool" for message in request.messages)
        return called(("count", {"n": 1})) if first else f"{REASONS}\n[A0]"

    register("any", answer)
    yield caller(monkeypatch, tmp_path)
    unregister("any")


def study(log: Path, **types: Any) -> dict[str, Any]:
    return {
        "name": "own",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 1},
        "agent": {"tools": [served("log", str(log), timeout=3600)], "constrain": "never"},
        "types": types or {"m": {"model": "scripted/any"}, "s": {"strategy": "grim", "tools": []}},
        "seating": "seats",
    }


def allowed(log: Path) -> tuple[str, str]:
    return "--allow-command", shlex.join(command("log", str(log)))


def test_every_command_that_plays_takes_it() -> None:
    playing = {
        name: {option for parameter in found.params for option in parameter.opts}
        for name, (*_, found) in every_command().items()
    }
    lacking = {
        name for name, options in playing.items() if "--budget-usd" in options and "--allow-command" not in options
    }
    assert lacking - {"validate"} == ASK_MODELS


@pytest.mark.parametrize("word", [pytest.param("profile", marks=pytest.mark.slow), "observe"])
def test_what_a_study_names_is_refused_first_and_runs_where_it_is_allowed(
    word: str, call: Call, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    Path("own.yaml").write_text(json.dumps(study(log)))
    if word == "profile":
        figure = {"name": "Cooperates", "measure": "cooperation", "where": {"agent": "m"}}
        plain = {**study(log), "name": "plain"}
        del plain["agent"]["tools"], plain["types"]["s"]["tools"]
        Path("plain.yaml").write_text(json.dumps(plain))
        parts = [
            {"name": name, "title": name, "study": f"{name}.yaml", "least": 1, "most": 1, "figures": [figure]}
            for name in ("plain", "own")
        ]
        Path("b.yaml").write_text(yaml.safe_dump({"name": "b", "title": "b", "parts": parts}))
        words = ["more", "profile", "--model", "scripted/any", "--battery", "b.yaml", "--out", "p"]
        left = Path("p")
    else:
        assert call("run", "own.yaml", *allowed(log), "--no-report").code == 0
        log.unlink()
        words, left = ["more", "observe", "own", "--model", "scripted/any"], Path("runs/own-observed")
    refused = call(*words)
    assert refused.code == 2 and shlex.quote(allowed(log)[1]) in refused.err
    assert not left.exists() and not log.exists()  # also nothing of the parts that name no command
    assert call(*words, "--dry-run").code == 0 and not log.exists()
    assert call(*words, *allowed(log)).code == 0
    assert log.read_text().startswith("count 1\n")


def test_a_judge_and_a_tree_start_no_command(call: Call, tmp_path: Path) -> None:
    log = tmp_path / "log"
    Path("own.yaml").write_text(json.dumps(study(log)))
    assert call("run", "own.yaml", *allowed(log), "--no-report").code == 0
    log.unlink()
    judged = call("more", "judge", "own", "--model", "scripted/any", "--json")
    assert judged.code == 0 and json.loads(judged.out)["judgements"]["done"] == 1
    types = {
        "m": {"model": "scripted/any", "tools": [], "tree": "auto", "params": {"temperature": 0}},
        "a": {"mcp": {"command": command("log", str(log))}, "tools": []},
    }
    Path("tree.yaml").write_text(json.dumps({**study(log, **types), "name": "foretold"}))
    assert call("more", "tree", "tree.yaml", "--yes").code == 0 and not log.exists()


def test_an_environment_runs_what_is_allowed_and_refuses_seats(call: Call, tmp_path: Path) -> None:
    log = tmp_path / "log"
    types = {"o": {"model": "outside/o", "tools": []}, "m": {"model": "scripted/any"}}
    with pytest.raises(UsageError, match="--allow-command"):
        environment(study(log, **types))
    with environment(study(log, **types), allow_command=[allowed(log)[1]]) as env:
        episode = env.episode(0)
        for question in episode:
            question.answer("[A0]")
    assert episode.state == "done" and log.read_text() == "count 1\n"
    types["m"] = {"mcp": "seat", "tools": []}
    with pytest.raises(UsageError, match="agents at seats is played by `ostrom run`"):
        environment(study(log, **types))
