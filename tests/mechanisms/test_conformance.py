"""Every registered mechanism keeps the contract in every kind of game; the check finds those that do not."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import size

from ostrom.answers import Answer, Choice, Form, Invalid, Mixture, Record, Text, read
from ostrom.answers.forms import fitted
from ostrom.answers.random_answers import random_answer
from ostrom.games import build_game, games
from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import Mechanism, mechanisms
from ostrom.mechanisms.base import act, profile_of
from ostrom.mechanisms.protocol import Outcome, Play, Round, View
from ostrom.testing.check_mechanism import check_mechanism

GAMES = ("prisoners_dilemma", "public_goods", "trust")
SHORT: dict[str, list[dict[str, Any]]] = {
    "repetition": [{"rounds": 3}, {"rounds": 4, "told_continuation": 0.5, "stopping": "geometric", "noise": 0.3}],
    "reputation": [
        {"order": "first", "rounds": 4},
        {"order": "higher", "rounds": 4},
        {"rounds": 2, "window": 0},
        {"rounds": 3, "own": "memory"},
        {"rounds": 2, "state": ["before", "during", "after"], "state_as": "words"},
    ],
    "society": [
        {"rounds": 3, "network": "ring:2", "imitation": {"rule": "death-birth", "members": 3}},
        {"rounds": 3, "meeting": "pair", "observe": "neighbours", "records": 2, "links": {"share": 0.5}},
        {"rounds": 3, "meeting": "pair", "own": "memory", "network": "scale_free:1", "links": {}, "state": "after"},
        {"rounds": 3, "network": "small_world:2", "links": {"share": 1.0}, "observe": "nobody", "pay": "total"},
        {"rounds": 2, "network": {"name": "communities", "degree": 2}, "window": 0},
    ],
    "evolution": [
        {"genomes": ["Be kind. Be fair."], "generations": 2},
        {
            "genomes": ["Be kind. Be fair.", "Win."],
            "under": {"name": "repetition", "rounds": 2},
            "generations": 2,
            "meetings": 2,
            "mutation": {"share": 1.0, "crossover": 0.5},
            "selection": "imitation",
        },
        {"genomes": ["Win."], "under": {"name": "reputation", "rounds": 2}, "generations": 2, "selection": "moran"},
        {"genomes": ["Win."], "under": "mediation", "generations": 2},
    ],
    "advice": [{"rounds": 2}, {"rounds": 2, "advisers": 2, "told_continuation": 0.5}],
    "shared_code": [{}, {"chance": 0.5}],
    "contracting": [{}, {"bound": 1}],
    "cheap_talk": [{}, {"rounds": 2, "length": 5}],
    "punishment": [{"rounds": 2}, {"rounds": 2, "most": 4, "discount": 0.9}],
    "disarmament": [{"sweeps": 2}],
}
"""Parameters that keep the check short; a mechanism that is not listed is tried as it comes."""


def cases() -> Iterator[Any]:
    for name in mechanisms:
        for variant, params in enumerate(SHORT.get(name, [{}])):
            case = f"{name}-{'-'.join(map(str, params.values()))}"
            yield pytest.param(variant, {"name": name, **params}, id=case)


@pytest.mark.sample(4)
@pytest.mark.parametrize(("variant", "spec"), list(cases()))
def test_a_mechanism_keeps_the_contract(variant: int, spec: dict[str, Any]) -> None:
    # A quick run tries the first variant in every game, the others in one.
    check_mechanism(spec, games=GAMES if variant == 0 else GAMES[: size(whole=3, quick=1)], seeds=1)


RULED = [name for name in games if not build_game(name).has_table]
FEW = {name: f"{name}:2" for name in RULED if "n" in games.parameters(name)}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", RULED)
def test_games_by_a_rule_are_played_and_told_in_every_round(name: str) -> None:
    check_mechanism({"name": "repetition", "rounds": 2}, games=[FEW.get(name, name)], seeds=1)


def test_the_documentation_lists_every_mechanism() -> None:
    text = (Path(__file__).parents[2] / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    for name in mechanisms:
        assert f"\n| `{name}` | " in text, f"docs/mechanisms.md does not list {name}"
    for key in mechanisms.parameters("none"):
        assert any(line.startswith("| ") and f"`{key}" in line for line in text.splitlines()), key


def test_designs_that_are_given_need_no_preparation() -> None:
    game = build_game("prisoners_dilemma")
    for name in ("mediation", "contracting"):
        rules = mechanisms.build({"name": name, "designs": [[1, 0], [0, 1]]})
        assert rules.preparation(game, 0) is None
        check_mechanism(rules, games=[game], seeds=1)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"name": "reputation", "order": "second"}, "order must be first or higher"),
        ({"name": "reputation", "window": -1}, "window must be a whole number of at least 0"),
        ({"name": "reputation", "discount": 0}, "discount must be a number above 0"),
        ({"name": "contracting", "bound": 0}, "bound must be a whole number from 1 to"),
        ({"name": "mediation", "designs": [["x"]]}, "a design is a list of whole numbers"),
        ({"name": "cheap_talk", "length": 0}, "length must be a whole number"),
        ({"name": "punishment", "cost": -1}, "cost must be a number of at least 0"),
        ({"name": "punishment", "fine": float("nan")}, "fine must be a number"),
        ({"name": "disarmament", "sweeps": True}, "sweeps must be a whole number"),
    ],
)
def test_a_wrong_parameter_is_named(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(StudyError, match=words):
        mechanisms.build(spec)


def test_a_game_without_a_meaning_is_refused_before_play() -> None:
    uneven = TensorGame("uneven", (("a", "b"), ("a", "b", "c")), np.zeros((2, 3, 2)))
    alone = TensorGame("alone", (("a", "b"),), np.zeros((2, 1)))
    taken = TensorGame("taken", (("delegate", "b"),) * 2, np.zeros((2, 2, 2)))
    for name, game in (
        ("mediation", uneven), ("contracting", uneven), ("contracting", alone), ("mediation", taken),
        ("punishment", alone),
    ):  # fmt: skip
        with pytest.raises(GameError, match=name):
            mechanisms.build(name).check(game)
    with pytest.raises(GameError, match=r"design \[0, 5\]: an action index lies between 0 and 1"):
        mechanisms.build({"name": "mediation", "designs": [[0, 5], [0, 0]]}).check(build_game("prisoners_dilemma"))
    with pytest.raises(GameError, match="1 designs given"):
        mechanisms.build({"name": "mediation", "designs": [[0, 1]]}).check(build_game("prisoners_dilemma"))


# -- the check finds faults ------------------------------------------------------------------------------


class Sound(Mechanism):
    """A plain mechanism to be broken in one way at a time."""

    name: ClassVar[str] = "none"
    decisions_bound = 2

    def facts(self) -> dict[str, Any]:
        return {}

    def view(self, game: Game, seat: int) -> View:
        return View(game, seat, self.name, facts=self.facts())

    def scores(self, payoffs: tuple[float, ...]) -> tuple[float, ...]:
        return payoffs

    def play(self, game: Game, streams: Streams) -> Play:
        answers = yield [act(self.view(game, seat)) for seat in range(game.seats)]
        played = profile_of(game, answers)
        return Outcome([Round(1, played, game.payoff(played))], self.scores(game.payoff(played)))

    def most_decisions(self, game: Game) -> int:
        return self.decisions_bound


class Forgetful(Sound):
    calls = 0

    def facts(self) -> dict[str, Any]:
        Forgetful.calls += 1
        return {"calls": Forgetful.calls}


class Tupled(Sound):
    def facts(self) -> dict[str, Any]:
        return {"pair": (1, 2)}


class Wordless(Sound):
    name: ClassVar[str] = "wordless"


class Short(Sound):
    def scores(self, payoffs: tuple[float, ...]) -> tuple[float, ...]:
        return payoffs[:-1]


class Modest(Sound):
    decisions_bound = 1


class Changing(Sound):
    def play(self, game: Game, streams: Streams) -> Play:
        facts: dict[str, Any] = {"seen": []}
        answers = yield [act(View(game, seat, self.name, facts=facts)) for seat in range(game.seats)]
        facts["seen"].append(1)
        played = profile_of(game, answers)
        return Outcome([Round(1, played, game.payoff(played))], game.payoff(played))


class Stranger(Sound):
    def play(self, game: Game, streams: Streams) -> Play:
        answers = yield [act(self.view(game, seat), seat + 5) for seat in range(game.seats)]
        played = profile_of(game, answers)
        return Outcome([Round(1, played, game.payoff(played))], game.payoff(played))


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Forgetful, "same answers, other decisions"),
        (Tupled, "do not survive being written as JSON"),
        (Wordless, "there is no such prompt file"),
        (Short, "1 scores for 2 players"),
        (Modest, "asked 2 decisions, most_decisions says 1"),
        (Changing, "what was shown has changed since"),
        (Stranger, r"asks players \[5, 6\] of 2"),
    ],
)
def test_a_broken_mechanism_is_found(broken: type[Sound], words: str) -> None:
    check_mechanism(Sound(), games=["prisoners_dilemma"], seeds=1)
    with pytest.raises((AssertionError, StudyError), match=words):
        check_mechanism(broken(), games=["prisoners_dilemma"], seeds=1)


# -- random answers are valid ----------------------------------------------------------------------------

FORMS: list[Form] = [
    Choice(("C", "D")),
    Mixture(("a", "b", "c")),
    Mixture(("a", "b", "c"), {"a": 10, "c": 0}),
    Text(words=100, characters=100),
    Record(
        "any",
        {
            "type": "object",
            "properties": {
                "list": {
                    "type": "array",
                    "items": {"type": "string", "enum": ["x", "y"]},
                    "uniqueItems": True,
                    "maxItems": 2,
                },
                "n": {"type": "integer", "minimum": -3, "maximum": 3},
                "yes": {"type": "boolean"},
                "say": {"type": "string", "maxLength": 12},
            },
            "required": ["list", "n"],
            "additionalProperties": False,
        },
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS, ids=lambda f: type(f).__name__)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_random_answers_fit_their_form(form: Form, seed: int) -> None:
    answer = random_answer(form, np.random.default_rng(seed))
    assert isinstance(answer, Answer)
    if isinstance(form, Record):
        assert fitted(answer.value, form.schema) == answer.value
    elif isinstance(form, Mixture):
        assert sum(answer.value.values()) == 100
        assert all(answer.value[o] <= cap for o, cap in (form.caps or {}).items())
    elif isinstance(form, Choice):
        assert not isinstance(read(form, f"[{answer.value}]"), Invalid)
