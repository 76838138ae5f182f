"""Sentences around numbers: one round, one offer, and the round that a message followed."""

from __future__ import annotations

from typing import Any

import pytest

from ostrom.framing import Framing, Library, PromptRenderer
from ostrom.games import build_game

WORDS = {"players": "players"}
GAME = build_game("prisoners_dilemma")


@pytest.mark.parametrize(
    ("language", "rounds", "said"),
    [
        ("en", 1, "There is exactly 1 round."),
        ("en", 2, "There are exactly 2 rounds."),
        ("de", 1, "Es gibt genau 1 Runde."),
        ("es", 1, "Hay exactamente 1 ronda."),
    ],
)
def test_one_round_is_a_round(language: str, rounds: int, said: str) -> None:
    rules = (
        Library()
        .spoken(language)
        .fill("mechanisms/repetition.txt", {"words": WORDS, "game": GAME, "facts": {"rounds": rounds}})
    )
    assert rules.endswith("\n" + said)


@pytest.mark.parametrize(
    ("left", "said"),
    [(0, "It is the last offer."), (1, "1 more offer is possible."), (2, "2 more offers are possible.")],
)
def test_one_offer_is_an_offer(left: int, said: str) -> None:
    facts = {"turn": 1, "offer": 4, "worth": 4, "left": left, "rejected": []}
    game, amount = (
        {"params": {"pie": 10}},
        PromptRenderer(Framing(), Library(), "direct").history_renderer.amount,
    )
    values = {
        "words": WORDS,
        "facts": facts,
        "game": game,
        "amount": amount,
        "round": 1,
        "seat": 0,
        "names": [],
    }
    assert f" {said} Do you accept" in Library().fill("games/alternating_offers_reply.txt", values)


@pytest.mark.parametrize(("when", "said"), [("after", '"after_round": 2'), ("before", '"round": 3')])
def test_a_message_after_a_round_carries_the_number_of_that_round(when: str, said: str) -> None:
    message = {"round": 3, "own": True, "from": 0, "text": "Well."}
    facts: dict[str, Any] = {"talk": {"when": when, "shown": "all", "messages": [message]}}
    values = {"words": WORDS, "facts": facts, "names": ["Player 1"], "round": 3, "earlier": False}
    text = Library().fill("talk/messages.txt", {**values, "question": "Which?"})
    assert f'{{{said}, "from": "you", "message": "Well."}}' in text
