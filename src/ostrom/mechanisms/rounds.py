"""Plays the rounds of a game: converts the turns of a round (``Game.play``) to decisions."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

from ostrom.answers import Answer, Choice, Form, Number
from ostrom.games.amounts import IDLE, Amounts, Options, Value
from ostrom.games.game import Due, End, Game, Now
from ostrom.games.steps import steps_of
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import act, choice_of, expected_payoffs, profile_of
from ostrom.mechanisms.missing import Missing, missed_by, void_round
from ostrom.mechanisms.protocol import NOTHING, Decision, History, Round, RoundPlay, View

Shows: TypeAlias = Callable[[int], History]
"""A function from a seat to the history it is shown, if that is not the real one."""
_new = object.__new__


@lru_cache(maxsize=1024)
def form_of(options: Options) -> Form:
    """Return the answer form of these options, cached, because it is needed in every turn."""
    return (
        Number(options.low, options.high, options.step, options.few)
        if isinstance(options, Amounts)
        else Choice(options)
    )


class Rounds:
    """Plays the rounds of one match by its game; all decisions are of the kind ``act``.

    In a game without a table decisions carry their ``stage`` and the ``moves`` so far; what was done is in the facts of
    the round. A missed decision voids the round if the rules say so, or if their default is no option at that stage;
    a void round keeps the state of the round before. ``noise`` is the chance that a move is replaced by another one;
    ``exact`` adds the expected payoffs where all odds are known.
    """

    def __init__(
        self,
        game: Game,
        mechanism: str,
        streams: Streams,
        told: Mapping[str, Any] = NOTHING,
        *,
        missing: Missing | None = None,
        noise: float = 0.0,
        exact: bool = False,
    ) -> None:
        self.game, self.mechanism, self.streams, self.told = game, mechanism, streams, told
        self.missing, self.noise, self.exact = missing, noise, exact
        self._plain = missing is None and not noise and not exact
        self.over: str | None = None
        """Why no further round follows, once that is so."""
        self.end: End | None = None
        """The end of the last round in a game without a table; None if it is void."""
        self._hidden: list[Mapping[str, Any]] = []
        self.play: Callable[[int, History, Shows | None], RoundPlay]
        """Plays a round after a history; ``Shows`` replaces the histories that players see."""
        self.at_once = game.has_table
        """Whether a round is one step, played by ``ask`` and ``settle`` without a generator."""
        if game.has_table:
            # Constants are looked up once: with scripts the rules take as long as the players.
            self._seats = [(seat, choice_of(game.named_actions(seat))) for seat in range(game.seats)]
            self._named: Any = game.named
            self._payoff = game.payoff
            self.play = self._one_step
        else:
            self.play = self._by_stages

    def hidden_facts(self) -> dict[str, Any]:
        """Return the hidden facts of all rounds for the outcome; empty if there are none."""
        return {"hidden": [dict(hidden) for hidden in self._hidden]} if any(self._hidden) else {}

    def _one_step(self, number: int, history: History, shows: Shows | None) -> RoundPlay:
        """Play a round of a game with a payoff table without the game's generator."""
        return self.settle(number, (yield self.ask(number, history, shows)))

    def ask(self, number: int, history: History, shows: Shows | None) -> list[Decision]:
        """Return the decisions of all seats of a game with a payoff table.

        The views and decisions are those that their constructors make, without the calls: these would take a fifth of
        the time of scripted play.
        """
        game, name, shared_facts, decisions = self.game, self.mechanism, self.told, []
        for seat, form in self._seats:
            view: Any = _new(View)
            view.game, view.seat, view.mechanism = game, seat, name
            view.round, view.facts, view.names = number, shared_facts, ()
            view.history = history if shows is None else shows(seat)
            decision: Any = _new(Decision)
            decision.player, decision.kind, decision.view = seat, "act", view
            decision.form, decision.agent = form, None
            decisions.append(decision)
        return decisions

    def settle(self, number: int, answers: Sequence[Answer]) -> Round:
        """Return the round of a game with a payoff table for these answers."""
        game = self.game
        if self._plain:
            profile = self._named
            for answer in answers:
                profile = profile[answer.value]
            played: Any = _new(Round)
            played.number, played.actions, played.payoffs = number, profile, self._payoff(profile)
            played.players, played.expected, played.facts = (), None, NOTHING
            played.missed = played.what = played.paid = ()
            return played  # type: ignore[no-any-return]
        missing, noise = self.missing, self.noise
        late: tuple[int, ...] = ()
        if missing is not None and (late := missed_by(answers)):
            if missing.voids:
                return void_round(game, number, late)
            answers = missing.filled(answers)
        profile = profile_of(game, answers)
        if noise:
            chance, played = self.streams.chance, list(profile)
            for seat, place in enumerate(profile):
                if chance(number, seat, "tremble") < noise:
                    played[seat] = self._slip(number, seat, place, len(game.actions[seat]))
            profile = tuple(played)
        return Round(
            number,
            profile,
            game.payoff(profile),
            expected=expected_payoffs(game, answers) if self.exact else None,
            missed=late,
        )

    def _by_stages(self, number: int, history: History, shows: Shows | None) -> RoundPlay:
        """Play the steps of a game that determines itself who decides when."""
        game, streams = self.game, self.streams
        state = history[-1].facts.get("state", {}) if history else {}
        stages = game.begin(Now(number, state, lambda seat, purpose: streams.chance(number, seat, purpose)))
        default = None if self.missing is None else self.missing.default
        moves: list[dict[str, Any]] = []
        late: set[int] = set()
        due = next(stages)
        while True:
            answers = yield [self._decision(number, history, shows, turn, moves) for turn in due]
            missed = [turn for turn, answer in zip(due, answers, strict=True) if answer.reading == "missed"]
            late |= {turn.seat for turn in missed}
            if any(default not in turn.options for turn in missed):
                self._hidden.append({})
                self.end = None
                return void_round(game, number, tuple(sorted(late)), facts={"state": dict(state)} if state else {})
            done = [
                self._done(number, turn, default if answer.reading == "missed" else answer.value, moves)
                for turn, answer in zip(due, answers, strict=True)
            ]
            moves = [*moves, *(_move(turn, value) for turn, value in zip(due, done, strict=True))]
            try:
                due = stages.send(done)
            except StopIteration as stop:
                end: End = stop.value
                self.end, self.over = end, end.over
                self._hidden.append(end.hidden)
                return _round(game, number, moves, end, tuple(sorted(late)))

    def _decision(
        self, number: int, history: History, shows: Shows | None, turn: Due, moves: list[dict[str, Any]]
    ) -> Decision:
        seat = turn.seat
        facts = {**self.told, **turn.facts, "stage": turn.stage, "moves": moves}
        return Decision(
            seat,
            "act",
            View(self.game, seat, self.mechanism, number, history if shows is None else shows(seat), facts),
            form_of(turn.options),
        )

    def _done(self, number: int, turn: Due, answer: Any, moves: Sequence[Mapping[str, Any]]) -> Value:
        """Return the move at a turn: the answer as the game reads it, or a random slip."""
        options, place = turn.options, turn.options.index(answer)
        if self.noise:
            count = options.levels if isinstance(options, Amounts) else len(options)
            earlier = sum(move["seat"] == turn.seat for move in moves)
            nth = str(earlier + 1) if earlier else ""  # the first move uses the same draw as in a game with a table
            if self.streams.chance(number, turn.seat, f"tremble{nth}") < self.noise:
                place = self._slip(number, turn.seat, place, count, nth)
        return options.value(place) if isinstance(options, Amounts) else options[place]

    def _slip(self, number: int, seat: int, place: int, count: int, nth: str = "") -> int:
        """Return the index of a random slip: all other options are equally likely."""
        if count == 1:
            return place
        other = int(self.streams.chance(number, seat, f"slip{nth}") * (count - 1))
        return other + (other >= place)


