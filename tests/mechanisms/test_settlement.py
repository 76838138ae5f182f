"""The law of settlement: every player has one row in each round of its match, and its payoffs come to its score."""

from collections import Counter
from collections.abc import Iterator
from math import fsum, isclose
from typing import Any, ClassVar

import pytest

from ostrom.agents.config import AgentConfig
from ostrom.answers import Answer
from ostrom.answers.random_answers import random_answer
from ostrom.engine.plan import Seated, Unit
from ostrom.engine.unit_rows import RowRecorder, UnitRows
from ostrom.games import build_game, games
from ostrom.games.amounts import Amounts
from ostrom.games.function import FunctionGame
from ostrom.games.game import Due, End, Game, Now
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import Mechanism, mechanisms
from ostrom.mechanisms.base import act, match_score, profile_of
from ostrom.mechanisms.catalog.repetition import Repetition
from ostrom.mechanisms.controls import build_mechanism
from ostrom.mechanisms.missing import Missing
from ostrom.mechanisms.protocol import Decision, History, Outcome, Play, Round, View
from ostrom.mechanisms.settlement import WHATS, breach, settled_rounds
from ostrom.testing.check_game import check_game
from ostrom.testing.check_mechanism import _prepared, check_mechanism, drive

GENOMES = ["Be kind. Be fair.", "Win."]
ONE = {"generations": 1}
GEOMETRIC = {"stopping": "geometric", "continuation": 0.6}
MECHANISMS: dict[str, list[dict[str, Any]]] = {
    "repetition": [
        {"rounds": 3}, {"rounds": 5, **GEOMETRIC}, {"rounds": 4, "noise": 0.4}, {"rounds": 4, "discount": 0.8},
        {"rounds": 6, **GEOMETRIC, "discount": 0.7, "noise": 0.2},
    ],
    "reputation": [{"rounds": 3}, {"rounds": 3, "discount": 0.9, "own": "memory"}, {"rounds": 2, "order": "higher"}],
    "society": [
        {"rounds": 3, "network": "ring:2", "imitation": {"rule": "death-birth", "members": 3}},
        {"rounds": 4, "meeting": "pair", "network": "scale_free:1", "links": {"share": 1.0}, "discount": 0.8},
        {"rounds": 4, "meeting": "pair", "imitation": {"rule": "death-birth", "members": 3}},
        {"rounds": 3, "network": "small_world:2", "links": {"share": 1.0}, "pay": "total"},
    ],
    "evolution": [
        {"genomes": GENOMES, "generations": 1},
        {"genomes": GENOMES, "under": {"name": "repetition", "rounds": 5, **GEOMETRIC}, **ONE, "meetings": 3},
        {"genomes": GENOMES, "under": {"name": "repetition", "rounds": 3, "discount": 0.6}, **ONE, "meetings": 2},
        {"genomes": GENOMES, "under": {"name": "reputation", "rounds": 2}, **ONE, "meetings": 2},
        {"genomes": GENOMES, "under": {"name": "society", "rounds": 3, "meeting": "pair"}, **ONE, "meetings": 2},
        {"genomes": GENOMES, "under": "mediation", "generations": 1},
    ],
    "negotiation": [
        {"rounds": 2, "turns": 3, "endowment": 2, "bound": 4}, {"rounds": 3, "when": "before", "turns": 2, "bound": 9},
    ],
    "advice": [{"rounds": 2}],
    "cheap_talk": [{"rounds": 2}],
    "punishment": [{"rounds": 3, "most": 4, "discount": 0.9}, {"rounds": 2}],
    "disarmament": [{"sweeps": 2}],
}  # fmt: skip
"""Ends, discounts, noise and meetings of the catalog; a mechanism that is not listed is played as it comes."""
AROUND: list[dict[str, Any]] = [
    {}, {"talk": "open"}, {"predict": "players"}, {"predict": "observer"}, {"state": ["before", "after"]},
    {"recognise": True},
    {"control": "sham"}, {"control": "induced"},
]  # fmt: skip
SMALL: dict[str, Any] = {
    "common_pool": {"name": "common_pool", "n": 2, "capacity": 12}, "beauty_contest": "beauty_contest:3",
    "minimum_effort": "minimum_effort:2", "public_goods_amounts": "public_goods_amounts:2",
    "first_price_auction": "first_price_auction:2", "second_price_auction": "second_price_auction:2",
}  # fmt: skip
GAMES: list[Any] = [SMALL.get(name, name) for name in games]
MISSED = 0.25


