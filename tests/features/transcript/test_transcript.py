"""A match as it was said: prompts, replies and readings, in order and complete."""

import re
from pathlib import Path
from typing import Any

import pytest

from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import RetryPolicy
from ostrom.features.transcript.command import _lines
from ostrom.features.transcript.transcript import ended_early, transcript, tried, words_of
from ostrom.ground.errors import UsageError
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.testing.server import LoopbackServer


def played(tmp_path: Path, server: LoopbackServer, rounds: int = 8, limit: int | None = None, **agent: Any) -> Path:
    data = {
        "name": "said",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": rounds},
        "types": {"model": {"model": server.model, "style": "direct", **agent}, "tft": "tit_for_tat"},
        "seating": "ordered",
        "seeds": 1,
        "invalid": {"retries": 1, "policy": "fail"},
    }
    play(load_study(data), runs=tmp_path, options=PlayOptions(limit=limit, retry=RetryPolicy(tries=2, first=0.0)))
    return tmp_path / "said"


def told(path: Path, match: int, **which: Any) -> list[dict[str, Any]]:
    with open_run(path) as run:
        return list(transcript(run, match, **which))


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
    print(*_lines(decision), sep="\n")
    text = capsys.readouterr().out
    assert text == (
        "\n=== step 4, player 2 (anna): no answer\n\n--- user\nask\n\n--- m, try 1, 7 tokens in, 2 out, 1.25 s\n"
        "<reasoning>\nhm\n</reasoning>\nyes\n\n--- user\nagain\n\n--- m, try 1, 1.25 s\ndown\n"
        "\n=> cooperate (whole, paid 3)\n"
    )
    other = call_of(("user", "other"))
    print(*_lines({**decision, "round": 1, "kind": "act", "calls": [first, other], "payoff": None}), sep="\n")
    text = capsys.readouterr().out
    assert "=== round 1, player 2 (anna): act" in text and "--- user\nother" in text and text.endswith("(whole)\n")
    print(*_lines({**decision, "stage": "offer", "kind": "act", "calls": [], "answer": None}), sep="\n")
    assert capsys.readouterr().out == "\n=== step 4, player 2 (anna): offer\n"