def play_round(
    game: Game,
    mechanism: str,
    number: int,
    history: History,
    told: Mapping[str, Any],
    streams: Streams,
    missing: Missing | None = None,
) -> Generator[list[Decision], Sequence[Answer], tuple[Round, End | None]]:
    """Play one round; return it and its end (None if void). Mechanisms of other packages use it since 0.1."""
    rounds = Rounds(game, mechanism, streams, told, missing=missing)
    return (yield from rounds.play(number, history, None)), rounds.end


def hidden_facts(ends: Sequence[End | None]) -> dict[str, Any]:
    """Return the hidden facts of rounds with these ends; for users of ``play_round``."""
    hidden = [dict(end.hidden) if end is not None else {} for end in ends]
    return {"hidden": hidden} if any(hidden) else {}


def now_of(view: View, chance: Callable[[int, str], float]) -> Now:
    """Return the start of a view's round as its seat knows it; ``chance`` replaces what it does not know."""
    facts = {(view.seat, name): value for name, value in view.facts.items() if isinstance(value, int | float | str)}
    return Now(view.round, view.history[-1].facts.get("state", {}) if view.history else {}, chance, facts)


def due_with(view: View) -> list[Due]:
    """Return the turns that are due at the same time as a view's own, that one included.

    Empty if the moves so far do not lead to the view's decision, because a random draw is not known.
    """
    game = view.game
    if game.has_table:  # with a table there is one step, whatever the rules tell
        return list(next(game.begin()))
    stages = game.begin(now_of(view, Now().chance))
    due = next(stages)
    left = [move["value"] for move in view.facts.get("moves", ())]
    try:
        while left:
            due, left = stages.send(left[: len(due)]), left[len(due) :]
    except (StopIteration, LookupError, TypeError, ValueError):
        return []
    return list(due) if [turn for turn in due if (turn.seat, turn.stage) == (view.seat, view.facts["stage"])] else []


