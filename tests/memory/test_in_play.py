"""Memories in real matches: notes are decisions in the journal, seats may remember differently."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostrom.ground.errors import StudyError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play

PROMPTS: list[str] = []


def answer(request: Request) -> str:
    text = request.messages[0].content
    PROMPTS.append(text)
    if "write a note to yourself" in text:
        numbers = [int(n) for n in re.findall(r"^R(\d+):", text, re.M)]
        return f"Rounds up to {numbers[-1]} went well."
    if "Which ones do you want to see?" in text:
        return '{"rounds": [1, 3]}'
    if "Which ones do you keep?" in text:
        numbers = [int(n) for n in re.findall(r"^R(\d+):", text, re.M)]
        return f'{{"rounds": [{numbers[0]}, {numbers[-1]}]}}'
    return "[A0]"


@pytest.fixture(autouse=True)
def model() -> Iterator[None]:
    PROMPTS.clear()
    register("noting", answer)
    yield
    unregister("noting")


def study(**more: Any) -> dict[str, Any]:
    return {
        "name": "notes",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 9},
        "agent": {"model": "scripted/noting", "style": "direct", "constrain": "never"},
        **more,
    }


def with_memory(memory: Any, **more: Any) -> dict[str, Any]:
    data = study(**more)
    return {**data, "agent": {**data["agent"], "memory": memory}}


def test_a_note_is_a_decision_of_its_own_and_replaces_the_rounds_it_covers(tmp_path: Path) -> None:
    play(load_study(with_memory("summary:keep=2,every=3,words=12")), runs=tmp_path)
    with open_run("notes", tmp_path) as run:
        notes = [r for r in run.rows.decisions() if r["kind"] == "note" and r["player"] == 1]
    assert [(r["round"], r["answer"]) for r in notes] == [
        (6, "Rounds up to 3 went well."),
        (9, "Rounds up to 6 went well."),
    ]
    last = [p for p in PROMPTS if "This is round 9." in p and "You are Player 1" in p][-1]
    assert "<note>\nRounds up to 6 went well.\n</note>" in last
    assert re.findall(r"^R(\d+):", last, re.M) == ["7", "8"]
    rewriting = [p for p in PROMPTS if "which the new one replaces" in p]
    assert rewriting and all("Rounds up to 3 went well." in p for p in rewriting)
    assert re.findall(r"^R(\d+):", rewriting[0], re.M) == ["4", "5", "6"]
    assert "at most 12 words" in rewriting[0]


def in_view(number: int, player: int = 1) -> list[str]:
    """The rounds shown to a player when it acts in a round."""
    prompts = [p for p in PROMPTS if f"This is round {number}." in p and f"You are Player {player}" in p]
    return re.findall(r"^R(\d+):", prompts[-1], re.M)


def test_a_player_sees_the_rounds_it_asked_for(tmp_path: Path) -> None:
    play(load_study(with_memory("asked:2")), runs=tmp_path)
    with open_run("notes", tmp_path) as run:
        rows = [r for r in run.rows.decisions() if r["kind"] == "recall" and r["player"] == 1]
    assert [r["round"] for r in rows] == [4, 5, 6, 7, 8, 9]
    assert in_view(3) == ["1", "2"] and in_view(9) == ["1", "3"]
    asking = [p for p in PROMPTS if "Which ones do you want to see?" in p]
    assert asking and not any(re.search(r"^R\d+:", p, re.M) for p in asking)
    assert any("at most 2 different round numbers from 1 to 8" in p for p in asking)


def test_a_round_that_is_not_in_view_cannot_be_kept(tmp_path: Path) -> None:
    replies: dict[str, int] = {}

    def greedy(request: Request) -> str:
        text = request.messages[0].content
        if "Which ones do you keep?" not in text:
            return "[A0]"
        replies[text] = replies.get(text, 0) + 1
        return '{"rounds": [99]}' if replies[text] == 1 else '{"rounds": []}'

    register("noting", greedy)
    data = with_memory("curated:1", mechanism={"name": "repetition", "rounds": 3})
    result = play(load_study(data), runs=tmp_path)
    assert result.tally.invalid == 2


def test_notes_find_rounds_and_are_not_shown(tmp_path: Path) -> None:
    play(load_study(with_memory("retrieval:3,by=notes,words=8")), runs=tmp_path)
    with open_run("notes", tmp_path) as run:
        notes = [r for r in run.rows.decisions() if r["kind"] == "note" and r["player"] == 1]
    assert len(notes) == 8
    acting = [p for p in PROMPTS if "This is round 9." in p and "write a note" not in p]
    assert acting and not any("<note>" in p for p in acting)
    assert len(in_view(9)) == 3 and in_view(9)[-1] == "8"


def test_a_tally_is_shown_in_words_without_rounds(tmp_path: Path) -> None:
    play(load_study(with_memory("tally")), runs=tmp_path)
    last = [p for p in PROMPTS if "This is round 9." in p and "You are Player 1" in p][-1]
    assert "8 rounds have been played." in last and "You=A0, P2=A0: 8 times" in last
    assert not re.findall(r"^R\d+:", last, re.M)


@pytest.mark.parametrize(
    ("of", "first", "second"),
    [
        ("combinations", "You=invest, P2=share: 2 times", "You=share, P1=invest: 2 times"),
        ("players", "You=invest: 2 times\nP2=share: 2 times", "You=share: 2 times\nP1=invest: 2 times"),
    ],
)
def test_a_tally_calls_everybodys_actions_by_their_own_names(tmp_path: Path, of: str, first: str, second: str) -> None:
    def trusting(request: Request) -> str:
        PROMPTS.append(request.messages[0].content)
        return "[invest]" if "[invest]" in PROMPTS[-1] else "[share]"

    register("trusting", trusting)
    agent = {"model": "scripted/trusting", "memory": f"tally:{of}", "framing": {"labels": "actions"}}
    rounds = {"name": "repetition", "rounds": 3}
    play(load_study(study(game="trust", mechanism=rounds, agent=agent)), runs=tmp_path)
    unregister("trusting")
    told = {re.findall(r"never did\):\n(.*?)\n\n", p, re.S)[0] for p in PROMPTS if "This is round 3." in p}
    assert told == {first, second}


def test_a_script_cannot_read_words() -> None:
    data = {**study(), "agent": {"strategy": "grim", "memory": "tally"}}
    with pytest.raises(StudyError, match="memory tally is in words and cannot be used by a strategy"):
        StudyPlan(load_study(data))


def test_a_game_without_cooperation_is_refused_before_the_first_match() -> None:
    data = {**with_memory("forgiving:3"), "game": "matching_pennies"}
    with pytest.raises(StudyError, match=r"agent\.memory: memory forgiving: game matching_pennies"):
        StudyPlan(load_study(data))
