"""Myopic best response.

The best response in a game whose payoffs follow from a rule, found by trying out moves.

Others who decide at the same time are expected to repeat their last move at that stage, or else to play every option
with equal chance. Those who decide later are expected to do what theory says, or else what is best for themselves
by the same search (backward induction).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import fsum, prod
from typing import Any, ClassVar

import numpy as np

from ostrom.agents.bargains import rules_of, stable_design, unfriendly_design
from ostrom.agents.past import Past
from ostrom.agents.strategies._by_action import ByAction, action_index, pure
from ostrom.answers import Choice, Form, Number, Record
from ostrom.games.amounts import Amounts, Options, Value
from ostrom.games.equilibria import iterated_elimination
from ostrom.games.game import Due, End, Game
from ostrom.ground.errors import StudyError
from ostrom.ground.parameters import checked
from ostrom.ground.streams import Streams
from ostrom.mechanisms.designs import contracted_game, mediated_game
from ostrom.mechanisms.protocol import View
from ostrom.mechanisms.rounds import now_of

MOST_TRIES = 400_000
"""The most rounds tried for one decision."""
ALL_BELIEFS = 256
"""The most combinations of simultaneous moves that are all tried; beyond this a sample is drawn."""
CHANCES = (0.25, 0.75)
"""The random numbers used (for example for a tie): payoffs are averaged over these."""
ALL_AMOUNTS = 2001
"""The most own amounts that are all tried; beyond this a grid is refined around the best."""

Moves = tuple[tuple[Value, ...], ...]
"""The moves of a round so far, step by step, in the order of the turns."""


def best_move(past: Past, options: Options, cooperative: Value | None = None) -> Value:
    """Return the option that pays a seat most at its stage; among equals the cooperative, else the first."""
    return _Search(past).best(options, cooperative)


class _Search:
    """The search for one decision: the known situation, and the number of rounds tried."""

    def __init__(self, past: Past) -> None:
        self.game, self.seat, self.past, self.tries = past.game, past.seat, past, 0
        self.chance, self.drawn = CHANCES[0], False
        self.now = now_of(past.view, self._chance)
        self._end_cache: dict[tuple[Moves, float], tuple[tuple[float, ...], bool]] = {}
        self.before = self._steps(past.view.facts.get("moves", ()))

    def _steps(self, moves: Sequence[dict[str, Value]]) -> Moves:
        """Return the moves of the round so far, step by step."""
        steps: list[tuple[Value, ...]] = []
        left = [move["value"] for move in moves]
        while left:
            due = self._due(tuple(steps))
            assert not isinstance(due, End)
            steps.append(tuple(left[: len(due)]))
            left = left[len(due) :]
        return tuple(steps)

    def best(self, options: Options, cooperative: Value | None) -> Value:
        due = self._due(self.before)
        assert not isinstance(due, End)
        return self._best_of(
            self.before, due, next(i for i, turn in enumerate(due) if turn.seat == self.seat), options, cooperative
        )

    def _best_of(
        self, before: Moves, due: Sequence[Due], place: int, options: Options, cooperative: Value | None = None
    ) -> Value:
        """Return the best option for ``due[place]``, averaged over beliefs about simultaneous moves."""
        beliefs = list(self._beliefs(due, place))
        seat = due[place].seat

        def worth(own: Value) -> float:
            return fsum(self._paid((*before, (*b[:place], own, *b[place:])), seat) for b in beliefs) / len(beliefs)

        worth_of: dict[Value, float] = {own: worth(own) for own in _candidates(options)}
        if isinstance(options, Amounts):
            first, last = 0, options.levels - 1
            while (step := -(-(last - first) // (ALL_AMOUNTS - 1))) > 1:
                middle = options.index(max(worth_of, key=lambda own: worth_of[own]))
                first, last = max(0, middle - 2 * step), min(options.levels - 1, middle + 2 * step)
                for at in _spread(first, last):
                    own = options.value(at)
                    if own not in worth_of:
                        worth_of[own] = worth(own)
        most = max(worth_of.values())
        best = [own for own, paid in worth_of.items() if paid >= most - 1e-9 * max(1.0, abs(most))]
        return cooperative if cooperative is not None and cooperative in best else min(best, key=options.index)

    def _beliefs(self, due: Sequence[Due], place: int) -> Iterator[tuple[Value, ...]]:
        """Yield the possible simultaneous moves of the others, all equally likely."""
        sets: list[Sequence[Value]] = []
        for turn in (turn for i, turn in enumerate(due) if i != place):
            last = self._last(turn)
            sets.append([last] if last is not None else _Values(turn.options))
        if prod(len(values) for values in sets) <= ALL_BELIEFS:
            yield from product(*sets)
            return
        streams = Streams(0, 0)
        for number in range(ALL_BELIEFS):
            yield tuple(values[int(streams.chance(number, i, "belief") * len(values))] for i, values in enumerate(sets))

    def _last(self, turn: Due) -> Value | None:
        """Return a seat's last move at a stage (of amounts, the nearest allowed one); None if it is no option now."""
        for played in reversed(self.past.rounds):
            for move in played.facts.get("moves", ()):
                if move["seat"] == turn.seat and move["stage"] == turn.stage:
                    value: Value = move["value"]
                    if isinstance(turn.options, Amounts) and not isinstance(value, str):
                        return turn.options.nearest(value)
                    return value if value in turn.options else None
        return None

    def _chance(self, seat: int, purpose: str) -> float:  # noqa: ARG002
        self.drawn = True
        return self.chance

    def _paid(self, moves: Moves, seat: int) -> float:
        """Return a seat's payoff after these moves, averaged over chance."""
        payments, outer = [], self.chance
        for chance in CHANCES:
            self.chance = chance
            payoffs, drawn = self._ended(moves)
            payments.append(payoffs[seat])
            if not drawn:
                break
        self.chance = outer
        return fsum(payments) / len(payments)

    def _ended(self, moves: Moves) -> tuple[tuple[float, ...], bool]:
        """Return the payoffs after these moves with optimal later moves, and whether chance mattered.

        Results are cached: the searches of several players look at the same courses of play.
        """
        key = (moves, self.chance)
        if key not in self._end_cache:
            self.drawn = False
            due, drawn = self._due(moves), self.drawn
            if isinstance(due, End):
                self._end_cache[key] = tuple(float(paid) for paid in due.payoffs), drawn
            else:
                done = tuple(self._later_action(moves, due, place) for place in range(len(due)))
                payoffs, later = self._ended((*moves, done))
                self._end_cache[key] = payoffs, drawn or later
        return self._end_cache[key]

    def _later_action(self, moves: Moves, due: Sequence[Due], place: int) -> Value:
        """Return a later player's move: by theory, or else by the same search."""
        turn = due[place]
        theory_action = None if self.game.theory is None else self.game.theory(turn.seat, turn.stage, turn.facts)
        if theory_action is not None and theory_action in turn.options:
            return theory_action
        return self._best_of(moves, due, place, turn.options)

    def _due(self, moves: Moves) -> Sequence[Due] | End:
        """Return the turns due after these moves, or the end of the round."""
        self.tries += 1
        if self.tries > MOST_TRIES:
            raise StudyError(
                f"strategy best_response: game {self.game.name} has more courses of play than can be tried "
                f"({MOST_TRIES} rounds)"
            )
        stages = self.game.begin(self.now)
        due = next(stages)
        try:
            for done in moves:
                due = stages.send(done)
        except StopIteration as stop:
            end: End = stop.value
            return end
        return due


