"""Conformance checks for mechanisms: run them on your own as we run them on ours.

from ostrom.testing.check_mechanism import check_mechanism
check_mechanism("mediation")
check_mechanism(MyMechanism(rounds=3))
"""

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import product
from math import isfinite
from typing import Any

import numpy as np

from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.answers import Answer, Choice, Mixture, Number, read
from ostrom.answers.forms import check_schema
from ostrom.answers.random_answers import random_answer
from ostrom.framing import Framing, Library, PromptRenderer
from ostrom.games import build_game
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import Mechanism, mechanisms
from ostrom.mechanisms.missing import Missing
from ostrom.mechanisms.protocol import Decision, Outcome
from ostrom.mechanisms.settlement import WHATS, breach
from ostrom.memory import memories
from ostrom.testing.check_game import check_plain

GAMES = ("prisoners_dilemma", "public_goods", "travelers_dilemma", "trust", "matching_pennies")
MISSED = 0.3
"""The share of missed decisions, if they may be missed."""
TABLES = 3
"""The number of members per seat of a tested society."""

Reply = Callable[[Decision, int], Answer]
"""Answers a decision at a step."""


@dataclass(frozen=True)
class Playing:
    """A played match: the decisions of every step as plain data, the answers, and the outcome."""

    decisions: list[list[Any]]
    asked: list[list[Decision]]
    answers: list[list[Answer]]
    outcome: Outcome


def check_mechanism(
    mechanism: str | Mapping[str, Any] | Mechanism,
    *,
    games: Sequence[str | Game] = GAMES,
    seeds: int = 3,
    library: Library | None = None,
) -> None:
    """Raise AssertionError with one line if a mechanism breaks the contract in a game that it accepts."""
    rules = mechanism if isinstance(mechanism, Mechanism) else mechanisms.build(mechanism)
    accepted = 0
    for spec in games:
        game = spec if isinstance(spec, Game) else build_game(spec)
        try:
            rules.fit(game)
        except GameError:
            continue
        accepted += 1
        for seed in range(seeds):
            ready = _prepared(rules, game, seed, library)
            _check_play(ready, game, seed, _players(ready, game), library)
            if rules.may_miss:
                shared = [name for name in game.actions[0] if all(name in names for names in game.actions)]
                defaults = [Missing(f"default:{name}") for name in shared[:1]]
                for rule in (Missing("mark"), Missing("mark", 1), Missing("end-visit"), *defaults):
                    able = ready.allowing(rule)
                    _check_play(able, game, seed, _players(able, game), library, MISSED)
    assert accepted, f"{rules.name}: accepts none of the games it was tried in"


def _prepared(rules: Mechanism, game: Game, seed: int, library: Library | None) -> Mechanism:
    """Return the mechanism with its preparations, each checked in the same way."""
    preparations = [(seat, rules.preparation(game, seat)) for seat in range(game.seats)]
    facts = [
        json.loads(json.dumps(dict(_check_play(preparation, game, 1000 + seed + seat, 1, library).facts)))
        for seat, preparation in preparations
        if preparation is not None
    ]
    if facts:
        assert len(facts) == game.seats, f"{rules.name}: only some seats have a preparation"
        return rules.with_preparations(facts)
    return rules.for_players(TABLES * game.seats) if rules.society else rules


def _players(rules: Mechanism, game: Game) -> int:
    return TABLES * game.seats if rules.society else game.seats


def _check_play(
    rules: Mechanism, game: Game, seed: int, players: int, library: Library | None, missed: float = 0.0
) -> Outcome:
    streams = Streams(seed, 1)

    def by_chance(decision: Decision, step: int) -> Answer:
        if missed and streams.chance(step, decision.player, "miss") < missed:
            return Answer(None, "missed")
        return random_answer(decision.form, streams.generator(step, decision.player, "check"))

    first = drive(rules, game, streams, by_chance)
    _check_decisions(rules, game, first, players)
    _check_same(rules, game, first, streams)
    _check_prefixes(rules, game, first, streams)
    _check_outcome(rules, game, first.outcome, players, preparation=players == 1 and game.seats > 1)
    _check_prompts(rules, first, library or Library())
    return first.outcome


