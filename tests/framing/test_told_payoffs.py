"""What a prompt says is what is scored: read back from the words, for every game, seat and outcome."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import ostrom.framing.blocks as blocks_module
from ostrom.answers import Choice
from ostrom.framing import Framing, Library, PromptRenderer, payoffs
from ostrom.games import build_game
from ostrom.games.game import Game
from ostrom.games.ordinal import FAMILIES, ordinal_games
from ostrom.games.tensor import bimatrix
from ostrom.games.words import Words
from ostrom.ground.streams import Streams
from ostrom.mechanisms.protocol import Decision, History, Round, View
from ostrom.memory import MemoryView

LIBRARY = Library()
Told = dict[tuple[int, ...], tuple[float, ...]]


def prompt(game: Game, seat: int, framing: Framing, rounds: Sequence[Round] = (), draw: int = 0) -> str:
    facts = {"repeated": True, "rounds": 10}
    view = View(game, seat, "repetition", len(rounds) + 1, History(list(rounds)), facts)
    speaker = PromptRenderer(framing, LIBRARY, "direct", draw_labels=Streams(1, draw).generator(0))
    decision = Decision(seat, "act", view, Choice(game.named_actions(seat)))
    return speaker.prompt(decision, MemoryView(list(rounds)), Streams(2, draw).generator(0), {}).text


def told(text: str, seat: int, words: dict[str, str], labels: Sequence[str]) -> Told:
    """The four outcomes as a reader at this seat understands them, in the order of seats."""
    pattern = re.compile(
        rf"- If you {words['choose']} (\w+) and Player (\d) {words['chooses']} (\w+), "
        rf"you {words['receive']} (-?[\d.]+) \w+ and Player \2 {words['receives']} (-?[\d.]+) \w+\."
    )
    found: Told = {}
    for own, other, label, mine, theirs in pattern.findall(text):
        assert int(other) == 2 - seat
        actions, paid = (labels.index(own), labels.index(label)), (float(mine), float(theirs))
        found[actions if seat == 0 else actions[::-1]] = paid if seat == 0 else paid[::-1]
    return found


def scored(game: Game) -> Told:
    return {profile: game.payoff(profile) for profile in game.profiles()}


def framings() -> Iterator[Framing]:
    for story in ("neutral", "cooking", "project"):
        for order in ("given", "reversed", "shuffled"):
            yield Framing.model_validate({"labels": "QX", "story": story, "order": order, "units": "coins"})


@pytest.mark.slow
@pytest.mark.parametrize("seat", [0, 1])
def test_all_144_games_are_told_as_they_are_scored_in_every_story_and_order(seat: int) -> None:
    for framing in framings():
        words = dict(LIBRARY.story(f"stories/{framing.story}.txt").words)
        for entry in ordinal_games():
            game = build_game(f"ordinal_2x2:{entry.number}")
            assert told(prompt(game, seat, framing, draw=entry.number), seat, words, "QX") == scored(game)


def test_a_seat_2_description_that_is_not_transposed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = payoffs.cells

    def untransposed(game: Game, seat: int, orders: Sequence[Sequence[int]], *rest: Any) -> list[dict[str, Any]]:
        """The fault of the original release: seat 2 reads the off-diagonal cells of seat 1."""
        made = right(game, seat, orders, *rest)
        if seat == 1:
            for i, j in ((1, 2), (2, 1)):
                mirror = right(game, seat, orders, *rest)[j]
                for player, other in zip(made[i]["told"], mirror["told"], strict=True):
                    player["amount"] = other["amount"]
        return made

    monkeypatch.setattr(blocks_module, "cells", untransposed)
    framing, words = Framing(labels="JF"), dict(LIBRARY.story("stories/neutral.txt").words)
    wrong = {
        (entry.number, seat)
        for entry in ordinal_games()
        for seat in (0, 1)
        for game in [build_game(f"ordinal_2x2:{entry.number}")]
        if told(prompt(game, seat, framing), seat, words, "JF") != scored(game)
    }
    # Ranks differ between any two cells, so the fault shows in every game, and at seat 2 alone.
    assert wrong == {(number, 1) for number in range(1, 145)}


@pytest.mark.parametrize("seat", [0, 1])
def test_outcomes_in_words_rank_them_as_the_payoffs_do(seat: int) -> None:
    order = ["best", "second-best", "third-best", "worst"]
    for entry in ordinal_games():
        game = build_game(f"ordinal_2x2:{entry.number}")
        text = prompt(game, seat, Framing(labels="JF", payoffs="words"))
        found = re.findall(
            r"choose (\w) and Player \d chooses (\w), it is the ([\w-]+) outcome for you and the ([\w-]+)", text
        )
        assert len(found) == 4
        for own, other, mine, theirs in found:
            pair = ("JF".index(own), "JF".index(other))
            paid = game.payoff(pair if seat == 0 else pair[::-1])
            assert (4 - order.index(mine), 4 - order.index(theirs)) == (paid[seat], paid[1 - seat])


def test_each_seat_has_its_own_order_of_naming() -> None:
    names = (("a", "b"), ("c", "d"))
    words = Words(order=(("b", "a"), ("c", "d")))
    game = bimatrix("g", names, [[(1, 1), (2, 2)], [(3, 3), (4, 4)]], words=words)
    text = prompt(game, 0, Framing(labels="actions"))
    found = re.findall(r"If you choose (\w) and Player 2 chooses (\w)", text)
    assert found == [("b", "c"), ("b", "d"), ("a", "c"), ("a", "d")]
    facts = {"repeated": True, "target": 1, "observer": True}
    decision = Decision(2, "predict", View(game, 1, "repetition", 1, facts=facts), Choice(names[1]))
    seen = PromptRenderer(Framing(labels="actions"), LIBRARY, "direct").prompt(decision, MemoryView(), None, {}).text
    assert "actions of Player 1: b, a." in seen and "actions of Player 2: c, d." in seen


def test_an_observer_is_told_all_payoffs_by_name() -> None:
    game = build_game("ordinal_2x2:5")
    facts = {"repeated": True, "target": 1, "observer": True}
    decision = Decision(2, "predict", View(game, 1, "repetition", 1, facts=facts), Choice(game.named_actions(1)))
    text = PromptRenderer(Framing(labels="JF"), LIBRARY, "direct").prompt(decision, MemoryView(), None, {}).text
    found = {
        ("JF".index(a), "JF".index(b)): (float(x), float(y))
        for a, b, x, y in re.findall(
            r"If Player 1 chooses (\w) and Player 2 chooses (\w), Player 1 receives (\d) points? and "
            r"Player 2 receives (\d) points?\.", text
        )
    }  # fmt: skip
    assert found == scored(game)
    assert "You are Player" not in text and "will Player 2 choose" in text


def test_a_line_of_the_past_names_both_choices_and_both_payoffs_from_the_readers_side() -> None:
    game = build_game("battle_of_the_sexes")
    rounds = [Round(1, (0, 0), game.payoff((0, 0)))]
    text = prompt(game, 1, Framing(labels="JF", history="sentences", units="dollars"), rounds)
    assert "Round 1: you chose J and received 7 dollars; Player 1 chose J and received 10 dollars." in text


@pytest.mark.parametrize("newest_first", [False, True])
def test_rounds_stand_in_the_order_that_is_told(newest_first: bool) -> None:
    game = build_game("battle_of_the_sexes")
    rounds = [Round(n, (0, 0), game.payoff((0, 0))) for n in (1, 2, 3)]
    text = prompt(game, 0, Framing(history="sentences", newest_first=newest_first), rounds)
    assert ("newest first" if newest_first else "oldest first") in text
    places = [text.index(f"Round {n}: you chose") for n in (1, 2, 3)]
    assert places == sorted(places, reverse=newest_first)


def test_a_line_that_is_kept_names_the_players_of_the_present_view() -> None:
    game = build_game("battle_of_the_sexes")
    rounds = [Round(1, (0, 0), game.payoff((0, 0)))]
    speaker = PromptRenderer(Framing(history="sentences"), LIBRARY, "direct", draw_labels=Streams(1, 0).generator(0))
    for other in ("Robin", "Kim"):
        view = View(game, 0, "repetition", 2, History(rounds), {"repeated": True}, names=("Alex", other))
        decision = Decision(0, "act", view, Choice(game.named_actions(0)))
        assert f"; {other} chose" in speaker.prompt(decision, MemoryView(rounds), Streams(2, 0).generator(0), {}).text


def test_every_family_is_among_the_games() -> None:
    assert {entry.family for entry in ordinal_games()} == set(FAMILIES)


def test_a_matrix_against_each_other_player_names_what_the_rest_do() -> None:
    game, names = build_game({"name": "public_goods", "n": 3}), ("Player 1", "Player 2", "Player 3")
    tables = payoffs.OwnPayoffs(game, 0, (0, 1), [("A", "B")] * 3, names).matrices()
    assert [(table["other"], table["given"]) for table in tables] == [
        (names[other], [{"name": names[3 - other], "label": label}]) for other in (1, 2) for label in "AB"
    ]
    lines = [line["payoffs"] for line in tables[3]["lines"]]  # against Player 3, where Player 2 takes B
    assert lines == [[f"{game.payoff((own, 1, third))[0]:g}" for third in (0, 1)] for own in (0, 1)]


@pytest.mark.parametrize(
    ("seat", "missed", "said"),
    [
        (0, (0,), "Round 1: you did not decide in time. The round is void and paid nothing."),
        (0, (1,), "Round 1: Player 2 did not decide in time."),
        (0, (0, 1), "Round 1: you and Player 2 did not decide in time."),
        (1, (0, 1), "Round 1: you and Player 1 did not decide in time."),
    ],
)
def test_whoever_missed_a_round_is_named_oneself_first(seat: int, missed: tuple[int, ...], said: str) -> None:
    rounds = [Round(1, (), (0.0, 0.0), missed=missed)]
    assert said in prompt(build_game("prisoners_dilemma"), seat, Framing(), rounds)
    played = [Round(1, (0, 1), (0.0, 5.0), missed=missed)]
    text = prompt(build_game("prisoners_dilemma"), seat, Framing(), played)
    who = said.removeprefix("Round 1: ").partition(" did")[0]
    assert f"({who} did not decide in time; the rules chose.)" in text