class _Values(Sequence[Value]):
    """A lazy sequence of option values."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def __len__(self) -> int:
        return self.options.levels if isinstance(self.options, Amounts) else len(self.options)

    def __getitem__(self, at: int) -> Value:  # type: ignore[override]
        return self.options.value(at) if isinstance(self.options, Amounts) else self.options[at]


def _candidates(options: Options) -> Sequence[Value]:
    values = _Values(options)
    return [values[at] for at in _spread(0, len(values) - 1)]


def _spread(first: int, last: int) -> list[int]:
    """Return the numbers from first to last, at most ``ALL_AMOUNTS`` in even steps.

    >>> _spread(3, 5), len(_spread(0, 10**9)), _spread(0, 10**9)[-1]
    ([3, 4, 5], 2001, 1000000000)
    """
    if last - first < ALL_AMOUNTS:
        return list(range(first, last + 1))
    return [first + at * (last - first) // (ALL_AMOUNTS - 1) for at in range(ALL_AMOUNTS)]


@lru_cache(maxsize=4096)
def rational_payoffs(game: Game) -> tuple[float, ...]:
    """Return each seat's expected payoff if all reason alike.

    Weakly dominated actions go, again and again; then everybody answers others who play what is left with
    equal chance. Among equally good actions the cooperative one is played, or else the first listed.

    >>> from ostrom.games import build_game
    >>> rational_payoffs(build_game("prisoners_dilemma:coopeval")), rational_payoffs(build_game("trust"))
    ((1.0, 1.0), (4.0, 4.0))
    """
    left = iterated_elimination(game, weak=True).surviving
    odds = [
        np.array([float(a in rest) / len(rest) for a in range(len(names))])
        for names, rest in zip(game.actions, left, strict=True)
    ]
    profile = []
    for seat, rest in enumerate(left):
        value = game.payoffs[..., seat]
        for other in reversed(range(game.seats)):
            if other != seat:
                value = np.tensordot(value, odds[other], axes=(other, 0))
        top = max(float(value[a]) for a in rest)
        best = [a for a in rest if float(value[a]) >= top - 1e-9 * max(1.0, abs(top))]
        good = game.cooperative[seat]
        profile.append(good if good is not None and good in best else best[0])
    return game.payoff(profile)


MOST_MEDIATORS = 4096
"""The most mediators that are all tried for a design."""


class BestResponse(ByAction):
    """Play what pays most if the others repeat their last actions, or if they play by a fixed belief.

    ``first`` is the first action (name or index); without it, the best response to others who play every
    action with equal chance. ``belief`` holds one list of odds per co-player, by seat. Among equally good
    actions the cooperative one is played, or else the first listed.

    Payments of a contract in force count. It delegates if that pays more than acting. A design is worth what
    the game under it pays when all reason alike (dominated actions are not played): it approves the
    proposals of most worth unless no design is worth more, signs what does not make it worse off, and designs
    what is worth most to it. It never pays to punish, and never binds itself: with the others' actions given,
    neither can pay.
    """

    title: ClassVar[str] = "Best Response"
    citation: ClassVar[str] = "Cournot (1838)"
    memory_depth = 1

    @checked
    def __init__(self, first: str | float | None = None, belief: Sequence[Sequence[float]] | None = None) -> None:
        if belief is not None:
            for odds in belief:
                if not isinstance(odds, Sequence) or min(odds) < 0 or abs(sum(odds) - 1) > 1e-9:
                    raise ValueError(f"belief must list odds that sum to 1 for every co-player, found {belief!r}")
            if first is not None:
                raise ValueError("first and belief exclude each other: a belief settles the first move too")
            self.memory_depth = 0
        self.first, self.belief = first, belief

    def action(self, past: Past) -> int:
        """The action that pays most against the expected actions of the others."""
        seat, view = past.seat, past.view
        game = contracted_game(past.game, view.facts["contract"]) if view.facts.get("in_force") else past.game
        if not past and self.first is not None:
            return action_index(game, seat, self.first, self.name)
        own = range(len(game.actions[seat]))
        if past and self.belief is None:
            # Common case: the others repeat their last actions. Look-ups are faster than tensor arithmetic.
            rest = past.others(-1)
            paid = [game.payoff((*rest[:seat], a, *rest[seat:]))[seat] for a in own]
        else:
            paid = self._paid(game, seat, self._expected(game, seat))
        top = max(paid)
        best = [a for a in own if paid[a] >= top - 1e-9 * max(1.0, abs(top))]
        cooperative = game.cooperative[seat]
        return cooperative if cooperative in best and cooperative is not None else best[0]

    def choose(self, past: Past, form: Form) -> Value | Mapping[Value, float] | None:
        """Return the best move by search, in a game by a rule; in the first round ``first``, if set."""
        game, seat = past.game, past.seat
        if self.first is not None and not past:
            return self.first
        if self.belief is not None:
            raise StudyError(f"strategy {self.name}: a belief lists odds of actions, and game {game.name} has no list")
        good = game.cooperative[seat]
        options = form.amounts if isinstance(form, Number) else form.options if isinstance(form, Choice) else ()
        return best_move(past, options, None if good is None else game.value(seat, good))

    def delegate(self, view: View, form: Form) -> bool:  # noqa: ARG002
        """Whether delegating pays more than every action."""
        if self.first is not None:
            return False
        game, seat = mediated_game(view.game, view.facts["mediator"]), view.seat
        if self.belief is None:
            others = self._expected(game, seat)
        else:  # a belief is about actions: nobody else delegates
            others = [(*odds, 0.0) for odds in self._expected(view.game, seat)]
        *acting, delegating = self._paid(game, seat, others)
        return delegating > max(acting) + 1e-9

    def design(self, view: View, form: Form) -> dict[str, Any]:
        """Return the most valuable design; among equals one that makes cooperation stable."""
        assert isinstance(form, Record)
        rules, game, seat = rules_of(view.mechanism), view.game, view.seat
        candidates = [stable_design(view, form), unfriendly_design(view, form), *_mediators(game, seat, form)]

        induced = [rules.induced(game, rules.read(game, seat, value)) for value in candidates]
        worths = [rational_payoffs(game_under)[seat] for game_under in induced]
        return candidates[next(i for i, w in enumerate(worths) if w >= max(worths) - 1e-9)]

    def vote(self, view: View, form: Form) -> dict[str, Any]:  # noqa: ARG002
        """Approve the most valuable proposals, if they are worth at least as much as the game without a design."""
        rules, game, seat = rules_of(view.mechanism), view.game, view.seat
        worths = {p["label"]: rational_payoffs(rules.induced(game, p["design"]))[seat] for p in view.facts["proposals"]}
        bar = max(*worths.values(), rational_payoffs(game)[seat]) - 1e-9
        return {label: worth >= bar for label, worth in worths.items()}

    def sign(self, view: View, form: Form) -> dict[str, Any]:  # noqa: ARG002
        """Sign unless the contract is worth less than the game without it."""
        game = view.game
        return {
            "sign": rational_payoffs(contracted_game(game, view.facts["contract"]))[view.seat]
            >= rational_payoffs(game)[view.seat] - 1e-9
        }

    def punish(self, view: View, form: Form) -> dict[str, int]:  # noqa: ARG002
        """Return no punishment: it costs and brings nothing."""
        assert isinstance(form, Record)
        return dict.fromkeys(form.schema["properties"], 0)

    def disarm(self, view: View, form: Form) -> dict[str, int]:  # noqa: ARG002
        """Keep the cap: given the others' actions, a bound on oneself cannot pay."""
        return {"cap": view.facts["caps"][view.seat][view.facts["action"]]}

    def _paid(self, game: Game, seat: int, others: Sequence[Sequence[float]]) -> list[float]:
        return [
            game.expected([*others[:seat], pure(game, seat, a), *others[seat:]])[seat]
            for a in range(len(game.actions[seat]))
        ]

    def _expected(self, game: Game, seat: int) -> list[Sequence[float]]:
        names = [n for s, n in enumerate(game.actions) if s != seat]
        if self.belief is None:
            return [(1 / len(n),) * len(n) for n in names]
        if [len(odds) for odds in self.belief] != [len(n) for n in names]:
            raise StudyError(
                f"strategy {self.name}: belief must give odds for every action of every co-player in game {game.name}",
                actual=self.belief,
            )
        return list(self.belief)


def _mediators(game: Game, seat: int, form: Record) -> Iterator[dict[str, Any]]:
    """Yield all mediators if there are at most ``MOST_MEDIATORS``; for contracts yield nothing."""
    keys, names = list(form.schema["properties"]), game.actions[seat]
    if form.name == "mediator" and len(names) ** len(keys) <= MOST_MEDIATORS:
        yield from (dict(zip(keys, plan, strict=True)) for plan in product(names, repeat=len(keys)))


STRATEGY = BestResponse
