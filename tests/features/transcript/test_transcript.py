"""A match as it was said: prompts, replies and readings, in order and complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ostrom.cli.app import app
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import RetryPolicy
from ostrom.engine.rows import Rows
from ostrom.features.transcript.command import _print
from ostrom.features.transcript.transcript import ended_early, transcript, tried, words_of
from ostrom.ground.errors import UsageError
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.testing.faults import Faults
from ostrom.testing.server import LoopbackServer


def played(
    tmp_path: Path, server: LoopbackServer, rounds: int = 8, limit: int | None = None, **agent: Any
) -> Path:
    data = {
        "name": "said",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": rounds},
        "types": {"model": {"model": server.model, "style": "direct", **agent}, "tft": "tit_for_tat"},
        "seating": "ordered",
        "seeds": 1,
        "invalid": {"retries": 1, "policy": "fail"},
    }
    play(
        load_study(data),
        runs=tmp_path,
        options=PlayOptions(limit=limit, retry=RetryPolicy(tries=2, first=0.0)),
    )
    return tmp_path / "said"


def told(path: Path, match: int, **which: Any) -> list[dict[str, Any]]:
    with open_run(path) as run:
        return list(transcript(run, match, **which))


def test_every_call_is_told_once_with_what_the_server_saw(tmp_path: Path) -> None:
    with LoopbackServer() as server:
        path = played(tmp_path, server, style="social", memory={"name": "summary", "keep": 1, "every": 3})
        sent = [body["messages"] for body in server.bodies()]
    found = [d for match in range(4) for d in told(path, match)]
    said = [call["messages"] for decision in found for call in decision["calls"]]
    assert sorted(map(str, said)) == sorted(map(str, sent))
    assert {d["kind"] for d in found} == {"note", "predict", "act"}
    assert all(len(d["calls"]) == (d["agent"] == "model") for d in found)


def test_questions_within_a_decision_come_before_it(tmp_path: Path) -> None:
    with LoopbackServer() as server:
        path = played(tmp_path, server, style="social", memory={"name": "summary", "keep": 1, "every": 3})
    decisions = told(path, 1, number=5, player=1)
    assert [d["kind"] for d in decisions] == ["note", "predict", "act"]
    assert "write a note" in decisions[0]["calls"][0]["messages"][0]["content"]
    assert decisions[1]["answer"] in ("cooperate", "defect") and decisions[1]["payoff"] is None
    assert decisions[2]["payoff"] is not None and decisions[2]["calls"][0]["part"] == "try0"


def test_tries_that_failed_and_replies_that_could_not_be_read_are_told(tmp_path: Path) -> None:
    answers = iter(["no idea", "[A0]"])
    with LoopbackServer(lambda _: next(answers, "[A0]"), faults=Faults(first=("server_error",))) as server:
        path = played(tmp_path, server, rounds=1)
    decisions = [d for match in range(4) for d in told(path, match) if len(d["calls"]) > 1]
    calls = [call for decision in decisions for call in decision["calls"]]
    assert [c["status"] for c in calls if c["error"]] == [500]
    assert [c["reply"] for c in calls].count("no idea") == 1
    corrected = next(d for d in decisions if d["complaints"])
    assert (
        corrected["calls"][-1]["messages"][1]["content"] == "no idea" and corrected["answer"] == "cooperate"
    )


def test_a_match_that_failed_tells_what_it_did_not_get_over(tmp_path: Path) -> None:
    with LoopbackServer(lambda _: "no idea") as server:
        path = played(tmp_path, server)
    asked, script = told(path, 1)
    assert asked["answer"] is None and [c["reply"] for c in asked["calls"]] == ["no idea", "no idea"]
    assert script["answer"] == "cooperate"


def test_a_match_of_scripts_is_told_though_nothing_was_asked(tmp_path: Path) -> None:
    with LoopbackServer() as server:
        path = played(tmp_path, server)
    decisions = told(path, 3)
    assert [d["answer"] for d in decisions] == ["cooperate"] * 16 and not any(d["calls"] for d in decisions)


@pytest.mark.parametrize(
    ("which", "why"),
    [
        ({"match": 4}, "match 4: said has the matches 0 to 3"), ({"match": -1}, "has the matches 0 to 3"),
        ({"match": 0, "player": 3}, "player 3: match 0 has the players 1 to 2"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said(tmp_path: Path, which: dict[str, Any], why: str) -> None:
    with LoopbackServer() as server:
        path = played(tmp_path, server, rounds=1)
    with pytest.raises(UsageError, match=re.escape(why)):
        told(path, **which)


def test_a_match_that_has_not_begun_is_no_empty_transcript(tmp_path: Path) -> None:
    with LoopbackServer() as server:
        path = played(tmp_path, server, rounds=1, limit=1)
    assert told(path, 0)
    with pytest.raises(UsageError, match="match 1 of said has not begun"):
        told(path, 1)


def test_the_command_looks_once_which_matches_have_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LoopbackServer(lambda _: "no idea") as server:
        played(tmp_path, server)
    looks, begun = [], Rows.tables

    def counted(rows: Rows, match: int | None = None, **how: Any) -> Iterator[Any]:
        looks.append(match)
        return begun(rows, match, **how)

    monkeypatch.setattr(Rows, "tables", counted)
    for match, state in ((1, "state failed, reason "), (3, "state done\n")):
        done = CliRunner().invoke(app, ["transcript", "said", "--match", str(match), "--runs", str(tmp_path)])
        assert done.exit_code == 0 and state in done.output, done.output
    assert looks == [1, 3]


def test_the_command_prints_it_for_people(tmp_path: Path) -> None:
    with LoopbackServer(lambda _: "[A1]") as server:
        played(tmp_path, server, rounds=2)
    done = CliRunner().invoke(
        app, ["transcript", "said", "--match", "1", "--runs", str(tmp_path), "--round", "2"]
    )
    assert done.exit_code == 0, done.output
    assert "=== round 2, player 1 (model): act" in done.output and "=== round 1" not in done.output
    assert "R1: You=A1, P2=A0 -> 5" in done.output and "=> defect (exact, paid 1)" in done.output
    assert "=== round 2, player 2 (tft): act\n\n=> defect (scripted, paid 1)" in done.output


RING = {"ring": ((0, 2), "secret"), "all": ((0, 1, 2), "no")}


@pytest.mark.parametrize(
    ("kind", "answer", "player", "words"),
    [
        ("act", '{"message": "x"}', 1, '{"message": "x"}'),
        ("message", None, 1, None),
        ("message", "no JSON", 1, "no JSON"),
        ("message", '{"text": "x"}', 1, '{"text": "x"}'),
        ("message", '{"message": 3}', 1, '{"message": 3}'),
        ("message", '{"message": " "}', 1, "no message"),
        ("message", '{"message": "x"}', 2, "on all (players 1, 2, 3): x"),
        ("message", '{"message": "x"}', 3, "on ring (players 1, 3, observers): x"),
        ("message", '{"message": "x"}', 4, "x"),
        ("message", '{"message": "x", "to": "all"}', 1, "on all (players 1, 2, 3): x"),
        ("message", '{"message": "x", "to": "player_2"}', 1, "to player 2: x"),
        ("tool_list", '{"server": "s", "tools": [{"name": "a"}], "left_out": ["b"]}', 1, "s\na\nb"),
    ],
)
def test_an_answer_as_people_read_it(kind: str, answer: str | None, player: int, words: str | None) -> None:
    assert words_of(kind, answer, player, RING) == words


@pytest.mark.parametrize(
    ("part", "source", "number", "words"),
    [
        ("try0", "live", 1, "try 1"), ("try1", "live", 2, "asked again, try 2"),
        ("try0.end", "live", 2, "forced end, try 2"),
        ("my_note.try0", "live", 1, "my note, try 1"), ("odd", "live", 1, "odd, try 1"),
        ("try0", "cache", 0, "from the cache"),
        ("try1.end", "cache", 0, "asked again, forced end, from the cache"),
    ],
)  # fmt: skip
def test_which_try_at_a_call_it_was(part: str, source: str, number: int, words: str) -> None:
    assert tried({"part": part, "source": source, "try": number}) == words


def test_a_match_that_did_not_end_early_says_nothing() -> None:
    assert ended_early(None) is None and ended_early({}) is None and ended_early({"over_round": 5}) is None


def call_of(*messages: tuple[str, str], **facts: Any) -> dict[str, Any]:
    usual = {
        "messages": [{"role": role, "content": text} for role, text in messages], "reply": "yes", "reasoning": None,
        "error": None, "model": "m", "tokens_in": None, "tokens_out": None, "latency": 1.25, "try": 1, "part": "x",
        "source": "live", "status": None, "finish": "stop",
    }  # fmt: skip
    return {**usual, **facts}


def test_a_second_try_shows_only_what_is_new(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostrom.features.transcript.transcript.tried", lambda call: f"try {call['try']}")
    first = call_of(("user", "ask"), reasoning="hm", tokens_in=7, tokens_out=2)
    second = call_of(("user", "ask"), ("user", "again"), reply=None, error="down")
    decision = {
        "step": 4, "round": None, "player": 2, "agent": "anna", "stage": None, "kind": None, "calls": [first, second],
        "answer": "C", "said": "cooperate", "reading": "whole", "payoff": 3.0, "agreed": None,
    }  # fmt: skip
    _print(decision)
    text = capsys.readouterr().out
    assert text == (
        "\n=== step 4, player 2 (anna): no answer\n\n--- user\nask\n\n--- m, try 1, 7 tokens in, 2 out, 1.25 s\n"
        "<reasoning>\nhm\n</reasoning>\nyes\n\n--- user\nagain\n\n--- m, try 1, 1.25 s\ndown\n"
        "\n=> cooperate (whole, paid 3)\n"
    )
    other = call_of(("user", "other"))
    _print({**decision, "round": 1, "kind": "act", "calls": [first, other], "payoff": None})
    text = capsys.readouterr().out
    assert (
        "=== round 1, player 2 (anna): act" in text
        and "--- user\nother" in text
        and text.endswith("(whole)\n")
    )
    _print({**decision, "stage": "offer", "kind": "act", "calls": [], "answer": None})
    assert capsys.readouterr().out == "\n=== step 4, player 2 (anna): offer\n"