def cases() -> Iterator[Any]:
    for name in mechanisms:
        for variant, params in enumerate(MECHANISMS.get(name, [{}])):
            for around in AROUND:
                what = "-".join(f"{key}" for key in around) or "alone"
                yield pytest.param({"name": name, **params, **around}, id=f"{name}-{variant}-{what}")


def answered(rules: Mechanism, game: Game, seed: int, missed: float) -> tuple[Outcome, UnitRows]:
    """A match by chance, and its rows as they are kept and read."""
    streams = Streams(seed, 7)
    count = (3 * game.seats if rules.society else game.seats) + rules.observers
    players = tuple(Seated(f"p{i}", AgentConfig(strategy="cooperator")) for i in range(count))
    record = RowRecorder(Unit(0, "k", seed, {}, game, rules, players))

    def reply(decision: Decision, step: int) -> Answer:
        if missed and streams.chance(step, decision.player, "miss") < missed:
            answer = Answer(None, "missed")
        else:
            answer = random_answer(decision.form, streams.generator(step, decision.player, "check"))
        record.add(step, decision, answer, 0)
        return answer

    outcome = drive(rules, game, streams, reply).outcome
    kept = record.rows(outcome.rounds).to_bytes()
    assert kept is not None
    return outcome, UnitRows.read(kept, "here")


def check(rules: Mechanism, game: Game, outcome: Outcome, rows: UnitRows) -> Counter[str]:
    """The law, recomputed from the rows as tables hold them."""
    assert breach(rules, game, outcome) is None, (rules.name, game.name, breach(rules, game, outcome))
    table = rows.round_rows()
    own: dict[int, dict[int, list[tuple[int, float]]]] = {}
    for meeting, number, code in zip(table.meetings, table.numbers, table.codes, strict=True):
        player, _, _, what, action, _, cooperative, payoff, _ = table.settled[code]
        own.setdefault(player, {}).setdefault(int(meeting), []).append((int(number), payoff))
        assert (action is None) == (
            what in ("idle", "not reached", "unmet", "void") or (what == "missed" and action is None)
        )
        assert cooperative is None or action is not None
    assert sorted(own) == list(range(len(outcome.scores)))
    for player, meetings in own.items():
        parts = []
        for rounds in meetings.values():
            numbers = [number for number, _ in rounds]
            assert numbers == sorted(set(numbers))
            parts += [w * paid for w, (_, paid) in zip(rules.weights(len(rounds)), rounds, strict=True)]
        assert isclose(fsum(parts), outcome.scores[player], rel_tol=1e-9, abs_tol=1e-9)
    return Counter(entry[3] for entry in table.settled)


@pytest.mark.sample(12)
@pytest.mark.parametrize("spec", list(cases()))
def test_the_catalog_keeps_the_law(spec: dict[str, Any]) -> None:
    try:
        rules = build_mechanism(spec, key="mechanism")
    except StudyError:
        pytest.skip("does not go together")
    accepted = 0
    for part in GAMES:
        game = build_game(part)
        try:
            rules.fit(game)
        except GameError:
            continue
        accepted += 1
        for seed in range(2):
            ready = _prepared(rules, game, seed, None) if rules.preparation(game, 0) else rules
            ready = ready.for_players(3 * game.seats + ready.observers) if ready.society else ready
            policies: list[Missing | None] = [None]
            if rules.may_miss:
                shared = [name for name in game.actions[0] if all(name in names for names in game.actions)]
                policies += [Missing("mark"), Missing("mark", 1), Missing("end-visit")]
                policies += [Missing(f"default:{name}") for name in shared[:1]]
            for policy in policies:
                able = ready if policy is None else ready.allowing(policy)
                check(able, game, *answered(able, game, seed, 0.0 if policy is None else MISSED))
    assert accepted or spec.get("control") or len(spec) > 1


