"""A society: matchings are perfect and even, records show the window and no more, grim societies punish."""

import json
from collections import Counter
from typing import Any, Literal

import pytest

from ostrom.answers import Answer
from ostrom.answers.random_answers import random_answer
from ostrom.games import build_game
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.populations import Reputation, tables_of_round
from ostrom.mechanisms.protocol import Decision
from ostrom.mechanisms.societies import pseudonyms
from ostrom.testing.check_mechanism import Playing, drive, played_by

PD = build_game("prisoners_dilemma:coopeval")
GOODS = build_game("public_goods")


def at_random(decision: Decision, step: int) -> Answer:
    return random_answer(decision.form, Streams(5, 5).generator(step, decision.player))


def society(types: list[str], rounds: int = 15, order: Literal["first", "higher"] = "first", game: Any = PD) -> Playing:
    """Everybody of a list of strategies, one per seat each."""
    players = [spec for spec in types for _ in range(game.seats)]
    streams = Streams(0, 1)
    rules = Reputation(order, rounds=rounds).for_players(len(players))
    return drive(rules, game, streams, played_by(players, streams))


@pytest.mark.slow
def test_all_matchings_are_equally_likely() -> None:
    draws = 6000
    seen = Counter(frozenset(tables_of_round(6, 2, n, Streams(0, 0))) for n in range(draws))
    assert len(seen) == 6
    chi_square = sum((count - draws / 6) ** 2 / (draws / 6) for count in seen.values())
    assert chi_square < 20.5  # the 0.999 quantile with 5 degrees of freedom
    triples = Counter(frozenset(tables_of_round(6, 3, n, Streams(0, 0))) for n in range(4000))
    assert len(triples) == 4 and max(triples.values()) < 1150


def test_players_that_do_not_fill_the_tables_are_refused() -> None:
    with pytest.raises(GameError, match="5 players do not fill tables of 2 seats"):
        next(Reputation().for_players(5).play(PD, Streams(0, 0)))


def test_pseudonyms_last_and_do_not_follow_types_or_seats() -> None:
    names = pseudonyms(12, Streams(0, 0))
    assert sorted(names) == sorted(f"Player {i + 1}" for i in range(12))
    assert names != tuple(f"Player {i + 1}" for i in range(12)) != pseudonyms(12, Streams(0, 1))
    match = society(["grim"] * 3, rounds=4)
    called: dict[int, set[str]] = {}
    for decisions in match.asked:
        for d in decisions:
            assert d.view.names[d.view.seat] == "You"
            others = [n for n in d.view.names if n != "You"]
            called.setdefault(d.player, set()).update(others)
    assert all(not name.startswith("You") for names in called.values() for name in names)


def rounds_in(record: dict[str, Any]) -> list[int]:
    return [
        number
        for match in record["matches"]
        for number in [match["round"], *(n for o in match.get("opponents", []) for n in rounds_in(o))]
    ]


def depth_of(record: dict[str, Any]) -> int:
    inner = [depth_of(o) for match in record["matches"] for o in match.get("opponents", [])]
    return 1 + max(inner, default=0) if record["matches"] else 0


@pytest.mark.parametrize("order", ["first", "higher"])
@pytest.mark.parametrize("game", [PD, GOODS], ids=["pd", "goods"])
def test_records_show_the_window_newest_first_and_nothing_else(order: Literal["first", "higher"], game: Any) -> None:
    rules = Reputation(order, rounds=7, window=3, depth=3).for_players(3 * game.seats)
    match = drive(rules, game, Streams(0, 1), at_random)
    names = match.outcome.facts["names"]
    truth = {(r.number, p): r for r in match.outcome.rounds for p in r.players}
    for decisions in match.asked:
        for d in decisions:
            now, records = d.view.round, d.view.facts["records"]
            expected = list(range(now - 1, max(0, now - 4), -1))
            assert not d.view.history
            assert records[0]["name"] == "You"
            assert {r["name"] for r in records} == set(d.view.names)
            for record in records:
                assert [m["round"] for m in record["matches"]] == expected
                assert set(rounds_in(record)) <= set(expected)
                assert depth_of(record) == min(len(expected), 1 if order == "first" else 3)
                _follows_the_truth(record, truth, names, d.player)


def _follows_the_truth(record: dict[str, Any], truth: Any, names: list[str], reader: int) -> None:
    player = reader if record["name"] == "You" else names.index(record["name"])
    assert player != reader or record["name"] == "You"
    for match in record["matches"]:
        played = truth[match["round"], player]
        called = ["You" if p == reader else names[p] for p in played.players]
        assert [p["name"] for p in match["players"]] == called
        assert [p["action"] for p in match["players"]] == list(played.actions)
        assert [p["payoff"] for p in match["players"]] == list(played.payoffs)
        opponents = match.get("opponents", [])
        assert [o["name"] for o in opponents] in ([], [n for n in called if n != record["name"]])
        for opponent in opponents:
            assert all(n < match["round"] for n in rounds_in(opponent))
            _follows_the_truth(opponent, truth, names, reader)


def test_a_view_tells_nothing_about_types_or_the_players_number() -> None:
    match = society(["grim", "defector", "cooperator"], rounds=6, order="higher")
    for decisions in match.asked:
        for d in decisions:
            text = json.dumps(dict(d.view.facts))
            assert "grim" not in text and "defector" not in text
            assert "player_" not in text


def test_the_score_is_the_discounted_mean_with_the_tail_on_the_last_round() -> None:
    match = society(["cooperator", "defector"], rounds=3)
    for player in range(4):
        paid = [r.payoffs[player % 2] for r in match.outcome.rounds if player in r.players]
        assert match.outcome.scores[player] == pytest.approx(0.2 * paid[0] + 0.16 * paid[1] + 0.64 * paid[2])


def test_a_grim_society_punishes_a_defector() -> None:
    outcome = society(["grim", "grim", "grim", "defector"]).outcome
    defectors = {6, 7}
    first = [r for r in outcome.rounds if r.number == 1]
    assert all(r.actions[s] == int(p in defectors) for r in first for s, p in enumerate(r.players))
    for r in outcome.rounds:
        if r.number > 1 and set(r.players) & defectors:
            assert r.actions == (1, 1)  # whoever reads a defector's record defects
    grim_scores = society(["grim"] * 4).outcome.scores
    assert max(outcome.scores[p] for p in defectors) < max(grim_scores)