def drive(rules: Mechanism, game: Game, streams: Streams, reply: Reply) -> Playing:
    """Play one match with a function that answers."""
    play = rules.play(game, streams)
    plain, steps, answers = [], [], []
    try:
        decisions = next(play)
        while True:
            steps.append(decisions)
            plain.append([_plain(decision) for decision in decisions])
            answers.append([reply(decision, len(steps) - 1) for decision in decisions])
            decisions = play.send(answers[-1])
    except StopIteration as stop:
        return Playing(plain, steps, answers, stop.value)


def played_by(types: Sequence[str], streams: Streams) -> Reply:
    """Return an answering function from strategies, one per player."""
    agents = [ScriptedAgent(strategies.build(spec)) for spec in types]

    def reply(decision: Decision, step: int) -> Answer:
        player = decision.player
        return agents[player if decision.agent is None else decision.agent].decide(
            decision, lambda: streams.chance(step, player)
        )

    return reply


def _plain(decision: Decision) -> Any:
    """Return a copy of a decision, to detect rules that change it afterwards."""
    view = decision.view
    return deepcopy(
        (decision.player, decision.kind, view.seat, view.mechanism, view.round,
         [(r.number, r.actions, r.payoffs, r.players, dict(r.facts)) for r in view.history],
         dict(view.facts), view.names, decision.form)
    )  # fmt: skip


def _check_decisions(rules: Mechanism, game: Game, match: Playing, players: int) -> None:
    count = sum(map(len, match.asked))
    bound = rules.most_decisions(game)
    assert count <= bound, f"{rules.name} in {game.name}: asked {count} decisions, most_decisions says {bound}"
    for step, decisions in enumerate(match.asked):
        where = f"{rules.name} in {game.name}, step {step}"
        who = [d.player for d in decisions]
        assert who, f"{where}: yields no decision"
        assert len(set(who)) == len(who), f"{where}: asks a player twice at once: {who}"
        seats = players + rules.observers
        assert all(0 <= p < seats for p in who), f"{where}: asks players {who} of {seats}"
        for decision in decisions:
            view = decision.view
            assert decision.agent is None or 0 <= decision.agent < seats, f"{where}: agent {decision.agent} of {seats}"
            assert 0 <= view.seat < game.seats, f"{where}: seat {view.seat} is not in the game"
            assert view.game is game, f"{where}: the view is about another game"
            assert view.mechanism == rules.name, f"{where}: the view names mechanism {view.mechanism!r}"
            assert not view.names or len(view.names) == game.seats, f"{where}: names {view.names}"
            check_plain(view.facts, f"{where}: the facts of a view")
            if schema := getattr(decision.form, "schema", None):
                check_schema(schema)
            if decision.kind == "act":
                assert isinstance(decision.form, Choice | Mixture | Number), f"{where}: an act is no {decision.form}"
        snapshot = match.decisions[step]
        assert snapshot == [_plain(d) for d in decisions], f"{where}: what was shown has changed since"


def _check_same(rules: Mechanism, game: Game, match: Playing, streams: Streams) -> None:
    players = [[decision.player for decision in due] for due in match.asked]
    again = drive(rules, game, streams, lambda d, step: match.answers[step][players[step].index(d.player)])
    for what, one, two in (
        ("decisions", again.decisions, match.decisions),
        ("scores", again.outcome.scores, match.outcome.scores),
        ("facts", dict(again.outcome.facts), dict(match.outcome.facts)),
    ):
        assert one == two, f"{rules.name} in {game.name}: same answers, other {what}"


