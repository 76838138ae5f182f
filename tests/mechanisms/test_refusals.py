"""Rules that make no sense together, or not in a game, are refused before anything is played."""

from typing import Any

import numpy as np
import pytest

from ostrom.games import build_game
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import GameError, OstromError
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.designs import Contracting
from ostrom.mechanisms.selection import Imitation
from ostrom.mechanisms.societies import Rewiring


def _alone() -> FunctionGame:
    def play(now: Now) -> Stages:
        (done,) = yield [Due(0, "x", ("a", "b"))]
        return End((float(done == "a"),))

    return FunctionGame("alone", (("a", "b"),), play, stages=("x",))


def _called(name: str, cooperative: tuple[int | None, ...] = (0, 0)) -> TensorGame:
    return TensorGame("toy", (("a", name),) * 2, np.zeros((2, 2, 2)), cooperative)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"name": "repetition", "stopping": "geometric"}, "geometric stopping needs a continuation chance"),
        ({"name": "repetition", "told_rounds": True, "told_continuation": 0.5}, "not both"),
        ({"name": "society", "own": "memory"}, "own: memory goes with meeting: pair, where a round is one meeting"),
        ({"name": "repetition", "state": "never"}, "state must be one or several of before, during, after"),
    ],
)  # fmt: skip
def test_parameters_that_contradict_each_other_are_refused(spec: dict[str, Any], says: str) -> None:
    with pytest.raises(OstromError, match=says):
        mechanisms.build(spec)


@pytest.mark.parametrize(
    ("spec", "game", "says"),
    [
        ({"name": "repetition", "talk": "start"}, _alone(), "talk: game alone has one seat, nobody would listen"),
        ({"name": "repetition", "predict": "players"}, _alone(), "has one seat: there is nobody to predict"),
        ({"name": "none", "talk": {"when": "after"}}, "chicken", "when: after needs several rounds; mechanism none"),
        ({"name": "repetition", "rounds": 1, "talk": {"when": "after"}}, "chicken", "mechanism repetition has one"),
        ({"name": "similarity"}, _called("b", (None, None)), "cooperative actions; toy has none"),
        ({"name": "similarity"}, _called("b", (0, None)), "cooperative actions; toy has none"),
        ({"name": "similarity"}, "travelers_dilemma", None),
    ],
)  # fmt: skip
def test_games_that_rules_have_no_meaning_in_are_refused(spec: dict[str, Any], game: Any, says: str | None) -> None:
    built = build_game(game) if isinstance(game, str) else game
    if says is None:
        mechanisms.build(spec).fit(built)
        return
    with pytest.raises(GameError, match=says):
        mechanisms.build(spec).fit(built)


def test_rules_that_just_fit_are_not_refused() -> None:
    chicken = build_game("chicken")
    mechanisms.build({"name": "repetition", "rounds": 2, "talk": {"when": "after"}}).fit(chicken)
    mechanisms.build({"name": "repetition", "stopping": "geometric", "told_continuation": 0.5}).fit(chicken)


def test_only_rules_with_rounds_are_made_to_last() -> None:
    chicken, long = build_game("chicken"), mechanisms.build({"name": "repetition", "rounds": 9})
    assert (long.with_rounds(3).most_rounds(chicken), long.most_rounds(chicken)) == (3, 9)
    once = mechanisms.build("none").with_rounds(3)
    assert once.most_rounds(chicken) == 1 and "rounds" not in vars(once)
    talking = mechanisms.build({"name": "repetition", "rounds": 9, "talk": "start"}).with_rounds(2)
    assert talking.most_rounds(chicken) == 2


def test_a_game_with_an_action_called_like_the_policy_is_refused() -> None:
    from ostrom.mechanisms.single import IF_ALIKE

    with pytest.raises(GameError, match=f"game toy has an action called {IF_ALIKE}"):
        mechanisms.build("similarity").fit(_called(IF_ALIKE))


def test_an_action_called_like_delegating_is_refused_at_any_seat() -> None:
    game = TensorGame("toy", (("a", "b"), ("a", "delegate")), np.zeros((2, 2, 2)))
    with pytest.raises(GameError, match="game toy has an action of its own named delegate"):
        mechanisms.build("mediation").fit(game)


def test_imitation_by_default_lets_one_member_change_over_after_every_round() -> None:
    how = Imitation.from_options("pairwise")
    assert how is not None
    assert (how.rule, how.strength, how.members, how.every, how.mutation) == ("pairwise", 1.0, 1, 1, 0.0)
    assert Imitation.from_options(None) is None and Imitation.from_options({}) == Imitation()
    links = Rewiring()
    assert (links.every, links.share, links.offers, links.seen) == (1, 0.1, 3, 12)


def test_a_contract_turns_on_the_cooperative_action() -> None:
    rules = mechanisms.build("contracting")
    assert isinstance(rules, Contracting)
    assert [rules.pivotal(_called("b", (1, None)), 0), rules.pivotal(_called("b"), 1)] == [1, 0]
    with pytest.raises(GameError, match="game toy defines no cooperative action for seat 2"):
        rules.pivotal(_called("b", (1, None)), 1)
    assert rules.cooperation(_called("b", (0, 1)), []) == [(0, 1)]
    assert rules.cooperation(_called("b", (0, None)), []) == []


@pytest.mark.parametrize(
    ("count", "rounds", "links", "most"),
    [
        (30, 4, {}, 2 * 3 * 3),  # a tenth of thirty, after each round but the last
        (30, 5, {"every": 2}, 2 * 3 * 2),
        (30, 4, {"every": 2}, 2 * 3 * 1),
        (4, 2, {}, 2 * 1 * 1),  # one is asked at least
        (10, 1, {}, 0),
        (10, 3, {"share": 0.5}, 2 * 5 * 2),
    ],
)
def test_the_most_that_changes_of_links_ask(count: int, rounds: int, links: dict[str, Any], most: int) -> None:
    assert Rewiring(**links).most_decisions(count, rounds) == most