def test_every_kind_of_round_occurs() -> None:
    kinds: Counter[str] = Counter()
    for spec, part, policy in (
        ({"name": "repetition", "rounds": 4}, "dictator", None),
        ({"name": "repetition", "rounds": 4}, "centipede", None),
        ({"name": "repetition", "rounds": 4}, "prisoners_dilemma", Missing("mark")),
        ({"name": "society", "rounds": 4, "meeting": "pair"}, "prisoners_dilemma", None),
        ({"name": "negotiation", "rounds": 2, "turns": 4}, "prisoners_dilemma", None),
        ({"name": "mediation", "designs": [[1, 0], [0, 0]]}, "prisoners_dilemma", None),
    ):
        game, rules = build_game(part), mechanisms.build(spec)
        rules = rules.for_players(5) if rules.society else rules
        rules = rules if policy is None else rules.allowing(policy)
        for seed in range(6):
            kinds += check(rules, game, *answered(rules, game, seed, 0.0 if policy is None else MISSED))
    assert kinds.keys() == set(WHATS)


class Planted(Repetition):
    """Repetition that breaks the law in one way."""

    name: ClassVar[str] = "repetition"
    may_miss: ClassVar[bool] = False

    def play(self, game: Game, streams: Streams) -> Play:
        rounds: list[Round] = []
        for number in range(1, 4):
            answers = yield [
                act(View(game, seat, self.name, number, History(rounds), self.told)) for seat in range(game.seats)
            ]
            rounds.append(Round(number, profile_of(game, answers), game.payoff(profile_of(game, answers))))
        return self.end(game, rounds, [match_score([r.payoffs[s] for r in rounds]) for s in range(game.seats)])

    def end(self, game: Game, rounds: list[Round], scores: list[float]) -> Outcome:
        return Outcome(rounds, tuple(scores))


class Forgets(Planted):
    def end(self, game: Game, rounds: list[Round], scores: list[float]) -> Outcome:
        last = rounds[-1]
        one = Round(last.number, last.actions[:1], last.payoffs[:1], (0,))
        return Outcome([*rounds[:-1], one], tuple(scores))


class Pays(Planted):
    def end(self, game: Game, rounds: list[Round], scores: list[float]) -> Outcome:
        return Outcome(rounds, (scores[0] + 1.0, *scores[1:]))


class Twice(Planted):
    def end(self, game: Game, rounds: list[Round], scores: list[float]) -> Outcome:
        return Outcome([*rounds, rounds[-1]], tuple(scores))


class Absent(Planted):
    def end(self, game: Game, rounds: list[Round], scores: list[float]) -> Outcome:
        return Outcome([], tuple(scores))


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Forgets, r"Round\(number=3"),
        (Pays, "player 1: its payoffs, weighted by round, sum to .*, and its score is"),
        (Twice, "player 1: has more than one row in round 3"),
        (Absent, "player 1: its payoffs"),
    ],
)
def test_a_mechanism_that_breaks_the_law_is_refused(broken: type[Planted], words: str) -> None:
    check_mechanism(Planted(rounds=3), games=["prisoners_dilemma"], seeds=1)
    with pytest.raises(AssertionError, match=words):
        check_mechanism(broken(rounds=3), games=["prisoners_dilemma"], seeds=1)


def test_what_is_wrong_is_said_of_the_player_and_the_round() -> None:
    game = build_game("prisoners_dilemma")
    one, two = Round(1, (0, 0), (3.0, 3.0)), Round(2, (0,), (3.0,), (0,))
    assert breach(Repetition(), game, Outcome([one, two], (3.0, 3.0))) == "player 2: has no row in round 2"
    assert breach(Repetition(), game, Outcome([one], (3.0,))) == "player 2: has rows and no score"
    assert breach(Repetition(discount=0.5), game, Outcome([one, one], (3.0, 3.0))) is not None
    assert breach(Repetition(), game, Outcome([one], (3.0, 3.0))) is None


def late(n: int = 3) -> FunctionGame:
    """``n`` members of whom the last one joins in the second round."""
    gifts = Amounts(0, 4, also=("no_move",))

    def play(now: Now) -> Any:
        here = range(n if now.round > 1 else n - 1)
        given = yield [Due(seat, "give", Amounts(0, 4)) for seat in here]
        return End([float(sum(map(int, given))) / n] * n, {"given": sum(map(int, given))})

    return FunctionGame("late", (gifts,) * n, play, stages=("give",), citation="own", params={"n": n})


def test_a_member_who_joins_later_has_a_row_in_every_round() -> None:
    game, rules = late(), Repetition(rounds=3)
    check_game(game)
    outcome, rows = answered(rules, game, 0, 0.0)
    check(rules, game, outcome, rows)
    whats = [one.what for one in settled_rounds(game, outcome.rounds) if one.player == 2]
    assert whats == ["not reached", "chose", "chose"]