def otherwise(game: Game, played: Round, seat: int) -> Round | None:
    """Return the round as if a seat's last move had been another one, all else equal.

    An amount becomes the end of its range that lies further away, an option the next one. None where nobody can say
    what would have followed: the round leaves something behind, chance decides in it, the seat did not move, or others
    could not have moved so.
    """
    moves = [dict(move) for move in played.facts.get("moves", ())]
    last = max((i for i, move in enumerate(moves) if move["seat"] == seat), default=None)
    if game.stateful or played.void or last is None:
        return None
    stages, at = game.begin(Now(played.number, chance=_refused)), 0
    try:
        due = next(stages)
        while True:
            for turn in due:
                move = moves[at]
                if at == last:
                    move["value"] = _other(turn.options, move["value"])
                if (turn.seat, turn.stage) != (move["seat"], move["stage"]) or move["value"] not in turn.options:
                    return None
                at += 1
            due = stages.send([move["value"] for move in moves[at - len(due) : at]])
    except (IndexError, _ByChance):
        return None
    except StopIteration as stop:
        if at < len(moves) or moves[last]["value"] == played.facts["moves"][last]["value"]:
            return None
        other = _round(game, played.number, moves, stop.value, played.missed)
        return replace(other, players=played.players, facts={**played.facts, **other.facts})


class _ByChance(Exception):
    """Raised when the rule of a game draws random numbers."""


def _refused(seat: int, purpose: str) -> float:
    raise _ByChance(f"{seat} {purpose}")


def _other(options: Options, value: Any) -> Any:
    if isinstance(options, Amounts):
        return options.high if value - options.low <= options.high - value else options.low
    return options[(options.index(value) + 1) % len(options)]


def simultaneous_round(game: Game, number: int, values: Sequence[Any], missed: tuple[int, ...] = ()) -> Round:
    """Return the round of these simultaneous moves, if they determine it (``pays_by_profile``)."""
    stages = game.begin(Now(number))
    due = next(stages)
    done = [game.value(turn.seat, game.index(turn.seat, values[turn.seat])) for turn in due]
    try:
        stages.send(done)
    except StopIteration as stop:
        return _round(
            game, number, [_move(turn, value) for turn, value in zip(due, done, strict=True)], stop.value, missed
        )
    raise GameError(f"game {game.name}: a round has more than one step")


def unplayed_rounds(game: Game, last: int, count: int) -> list[Round]:
    """Return the rounds after the last one that an early end took away: no actions, no payoffs."""
    seats = game.seats
    return [Round(last + n, (), (0.0,) * seats, what=("not reached",) * seats) for n in range(1, count + 1)]


def act_now(view: View, player: int) -> Decision:
    """Return the decision of a seat in a round of one step."""
    game = view.game
    if game.has_table:
        return act(view, player)
    turn = next(turn for turn in steps_of(game)[0] if turn.seat == view.seat)
    return Decision(
        player,
        "act",
        replace(view, facts={**view.facts, **turn.facts, "stage": turn.stage, "moves": []}),
        form_of(turn.options),
    )


def drawn_history(game: Game, number: int, seat: int, streams: Streams) -> History:
    """Return the random rounds that a seat is shown before a round; every call returns the same ones."""
    return History([drawn_round(game, earlier, seat, streams) for earlier in range(1, number)])


def drawn_round(game: Game, number: int, whose: int, streams: Streams, players: tuple[int, ...] = ()) -> Round:
    """Return a round in which all options of every turn are equally likely."""
    draw = streams.for_round(number, whose, "sham")
    stages = game.begin(Now(number, chance=lambda seat, purpose: float(draw.random())))  # noqa: ARG005
    moves: list[dict[str, Any]] = []
    due = next(stages)
    while True:
        done = [_drawn(turn.options, draw.integers) for turn in due]
        moves += [_move(turn, value) for turn, value in zip(due, done, strict=True)]
        try:
            due = stages.send(done)
        except StopIteration as stop:
            return replace(_round(game, number, moves, stop.value), players=players)


def _drawn(options: Options, integers: Callable[[int], Any]) -> Value:
    return (
        options.value(int(integers(options.levels)))
        if isinstance(options, Amounts)
        else options[int(integers(len(options)))]
    )


def _move(turn: Due, value: Value) -> dict[str, Any]:
    return {"seat": turn.seat, "stage": turn.stage, "value": value}


def _round(game: Game, number: int, moves: list[dict[str, Any]], end: End, missed: tuple[int, ...] = ()) -> Round:
    """Return the round for the history: each seat's last move as its action, all moves in the facts.

    A round of a game with a table needs no such facts: its actions are its moves.
    """
    last: dict[int, Any] = {move["seat"]: move["value"] for move in moves}
    actions = tuple(game.index(seat, last.get(seat, IDLE)) for seat in range(game.seats))
    facts: dict[str, Any] = {} if game.has_table else {"moves": moves, **end.facts}
    if end.state:
        facts["state"] = dict(end.state)
    return Round(number, actions, tuple(float(x) for x in end.payoffs), facts=facts, missed=missed)