def _check_prefixes(rules: Mechanism, game: Game, match: Playing, streams: Streams) -> None:
    """Check that a match resumed after any step continues with the due decision."""
    for stop in {0, 1, len(match.asked) // 2, len(match.asked) - 1} & set(range(len(match.asked))):
        play, beside = rules.play(game, streams), rules.play(game, Streams(99, 99))
        decisions = next(play)
        next(beside)
        for step in range(stop):
            decisions = play.send(match.answers[step])
        assert [_plain(d) for d in decisions] == match.decisions[stop], (
            f"{rules.name} in {game.name}: resumed after {stop} steps, another decision is due"
        )
        play.close()
        beside.close()


def _check_outcome(rules: Mechanism, game: Game, outcome: Outcome, players: int, preparation: bool) -> None:
    where = f"{rules.name} in {game.name}"
    check_plain(outcome.facts, f"{where}: the facts of the outcome")
    if not (preparation and not outcome.rounds):
        assert len(outcome.scores) == players, f"{where}: {len(outcome.scores)} scores for {players} players"
    assert all(type(s) is float and isfinite(s) for s in outcome.scores), f"{where}: scores {outcome.scores}"
    for played in outcome.rounds:
        # In a society a player's round is its action towards all its neighbours.
        seats = 1 if rules.society and len(played.players) == 1 else game.seats
        assert len(played.payoffs) == seats, f"{where}: {played}"
        if played.void:
            reason = played.missed or (set(played.what) <= {"unmet", "not reached"} and played.what)
            assert reason and not any(played.payoffs), f"{where}: void without reason or paid: {played}"
        else:
            assert len(played.actions) == seats, f"{where}: {played}"
        assert (
            set(played.missed) <= set(range(game.seats))
            and all(0 <= a < len(game.actions[s]) for s, a in enumerate(played.actions))
            and (played.expected is None or len(played.expected) == game.seats)
        ), f"{where}: {played}"
        check_plain(played.facts, f"{where}: the facts of a round")
        sat = played.players or tuple(range(game.seats))
        assert len(set(sat)) == seats and set(sat) <= set(range(players)), f"{where}: players {sat}"
        assert len(played.what) in (0, seats) and set(played.what) <= {"", *WHATS}, f"{where}: {played.what}"
        assert len(played.paid) in (0, seats), f"{where}: paid {played.paid}"
        if rules.one_shot and game.has_table and len(outcome.rounds) == 1 and not played.missed:
            assert played.expected is not None, f"{where}: all odds are known, but no expected payoffs"
    if not preparation:
        why = breach(rules, game, outcome)
        assert why is None, f"{where}: the law of settlement is broken: {why}"


def _check_prompts(rules: Mechanism, match: Playing, library: Library) -> None:
    """Check that every decision can be rendered, with neutral and own labels, and read back."""
    last = len(match.asked) - 1
    places = sorted({0, 1, 2, (last + 1) // 2, last - 1, last} & set(range(last + 1)))
    framings = (Framing(), Framing(labels="actions", order="reversed"))
    for framing, style, step in product(framings, ("direct", "reasoned"), places):
        renderer = PromptRenderer(framing, library, style)
        for decision, answer in zip(match.asked[step], match.answers[step], strict=True):
            _check_prompt(rules, renderer, decision, answer)


def _check_prompt(rules: Mechanism, renderer: PromptRenderer, decision: Decision, answer: Answer) -> None:
    prompt = renderer.prompt(
        decision, memories.build("full").show(decision.view, lambda n, _: np.random.default_rng(n)), None, {}
    )
    where = f"{rules.name}, {decision.kind}"
    assert prompt.text.strip() == prompt.text, f"{where}: the prompt has blank ends"
    assert "\n\n\n" not in prompt.text, f"{where}: the prompt has a gap of several lines"
    assert prompt.instruction in prompt.text, f"{where}: the prompt does not say how to answer"
    if answer.reading == "missed":
        return
    text = _reply_text(decision, answer, prompt.labels)
    back = read(decision.form, text, prompt.labels)
    assert isinstance(back, Answer), f"{where}: the valid answer {text} is not read: {back.reason}"
    assert back.value == answer.value, f"{where}: {text} is read as {back.value}, meant was {answer.value}"


def _reply_text(decision: Decision, answer: Answer, labels: Mapping[str, str]) -> str:
    """Return a valid answer as a model would write it."""
    match decision.form:
        case Choice():
            return f"[{labels[answer.value]}]"
        case Number():
            return f"[{answer.value}]"
        case _:
            value = answer.value
            return value if isinstance(value, str) else json.dumps(_labelled(value, labels))


def _labelled(value: Any, labels: Mapping[str, str]) -> Any:
    match value:
        case dict():
            return {labels.get(key, key): _labelled(item, labels) for key, item in value.items()}
        case list():
            return [_labelled(item, labels) for item in value]
        case _:
            return labels.get(value, value) if isinstance(value, str) else value
