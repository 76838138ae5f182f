"""Myopic best response."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, ClassVar

from ostrom.agents.bargains import rules_of, stable_design, unfriendly_design
from ostrom.agents.past import Past
from ostrom.agents.strategies._by_action import ByAction, action_index, pure
from ostrom.agents.strategies._search import best_move, rational_payoffs
from ostrom.answers import Choice, Form, Number, Record
from ostrom.games.amounts import Value
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.ground.parameters import checked
from ostrom.mechanisms.catalog.contracting import contracted_game
from ostrom.mechanisms.catalog.mediation import mediated_game
from ostrom.mechanisms.protocol import View

MOST_MEDIATORS = 4096
"""Up to so many mediators all of them are tried when one is designed."""


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
            # Common case: the others repeat their last actions. Look-ups are cheaper than tensor arithmetic.
            rest = past.others(-1)
            paid = [game.payoff((*rest[:seat], a, *rest[seat:]))[seat] for a in own]
        else:
            paid = self._paid(game, seat, self._expected(game, seat))
        top = max(paid)
        best = [a for a in own if paid[a] >= top - 1e-9 * max(1.0, abs(top))]
        cooperative = game.cooperative[seat]
        return cooperative if cooperative in best and cooperative is not None else best[0]

    def choose(self, past: Past, form: Form) -> Value | Mapping[Value, float] | None:
        """The same in a game by a rule, found by search; theory is expected of those who decide later."""
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
        """The design that is worth most to it, the one that makes cooperation stable among equals."""
        assert isinstance(form, Record)
        rules, game, seat = rules_of(view.mechanism), view.game, view.seat
        candidates = [stable_design(view, form), unfriendly_design(view, form), *_mediators(game, seat, form)]

        def worth(value: dict[str, Any]) -> float:
            return rational_payoffs(rules.induced(game, rules.read(game, seat, value)))[seat]

        worths = [worth(value) for value in candidates]
        return candidates[next(i for i, w in enumerate(worths) if w >= max(worths) - 1e-9)]

    def vote(self, view: View, form: Form) -> dict[str, Any]:  # noqa: ARG002
        """Approve the proposals that are worth most, if they are worth no less than none at all."""
        rules, game, seat = rules_of(view.mechanism), view.game, view.seat
        worths = {p["label"]: rational_payoffs(rules.induced(game, p["design"]))[seat] for p in view.facts["proposals"]}
        bar = max(*worths.values(), rational_payoffs(game)[seat]) - 1e-9
        return {label: worth >= bar for label, worth in worths.items()}

    def sign(self, view: View, form: Form) -> dict[str, Any]:  # noqa: ARG002
        """Sign unless the contract is worth less than none."""
        game = view.game
        under = rational_payoffs(contracted_game(game, view.facts["contract"]))[view.seat]
        return {"sign": under >= rational_payoffs(game)[view.seat] - 1e-9}

    def punish(self, view: View, form: Form) -> dict[str, int]:  # noqa: ARG002
        """Never: it costs and brings nothing."""
        assert isinstance(form, Record)
        return dict.fromkeys(form.schema["properties"], 0)

    def disarm(self, view: View, form: Form) -> dict[str, int]:  # noqa: ARG002
        """Never: with the others' actions given, a bound on oneself cannot pay."""
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
                found=self.belief,
            )
        return list(self.belief)


def _mediators(game: Game, seat: int, form: Record) -> Iterator[dict[str, Any]]:
    """All mediators, where there are not too many of them; no contracts, of which there are."""
    keys, names = list(form.schema["properties"]), game.actions[seat]
    if form.name == "mediator" and len(names) ** len(keys) <= MOST_MEDIATORS:
        yield from (dict(zip(keys, plan, strict=True)) for plan in product(names, repeat=len(keys)))


STRATEGY = BestResponse
